"""Which files a run reads, and how they are put together."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from towhom.errors import LogError
from towhom.places import Place
from towhom.readers import is_export
from towhom.readers.identity import grouped

_BUNDLE = 2 << 20
"""Bytes of small files that are read together: a part of them is about as large as one of a long log."""
_FILES = 1_000
"""Files that are read together."""
_PATTERN = frozenset("*?[")
_PROTOCOL = re.compile(r"^\w+://+")


@dataclass(frozen=True, order=True)
class Input:
    """A file, or a folder that is one export.

    Args:
        name: Its path or address, as the user writes it.
        size: Its bytes.
        where: Its path or address, wherever it is opened.
        export: The argument that it was found by.
        path: Its path in the folder or pattern of that argument; its name, if the argument is it.
        folder: What that folder is called; None if the argument is the file.
    """

    name: str
    size: int
    where: str
    export: str = ""
    path: str = ""
    folder: str | None = None

    @property
    def place(self) -> tuple[str, str | None]:
        """Where it lies in what was given."""
        return self.path, self.folder


@dataclass(frozen=True)
class Bundle:
    """Inputs that are read together: a long log, or several short ones. Files of a room are never apart.

    Args:
        inputs: The files, in order.
        several: Whether a run has other files of rooms.
        rooms: Export and name of rooms that an earlier export has as well, and what they are called.
        files: Export and name of files that an earlier export has as well, and what they are called in ids.
    """

    inputs: tuple[Input, ...]
    several: bool = False
    rooms: tuple[tuple[str, str, str], ...] = ()
    files: tuple[tuple[str, str, str], ...] = ()

    @property
    def name(self) -> str:
        """The same for the same files and names, whatever else a run reads."""
        digest = hashlib.sha256()
        for each in self.inputs:
            digest.update(f"{each.size} {each.name}\0".encode("utf-8", "surrogateescape"))
        if self.rooms or self.files:
            digest.update(repr((self.rooms, self.files)).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:12]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(each.size for each in self.inputs)


def find_inputs(logs: Iterable[str], format: str | None, *, to: Place | None = None) -> list[Input]:
    """The files that arguments stand for: paths, addresses, folders, patterns. Each is there once.

    Args:
        logs: The arguments.
        format: The logs' format; found by looking if None.
        to: A folder whose files are no logs, though it may lie among them: that of the results.

    Raises:
        LogError: There is nothing of a name.
    """
    found: dict[str, Input] = {}
    for log in logs:
        for each in _inputs(Place(log), format):
            found.setdefault(each.where, each)
    results = None if to is None else f"{to.name.rstrip('/')}/"
    return [each for each in found.values() if results is None or not each.where.startswith(results)]


def _inputs(place: Place, format: str | None) -> list[Input]:
    if place.name == "-":
        raise LogError("--into needs files; save standard input to one first", file="-")
    if not place.exists():
        files = place.matching() if _PATTERN & set(place.name) else []
        if not files:
            raise LogError("there is no such file or folder", file=place.name)
        root = re.split(r"[*?\[]", place.name, maxsplit=1)[0].rpartition("/")[0]
        return [_found(file, size, place.name, root) for file, size in files]
    name = PurePosixPath(place.name).name or place.name
    if not place.is_folder():
        return [Input(place.name, place.size(), place.absolute().name, place.name, name)]
    files = [(file, size) for file, size in place.files(deep=True) if not _hidden(place, file)]
    if is_export(place, format):
        size = sum(size for _, size in files)
        return [Input(place.name, size, place.absolute().name, place.name, name)]
    return [_found(file, size, place.name, place.name) for file, size in files]


def _found(file: Place, size: int, export: str, root: str) -> Input:
    """A file of a folder."""
    path = _bare(file.name).removeprefix(_bare(root)).lstrip("/")
    return Input(file.name, size, file.absolute().name, export, path, PurePosixPath(root).name or ".")


def _bare(address: str) -> str:
    """An address without its protocol: stores differ in how many slashes stand behind it."""
    return _PROTOCOL.sub("", address)


def _hidden(folder: Place, file: Place) -> bool:
    inner = file.name.removeprefix(folder.name)
    return any(part.startswith((".", "__MACOSX")) for part in inner.split("/") if part != "..")


def rooms_of(inputs: Iterable[Input]) -> list[list[Input]]:
    """Files by the room that they are of, as their names tell, in the order in which they are read."""
    exports: dict[str, list[Input]] = {}
    for each in inputs:
        exports.setdefault(each.export, []).append(each)
    return [files for found in exports.values() for files in grouped(found, lambda each: each.place).values()]


def bundles(rooms: Iterable[list[Input]], *, several: bool) -> Iterator[Bundle]:
    """Files of rooms, put together until they are large enough."""
    waiting: list[Input] = []
    size = 0
    for files in rooms:
        full = size >= _BUNDLE or len(waiting) >= _FILES
        if waiting and (full or _folder(waiting[-1]) != _folder(files[0])):
            yield Bundle(tuple(waiting), several)
            waiting, size = [], 0
        waiting += files
        size += sum(each.size for each in files)
    if waiting:
        yield Bundle(tuple(waiting), several)


def _folder(file: Input) -> PurePosixPath:
    return PurePosixPath(file.name).parent
