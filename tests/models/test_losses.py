"""The loss, on numbers that can be worked out by hand."""

from __future__ import annotations

from math import exp, log

import pytest
import torch
from torch import Tensor

from towhom.models.losses import Logits, selection_loss


def right(score: float) -> float:
    """-log s(score), the loss of something true."""
    return log(1 + exp(-score))


def wrong(score: float) -> float:
    """-log (1 - s(score)), the loss of something false."""
    return log(1 + exp(score))


def numbers(*values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


ALL_FOUR = torch.ones(1, 4, dtype=torch.bool)
ADDRESSEE = numbers([9.0, 0.5, -1.0, 2.0])
"""Of the responder, who does not count however high their score, and three others."""
RESPONSE = numbers([1.5, -0.5])


def loss(logits: Logits, present: Tensor, addressee: list[int], response: list[int], false: str) -> float:
    assert false in ("hardest", "all")
    return selection_loss(
        logits,
        present,
        torch.tensor(addressee),
        torch.tensor(response),
        false="hardest" if false == "hardest" else "all",
    ).item()


@pytest.mark.parametrize(
    ("true", "against"),
    [(1, 2.0), (2, 2.0), (3, 0.5)],
)
def test_against_the_hardest(true: int, against: float) -> None:
    expected = right(float(ADDRESSEE[0, true])) + wrong(against) + right(1.5) + wrong(-0.5)
    found = loss(Logits(ADDRESSEE, RESPONSE, None, None), ALL_FOUR, [true], [0], "hardest")
    assert found == pytest.approx(expected)


def test_against_all() -> None:
    expected = right(0.5) + (wrong(-1) + wrong(2)) / 2 + right(-0.5) + wrong(1.5)
    found = loss(Logits(ADDRESSEE, RESPONSE, None, None), ALL_FOUR, [1], [1], "all")
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("false", ["hardest", "all"])
def test_who_is_not_there_is_nobody_to_be_told_from(false: str) -> None:
    present = torch.tensor([[True, True, True, False]])
    expected = right(0.5) + wrong(-1) + right(1.5) + wrong(-0.5)
    found = loss(Logits(ADDRESSEE, RESPONSE, None, None), present, [1], [0], false)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("false", ["hardest", "all"])
def test_no_other_addressee_no_loss_of_the_addressee(false: str) -> None:
    present = torch.tensor([[True, True, False, False]])
    addressee = ADDRESSEE.clone().requires_grad_()
    value = selection_loss(
        Logits(addressee, RESPONSE, None, None),
        present,
        torch.tensor([1]),
        torch.tensor([0]),
        false="hardest" if false == "hardest" else "all",
    )
    assert value.item() == pytest.approx(right(1.5) + wrong(-0.5))
    value.backward()  # type: ignore[no-untyped-call]
    assert addressee.grad is not None
    assert not addressee.grad.any()


def test_several_false_responses_share_the_weight_of_one() -> None:
    responses = numbers([0.1, 0.2, 0.3])
    found = loss(Logits(ADDRESSEE, responses, None, None), ALL_FOUR, [3], [1], "hardest")
    expected = right(2) + wrong(0.5) + right(0.2) + (wrong(0.1) + wrong(0.3)) / 2
    assert found == pytest.approx(expected)


def test_heads_that_are_given_something_are_given_the_truth() -> None:
    given_response = numbers([[7, 7, 7, 7], [0, 0.4, -0.3, 0.2]])  # the second response is true
    given_addressee = numbers([[7, 7], [7, 7], [-0.6, 0.8], [7, 7]])  # the second other is addressed
    logits = Logits(ADDRESSEE, RESPONSE, given_response, given_addressee)
    expected = (
        right(-1) + wrong(2) + right(-0.5) + wrong(1.5)
        + right(-0.3) + wrong(0.4) + right(0.8) + wrong(-0.6)
    )  # fmt: skip
    assert loss(logits, ALL_FOUR, [2], [1], "hardest") == pytest.approx(expected)


def test_mean_over_the_batch() -> None:
    logits = Logits(ADDRESSEE.repeat(2, 1), RESPONSE.repeat(2, 1), None, None)
    one, other = (
        loss(Logits(ADDRESSEE, RESPONSE, None, None), ALL_FOUR, [true], [answer], "hardest")
        for true, answer in ((1, 0), (3, 1))
    )
    both = loss(logits, ALL_FOUR.repeat(2, 1), [1, 3], [0, 1], "hardest")
    assert both == pytest.approx((one + other) / 2)


def test_scores_out_of_range_of_the_exponential() -> None:
    extreme = Logits(numbers([0, -2000.0, 2000.0]), numbers([-3000.0, 3000.0]), None, None)
    found = loss(extreme, ALL_FOUR[:, :3], [1], [0], "hardest")
    assert found == pytest.approx(2000 + 2000 + 3000 + 3000)
