"""Columns on disk: plain `.npy` files that are written piece by piece and read through memory mapping.

Why not Arrow: training indexes these arrays millions of times a second, and a mapped `.npy` file is already
an array; opening one needs only NumPy, and its bytes depend only on its content. For all other uses,
`towhom corpus export` writes Parquet.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

_PIECE_BYTES = 1 << 22
_PIECE_STRINGS = 1 << 12


class ColumnWriter:
    """Appends to a `.npy` file; the shape is written into the header at the end."""

    def __init__(self, path: Path, dtype: DTypeLike, width: int | None = None) -> None:
        self.dtype = np.dtype(dtype)
        self.rows = 0
        self._width = width
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: NDArray[Any]) -> None:
        """Append rows.

        Raises:
            OverflowError: A value does not fit the column's type.
        """
        if values.dtype != self.dtype and len(values):
            limits = np.iinfo(self.dtype)
            if values.min() < limits.min or values.max() > limits.max:
                raise OverflowError(f"a value does not fit into {self.dtype}")
        self._file.write(np.ascontiguousarray(values, self.dtype).data)
        self.rows += len(values)

    def append_bytes(self, values: bytes) -> None:
        """Append rows to a column of bytes."""
        self._file.write(values)
        self.rows += len(values)

    def close(self) -> None:
        """Rewrite the header with the final number of rows, and close the file."""
        if not self._file.closed:
            self._file.seek(0)
            self._write_header()
            self._file.close()

    def _write_header(self) -> None:
        # NumPy leaves room in the header for the first dimension to grow.
        shape = (self.rows,) if self._width is None else (self.rows, self._width)
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(self._file, header)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class OffsetsWriter(ColumnWriter):
    """Writes the offsets of consecutive pieces: one more entry than there are pieces."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, np.int64)
        self.end = 0
        self.append(np.zeros(1, np.int64))

    def append_lengths(self, lengths: NDArray[np.int64]) -> None:
        """Append pieces of these lengths."""
        if len(lengths):
            ends = self.end + np.cumsum(lengths)
            self.end = int(ends[-1])
            self.append(ends)


def open_column(path: Path) -> NDArray[Any]:
    """Open a column as a memory map: its pages are read when they are used."""
    header_only = path.stat().st_size <= 128
    # An empty file cannot be mapped.
    array: NDArray[Any] = np.load(path, mmap_mode=None if header_only else "r", allow_pickle=False)
    return array


def read_pieces(path: Path, start: int = 0, stop: int | None = None) -> Iterator[NDArray[Any]]:
    """Yield a column's rows in pieces that are read, not mapped, to go over all of it in little memory."""
    column = open_column(path)
    per_row = column.dtype.itemsize * (column.shape[1] if column.ndim > 1 else 1)
    stop = len(column) if stop is None else stop
    first = path.stat().st_size - len(column) * per_row
    rows = max(1, _PIECE_BYTES // per_row)
    with path.open("rb") as file:
        file.seek(first + start * per_row)
        for begin in range(start, stop, rows):
            values = np.fromfile(
                file, column.dtype, min(rows, stop - begin) * per_row // column.dtype.itemsize
            )
            yield values.reshape(-1, *column.shape[1:])


class Strings:
    """Many strings stored in two columns: their bytes, and the offset of each.

    >>> names = Strings(np.frombuffer(b"adabob", np.uint8), np.array([0, 3, 6]))
    >>> names[1], len(names), list(names)
    ('bob', 2, ['ada', 'bob'])
    """

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._data = data
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(f"there are {len(self)} strings, no number {index}")
        return self._data[self._offsets[index] : self._offsets[index + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _PIECE_STRINGS):
            yield from self.slice(start, min(start + _PIECE_STRINGS, len(self)))

    def slice(self, start: int, stop: int) -> list[str]:
        """The strings from `start` to before `stop`."""
        offsets = self._offsets[start : stop + 1].tolist()
        data = self._data[offsets[0] : offsets[-1]].tobytes()
        base = offsets[0]
        return [data[a - base : b - base].decode() for a, b in pairwise(offsets)]
