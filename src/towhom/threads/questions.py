"""What a question is, and when it is open: the one definition that pages, reports and tools have.

Whoever starts a conversation may ask something with it: in the first message, or in one of those that they
add before anybody else speaks, if that is more than a word. Whatever anybody else says in the conversation
after that is an answer, unless a program says it. The question is open while there is no answer, and again
once the one who asked has asked something after the last answer.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from towhom.chat import Kind, Message

_MORE_THAN_A_WORD = re.compile(r"\S\s+\S|[\u2e80-\uffff]")
"""Scripts beyond U+2E80 have no spaces between words."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a conversation.

    Args:
        who: Who says it; the same person is equal, whatever they are called.
        text: What is said.
        asks: Whether it asks something, as `towhom.hearing.words.asks` has it.
        answers: Whether it can ask and answer: what a program says, and what may not belong here, cannot.
    """

    who: Hashable
    text: str
    asks: bool
    answers: bool = True


def by_program(message: Message) -> bool:
    """Whether the platform says that a program speaks."""
    return message.bot or message.kind is Kind.NOTICE


@dataclass(slots=True)
class Asked:
    """The question that a conversation begins with; messages are their places in it.

    Args:
        question: The message that asks.
        answers: What others say after it.
        again: The message that asks again after the last answer.
        after: What the one who asked says after the last answer, or after the question.
    """

    question: int
    answers: list[int]
    again: int | None
    after: list[int]

    @property
    def open(self) -> bool:
        """Whether it waits for an answer."""
        return not self.answers or self.again is not None


def asked(turns: Iterable[Turn]) -> Asked | None:
    """The question that a conversation begins with, if it does.

    >>> ask = Turn("ada", "does it boot?", True)
    >>> asked([ask]).open, asked([ask, Turn("bob", "yes", False)]).open
    (True, False)
    """
    found: Asked | None = None
    asker: Hashable = None
    for place, turn in enumerate(turns):
        if place == 0:
            if not turn.answers:
                return None
            asker = turn.who
        if found is None:
            if turn.who != asker and turn.answers:
                return None
            if turn.who == asker and turn.asks and (place == 0 or _MORE_THAN_A_WORD.search(turn.text)):
                found = Asked(place, [], None, [])
        elif turn.who != asker:
            if turn.answers:
                found.answers.append(place)
                found.again = None
                found.after = []
        else:
            found.after.append(place)
            if found.answers and found.again is None and turn.asks:
                found.again = place
    return found
