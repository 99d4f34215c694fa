"""Stores arrays that belong together in a folder; each is mapped into memory when it is used."""

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
    """A folder of arrays, with each array as an attribute.

    Args:
        folder: The folder that `write_arrays` wrote.
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
    """Write a folder, completely or not at all.

    Args:
        folder: The folder.
        arrays: The arrays by name.
        texts: The texts of additional JSON files, by their names without `.json`.
    """
    with atomic_folder(folder) as temporary:
        for name, array in arrays.items():
            np.save(temporary / f"{name}.npy", array)
        for name, text in texts.items():
            (temporary / f"{name}.json").write_text(text, "utf-8")


def read_stored(path: Path) -> Any:
    """Read a JSON file that an earlier stage of a run wrote.

    Raises:
        TrainingError: The file cannot be read.
    """
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path}: cannot be read ({error}); remove it to make it again") from error
