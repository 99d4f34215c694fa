"""Defines questions and when they are open, for pages, reports and tools.

A conversation begins with a question if the person who starts it asks something: in the first message, or
in one of more than a word that they add before anybody else speaks. Every later message by somebody else is
an answer, except those of programs. The question is open while there is no answer, and again once the
person who asked has asked something after the last answer.
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
        who: Who says it; equal for the same person under several names.
        text: The text.
        asks: Whether it asks something, by `towhom.hearing.words.asks`.
        answers: Whether it can ask and answer: not for messages of programs, or with an uncertain link.
    """

    who: Hashable
    text: str
    asks: bool
    answers: bool = True


def by_program(message: Message) -> bool:
    """Whether the platform marks the message as a program's."""
    return message.bot or message.kind is Kind.NOTICE


@dataclass(slots=True)
class Asked:
    """The question that a conversation begins with. Messages are given by their places in it.

    Args:
        question: The message that asks.
        answers: The messages of others after it.
        again: The message that asks again after the last answer.
        after: The asker's messages after the last answer, or after the question.
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
    """The question that a conversation begins with; None if it begins with none.

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
