"""Split documents into training, development and test parts. A document is never in two parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby


class Split(StrEnum):
    """A part of a corpus."""

    TRAIN = "train"
    DEV = "dev"
    TEST = "test"


SPLITS = tuple(Split)


class SplitBy(StrEnum):
    """How to choose a split for documents that have none."""

    RANDOM = "random"
    """Split by a hash of the seed and the document's name."""
    TIME = "time"
    """Use the last documents of each log for test, and those before them for dev."""


def split_documents(
    names: Sequence[str],
    sources: Sequence[int],
    *,
    by: SplitBy = SplitBy.RANDOM,
    shares: tuple[float, float] = (0.05, 0.05),
    seed: int = 0,
) -> list[Split]:
    """Choose a split for each document.

    Args:
        names: The documents' names.
        sources: Number of the log that each document comes from, in order.
        by: Split at random, or use the last documents of each log for dev and test.
        shares: Shares of dev and of test. Each gets at least one document if there are three or more.
        seed: Seed of the random split.

    >>> [str(split) for split in split_documents(list("abcd"), [0] * 4, by=SplitBy.TIME)]
    ['train', 'train', 'dev', 'test']
    """
    if by is SplitBy.RANDOM:
        order = sorted(range(len(names)), key=lambda i: (_hash(seed, names[i]), i))
        return _cut(order, shares)
    result: list[Split] = []
    for _, group in groupby(sources):
        result += _cut(list(range(len(list(group)))), shares)
    return result


def _cut(order: Sequence[int], shares: tuple[float, float]) -> list[Split]:
    """Make the last documents in the order test, and those before them dev."""
    count = len(order)
    least = 1 if count >= 3 else 0
    dev, test = (max(least, round(share * count)) if share else 0 for share in shares)
    test = min(test, max(0, count - 1))  # keep at least one document for training
    dev = min(dev, max(0, count - 1 - test))
    result = [Split.TRAIN] * count
    for place, index in enumerate(order):
        if place >= count - test:
            result[index] = Split.TEST
        elif place >= count - test - dev:
            result[index] = Split.DEV
    return result


def _hash(seed: int, name: str) -> bytes:
    return hashlib.blake2b(f"{seed} {name}".encode("utf-8", "replace"), digest_size=8).digest()
