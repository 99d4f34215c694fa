"""The chance baseline: any previous speaker of the document, and any candidate."""

from __future__ import annotations

import numpy as np

from towhom.batching import Questions
from towhom.models.base import Selector, mask_addressees
from towhom.selection import Scores


class Chance(Selector):
    """Scores that are the same for everybody: 1 / speakers so far, and 1 / candidates.

    Its accuracy is not measured by random choices: the evaluator uses the expectation, which these scores
    are.
    """

    name = "chance"
    decides = False

    def score_many(self, questions: Questions) -> Scores:
        """Give the same score to all."""
        each = np.broadcast_to(1.0 / questions.speakers_so_far[:, None], questions.present.shape)
        candidates = questions.candidates.shape
        return Scores(mask_addressees(each, questions), np.full(candidates, 1.0 / candidates[1]))
