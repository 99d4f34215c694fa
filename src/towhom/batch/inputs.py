"""Finds the files that a run reads, and groups them into bundles."""

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
"""Bytes of small files that are read together; their parts are about as large as those of a long log."""
_FILES = 1_000
"""Maximum number of files that are read together."""
_PATTERN = frozenset("*?[")
_PROTOCOL = re.compile(r"^\w+://+")


@dataclass(frozen=True, order=True)
class Input:
    """A file, or a folder that is one export.

    Args:
        name: Path or address, as the user writes it.
        size: Size in bytes.
        where: Absolute path or address, which can be opened from anywhere.
        export: The argument that it was found by.
        path: Path within the folder or pattern of that argument; the name if the argument is the file itself.
        folder: Name of that folder; None if the argument is the file itself.
    """

    name: str
    size: int
    where: str
    export: str = ""
    path: str = ""
    folder: str | None = None

    @property
    def place(self) -> tuple[str, str | None]:
        """Path within the argument, and name of the argument's folder."""
        return self.path, self.folder


@dataclass(frozen=True)
class Bundle:
    """Inputs that are read together: a long log, or several short ones. Files of one room stay together.

    Args:
        inputs: The files, in order.
        several: Whether the run has files of more than one room.
        rooms: Export, name and new name of each room whose name also occurs in an earlier export.
        files: Export, name and new name in ids of each file whose name also occurs in an earlier export.
    """

    inputs: tuple[Input, ...]
    several: bool = False
    rooms: tuple[tuple[str, str, str], ...] = ()
    files: tuple[tuple[str, str, str], ...] = ()

    @property
    def name(self) -> str:
        """A name that depends only on the files and names, not on what else a run reads."""
        digest = hashlib.sha256()
        for each in self.inputs:
            digest.update(f"{each.size} {each.name}\0".encode("utf-8", "surrogateescape"))
        if self.rooms or self.files:
            digest.update(repr((self.rooms, self.files)).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:12]

    @property
    def size(self) -> int:
        """Size of all files in bytes."""
        return sum(each.size for each in self.inputs)


def find_inputs(logs: Iterable[str], format: str | None, *, to: Place | None = None) -> list[Input]:
    """The files that arguments stand for: paths, addresses, folders, patterns. Each file occurs once.

    Args:
        logs: The arguments.
        format: Format of the logs; detected if None.
        to: The folder of the results, whose files are ignored even if it lies among the logs.

    Raises:
        LogError: There is no file or folder of a given name.
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
    """The input for a file found in a folder."""
    path = _bare(file.name).removeprefix(_bare(root)).lstrip("/")
    return Input(file.name, size, file.absolute().name, export, path, PurePosixPath(root).name or ".")


def _bare(address: str) -> str:
    """An address without its protocol, because stores differ in the number of slashes after it."""
    return _PROTOCOL.sub("", address)


def _hidden(folder: Place, file: Place) -> bool:
    inner = file.name.removeprefix(folder.name)
    return any(part.startswith((".", "__MACOSX")) for part in inner.split("/") if part != "..")


def rooms_of(inputs: Iterable[Input]) -> list[list[Input]]:
    """Files grouped by room, according to their names, in the order in which they are read."""
    exports: dict[str, list[Input]] = {}
    for each in inputs:
        exports.setdefault(each.export, []).append(each)
    return [files for found in exports.values() for files in grouped(found, lambda each: each.place).values()]


def bundles(rooms: Iterable[list[Input]], *, several: bool) -> Iterator[Bundle]:
    """Bundles of the files of rooms, filled until they are large enough."""
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
