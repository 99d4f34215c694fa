"""The drawings of docs/how-it-works.md: `python -m tools.drawings` writes them into docs/drawings."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "drawings"

# Colours that are readable on the light background of every drawing.
INK, FAINT, GROUND, PAPER = "#1f2937", "#6b7280", "#f5f6fa", "#ffffff"
BLUE, GREEN, ORANGE, VIOLET = "#2563eb", "#047857", "#b45309", "#6d28d9"


class Drawing:
    """An SVG made of boxes, texts and arrows.

    Args:
        width: The width in pixels.
        height: The height in pixels.
        title: A description for people who cannot see the drawing.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size, self._title, self._parts = (width, height), title, list[str]()

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 15,
        colour: str = INK,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """Draw a line of text."""
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
            f"{escape(text)}</text>"
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        lines: Sequence[str] = (),
        *,
        colour: str = FAINT,
    ) -> None:
        """Draw a box with lines of text in its middle, the first of them bold."""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" fill="{PAPER}" '
            f'stroke="{colour}" stroke-width="1.5"/>'
        )
        top = y + height / 2 - 10 * (len(lines) - 1) + 5
        for number, line in enumerate(lines):
            self.text(
                x + width / 2, top + 20 * number, line, size=15 if number == 0 else 13, anchor="middle",
                bold=number == 0, colour=INK if number == 0 else FAINT,
            )  # fmt: skip

    def arrow(
        self, path: Sequence[tuple[float, float]], *, colour: str = FAINT, width: float = 1.5, bend: float = 0
    ) -> None:
        """Draw an arrow through some points; with two points, it may be bent sideways."""
        (x1, y1), (x2, y2) = path[0], path[-1]
        if len(path) == 2 and bend:
            line = f"M{x1:g},{y1:g} Q{(x1 + x2) / 2 + bend:g},{(y1 + y2) / 2:g} {x2:g},{y2:g}"
        else:
            line = "M" + " L".join(f"{x:g},{y:g}" for x, y in path)
        self._parts.append(
            f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
            f'marker-end="url(#{colour.strip("#")})"/>'
        )

    def svg(self) -> str:
        """The SVG as text."""
        width, height = self._size
        marks = "".join(
            f'<marker id="{colour.strip("#")}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" '
            'markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">'
            f'<path d="M0,0 L10,5 L0,10 z" fill="{colour}"/></marker>'
            for colour in (FAINT, BLUE, GREEN, ORANGE, VIOLET)
        )
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="system-ui, sans-serif" role="img">',
            f"<title>{escape(self._title)}</title>",
            f"<defs>{marks}</defs>",
            f'<rect width="{width}" height="{height}" rx="12" fill="{GROUND}"/>',
            *self._parts,
            "</svg>",
            "",
        ])  # fmt: skip


def cells() -> Drawing:
    """A message and its cells."""
    drawing = Drawing(860, 330, "A message, its cells, and what is read off them")
    chat = (
        ("noor", "my wifi is gone since the upgrade", 1.5), ("tobias", "which kernel comes with 10.04?", 1),
        ("wren", "noor: which card is it?", 6), ("tobias", "never mind, found it", 1),
    )  # fmt: skip
    drawing.text(95, 32, "earlier messages", size=13, colour=FAINT)
    for number, (speaker, text, width) in enumerate(chat):
        y = 66 + 44 * number
        drawing.text(80, y, speaker, anchor="end", bold=True, colour=(BLUE, VIOLET, GREEN, VIOLET)[number])
        drawing.text(95, y, text)
        colour = (BLUE, VIOLET, GREEN, VIOLET)[number]
        drawing.arrow(((385, 288), (355, y - 5)), colour=colour, width=width, bend=60 - 9 * number)
    drawing.text(80, 293, "noor", anchor="end", bold=True, colour=BLUE)
    drawing.text(95, 293, "a broadcom, lspci says")
    drawing.text(95, 314, "the message that is asked about", size=13, colour=FAINT)
    drawing.arrow(((405, 288), (505, 288)), width=1)
    drawing.text(514, 293, "it starts something", size=13, colour=FAINT)
    drawing.text(514, 32, "one cell each; their probabilities sum to 1", size=13, colour=FAINT)
    for number, (question, answer, colour) in enumerate((
        ("which message does it answer?", "the thickest arrow: wren's question", GREEN),
        ("who is it for?", "arrows summed by person: wren", GREEN),
        ("which conversation is it in?", "that of wren's question", GREEN),
    )):  # fmt: skip
        y = 66 + 60 * number
        drawing.text(514, y, question, bold=True)
        drawing.text(514, y + 22, answer, colour=colour)
    return drawing


def sirnn() -> Drawing:
    """The three units of SI-RNN."""
    drawing = Drawing(860, 340, "SI-RNN: a message updates every speaker's vector, by role")
    drawing.box(300, 24, 260, 56, ("wren to noor", "which card is it?"))
    rows = (
        ("wren", "sender", "IGRU (sender)", "reads noor's vector, too", GREEN),
        ("noor", "addressee", "IGRU (addressee)", "reads wren's vector, too", BLUE),
        ("tobias", "observer", "GRU (observers)", "reads the message alone", VIOLET),
    )
    for number, (name, role, unit, reads, colour) in enumerate(rows):
        y = 118 + 72 * number
        drawing.box(40, y, 150, 52, (name, f"before, as {role}"), colour=colour)
        drawing.box(330, y, 200, 52, (unit, reads), colour=colour)
        drawing.box(670, y, 150, 52, (name, "after"), colour=colour)
        drawing.arrow(((190, y + 26), (328, y + 26)), colour=colour, width=2)
        drawing.arrow(((530, y + 26), (668, y + 26)), colour=colour, width=2)
    drawing.arrow(((430, 80), (430, 116)))
    drawing.arrow(((545, 80), (600, 100), (600, 190), (532, 206)))
    drawing.arrow(((545, 80), (615, 100), (615, 262), (532, 278)))
    drawing.arrow(((190, 208), (250, 190), (328, 160)), colour=BLUE, width=1.2)
    drawing.arrow(((190, 152), (262, 176), (328, 204)), colour=GREEN, width=1.2)
    return drawing


def server() -> Drawing:
    """The path of a message through the server."""
    drawing = Drawing(860, 310, "The path of a message through the server")
    drawing.box(24, 40, 140, 64, ("client", "a bot, a page"))
    drawing.box(
        250, 24, 250, 96, ("HTTP process", "token, limits, shape", "keeps a channel's order"), colour=BLUE
    )
    drawing.box(600, 40, 236, 64, ("worker", "the channel's session, the model"), colour=GREEN)
    drawing.box(
        250, 200, 250, 72, ("storage", "SQLite or PostgreSQL", "message and observation"), colour=ORANGE
    )
    drawing.box(24, 200, 140, 72, ("followers", "told of it"))
    drawing.arrow(((164, 58), (248, 58)), colour=BLUE, width=2)
    drawing.text(206, 50, "1", bold=True, colour=BLUE, anchor="middle")
    drawing.arrow(((500, 58), (598, 58)), colour=GREEN, width=2)
    drawing.text(549, 50, "2", bold=True, colour=GREEN, anchor="middle")
    drawing.arrow(((600, 90), (502, 90)), colour=GREEN, width=2)
    drawing.text(549, 108, "who it is for", size=13, colour=FAINT, anchor="middle")
    drawing.arrow(((350, 120), (350, 198)), colour=ORANGE, width=2)
    drawing.text(338, 164, "3", bold=True, colour=ORANGE, anchor="end")
    drawing.arrow(((400, 200), (400, 122)), colour=ORANGE, width=2)
    drawing.text(410, 164, "saved: one transaction for all that wait", size=13, colour=FAINT)
    drawing.arrow(((248, 90), (166, 90)), colour=BLUE, width=2)
    drawing.text(206, 108, "4", bold=True, colour=BLUE, anchor="middle")
    drawing.arrow(((262, 120), (120, 198)), colour=BLUE, width=1.5)
    drawing.arrow(((500, 236), (640, 236), (700, 106)), colour=ORANGE, width=1.2)
    drawing.text(520, 262, "a session that left memory comes back", size=13, colour=FAINT)
    return drawing


DRAWINGS = {"cells": cells, "sirnn": sirnn, "server": server}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), "utf-8")
