"""What a gate answers: plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from towhom.bots.context import Context, Count, RelatedMessages, rough_tokens
from towhom.chat import Message
from towhom.live import Verdict


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """To whom, and to which message, an answer is.

    Args:
        id: The person's identifier, which is the name where the chat has no others.
        name: What people call them.
        message: The identifier of the message, if the platform has one.
    """

    id: str
    name: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class GateVerdict(Verdict):
    """Whether a bot speaks; true or false as it stands.

    Args:
        yes: Whether it does.
        probability: How likely the message is for the bot.
        reason: Why it speaks or keeps quiet, for people.
        everybody: Whether the message is for everybody who is there.
        room: Where it was said.
        message: What was heard; of a burst, its last message.
        called: Whether the bot is called outright.
        reply_to: Whom to answer; None if there is nobody to answer.
        thread: The conversation: the number of the message that started it, counted from 0 in its room.
        burst: All messages that this verdict is about.
        steps: How it came about, for `explain`.
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
        """The messages that matter for an answer, the latest last: the conversation, not the last lines.

        Args:
            max_tokens: How many tokens their lines may have in all.
            count: Counts the tokens of a line; by default roughly, and rather too many.
        """
        return Context((), 0) if self.related is None else self.related.context(max_tokens, count)

    def explain(self) -> str:
        """How the verdict came about, a line a step, without what was said."""
        verdict = f"{'speaks' if self.yes else 'keeps quiet'}: {self.reason}"
        return "\n".join((*self.steps, verdict))

    def __bool__(self) -> bool:
        return self.yes
