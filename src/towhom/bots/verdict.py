"""The answers of a gate, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from towhom.bots.context import Context, Count, RelatedMessages, rough_tokens
from towhom.chat import Message
from towhom.live import Verdict


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """The person and the message that an answer is for.

    Args:
        id: The person's identifier, or their name if the chat has no identifiers.
        name: The name that people use.
        message: The identifier of the message, if the platform has one.
    """

    id: str
    name: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class GateVerdict(Verdict):
    """Whether a bot speaks; can be used as true or false.

    Args:
        yes: Whether it speaks.
        probability: How likely the message is for the bot.
        reason: Why it speaks or stays silent, in words.
        everybody: Whether the message is for everybody who is present.
        room: The room of the message.
        message: The message; for a burst, the last one.
        called: Whether the message calls the bot directly.
        reply_to: Who to answer; None if there is nobody to answer.
        thread: The conversation: the number of the message that started it, counted from 0 in its room.
        burst: All messages that this verdict is about.
        steps: How the verdict was reached, for `explain`.
    """

    room: str | None = None
    message: Message | None = None
    called: bool = False
    reply_to: ReplyTo | None = None
    thread: int | None = None
    burst: tuple[Message, ...] = ()
    steps: tuple[str, ...] = ()
    related: RelatedMessages | None = field(default=None, repr=False, compare=False)

    def context(self, max_tokens: int = 1000, *, count: Count = rough_tokens) -> Context:
        """The messages that an answer needs, the latest last: the conversation, not the last lines.

        Args:
            max_tokens: The largest number of tokens in all lines.
            count: Counts the tokens of a line; by default, a rough and rather high estimate.
        """
        return Context((), 0) if self.related is None else self.related.context(max_tokens, count)

    def explain(self) -> str:
        """Explain how the verdict was reached, one line per step, without quoting messages."""
        verdict = f"{'speaks' if self.yes else 'keeps quiet'}: {self.reason}"
        return "\n".join((*self.steps, verdict))

    def __bool__(self) -> bool:
        return self.yes
