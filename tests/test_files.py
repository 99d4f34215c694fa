"""Nothing is ever left half-written; archives are read as they are."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.killed import NEW, OLD, THINGS, found, killed_everywhere, written_in
from towhom.files import DAMAGED, atomic_file, atomic_folder, decompressed


class Stop(BaseException):
    """Like a keyboard interrupt: no `except Exception` catches it."""


def half_a_file(path: Path, error: type[BaseException]) -> None:
    with atomic_file(path) as file:
        file.write(b"half")
        raise error


def half_a_folder(path: Path, error: type[BaseException]) -> None:
    with atomic_folder(path) as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("half")
        raise error


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def ended_process() -> int:
    """The number of a process that runs no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


class TestFile:
    def test_bytes(self, tmp_path: Path) -> None:
        with atomic_file(tmp_path / "new" / "file") as file:
            file.write(b"one\r\n")
            assert not (tmp_path / "new" / "file").exists()
        assert (tmp_path / "new" / "file").read_bytes() == b"one\r\n"
        assert names(tmp_path / "new") == ["file"]

    def test_text_is_utf_8_with_plain_line_ends(self, tmp_path: Path) -> None:
        with atomic_file(tmp_path / "file", "w") as file:
            file.write("ça\n")
        assert (tmp_path / "file").read_bytes() == b"\xc3\xa7a\n"

    @pytest.mark.parametrize("error", [ValueError, Stop])
    def test_a_failure_leaves_nothing(self, tmp_path: Path, error: type[BaseException]) -> None:
        with pytest.raises(error):
            half_a_file(tmp_path / "file", error)
        assert names(tmp_path) == []

    def test_or_what_was_there(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("old")
        with pytest.raises(Stop):
            half_a_file(tmp_path / "file", Stop)
        assert (tmp_path / "file").read_text() == "old"
        with atomic_file(tmp_path / "file", "w") as file:
            file.write("new")
        assert (tmp_path / "file").read_text() == "new"
        assert names(tmp_path) == ["file"]

    def test_rights_are_those_of_any_new_file(self, tmp_path: Path, umask: int) -> None:
        with atomic_file(tmp_path / "file"):
            pass
        assert rights(tmp_path / "file") == 0o666 & ~umask
        assert os.umask(umask) == umask


class TestFolder:
    def test_it_appears_when_it_is_complete(self, tmp_path: Path) -> None:
        with atomic_folder(tmp_path / "new" / "folder") as folder:
            (folder / "file").write_text("content")
            assert not (tmp_path / "new" / "folder").exists()
            assert folder.parent == tmp_path / "new"  # a rename across disks is none
        assert names(tmp_path / "new") == ["folder"]
        assert (tmp_path / "new" / "folder" / "file").read_text() == "content"

    @pytest.mark.parametrize("error", [ValueError, Stop])
    def test_a_failure_leaves_nothing(self, tmp_path: Path, error: type[BaseException]) -> None:
        with pytest.raises(error):
            half_a_folder(tmp_path / "folder", error)
        assert names(tmp_path) == []

    def test_an_old_folder_stays_until_the_change(self, tmp_path: Path) -> None:
        target = tmp_path / "folder"
        target.mkdir()
        (target / "old").write_text("old")
        with pytest.raises(Stop):
            half_a_folder(target, Stop)
        assert names(target) == ["old"]
        with atomic_folder(target) as folder:
            (folder / "new").write_text("new")
            assert names(target) == ["old"]
        assert names(target) == ["new"]
        assert names(tmp_path) == ["folder"]

    def test_rights_are_those_of_any_new_folder(self, tmp_path: Path, umask: int) -> None:
        with atomic_folder(tmp_path / "folder"):
            pass
        assert rights(tmp_path / "folder") == 0o777 & ~umask

    def test_what_dead_processes_left_is_removed(self, tmp_path: Path, ended_process: int) -> None:
        for suffix in (f"{ended_process}", f"{ended_process}-old", "99999999999999999999", "nonsense"):
            left_over = tmp_path / f".folder.building-{suffix}"
            left_over.mkdir()
            (left_over / "file").write_text("half")
        with atomic_folder(tmp_path / "folder"):
            pass
        assert names(tmp_path) == ["folder"]

    def test_a_dead_process_may_have_had_our_number(self, tmp_path: Path) -> None:
        """In a container every run may be process 7."""
        (tmp_path / f".folder.building-{os.getpid()}").mkdir()
        with atomic_folder(tmp_path / "folder"):
            pass
        assert (tmp_path / "folder").is_dir()

    def test_what_living_ones_or_others_write_is_kept(self, tmp_path: Path, ended_process: int) -> None:
        kept = [
            f".folder.building-{os.getppid()}",
            f".folder2.building-{ended_process}",
            f".other.building-{ended_process}",
        ]
        for name in kept:
            (tmp_path / name).mkdir()
        with atomic_folder(tmp_path / "folder"):
            pass
        assert names(tmp_path) == sorted([*kept, "folder"])

    def test_what_was_moved_aside_is_put_back(self, tmp_path: Path, ended_process: int) -> None:
        """Even if the next run fails."""
        aside = tmp_path / f".folder.building-{ended_process}-old"
        aside.mkdir()
        (aside / "old").write_text("old")
        (tmp_path / f".folder.building-{ended_process}").mkdir()
        with pytest.raises(Stop):
            half_a_folder(tmp_path / "folder", Stop)
        assert (tmp_path / "folder" / "old").read_text() == "old"
        assert names(tmp_path) == ["folder"]

    @pytest.mark.parametrize("name", ["a[b]c", "*", "?x"])
    def test_names_that_are_patterns(self, tmp_path: Path, ended_process: int, name: str) -> None:
        for left_over in (name, "abc", "x"):
            (tmp_path / f".{left_over}.building-{ended_process}").mkdir()
        with atomic_folder(tmp_path / name):
            pass
        assert names(tmp_path) == sorted(
            [name, f".abc.building-{ended_process}", f".x.building-{ended_process}"]
        )

    @pytest.mark.parametrize("kind", ["file", "link"])
    def test_what_is_no_folder_is_kept(self, tmp_path: Path, kind: str) -> None:
        (tmp_path / "there").mkdir()
        if kind == "file":
            (tmp_path / "folder").write_text("kept")
        else:
            (tmp_path / "folder").symlink_to(tmp_path / "there")
        before = (tmp_path / "folder").lstat()
        with pytest.raises(NotADirectoryError, match="is not a folder"), atomic_folder(tmp_path / "folder"):
            pass
        assert (tmp_path / "folder").lstat() == before
        assert names(tmp_path) == ["folder", "there"]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", ["folder", "folder in two steps"])
def test_killed_at_any_moment(tmp_path: Path, name: str, there: bool) -> None:
    """A reader finds the old folder or the new one, whole; the next run mends what there is to mend."""
    last = killed_everywhere(name, tmp_path, there=there)
    assert last > 10
    old = {OLD} if there else {None}
    between = {None} if name == "folder in two steps" else set()
    seen = set()
    for step in range(last + 1):
        path = tmp_path / str(step) / "thing"
        seen.add(found(name, path))
        assert found(name, path) in old | {NEW} | between, f"killed at step {step}"
        with pytest.raises(Stop):
            half_a_folder(path, Stop)
        assert found(name, path) in old | {NEW}, f"killed at step {step}, and begun again"
        with atomic_folder(path) as folder:
            (folder / "next").write_text("next")
        assert names(path.parent) == ["thing"]
        assert names(path) == ["next"]
    assert seen == old | {NEW} | (between if there else set())


@pytest.mark.parametrize("name", ["model", "session", "record"])
def test_what_is_written_is_killed_at_any_moment(tmp_path: Path, name: str) -> None:
    last = killed_everywhere(name, tmp_path, there=True)
    assert {found(name, tmp_path / str(step) / "thing") for step in range(last + 1)} == {OLD, NEW}


@pytest.mark.parametrize("name", ["model", "session", "record"])
def test_a_full_disk(tmp_path: Path, name: str) -> None:
    path = tmp_path / "there" / "thing"
    THINGS[name].write(path, OLD)
    assert written_in(name, path, 500) == f"[Errno 27] File too large: {str(path)!r}"
    assert found(name, path) == OLD
    assert names(path.parent) == ["first", "thing"]


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "plain": bytes,
}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("content", [b"", b"a", b"one\ntwo\n" * 100_000], ids=["empty", "short", "long"])
def test_archives_are_known_by_their_first_bytes(tmp_path: Path, packer: str, content: bytes) -> None:
    path = tmp_path / "no-suffix"
    path.write_bytes(PACKERS[packer](content))
    with path.open("rb") as file, decompressed(file) as unpacked:
        assert unpacked.read() == content
    with decompressed(io.BytesIO(path.read_bytes())) as unpacked:  # no file at all
        assert list(unpacked) == content.splitlines(keepends=True)


def test_a_suffix_decides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(b"[10:00] <ada> this was never packed\n")
    with path.open("rb") as file, decompressed(file) as unpacked:
        assert unpacked.read() == path.read_bytes()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_joined_archives_are_read_to_their_end(pack: Callable[[bytes], bytes]) -> None:
    both = pack(b"one\n") + pack(b"two\n") + pack(b"") + pack(b"three\n" * 100_000)
    with decompressed(io.BytesIO(both)) as unpacked:
        assert unpacked.read() == b"one\ntwo\n" + b"three\n" * 100_000


def test_xz_with_zeros_between_and_after() -> None:
    padded = lzma.compress(b"one\n") + bytes(4 * 200_000) + lzma.compress(b"two\n") + bytes(8)
    with decompressed(io.BytesIO(padded)) as unpacked:
        assert unpacked.read() == b"one\ntwo\n"


def test_xz_cut_or_with_rubbish_at_its_end() -> None:
    packed = lzma.compress(b"one\n" * 1000)
    for wrong in (packed[:-5], packed[:20], packed + b"rubbish"):
        with decompressed(io.BytesIO(wrong)) as unpacked, pytest.raises(DAMAGED):
            unpacked.read()


def test_xz_that_asks_for_too_much_memory() -> None:
    """A dictionary of more than a gigabyte, which no chat needs."""
    packed = bytearray(lzma.compress(b"one\n", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]))
    where = packed.index(b"\x21\x01", 12) + 2  # the filter, the length of its settings, the dictionary
    packed[where] = 39  # 3 GB
    size = (packed[12] + 1) * 4
    packed[12 + size - 4 : 12 + size] = zlib.crc32(packed[12 : 12 + size - 4]).to_bytes(4, "little")
    with decompressed(io.BytesIO(bytes(packed))) as unpacked, pytest.raises(DAMAGED, match="limit"):
        unpacked.read()
