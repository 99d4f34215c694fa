"""The settings of a training run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from towhom.models.configs import FalseAddressee


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Settings for training a system. The defaults gave the best results; see docs/log.md.

    The paper's own settings are in the experiments, under the name `paper`.

    Args:
        system: A name from the registry.
        settings: Settings of the system, such as its size.
        context: T, the number of context messages.
        short: Share of the batches with a shorter context of random length, since chats begin short.
        candidates: C, the number of candidates per sample in evaluation on dev. Training uses the true one
            and one of the others, drawn anew each epoch.
        batch: Number of samples per batch.
        run: A batch is made of runs of so many consecutive samples, so that their contexts overlap.
        learning_rate: Adam's learning rate.
        weight_decay: L2 penalty, added to the gradient.
        clip: Gradients with a larger norm are scaled down to it.
        false_addressee: The false addressees: the best-scoring other participant, or all others.
        epochs: Maximum number of epochs.
        patience: Number of epochs without a better dev ADR-RES before training stops.
        seed: Seed of weights, order and false candidates.
        plain: Whether to use the simple implementation, with padding and without sharing. It is slow; each
            step agrees with the fast one up to rounding, which grows as training goes on.
    """

    system: str = "sirnn"
    settings: dict[str, Any] = field(default_factory=dict)
    context: int = 15
    short: float = 0.0
    candidates: int = 2
    batch: int = 128
    run: int = 16
    learning_rate: float = 0.002
    weight_decay: float = 0.0
    clip: float = 5.0
    false_addressee: FalseAddressee = "hardest"
    epochs: int = 30
    patience: int = 3
    seed: int = 0
    plain: bool = False

    def described(self) -> dict[str, Any]:
        """The settings as stored in models and checkpoints; runs with equal ones are the same run."""
        settings = asdict(self)
        for name in ("plain", "short"):
            # Models from before these settings existed do not have them.
            if settings[name] == type(self).__dataclass_fields__[name].default:
                del settings[name]
        return settings

    def problems(self) -> list[str]:
        """List what is wrong with the settings; empty if nothing is."""
        positive = ("context", "batch", "run", "learning_rate", "clip", "epochs", "patience")
        found = [
            f"{name} must be positive, is {getattr(self, name)}"
            for name in positive
            if not getattr(self, name) > 0  # written so that NaN is refused, too
        ]
        if self.candidates < 2:
            found.append(f"candidates must be 2 or more, is {self.candidates}")
        if not 0 <= self.short <= 1:
            found.append(f"short must be from 0 to 1, is {self.short}")
        if self.weight_decay < 0:
            found.append(f"weight_decay must not be negative, is {self.weight_decay}")
        if self.seed < 0:
            found.append(f"seed must not be negative, is {self.seed}")
        if self.run > 0 and self.batch % self.run:
            found.append(f"batch ({self.batch}) must be a multiple of run ({self.run})")
        if self.false_addressee not in ("hardest", "all"):
            found.append(f"false_addressee must be hardest or all, is {self.false_addressee!r}")
        return found
