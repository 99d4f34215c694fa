"""Which of some drafts, and to whom: read off the same energies as who answers whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Message
from towhom.hearing.utterance import REACH
from towhom.live.channel import Channel, Turn

_LARGEST = 1e6
"""Far beyond the energies of any trained model."""


class Pair(NamedTuple):
    """Somebody may say a draft to somebody."""

    draft: int
    """Which of them, from 0 on."""
    to: str | None
    """None if nobody else is there."""
    likely: float


class Fit(NamedTuple):
    """How well a draft answers some messages."""

    energy: float
    """Comparable between drafts."""
    likely: float
    """How likely it answers one of them, and no other message."""


def fit(channel: Channel, responder: str, drafts: Sequence[str], turns: Collection[Turn]) -> list[Fit]:
    """How well each draft would answer one of some messages.

    A draft that calls somebody answers none but theirs.

    Args:
        channel: Where they may be said next.
        responder: By whom.
        drafts: At least one.
        turns: What is to be answered; at least one that is within reach.
    """
    imagined = [channel.ear.imagine(Message(responder, text)) for text in drafts]
    energies = bounded(channel.room.weigh(imagined))
    orders = {turn.order for turn in turns}
    reached = enumerate(reversed(channel.turns[-REACH:]))
    columns = np.array([column for column, turn in reached if turn.order in orders])
    speakers = {turn.utterance.speaker for turn in turns}
    fits = []
    for said, row in zip(imagined, energies, strict=True):
        energy = float(np.logaddexp.reduce(row[columns]))
        likely = float(np.exp(energy - np.logaddexp.reduce(row)))
        fits.append(Fit(energy, likely if said.addressee is None or said.addressee in speakers else 0.0))
    return fits


def weigh(channel: Channel, responder: str, drafts: Sequence[str]) -> list[Pair]:
    """How likely each pair of draft and addressee is, if one of them is right.

    A draft that calls somebody is for them. An own line of the responder leads to whom it was for.

    Args:
        channel: Where they may be said next.
        responder: By whom.
        drafts: At least one.
    """
    imagined = [channel.ear.imagine(Message(responder, text)) for text in drafts]
    energies = bounded(channel.room.weigh(imagined))
    people = leads(channel.turns, responder)
    to_each = np.empty((len(drafts), 0))
    if people:
        starts = np.cumsum([0, *map(len, people.values())])[:-1]
        to_each = np.logaddexp.reduceat(energies[:, np.concatenate([*people.values()])], starts, axis=1)
    found: list[tuple[int, str | None, float]] = []
    for place, (said, to_them) in enumerate(zip(imagined, to_each.tolist(), strict=True)):
        to = said.addressee
        if to is None and people:
            found += zip(repeat(place), people, to_them)
        elif to is None:
            found.append((place, None, float(np.logaddexp.reduce(energies[place]))))
        elif to in people:
            found.append((place, to, to_them[[*people].index(to)]))
        else:  # who is named but has not spoken of late has only listened
            found.append((place, to, float(energies[place].max())))
    odds = np.array([energy for _, _, energy in found])
    odds = np.exp(odds - odds.max())
    shares = (odds / odds.sum()).tolist()
    return [Pair(place, who, share) for (place, who, _), share in zip(found, shares, strict=True)]


def bounded(energies: NDArray[np.float32]) -> NDArray[np.float64]:
    """Energies that can be added up, whatever they were."""
    result: NDArray[np.float64] = np.nan_to_num(
        energies.astype(np.float64), nan=-_LARGEST, posinf=_LARGEST, neginf=-_LARGEST
    )
    return result


def leads(turns: Sequence[Turn], responder: str) -> dict[str, NDArray[np.int64]]:
    """The columns that lead to each of those who have spoken, who are most recent first."""
    found: dict[str, list[int]] = {}
    own: list[tuple[int, str]] = []
    for column, turn in enumerate(reversed(turns[-REACH:])):
        if turn.utterance.gone:
            continue
        if turn.utterance.speaker != responder:
            found.setdefault(turn.utterance.speaker, []).append(column)
        elif turn.addressee is not None:
            own.append((column, turn.addressee))
    for column, who in own:
        if who in found:
            found[who].append(column)
    return {who: np.array(columns) for who, columns in found.items()}
