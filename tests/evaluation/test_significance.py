"""Intervals and comparisons, against what can be said without drawing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from towhom.evaluation.significance import Comparison, Interval, bootstrap, compare


def array(*values: float) -> NDArray[np.float64]:
    return np.array(values, np.float64)


def documents(*numbers: int) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)


class TestBootstrap:
    def test_two_documents(self) -> None:
        """A quarter of the draws has twice the one, a quarter twice the other."""
        assert bootstrap(array(0, 1), documents(0, 1)) == Interval(0.5, 0.0, 1.0)

    def test_a_document_counts_as_often_as_it_has_samples(self) -> None:
        values, where = array(1, 1, 1, 0), documents(0, 0, 0, 1)
        found = bootstrap(values, where)
        assert found == Interval(0.75, 0.0, 1.0)
        # Both documents are drawn in half of the cases: then the mean is 3/4, not the mean of means.
        assert bootstrap(values, where, draws=1, seed=_seed_that_draws_both()).low == 0.75

    def test_one_document_tells_nothing_of_others(self) -> None:
        assert bootstrap(array(0, 1, 1, 0), documents(4, 4, 4, 4)) == Interval(0.5, 0.5, 0.5)

    def test_as_wide_as_theory_has_it(self) -> None:
        """Of many independent samples: 1.96 standard errors to either side."""
        values = np.arange(400) % 4 == 0
        found = bootstrap(values.astype(np.float64), np.arange(400))
        error = 1.96 * np.sqrt(0.25 * 0.75 / 400)
        assert found.mean == 0.25
        assert found.high - found.mean == pytest.approx(error, rel=0.12)
        assert found.mean - found.low == pytest.approx(error, rel=0.12)

    def test_wider_where_samples_of_a_document_are_alike(self) -> None:
        values = np.repeat(array(*(0, 1) * 5), 20)
        alone, clustered = bootstrap(values, np.arange(200)), bootstrap(values, np.repeat(np.arange(10), 20))
        assert clustered.mean == alone.mean == 0.5
        ratio = (clustered.high - clustered.low) / (alone.high - alone.low)
        assert ratio == pytest.approx(np.sqrt(20), rel=0.2)

    def test_the_seed_decides(self) -> None:
        values, where = np.random.default_rng(0).normal(size=60), np.arange(60) // 2
        assert bootstrap(values, where, seed=1) == bootstrap(values, where, seed=1)
        assert bootstrap(values, where, seed=1) != bootstrap(values, where, seed=2)

    def test_numbers_of_documents_are_names(self) -> None:
        values = array(0, 1, 1, 0, 1)
        assert bootstrap(values, documents(0, 0, 1, 2, 2)) == bootstrap(values, documents(3, 3, 70, 900, 900))


def _seed_that_draws_both() -> int:
    def draws(seed: int) -> set[int]:
        return set(np.random.default_rng(seed).integers(0, 2, size=(1, 2))[0].tolist())

    return next(seed for seed in range(100) if draws(seed) == {0, 1})


class TestCompare:
    def test_no_difference(self) -> None:
        values = np.random.default_rng(0).normal(size=30)
        assert compare(values, values, np.arange(30) // 3) == Comparison(Interval(0.0, 0.0, 0.0), 1.0)

    def test_a_clear_one(self) -> None:
        where = np.arange(100) // 5
        found = compare(np.ones(100), np.zeros(100), where)
        assert found.difference == Interval(1.0, 1.0, 1.0)
        assert found.p == 1 / 2001  # no draw comes near it; never zero, since one more draw might have

    def test_chance_alone(self) -> None:
        random = np.random.default_rng(5)
        first, second = random.integers(0, 2, size=(2, 400)).astype(np.float64)
        found = compare(first, second, np.arange(400) // 10)
        assert found.p > 0.1
        assert found.difference.low < 0 < found.difference.high

    @pytest.mark.parametrize("count", [1, 2, 3, 4])
    def test_of_few_documents_nothing_is_sure(self, count: int) -> None:
        """All in favour: as many signs do that as two of two to the power of documents."""
        size = 100 * count
        found = compare(np.ones(size), np.zeros(size), np.arange(size) // 100)
        assert found.p == pytest.approx(2 / 2**count, abs=0.05)

    def test_by_hand(self) -> None:
        """Differences of three documents add up to 3, 1 and -1: a sum of 3 or more has 6 of 8 signs."""
        first, second = array(1, 1, 1, 1, 0), array(0, 0, 0, 0, 1)
        found = compare(first, second, documents(0, 0, 0, 1, 2))
        assert found.difference.mean == pytest.approx(3 / 5)
        assert found.p == pytest.approx(6 / 8, abs=0.05)

    def test_the_other_way_round(self) -> None:
        first, second = np.random.default_rng(2).normal(0.1, 1, size=(2, 90))
        where = np.arange(90) // 3
        there, back = compare(first, second, where), compare(second, first, where)
        assert there.p == back.p
        assert there.difference.mean == -back.difference.mean
        assert there.difference.low == pytest.approx(-back.difference.high)
        assert there.difference.high == pytest.approx(-back.difference.low)

    def test_the_seed_decides(self) -> None:
        first, second = np.random.default_rng(2).normal(size=(2, 60))
        where = np.arange(60) // 2
        assert compare(first, second, where, seed=1) == compare(first, second, where, seed=1)
        assert compare(first, second, where, seed=1) != compare(first, second, where, seed=2)
