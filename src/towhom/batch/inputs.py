"""Which files a run reads, and how they are put together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from towhom.errors import LogError
from towhom.places import Place
from towhom.readers import is_export

_BUNDLE = 2 << 20
"""Bytes of small files that are read together: a part of them is about as large as one of a long log."""
_FILES = 1_000
"""Files that are read together."""
_PATTERN = frozenset("*?[")


@dataclass(frozen=True, order=True)
class Input:
    """A file, or a folder that is one export.

    Args:
        name: Its path or address, as the user writes it.
        size: Its bytes.
        where: Its path or address, wherever it is opened.
        listed: Whether it was found in a folder, where some files are no logs.
    """

    name: str
    size: int
    where: str
    listed: bool = False


@dataclass(frozen=True)
class Bundle:
    """Inputs that are read together: a long log, or several short ones."""

    inputs: tuple[Input, ...]

    @property
    def name(self) -> str:
        """The same for the same files, whatever else a run reads."""
        digest = hashlib.sha256()
        for each in self.inputs:
            digest.update(f"{each.size} {each.name}\0".encode("utf-8", "surrogateescape"))
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
            found[each.where] = each
    results = None if to is None else f"{to.name.rstrip('/')}/"
    return [each for each in found.values() if results is None or not each.where.startswith(results)]


def _inputs(place: Place, format: str | None) -> list[Input]:
    if place.name == "-":
        raise LogError("--into needs files; save standard input to one first", file="-")
    if not place.exists():
        files = place.matching() if _PATTERN & set(place.name) else []
        if not files:
            raise LogError("there is no such file or folder", file=place.name)
        return [_input(file, size) for file, size in files]
    if not place.is_folder():
        return [_input(place, place.size())]
    files = [(file, size) for file, size in place.files(deep=True) if not _hidden(place, file)]
    if is_export(place, format):
        return [_input(place, sum(size for _, size in files))]
    return [_input(file, size, listed=True) for file, size in files]


def _input(place: Place, size: int, *, listed: bool = False) -> Input:
    return Input(place.name, size, place.absolute().name, listed)


def _hidden(folder: Place, file: Place) -> bool:
    inner = file.name.removeprefix(folder.name)
    return any(part.startswith((".", "__MACOSX")) for part in inner.split("/") if part != "..")


def bundles(inputs: Iterable[Input]) -> Iterator[Bundle]:
    """Files of a folder, put together until they are large enough."""
    waiting: list[Input] = []
    size = 0
    for each in inputs:
        if waiting and (size >= _BUNDLE or len(waiting) >= _FILES or _folder(waiting[-1]) != _folder(each)):
            yield Bundle(tuple(waiting))
            waiting, size = [], 0
        waiting.append(each)
        size += each.size
    if waiting:
        yield Bundle(tuple(waiting))


def _folder(file: Input) -> PurePosixPath:
    return PurePosixPath(file.name).parent
