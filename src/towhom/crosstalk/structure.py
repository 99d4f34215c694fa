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
    columns = np.argpartition(-energies, LIKELIEST - 1, axis=1)[:, :LIKELIEST]
    columns.sort(axis=1)
    there = np.take_along_axis(energies, columns, axis=1) > -np.inf
    see = _look(past, new, at, sights, columns, reach)
    made = (
        *_links(see), *_members(see, likely[:, :REACH]), *_words(see, pairs),
        np.log1p(np.clip(numbers[:, None] - see.thread, 0, _OLD)) / 5, *_own(see), *_fits(see, fits),
    )  # fmt: skip
    found = np.empty((*columns.shape, len(STRUCTURE)), np.float32)
    for place, column in enumerate(made):
        found[..., place] = column
    found *= there[..., None]
    alone = np.column_stack([_logarithms(likely[:, REACH]), likely.max(axis=1)])
    return Second(columns, there, found, alone.astype(np.float32))


class _Sight(NamedTuple):
    """The input of all groups of signals: R rows, and the K messages that each looks at again."""

    sights: Sights
    columns: Whole
    """(R, K) The messages that are looked at, by their columns in the first look."""
    i: Whole
    """(R, 1) Places of the rows."""
    j: Whole
    """(R, K) Places of the messages that are looked at."""
    me: Whole
    """(R, 1) The speaker of each row."""
    named: Whole
    """(R, 1) The person it calls."""
    speaker: Whole
    """(R, K) The speakers of the messages that are looked at."""
    thread: Whole
    """(R, K) Their threads."""
    parent: Whole
    """(R, K) How many messages before them the messages are that they answer."""
    answered: Whole
    """(R, K) The speakers of those."""
    by_speaker: Whole
    """(N,) Where the speaker of each past message speaks next in its thread."""
    own: Whole
    """(R,) Place of the speaker's last message; -1 if there is none."""
    own_before: Whole
    """(R,) The same for the last but one."""
    who: Whole
    """(R, `REACH`) Speakers of all messages within reach; -1 where there is none."""
    of_it: Array
    """(R, K, `REACH`) 1 for messages of the same thread."""
    by_it: Array
    """(R, K, `REACH`) 1 for messages of the same speaker."""


def _look(past: Columns, new: Columns, at: Whole, sights: Sights, columns: Whole, reach: Whole) -> _Sight:
    """Prepare the input."""
    speaker, thread = past.speaker, sights.thread
    j = np.maximum(at[:, None] - 1 - columns, 0)
    own = np.where(new.own > 0, at - new.own, -1)
    own_before = np.where((own >= 0) & (past.own[own] > 0), own - past.own[own], -1)
    own_before = np.where(at - own_before <= reach, own_before, -1)
    window, within = places_before(at)
    within &= reach[:, None] >= STEPS
    seen, who = (np.where(within, each[window], -1) for each in (thread, speaker))
    its, its_thread = speaker[j], thread[j]
    return _Sight(
        sights, columns, at[:, None], j, new.speaker[:, None], new.named[:, None], its, its_thread,
        sights.parent[j], sights.answered[j],
        next_of(thread * (int(speaker.max(initial=0)) + 1) + speaker), own, own_before, who,
        (its_thread[:, :, None] == seen[:, None]).astype(np.float32),
        (its[:, :, None] == who[:, None]).astype(np.float32),
    )  # fmt: skip


def _links(see: _Sight) -> list[Flags]:
    """Where a message stands in its thread, and what it answers."""
    i, j, thread = see.i, see.j, see.sights.thread
    later = next_of(thread)
    next_of_it = later[j]
    return [
        _there(see.own) & (thread[see.own][:, None] == see.thread),
        _there(see.own_before) & (thread[see.own_before][:, None] == see.thread),
        next_of_it >= i,
        (next_of_it < i) & (next_but_one(later, next_of_it) >= i),
        see.by_speaker[j] >= i,
        _first_answers(see.sights.parent)[j] < i,
        (see.answered == see.me) & (see.speaker != see.me),
        (see.answered == see.named) & (see.answered >= 0),
        see.parent == 0,
    ]


def _there(own: Whole) -> Flags:
    """(R, 1) Whether there is such a message."""
    found: Flags = (own >= 0)[:, None]
    return found


def _first_answers(parent: Whole) -> Whole:
    """(N,) Where each message is first answered."""
    found = np.full(len(parent), NEVER)
    answers = np.flatnonzero((parent > 0) & (parent <= np.arange(len(parent))))[::-1]
    found[answers - parent[answers]] = answers  # the earliest is kept, since it is written last
    return found


def _members(see: _Sight, likely: Array) -> list[NDArray[np.generic]]:
    """Who else is in the thread, and how likely it is altogether."""
    sums = see.of_it @ np.stack(
        [
            likely,
            np.ones(likely.shape, np.float32),
            (see.who == see.me).astype(np.float32),
            ((see.who == see.named) & (see.named >= 0)).astype(np.float32),
        ],
        axis=2,
    )
    closest = _largest(see.of_it, np.broadcast_to(_CLOSENESS, likely.shape))
    return [
        sums[..., 0],
        _largest(see.of_it, likely),
        np.log1p(sums[..., 1]) / 3,
        np.log1p(sums[..., 2]),
        np.log1p(sums[..., 3]),
        np.log(REACH + 1 - closest) / 4,
        _logarithms(np.take_along_axis(likely, see.columns, axis=1)),
        (see.by_it @ likely[..., None])[..., 0],
    ]


def _words(see: _Sight, pairs: Array) -> list[Array]:
    """Words in common with anything of the thread."""
    return [_largest(see.of_it, pairs[..., _COSINE]), _largest(see.of_it, pairs[..., _RAREST])]


def _own(see: _Sight) -> list[Flags]:
    """How a message relates to the speaker's last one."""
    parent, answered = see.sights.parent, see.sights.answered
    its_parent = np.where((see.own >= 0) & (parent[see.own] > 0), see.own - parent[see.own], -1)
    return [
        _there(see.own) & (see.j == see.own[:, None]),
        _there(its_parent) & (see.j == its_parent[:, None]),
        _there(see.own) & (answered[see.own][:, None] == see.speaker),
    ]


def _fits(see: _Sight, fits: Array) -> list[Array]:
    """How well the text fits those of the thread, of the speaker, and of what the message answers."""
    answer, topic = fits[..., _ANSWER], fits[..., _TOPIC]
    back = see.columns + see.parent  # the column of the message that each answers
    answers = np.take_along_axis(answer, np.minimum(back, REACH - 1), axis=1)
    sums = see.of_it @ np.stack([topic, np.ones(topic.shape, np.float32)], axis=2)
    return [
        _largest(see.of_it, answer * (see.who != see.me)),
        sums[..., 0] / (1 + sums[..., 1]),
        _largest(see.of_it, topic),
        _largest(see.by_it, topic),
        np.where((see.parent > 0) & (back < REACH), answers, 0.0),
    ]


def _largest(of_it: Array, values: Array) -> Array:
    """(R, K) The largest value among messages of the same group; others count as 0."""
    result: Array = (of_it * values[:, None]).max(axis=2)
    return result


def _logarithms(likely: Array) -> Array:
    return (np.maximum(np.log(np.maximum(likely, 1e-9)), -12.0) / 6).astype(np.float32)
