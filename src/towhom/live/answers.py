"""What a session answers: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towhom.chat import Message


class How(StrEnum):
    """How an addressee was found."""

    NAMED = "named"
    """Said outright: a name in front, a mention, a reply that the platform marks."""
    INFERRED = "inferred"
    """Worked out from the conversation."""


@dataclass(frozen=True, slots=True)
class Addressee:
    """Somebody who may be meant.

    Args:
        name: Who; None for nobody in particular.
        probability: How likely; those of all possible addressees of a message add up to 1.
    """

    name: str | None
    probability: float


@dataclass(frozen=True, slots=True)
class Observation:
    """To whom a message is addressed.

    Args:
        message: What was observed, with the name cut from its text if there was one in front.
        addressees: Everybody who may be meant and nobody in particular, the likeliest first.
        how: Whether the message says it outright.
        reason: Why the first is first, for people.
    """

    message: Message
    addressees: tuple[Addressee, ...]
    how: How
    reason: str

    @property
    def addressee(self) -> str | None:
        """The likeliest; None for nobody in particular."""
        return self.addressees[0].name

    @property
    def probability(self) -> float:
        """How likely that is."""
        return self.addressees[0].probability


@dataclass(frozen=True, slots=True)
class Selection:
    """A response, and to whom.

    Args:
        addressee: To whom; None if nobody else is there.
        response: One of the candidates, as it was given.
        candidate: Which of them, from 0 on.
        probability: How likely the pair is the right one, if one of the candidates is; those of all pairs
            add up to 1.
    """

    addressee: str | None
    response: str
    candidate: int
    probability: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the last message is for somebody; true or false as it stands.

    >>> verdict = Verdict(True, 0.91, "ada names bob")
    >>> "answer" if verdict else "keep quiet"
    'answer'
    """

    yes: bool
    probability: float
    reason: str

    def __bool__(self) -> bool:
        return self.yes
