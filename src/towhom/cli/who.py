"""`towhom who`: shows a log with the addressee of every message, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
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
    format_options,
    kept_kinds,
    model_option,
    show_report,
)
from towhom.cli.show import Palette
from towhom.cli.tables import Table, table_options
from towhom.cli.terminal import Terminal
from towhom.errors import LogError
from towhom.live import How, Model, Observation, Session
from towhom.live.channel import CHUNK
from towhom.live.reading import WHO_FIELDS, Answered, answers, who_record
from towhom.readers import Report, locate
from towhom.readers.filters import Filter
from towhom.visible import visible


@click.command()
@click.argument("logs", metavar="LOG...", type=LOGS, nargs=-1, required=True)
@format_options
@model_option
@click.option("--for", "name", metavar="NAME", help="Show only messages for NAME.")
@click.option("--alias", "aliases", multiple=True, help="Another name of NAME; may be repeated.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="The least probability that a message is for NAME.",
)
@filter_options
@table_options
@batch_options
def who(
    logs: tuple[str, ...],
    format: str | None,
    strict: bool,
    keep: tuple[str, ...],
    model: Path | None,
    name: str | None,
    aliases: tuple[str, ...],
    threshold: float,
    shown: Filter,
    table: Table,
    into: str | None,
    **batch: Any,
) -> None:
    """Say who each message of a LOG is for.

    An arrow → points to the person who is named; ⇢ to the person who is probably meant, with the
    probability. LOG is a file, a folder, a zip
    archive, or - for standard input, which is followed: tail -f chat.log | towhom who -

    In tables, `id` is the platform's id of the message, or file and line. `replies_to` is the id of the
    message that it answers, or its own id if it starts a conversation; `thread` is the id of the message
    that started the conversation.

    With --into, the command takes any number of logs, folders, patterns and addresses (s3://...), and runs
    on any number of machines. After an interruption, the same command continues.
    """
    if aliases and name is None:
        raise click.UsageError("--alias names somebody whom --for has to name first")
    if into is not None:
        refuse_with_parts(table, shown, **{"--for": name})
        run_logs(
            Command.WHO, logs, into, model=model, table=table, format=format, strict=strict,
            kinds=kept_kinds(keep), **batch,
        )  # fmt: skip
        return
    log = one_log(logs, **batch)
    loaded = load(model)
    report = Report(strict=strict)
    speakers: set[str] = set()
    written, for_them = 0, 0
    as_record = partial(who_record, likely=table.kind == "json")
    with table.shows(WHO_FIELDS, _text_writer, as_record) as write:
        for answered in _answers(log, loaded, format, report, keep, name, aliases):
            speakers.update(_names(answered))
            if shown.keeps(answered.located, answered.name):
                written += 1
                if name is None or _is_for(answered, name, aliases, threshold):
                    for_them += 1
                    write(answered)
        if not speakers:  # said here, so that an existing file is left alone
            raise LogError("no message was found in it", file=log)
        if not written:
            raise shown.nothing_left(log)
    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
    show_report(report, console)
    if name is not None and speakers.isdisjoint((name, *aliases)):
        told = f"nobody called {name} has spoken in it"
        if log != "-" and not for_them:
            raise LogError(f"{told}, and no message is for them", file=log)
        console.print(told, markup=False)


def _answers(
    log: str,
    model: Model,
    format: str | None,
    report: Report,
    keep: tuple[str, ...],
    name: str | None,
    aliases: tuple[str, ...],
) -> Iterator[Answered]:
    """Every message with its addressee; each room has its own session."""
    kinds = kept_kinds(keep)

    def prepare(session: Session) -> None:
        if name is not None:
            session.introduce(name, *aliases, here=False)

    lines = locate(log, format=format, report=report)
    for answered in answers(model, lines, at_once=1 if log == "-" else CHUNK, prepare=prepare):
        if answered.message.kind in kinds:
            yield answered


def _is_for(answered: Answered, name: str, aliases: tuple[str, ...], threshold: float) -> bool:
    wanted = {name, *aliases}
    addressees = answered.observation.addressees
    likely = sum(each.probability for each in addressees if {each.name, each.id} & wanted)
    return likely >= threshold and wanted.isdisjoint(_names(answered))


def _names(answered: Answered) -> tuple[str, str]:
    """The speaker as in the log, and the name that people use."""
    return answered.message.speaker, answered.name


def _text_writer(file: IO[str]) -> Callable[[Answered], None]:
    console = Terminal(file=file, highlight=False, soft_wrap=True)
    colours = Palette()

    def write(answered: Answered) -> None:
        console.print(observation_line(answered.observation, colours))
        file.flush()

    return write


def observation_line(observation: Observation, colours: Palette) -> Text:
    """A message in one line, with its speaker and its addressee."""
    message, name = observation.message, observation.addressee
    speaker = message.name or message.speaker
    line = Text()
    if message.time:
        line.append(f"{message.time:%H:%M} ", "dim")
    line.append(f"{speaker:>12} ", f"bold {colours[speaker]}")
    if name is None:
        line.append(" " * 20)
    elif observation.how is How.NAMED:
        line.append(f"→ {name:<17} ", colours[name])
    else:
        line.append(f"⇢ {name:<12}", f"italic {colours[name]}")
        line.append(f"{observation.probability:>4.0%}  ", "dim")
    line.append(visible(message.text))
    return line
