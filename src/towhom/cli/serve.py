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


@click.command()
@_settings_options
@click.option(
    "--config",
    envvar=f"{PREFIX}CONFIG",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A TOML file with settings.",
)
def serve(config: Path | None, **flags: str | None) -> None:
    """Answer over HTTP, and show a page to look at a chat with.

    A setting is a flag, or an environment variable (TOWHOM_SERVE_MAX_BODY), or a line of a TOML file
    (max_body = 1000000); the first of these counts.
    """
    settings = load_settings(flags, os.environ, config)
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        require(package, extra="serve", purpose="serving")
    from towhom.serve.server import run

    run(settings)
