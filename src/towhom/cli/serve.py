"""`towhom serve`: a model over HTTP, with a page."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from towhom.extras import require
from towhom.serve.settings import PREFIX, Settings, known_settings, load_settings

_METAVARS = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}


def _settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A flag for every setting. Values are checked where those of the other sources are."""
    for name, (kind, about) in reversed(known_settings().items()):
        default = about.default or getattr(Settings, name)
        metavar = "|".join(about.choices) or _METAVARS[kind]
        text = f"{about.help}  [default: {default}]"
        command = click.option(f"--{name.replace('_', '-')}", metavar=metavar, help=text)(command)
    return command


_config_option = click.option(
    "--config",
    envvar=f"{PREFIX}CONFIG",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A TOML file with settings.",
)


@click.group(invoke_without_command=True)
@_settings_options
@_config_option
@click.pass_context
def serve(context: click.Context, /, config: Path | None, **flags: str | None) -> None:
    """Answer over HTTP, and show a page to look at a chat with.

    A setting is a flag, or an environment variable (TOWHOM_SERVE_MAX_BODY), or a line of a TOML file
    (max_body = 1000000); the first of these counts.
    """
    if context.invoked_subcommand is not None:
        given = [f"--{name.replace('_', '-')}" for name, value in flags.items() if value is not None]
        if given:
            raise click.UsageError(f"{given[0]} belongs behind {context.invoked_subcommand}, if anywhere")
        return
    settings = load_settings(flags, os.environ, config)
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        require(package, extra="serve", purpose="serving")
    from towhom.serve.server import run

    run(settings)


@serve.command()
@click.argument("copy", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--data", metavar="PATH", help="Folder in which the server keeps channels.")
@_config_option
def backup(copy: Path, data: str | None, config: Path | None) -> None:
    """Copy all channels into the file COPY, while the server goes on.

    The copy is of one moment, and only its owner may read it.
    """
    settings = load_settings({"data": data}, os.environ, config)
    from towhom.serve.backup import back_up

    count = back_up(settings.data, copy)
    click.echo(f"{copy}: {count} channels")
