"""The answers of a session, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towhom.chat import Message
from towhom.threads import Placed


class How(StrEnum):
    """How an addressee was found."""

    NAMED = "named"
    """Stated in the message: a reply link, a mention, a name that is called."""
    INFERRED = "inferred"
    """Inferred from the conversation."""


class Audience(StrEnum):
    """Whether a message is for somebody, everybody, or nobody in particular."""

    SOMEBODY = "somebody"
    """For one person, or several who are called."""
    EVERYBODY = "everybody"
    """For all who are present: `hi all`, `@everyone`."""
    NOBODY = "nobody"
    """For nobody in particular: a question to the room, a remark."""
    UNKNOWN = "unknown"
    """No answer is likely enough."""


@dataclass(frozen=True, slots=True)
class Addressee:
    """Somebody who may be meant.

    Args:
        name: The name that people use; None for nobody in particular.
        probability: How likely they are meant. Several people may be meant at once, so the probabilities of
            a message need not add up to 1.
        id: Their identifier, or their name if the chat has no identifiers; None for nobody in particular.
    """

    name: str | None
    probability: float
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """Who a message is for.

    Args:
        message: The message that was observed, without a name in front of its text.
        addressees: Everybody who may be meant, and nobody in particular, the likeliest first.
        how: Whether the message names its addressee.
        reason: Why the first addressee is the likeliest, in words.
        audience: Whether it is for somebody, everybody, or nobody in particular.
        placed: What the message answers, and its conversation.
    """

    message: Message
    addressees: tuple[Addressee, ...]
    how: How
    reason: str
    audience: Audience
    placed: Placed

    @property
    def addressee(self) -> str | None:
        """The likeliest addressee; None for nobody in particular."""
        return self.addressees[0].name

    @property
    def probability(self) -> float:
        """The probability of this addressee."""
        return self.addressees[0].probability


@dataclass(frozen=True, slots=True)
class Selection:
    """A response and its addressee.

    Args:
        addressee: Who the response is for; None if nobody else is present.
        response: One of the candidates, as it was given.
        candidate: The number of the candidate, counted from 0.
        probability: How likely this pair is the right one, if one of the candidates is; the probabilities of
            all pairs add up to 1.
        id: The addressee's identifier, or their name if the chat has no identifiers.
    """

    addressee: str | None
    response: str
    candidate: int
    probability: float
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the last message is for somebody; can be used as true or false.

    Args:
        yes: Whether the message is for them.
        probability: How likely that is.
        reason: The reason, in words.
        everybody: Whether the message is for everybody who is present. This alone does not make the verdict
            true.

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
