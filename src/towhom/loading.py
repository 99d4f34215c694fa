"""`towhom.load`. It imports the model code only when called, so `import towhom` needs no NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from towhom.live import Model


def load(folder: str | Path | None = None) -> Model:
    """Load a model to follow channels with.

    Args:
        folder: A folder that `towhom train-crosstalk` or `train-reader` made; None for the model that comes
            with towhom; `"large"` for the large one, which is a package of its own (`packages/large`).

    Raises:
        MissingExtraError: The package of the large model, or one that it needs, is not installed.
        ModelFormatError: The folder is not a model, or has another version.
    """
    from towhom.live.model import load_live

    return load_live(folder)
