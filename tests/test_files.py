from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from towhom.files import DAMAGED, atomic_file, atomic_folder, decompressed


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_compressed_streams_are_unpacked(pack: Callable[[bytes], bytes]) -> None:
    raw = io.BytesIO(pack(b"line\n" * 1000))
    with decompressed(raw) as stream:
        assert list(stream) == [b"line\n"] * 1000
    assert raw.closed


def test_damaged_archives_raise_what_is_caught() -> None:
    for packed in (
        gzip.compress(b"x" * 99)[:-9],
        lzma.compress(b"x" * 99)[:-9],
        bz2.compress(b"x" * 99)[:-9],
    ):
        with pytest.raises((*DAMAGED, OSError)), decompressed(io.BytesIO(packed)) as stream:
            stream.read()


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with atomic_file(path, "w") as file:
        file.write("één\r\n\n")
        assert not path.exists()
    assert path.read_bytes() == "één\r\n\n".encode()
    assert names(path.parent) == ["file.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_file_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_file(path) as file:
        file.write(b"%d" % (1 // 0))
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    for content in ("one", "two"):
        with atomic_folder(path) as folder:
            (folder / content).write_text(content)
        assert names(path) == [content]
    assert names(tmp_path) == ["corpus"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    path.mkdir()
    with pytest.raises(FileNotFoundError), atomic_folder(path) as folder:
        (folder / "no" / "such" / "folder").touch()
    assert names(tmp_path) == ["corpus"]
    assert names(path) == []


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    for left in (".corpus.building-99999999", ".corpus.building-x", ".corpus.building-99999999-old"):
        (tmp_path / left).mkdir()
    other = tmp_path / f".corpus.building-{os.getppid()}"
    other.mkdir()
    with atomic_folder(tmp_path / "corpus"):
        pass
    assert names(tmp_path) == sorted([other.name, "corpus"])
