"""Running a trained model with NumPy alone: each neural system again, forward only, without torch.

`towhom.models` is where the systems are trained and explained; the modules here have the same names and
answer the same, to rounding (tests/runtime compares them). docs/live.md says why this and not ONNX Runtime.
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
