"""Files as bytes: reads compressed files, and writes files and folders completely or not at all."""

from __future__ import annotations

import bz2
import ctypes
import gzip
import io
import lzma
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from errno import EDQUOT, EFBIG, EINVAL, ENOSPC, ENOSYS, ENOTDIR, ENOTSUP, EPERM
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zipfile.BadZipFile, zipfile.LargeZipFile)
"""Errors raised while reading a truncated or damaged archive."""

_BUFFER = 1 << 18
_XZ_MEMORY = 256 << 20
"""Bytes of memory that unpacking may use. `xz -9` needs 65 MB; an archive can ask for 4 GB."""
_ASIDE = "-old"
"""Suffix of the temporary name of a folder that is being replaced."""
_NO_ROOM = (ENOSPC, EDQUOT, EFBIG)
"""Error numbers of a full disk, a quota, a limit on files."""
_HERE, _RENAME_EXCHANGE = -100, 2
"""AT_FDCWD and a flag of renameat2, by their numbers in Linux."""


def decompressed(stream: BinaryIO) -> BinaryIO:
    """The stream's content, unpacked if it is gzip, xz or bzip2. The first bytes decide, not the name."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream, _BUFFER)  # type: ignore[type-var]
    start = buffered.peek(8)[:8]
    for magic, unpacked in _MAGIC.items():
        if start.startswith(magic):
            # With our own buffer around it, iterating over lines runs in C.
            return _Unpacked(unpacked(buffered), buffered)
    return buffered


def decompressed_lzma(stream: BinaryIO, header: bytes) -> BinaryIO:
    """The content of an LZMA stream whose header is stored elsewhere, as in a zip archive."""
    return _Unpacked(_Xz(stream, header), stream)


class _Xz(io.RawIOBase):
    """The content of consecutive xz streams, with a limit on memory, which `lzma.open` does not have.

    Args:
        archive: The streams.
        header: Bytes to read before them.
    """

    def __init__(self, archive: BinaryIO, header: bytes = b"") -> None:
        self._archive = archive
        self._stream = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        self._header = header
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any, /) -> int:
        content = b""
        while not content:
            packed = b""
            if self._stream.eof:
                packed = self._next_stream()
                if not packed:
                    return 0
                self._stream = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
            elif self._stream.needs_input:
                packed, self._header = self._header or self._archive.read(_BUFFER), b""
                if not packed:
                    raise EOFError("it ends before its content does")
            content = self._stream.decompress(packed, len(into))
        into[: len(content)] = content
        self._given += len(content)
        return len(content)

    def tell(self) -> int:
        return self._given

    def _next_stream(self) -> bytes:
        """The first bytes of the next stream; zeros may come between."""
        packed = self._stream.unused_data.lstrip(b"\0")
        while not packed:
            more = self._archive.read(_BUFFER)
            if not more:
                break
            packed = more.lstrip(b"\0")
        return packed


_MAGIC: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": partial(gzip.open, mode="rb"),
    b"\xfd7zXZ\x00": _Xz,
    b"BZh": partial(bz2.open, mode="rb"),
}


class _Unpacked(io.BufferedReader):
    """The content of an archive. Closing it closes the archive, too, unlike in the standard library."""

    def __init__(self, content: Any, archive: BinaryIO) -> None:
        super().__init__(content, _BUFFER)
        self._archive = archive

    def close(self) -> None:
        super().close()
        self._archive.close()


@contextmanager
def atomic_file(path: Path, mode: str = "wb", *, private: bool = False) -> Iterator[IO[Any]]:
    """Write a file under a temporary name beside it, and rename it when it is complete.

    Args:
        path: The final path.
        mode: As for `open`.
        private: Whether only the user may read it, whatever the umask is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        encoding = None if "b" in mode else "utf-8"
        newline = None if "b" in mode else "\n"
        with os.fdopen(descriptor, mode, encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not private:
            # mkstemp makes files private; the result gets the usual permissions of a new file.
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        _name(path, error)
        raise


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Fill a folder under a temporary name beside it, and rename it when it is complete.

    Leftovers of killed runs are removed. An existing folder at `path` is replaced, in one step if the system
    can exchange two names. If it cannot, a run that is killed in that moment leaves both folders beside
    `path`, and the next run begins by putting the old one back.

    Raises:
        NotADirectoryError: There is something other than a folder at `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and (path.is_symlink() or not path.is_dir()):
        raise NotADirectoryError(ENOTDIR, "is not a folder, and will not be replaced by one", str(path))
    _tidy(path)
    temporary = path.parent / f"{_prefix(path)}{os.getpid()}"
    temporary.mkdir()
    try:
        yield temporary
        _sync(temporary)
        if not path.exists():
            temporary.rename(path)
        elif not _exchange(temporary, path):
            _replace(temporary, path)
        _sync(path.parent, deep=False)
    except OSError as error:
        _name(path, error)
        raise
    finally:  # it holds what is incomplete, or what was replaced
        shutil.rmtree(temporary, ignore_errors=True)


def _name(path: Path, error: BaseException) -> None:
    """Add the path to an error of a full disk, since the system does not name it."""
    if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
        error.filename = str(path)


def _prefix(path: Path) -> str:
    return f".{path.name}.building-"


def _tidy(path: Path) -> None:
    """Remove leftovers of killed processes. A folder moved aside is put back if nothing replaced it."""
    prefix = _prefix(path)
    for left_over in [each for each in path.parent.iterdir() if each.name.startswith(prefix)]:
        suffix = left_over.name.removeprefix(prefix)
        if _running(suffix):
            continue
        if suffix.endswith(_ASIDE) and not path.exists():
            left_over.rename(path)
        else:
            shutil.rmtree(left_over, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; returns False if the system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or an old one
        return False
    if renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in (EINVAL, ENOSYS, ENOTSUP, EPERM):  # the file system has no such thing, or a sandbox
        return False
    raise OSError(error, os.strerror(error), str(other))


def _replace(temporary: Path, path: Path) -> None:
    """Replace a folder by another, in two steps."""
    aside = temporary.with_name(f"{temporary.name}{_ASIDE}")
    path.rename(aside)
    try:
        temporary.rename(path)
    except BaseException:
        if not path.exists():
            aside.rename(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _sync(folder: Path, *, deep: bool = True) -> None:
    """Make sure that a folder and its content survive a loss of power."""
    for path in [*(folder.rglob("*") if deep else ()), folder]:
        with suppress(OSError) if path.is_dir() else nullcontext():  # not every system can do it to folders
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _running(suffix: str) -> bool:
    """Whether the process that made a temporary folder is another one and still runs."""
    process = suffix.split("-")[0]
    if not process.isdecimal() or int(process) == os.getpid():  # in a container every run may have our number
        return False
    with suppress(ProcessLookupError, OverflowError):
        try:
            os.kill(int(process), 0)
        except PermissionError:
            return True
        return True
    return False
