"""Who a message is for and what it answers, read off the same probabilities, so that the two agree.

A message is for who said what it answers; where its speaker goes on with an own line, for whom that line was.
First the likeliest addressee is found, over all that they said; then, of what leads to them, the likeliest
message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from towhom.crosstalk.columns import Array
from towhom.hearing.utterance import REACH

_LEAST = 1e-4
"""Cells less likely than this change nothing."""


class Reading(NamedTuple):
    """What is made of one message."""

    people: dict[str | None, float]
    """How likely it is for whom; None is nobody in particular."""
    leads: list[tuple[int, str | None, float]]
    """How many messages before, to whom that leads, and how likely it is; 0 before is a start."""

    def best_link(self, addressee: str | None) -> tuple[int, float]:
        """How far back, and how likely, is the likeliest message that leads to somebody; a start if none."""
        found = [(likely, back) for back, who, likely in self.leads if who == addressee]
        likely, back = max(found, default=(self.leads[-1][2], 0))
        return back, likely


def read(likely: Array, speaker: str, earlier: Sequence[str], meant: Sequence[str | None]) -> Reading:
    """What is made of one message.

    Args:
        likely: (`REACH` + 1,) How likely each message before it is answered, the latest first; last, none.
        speaker: Who says it.
        earlier: Who said those before it, the latest last.
        meant: Whom those were for.
    """
    people: dict[str | None, float] = {None: float(likely[REACH])}
    leads: list[tuple[int, str | None, float]] = []
    for column in np.flatnonzero(likely[:REACH] > _LEAST).tolist():
        by, probability = earlier[-1 - column], float(likely[column])
        who = meant[-1 - column] if by == speaker else by
        people[who] = people.get(who, 0.0) + probability
        leads.append((column + 1, who, probability))
    leads.append((0, None, float(likely[REACH])))
    return Reading(people, leads)


def likeliest(people: Mapping[str | None, float]) -> str | None:
    """Whom it is most likely for."""
    return max(people, key=lambda who: people[who])
