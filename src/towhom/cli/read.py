"""`towhom read`: shows any log as text or as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import click

from towhom.chat import Conversation
from towhom.cli.options import LOGS, filter_options, kept_kinds, reading_options, show_report
from towhom.cli.show import show_conversation
from towhom.cli.tables import Table, table_options
from towhom.cli.terminal import Terminal
from towhom.errors import LogError
from towhom.readers import Located, Report, read_rooms, reader_class, readers
from towhom.readers.filters import Filter
from towhom.readers.identity import record_of
from towhom.wire import to_json

_FIELDS = (
    "id", "room", "day", "time", "file", "line", "kind", "speaker", "name", "addressee", "reply_to",
    "mentions", "bot", "text",
)  # fmt: skip


@click.command()
@click.argument("log", type=LOGS, required=False)
@reading_options
@filter_options
@table_options
@click.option("--formats", is_flag=True, help="List the formats that can be read.")
def read(
    log: str | None,
    format: str | None,
    strict: bool,
    ignore_case: bool,
    follow_renames: bool,
    keep: tuple[str, ...],
    shown: Filter,
    table: Table,
    formats: bool,
) -> None:
    """Read a chat LOG and show who says what to whom, as far as the log itself says so.

    LOG is a file, a folder, a zip archive, or - for standard input; .gz, .xz and .bz2 are read as they are.
    With -o and no format option, it writes JSON lines, which towhom can read.
    """
    if formats:
        for name in readers():
            click.echo(f"{name:16} {reader_class(name).title}")
        return
    if log is None:
        raise click.UsageError("which log? Give a file, a folder, a zip archive, or - for standard input")
    report = Report(strict=strict)
    rooms = read_rooms(
        log,
        format=format,
        report=report,
        kinds=kept_kinds(keep),
        ignore_case=ignore_case,
        follow_renames=follow_renames,
    )
    # Read the first one now, so that a log without messages leaves an existing file alone.
    chosen = _chosen(rooms, shown, log)
    first = next(chosen, None)
    if first is None:
        show_report(report, Terminal(stderr=True, highlight=False, soft_wrap=True))
        raise LogError("no message was found in it", file=log)
    chosen = chain([first], chosen)
    if table.kind is not None or table.out is not None:
        _write(replace(table, kind=table.kind or "json"), chosen)
    else:
        console = Terminal(highlight=False)
        for room, lines in chosen:
            show_conversation(Conversation(tuple(each.message for each in lines), room), console)
    show_report(report, Terminal(stderr=True, highlight=False, soft_wrap=True))


def _chosen(
    rooms: Iterator[tuple[str, list[Located]]], shown: Filter, log: str
) -> Iterator[tuple[str, list[Located]]]:
    """The messages of each room that are to be shown."""
    messages = kept = 0
    for room, lines in rooms:
        messages += len(lines)
        left = [each for each in lines if shown.keeps(each)]
        kept += len(left)
        if left:
            yield room, left
    if messages and not kept:
        raise shown.nothing_left(log)


def _write(table: Table, rooms: Iterator[tuple[str, list[Located]]]) -> None:
    with table.writer(_FIELDS) as write:
        for _, lines in rooms:
            for located in lines:
                write(_json(located) if table.kind == "json" else _record(located))


def _json(located: Located) -> dict[str, Any]:
    """A message in the JSON form that towhom reads, with its id and place."""
    value: dict[str, Any] = json.loads(
        to_json(replace(located.message, id=None, reply_to=None, channel=None))
    )
    named: dict[str, Any] = {"id": located.id, "room": located.room}
    if located.day is not None:
        named["day"] = located.day.isoformat()
    named["file"] = located.file
    if located.reply_to is not None:
        named["reply_to"] = located.reply_to
    return named | value


def _record(located: Located) -> dict[str, Any]:
    message = located.message
    return {
        **record_of(located),
        "reply_to": located.reply_to,
        "mentions": list(message.mentions),
        "bot": message.bot,
        "text": message.text,
    }
