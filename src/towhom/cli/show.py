"""Shows conversations in the terminal: speakers in colours, arrows to addressees."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import groupby

from rich.table import Table
from rich.text import Text

from towhom.chat import Conversation, Message
from towhom.cli.terminal import Terminal
from towhom.visible import visible

# Colours that are bright enough on black and dark enough on white.
_COLOURS = (
    "dark_orange3", "dodger_blue2", "green4", "magenta3", "gold3", "turquoise4",
    "indian_red", "slate_blue1", "chartreuse4", "deep_pink3", "steel_blue", "orange4",
)  # fmt: skip

_NAME = 30
"""The greatest width of a name, in columns, so that there is room for the text."""

_ROWS = 10_000
"""Number of messages per table: a table needs kilobytes of memory for each row."""


class Palette(dict[str, str]):
    """Colours by name, assigned in the order of first use."""

    def __missing__(self, name: str) -> str:
        self[name] = _COLOURS[len(self) % len(_COLOURS)]
        return self[name]


def show_conversation(conversation: Conversation, console: Terminal) -> None:
    """Print the messages, one below the other, with a colour for each speaker."""
    colours = Palette()
    if conversation.name:
        console.rule(Text(visible(conversation.name)), align="left", style="dim")
    days = [(day, list(messages)) for day, messages in groupby(conversation.messages, _day)]
    for day, messages in days:
        if day is not None and len(days) > 1:
            console.print(Text(f"{day:%A} {day.day} {day:%B} {day.year}", "dim"))
        for start in range(0, len(messages), _ROWS):
            console.print(_table(messages[start : start + _ROWS], colours))


def _day(message: Message) -> date | None:
    return None if message.time is None or message.time.year == 1 else message.time.date()


def _table(messages: Sequence[Message], colours: Palette) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True, max_width=_NAME)
    table.add_column(no_wrap=True, max_width=_NAME)
    table.add_column(overflow="fold")
    for message in messages:
        time = message.time.strftime("%H:%M") if message.time else ""
        name = message.addressee
        addressee = Text(visible(f"→ {name}"), style=colours[name]) if name else Text("")
        speaker = Text(visible(message.speaker), style=f"bold {colours[message.speaker]}")
        table.add_row(time, speaker, addressee, Text(visible(message.text)))
    return table
