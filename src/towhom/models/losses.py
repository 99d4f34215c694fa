"""The loss of the paper: every head learns to tell the true choice from a false one.

For each of the two addressee heads, the true addressee against the highest-scoring other participant (no loss
where there is none); for each of the two response heads, the true response against the false one. Heads
whose input includes a response or an addressee get the true one. All heads have the same weight.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from towhom.models.configs import FalseAddressee


class Logits(NamedTuple):
    """Scores before the sigmoid: of the two heads that see only the context, and of the two others."""

    addressee: Tensor
    """(B, P)"""
    response: Tensor
    """(B, C)"""
    addressee_given: Tensor | None
    """(B, C, P)"""
    response_given: Tensor | None
    """(B, P, C)"""


def selection_loss(
    logits: Logits, present: Tensor, addressee: Tensor, response: Tensor, *, false: FalseAddressee = "hardest"
) -> Tensor:
    """The mean loss of a batch.

    Args:
        logits: Scores.
        present: (B, P) Which participants exist.
        addressee: (B,) The true addressee, from 1 on.
        response: (B,) The true response.
        false: Which other participants count as false addressees.
    """
    each = torch.arange(len(addressee), device=addressee.device)
    addressees, responses = [logits.addressee], [logits.response]
    if logits.addressee_given is not None and logits.response_given is not None:
        addressees.append(logits.addressee_given[each, response])
        responses.append(logits.response_given[each, addressee])
    others = present.clone()
    others[:, 0] = False
    others[each, addressee] = False
    losses = [_addressee_loss(scores, addressee, others, false) for scores in addressees]
    losses += [_response_loss(scores, response) for scores in responses]
    return torch.stack(losses).sum() / len(addressee)


def _addressee_loss(scores: Tensor, true: Tensor, others: Tensor, false: FalseAddressee) -> Tensor:
    some = others.any(dim=1)
    right = softplus(-scores.gather(1, true[:, None])).squeeze(1)
    if false == "hardest":
        best = torch.where(others, scores, -torch.inf).amax(dim=1)
        wrong = softplus(torch.where(some, best, 0))
    else:
        wrong = torch.where(others, softplus(scores), 0).sum(dim=1) / others.sum(dim=1).clamp(min=1)
    return torch.where(some, right + wrong, 0).sum()


def _response_loss(scores: Tensor, true: Tensor) -> Tensor:
    is_true = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, true[:, None], True)
    wrong = torch.where(is_true, 0, softplus(scores)).sum(dim=1) / (scores.shape[1] - 1)
    return (torch.where(is_true, softplus(-scores), 0).sum(dim=1) + wrong).sum()
