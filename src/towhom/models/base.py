"""What every system is: something that scores questions. Labels cannot reach it: `Questions` holds none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Batcher, Questions
from towhom.corpus import Corpus
from towhom.selection import Rule, Scores


class Selector(ABC):
    """A system that selects whom the next message addresses and what it says."""

    name: ClassVar[str]
    """Its name in the registry."""
    rule: Rule = Rule.SEPARATE
    """How its scores become a choice."""
    decides: bool = True
    """Whether it prefers anything; if not, its accuracy is the chance of being right."""
    max_words: int | None = 20
    """How many words of an utterance it wants to see."""

    @abstractmethod
    def score_many(self, questions: Questions) -> Scores:
        """Probabilities for a batch of questions."""

    def batcher(
        self, corpus: Corpus, *, context: int, candidates: int, words: NDArray[np.int32] | None
    ) -> Batcher:
        """Makes questions of a corpus as it wants them; see `Batcher`."""
        return Batcher(
            corpus,
            context=context,
            candidates=candidates,
            max_words=self.max_words,
            words=words,
        )


def one_hot(chosen: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """(B,) -> (B, size), 1 at what was chosen, 0 elsewhere; a system that only decides scores like this."""
    result = np.zeros((len(chosen), size))
    result[np.arange(len(chosen)), chosen] = 1.0
    return result


def mask_addressees(scores: NDArray[np.float64], questions: Questions) -> NDArray[np.float64]:
    """(B, P) Scores of addressees, NaN for the responder and for those who are not there."""
    candidates = questions.present.copy()
    candidates[:, 0] = False
    return np.where(candidates, scores, np.nan)
