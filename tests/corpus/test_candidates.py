"""False candidates: what holds for every draw, and that draws are fair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from towhom.corpus.candidates import document_generator, draw_candidates


class Task(NamedTuple):
    """Messages of a document that need candidates."""

    messages: int
    true: NDArray[np.int64]
    size: int


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    size = draw(st.integers(2, 12))
    messages = draw(st.integers(size, 200))
    true = draw(st.lists(st.integers(0, messages - 1), max_size=30))
    return Task(messages, np.array(true, np.int64), size)


@given(task=tasks(), seed=st.integers(0, 2**40), name=st.text(max_size=20))
def test_every_draw(task: Task, seed: int, name: str) -> None:
    candidates, labels = draw_candidates(document_generator(seed, name), *task)
    rows = np.arange(len(task.true))
    assert candidates.shape == (len(task.true), task.size)
    assert labels.shape == task.true.shape
    assert candidates[rows, labels].tolist() == task.true.tolist()
    for true, row in zip(task.true.tolist(), candidates.tolist(), strict=True):
        assert len(set(row)) == task.size
        assert row.count(true) == 1
        assert all(0 <= message < task.messages for message in row)
    again = draw_candidates(document_generator(seed, name), *task)
    np.testing.assert_array_equal(candidates, again[0])
    np.testing.assert_array_equal(labels, again[1])


@pytest.mark.parametrize("messages", [2, 10, 80, 81, 200])
def test_the_smallest_and_the_largest_message_take_part(messages: int) -> None:
    true = np.arange(messages).repeat(60)
    candidates, _ = draw_candidates(document_generator(0, "room"), messages, true, 2)
    false = candidates.sum(axis=1) - true
    assert set(false.tolist()) == set(range(messages))


def test_generators_depend_on_seed_and_name() -> None:
    def numbers(seed: int, name: str) -> tuple[int, ...]:
        return tuple(document_generator(seed, name).integers(0, 2**60, 4).tolist())

    drawn = [numbers(seed, name) for seed in (0, 1, 2**33) for name in ("", "a", "b", "ab", "é", "\ud800")]
    assert len(set(drawn)) == len(drawn)
    assert numbers(0, "a") == numbers(0, "a")


def test_numbers_stay_the_same_from_version_to_version() -> None:
    """A corpus can be built again years later; whoever changes the draw must raise the format's version."""
    few = draw_candidates(document_generator(7, "room 20240101"), 6, np.array([0, 5]), 3)
    many = draw_candidates(document_generator(7, "room 20240101"), 1000, np.array([0, 999]), 3)
    assert [array.tolist() for array in few] == [[[0, 1, 2], [0, 5, 1]], [0, 1]]
    assert [array.tolist() for array in many] == [[[641, 0, 66], [563, 98, 999]], [1, 2]]


def chi_square(observed: NDArray[np.int64]) -> float:
    """Of the hypothesis that all are equally likely; its mean is their number less one."""
    expected = observed.sum() / len(observed)
    return float(((observed - expected) ** 2 / expected).sum())


@pytest.mark.parametrize(("messages", "size"), [(12, 10), (100, 10), (50, 2), (12, 2)])
def test_draws_are_fair(messages: int, size: int) -> None:
    true = np.full(20_000, 3)
    candidates, labels = draw_candidates(document_generator(1, "fair"), messages, true, size)
    # With the seed fixed this cannot flake; the bound is some five standard deviations above the mean.
    for observed in (
        np.bincount(labels, minlength=size),
        np.delete(np.bincount(candidates.ravel(), minlength=messages), 3),
        *(np.delete(np.bincount(column, minlength=messages), 3) for column in candidates.T),
    ):
        freedom = len(observed) - 1
        assert chi_square(observed) < freedom + 5 * np.sqrt(2 * freedom) + 5
