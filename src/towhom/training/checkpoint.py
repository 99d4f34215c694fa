"""The state of a training run in one file, written atomically, so that a killed run can continue."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from towhom.documents import parse_json
from towhom.errors import TowhomError
from towhom.files import atomic_file


@dataclass
class Progress:
    """The progress of a run.

    Args:
        epoch: The current epoch, from 0.
        batch: Its next batch.
        best: The best dev ADR-RES so far.
        best_epoch: The epoch in which it was reached; -1 before the first.
        history: The measurements after each epoch.
        loss: Sum of the losses of the batches of this epoch.
        seconds: Time spent training.
        samples: Number of samples trained on.
    """

    epoch: int = 0
    batch: int = 0
    best: float = -1.0
    best_epoch: int = -1
    history: list[dict[str, Any]] = field(default_factory=list)
    loss: float = 0.0
    seconds: float = 0.0
    samples: int = 0


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    best: dict[str, Tensor],
    progress: Progress,
    identity: dict[str, Any],
) -> None:
    """Write everything that the run needs to continue."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in best.items()}
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in state.items()}
    # Copied, since shared units of a system are one tensor under two names, which the format refuses.
    copies = {
        name: value.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, value in tensors.items()
    }
    metadata = {"progress": json.dumps(asdict(progress)), "identity": json.dumps(identity, sort_keys=True)}
    with atomic_file(path) as file:
        file.write(save(copies, metadata))


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, identity: dict[str, Any]
) -> tuple[Progress, dict[str, Tensor]]:
    """Restore model and optimizer from a checkpoint; returns the progress and the weights of the best epoch.

    Raises:
        TowhomError: The file is damaged, or belongs to a run with other data or settings.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (SafetensorError, OSError) as error:
        raise TowhomError(
            f"{path}: the checkpoint cannot be read ({error}); remove it to start again"
        ) from error
    if not {"identity", "progress"} <= metadata.keys():
        raise TowhomError(f"{path}: this is not the checkpoint of a training run; choose another folder")
    ours = json.loads(json.dumps(identity, sort_keys=True))
    try:
        theirs, progress = parse_json(metadata["identity"]), Progress(**parse_json(metadata["progress"]))
        other = sorted(key for key in {*theirs, *ours} if theirs.get(key) != ours.get(key))
    except (ValueError, TypeError, AttributeError) as error:
        raise TowhomError(
            f"{path}: the checkpoint cannot be read ({error}); remove it to start again"
        ) from error
    if other:
        raise TowhomError(
            f"{path}: this is the checkpoint of a run with other {', '.join(other)}; "
            "choose another folder, or remove it to start again"
        )
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
    for name, tensor in tensors.items():
        group, _, rest = name.partition(".")
        groups[group][rest] = tensor
    model.load_state_dict(groups["model"])
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in groups["optimizer"].items():
        number, _, rest = name.partition(".")
        state.setdefault(int(number), {})[rest] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    return progress, groups["best"]
