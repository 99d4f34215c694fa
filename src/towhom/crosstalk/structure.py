"""Signals from the threads that messages belong to, known once each message was looked at by itself.

Only the `LIKELIEST` messages that may be answered are looked at again. Row r is a message, column k one of
those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk.columns import Array, Columns, Flags, Whole
from towhom.crosstalk.signals import NEVER, PAIRS, STEPS, next_but_one, next_of, places_before
from towhom.hearing.utterance import REACH

LIKELIEST = 20
_OLD = 1000
"""Number of messages after which it no longer matters when a thread began."""
_ANSWER, _TOPIC = 0, 2
"""The towers for how well a message answers another, and how well it fits the topic."""
_CLOSENESS = (REACH + 1 - STEPS).astype(np.float32)
_COSINE, _RAREST = PAIRS.index("cosine of pieces"), PAIRS.index("rarest common piece")

STRUCTURE = ("the speaker's last is in it", "the speaker's last but one is in it", "latest of it",
             "latest but one of it", "its speaker's last in it", "answered", "answers the speaker",
             "answers whom this names", "starts it", "likely altogether", "likeliest of it", "messages",
             "the speaker's", "of whom this names", "distance of the latest", "likely",
             "its speaker altogether", "cosine with any of it", "rarest piece in common with any of it",
             "age", "the speaker's last", "what the speaker's last answers",
             "by whom the speaker's last answers", "best answer to any of it",
             "topic of it", "topic of any of it", "topic of its speaker",
             "answer to what it answers")  # fmt: skip
ALONE_AFTER = ("start likely", "most likely")


class Sights(NamedTuple):
    """The links and threads of N messages, as of the first look."""

    parent: Whole
    """How many messages ago the message that each answers was sent; 0 if it starts a thread."""
    thread: Whole
    """The number of its thread: that of the message that started it."""
    answered: Whole
    """The speaker of the message it answers; negative if there is none."""


def parents(energies: Array) -> Whole:
    """(R,) How many messages ago the one likeliest answered was sent; 0 for a start."""
    result: Whole = (energies.argmax(axis=1) + 1) % (REACH + 1)
    return result


class Second(NamedTuple):
    """The additional input of the second look at R messages."""

    likeliest: Whole
    """(R, K) The messages that are looked at, by their columns in the first look, the latest first."""
    there: Flags
    """(R, K)"""
    pairs: Array
    """(R, K, `STRUCTURE`)"""
    messages: Array
    """(R, `ALONE_AFTER`)"""


def look_again(
    past: Columns,
    new: Columns,
    at: Whole,
    sights: Sights,
    energies: Array,
    likely: Array,
    pairs: Array,
    fits: Array,
    *,
    reach: Whole | None = None,
    numbers: Whole | None = None,
) -> Second:
    """Compute the signals of the likeliest links from threads.

    Args:
        past: See `signals.compare`.
        new: See `signals.compare`.
        at: See `signals.compare`.
        sights: Links and threads of all past messages.
        energies: (R, `REACH`) Energies of the first look, minus infinity where there is no message.
        likely: (R, `REACH` + 1) Probabilities of the first look; the last is that of a start.
        pairs: (R, `REACH`, `PAIRS`) The signals of the first look.
        fits: (R, `REACH`, `TOWERS`) How well the texts of the two messages fit together.
        reach: (R,) See `signals.compare`.
        numbers: (R,) The numbers of the messages, as in `Sights.thread`; their places by default.
    """
    reach = np.full(len(at), REACH) if reach is None else reach
    numbers = at if numbers is None else numbers
    rows = np.arange(len(at))[:, None]
    columns = np.argpartition(-energies, LIKELIEST - 1, axis=1)[:, :LIKELIEST]
    columns.sort(axis=1)
    there = energies[rows, columns] > -np.inf
    i, j = at[:, None], np.maximum(at[:, None] - 1 - columns, 0)
    parent, thread, answered = sights
    speaker = past.speaker
    me, named = new.speaker[:, None], new.named[:, None]
    count = len(speaker)
    everybody = np.arange(count)
    later = next_of(thread)
    by_speaker = next_of(thread * (int(speaker.max(initial=0)) + 1) + speaker)
    child = np.full(count, NEVER)
    with_parent = np.flatnonzero((parent > 0) & (parent <= everybody))[::-1]
    child[with_parent - parent[with_parent]] = with_parent  # the earliest is kept, since it is written last
    its, its_thread, its_parent, its_answered = speaker[j], thread[j], parent[j], answered[j]
    next_of_it = later[j]
    own = np.where(new.own > 0, at - new.own, -1)
    own_before = np.where((own >= 0) & (past.own[own] > 0), own - past.own[own], -1)
    own_before = np.where(at - own_before <= reach, own_before, -1)
    own_parent = np.where((own >= 0) & (parent[own] > 0), own - parent[own], -1)
    window, within = places_before(at)
    within &= reach[:, None] >= STEPS
    seen = np.where(within, thread[window], -1)
    # (R, K, REACH) 1 for messages of the same thread, and for those of the same speaker.
    of_it = (its_thread[:, :, None] == seen[:, None]).astype(np.float32)
    who = np.where(within, speaker[window], -1)
    by_it = (its[:, :, None] == who[:, None]).astype(np.float32)
    answer, topic = fits[..., _ANSWER], fits[..., _TOPIC]
    back = columns + its_parent  # the column of the message that each answers
    sums = of_it @ np.stack(
        [
            likely[:, :REACH],
            np.ones(window.shape, np.float32),
            (who == me).astype(np.float32),
            ((who == named) & (named >= 0)).astype(np.float32),
            topic,
        ],
        axis=2,
    )
    altogether = by_it @ likely[:, :REACH, None]
    chosen = likely[rows, columns]
    found: list[NDArray[np.generic]] = [
        (own >= 0)[:, None] & (thread[own][:, None] == its_thread),
        (own_before >= 0)[:, None] & (thread[own_before][:, None] == its_thread),
        next_of_it >= i,
        (next_of_it < i) & (next_but_one(later, next_of_it) >= i),
        by_speaker[j] >= i,
        child[j] < i,
        (its_answered == me) & (its != me),
        (its_answered == named) & (its_answered >= 0),
        its_parent == 0,
        sums[..., 0],
        _largest(of_it, likely[:, :REACH]),
        np.log1p(sums[..., 1]) / 3,
        np.log1p(sums[..., 2]),
        np.log1p(sums[..., 3]),
        np.log(REACH + 1 - _largest(of_it, np.broadcast_to(_CLOSENESS, seen.shape))) / 4,
        _logarithms(chosen),
        altogether[..., 0],
        _largest(of_it, pairs[..., _COSINE]),
        _largest(of_it, pairs[..., _RAREST]),
        np.log1p(np.clip(numbers[:, None] - its_thread, 0, _OLD)) / 5,
        (own >= 0)[:, None] & (j == own[:, None]),
        (own_parent >= 0)[:, None] & (j == own_parent[:, None]),
        (own >= 0)[:, None] & (answered[own][:, None] == its),
        _largest(of_it, answer * (who != me)),
        sums[..., 4] / (1 + sums[..., 1]),
        _largest(of_it, topic),
        _largest(by_it, topic),
        np.where((its_parent > 0) & (back < REACH), answer[rows, np.minimum(back, REACH - 1)], 0.0),
    ]
    result = np.empty((*j.shape, len(STRUCTURE)), np.float32)
    for place, column in enumerate(found):
        result[..., place] = column
    result *= there[..., None]
    alone = np.column_stack([_logarithms(likely[:, REACH]), likely.max(axis=1)])
    return Second(columns, there, result, alone.astype(np.float32))


def _largest(of_it: Array, values: Array) -> Array:
    """(R, K) The largest value among messages of the same group; others count as 0."""
    result: Array = (of_it * values[:, None]).max(axis=2)
    return result


def _logarithms(likely: Array) -> Array:
    return (np.maximum(np.log(np.maximum(likely, 1e-9)), -12.0) / 6).astype(np.float32)
