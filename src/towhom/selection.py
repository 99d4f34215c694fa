"""Turns scores into a choice, by the joint or the separate rule. No labels are used.

The paper's Eq. 6 maximizes P(r|C) P(a|C,r) + P(a|C) P(r|C,a) over pairs; its footnote maximizes half the sum
of their logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from towhom.batching import NOBODY

Array = NDArray[np.float64]


class Rule(StrEnum):
    """How addressee and response are chosen."""

    JOINT = "joint"
    """The pair with the highest joint probability (Eq. 6)."""
    JOINT_LOG = "joint-log"
    """The same, decomposed as in the paper's footnote."""
    SEPARATE = "separate"
    """The best addressee and the best response, separately."""


@dataclass(frozen=True)
class Scores:
    """The probabilities from a selector. Addressees are participants 1 to P - 1; the responder is masked.

    Args:
        addressee: (B, P) P(a|C); NaN where there is no such candidate.
        response: (B, C) P(r|C).
        addressee_given: (B, C, P) P(a|C,r), if the selector has it.
        response_given: (B, P, C) P(r|C,a), if the selector has it.
        joint: (B, P, C) P(a,r|C), if the selector scores pairs.
    """

    addressee: Array
    response: Array
    addressee_given: Array | None = None
    response_given: Array | None = None
    joint: Array | None = None

    @classmethod
    def of_pairs(cls, scores: Array) -> Scores:
        """Scores from (B, P, C) log scores of pairs; minus infinity means that there is no such addressee.

        If nobody can be addressed, the responder's row has the scores of the responses.
        """
        odds = np.exp(scores - scores.max(axis=(1, 2), keepdims=True))
        joint = odds / odds.sum(axis=(1, 2), keepdims=True)
        addressee = np.where(np.isneginf(scores).all(axis=2), np.nan, joint.sum(axis=2))
        addressee[:, 0] = np.nan
        return cls(addressee, joint.sum(axis=1), joint=joint)

    def separate(self, rule: Rule) -> bool:
        """Whether to choose addressee and response separately: by the rule, or for lack of joint scores."""
        heads = self.addressee_given is not None and self.response_given is not None
        return rule is Rule.SEPARATE or not (heads or self.joint is not None)

    def pairs(self, rule: Rule) -> Array:
        """(B, P, C) The score of each pair; minus infinity where there is no such addressee."""
        a, r = self.addressee[:, :, None], self.response[:, None, :]
        if self.joint is not None and rule is not Rule.SEPARATE:
            pairs = self.joint
            if rule is Rule.JOINT_LOG:
                pairs = np.log(np.maximum(pairs, np.finfo(np.float64).tiny))
        elif self.addressee_given is None or self.response_given is None or rule is Rule.SEPARATE:
            pairs = a * r
        else:
            a_given = self.addressee_given.transpose(0, 2, 1)
            if rule is Rule.JOINT:
                pairs = r * a_given + a * self.response_given
            else:
                tiny = np.finfo(np.float64).tiny
                logs = [np.log(np.maximum(p, tiny)) for p in (r, a_given, a, self.response_given)]
                pairs = (logs[0] + logs[1] + logs[2] + logs[3]) / 2
        return np.where(np.isnan(self.addressee)[:, :, None], -np.inf, pairs)


@dataclass(frozen=True)
class Choice:
    """The chosen addressees and responses."""

    addressee: NDArray[np.int64]
    """(B,) The participant; `NOBODY` if there is no candidate."""
    response: NDArray[np.int64]
    """(B,) The candidate."""


def choose(scores: Scores, rule: Rule = Rule.JOINT) -> Choice:
    """The best pair, or the best addressee and the best response.

    >>> scores = Scores(np.array([[np.nan, 0.6, 0.5]]), np.array([[0.2, 0.7]]))
    >>> choose(scores, Rule.SEPARATE)
    Choice(addressee=array([1]), response=array([1]))
    """
    masked = np.isnan(scores.addressee)
    if scores.separate(rule):
        # Not the best product, which is the same for all addressees if all responses score zero.
        addressee = np.where(masked, -np.inf, scores.addressee).argmax(axis=1)
        response = scores.response.argmax(axis=1)
    else:
        pairs = scores.pairs(rule)
        best = pairs.reshape(len(pairs), -1).argmax(axis=1)
        addressee, response = np.divmod(best, pairs.shape[2])
    nobody = masked.all(axis=1)
    # If there is nobody to address, choose the best response.
    response = np.where(nobody, scores.response.argmax(axis=1), response)
    return Choice(np.where(nobody, NOBODY, addressee), response)
