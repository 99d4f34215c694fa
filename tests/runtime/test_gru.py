"""The unit that needs no torch, against the equations one token at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from towhom.runtime.gru import GRU, Array

LENGTHS = {
    "none": [],
    "one of one word": [1],
    "one of many words": [11],
    "one empty": [0],
    "all empty": [0, 0, 0],
    "empty ones between": [0, 3, 1, 0, 0, 2, 1],
    "the longest last": [1, 2, 3, 9],
    "as long as each other": [4] * 5,
    "many": np.random.default_rng(1).integers(0, 12, 37).tolist(),
}


class Weights(NamedTuple):
    w: Array
    u: Array

    @classmethod
    def random(cls, inputs: int, hidden: int) -> Weights:
        random = np.random.default_rng(hidden)
        return cls(*(random.uniform(-0.5, 0.5, (n, 3 * hidden)).astype(np.float32) for n in (inputs, hidden)))

    def step(self, x: NDArray[np.float64], h: NDArray[np.float64]) -> NDArray[np.float64]:
        """The equations, in twice the precision."""
        w_r, w_z, w_c = np.split(self.w.astype(np.float64), 3, axis=1)
        u_r, u_z, u_c = np.split(self.u.astype(np.float64), 3, axis=1)
        r, z = 1 / (1 + np.exp(-x @ w_r - h @ u_r)), 1 / (1 + np.exp(-x @ w_z - h @ u_z))
        result: NDArray[np.float64] = z * h + (1 - z) * np.tanh(x @ w_c + (r * h) @ u_c)
        return result

    def last_states(self, tokens: Array, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """One sequence after the other, one token after the other."""
        states = np.zeros((len(offsets) - 1, len(self.u)))
        for place, (start, stop) in enumerate(pairwise(offsets.tolist())):
            for x in tokens[start:stop].astype(np.float64):
                states[place] = self.step(x, states[place])
        return states


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("hidden", [1, 7, 50])
def test_last_states(hidden: int, lengths: list[int]) -> None:
    weights = Weights.random(5, hidden)
    gru = GRU(*weights)
    offsets = np.cumsum([0, *lengths])
    tokens = np.random.default_rng(0).normal(size=(sum(lengths), 5)).astype(np.float32)
    found = gru.last_states(gru.project(tokens), offsets)
    assert found.dtype == np.float32
    assert found.shape == (len(lengths), hidden)
    assert_allclose(found, weights.last_states(tokens, offsets), rtol=0, atol=2e-6)
    assert_array_equal(found.any(axis=1), np.array(lengths, int) > 0)


def test_a_step_of_many_states() -> None:
    weights = Weights.random(5, 7)
    gru = GRU(*weights)
    random = np.random.default_rng(2)
    x, h = (random.normal(size=(4, size)).astype(np.float32) for size in (5, 7))
    expected = weights.step(x.astype(np.float64), h.astype(np.float64))
    assert_allclose(gru.step(gru.project(x), h), expected, rtol=0, atol=1e-6)


def test_what_it_is_given_stays() -> None:
    weights = Weights.random(5, 7)
    before = [matrix.copy() for matrix in weights]
    gru = GRU(*weights)
    tokens, state = np.ones((4, 5), np.float32), np.full((4, 7), 0.5, np.float32)
    projected = gru.project(tokens)
    contributed = projected.copy()
    gru.step(projected, state)
    gru.last_states(projected, np.array([0, 4]))
    gru.last_states(projected, np.array([0, 1, 4]))
    assert (tokens == 1).all()
    assert (state == 0.5).all()
    assert_array_equal(projected, contributed)
    for matrix, copied in zip(weights, before, strict=True):
        assert_array_equal(matrix, copied)


def test_a_step_by_hand() -> None:
    """One unit: r = s(1), z = s(0) = 1/2, c = tanh(r), h' = (1 + c) / 2 for h = 1, u = (1, 0, 1), x = 0."""
    gru = GRU(np.zeros((1, 3), np.float32), np.array([[1, 0, 1]], np.float32))
    new = gru.step(gru.project(np.zeros((1, 1), np.float32)), np.ones((1, 1), np.float32))
    assert new.item() == pytest.approx((1 + np.tanh(1 / (1 + np.exp(-1)))) / 2)


@pytest.mark.parametrize(("sign", "kept"), [(1, 0.5), (-1, -1.0)])
def test_large_values_saturate(sign: int, kept: float) -> None:
    """Where z is 1, what was there stays; where it is 0, the proposal is all there is."""
    gru = GRU(np.ones((1, 21), np.float32), np.zeros((7, 21), np.float32))
    x = gru.project(np.full((1, 1), sign * 1e30, np.float32))
    assert_array_equal(gru.step(x, np.full((1, 7), 0.5, np.float32)), np.full((1, 7), kept))
