"""Where commands show text: whatever a log or a file's name holds, it cannot command the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from towhom.visible import visible


class Terminal(Console):
    """A console that writes control characters out. Colours and the like are its own, not those of a text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces of what is shown. A tab is a space: rich takes a kilobyte to widen one."""
        if isinstance(renderable, Text) and "\t" in renderable.plain:
            renderable = renderable.copy()
            renderable.plain = renderable.plain.replace("\t", " ")
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
