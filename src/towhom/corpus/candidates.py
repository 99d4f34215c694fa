"""False responses: other messages of the same document, drawn at random."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


def document_generator(seed: int, name: str) -> np.random.Generator:
    """A random generator that depends only on the seed and the document's name.

    So a document gets the same candidates whatever else is in the corpus and whichever process builds it.
    """
    words = np.frombuffer(
        hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=16).digest(), np.uint32
    )
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words.tolist()])))


def draw_candidates(
    generator: np.random.Generator, messages: int, true: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw candidates for some messages of a document: each message itself and random others, shuffled.

    Args:
        generator: Source of random numbers.
        messages: Number of messages in the document; at least `size`.
        true: Indices of the messages that need candidates, (S,).
        size: Number of candidates for each message, including the true one.

    Returns:
        Candidates as distinct message indices, (S, size); and the position of the true one among them, (S,).

    >>> generator = document_generator(seed=1, name="2024-05-31")
    >>> candidates, labels = draw_candidates(generator, 100, np.array([7, 8]), 3)
    >>> candidates[0, labels[0]], candidates[1, labels[1]]
    (np.int64(7), np.int64(8))
    """
    count, others = len(true), messages - 1
    if others < 8 * size:
        # Few messages: shuffle all of them for each sample. Many: redraw duplicates.
        false = generator.random((count, others)).argsort(axis=1)[:, : size - 1]
    else:
        false = generator.integers(0, others, size=(count, size - 1))
        while len(again := _rows_with_repeats(false)):
            false[again] = generator.integers(0, others, size=(len(again), size - 1))
    false += false >= true[:, None]  # skip over the true one
    labels = generator.integers(0, size, size=count)
    candidates = np.empty((count, size), np.int64)
    places = np.arange(size)[None, :] == labels[:, None]
    candidates[places] = true
    candidates[~places] = false.ravel()
    return candidates, labels


def _rows_with_repeats(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered = np.sort(rows, axis=1)
    return np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
