"""`towhom mcp`: lets a language model ask about a log, or about rooms of `towhom serve`."""

from __future__ import annotations

import os

import click

from towhom.cli.options import FORMAT, LOGS
from towhom.extras import require
from towhom.mcp.sources import LogSource, ServerSource, Source

_TOKEN = "TOWHOM_TOKEN"  # noqa: S105
"""The environment variable with the server's token; others could read it on the command line."""


@click.command()
@click.argument("log", type=LOGS, required=False)
@click.option("--server", "url", metavar="URL", help="Use the rooms of a towhom serve instead of a log.")
@click.option("--format", type=FORMAT, help="The format of the log.  [default: recognized]")
@click.option(
    "--http", "port", type=click.IntRange(0, 65535), help="Serve over HTTP at this port of 127.0.0.1."
)
def mcp(log: str | None, url: str | None, format: str | None, port: int | None) -> None:
    """Let a language model ask about a LOG, over the Model Context Protocol.

    The tools are rooms, who, threads, open_questions and report. Programs that use them start this command
    and talk to it over standard input and output; with --http, they find it at http://127.0.0.1:PORT/mcp.
    The token of a server comes from the variable TOWHOM_TOKEN.
    """
    if (log is None) == (url is None):
        raise click.UsageError("name a log, or a server with --server")
    require("mcp", extra="mcp", purpose="the Model Context Protocol")
    from towhom.mcp.tools import create_server

    source: Source = (
        LogSource(log, format) if log is not None else ServerSource(url or "", os.environ.get(_TOKEN))
    )
    source.rooms()  # raises now if it cannot be read
    server = create_server(source)
    if port is None:
        server.run("stdio")
    else:
        click.echo(f"towhom answers at http://127.0.0.1:{port}/mcp", err=True)
        server.run("streamable-http", host="127.0.0.1", port=port)
