"""Who a message is for and what it answers, read off the same probabilities, so that the two agree.

A message is for who said what it answers; where its speaker goes on with an own line, for whom that line was.
First the likeliest addressee is found, over all that they said; then, of what leads to them, the likeliest
message. Who calls somebody may also take up what another said to them, as bots do on command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from towhom.crosstalk.columns import Array
from towhom.hearing.calls import Call
from towhom.hearing.utterance import REACH, Utterance

_LEAST = 1e-4
"""Cells less likely than this change nothing."""


class Lead(NamedTuple):
    """A message that may be answered; the last of all is a start."""

    back: int
    """How many messages before; 0 for a start."""
    who: str | None
    """To whom it leads: who said it, or whom an own line was for."""
    calls: tuple[Call, ...]
    """Who is named in it."""
    likely: float


class Reading(NamedTuple):
    """What is made of one message."""

    people: dict[str | None, float]
    """How likely it is for whom; None is nobody in particular."""
    leads: list[Lead]

    def best_link(self, addressee: str | None, *, called: bool = False) -> tuple[int, float]:
        """How far back, and how likely, is the likeliest message that leads to somebody; a start if none.

        Args:
            addressee: Whom the message is for.
            called: Whether it calls them. Then it may also take up what another said to them.
        """
        found = [
            (lead.likely, lead.back)
            for lead in self.leads
            if lead.who == addressee or (called and any(call.who == addressee for call in lead.calls))
        ]
        likely, back = max(found, default=(self.leads[-1].likely, 0))
        return back, likely


class Earlier(Protocol):
    """A message before it, and who it was for."""

    @property
    def utterance(self) -> Utterance:
        """As it was heard."""

    @property
    def addressee(self) -> str | None:
        """None is nobody in particular."""


def read(likely: Array, speaker: str, before: Sequence[Earlier], *, few: bool = False) -> Reading:
    """What is made of one message.

    Args:
        likely: (`REACH` + 1,) How likely each message before it is answered, the latest first; last, none.
        speaker: Who says it.
        before: Those before it, the latest last.
        few: Whether there are few people: an own line for nobody then leads to who has spoken since.
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
    """How many messages ago somebody else spoke, 0 if nobody did."""
    for back in range(1, len(before) + 1):
        said = before[-back].utterance
        if said.speaker != speaker and not said.gone:
            return back
    return 0


def likeliest(people: Mapping[str | None, float]) -> str | None:
    """Whom it is most likely for."""
    return max(people, key=lambda who: people[who])
