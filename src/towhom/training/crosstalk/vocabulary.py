"""Chooses the vocabulary of a model: from all rooms, none of which dominates, and without people's names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from towhom.text.vocabulary import NAME
from towhom.training.crosstalk.rooms import HeardRoom

COMMON = 2000
"""Number of most frequent words that are kept even if they are somebody's name."""
_ROOMS = 4
"""A person's name that occurs in this many rooms counts as a word, too."""
_SEGMENTS = 3
_IN_FRONT = 0.2
_CALLED, _TWICE = 0.5, 2
"""A name is a word that stands in front in more than this share of its uses, and more than this often."""
_LEAST = 12
"""Minimum number of uses of a word."""
_SEPARATORS = frozenset({":", ",", ";"})
_MARKS = re.compile(r"^[a-z]{1,3}=|(?:\+\+|--)$")
"""Marks at names with which people thank each other or ask for a review."""
_SHORTEST = 3
"""Minimum length of a name with a mark; `c++` is not a name."""


def choose_words(rooms: Sequence[HeardRoom], size: int) -> list[str]:
    """The most frequent words of all rooms, which count equally; likely names are left out."""
    share: defaultdict[str, float] = defaultdict(float)
    times, spread, in_rooms, in_front = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    nicks = frozenset[str]().union(*(room.nicks for room in rooms))
    for room in rooms:
        counted = _count(room)
        total = max(int(counted.times.sum()), 1)
        for place in np.flatnonzero(counted.times).tolist():
            word, count = room.words[place], int(counted.times[place])
            # The words of a small room must not outweigh those of the others.
            share[word] += count / max(total, 1_000_000)
            times[word] += count
            spread[word] += int(counted.segments[place])
            in_front[word] += int(counted.in_front[place])
            in_rooms[word] += 1
    ranked = sorted(share, key=lambda word: (-share[word], word))
    kept = []
    for rank, word in enumerate(ranked):
        name_like = (
            spread[word] < _SEGMENTS
            or (word in nicks and in_rooms[word] < min(_ROOMS, len(rooms)))
            or in_front[word] > _IN_FRONT * times[word]
        )
        if times[word] >= _LEAST and (word == NAME or rank < COMMON or not name_like):
            kept.append(word)
    return kept[:size]


class _Counts:
    """Counts of the words of a room."""

    def __init__(self, size: int) -> None:
        self.times, self.segments, self.in_front = (np.zeros(size, np.int64) for _ in range(3))


def _count(room: HeardRoom) -> _Counts:
    found, size = _Counts(len(room.words)), len(room.words)
    separators = np.array([word in _SEPARATORS for word in room.words])
    for first, last in room.segments("train"):
        start, stop = room.said_at[[first, last]]
        said = np.asarray(room.said[start:stop])
        found.times += np.bincount(said, minlength=size)
        found.segments[np.unique(said)] += 1
        firsts = room.said_at[first:last] - start
        firsts = firsts[np.diff(room.said_at[first : last + 1]) > 2]
        firsts = firsts[separators[said[firsts + 1]]]
        found.in_front += np.bincount(said[firsts], minlength=size)
    return found


def names_of(room: HeardRoom) -> frozenset[str]:
    """The names of people in a room: those of its speakers, and words that mostly stand in front."""
    counted = _count(room)
    called = np.flatnonzero(counted.in_front > np.maximum(_CALLED * counted.times, _TWICE))
    return room.nicks | {room.words[place] for place in called.tolist()}


def no_names(words: Sequence[str], names: frozenset[str]) -> NDArray[np.bool_]:
    """(W,) Which words, the most frequent first, are not names; the most common ones are kept.

    Names with marks are removed however common they are: `ada++`, `r=ada`.
    """
    return np.array(
        [
            word == NAME or not (_is_marked(word, names) or (rank >= COMMON and word in names))
            for rank, word in enumerate(words)
        ],
        bool,
    )


def _is_marked(word: str, names: frozenset[str]) -> bool:
    bare = _MARKS.sub("", word)
    return bare != word and len(bare) >= _SHORTEST and bare in names


def tokens_of(room: HeardRoom, words: Iterable[str]) -> NDArray[np.int32]:
    """The words of a room as numbers in a vocabulary, from 1 on; 0 for unknown words."""
    numbers = {word: number for number, word in enumerate(words, 1)}
    ids = np.array([numbers.get(word, 0) for word in room.words], np.int32)
    result: NDArray[np.int32] = ids[room.said]
    return result
