"""`towhom demo`: a short offline demonstration with the bundled model and sample chat."""

from __future__ import annotations

import re
import sys

import click
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.terminal_theme import DIMMED_MONOKAI

from towhom import load
from towhom.chat import Kind
from towhom.cli.select import selection_table
from towhom.cli.show import Palette
from towhom.cli.terminal import Terminal
from towhom.cli.who import observation_line
from towhom.live import How, Observation
from towhom.readers import read_messages
from towhom.samples import sample_chat

_SPEAKER = "bram"
_DRAFTS = (
    "then I oil both hinges before the chairs come",
    "asa needs the enclosure, petg does not",
    "an hour for the epoxy, then you can cut",
    "the window side of the long table is free",
)


@click.command()
@click.option(
    "--as", "responder", metavar="NICK", help="The person who speaks next.  [default: the command asks]"
)
@click.option("--svg", type=click.Path(dir_okay=False), hidden=True, help="Save what is shown as a picture.")
def demo(responder: str | None, svg: str | None) -> None:
    """Show what towhom does with a sample chat: who addresses whom, and what to say next."""
    console = Terminal(highlight=False, record=svg is not None, width=140 if svg else None)
    model = load()
    session = model.session()
    observations: list[Observation] = []
    colours = Palette()
    with sample_chat() as path:
        for message in read_messages(path):
            if message.kind is Kind.MESSAGE:
                observations.append(session.observe(message))
                console.print(observation_line(observations[-1], colours), soft_wrap=True)
    console.print()
    names = sorted(session.people.speakers)
    if responder is None:
        responder = _ask(names)
    if responder not in names:
        close = " or ".join(session.closest_names(responder)) or ", ".join(names)
        raise click.UsageError(f"nobody called {responder} is in the chat; did you mean {close}?")
    selections = session.select(responder, _DRAFTS)
    console.print(selection_table(responder, selections[:5]))
    named = sum(each.how is How.NAMED for each in observations)
    inferred = sum(each.how is How.INFERRED and each.addressee is not None for each in observations)
    best = selections[0]
    console.print(
        f"\nThree conversations at once: {named} of {len(observations)} messages name their addressee (→),\n"
        f"{inferred} others were worked out (⇢). The best pair is “{best.response}”, to {best.addressee}.\n\n"
        "Try a log of yours:  [bold]towhom who LOG[/]\n"
        "or a next message:   [bold]towhom select LOG --as NICK --candidate TEXT --candidate TEXT[/]",
        soft_wrap=True,
    )
    if svg is not None:
        # Remove the fonts that rich would load from another host.
        bare = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
        console.save_svg(svg, title="towhom demo", code_format=bare, theme=DIMMED_MONOKAI)


def _ask(names: list[str]) -> str:
    """Ask who speaks next; without a terminal, use the default."""
    if not sys.stdin.isatty():
        return _SPEAKER
    answer: str = click.prompt(f"Who speaks next? ({', '.join(names)})", default=_SPEAKER)
    return answer
