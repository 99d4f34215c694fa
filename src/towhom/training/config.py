"""What a training run depends on, besides its data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from towhom.models.configs import FalseAddressee

Schedule = Literal["constant", "linear"]
Drawn = Literal["listed", "document"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How a system is trained. The defaults are what trains best here; docs/log.md says how they were chosen.

    The paper's own settings are in the experiments, by the name of `paper`.

    Args:
        system: A name from the registry.
        settings: Settings of the system, such as its size.
        context: T, messages of context.
        short: Share of the batches that see less of the context, any number of messages: chats begin short.
        unaddressed: Share of the messages that name nobody that an epoch sees beside the samples, others in
            each: what they say is true, whoever it is for.
        candidates: C, candidates of a sample, as dev is measured.
        false: How many false candidates training sees beside the true one, drawn anew each epoch
        drawn: from those of the sample, or from all messages of its document.
        batch: Samples of a batch.
        run: A batch is made of runs of so many consecutive samples, so that their contexts overlap.
        learning_rate: Of Adam.
        schedule: Whether the learning rate stays, or rises for a moment and falls evenly to zero at the end.
        weight_decay: L2, added to the gradient.
        clip: Gradients with a larger norm are scaled down to it.
        false_addressee: Whom the true addressee is told from: the best-scoring other participant, or all.
        epochs: At most.
        patience: Epochs without a better dev ADR-RES before it stops.
        trust: With teachers, the share of the loss that is for saying something else than they; the rest is
            for being wrong.
        seed: For weights, order and false candidates.
        plain: Whether to compute as one would at first: everything padded, nothing shared. It is slow; each
            step agrees with the fast one up to rounding, which grows as training goes on.
    """

    system: str = "sirnn"
    settings: dict[str, Any] = field(default_factory=dict)
    context: int = 15
    short: float = 0.0
    unaddressed: float = 0.0
    candidates: int = 2
    false: int = 1
    drawn: Drawn = "listed"
    batch: int = 128
    run: int = 16
    learning_rate: float = 0.002
    schedule: Schedule = "constant"
    weight_decay: float = 0.0
    clip: float = 5.0
    false_addressee: FalseAddressee = "hardest"
    epochs: int = 30
    patience: int = 3
    trust: float = 0.7
    seed: int = 0
    plain: bool = False

    def described(self) -> dict[str, Any]:
        """The settings as models and checkpoints hold them; two runs with the same ones are the same."""
        settings = asdict(self)
        for name in ("plain", "short", "unaddressed", "false", "drawn", "schedule", "trust"):
            # Models from before there was a choice do not name it.
            if settings[name] == type(self).__dataclass_fields__[name].default:
                del settings[name]
        return settings

    def problems(self) -> list[str]:
        """What is wrong with the settings; nothing if the list is empty."""
        positive = ("context", "batch", "run", "learning_rate", "clip", "epochs", "patience", "false")
        found = [
            f"{name} must be positive, is {getattr(self, name)}"
            for name in positive
            if not getattr(self, name) > 0  # not a number is not positive either
        ]
        if self.candidates < 2:
            found.append(f"candidates must be 2 or more, is {self.candidates}")
        elif self.drawn == "listed" and self.false >= self.candidates:
            found.append(f"of {self.candidates} candidates, {self.false} cannot be false")
        found += [
            f"{name} must be from 0 to 1, is {getattr(self, name)}"
            for name in ("short", "unaddressed", "trust")
            if not 0 <= getattr(self, name) <= 1
        ]
        if self.weight_decay < 0:
            found.append(f"weight_decay must not be negative, is {self.weight_decay}")
        if self.seed < 0:
            found.append(f"seed must not be negative, is {self.seed}")
        if self.run > 0 and self.batch % self.run:
            found.append(f"batch ({self.batch}) must be a multiple of run ({self.run})")
        if self.false_addressee not in ("hardest", "all"):
            found.append(f"false_addressee must be hardest or all, is {self.false_addressee!r}")
        if self.schedule not in ("constant", "linear"):
            found.append(f"schedule must be constant or linear, is {self.schedule!r}")
        if self.unaddressed and self.drawn == "listed":
            found.append("messages that name nobody have no listed candidates; only crosstalk draws others")
        if self.drawn not in ("listed", "document"):
            found.append(f"drawn must be listed or document, is {self.drawn!r}")
        return found
