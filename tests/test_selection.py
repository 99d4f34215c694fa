"""From scores to a choice, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from towhom.batching import NOBODY
from towhom.selection import Rule, Scores, choose

nan = np.nan


def scores(
    addressee: list[float],
    response: list[float],
    addressee_given: list[list[float]] | None = None,
    response_given: list[list[float]] | None = None,
) -> Scores:
    """Of one sample."""

    def batch(values: list[list[float]] | None) -> NDArray[np.float64] | None:
        return None if values is None else np.array([values], np.float64)

    return Scores(
        np.array([addressee], np.float64),
        np.array([response], np.float64),
        batch(addressee_given),
        batch(response_given),
    )


def chosen(found: Scores, rule: Rule) -> tuple[int, int]:
    choice = choose(found, rule)
    return int(choice.addressee[0]), int(choice.response[0])


TORN = scores(
    [nan, 0.6, 0.5],
    [0.5, 0.4],
    addressee_given=[[0.9, 0.1, 0.2], [0.9, 0.1, 0.9]],
    response_given=[[0.9, 0.9], [0.2, 0.3], [0.4, 0.8]],
)
"""Each by itself, it is 1 and 0; together, 2 and 1: the responder's scores are in the way."""


def test_separate() -> None:
    assert chosen(TORN, Rule.SEPARATE) == (1, 0)


def test_joint() -> None:
    pairs = TORN.pairs(Rule.JOINT)
    assert np.isneginf(pairs[0, 0]).all()
    # P(r) P(a|r) + P(a) P(r|a)
    expected = [
        [0.5 * 0.1 + 0.6 * 0.2, 0.4 * 0.1 + 0.6 * 0.3],
        [0.5 * 0.2 + 0.5 * 0.4, 0.4 * 0.9 + 0.5 * 0.8],
    ]
    assert_allclose(pairs[0, 1:], expected)
    assert chosen(TORN, Rule.JOINT) == (2, 1)


def test_joint_in_logarithms() -> None:
    pairs = TORN.pairs(Rule.JOINT_LOG)
    products = [
        [0.5 * 0.1 * 0.6 * 0.2, 0.4 * 0.1 * 0.6 * 0.3],
        [0.5 * 0.2 * 0.5 * 0.4, 0.4 * 0.9 * 0.5 * 0.8],
    ]
    assert np.isneginf(pairs[0, 0]).all()
    assert_allclose(pairs[0, 1:], np.log(products) / 2)
    assert chosen(TORN, Rule.JOINT_LOG) == (2, 1)


def test_the_two_joint_rules_can_differ() -> None:
    """A sum forgives one small factor, a product does not."""
    found = scores(
        [nan, 0.9, 0.5],
        [0.5],
        addressee_given=[[nan, 0.01, 0.5]],
        response_given=[[nan], [0.9], [0.5]],
    )
    assert chosen(found, Rule.JOINT) == (1, 0)
    assert chosen(found, Rule.JOINT_LOG) == (2, 0)


def test_zero_has_a_logarithm() -> None:
    zeros = scores([nan, 0.0, 0.0], [0.0, 0.0], [[0.0] * 3] * 2, [[0.0] * 2] * 3)
    assert np.isfinite(zeros.pairs(Rule.JOINT_LOG)[0, 1:]).all()
    assert chosen(zeros, Rule.JOINT_LOG) == (1, 0)


@pytest.mark.parametrize("rule", Rule)
def test_without_heads_for_both_each_is_chosen_by_itself(rule: Rule) -> None:
    assert chosen(scores([nan, 0.1, 0.3, nan], [0.2, 0.7, 0.1]), rule) == (2, 1)


@pytest.mark.parametrize("rule", Rule)
def test_responses_that_all_score_zero_leave_the_addressee_as_it_is(rule: Rule) -> None:
    assert chosen(scores([nan, 0.0, 1.0], [0.0, 0.0]), rule) == (2, 0)


@pytest.mark.parametrize("rule", Rule)
def test_an_addressee_without_a_chance_leaves_the_response_as_it_is(rule: Rule) -> None:
    assert chosen(scores([nan, 0.0], [0.1, 0.4]), rule) == (1, 1)


@pytest.mark.parametrize("rule", Rule)
def test_nobody_to_address(rule: Rule) -> None:
    given = ([[0.9, 0.9], [0.1, 0.1]], [[0.9, 0.1], [0.9, 0.1]])
    assert chosen(scores([nan, nan], [0.2, 0.3], *given), rule) == (NOBODY, 1)
    assert chosen(scores([nan], [0.2, 0.3]), rule) == (NOBODY, 1)


@pytest.mark.parametrize("rule", Rule)
def test_of_equals_the_first(rule: Rule) -> None:
    """The first addressee is the one who spoke last."""
    same = scores([nan, 0.5, 0.5], [0.5, 0.5], [[0.5] * 3] * 2, [[0.5] * 2] * 3)
    assert chosen(same, rule) == (1, 0)


@pytest.mark.parametrize("rule", Rule)
def test_samples_of_a_batch_do_not_meet(rule: Rule) -> None:
    random = np.random.default_rng(5)
    addressee = random.random((20, 4))
    addressee[:, 0] = nan
    addressee[random.random((20, 4)) < 0.4] = nan
    batch = Scores(addressee, random.random((20, 3)), random.random((20, 3, 4)), random.random((20, 4, 3)))
    together = choose(batch, rule)
    assert batch.addressee_given is not None
    assert batch.response_given is not None
    for row in range(20):
        one = slice(row, row + 1)
        alone = choose(
            Scores(
                batch.addressee[one],
                batch.response[one],
                batch.addressee_given[one],
                batch.response_given[one],
            ),
            rule,
        )
        assert (alone.addressee[0], alone.response[0]) == (together.addressee[row], together.response[row])
        assert (alone.addressee[0] == NOBODY) == np.isnan(addressee[row]).all()


class TestOfPairs:
    """Scores of a system that scores pairs."""

    ODDS = np.array(
        [
            [[0.0, 0.0], [1.0, 8.0], [5.0, 4.0], [0.0, 0.0]],
            [[0.0, 0.0], [2.0, 1.0], [3.0, 3.0], [6.0, 1.0]],
            [[1.0, 3.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        ]
    )
    """Two to choose from, three, and nobody: then the responder's row says how good the responses are."""

    @pytest.fixture
    def found(self) -> Scores:
        with np.errstate(divide="ignore"):
            return Scores.of_pairs(np.log(self.ODDS) + 1000)  # of a size whose exponential is too large

    def test_probabilities(self, found: Scores) -> None:
        assert found.joint is not None
        assert_allclose(found.joint, self.ODDS / np.array([18, 16, 4])[:, None, None])
        assert_allclose(found.addressee[:2], [[nan, 9 / 18, 9 / 18, nan], [nan, 3 / 16, 6 / 16, 7 / 16]])
        assert np.isnan(found.addressee[2]).all()
        assert_allclose(found.response, [[6 / 18, 12 / 18], [11 / 16, 5 / 16], [1 / 4, 3 / 4]])

    @pytest.mark.parametrize("rule", [Rule.JOINT, Rule.JOINT_LOG])
    def test_the_best_pair(self, rule: Rule, found: Scores) -> None:
        choice = choose(found, rule)
        assert choice.addressee.tolist() == [1, 3, NOBODY]
        assert choice.response.tolist() == [1, 0, 1]

    def test_the_best_of_each(self) -> None:
        """The best pair need not be of the best addressee."""
        odds = np.array([[[0.0, 0.0], [5.0, 0.1], [4.0, 3.0]]])
        with np.errstate(divide="ignore"):
            found = Scores.of_pairs(np.log(odds))
        assert chosen(found, Rule.JOINT) == (1, 0)
        assert chosen(found, Rule.SEPARATE) == (2, 0)
