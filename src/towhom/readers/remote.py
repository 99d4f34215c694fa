"""Logs at an address: `s3://`, `gs://`, `hdfs://`, `memory://` and whatever else fsspec knows."""

from __future__ import annotations

from functools import partial

from towhom.errors import LogError
from towhom.places import Place, buffered
from towhom.readers.base import Folder, Source


def remote_source(place: Place) -> Source:
    """A file at an address.

    Raises:
        LogError: There is no such file, or it is a zip archive.
    """
    try:
        with buffered(place) as file:
            if file.read(4) == b"PK\x03\x04":
                raise LogError(
                    "a zip archive is read from a disk; copy it to one, or unpack it", file=place.name
                )
    except FileNotFoundError:
        raise LogError("there is no such file or folder", file=place.name) from None
    return Source(place.name, partial(buffered, place))


def remote_folder(place: Place) -> Folder:
    """All files below an address, sorted by name, except hidden ones."""
    prefix = f"{place.name.rstrip('/')}/"
    name = prefix.rstrip("/").rpartition("/")[2]
    inner = [(file, file.name.removeprefix(prefix)) for file, _ in place.files(deep=True)]
    shown = [(file, path) for file, path in inner if not any(part[:1] == "." for part in path.split("/"))]
    return Folder(name, tuple(Source(f"{name}/{path}", partial(buffered, file)) for file, path in shown))
