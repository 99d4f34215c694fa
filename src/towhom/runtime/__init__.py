"""Runs trained models with NumPy alone: each neural system, forward only, without torch.

`towhom.models` has the systems for training, with explanations; the modules here have the same names and
give the same results up to rounding (tests/runtime compares them). docs/live.md says why this and
not ONNX Runtime.
"""

from __future__ import annotations

from towhom.models.registry import entry
from towhom.plugins import load_class
from towhom.runtime.base import NumpySelector

__all__ = ["NumpySelector", "runtime_class"]


def runtime_class(system: str) -> type[NumpySelector]:
    """The class that runs a neural system."""
    target = entry(system).runtime
    return load_class(target, NumpySelector, f"the system {system}")  # type: ignore[type-abstract]
