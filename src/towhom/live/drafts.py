"""Ranks drafts and their addressees by the same energies that tell which message answers which."""

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
"""A bound far beyond the energies of any trained model."""


class Pair(NamedTuple):
    """A draft and an addressee."""

    draft: int
    """The number of the draft, counted from 0."""
    to: str | None
    """The addressee; None if nobody else is present."""
    likely: float


class Fit(NamedTuple):
    """How well a draft answers one of the given messages."""

    energy: float
    """Comparable between drafts."""
    likely: float
    """How likely it answers one of them, and no other message."""


def fit(channel: Channel, responder: str, drafts: Sequence[str], turns: Collection[Turn]) -> list[Fit]:
    """How well each draft would answer one of the given messages.

    A draft that calls somebody answers only that person's messages.

    Args:
        channel: The channel in which the drafts may be sent.
        responder: The identifier of the person who would send them.
        drafts: At least one draft.
        turns: The messages to answer; at least one of them is within reach.
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
    """How likely each pair of draft and addressee is, given that one of them is right.

    A draft that calls somebody is for that person. A message of the responder counts for its addressee.

    Args:
        channel: The channel in which the drafts may be sent.
        responder: The identifier of the person who would send them.
        drafts: At least one draft.
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
        else:  # called, but has not spoken lately
            found.append((place, to, float(energies[place].max())))
    odds = np.array([energy for _, _, energy in found])
    odds = np.exp(odds - odds.max())
    shares = (odds / odds.sum()).tolist()
    return [Pair(place, who, share) for (place, who, _), share in zip(found, shares, strict=True)]


def bounded(energies: NDArray[np.float32]) -> NDArray[np.float64]:
    """Energies limited to finite numbers, so that they can be added up."""
    result: NDArray[np.float64] = np.nan_to_num(
        energies.astype(np.float64), nan=-_LARGEST, posinf=_LARGEST, neginf=-_LARGEST
    )
    return result


def leads(turns: Sequence[Turn], responder: str) -> dict[str, NDArray[np.int64]]:
    """For each person who has spoken, the latest first, the columns of messages that lead to them."""
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
