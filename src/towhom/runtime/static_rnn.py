"""Static-RNN, forward only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from towhom.batching import NOBODY, Questions
from towhom.runtime.gru import GRU, Array
from towhom.runtime.recurrent import RecurrentSelector


class StaticRNN(RecurrentSelector):
    """One GRU over all words of the context, each utterance preceded by its sender's position."""

    name = "static-rnn"

    def __init__(self, weights: Mapping[str, Array], vectors: Array, settings: Any) -> None:
        super().__init__(weights, vectors, settings)
        self._positions = weights["positions"]
        self._context = GRU(weights["context.w"], weights["context.u"])
        # Positions have their own input weights in the same unit.
        positions = GRU(weights["w_position"], weights["context.u"])
        self._projected_positions = positions.project(self._positions)

    @classmethod
    def shapes(cls, settings: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights."""
        d, h = settings.dimensions, settings.hidden
        return super().shapes(settings) | {
            "positions": (settings.positions, h),
            "context.w": (d, 3 * h),
            "context.u": (h, 3 * h),
            "w_position": (h, 3 * h),
        }

    def encode(self, questions: Questions, utterances: Array) -> tuple[Array, Array]:
        """The embeddings of the participants' positions, and the last state of the GRU."""
        words = self._context.project(self.vectors[questions.tokens])
        rows, lengths = [], []
        for context, senders in zip(questions.context, questions.sender, strict=True):
            pieces = []
            for utterance, sender in zip(context.tolist(), senders.tolist(), strict=True):
                if sender != NOBODY:
                    start, stop = questions.offsets[utterance : utterance + 2]
                    place = min(sender, len(self._positions) - 1)
                    pieces += [self._projected_positions[place : place + 1], words[start:stop]]
            rows += pieces
            lengths.append(sum(map(len, pieces)))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        projected = np.concatenate(rows) if rows else words[:0]
        return by_position(self._positions, questions), self._context.last_states(projected, offsets)


def by_position(positions: Array, questions: Questions) -> Array:
    """(B, P, H) The embeddings of the participants' positions, the same for every sample."""
    batch, participants = questions.present.shape
    places = np.minimum(np.arange(participants), len(positions) - 1)
    return np.broadcast_to(positions[places], (batch, participants, positions.shape[1]))
