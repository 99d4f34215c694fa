"""The console on which commands show text: texts in logs or file names cannot control the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from towhom.visible import visible


class Terminal(Console):
    """A console that escapes control characters in texts; only its own colours and styles take effect."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments to show. Tabs become spaces, since rich needs a kilobyte to expand one."""
        if isinstance(renderable, Text) and "\t" in renderable.plain:
            renderable = renderable.copy()
            renderable.plain = renderable.plain.replace("\t", " ")
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
