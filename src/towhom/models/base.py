"""The base class of all systems, which score questions. They cannot see labels: `Questions` has none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Batcher, Questions
from towhom.corpus import Corpus
from towhom.selection import Rule, Scores


class Selector(ABC):
    """A system that selects the addressee and the text of the next message."""

    name: ClassVar[str]
    """Its name in the registry."""
    rule: Rule = Rule.SEPARATE
    """How scores are turned into a choice."""
    decides: bool = True
    """Whether it prefers any choice; if not, its accuracy is the chance of being right."""
    max_words: int | None = 20
    """Maximum number of words of an utterance that it reads; None means all."""

    @abstractmethod
    def score_many(self, questions: Questions) -> Scores:
        """Probabilities for a batch of questions."""

    def batcher(
        self, corpus: Corpus, *, context: int, candidates: int, words: NDArray[np.int32] | None
    ) -> Batcher:
        """Make a batcher whose questions suit this system; see `Batcher`."""
        return Batcher(
            corpus,
            context=context,
            candidates=candidates,
            max_words=self.max_words,
            words=words,
        )


def one_hot(chosen: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """(B,) -> (B, size), 1 for the choice, 0 elsewhere: the scores of a system that only decides."""
    result = np.zeros((len(chosen), size))
    result[np.arange(len(chosen)), chosen] = 1.0
    return result


def mask_addressees(scores: NDArray[np.float64], questions: Questions) -> NDArray[np.float64]:
    """(B, P) Scores of addressees, with NaN for the responder and for absent participants."""
    candidates = questions.present.copy()
    candidates[:, 0] = False
    return np.where(candidates, scores, np.nan)
