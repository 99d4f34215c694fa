"""A model's words and their vectors; id 0 stands for all unknown words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from towhom.text.vectors import WordVectors

UNKNOWN_ID = 0
UNKNOWN, NAME = "<unknown>", "<name>"
"""The words of a corpus that stand for unknown words and for names."""


@dataclass(frozen=True)
class ModelVocabulary:
    """Words with their vectors.

    Args:
        words: The words in order of their ids, from 1 on.
        matrix: (1 + words, dimensions) Vectors of the words; row 0 is that of all unknown words.
    """

    words: tuple[str, ...]
    matrix: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: WordVectors, words: Iterable[str]) -> ModelVocabulary:
        """Keep the words that have a vector. Unknown words share the mean of the known vectors."""
        known = tuple(word for word in words if word in vectors)
        matrix = vectors.lookup(known)
        mean = (
            matrix.mean(axis=0, keepdims=True)
            if len(known)
            else np.zeros((1, vectors.dimensions), np.float32)
        )
        return cls(known, np.concatenate([mean.astype(np.float32), matrix]))

    @cached_property
    def places(self) -> dict[str, int]:
        """The id of each word."""
        return {word: place for place, word in enumerate(self.words, 1)}

    def ids(self, words: Sequence[str]) -> NDArray[np.int32]:
        """(V,) Ids of some words, such as all words of a corpus; 0 for unknown words."""
        return np.array([self.places.get(word, UNKNOWN_ID) for word in words], np.int32)
