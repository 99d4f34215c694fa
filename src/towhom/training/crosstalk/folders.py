"""Arrays that belong together, as columns in a folder, mapped into memory when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.corpus.columns import open_column
from towhom.documents import read_json
from towhom.errors import TrainingError
from towhom.files import atomic_folder


class ArrayFolder:
    """Its arrays are its attributes.

    Args:
        folder: What `write_arrays` wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getattr__(self, name: str) -> NDArray[Any]:
        path = self.__dict__["folder"] / f"{name}.npy"
        if name.startswith("_") or not path.exists():
            raise AttributeError(name)
        array = self.__dict__[name] = open_column(path)
        return array


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]], **texts: str) -> None:
    """Write a folder, all of it or nothing.

    Args:
        folder: Where.
        arrays: By name.
        texts: Of files that are there besides, by their name without `.json`.
    """
    with atomic_folder(folder) as temporary:
        for name, array in arrays.items():
            np.save(temporary / f"{name}.npy", array)
        for name, text in texts.items():
            (temporary / f"{name}.json").write_text(text, "utf-8")


def read_stored(path: Path) -> Any:
    """What an earlier stage of a run has written as JSON.

    Raises:
        TrainingError: It cannot be read.
    """
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path}: cannot be read ({error}); remove it to make it again") from error
