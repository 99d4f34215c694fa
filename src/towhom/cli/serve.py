"""`towhom serve`: a model over HTTP, with a page."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from towhom.errors import ConfigError
from towhom.extras import require
from towhom.serve.settings import PREFIX, Settings, has_password, known_settings, load_settings

_METAVARS = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}


def _settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a flag for every setting. Values are checked together with those from other sources."""
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
    """Run a server with an HTTP interface and a web page for looking at chats.

    A setting can be a flag, an environment variable (TOWHOM_SERVE_MAX_BODY), or a line of a TOML file
    (max_body = 1000000). A flag overrides a variable, and a variable overrides the file.
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


_database_options = (
    click.option("--database", metavar="TEXT", help="The PostgreSQL database that the server uses."),
    click.option("--database-file", metavar="PATH", help="A file with the address of that database."),
)


def _with_database(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_database_options):
        command = option(command)
    return command


@serve.command()
@click.argument("copy", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--data", metavar="PATH", help="Folder in which the server stores channels.")
@_with_database
@_config_option
def backup(copy: Path, config: Path | None, **flags: str | None) -> None:
    """Copy all channels into the file COPY while servers are running.

    The copy has the state of one moment, and only its owner may read it.
    """
    settings = load_settings(flags, os.environ, config)
    address = settings.database_address()
    if address is None:
        from towhom.serve.backup import back_up

        count = back_up(settings.data, copy)
    else:
        from towhom.serve.copying import back_up_database

        count = back_up_database(address, copy)
    click.echo(f"{copy}: {count} channels")


@serve.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@_with_database
@_config_option
def migrate(source: str, target: str, config: Path | None, **flags: str | None) -> None:
    """Copy all channels FROM one storage TO another one, which must be empty.

    Each storage is a folder (as for --data), a file that `backup` made, or the word `database`, which means
    that of --database, --database-file or TOWHOM_SERVE_DATABASE. Either everything is copied and counted, or
    nothing. No server may use the storages meanwhile.
    """
    settings = load_settings(flags, os.environ, config)
    places = [_place(place, settings) for place in (source, target)]
    from towhom.serve.copying import copy as copy_channels

    counts = copy_channels(*places)
    click.echo(f"{target}: {', '.join(f'{count} {table}' for table, count in counts.items())}")


def _place(place: str, settings: Settings) -> str:
    if place != "database":
        if has_password(place):
            raise ConfigError("there is a password in the address, and others can see it; write: database")
        return place
    address = settings.database_address()
    if address is None:
        raise ConfigError("database: there is none; give --database or --database-file")
    return address
