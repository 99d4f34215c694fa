"""`towhom respond`: finds earlier messages of others that somebody could say next."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from towhom.bank import Bank, Response
from towhom.cli.options import FOLDER, LOGS, echo_json, format_options, model_option
from towhom.cli.select import known_responder, session_after
from towhom.cli.terminal import Terminal
from towhom.live import Proposal
from towhom.live.responding import LEAST
from towhom.visible import visible


@click.command()
@click.argument("log", type=LOGS)
@format_options
@click.option("--as", "responder", metavar="NICK", required=True, help="The person who speaks next.")
@click.option("--new", is_flag=True, help="NICK has not spoken in LOG yet.")
@click.option("--bank", type=FOLDER, required=True, help="A folder that `towhom bank build` made.")
@click.option("--channel", help="The channel, if LOG holds several.")
@click.option(
    "--top", type=click.IntRange(1), default=5, show_default=True, help="How many responses to show."
)
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    default=LEAST,
    show_default=True,
    help="The least probability that a response fits.",
)
@model_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def respond(
    log: str,
    format: str | None,
    strict: bool,
    keep: tuple[str, ...],
    responder: str,
    new: bool,
    bank: Path,
    channel: str | None,
    top: int,
    least: float,
    model: Path | None,
    as_json: bool,
) -> None:
    """Find what NICK could say next after a chat LOG, and to whom, in a BANK of earlier answers.

    Each response is shown with the question that it answered, and its source. If nothing fits, nothing is
    shown.
    """
    opened = Bank(bank)
    session = session_after(log, model, format, strict, keep, channel)
    known_responder(session, log, responder, new=new)
    found = session.respond(responder, opened, top, least=least)
    if as_json:
        echo_json([each.record() for each in found])
        return
    console = Terminal(highlight=False, soft_wrap=True)
    if not found:
        console.print("null: nothing in the bank fits", markup=False)
    for each in found:
        console.print(proposal_text(each))


def proposal_text(proposal: Proposal) -> Text:
    """A response as text, with the question that it answered and its source."""
    source, text = proposal.source, Text()
    text.append(f"{proposal.probability:>4.0%} ", "bold green")
    if proposal.addressee is not None:
        text.append(f"→ {visible(proposal.addressee)} ", "bold")
    text.append(visible(proposal.response) + "\n")
    text.append(f"     answered: {visible(source.question)}\n", "dim")
    text.append(f"     {where(source)}", "dim")
    return text


def where(source: Response) -> str:
    """The source of a response in one line."""
    parts = [source.document if source.channel is None else f"{source.document}, {source.channel}"]
    parts.append(f"line {source.line + 1}")
    if source.time is not None and source.time.year > 1:
        parts.append(f"{source.time:%Y-%m-%d %H:%M}")
    if source.times > 1:
        parts.append(f"said {source.times} times")
    if source.link is not None:
        parts.append(source.link)
    return visible(", ".join(parts))
