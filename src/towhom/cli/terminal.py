"""Where commands show text: whatever a log or a file's name holds, it cannot command the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from towhom.visible import visible


class Terminal(Console):
    """A console that writes control characters out. Colours and the like are its own, not those of a text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces of what is shown."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
