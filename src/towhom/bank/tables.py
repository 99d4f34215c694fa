"""Responses as columns, in memory or on disk.

A column is an array with one row per response. Strings and lists of numbers are two arrays: the values, and
the offsets at which those of each response begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from towhom.corpus.columns import Strings
from towhom.errors import BankError
from towhom.files import atomic_file

NO_TIME = np.iinfo(np.int64).min
"""The value for an unknown time."""

TEXTS = ("response", "question", "opening", "document", "channel", "id")
"""The text of the response, with slots for names; the question; the asker's first message of that
conversation, if that is not the question; document, room and identifier."""
LISTS: dict[str, type[np.generic]] = {"tokens": np.int32, "pieces": np.uint32, "asked_pieces": np.uint32}
"""As in `Utterance`: the words of a response, the pieces of its words, and the pieces of the question's."""
FIXED: dict[str, type[np.generic]] = {
    "line": np.int64,
    "thread": np.int64,
    "asked": np.int64,
    "time": np.int64,
    "speaker": np.uint64,
    "speaker_id": np.uint64,
    "asker": np.uint64,
    "asker_id": np.uint64,
    "flags": np.uint16,
    "times": np.int32,
    "scale": np.float32,
    "asked_scale": np.float32,
}
"""The lines of the response, of the start of its thread, and of the question; the time; speaker and asker
(as keys, not names); `FLAGS`; how often it was said; the scale factors of its vectors."""
FLAGS = (
    "asks", "question asks", "anybody", "greets", "answers", "you", "everybody", "command", "thanked",
    "no help",
)  # fmt: skip
VECTORS, ASKED = "vectors", "asked_vectors"
"""(N, D) Vectors in 8 bits: those that are searched, see `heads.Head.found_by`, and of the questions, see
`heads.Head.heard`."""
SCALES = {VECTORS: "scale", ASKED: "asked_scale"}
"""Vectors -> column of the factors by which they are multiplied."""


class Table:
    """A table of responses.

    Args:
        columns: The columns by name; those of `TEXTS` and `LISTS` also have `NAME.offsets`.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self.columns = dict(columns)

    def __len__(self) -> int:
        return len(self.columns["line"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def texts(self, name: str) -> Strings:
        """A column of strings."""
        return Strings(self.columns[name], self.columns[f"{name}.offsets"])

    def numbers(self, name: str, row: int) -> NDArray[Any]:
        """The numbers of one response in a column of lists."""
        start, stop = self.columns[f"{name}.offsets"][row : row + 2].tolist()
        return np.array(self.columns[name][start:stop])

    def lists(self, name: str, rows: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The values of a column of strings or lists at some rows, and their offsets."""
        offsets = self.columns[f"{name}.offsets"]
        starts = offsets[rows]
        lengths = offsets[rows + 1] - starts
        new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.repeat(starts - new[:-1], lengths) + np.arange(new[-1])
        return np.asarray(self.columns[name])[places], new

    def has(self, row: int, flag: str) -> bool:
        """Whether one response has one of `FLAGS`."""
        return bool(int(self.columns["flags"][row]) >> FLAGS.index(flag) & 1)

    def at(self, rows: NDArray[np.int64]) -> Table:
        """A table of some rows, in any order."""
        columns: dict[str, NDArray[Any]] = {
            name: np.asarray(self.columns[name])[rows] for name in (*FIXED, *SCALES)
        }
        for name in (*TEXTS, *LISTS):
            columns[name], columns[f"{name}.offsets"] = self.lists(name, rows)
        return Table(columns)

    def pieces(self, rows: int = 1 << 15) -> Iterator[Table]:
        """All rows, as tables of at most `rows` rows."""
        for start in range(0, len(self), rows):
            yield self.at(np.arange(start, min(start + rows, len(self))))

    def save(self, path: Path) -> None:
        """Write the table to a file, atomically."""
        with atomic_file(path) as file:
            file.write(save({name: np.ascontiguousarray(each) for name, each in self.columns.items()}))

    @classmethod
    def load(cls, path: Path) -> Table:
        """Read a table that `save` wrote.

        Raises:
            BankError: The file cannot be read.
        """
        try:
            table = cls(load_file(path))
            table.check()
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise BankError(f"{path}: the part cannot be read ({error}); remove it and run again") from error
        return table

    def check(self) -> None:
        """Make sure that all columns exist and fit together; their contents are not checked.

        Raises:
            KeyError, ValueError: A column is missing, or does not fit.
        """
        for name, kind in {**FIXED, **dict.fromkeys(SCALES, np.int8)}.items():
            if self.columns[name].dtype != kind or len(self.columns[name]) != len(self):
                raise ValueError(f"the column {name} does not fit the others")
        for name in (*TEXTS, *LISTS):
            values, offsets = self.columns[name], self.columns[f"{name}.offsets"]
            if offsets.shape != (len(self) + 1,) or offsets.dtype != np.int64 or values.ndim != 1:
                raise ValueError(f"the column {name} does not fit the others")
            if offsets[0] != 0 or offsets[-1] != len(values) or values.dtype != LISTS.get(name, np.uint8):
                raise ValueError(f"the column {name} does not have what its offsets say")


def table_of(
    texts: Mapping[str, Sequence[str]],
    lists: Mapping[str, Sequence[NDArray[Any]]],
    fixed: Mapping[str, Sequence[int] | NDArray[Any]],
    vectors: Mapping[str, NDArray[np.float32]],
) -> Table:
    """A table made from columns; `vectors` has the columns of `SCALES`, unquantized."""
    columns: dict[str, NDArray[Any]] = {}
    for name, scale in SCALES.items():
        columns[name], columns[scale] = quantized(vectors[name])
    for name, kind in FIXED.items():
        if name not in columns:
            columns[name] = np.asarray(fixed[name], kind)
    for name in TEXTS:
        encoded = [text.encode("utf-8", "replace") for text in texts[name]]
        columns[name] = np.frombuffer(b"".join(encoded), np.uint8)
        columns[f"{name}.offsets"] = _offsets(encoded)
    for name, kind in LISTS.items():
        columns[name], columns[f"{name}.offsets"] = column_of(lists[name], kind)
    return Table(columns)


def column_of(
    lists: Sequence[NDArray[Any]], kind: type[np.generic]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The values of a column of lists, and their offsets."""
    return np.concatenate([np.empty(0, kind), *lists]).astype(kind), _offsets(lists)


def _offsets(values: Sequence[bytes] | Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, values)], dtype=np.int64)


def quantized(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Vectors in 8 bits, and the factor of each."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    scale = (np.where(largest > 0, largest, 1.0) / 127).astype(np.float32)
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale
