"""The search for responses that may answer a message, by vectors and by rare words.

By vectors, all responses are compared, some at a time: exact, and fast enough for some hundred thousand. For
more there is `towhom.bank.approximate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.bank.approximate import has_faiss, nearest_in
from towhom.bank.phrases import LOOKED_AT
from towhom.bank.store import Bank, Segment
from towhom.bank.tables import ASKED, VECTORS

_BLOCK = 1 << 14
"""Responses that are compared at a time: they fit into caches."""
_ORDER = 60.0
"""Of the places in two lists, added up as 1 / (60 + place): Cormack et al., SIGIR 2009."""
_WEIGHTS = (1.0, 1.0, 0.5)
"""Of rare words in what a response answered, in what its conversation began with, and in the response."""


class Query(NamedTuple):
    """Something that may be answered: a message, with what its speaker said with it."""

    text: str
    vector: NDArray[np.float32]
    """(D,) See `heads.Head.heard`."""
    pieces: NDArray[np.uint32]
    """What its words are made of, each once."""


class Match(NamedTuple):
    """How much what N responses answered is like something that is to be answered."""

    words: NDArray[np.float32]
    """(N,) What both say, as a share of what either says; rare words count more."""
    sense: NDArray[np.float32]
    """(N,) The cosine of their vectors."""


def matches(bank: Bank, numbers: Sequence[int], query: Query, piece_weights: NDArray[np.float32]) -> Match:
    """How much some responses answered something like a query.

    Args:
        bank: Where they are.
        numbers: Which.
        query: What is to be answered.
        piece_weights: (`PIECE_WEIGHTS`,) How much pieces tell anywhere; what is rare in the bank tells more.
    """
    tells = piece_weights**2 * bank.rarity
    words, sense = np.zeros((2, len(numbers)), np.float32)
    mine = float(tells[query.pieces & np.uint32(len(tells) - 1)].sum())
    for places, rows, table in bank.at(numbers):
        pieces, offsets = table.lists("asked_pieces", rows)
        owner = np.repeat(np.arange(len(rows)), np.diff(offsets))
        squares = tells[pieces & np.uint32(len(tells) - 1)]
        theirs = np.bincount(owner, squares, len(rows))
        both = np.bincount(owner, squares * np.isin(pieces, query.pieces), len(rows))
        words[places] = both / np.sqrt(np.maximum(theirs, 0.5) * max(mine, 0.5))
        vectors = np.asarray(table[ASKED])[rows].astype(np.float32)
        sense[places] = (vectors @ query.vector) * table["asked_scale"][rows]
    return Match(words, sense)


def search(
    bank: Bank, queries: Sequence[Query], limit: int, *, weights: tuple[float, float, float] | None = None
) -> list[int]:
    """Numbers of the responses that answer any of some messages best, the best first.

    Args:
        bank: Where to look.
        queries: The messages, the most important first.
        limit: How many at most.
        weights: See `Phrases.search`.
    """
    lists = []
    for place, query in enumerate(queries):
        weight = 1.0 / (1 + place)
        lists.append((weight, nearest(bank, query.vector, limit)))
        most = LOOKED_AT // (1 + place)
        lists.append((weight, by_words(bank, query.text, limit, weights=weights, most=most)))
    return merged(lists)[:limit]


def nearest(bank: Bank, vector: NDArray[np.float32], limit: int, *, exact: bool = False) -> list[int]:
    """Numbers of the responses whose vectors fit one best, the best first.

    Args:
        bank: Where to look.
        vector: (D,) What is answered.
        limit: How many at most.
        exact: Whether all are compared, even where there is an index.
    """
    scores: list[NDArray[np.float32]] = []
    numbers: list[NDArray[np.int64]] = []
    for start, segment in zip(bank.starts.tolist(), bank.segments, strict=False):
        way = nearest_in if segment.probes and not exact and has_faiss() else _compared
        rows, fits = way(segment, vector, limit)
        numbers.append(rows + start)
        scores.append(fits)
    if not scores:
        return []
    every, which = np.concatenate(scores), np.concatenate(numbers)
    best = _best(every, limit)
    order = np.lexsort((which[best], -every[best]))
    result: list[int] = which[best][order].tolist()
    return result


def _compared(
    segment: Segment, vector: NDArray[np.float32], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Rows of a segment that fit a vector best, and how well: all are compared, some at a time."""
    rows, scores = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    vectors, scale = segment.table[VECTORS], segment.table["scale"]
    for first in range(0, len(vectors), _BLOCK):
        found = (vectors[first : first + _BLOCK].astype(np.float32) @ vector) * scale[first : first + _BLOCK]
        best = _best(found, limit)
        rows.append(best + first)
        scores.append(found[best])
    return np.concatenate(rows), np.concatenate(scores)


def by_words(
    bank: Bank,
    text: str,
    limit: int,
    *,
    weights: tuple[float, float, float] | None = None,
    rare: bool = True,
    most: int = LOOKED_AT,
) -> list[int]:
    """Numbers of the responses that have rare words of a text, or answered something that has.

    Args:
        bank: Where to look.
        text: What is asked.
        limit: How many at most.
        weights: See `Phrases.search`.
        rare: See there.
        most: See there.
    """
    weights = _WEIGHTS if weights is None else weights
    found = [
        (-score, start + row)
        for start, segment in zip(bank.starts.tolist(), bank.segments, strict=False)
        for score, row in segment.phrases.search(text, limit, weights=weights, rare=rare, most=most)
    ]
    return [number for _, number in sorted(found)[:limit]]


def merged(lists: Sequence[tuple[float, Sequence[int]]]) -> list[int]:
    """One list of several, each with a weight; what stands high in any, or in several, comes first.

    >>> merged([(1.0, [7, 3]), (1.0, [3, 9])])
    [3, 7, 9]
    """
    scores: dict[int, float] = {}
    for weight, numbers in lists:
        for place, number in enumerate(numbers):
            scores[number] = scores.get(number, 0.0) + weight / (_ORDER + place)
    return sorted(scores, key=lambda number: (-scores[number], number))


def _best(scores: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """Places of the highest scores, in any order."""
    if len(scores) <= limit:
        return np.arange(len(scores))
    found: NDArray[np.int64] = np.argpartition(-scores, limit - 1)[:limit]
    return found
