"""Dynamic-RNN, forward only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from towhom.batching import NOBODY, Questions
from towhom.runtime.gru import GRU, Array
from towhom.runtime.recurrent import RecurrentSelector, max_pool


class DynamicRNN(RecurrentSelector):
    """The sender's embedding is updated from the utterance, everybody else's from a zero input."""

    name = "dynamic-rnn"

    def __init__(self, weights: Mapping[str, Array], vectors: Array, settings: Any) -> None:
        super().__init__(weights, vectors, settings)
        self._speaker = GRU(weights["speaker.w"], weights["speaker.u"])

    @classmethod
    def shapes(cls, settings: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights."""
        h = settings.hidden
        return super().shapes(settings) | {"speaker.w": (h, 3 * h), "speaker.u": (h, 3 * h)}

    def encode(self, questions: Questions, utterances: Array) -> tuple[Array, Array]:
        """All participants' states after the last message, and the maximum over them."""
        present = questions.present
        batch, participants = present.shape
        seen = self._speaker.project(utterances)
        states = np.zeros((batch, participants, self.hidden), np.float32)
        for t in range(questions.sender.shape[1]):
            said = np.flatnonzero(questions.sender[:, t] != NOBODY)
            if not len(said):
                continue
            x = np.zeros((len(said), participants, 3 * self.hidden), np.float32)
            x[np.arange(len(said)), questions.sender[said, t]] = seen[questions.context[said, t]]
            rows = states[said].reshape(-1, self.hidden)
            states[said] = self._speaker.step(x.reshape(len(rows), -1), rows).reshape(
                len(said), participants, -1
            )
        return states, max_pool(states, present)
