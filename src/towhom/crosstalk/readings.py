"""The addressee and the link of a message, both derived from the same probabilities, so that they agree.

A message is for the speaker of the message it answers; if its speaker continues an own message, it is for the
addressee of that one. First the likeliest addressee is found, summed over all their messages; then the
likeliest of the messages that lead to them. A message that calls somebody may also answer what another said
to them, as bots do on command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from towhom.crosstalk.columns import Array
from towhom.hearing.calls import Call
from towhom.hearing.utterance import REACH, Utterance

_LEAST = 1e-4
"""Links less likely than this are ignored."""


class Lead(NamedTuple):
    """A message that may be answered; the last lead stands for starting a thread."""

    back: int
    """How many messages ago; 0 for a start."""
    who: str | None
    """The addressee it leads to: its speaker, or the addressee of an own message."""
    calls: tuple[Call, ...]
    """The calls in it."""
    likely: float


class Reading(NamedTuple):
    """The possible addressees and links of one message."""

    people: dict[str | None, float]
    """Probability of each addressee; None is nobody in particular."""
    leads: list[Lead]

    def best_link(self, addressee: str | None, *, called: bool = False) -> tuple[int, float]:
        """The likeliest message that leads to a person, as distance and probability; a start if none does.

        Args:
            addressee: The person the message is for.
            called: Whether it calls them. Then it may also answer what another said to them.
        """
        found = [
            (lead.likely, lead.back)
            for lead in self.leads
            if lead.who == addressee or (called and any(call.who == addressee for call in lead.calls))
        ]
        likely, back = max(found, default=(self.leads[-1].likely, 0))
        return back, likely


class Earlier(Protocol):
    """An earlier message and its addressee."""

    @property
    def utterance(self) -> Utterance:
        """The analysed message."""

    @property
    def addressee(self) -> str | None:
        """The addressee; None is nobody in particular."""


def read(likely: Array, speaker: str, before: Sequence[Earlier], *, few: bool = False) -> Reading:
    """Find the possible addressees and links of one message.

    Args:
        likely: (`REACH` + 1,) How likely each message before it is answered, the latest first; last, none.
        speaker: The message's speaker.
        before: The messages before it, the latest last.
        few: Whether there are few people: an own message for nobody then leads to who has spoken since.
    """
    other = _last_other(speaker, before) if few else 0
    start = float(likely[REACH])
    people: dict[str | None, float] = {None: start}
    leads: list[Lead] = []
    columns = np.flatnonzero(likely[:REACH] > _LEAST)
    for column, probability in zip(columns.tolist(), likely[columns].tolist(), strict=True):
        earlier = before[-1 - column]
        said = earlier.utterance
        who = earlier.addressee if said.speaker == speaker else said.speaker
        if who is None and 0 < other <= column:
            who = before[-other].utterance.speaker
        people[who] = people.get(who, 0.0) + probability
        leads.append(Lead(column + 1, who, said.calls, probability))
    leads.append(Lead(0, None, (), start))
    return Reading(people, leads)


def _last_other(speaker: str, before: Sequence[Earlier]) -> int:
    """How many messages ago somebody else last spoke; 0 if nobody did."""
    for back in range(1, len(before) + 1):
        said = before[-back].utterance
        if said.speaker != speaker and not said.gone:
            return back
    return 0


def likeliest(people: Mapping[str | None, float]) -> str | None:
    """The likeliest addressee."""
    return max(people, key=lambda who: people[who])
