"""The parts that the paper's neural systems share: words to embeddings, and embeddings to scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Questions
from towhom.models.base import mask_addressees
from towhom.runtime.base import NumpySelector
from towhom.runtime.gru import GRU, Array
from towhom.selection import Rule, Scores


class Logits(NamedTuple):
    """Scores before the sigmoid: of the two heads that see only the context, and of the two others."""

    addressee: Array
    """(B, P)"""
    response: Array
    """(B, C)"""
    addressee_given: Array | None
    """(B, C, P)"""
    response_given: Array | None
    """(B, P, C)"""


class RecurrentSelector(NumpySelector):
    """A system with an utterance GRU, forward only.

    Args:
        weights: Arrays by the names of the torch model.
        vectors: (V, dimensions) Word vectors by word id.
        settings: The system's configuration.
    """

    def __init__(self, weights: Mapping[str, Array], vectors: Array, settings: Any) -> None:
        self.settings = settings
        self.vectors = vectors
        self.utterance = GRU(weights["utterance.w"], weights["utterance.u"])
        self.hidden = self.utterance.hidden
        self._w_a, self._w_r = weights["w_a"], weights["w_r"]
        self._w_ar, self._w_ra = weights.get("w_ar"), weights.get("w_ra")
        self.rule = Rule.SEPARATE if self._w_ar is None else Rule.JOINT

    @classmethod
    def shapes(cls, settings: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights."""
        d, h = settings.dimensions, settings.hidden
        return {
            "utterance.w": (d, 3 * h),
            "utterance.u": (h, 3 * h),
            "w_a": (2 * h, h),
            "w_r": (2 * h, h),
        }

    @abstractmethod
    def encode(self, questions: Questions, utterances: Array) -> tuple[Array, Array]:
        """(B, P, H) Embeddings of the participants and (B, H) of the context, from (U, H) of utterances."""

    def encode_utterances(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Array:
        """(U, H) Embeddings of utterances, given as the word ids of one after the other."""
        return self.utterance.last_states(self.utterance.project(self.vectors[tokens]), offsets)

    def score_encoded(self, questions: Questions, utterances: Array) -> Scores:
        """Probabilities for a batch of questions, given the (U, H) embeddings of the utterances."""
        logits = self.logits(questions, utterances)
        return Scores(
            mask_addressees(_probability(logits.addressee), questions),
            _probability(logits.response),
            None if logits.addressee_given is None else _probability(logits.addressee_given),
            None if logits.response_given is None else _probability(logits.response_given),
        )

    def logits(self, questions: Questions, utterances: Array) -> Logits:
        """Scores before the sigmoid, including those of participants who do not exist."""
        speakers, context = self.encode(questions, utterances)
        responses = utterances[questions.candidates]
        seen = np.concatenate([speakers[:, 0], context], axis=1)  # [a_res; h_C]
        addressee = (speakers @ (seen @ self._w_a)[:, :, None])[:, :, 0]
        response = (responses @ (seen @ self._w_r)[:, :, None])[:, :, 0]
        if self._w_ar is None or self._w_ra is None:
            return Logits(addressee, response, None, None)
        split = seen.shape[1]
        with_response = (seen @ self._w_ar[:split])[:, None] + responses @ self._w_ar[split:]
        with_addressee = (seen @ self._w_ra[:split])[:, None] + speakers @ self._w_ra[split:]
        return Logits(
            addressee,
            response,
            with_response @ speakers.transpose(0, 2, 1),
            with_addressee @ responses.transpose(0, 2, 1),
        )


def _probability(logits: Array) -> NDArray[np.float64]:
    result: NDArray[np.float64] = 0.5 + 0.5 * np.tanh(0.5 * logits.astype(np.float64))
    return result


def max_pool(speakers: Array, present: NDArray[np.bool_]) -> Array:
    """The context's embedding: the element-wise maximum over all speakers that exist (Eq. 1)."""
    result: Array = np.where(present[:, :, None], speakers, np.float32(-np.inf)).max(axis=1)
    return result
