"""What a session answers: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towhom.chat import Message
from towhom.threads import Placed


class How(StrEnum):
    """How an addressee was found."""

    NAMED = "named"
    """Said outright: a reply link, a mention, a name that is called."""
    INFERRED = "inferred"
    """Worked out from the conversation."""


class Audience(StrEnum):
    """For how many people a message is."""

    SOMEBODY = "somebody"
    """For one person, or several who are called."""
    EVERYBODY = "everybody"
    """For all who are there: `hi all`, `@everyone`."""
    NOBODY = "nobody"
    """For nobody in particular: a question to the room, a remark."""
    UNKNOWN = "unknown"
    """Nothing is likely enough to say."""


@dataclass(frozen=True, slots=True)
class Addressee:
    """Somebody who may be meant.

    Args:
        name: What people call them; None for nobody in particular.
        probability: How likely they are meant. Several people may be meant at once, so those of a message
            need not add up to 1.
        id: Their identifier, which is the name where the chat has no others; None for nobody in particular.
    """

    name: str | None
    probability: float
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """Who a message is for.

    Args:
        message: What was observed, with the name cut from its text if there was one in front.
        addressees: Everybody who may be meant and nobody in particular, the likeliest first.
        how: Whether the message says it outright.
        reason: Why the first is first, for people.
        audience: Whether it is for somebody, everybody, or nobody in particular.
        placed: What it answers, and its conversation.
    """

    message: Message
    addressees: tuple[Addressee, ...]
    how: How
    reason: str
    audience: Audience
    placed: Placed

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
        id: The addressee's identifier, which is the name where the chat has no others.
    """

    addressee: str | None
    response: str
    candidate: int
    probability: float
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the last message is for somebody; true or false as it stands.

    Args:
        yes: Whether it is.
        probability: How likely.
        reason: Why, for people.
        everybody: Whether it is for everybody who is there. That alone does not make it true.

    >>> verdict = Verdict(True, 0.91, "ada names bob")
    >>> "answer" if verdict else "keep quiet"
    'answer'
    """

    yes: bool
    probability: float
    reason: str
    everybody: bool = False

    def __bool__(self) -> bool:
        return self.yes
