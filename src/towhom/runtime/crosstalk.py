"""Crosstalk, forward only; `towhom.models.crosstalk` explains it, and has the names used here."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Questions
from towhom.models import evidence
from towhom.runtime.base import Array, NumpySelector
from towhom.selection import Rule, Scores
from towhom.text.pieces import PIECE_WEIGHTS


class Crosstalk(NumpySelector):
    """Pairs of one question after the other, all that depends on an utterance alone computed once for it.

    An encoded utterance is, side by side: its towers, of length one, as a message and as a response in turn,
    and itself, all times the root of the temperature; what it says as a message and as a response; the
    evidence that either adds; and its score as a response by itself, short of what is counted.
    """

    name = "crosstalk"
    letters = True

    def __init__(self, weights: Mapping[str, Array], vectors: Array, settings: Any) -> None:
        self.settings, self.vectors, self.rule = settings, vectors, Rule.JOINT
        self._weights = dict(weights)
        d, c, self._units = settings.dimensions, settings.content, settings.evidence
        self._towers = np.ascontiguousarray(weights["towers"].transpose(1, 0, 2).reshape(d, -1))
        # Sides of the comparisons: the last is of the embeddings as they are.
        self._heard = [*range(0, 2 * settings.towers, 2), 2 * settings.towers]
        self._answers = [*range(1, 2 * settings.towers, 2), 2 * settings.towers]
        self._root = np.float32(sqrt(abs(float(weights["temperature"][0]))))
        self._sign = np.float32(np.sign(weights["temperature"][0]) if settings.similarity else 0.0)
        self._sides = 2 * settings.towers + 1
        self._parts = _slices(self._sides * d, c, c, self._units, self._units, settings.prior)
        self._sums = _slices(*evidence.sizes(settings).sums)
        self._matches = weights["matches"]
        self._roles = weights["roles"]
        # (F, roles x E)
        self._turns = np.ascontiguousarray(
            weights["turns"].transpose(1, 0, 2).reshape(-1, len(self._roles) * self._units)
        )
        self._prior_known = weights["prior"][d:]

    @classmethod
    def shapes(cls, settings: Any) -> dict[str, tuple[int, ...]]:
        """The weights that there must be."""
        d, e, c = settings.dimensions, settings.evidence, settings.content
        roles, sizes = evidence.ROLES, evidence.sizes(settings)
        return {
            "towers": (2 * settings.towers, d, d),
            "temperature": (1,),
            "content": (d, 2 * c),
            "content_bias": (2 * c,),
            "roles": (roles, settings.positions, e),
            "turns": (roles, sizes.turns, e),
            "matches": (roles, sizes.matches, e),
            "says": (2, c, e),
            "second": (e, e),
            "second_bias": (e,),
            "strongest": (e, settings.strongest),
            "strongest_bias": (settings.strongest,),
            "pair": (sum(sizes.sums), settings.hidden),
            "pair_bias": (settings.hidden,),
            "pair_out": (settings.hidden,),
            "prior": (d + len(evidence.RESPONSE_FEATURES), settings.prior),
            "prior_bias": (settings.prior,),
            "prior_out": (settings.prior,),
            "piece_weights": (PIECE_WEIGHTS,),
        }

    def encode_utterances(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Array:
        """(U, H) See the class."""
        w, d = self._weights, self.settings.dimensions
        bags = evidence.summed(self.vectors[tokens], offsets)
        e = _unit(bags, 1e-3) * np.float32(evidence.EMBEDDING_SCALE * sqrt(d))
        sides = np.concatenate([e @ self._towers, e], axis=1).reshape(len(e), self._sides, d)
        towers = _unit(sides, 1e-12).reshape(len(e), self._sides * d) * self._root
        says = np.tanh(e @ w["content"] + w["content_bias"])
        message, response = np.split(says, 2, axis=1)
        prior = e @ w["prior"][:d] + w["prior_bias"]
        return np.concatenate([towers, says, message @ w["says"][0], response @ w["says"][1], prior], axis=1)

    def embedding(self, utterance: Array) -> Array:
        """(..., 2 x content) What it says."""
        return utterance[..., self._parts[1].start : self._parts[2].stop]

    def sides(self, utterances: Array) -> tuple[Array, Array]:
        """(U, K, D), (U, K, D) By tower, and as they are."""
        towers = utterances[:, self._parts[0]].reshape(len(utterances), self._sides, self.settings.dimensions)
        return towers[:, self._heard] * self._sign, towers[:, self._answers]

    def score_encoded(self, questions: Questions, utterances: Array) -> Scores:
        """Probabilities for a batch of questions."""
        return Scores.of_pairs(self.scores(questions, utterances).astype(np.float64))

    def addressee_scores(self, questions: Questions, utterances: Array) -> tuple[Array, Array]:
        """(P,), (P,) Of the pairs with the only candidate; it has none without a candidate."""
        scores = self.scores(questions, utterances)[0, :, 0]
        return scores, scores

    def scores(self, questions: Questions, utterances: Array) -> Array:
        """(B, P, C) Logarithmic scores of all pairs; minus infinity where there is no such addressee."""
        found = evidence.gather(questions, self._weights["piece_weights"], self.settings)
        choices = evidence.choices(questions)
        result = np.full((*choices.shape, questions.candidates.shape[1]), -np.inf, np.float32)
        parts = [utterances[:, part] for part in self._parts]
        for sample, who in enumerate(choices):
            first = len(found.there[sample]) - int(np.count_nonzero(found.there[sample]))
            result[sample][who] = self._score(
                evidence.Evidence(*(array[sample] for array in found)),
                parts,
                questions.context[sample, first:],
                questions.candidates[sample],
                slice(first, None),
            )[who]
        return result

    def _score(
        self,
        found: evidence.Evidence,
        parts: list[Array],
        messages: NDArray[np.int32],
        candidates: NDArray[np.int32],
        there: slice,
    ) -> Array:
        """(P, C) Of one question; `found` without its first dimension."""
        w, units, length, count = self._weights, self._units, len(messages), len(candidates)
        towers, _, responses, adds_message, adds_response, prior = parts
        similar = self._similar(towers[np.concatenate([messages, candidates])], length)
        pairs = np.concatenate([similar[:, :, length:].transpose(1, 2, 0), found.pairs[there]], axis=2)
        common = found.common[there, there].transpose(2, 0, 1)
        alike = np.concatenate([similar[:, :, :length], common]) * found.links[there, there]
        responders = found.own[there] > 0
        turns = [found.messages[there].T]
        for of_them in (responders, ~responders):  # see `evidence.LINKS`; of no messages the best has 0
            turns.append(alike[:, :, of_them].max(axis=2, initial=0.0))
            turns.append(alike[:, of_them].max(axis=1, initial=0.0))
        roles = found.roles[there]
        by_role = self._matches[roles].transpose(0, 2, 1, 3).reshape(length, pairs.shape[2], 3 * units)
        every_role = (np.concatenate(turns).T @ self._turns).reshape(length, len(self._roles), units)
        numbers = np.arange(length)[:, None]
        of_message = self._roles[roles, np.minimum(numbers[::-1], self.settings.positions - 1)]
        of_message += every_role[numbers, roles]
        of_message += adds_message[messages][:, None]
        first = (pairs @ by_role).reshape(length, count, 3, units)
        first += of_message[:, None]
        first += adds_response[candidates][:, None]
        np.maximum(first, 0.0, out=first)
        second = first.reshape(-1, units) @ w["second"]
        second += w["second_bias"]
        np.maximum(second, 0.0, out=second)
        by, to = found.by[:, there], found.to[:, there]
        sums = self._summed(second.reshape(length, count, 3, units), by, to)
        sums[..., self._sums[5]], sums[..., self._sums[6]] = found.addressees, responses[candidates]
        hidden = sums.reshape(-1, sums.shape[2]) @ w["pair"]
        hidden += w["pair_bias"]
        np.maximum(hidden, 0.0, out=hidden)
        own = np.maximum(prior[candidates] + found.responses @ self._prior_known, 0.0) @ w["prior_out"]
        return ((hidden @ w["pair_out"]).reshape(sums.shape[:2]) + own).astype(np.float32, copy=False)

    def _similar(self, towers: Array, messages: int) -> Array:
        """(K, T, T + C) How messages, which are first, go with each other and with responses, by tower."""
        d = self.settings.dimensions
        result = np.empty((len(self._heard), messages, len(towers)), np.float32)
        for found, heard, answer in zip(result, self._heard, self._answers, strict=True):
            theirs = towers[:, answer * d : (answer + 1) * d]
            np.matmul(towers[:messages, heard * d : (heard + 1) * d], theirs.T, out=found)
        result *= self._sign
        return result

    def _summed(self, found: Array, by: Array, to: Array) -> Array:
        """(P, C, S) Evidence (T, C, 3, E) by candidate; the last two parts are yet to be filled in."""
        length, count, _, units = found.shape
        sums = np.empty((len(by), count, self._sums[-1].stop), np.float32)
        strength = found[:, :, 1:].reshape(-1, units) @ self._weights["strongest"]
        strength += self._weights["strongest_bias"]
        odds = np.exp(strength.clip(-evidence.LARGEST, evidence.LARGEST))
        odds = odds.reshape(length, count, 2, self.settings.strongest)
        of_them, for_them, others, most_of, most_for = self._sums[:5]
        sums[..., of_them], sums[..., for_them] = _over(by, found[:, :, 1]), _over(to, found[:, :, 2])
        sums[..., others] = _over(1 - by - to, found[:, :, 0]) / np.float32(5)
        for part, whose, strongest in ((most_of, by, odds[:, :, 0]), (most_for, to, odds[:, :, 1])):
            sums[..., part] = np.log(_over(whose, strongest) + np.float32(evidence.ADDED))
        return sums


def _slices(*widths: int) -> list[slice]:
    """Parts of so many columns each, side by side."""
    return [slice(start, end) for start, end in pairwise(accumulate(widths, initial=0))]


def _unit(values: Array, least: float) -> Array:
    """Of length one, along the last dimension."""
    result: Array = values / np.maximum(
        np.sqrt((values * values).sum(axis=-1, keepdims=True)), np.float32(least)
    )
    return result


def _over(whose: Array, values: Array) -> Array:
    """(P, T), (T, C, E) -> (P, C, E) The sum over each candidate's messages."""
    messages, count, units = values.shape
    result: Array = (whose @ values.reshape(messages, count * units)).reshape(len(whose), count, units)
    return result
