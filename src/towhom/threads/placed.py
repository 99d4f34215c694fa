"""A message and where it belongs."""

from __future__ import annotations

from dataclasses import dataclass

from towhom.chat import Message


@dataclass(frozen=True, slots=True)
class Placed:
    """A message and where it belongs. Messages are numbers: their line in the log, or else their order.

    Args:
        message: What was said.
        line: Its own number.
        replies_to: What it answers; its own number if it starts a conversation.
        thread: The number of the message that started the conversation.
        probability: How likely that is: of the answer, or of the start.
    """

    message: Message
    line: int
    replies_to: tuple[int, ...]
    thread: int
    probability: float

    @property
    def starts(self) -> bool:
        """Whether it starts a conversation."""
        return self.replies_to == (self.line,)
