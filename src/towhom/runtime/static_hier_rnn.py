"""Static-Hier-RNN, forward only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from towhom.batching import NOBODY, Questions
from towhom.runtime.gru import GRU, Array
from towhom.runtime.recurrent import RecurrentSelector
from towhom.runtime.static_rnn import by_position


class StaticHierRNN(RecurrentSelector):
    """A GRU over utterances, each joined with the embedding of its sender's position."""

    name = "static-hier-rnn"

    def __init__(self, weights: Mapping[str, Array], vectors: Array, settings: Any) -> None:
        super().__init__(weights, vectors, settings)
        self._positions = weights["positions"]
        self._context = GRU(weights["context.w"], weights["context.u"])

    @classmethod
    def shapes(cls, settings: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights."""
        h = settings.hidden
        return super().shapes(settings) | {
            "positions": (settings.positions, h),
            "context.w": (2 * h, 3 * h),
            "context.u": (h, 3 * h),
        }

    def encode(self, questions: Questions, utterances: Array) -> tuple[Array, Array]:
        """The embeddings of the participants' positions, and the last state of the second GRU."""
        said = questions.sender != NOBODY
        places = np.minimum(questions.sender[said], len(self._positions) - 1)
        rows = np.concatenate([self._positions[places], utterances[questions.context[said]]], axis=1)
        offsets = np.concatenate([[0], np.cumsum(said.sum(axis=1))]).astype(np.int64)
        context = self._context.last_states(self._context.project(rows), offsets)
        return by_position(self._positions, questions), context
