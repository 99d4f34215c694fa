"""`towhom demo`: what there is to see in a minute, offline, on a chat that comes with the package."""

from __future__ import annotations

from collections import Counter
from importlib.resources import as_file, files

import click
from rich.console import Console
from rich.table import Table

from towhom.chat import Conversation
from towhom.cli.show import show_conversation
from towhom.readers import read_conversations

_SAMPLE = "makerspace.txt"


@click.command()
def demo() -> None:
    """Show what towhom does, on a chat that comes with it."""
    console = Console(highlight=False)
    with as_file(files("towhom.samples") / _SAMPLE) as path:
        conversation = next(read_conversations(path))
    show_conversation(conversation, console)
    console.print()
    console.print(_statistics(conversation))
    console.print(_pairs(conversation))
    console.print(
        "\nThree conversations run at once here. Where a message names its addressee, an arrow shows it.\n"
        "Try a log of yours:  [bold]towhom read LOG[/]  (IRC, Slack, Discord, Telegram, Matrix, WhatsApp)"
    )


def _statistics(conversation: Conversation) -> Table:
    addressed = sum(message.addressee is not None for message in conversation)
    table = Table(title="The chat in numbers", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("speakers", str(len(conversation.speakers)))
    table.add_row("messages", str(len(conversation)))
    table.add_row("addressed to somebody by name", f"{addressed} ({addressed / len(conversation):.0%})")
    return table


def _pairs(conversation: Conversation) -> Table:
    pairs = Counter((m.speaker, m.addressee) for m in conversation if m.addressee is not None)
    table = Table(title="Who talks to whom", title_justify="left", show_header=False)
    table.add_column()
    table.add_column()
    table.add_column(justify="right")
    for (speaker, addressee), count in pairs.most_common(5):
        table.add_row(speaker, f"→ {addressee}", str(count))
    return table
