"""`towhom follow`: passes messages from a stream to `towhom serve`."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import click

from towhom.cli.terminal import Terminal
from towhom.errors import ConfigError
from towhom.follow.feed import Feed
from towhom.follow.server import Server
from towhom.follow.source import Options, Shard, open_source

_TOKEN = "TOWHOM_TOKEN"  # noqa: S105 the name of a variable


@click.command()
@click.argument("stream")
@click.option(
    "--server", default="http://127.0.0.1:8080", show_default=True, help="The address of towhom serve."
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"A file with the server's token.  [default: the variable {_TOKEN}, if it is set]",
)
@click.option(
    "--name",
    default="towhom",
    show_default=True,
    help="Name of the consumer; a new name starts from the beginning.",
)
@click.option(
    "--shard",
    default="1/1",
    show_default=True,
    metavar="I/N",
    help="Follow only the I-th of N parts of the rooms.",
)
@click.option(
    "--credentials", type=click.Path(dir_okay=False), help="A file with credentials for the stream's server."
)
@click.option("--once", is_flag=True, help="End when no messages are left.")
def follow(
    stream: str,
    server: str,
    token_file: Path | None,
    name: str,
    shard: str,
    credentials: str | None,
    once: bool,
) -> None:
    """Pass the messages of a STREAM to towhom serve: each message once, and each room in order.

    STREAM is nats://HOST:PORT/STREAM or nats://HOST:PORT/STREAM/SUBJECT. A message is JSON, as for POST
    /v1/channels/{id}/messages, with a "channel"; without one, the last part of its subject is the room. It
    is acknowledged when the server has it on disk. If the command is killed and started again, it continues
    where it stopped.
    """
    rooms = Shard.of(shard)
    console = Terminal(stderr=True, highlight=False, soft_wrap=True, emoji=False)
    source = open_source(stream, Options(name=name, shard=rooms, once=once, credentials=credentials))
    feed = Feed(
        source, Server(server, _token(token_file)), rooms, lambda text: console.print(text, markup=False)
    )
    with suppress(KeyboardInterrupt):
        asyncio.run(feed.run())
    count = feed.count
    console.print(f"{count.kept:,} messages are kept, {count.refused:,} were refused", markup=False)
    if count.refused:
        raise click.exceptions.Exit(1)


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(_TOKEN) or None
    try:
        lines = file.read_text("utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--token-file: {file} cannot be read ({error})") from error
    if not lines:
        raise ConfigError(f"--token-file: {file} holds no token")
    return lines[0]
