"""The comparison of messages word by word."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.crosstalk.chats import Weights, random_weights
from towhom.crosstalk.matching import MATCHES, TELLING, match, shapes, telling
from towhom.training.crosstalk.arrays import Torch

WIDTH = 6


@pytest.fixture
def weights() -> Weights:
    found = random_weights(3, match=WIDTH)
    for side in ("answers", "heard"):
        found[f"match.{side}.weight"] = np.abs(found[f"match.{side}.weight"])
    return found


def said(random: np.random.Generator, *shape: int, known: int) -> NDArray[np.int32]:
    """Messages of zero to `TELLING` known words."""
    found = random.integers(1, known, (*shape, TELLING)).astype(np.int32)
    lengths = random.integers(0, TELLING + 1, shape)
    return np.where(np.arange(TELLING) < lengths[..., None], found, 0)


def one_way(w: Weights, mine: str, words: NDArray[np.int32], theirs: str, others: NDArray[np.int32]) -> float:
    """How well words are matched, by the definition."""
    total, best = 0.5, 0.0
    for word in words[words > 0]:
        weight = w[f"match.{mine}.weight"][word]
        fits = [float(w[f"match.{mine}"][word] @ w[f"match.{theirs}"][other]) for other in others]
        total += weight
        best += weight * max(0.0, *fits)
    return best / total


class TestMatch:
    def test_definition(self, weights: Weights) -> None:
        weights["match.answers"][0] = weights["match.heard"][0] = 0.0
        random, known = np.random.default_rng(0), len(weights["words.weight"])
        answers, heard = said(random, 2, 3, known=known), said(random, 2, 4, known=known)
        found = match(weights, answers, heard)
        assert found.shape == (2, 3, 4, MATCHES)
        for group in range(2):
            for row in range(3):
                for place in range(4):
                    mine, theirs = answers[group, row], heard[group, place]
                    wanted = (
                        one_way(weights, "answers", mine, "heard", theirs),
                        one_way(weights, "heard", theirs, "answers", mine),
                    )
                    assert_allclose(found[group, row, place], wanted * weights["match.scale"], atol=1e-5)

    def test_numpy_and_torch(self, weights: Weights) -> None:
        random, known = np.random.default_rng(1), len(weights["words.weight"])
        answers, heard = said(random, 3, 2, known=known), said(random, 3, 5, known=known)
        ours = match(weights, answers, heard)
        theirs = match({name: torch.from_numpy(w) for name, w in weights.items()}, answers, heard, Torch())
        assert ours.dtype == np.float32
        assert_allclose(ours, theirs.numpy(), atol=1e-5)

    def test_nothing_is_known(self, weights: Weights) -> None:
        """What no known word is in matches nothing by its own words."""
        nothing = np.zeros((1, 1, TELLING), np.int32)
        something = said(np.random.default_rng(2), 1, 3, known=9)
        assert (match(weights, nothing, something)[..., 0] == 0).all()
        assert (match(weights, something, nothing)[..., 1] == 0).all()

    def test_the_order_of_words_does_not_count(self, weights: Weights) -> None:
        random = np.random.default_rng(4)
        answers, heard = said(random, 1, 2, known=9), said(random, 1, 3, known=9)
        assert_allclose(
            match(weights, answers[..., ::-1], heard), match(weights, answers, heard[..., ::-1]), atol=1e-5
        )


class TestTelling:
    def test_the_rarest_in_order(self) -> None:
        w = {"words.weight": np.arange(30, dtype=np.float32)}
        tokens = np.array([5, 20, 0, 3, *range(29, 17, -1)], np.int32)
        found = telling(w, tokens, np.array([0, 4, 4, len(tokens)]))
        assert_array_equal(found[0], [5, 20, 3, 0, 0, 0, 0, 0])
        assert_array_equal(found[1], np.zeros(TELLING))
        assert_array_equal(found[2], range(29, 21, -1))

    def test_no_messages(self) -> None:
        w = {"words.weight": np.ones(3, np.float32)}
        assert telling(w, np.empty(0, np.int32), np.zeros(1, np.int64)).shape == (0, TELLING)


def test_no_comparison_has_no_weights() -> None:
    assert shapes(7, 0) == {}
