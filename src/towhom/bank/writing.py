"""Writes banks: segments from tables, and a manifest that is replaced atomically."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from towhom.bank.phrases import PHRASES, write_phrases
from towhom.bank.slots import shown
from towhom.bank.store import FORMAT, MANIFEST, VERSION, WORDS, Bank, file_digest
from towhom.bank.tables import FIXED, LISTS, SCALES, TEXTS, VECTORS, Table
from towhom.corpus.columns import ColumnWriter, OffsetsWriter, Strings, open_column
from towhom.errors import BankError
from towhom.files import atomic_file, atomic_folder
from towhom.hearing.words import normalized
from towhom.version import __version__

_SEGMENT = "segment-{:04}"
_RAGGED: dict[str, type[np.generic]] = {**dict.fromkeys(TEXTS, np.uint8), **LISTS}


def text_keys(table: Table) -> NDArray[np.uint64]:
    """(N,) Keys of responses, equal for texts that differ only in case, spaces and punctuation."""
    digests = [
        hashlib.blake2b(_bare(text).encode("utf-8", "replace"), digest_size=8).digest()
        for text in table.texts("response")
    ]
    return np.frombuffer(b"".join(digests), np.uint64)


_MARKS = regex.compile(r"[\s\p{P}]+")


def _bare(text: str) -> str:
    return _MARKS.sub(" ", normalized(text)).strip()


def write_segment(folder: Path, tables: Iterable[Table], width: int) -> dict[str, Any]:
    """Write responses into a new segment, in little memory; returns its entry for the manifest.

    Args:
        folder: Folder of the segment; an older one that no manifest names is replaced.
        tables: The responses, in pieces.
        width: Width of the vectors.
    """
    rows = 0
    with atomic_folder(folder) as temporary:
        with ExitStack() as stack:
            fixed = {
                name: stack.enter_context(ColumnWriter(temporary / f"{name}.npy", kind))
                for name, kind in FIXED.items()
            }
            for name in SCALES:
                fixed[name] = stack.enter_context(ColumnWriter(temporary / f"{name}.npy", np.int8, width))
            lists = {
                name: (
                    stack.enter_context(ColumnWriter(temporary / f"{name}.npy", kind)),
                    stack.enter_context(OffsetsWriter(temporary / f"{name}.offsets.npy")),
                )
                for name, kind in _RAGGED.items()
            }
            for table in tables:
                rows += len(table)
                for name, column in fixed.items():
                    column.append(table[name])
                for name, (values, offsets) in lists.items():
                    values.append(table[name])
                    offsets.append_lengths(np.diff(table[f"{name}.offsets"]))
        write_phrases(temporary / WORDS, zip(count(), *(_strings(temporary, name) for name in PHRASES)))
    files = {path.name: [path.stat().st_size, file_digest(path)] for path in sorted(folder.iterdir())}
    return {"name": folder.name, "responses": rows, "files": files}


def _strings(folder: Path, name: str) -> Strings:
    return Strings(open_column(folder / f"{name}.npy"), open_column(folder / f"{name}.offsets.npy"))


def first_of_each(keys: Sequence[NDArray[np.uint64]], known: NDArray[np.uint64]) -> list[NDArray[np.bool_]]:
    """For each part, which responses are new: neither earlier ones nor known ones have the same key."""
    every = np.concatenate([np.empty(0, np.uint64), *keys])
    _, first = np.unique(every, return_index=True)
    fresh = np.zeros(len(every), bool)
    fresh[first] = True
    fresh &= ~np.isin(every, known)
    return np.split(fresh, np.cumsum([len(part) for part in keys])[:-1]) if keys else []


def counted(table: Table, keys: NDArray[np.uint64], every: NDArray[np.uint64]) -> Table:
    """A table with the number of times each response was said, given the sorted keys of all messages."""
    times = np.searchsorted(every, keys, side="right") - np.searchsorted(every, keys, side="left")
    return Table({**table.columns, "times": np.maximum(times, 1).astype(np.int32)})


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest of a bank, atomically; then remove the segments that it does not name."""
    described = {"format": FORMAT, "version": VERSION, "towhom": __version__, **manifest}
    with atomic_file(folder / MANIFEST, "w") as file:
        file.write(json.dumps(described, indent=1, ensure_ascii=False) + "\n")
    tidy(folder, described)


def tidy(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Remove segments that a manifest does not name: replaced ones, and those left by killed runs."""
    named = {each["name"] for each in manifest["segments"]}
    for path in folder.iterdir():
        old = path.name.startswith("segment-") and path.name not in named
        if path.is_dir() and (old or path.name.startswith(".segment-")):
            shutil.rmtree(path)


def next_segment(manifest: Mapping[str, Any]) -> str:
    """A name for a new segment, after all names in the manifest."""
    numbers = [int(each["name"].rpartition("-")[2]) for each in manifest["segments"]]
    return _SEGMENT.format(max(numbers, default=-1) + 1)


class Forgotten(NamedTuple):
    """Criteria for removing responses from a bank; a response is removed if any of them applies."""

    speakers: Sequence[str] = ()
    """Names of people; what they said is removed, and so are the answers to them."""
    ids: Sequence[str] = ()
    """Platform identifiers of messages."""
    numbers: Sequence[int] = ()
    """Numbers of responses in the bank."""
    pattern: str | None = None
    """A regular expression, searched for in responses and questions."""


def forget(
    bank: Bank, what: Forgotten, *, dry_run: bool = False, progress: Callable[[], None] = lambda: None
) -> int:
    """Remove responses from a bank for good, by rewriting its files; returns the number removed.

    Speakers and identifiers are remembered as keys, so that `add` does not bring them back.

    Args:
        bank: The bank, which has to be reopened afterwards.
        what: The responses to remove.
        dry_run: Whether to only count them.
        progress: Called after each rewritten segment.

    Raises:
        BankError: The pattern is not a regular expression, or a number does not exist.
    """
    pattern = _compiled(what.pattern)
    for number in what.numbers:
        bank.place(number)
    removed, kept = 0, []
    manifest = dict(bank.manifest)
    if not dry_run:
        tidy(bank.folder, manifest)
    segments = list(manifest["segments"])
    for place, segment in enumerate(bank.segments):
        gone = _matching(bank, place, what, pattern)
        removed += int(gone.sum())
        if not gone.any() or dry_run:
            kept.append(segments[place])
            continue
        name = next_segment({"segments": [*segments, *kept]})
        left = _without(segment.table, gone)
        kept.append(write_segment(bank.folder / name, left, segment.table[VECTORS].shape[1]))
        progress()
    if dry_run:
        return removed
    old = manifest["forgotten"]
    manifest["segments"] = [each for each in kept if each["responses"]] or kept[:1]
    manifest["forgotten"] = {
        "speakers": sorted({*old["speakers"], *map(bank.key_of, what.speakers)}),
        "ids": sorted({*old["ids"], *map(bank.key_of, what.ids)}),
    }
    write_manifest(bank.folder, manifest)
    return removed


def by_any(table: Table, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """(N,) Which responses were given by, or to, any of the people with these keys."""
    found = np.zeros(len(table), bool)
    for name in ("speaker", "speaker_id", "asker", "asker_id"):
        found |= np.isin(table[name], keys)
    return found


def _without(table: Table, gone: NDArray[np.bool_]) -> Iterator[Table]:
    start = 0
    for piece in table.pieces():
        yield piece.at(np.flatnonzero(~gone[start : start + len(piece)]))
        start += len(piece)


def _compiled(pattern: str | None) -> regex.Pattern[str] | None:
    if pattern is None:
        return None
    if not pattern:
        raise BankError("the pattern is empty: it would match everything")
    try:
        return regex.compile(pattern, regex.IGNORECASE)
    except regex.error as error:
        raise BankError(f"{pattern}: is not a regular expression ({error})") from error


def _matching(
    bank: Bank, place: int, what: Forgotten, pattern: regex.Pattern[str] | None
) -> NDArray[np.bool_]:
    """(N,) Which responses of a segment match the criteria."""
    table = bank.segments[place].table
    gone = np.zeros(len(table), bool)
    keys = np.array([bank.key_of(name) for name in what.speakers], np.uint64)
    gone |= by_any(table, keys)
    numbers = np.array(what.numbers, np.int64) - bank.starts[place]
    gone[numbers[(numbers >= 0) & (numbers < len(table))]] = True
    if what.ids:
        ids = set(what.ids)
        gone |= np.fromiter((id in ids for id in table.texts("id")), bool, len(table))
    if pattern is not None:
        for name in PHRASES:
            gone |= np.fromiter(
                (pattern.search(shown(text)) is not None for text in table.texts(name)), bool, len(table)
            )
    return gone
