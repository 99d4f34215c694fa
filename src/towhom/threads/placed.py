"""A message with its link and its thread."""

from __future__ import annotations

from dataclasses import dataclass

from towhom.chat import Message


@dataclass(frozen=True, slots=True)
class Placed:
    """A message with its link and thread. Messages are numbers: their line in the log, or else their order.

    Args:
        message: The message.
        line: Its own number.
        replies_to: The messages that it answers; its own number if it starts a conversation.
        thread: The number of the message that started the conversation.
        probability: How likely it answers that message, or starts a conversation.
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
