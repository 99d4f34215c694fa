"""Files and folders on this machine or at addresses (`s3://`, `gs://`, `hdfs://`, `memory://`), by fsspec."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from towhom.errors import TowhomError
from towhom.extras import require
from towhom.files import atomic_file

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_LOCAL = "file"
_WHOLE = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "memory"})
"""Stores that write an object completely or not at all, so that no temporary name is needed."""
_WRITING = ".writing-"
"""Part of the temporary name of a file, in other stores."""


def is_address(text: str) -> bool:
    """Whether a text is an address like `s3://bucket/chat.jsonl`, not a path.

    >>> is_address("s3://bucket/chat.jsonl"), is_address("chats/2024.jsonl")
    (True, False)
    """
    return _ADDRESS.match(text) is not None


@dataclass(frozen=True, order=True)
class Place:
    """The name of a file or a folder, local or at an address. It can be sent to other processes.

    Args:
        name: A path or an address, as the user wrote it.
    """

    name: str

    def __truediv__(self, inner: str) -> Place:
        """A place below this one."""
        return Place(f"{self.name.rstrip('/')}/{inner}")

    def __str__(self) -> str:
        return self.name

    @property
    def local(self) -> bool:
        """Whether it is on this machine's disks."""
        return not is_address(self.name) or self.name.startswith(f"{_LOCAL}://")

    @property
    def path(self) -> Path:
        """The path, if it is local."""
        return Path(self.name.removeprefix(f"{_LOCAL}://"))

    def absolute(self) -> Place:
        """The same place, independent of the working directory."""
        return self if is_address(self.name) else Place(str(self.path.absolute()))

    def is_folder(self) -> bool:
        """Whether there is a folder of this name."""
        return bool(self._call("isdir"))

    def exists(self) -> bool:
        """Whether there is a file or folder of this name."""
        return bool(self._call("exists"))

    def files(self, *, deep: bool = False) -> list[tuple[Place, int]]:
        """The files in a folder with their sizes, sorted by name; none if there is no folder.

        Args:
            deep: Whether to include files in folders below.
        """
        try:
            found = self._call("find", maxdepth=None if deep else 1, detail=True)
        except FileNotFoundError:
            return []
        return self._named(found)

    def matching(self) -> list[tuple[Place, int]]:
        """The files that match the name, which has `*`, `?` or `[` in it, with their sizes."""
        found = self._call("glob", detail=True)
        return self._named({path: told for path, told in found.items() if told["type"] == "file"})

    def size(self) -> int:
        """Size of the file in bytes."""
        return int(self._call("info")["size"] or 0)

    def open(self) -> BinaryIO:
        """Open a file for reading."""
        opened: BinaryIO = self._call("open", mode="rb")
        return opened

    def read(self) -> bytes:
        """The content of the file."""
        content: bytes = self._call("cat_file")
        return content

    def write(self, content: bytes) -> None:
        """Write the file completely or not at all; an existing file is replaced."""
        if self.local:
            with atomic_file(self.path) as file:
                file.write(content)
        elif self.name.partition("://")[0] in _WHOLE:
            self._call("pipe_file", content)
        else:
            folder, _, last = self.name.rpartition("/")
            Place(folder)._call("makedirs", exist_ok=True)
            temporary = Place(f"{folder}/.{last}{_WRITING}{uuid4().hex}")
            temporary._call("pipe_file", content)
            system, path = temporary._system()
            system.mv(path, self._system()[1])

    def remove(self) -> None:
        """Remove a file, or a folder with its content; nothing happens if there is none."""
        try:
            self._call("rm", recursive=True)
        except FileNotFoundError:
            return

    def read_all(self, names: list[str]) -> Iterator[bytes]:
        """The contents of several files of a folder, in order; read together if the store supports it."""
        if not names:
            return
        system, path = self._system()
        paths = [f"{path.rstrip('/')}/{name}" for name in names]
        content = system.cat(paths)
        yield from (content[path] for path in paths)

    def _named(self, found: dict[str, Any]) -> list[tuple[Place, int]]:
        """Files with names as the user would write them, and sizes."""
        system, _ = self._system()
        address = is_address(self.name)
        relative = not address and not self.path.is_absolute()
        named = []
        for path, told in sorted(found.items()):
            name = system.unstrip_protocol(path) if address else os.path.relpath(path) if relative else path
            named.append((Place(name), int(told["size"] or 0)))
        return named

    def _system(self) -> tuple[Any, str]:
        """The file system, and the name of this place in it.

        Raises:
            TowhomError: There is no such file system, or its package is not installed.
        """
        core = require("fsspec.core", extra="cluster", purpose="reading and writing at addresses")
        try:
            system, path = core.url_to_fs(self.name)
        except (ImportError, ValueError) as error:  # "Install s3fs to access S3", "Protocol not known: x"
            raise TowhomError(f"{self.name}: {error}") from error
        return system, str(path)

    def _call(self, method: str, *values: Any, **arguments: Any) -> Any:
        """Call a method of the file system; errors get the name of the place."""
        system, path = self._system()
        try:
            return getattr(system, method)(path, *values, **arguments)
        except OSError as error:
            if error.filename is None:
                error.filename = self.name
            raise


def buffered(place: Place) -> BinaryIO:
    """A file at an address, opened so that the readers of logs can look ahead in it."""
    opened = place.open()
    return opened if isinstance(opened, io.BufferedReader) else io.BufferedReader(opened, 1 << 20)  # type: ignore[type-var]
