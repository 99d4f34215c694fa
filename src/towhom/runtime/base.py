"""The base class of trained systems that run without torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Questions
from towhom.blas import one_thread
from towhom.models.base import Selector
from towhom.selection import Scores

Array = NDArray[np.float32]


class NumpySelector(Selector):
    """A trained system, forward only. Each utterance is encoded once, however often it occurs.

    Args:
        weights: Arrays by the names of the torch model.
        vectors: (V, dimensions) Word vectors by word id.
        settings: The system's configuration.
    """

    vectors: Array
    settings: Any

    @abstractmethod
    def __init__(self, weights: Mapping[str, Array], vectors: Array, settings: Any) -> None: ...

    @classmethod
    @abstractmethod
    def shapes(cls, settings: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights."""

    @abstractmethod
    def encode_utterances(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Array:
        """(U, H) Embeddings of utterances, given as the word ids of one after the other."""

    @abstractmethod
    def score_encoded(self, questions: Questions, utterances: Array) -> Scores:
        """Probabilities for a batch of questions, given the (U, H) embeddings of the utterances."""

    def score_many(self, questions: Questions) -> Scores:
        """Probabilities for a batch of questions."""
        with one_thread():
            return self.score_encoded(questions, self.encode_utterances(questions.tokens, questions.offsets))
