"""`towhom join`: follows rooms of chat servers live."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from towhom import load
from towhom.chat import CHANGES, Kind, Message, Presence
from towhom.cli.options import encodable, model_option
from towhom.cli.show import Palette
from towhom.cli.terminal import Terminal
from towhom.cli.who import observation_line
from towhom.client import fingerprint
from towhom.errors import RoomError
from towhom.live.reading import likely_addressees
from towhom.rooms import Address, Connector, Event, connector_for
from towhom.rooms.base import hide
from towhom.rooms.feed import Feed
from towhom.rooms.secrets import read_secret, secrets_for

if TYPE_CHECKING:
    from towhom.live import Model, Observation, Session

_FILE = click.Path(dir_okay=False, path_type=Path)

Take = Callable[[Connector, Event], Awaitable[None]]


@click.command()
@click.argument("addresses", metavar="ADDRESS...", nargs=-1, required=True)
@click.option(
    "--server", metavar="URL", help="Send messages to this towhom serve; its page shows the rooms live."
)
@click.option("--password-file", type=_FILE, help="A file with the password of the account.")
@click.option("--token-file", type=_FILE, help="A file with the token of the account.")
@click.option("--server-token-file", type=_FILE, help="A file with the token of towhom serve.")
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for the last position in each room, so that a restart misses nothing.  "
    "[default: with --server, towhom/join in the user's state folder]",
)
@click.option(
    "--write", is_flag=True, help="Send messages from standard input: JSON lines with room and text."
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON lines.")
@click.option("-v", "--verbose", is_flag=True, help="Print what happens to connections.")
@model_option
def join(
    addresses: tuple[str, ...],
    server: str | None,
    password_file: Path | None,
    token_file: Path | None,
    server_token_file: Path | None,
    state: Path | None,
    write: bool,
    as_json: bool,
    verbose: bool,
    model: Path | None,
) -> None:
    """Follow rooms of chat servers, and say who each message is for.

    \b
    towhom join 'irc://nick@irc.example.org/#help,#dev'
    towhom join 'matrix://user@example.org/#help:example.org'
    towhom join 'xmpp://user@example.org/help@conference.example.org'

    Passwords and tokens come from environment variables (TOWHOM_IRC_PASSWORD, TOWHOM_MATRIX_PASSWORD,
    TOWHOM_MATRIX_TOKEN, TOWHOM_XMPP_PASSWORD; with _FILE at the end, they name a file) or from files, never
    from the command line, which others can see. Without --write, the command sends nothing to a room.
    """  # noqa: D301 - click wants the control character
    if write and len(addresses) > 1:
        raise click.UsageError("--write is for one address")
    given = {"password": password_file, "token": token_file}
    files = {name: read_secret(path) for name, path in given.items() if path is not None}
    hidden = list(files.values())
    connectors = [
        _connector(address, files, state, server is not None, write, hidden) for address in addresses
    ]
    token = _server_token(server_token_file)
    feed = None if server is None else Feed(server, token)
    _log_to_stderr([*hidden, *([token] if token else [])], verbose=verbose)
    take = (
        feed.take if feed is not None else _printer(load(model), as_json=as_json, several=len(addresses) > 1)
    )
    try:
        asyncio.run(_follow(connectors, take, feed, write=write))
    except RoomError as error:
        # Not chained, since the library's message may contain secrets.
        raise RoomError(hide(str(error), hidden)) from None


def _connector(
    text: str, files: Mapping[str, str], state: Path | None, feeds: bool, write: bool, hidden: list[str]
) -> Connector:
    address = Address.parse(text)
    kind = connector_for(address.scheme)
    secrets = secrets_for(address.scheme, kind.secret_names)
    secrets |= {name: value for name, value in files.items() if name in kind.secret_names}
    hidden += secrets.values()
    if state is None and feeds:
        home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        state = home / "towhom" / "join"
    name = f"{address.scheme}-{fingerprint(text.strip())}.json"
    return kind(address, secrets=secrets, state=None if state is None else state / name, write=write)


def _server_token(file: Path | None) -> str | None:
    if file is not None:
        return read_secret(file)
    return secrets_for("serve", ["token"]).get("token")


class _Hiding(logging.Formatter):
    """Formats log lines and tracebacks without secrets."""

    def __init__(self, hidden: list[str]) -> None:
        super().__init__("%(message)s")
        self._hidden = hidden

    def format(self, record: logging.LogRecord) -> str:
        return hide(super().format(record), self._hidden)


def _log_to_stderr(hidden: list[str], *, verbose: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Hiding(hidden))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.ERROR)
    logging.getLogger("towhom.rooms").setLevel(logging.INFO if verbose else logging.WARNING)


async def _follow(connectors: list[Connector], take: Take, feed: Feed | None, *, write: bool) -> None:
    """Follow rooms until they end, or until the process is asked to stop."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        if feed is not None:
            await feed.check()
            stack.push_async_callback(feed.close)
        waiting: asyncio.Task[Any] = asyncio.create_task(stopped.wait())
        entering = asyncio.create_task(_entered(stack, connectors))
        tasks: list[asyncio.Task[Any]] = []
        try:
            await asyncio.wait({waiting, entering}, return_when=asyncio.FIRST_COMPLETED)
            if not entering.done():
                return
            await entering
            names = ", ".join(connector.address.server for connector in connectors)
            click.echo(f"following {names}", err=True)
            tasks = [asyncio.create_task(_hear(connector, take)) for connector in connectors]
            if write:
                tasks.append(asyncio.create_task(_speak(connectors[0])))
            left = set(tasks)
            while left and not stopped.is_set():
                done, _ = await asyncio.wait({waiting, *left}, return_when=asyncio.FIRST_COMPLETED)
                for task in done - {waiting}:
                    task.result()
                left -= done
        finally:
            for each in (waiting, entering, *tasks):
                each.cancel()
            await asyncio.gather(waiting, entering, *tasks, return_exceptions=True)


async def _entered(stack: AsyncExitStack, connectors: list[Connector]) -> None:
    for connector in connectors:
        await stack.enter_async_context(connector)


async def _hear(connector: Connector, take: Take) -> None:
    async for event in connector:
        await take(connector, event)


async def _speak(connector: Connector) -> None:
    """Send the messages from standard input."""
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    try:
        while line := await reader.readline():
            if not line.strip():
                continue
            try:
                wanted = json.loads(line)
                room, text = wanted["room"], wanted["text"]
                reply_to, key = wanted.get("reply_to"), wanted.get("key")
                if not all(value is None or isinstance(value, str) for value in (room, text, reply_to, key)):
                    raise TypeError
            except (ValueError, KeyError, TypeError, AttributeError):
                click.echo('standard input: a line is {"room": …, "text": …, "reply_to": …}', err=True)
                continue
            try:
                await connector.send(room, text, reply_to, key=key)
            except RoomError as error:
                click.echo(connector.hide(error), err=True)
    finally:
        with suppress(OSError):
            transport.close()


def _printer(model: Model, *, as_json: bool, several: bool) -> Take:
    """A function that prints who each message is for; each room has its own session."""
    sessions: dict[tuple[int, str], Session] = {}
    console, colours = Terminal(highlight=False, soft_wrap=True), Palette()
    rooms: set[str] = set()

    async def take(connector: Connector, event: Event) -> None:
        room = event.channel or ""
        session = sessions.get((id(connector), room))
        if session is None:
            session = sessions[id(connector), room] = model.session()
        label = connector.label(room)
        rooms.add(label)
        if isinstance(event, Presence):
            if event.here:
                session.introduce(event.speaker, *event.aliases, name=event.name, bot=event.bot)
            return
        observation = await asyncio.to_thread(session.observe, event)
        if as_json:
            _write_json(sys.stdout, label, event, observation)
        elif event.kind not in (*CHANGES, Kind.SYSTEM):
            line = observation_line(observation, colours)
            if several or len(rooms) > 1:
                line = type(line)(f"{label} ", "dim") + line
            console.print(line)
            sys.stdout.flush()

    return take


def _write_json(file: IO[str], label: str, event: Message, observation: Observation) -> None:
    message = observation.message
    record: dict[str, Any] = {
        "room": event.channel,
        "label": label,
        "id": event.id,
        "reply_to": event.reply_to,
        "kind": event.kind.value,
        "time": event.time.isoformat() if event.time else None,
        "speaker": message.speaker,
        "name": message.name or message.speaker,
        "text": event.text,
        "addressee": observation.addressee,
        "how": observation.how.value,
        "probability": round(observation.probability, 4),
        "reason": observation.reason,
        "audience": observation.audience.value,
        "addressees": likely_addressees(observation),
    }
    file.write(encodable(json.dumps(record, ensure_ascii=False)) + "\n")
    file.flush()
