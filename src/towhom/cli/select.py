"""`towhom select`: selects one of several drafts, and its addressee."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TextIO

import click
from rich.table import Table
from rich.text import Text

from towhom import load
from towhom.cli.options import LOGS, echo_json, format_options, kept_kinds, model_option
from towhom.cli.terminal import Terminal
from towhom.documents import parse_json
from towhom.errors import LogError, SessionError
from towhom.live import Selection, Session
from towhom.readers import Report, read_messages
from towhom.visible import visible


@click.command()
@click.argument("log", type=LOGS)
@format_options
@click.option("--as", "responder", metavar="NICK", required=True, help="The person who speaks next.")
@click.option("--new", is_flag=True, help="NICK has not spoken in LOG yet.")
@click.option(
    "--candidate", "given", multiple=True, metavar="TEXT", help="A candidate response; may be repeated."
)
@click.option(
    "--candidates",
    "file",
    type=click.File("r", encoding="utf-8", errors="replace"),
    help="A file with one candidate per line, or a JSON list; - for standard input.",
)
@click.option("--channel", help="The channel, if LOG holds several.")
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="How many pairs to show.")
@model_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def select(
    log: str,
    format: str | None,
    strict: bool,
    keep: tuple[str, ...],
    responder: str,
    new: bool,
    given: tuple[str, ...],
    file: TextIO | None,
    channel: str | None,
    top: int,
    model: Path | None,
    as_json: bool,
) -> None:
    """Choose what NICK says next after a chat LOG, and to whom: the best pairs of addressee and candidate."""
    candidates = [*given, *(_read_candidates(file.read(), file.name) if file is not None else ())]
    if not candidates:
        raise click.UsageError("there is nothing to select from; give --candidate TEXT or --candidates FILE")
    session = session_after(log, model, format, strict, keep, channel)
    known_responder(session, log, responder, new=new)
    selections = session.select(responder, candidates)
    if selections[0].addressee is None:
        note = f"nobody but {responder} has spoken of late: only what they say is chosen"
        Terminal(stderr=True, soft_wrap=True).print(note, markup=False)
    if as_json:
        echo_json(
            [
                {
                    "addressee": each.addressee,
                    "response": each.response,
                    "candidate": each.candidate,
                    "probability": round(each.probability, 4),
                }
                for each in selections[:top]
            ]
        )
        return
    Terminal(highlight=False).print(selection_table(responder, selections[:top]))


def _read_candidates(text: str, name: str) -> list[str]:
    if not text.lstrip().startswith("["):
        return [line for line in text.splitlines() if line.strip()]
    try:
        found = parse_json(text)
    except ValueError as error:
        raise SessionError(f"{name}: begins like a JSON list and is none ({error})") from error
    if not all(isinstance(each, str) for each in found):
        raise SessionError(f"{name}: expected a JSON list of texts")
    return list(found)


def known_responder(session: Session, log: str, responder: str, *, new: bool) -> None:
    """Make sure that the responder is known, or is declared to be new.

    Raises:
        SessionError: The responder is neither; the message lists similar names.
    """
    if responder not in session.people.speakers and not new:
        close = session.closest_names(responder)
        hint = f"did you mean {' or '.join(close)}?" if close else "add --new if they are about to join"
        raise SessionError(f"{log}: nobody called {responder} speaks in it; {hint}")


def session_after(
    log: str, model: Path | None, format: str | None, strict: bool, keep: tuple[str, ...], channel: str | None
) -> Session:
    """A session that has followed a channel to its end."""
    kinds = kept_kinds(keep)
    sessions = defaultdict[str | None, Session](load(model).session)
    for message in read_messages(log, format=format, report=Report(strict=strict)):
        if message.kind in kinds and channel in (None, message.channel):
            sessions[message.channel].observe(message)
    if not sessions:
        where = f"no message of channel {channel}" if channel else "no message"
        raise LogError(f"{where} was found in it", file=log)
    if len(sessions) > 1:
        names = ", ".join(sorted(str(name) for name in sessions))
        raise LogError(f"it holds several channels; choose one with --channel: {names}", file=log)
    return next(iter(sessions.values()))


def selection_table(responder: str, selections: list[Selection]) -> Table:
    """A table of pairs with their probabilities, the best on top."""
    table = Table(
        title=Text(visible(f"What {responder} says next")), title_justify="left", header_style="bold"
    )
    table.add_column("", justify="right")
    table.add_column("to")
    table.add_column("response", overflow="fold")
    for place, each in enumerate(selections):
        style = "bold green" if place == 0 else ""
        table.add_row(
            f"{each.probability:.1%}",
            Text(visible(each.addressee or "–")),
            Text(visible(each.response)),
            style=style,
        )
    return table
