"""What the stages of the training have in common: the loss of cells, and the steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from towhom.training.checkpoint import Progress, load_checkpoint, save_checkpoint

KEEP_EVERY = 500
"""Steps after which a checkpoint is written."""
_NOT = -1e9
"""The energy of what cannot be."""
_STEEPEST = 2.0
"""Slopes are cut off there."""


def loss_of(energies: Tensor, right: Tensor, unknown: Tensor, drafts: float = 0.0) -> Tensor:
    """(R,) Of some messages, given which cells would be right; 0 where none is.

    Args:
        energies: (R, C, D) Of C texts that might have been said; the true one is the first.
        right: (R, D)
        unknown: (R, D) Left out.
        drafts: How much it counts which text was said, beside whom it answers.
    """
    energies = energies.masked_fill(unknown[:, None], _NOT)
    good = energies[:, 0].masked_fill(~right, _NOT).logsumexp(dim=1)
    loss = energies[:, 0].logsumexp(dim=1) - good
    if energies.shape[1] > 1:
        loss = (1 - drafts) * loss + drafts * (energies.flatten(1).logsumexp(dim=1) - good)
    return loss * right.any(dim=1)


def rate(step: int, steps: int, warm_up: int) -> float:
    """The learning rate of a step, as a share of the largest: up, then down to almost nothing."""
    return max(min(1.0, step / warm_up) * (1 - step / steps), 0.01)


def descend(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_at: Callable[[np.random.Generator], Tensor],
    *,
    steps: int,
    warm_up: int,
    seed: int,
    identity: dict[str, Any],
    checkpoint: Path | None,
    progress: Callable[[int, float], None],
) -> None:
    """Train a module, from a checkpoint on if there is one. What a step draws depends on its number alone.

    Args:
        module: What is trained.
        optimizer: Its groups have the largest learning rates, which are reached after the warm-up.
        loss_at: Draws what a step learns from, and gives its loss.
        steps: How many.
        warm_up: Of these.
        seed: For all that is random.
        identity: What a checkpoint must be of.
        checkpoint: A file to go on from, written every now and then.
        progress: Called after each step, with its loss.
    """
    largest = [group["lr"] for group in optimizer.param_groups]
    first = 0
    if checkpoint is not None and checkpoint.exists():
        first = load_checkpoint(checkpoint, module, optimizer, identity)[0].batch
    for step in range(first, steps):
        torch.manual_seed(seed * 1_000_003 + step)
        for group, most in zip(optimizer.param_groups, largest, strict=True):
            group["lr"] = most * rate(step, steps, warm_up)
        loss = loss_at(np.random.default_rng([seed, step]))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(module.parameters(), _STEEPEST)
        optimizer.step()
        progress(step, float(loss.detach()))
        if checkpoint is not None and (step + 1) % KEEP_EVERY == 0:
            save_checkpoint(checkpoint, module, optimizer, {}, Progress(batch=step + 1), identity)
