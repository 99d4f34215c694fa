"""The response head of SI-RNN, used as a search: the score of a response is an inner product."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from towhom.bank.slots import without_slots
from towhom.batching import NOBODY, Questions
from towhom.hearing.words import words
from towhom.persistence import load_model
from towhom.runtime.recurrent import RecurrentSelector

_AT_ONCE = 2048
_RESPONDER, _ASKER = 0, 1


class ResponseHead:
    """Scores responses to a context of one message.

    Args:
        folder: A model that `towhom train --system sirnn` made.
    """

    def __init__(self, folder: Path) -> None:
        saved = load_model(folder)
        runtime = saved.runtime
        assert isinstance(runtime, RecurrentSelector)  # noqa: S101
        self._model, self._vocabulary, self._most = runtime, saved.vocabulary, saved.max_words
        self._weights = saved.weights

    def responses(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(N, H) The embeddings of responses."""
        parts = [self._encoded(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE)]
        return np.concatenate(parts)

    def queries(self, asked: Sequence[str], *, given_addressee: bool) -> NDArray[np.float32]:
        """(Q, H) Vectors whose products with responses are the scores P(r|C), or P(r|C,a) of the asker a."""
        count = len(asked)
        questions = Questions(
            tokens=np.empty(0, np.int32), offsets=np.zeros(1, np.int64),
            context=np.arange(count, dtype=np.int32)[:, None],
            sender=np.full((count, 1), _ASKER, np.int32),
            addressee=np.full((count, 1), NOBODY, np.int32),
            participants=np.full(count, 2, np.int32),
            candidates=np.zeros((count, 1), np.int32),
            speakers_so_far=np.full(count, 2, np.int32),
        )  # fmt: skip
        speakers, context = self._model.encode(questions, self.responses(asked))
        seen = np.concatenate([speakers[:, _RESPONDER], context], axis=1)
        found: NDArray[np.float32] = (
            np.concatenate([seen, speakers[:, _ASKER]], axis=1) @ self._weights["w_ra"]
            if given_addressee
            else seen @ self._weights["w_r"]
        )
        return found

    def _encoded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        ids = [self._vocabulary.ids(words(without_slots(text))[: self._most]) for text in texts]
        offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        return self._model.encode_utterances(np.concatenate(ids).astype(np.int32), offsets)
