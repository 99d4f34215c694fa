"""Recent+TF-IDF and Direct-Recent+TF-IDF: the paper's baselines, which learn only word weights.

Recent selects the last other speaker as addressee. Direct-Recent selects the last speaker who addressed the
responder by name in the context, if anybody did. Both select the response most similar to the context.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Questions
from towhom.corpus import Corpus
from towhom.models.base import Selector, mask_addressees, one_hot
from towhom.models.tfidf import cosine_with_context, inverse_document_frequency
from towhom.selection import Scores


class RecentTfIdf(Selector):
    """Selects the most recent other speaker, who is number 1, since participants are numbered by recency."""

    name = "recent-tfidf"
    max_words = None

    def __init__(self, corpus: Corpus) -> None:
        self._idf = inverse_document_frequency(corpus)

    def addressees(self, questions: Questions) -> NDArray[np.int64]:
        """(B,) The selected addressees; 0, the responder, if there is nobody else."""
        return np.minimum(1, questions.participants - 1).astype(np.int64)

    def score_many(self, questions: Questions) -> Scores:
        """Score the chosen addressee 1 and the others 0, and responses by cosine."""
        chosen = one_hot(self.addressees(questions), questions.present.shape[1])
        return Scores(mask_addressees(chosen, questions), cosine_with_context(questions, self._idf))


class DirectRecentTfIdf(RecentTfIdf):
    """Selects the most recent speaker who addressed the responder, else the most recent other speaker."""

    name = "direct-recent-tfidf"

    def addressees(self, questions: Questions) -> NDArray[np.int64]:
        """(B,) The selected addressees; 0, the responder, if there is nobody else."""
        to_responder = (questions.addressee == 0)[:, ::-1]  # the latest first
        latest = to_responder.argmax(axis=1)
        sender = questions.sender[:, ::-1][np.arange(len(questions)), latest]
        return np.where(to_responder.any(axis=1), sender, super().addressees(questions))
