"""The parts that all training stages share: the loss over cells, and the optimization loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from towhom.training.checkpoint import Progress, load_checkpoint, save_checkpoint

KEEP_EVERY = 500
"""Number of steps between checkpoints."""
_NOT = -1e9
"""The energy of impossible cells."""
STEEPEST = 2.0
"""Maximum norm of the gradient; larger ones are scaled down."""


def loss_of(energies: Tensor, right: Tensor, unknown: Tensor, drafts: float = 0.0) -> Tensor:
    """(R,) The loss of some messages, given the right cells; 0 for messages without any.

    Args:
        energies: (R, C, D) The energies of C candidate texts; the true one is the first.
        right: (R, D) The right cells.
        unknown: (R, D) The cells to ignore.
        drafts: Share of the loss that also asks which text was sent; the rest asks for the link alone.
    """
    energies = energies.masked_fill(unknown[:, None], _NOT)
    good = energies[:, 0].masked_fill(~right, _NOT).logsumexp(dim=1)
    loss = energies[:, 0].logsumexp(dim=1) - good
    if energies.shape[1] > 1:
        loss = (1 - drafts) * loss + drafts * (energies.flatten(1).logsumexp(dim=1) - good)
    return loss * right.any(dim=1)


def rate(step: int, steps: int, warm_up: int) -> float:
    """The learning rate of a step, as a share of the maximum: it rises, then falls to 1 percent."""
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
    keep_every: int | None = None,
    steepest: float = STEEPEST,
) -> None:
    """Train a module, from a checkpoint if there is one. A step's random choices depend only on its number.

    Args:
        module: The module to train.
        optimizer: Its groups have the maximum learning rates, which are reached after the warm-up.
        loss_at: Draws the examples of a step and returns their loss.
        steps: Total number of steps.
        warm_up: Number of warm-up steps among them.
        seed: Seed of everything random.
        identity: Settings and data; a checkpoint with other ones is refused.
        checkpoint: A file to continue from, written from time to time.
        progress: Called after each step, with its loss.
        keep_every: Number of steps between checkpoints; `KEEP_EVERY` by default.
        steepest: Maximum norm of the gradient; larger ones are scaled down.
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
        nn.utils.clip_grad_norm_(module.parameters(), steepest)
        optimizer.step()
        progress(step, float(loss.detach()))
        if checkpoint is not None and (step + 1) % (keep_every or KEEP_EVERY) == 0:
            save_checkpoint(checkpoint, module, optimizer, {}, Progress(batch=step + 1), identity)
