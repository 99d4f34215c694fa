"""Columns on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from towhom.corpus import columns
from towhom.corpus.columns import ColumnWriter, OffsetsWriter, Strings, open_column, read_pieces


def written(
    path: Path, pieces: list[NDArray[Any]], dtype: type[np.generic], width: int | None = None
) -> Path:
    with ColumnWriter(path, dtype, width) as column:
        for piece in pieces:
            column.append(piece)
    return path


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 99, 100, 9_999, 10_000, 1_234_567])
def test_the_header_has_room_for_every_size(tmp_path: Path, rows: int) -> None:
    values = np.arange(rows) % 251
    path = written(tmp_path / "column.npy", [values], np.uint8)
    np.save(tmp_path / "numpy.npy", values.astype(np.uint8))
    assert path.read_bytes() == (tmp_path / "numpy.npy").read_bytes()


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("width", [None, 2, 10, 255])
@pytest.mark.parametrize("sizes", [[], [0], [1], [3, 0, 5], [1] * 20, [200]])
def test_pieces_make_one_array(
    tmp_path: Path, dtype: type[np.generic], width: int | None, sizes: list[int]
) -> None:
    numbers = np.random.default_rng(0)
    shape = () if width is None else (width,)
    pieces = [numbers.integers(0, 200, (size, *shape)) for size in sizes]
    array = open_column(written(tmp_path / "column.npy", pieces, dtype, width))
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, np.concatenate([np.zeros((0, *shape), int), *pieces]))


def test_a_column_is_mapped_not_read(tmp_path: Path) -> None:
    array = open_column(written(tmp_path / "column.npy", [np.arange(5)], np.int64))
    assert isinstance(array, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.uint8, 256),
        (np.uint8, -1),
        (np.uint32, 2**32),
        (np.uint32, -1),
        (np.int32, 2**31),
        (np.int32, -(2**31) - 1),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, dtype: type[np.generic], value: int) -> None:
    path = tmp_path / "column.npy"
    with ColumnWriter(path, dtype) as column:
        with pytest.raises(OverflowError, match=f"does not fit into {np.dtype(dtype)}"):
            column.append(np.array([0, value]))
        column.append(np.array([1]))
    assert open_column(path).tolist() == [1]


def test_closing_twice_is_once(tmp_path: Path) -> None:
    column = ColumnWriter(tmp_path / "column.npy", np.int32)
    column.append(np.array([1, 2]))
    column.close()
    before = (tmp_path / "column.npy").read_bytes()
    column.close()
    assert (tmp_path / "column.npy").read_bytes() == before


def test_offsets(tmp_path: Path) -> None:
    with OffsetsWriter(tmp_path / "offsets.npy") as offsets:
        offsets.append_lengths(np.array([3, 0]))
        offsets.append_lengths(np.array([], np.int64))
        offsets.append_lengths(np.array([4]))
    assert open_column(tmp_path / "offsets.npy").tolist() == [0, 3, 3, 7]


@pytest.mark.parametrize("width", [None, 3])
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 50])
@pytest.mark.parametrize("piece_bytes", [1, 64, 1 << 20])
def test_pieces_read_are_the_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int | None, rows: int, piece_bytes: int
) -> None:
    monkeypatch.setattr(columns, "_PIECE_BYTES", piece_bytes)
    values = np.arange(rows * (width or 1)).reshape(rows, *([width] if width else []))
    path = written(tmp_path / "column.npy", [values], np.int64, width)
    for start, stop in [(0, None), (0, rows), (rows // 3, rows // 2), (rows, rows)]:
        pieces = list(read_pieces(path, start, stop))
        assert all(piece.nbytes <= max(piece_bytes, 8 * (width or 1)) for piece in pieces)
        np.testing.assert_array_equal(np.concatenate([values[:0], *pieces]), values[start:stop])


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_strings(strings: list[str]) -> None:
    encoded = [string.encode() for string in strings]
    offsets = np.cumsum([0, *map(len, encoded)])
    column = Strings(np.frombuffer(b"".join(encoded), np.uint8), offsets)
    assert len(column) == len(strings)
    assert list(column) == strings
    assert [column[index] for index in range(len(column))] == strings
    for start in range(len(strings) + 1):
        assert column.slice(start, len(strings)) == strings[start:]
        assert column.slice(0, start) == strings[:start]


def test_iterating_over_many_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_PIECE_STRINGS", 4)
    for count in range(13):
        column = Strings(np.arange(65, 65 + count, dtype=np.uint8), np.arange(count + 1))
        assert "".join(column) == "ABCDEFGHIJKLMN"[:count]


@pytest.mark.parametrize("index", [-1, 2, 100])
def test_there_is_no_such_string(index: int) -> None:
    names = Strings(np.frombuffer(b"adabob", np.uint8), np.array([0, 3, 6]))
    with pytest.raises(IndexError, match=f"there are 2 strings, no number {index}"):
        names[index]
