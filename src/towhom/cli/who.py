"""`towhom who`: a log with the addressee of every message, as it comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import click
from rich.text import Text

from towhom import load
from towhom.chat import Kind
from towhom.cli.options import (
    LOGS,
    csv_table,
    encodable,
    format_options,
    kept_kinds,
    model_option,
    output,
    output_option,
    show_report,
)
from towhom.cli.show import Palette
from towhom.cli.terminal import Terminal
from towhom.errors import LogError
from towhom.live import How, Model, Observation, Session
from towhom.live.channel import CHUNK
from towhom.readers import Report, read_messages
from towhom.visible import visible

_FIELDS = (
    "line", "time", "channel", "speaker", "addressee", "how", "probability", "reason", "text", "name",
    "audience",
)  # fmt: skip
_CHANGES = (Kind.RENAME, Kind.EDIT, Kind.DELETE)
"""Lines that change what is known, and are not shown."""
_ALTERNATIVES = 5


@click.command()
@click.argument("log", type=LOGS)
@format_options
@model_option
@click.option("--for", "name", metavar="NAME", help="Only messages that are for NAME.")
@click.option("--alias", "aliases", multiple=True, help="Another name that NAME is called by.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="How likely a message must be for NAME.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON lines.")
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV.")
@output_option
def who(
    log: str,
    format: str | None,
    strict: bool,
    keep: tuple[str, ...],
    model: Path | None,
    name: str | None,
    aliases: tuple[str, ...],
    threshold: float,
    as_json: bool,
    as_csv: bool,
    out: Path | None,
) -> None:
    """Say who every message of a LOG is for.

    An arrow → shows who is named; ⇢ who is meant, with how likely that is. LOG is a file, a folder, a zip
    archive, or - for standard input, which is followed: tail -f chat.log | towhom who -
    """
    if as_json and as_csv:
        raise click.UsageError("--json or --csv, not both")
    if aliases and name is None:
        raise click.UsageError("--alias names somebody whom --for has to name first")
    loaded = load(model)
    report = Report(strict=strict)
    speakers: set[str] = set()
    with output(out) as file:
        write = _csv_writer(file) if as_csv else _json_writer(file) if as_json else _text_writer(file)
        for observation in _observations(log, loaded, format, report, keep, name, aliases):
            speakers.update(_names(observation))
            if name is None or _is_for(observation, name, aliases, threshold):
                write(observation)
        if not speakers:  # said here, so that an existing file is left alone
            raise LogError("no message was found in it", file=log)
    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
    show_report(report, console)
    if name is not None and speakers.isdisjoint((name, *aliases)):
        console.print(f"nobody called {name} has spoken in it", markup=False)


def _observations(
    log: str,
    model: Model,
    format: str | None,
    report: Report,
    keep: tuple[str, ...],
    name: str | None,
    aliases: tuple[str, ...],
) -> Iterator[Observation]:
    """Every message with its addressee; each channel is a session of its own."""
    kinds = kept_kinds(keep)
    shown = (
        message
        for message in read_messages(log, format=format, report=report)
        if message.kind in (*kinds, *_CHANGES)
    )

    def prepare(session: Session) -> None:
        if name is not None:
            session.introduce(name, *aliases, here=False)

    at_once = 1 if log == "-" else CHUNK
    for observation in model.observations(shown, at_once=at_once, prepare=prepare):
        if observation.placed.message.kind in kinds:
            yield observation


def _is_for(observation: Observation, name: str, aliases: tuple[str, ...], threshold: float) -> bool:
    wanted = {name, *aliases}
    likely = sum(each.probability for each in observation.addressees if {each.name, each.id} & wanted)
    return likely >= threshold and wanted.isdisjoint(_names(observation))


def _names(observation: Observation) -> tuple[str, str]:
    """What the log calls the speaker, and what people do."""
    message = observation.message
    return message.speaker, message.name or message.speaker


def _record(observation: Observation) -> dict[str, Any]:
    message = observation.message
    return {
        "line": message.line,
        "time": message.time.isoformat() if message.time else None,
        "channel": message.channel,
        "speaker": message.speaker,
        "addressee": observation.addressee,
        "how": observation.how.value,
        "probability": round(observation.probability, 4),
        "reason": observation.reason,
        "text": message.text,
        "name": message.name or message.speaker,
        "audience": observation.audience.value,
    }


def _json_writer(file: IO[str]) -> Callable[[Observation], None]:
    def write(observation: Observation) -> None:
        likely = [
            {"name": each.name, "id": each.id, "probability": round(each.probability, 4)}
            for each in observation.addressees[:_ALTERNATIVES]
        ]
        record = {**_record(observation), "addressees": likely}
        file.write(encodable(json.dumps(record, ensure_ascii=False)) + "\n")
        file.flush()

    return write


def _csv_writer(file: IO[str]) -> Callable[[Observation], None]:
    write_row = csv_table(file, _FIELDS)

    def write(observation: Observation) -> None:
        write_row(_record(observation))

    return write


def _text_writer(file: IO[str]) -> Callable[[Observation], None]:
    console = Terminal(file=file, highlight=False, soft_wrap=True)
    colours = Palette()

    def write(observation: Observation) -> None:
        console.print(observation_line(observation, colours))
        file.flush()

    return write


def observation_line(observation: Observation, colours: Palette) -> Text:
    """A message, who says it, and to whom; one line."""
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
