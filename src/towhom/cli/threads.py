"""`towhom threads`: separates the conversations of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import IO, Any

import click
from rich.text import Text

from towhom import load
from towhom.batch.settings import Command
from towhom.cli.batch import batch_options, one_log, refuse_with_parts, run_logs
from towhom.cli.options import (
    LOGS,
    filter_options,
    log_options,
    model_option,
    output,
    show_report,
)
from towhom.cli.show import Palette
from towhom.cli.tables import Table, table_options
from towhom.cli.terminal import Terminal
from towhom.errors import LogError
from towhom.exports import EXPORTS, write_export
from towhom.hearing.utterance import SPOKEN
from towhom.live.channel import CHUNK
from towhom.live.reading import THREAD_FIELDS, Answered, answers, thread_record
from towhom.readers import Report, locate
from towhom.readers.filters import Filter
from towhom.threads import Placed
from towhom.visible import visible


@click.command()
@click.argument("logs", metavar="LOG...", type=LOGS, nargs=-1, required=True)
@log_options
@model_option
@filter_options
@table_options
@click.option("--html", "as_html", is_flag=True, help="Write a page with one conversation after the other.")
@click.option("--to", type=click.Choice(list(EXPORTS)), help="Write a folder for this tool (-o FOLDER).")
@batch_options
def threads(
    logs: tuple[str, ...],
    format: str | None,
    strict: bool,
    model: Path | None,
    shown: Filter,
    table: Table,
    as_html: bool,
    to: str | None,
    into: str | None,
    **batch: Any,
) -> None:
    """Separate the conversations of a LOG: which message answers which.

    Each conversation has a number and a colour; ↩ shows whose message is answered, with the probability if
    it is not certain. LOG is a file, a folder, a zip archive, or - for standard input, which is followed.

    In tables, `id` is the platform's id of the message, or file and line. `replies_to` is the id of the
    message that it answers, or its own id if it starts a conversation; `thread` is the id of the message
    that started the conversation; `probability` says how likely the link is. Lines that nobody wrote have
    records, too.

    With --into, the command takes any number of logs, folders, patterns and addresses (s3://...), and runs
    on any number of machines. After an interruption, the same command continues.
    """
    if (table.kind is not None) + as_html + (to is not None) > 1:
        raise click.UsageError("--json, --csv, --parquet, --html or --to, not several of them")
    if into is not None:
        refuse_with_parts(table, shown, **{"--html": as_html, "--to": to})
        run_logs(Command.THREADS, logs, into, model=model, table=table, format=format, strict=strict, **batch)
        return
    log = one_log(logs, **batch)
    loaded, report = load(model), Report(strict=strict)
    lines = locate(log, format=format, report=report)
    spoken = 0

    def everything() -> Iterator[Answered]:
        nonlocal spoken
        kept = 0
        for answered in answers(loaded, lines, at_once=1 if log == "-" else CHUNK):
            spoken += answered.message.kind in SPOKEN
            if shown.keeps(answered.located, answered.name):
                kept += answered.message.kind in SPOKEN
                yield answered
        if not spoken:  # raised here, so that an existing file is left alone
            raise LogError("no message was found in it", file=log)
        if not kept:
            raise shown.nothing_left(log)

    if to is not None:
        write_export(to, everything(), table.out)
    elif as_html:
        _write_page(everything(), log, table.out)
    else:
        with table.shows(THREAD_FIELDS, _text_writer, thread_record) as write:
            for answered in everything():
                write(answered)
    show_report(report, Terminal(stderr=True, highlight=False, soft_wrap=True))


def _write_page(everything: Iterator[Answered], log: str, out: Path | None) -> None:
    from towhom.threads.page import threads_page

    page = threads_page(_numbered(everything), "standard input" if log == "-" else Path(log).name)
    with output(out) as file:
        file.write(visible(page))


def _numbered(everything: Iterator[Answered]) -> Iterator[Placed]:
    """Messages numbered by their order in the reading, with certain links where the platform gives them."""
    numbers: dict[str, int] = {}
    for number, answered in enumerate(everything):
        id = answered.located.id
        numbers[id] = number
        answers_to = numbers.get(answered.replies_to, number)
        thread = numbers.setdefault(answered.thread, number)
        message = replace(answered.message, channel=answered.located.room)
        yield Placed(message, number, (answers_to,), thread, answered.link_probability)


_SURE = 0.6
"""The least probability of a link that is shown without its probability."""
_REMEMBERED = 1000
"""Number of messages whose speakers are remembered, for when they are answered."""


def _text_writer(file: IO[str]) -> Callable[[Answered], None]:
    console = Terminal(file=file, highlight=False, soft_wrap=True)
    colours = Palette()
    numbers: dict[str, int] = {}
    speakers: dict[str, str] = {}
    place: tuple[str, date | None] | None = None

    def write(answered: Answered) -> None:
        nonlocal place
        located = answered.located
        if answered.message.kind not in SPOKEN:
            return
        if place is not None and (located.room, located.day) != place:
            day = (
                ""
                if located.day is None
                else f" {located.day:%A} {located.day.day} {located.day:%B} {located.day.year}"
            )
            console.rule(Text(visible(f"{located.room}{day}")), align="left", style="dim")
        place = located.room, located.day
        number = numbers.setdefault(answered.thread, len(numbers) + 1)
        speakers[located.id] = answered.name
        if len(speakers) > _REMEMBERED:
            del speakers[next(iter(speakers))]
        to = None if answered.starts else speakers.get(answered.replies_to, "")
        console.print(_line(answered, number, to, colours[str(number)]))
        file.flush()

    return write


def _line(found: Answered, number: int, answered: str | None, colour: str) -> Text:
    """A message in one line, with the number of its conversation and the speaker whom it answers."""
    message, line = found.message, Text()
    if message.time:
        line.append(f"{message.time:%H:%M} ", "dim")
    line.append(f"▌{number:<4}", colour)
    line.append(f"{found.name:>12} ", f"bold {colour}")
    if answered is not None:
        line.append(f"↩ {answered} ", colour)
        if found.link_probability < _SURE:
            line.append(f"{found.link_probability:.0%} ", "dim")
    line.append(visible(message.text))
    return line
