"""Searches for responses that may answer a message, by vectors and by rare words.

The vectors of all responses are compared, in blocks, which is exact and fast enough for some hundred
thousand. For more, there is `towhom.bank.approximate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.bank.approximate import has_faiss, nearest_in
from towhom.bank.phrases import LOOKED_AT, chosen, terms_of
from towhom.bank.store import Bank, Segment
from towhom.bank.tables import VECTORS

_BLOCK = 1 << 14
"""Responses that are compared at a time, so that they fit into the processor's caches."""
_ORDER = 60.0
"""Constant of reciprocal rank fusion, 1 / (60 + place): Cormack et al., SIGIR 2009."""
_WEIGHTS = (1.0, 1.0, 0.5)
"""Weights of rare words in the question, in the opening of its conversation, and in the response."""


class Query(NamedTuple):
    """A message to be answered, together with what its speaker said along with it."""

    text: str
    vector: NDArray[np.float32]
    """(D,) See `heads.Head.heard`."""
    pieces: NDArray[np.uint32]
    """The pieces of its words, each once."""


class Found(NamedTuple):
    """N responses that were found for Q queries, the best first."""

    numbers: list[int]
    scores: NDArray[np.float64]
    """(N, Q) How well the rare words of the responses and of their questions match each query: BM25, relative
    to the logarithm of the bank's size, which is the score of a word that occurs once; 0 if they were found
    otherwise."""


def search(bank: Bank, queries: Sequence[Query], limit: int) -> Found:
    """The responses that best answer any of the given messages.

    Args:
        bank: The bank.
        queries: The messages, the most important first.
        limit: Maximum number of results.
    """
    lists, scores = [], []
    for place, query in enumerate(queries):
        weight = 1.0 / (1 + place)
        lists.append((weight, nearest(bank, query.vector, limit)))
        scores.append(by_words(bank, query.text, limit, most=LOOKED_AT // (1 + place)))
        lists.append((weight, [*scores[-1]]))
    numbers = merged(lists)[:limit]
    most = log(len(bank) + 2)
    return Found(
        numbers,
        np.array([[each.get(number, 0.0) / most for each in scores] for number in numbers]).reshape(
            len(numbers), len(queries)
        ),
    )


def nearest(bank: Bank, vector: NDArray[np.float32], limit: int, *, exact: bool = False) -> list[int]:
    """Numbers of the responses whose vectors fit a message best, the best first.

    Args:
        bank: The bank.
        vector: (D,) Vector of the message to be answered.
        limit: Maximum number of results.
        exact: Whether to compare all responses even if there is an index.
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
    """Rows of a segment that fit a vector best, with their scores; compares all rows, in blocks."""
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
    weights: tuple[float, float, float] = _WEIGHTS,
    most: int = LOOKED_AT,
) -> dict[int, float]:
    """The responses that share rare words with a text, or whose questions do, with their scores (BM25).

    Args:
        bank: The bank.
        text: The text of the query.
        limit: Maximum number of results; the best come first.
        weights: See `Phrases.search`.
        most: See `phrases.chosen`.
    """
    terms = [*dict.fromkeys(terms_of(text))]
    counts = sum((segment.phrases.counts(terms) for segment in bank.segments), Counter[str]())
    query = chosen(text, counts, len(bank), most)
    found = [
        (-score, start + row)
        for start, segment in zip(bank.starts.tolist(), bank.segments, strict=False)
        for score, row in segment.phrases.search(query, limit, weights=weights)
    ]
    return {number: -score for score, number in sorted(found)[:limit]}


def merged(lists: Sequence[tuple[float, Sequence[int]]]) -> list[int]:
    """Merge weighted, ranked lists; items that rank high in one list, or occur in several, come first.

    >>> merged([(1.0, [7, 3]), (1.0, [3, 9])])
    [3, 7, 9]
    """
    scores: dict[int, float] = {}
    for weight, numbers in lists:
        for place, number in enumerate(numbers):
            scores[number] = scores.get(number, 0.0) + weight / (_ORDER + place)
    return sorted(scores, key=lambda number: (-scores[number], number))


def _best(scores: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """Indices of the highest scores, in any order."""
    if len(scores) <= limit:
        return np.arange(len(scores))
    found: NDArray[np.int64] = np.argpartition(-scores, limit - 1)[:limit]
    return found
