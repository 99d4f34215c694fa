"""What every trained system is when it runs without torch."""

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
    """A trained system, forward only. Utterances are encoded first, each once, wherever it comes up again.

    Args:
        weights: By the names that the torch model gives them.
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
        """The weights that there must be."""

    @abstractmethod
    def encode_utterances(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Array:
        """(U, H) Embeddings of some utterances, given as word ids one after the other."""

    @abstractmethod
    def score_encoded(self, questions: Questions, utterances: Array) -> Scores:
        """Probabilities for a batch of questions, where the (U, H) embeddings of the utterances are known."""

    def score_many(self, questions: Questions) -> Scores:
        """Probabilities for a batch of questions."""
        with one_thread():
            return self.score_encoded(questions, self.encode_utterances(questions.tokens, questions.offsets))
