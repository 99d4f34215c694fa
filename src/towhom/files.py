"""Files as bytes: compressed ones are read as they are, and nothing is ever left half-written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zipfile.BadZipFile, zipfile.LargeZipFile)
"""What a truncated or damaged archive raises while it is read."""

_BUFFER = 1 << 18
_MAGIC: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"BZh": bz2.open,
}


def decompressed(stream: BinaryIO) -> BinaryIO:
    """The stream's content, unpacked if it is gzip, xz or bzip2. The first bytes decide, not the name."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream, _BUFFER)  # type: ignore[type-var]
    start = buffered.peek(8)[:8]
    for magic, opener in _MAGIC.items():
        if start.startswith(magic):
            # Around the unpacking, a buffer of our own: iterating over its lines runs in C.
            return _Unpacked(opener(buffered, "rb"), buffered)
    return buffered


class _Unpacked(io.BufferedReader):
    """The content of an archive, which closes the archive too: the standard library leaves that open."""

    def __init__(self, content: Any, archive: BinaryIO) -> None:
        super().__init__(content, _BUFFER)
        self._archive = archive

    def close(self) -> None:
        super().close()
        self._archive.close()


@contextmanager
def atomic_file(path: Path, mode: str = "wb", *, private: bool = False) -> Iterator[IO[Any]]:
    """Write a file under a temporary name beside it and rename it when all went well.

    Args:
        path: What it is to be.
        mode: As for `open`.
        private: Whether it is for the user alone, whatever other new files are.
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
            # mkstemp makes files private; the result gets the rights any new file would have.
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Fill a folder under a temporary name beside it; it takes its name when it is complete.

    What an earlier run left behind when it was killed is removed. A folder that stands at `path` is
    replaced, and is there until the moment of the change.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{path.name}.building-"
    for left_over in path.parent.glob(f"{prefix}*"):
        if not _running(left_over.name.removeprefix(prefix)):
            shutil.rmtree(left_over, ignore_errors=True)
    temporary = path.parent / f"{prefix}{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)  # of a process that had our number before us
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            aside = path.parent / f"{prefix}{os.getpid()}-old"
            path.rename(aside)
            try:
                temporary.rename(path)
            except OSError:
                aside.rename(path)
                raise
            shutil.rmtree(aside)
        else:
            temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _running(suffix: str) -> bool:
    """Whether the process that made a temporary folder still runs."""
    process = suffix.split("-")[0]
    if not process.isdigit():
        return False
    with suppress(ProcessLookupError, OverflowError):
        try:
            os.kill(int(process), 0)
        except PermissionError:
            return True
        return True
    return False
