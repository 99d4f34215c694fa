"""`towhom threads`: a log with its conversations pulled apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import click
from rich.text import Text

from towhom import load
from towhom.cli.options import (
    LOGS,
    csv_table,
    encodable,
    log_options,
    model_option,
    output,
    output_option,
    show_report,
)
from towhom.cli.show import Palette
from towhom.cli.terminal import Terminal
from towhom.errors import LogError
from towhom.hearing.utterance import SPOKEN
from towhom.readers import Report, find_logs
from towhom.threads import Placed
from towhom.visible import visible

_FIELDS = ("file", "line", "replies_to", "thread", "probability", "kind", "time", "channel", "speaker",
           "addressee", "text", "name")  # fmt: skip


@click.command()
@click.argument("log", type=LOGS)
@log_options
@model_option
@click.option("--json", "as_json", is_flag=True, help="Write JSON lines.")
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV.")
@click.option("--html", "as_html", is_flag=True, help="Write a page to read conversation by conversation.")
@output_option
def threads(
    log: str,
    format: str | None,
    strict: bool,
    model: Path | None,
    as_json: bool,
    as_csv: bool,
    as_html: bool,
    out: Path | None,
) -> None:
    """Pull the conversations of a LOG apart: which message answers which.

    Each conversation has a number and a colour; ↩ shows whose message is answered, and how likely that is
    where it is not sure. LOG is a file, a folder, a zip archive, or - for standard input, which is followed.

    In JSON lines and CSV, messages are called by their line in the file, from 0: `replies_to` has what a line
    answers, its own if it starts a conversation; `thread` is the line that started it.
    """
    if as_json + as_csv + as_html > 1:
        raise click.UsageError("--json, --csv or --html, not several of them")
    loaded, report = load(model), Report(strict=strict)
    logs = find_logs(log, format=format, report=report)
    spoken = 0

    def everything() -> Iterator[tuple[str, Placed]]:
        nonlocal spoken
        for each in logs:
            messages = each.messages(report)
            for placed in loaded.threads(messages, at_once=1) if log == "-" else loaded.threads(messages):
                spoken += placed.message.kind in SPOKEN
                yield each.source.name if len(logs) > 1 else "", placed
        if not spoken:  # said here, so that an existing file is left alone
            raise LogError("no message was found in it", file=log)

    if as_html:
        _write_page(everything(), log, out)
    else:
        with output(out) as file:
            write = _csv_writer(file) if as_csv else _json_writer(file) if as_json else _text_writer(file)
            for name, placed in everything():
                write(name, placed)
    show_report(report, Terminal(stderr=True, highlight=False, soft_wrap=True))


def _write_page(everything: Iterator[tuple[str, Placed]], log: str, out: Path | None) -> None:
    from towhom.threads.page import threads_page

    files: dict[str, list[Placed]] = {}
    for name, placed in everything:
        files.setdefault(name, []).append(placed)
    if len(files) > 1:
        raise click.UsageError(f"{log}: a page shows one log, and there are {len(files)}; name one of them")
    page = threads_page(next(iter(files.values())), "standard input" if log == "-" else Path(log).name)
    with output(out) as file:
        file.write(visible(page))


def _record(file: str, placed: Placed) -> dict[str, Any]:
    message = placed.message
    return {
        **({"file": file} if file else {}),
        "line": placed.line,
        "replies_to": list(placed.replies_to),
        "thread": placed.thread,
        "probability": round(placed.probability, 4),
        "kind": message.kind.value,
        "time": message.time.isoformat() if message.time else None,
        "channel": message.channel,
        "speaker": message.speaker,
        "addressee": message.addressee,
        "text": message.text,
        "name": message.name or message.speaker,
    }


Write = Callable[[str, Placed], None]


def _json_writer(file: IO[str]) -> Write:
    def write(name: str, placed: Placed) -> None:
        file.write(encodable(json.dumps(_record(name, placed), ensure_ascii=False)) + "\n")
        file.flush()

    return write


def _csv_writer(file: IO[str]) -> Write:
    write_row = csv_table(file, _FIELDS)

    def write(name: str, placed: Placed) -> None:
        write_row({**_record(name, placed), "replies_to": " ".join(map(str, placed.replies_to))})

    return write


_SURE = 0.6
"""How likely a link must be that is shown without saying how likely it is."""
_REMEMBERED = 1000
"""Speakers of so many messages are known when one of them is answered."""


def _text_writer(file: IO[str]) -> Write:
    console = Terminal(file=file, highlight=False, soft_wrap=True)
    colours = Palette()
    numbers: dict[tuple[str, int], int] = {}
    speakers: dict[tuple[str, int], str] = {}

    def write(name: str, placed: Placed) -> None:
        message = placed.message
        if message.kind not in SPOKEN:
            return
        number = numbers.setdefault((name, placed.thread), len(numbers) + 1)
        speakers[name, placed.line] = message.name or message.speaker
        if len(speakers) > _REMEMBERED:
            del speakers[next(iter(speakers))]
        answered = None if placed.starts else speakers.get((name, placed.replies_to[0]), "")
        console.print(_line(placed, number, answered, colours[str(number)]))
        file.flush()

    return write


def _line(placed: Placed, number: int, answered: str | None, colour: str) -> Text:
    """A message with the number of its conversation and whom it answers; one line."""
    message, line = placed.message, Text()
    if message.time:
        line.append(f"{message.time:%H:%M} ", "dim")
    line.append(f"▌{number:<4}", colour)
    line.append(f"{message.name or message.speaker:>12} ", f"bold {colour}")
    if answered is not None:
        line.append(f"↩ {answered} ", colour)
        if placed.probability < _SURE:
            line.append(f"{placed.probability:.0%} ", "dim")
    line.append(visible(message.text))
    return line
