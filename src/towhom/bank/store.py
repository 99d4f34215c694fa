"""A bank on disk: a folder of segments, each with `.npy` columns and an index of words, and a manifest.

manifest.json       format, version, model, sources, segments and their files
segment-NNNN/       responses as columns (`towhom.bank.tables`), and `words.sqlite`

A segment never changes: `add` makes another one, and `forget` rewrites those that contain what is removed.
Names of people are not stored; `key_of` makes the keys by which their responses are found when they are to
be forgotten.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.bank.heads import signature
from towhom.bank.phrases import Phrases
from towhom.bank.slots import shown
from towhom.bank.tables import FIXED, LISTS, NO_TIME, SCALES, TEXTS, Table
from towhom.corpus.columns import open_column
from towhom.documents import read_described
from towhom.errors import BankError
from towhom.hearing.words import normalized
from towhom.text.pieces import PIECE_WEIGHTS

FORMAT, VERSION = "towhom-bank", 3
MANIFEST, WORDS, INDEX = "manifest.json", "words.sqlite", "vectors.faiss"
_DAMAGED = (
    OSError,
    ValueError,
    LookupError,
    EOFError,
    SyntaxError,
    TokenError,
    OverflowError,
    TypeError,
    MemoryError,
)
"""Errors that are raised when damaged columns are read."""
_FEW = 1000
"""Added to the number of responses, because a small bank cannot show which pieces are rare."""
_SLIPS = 10.0
"""Added to the counts of pieces, because very rare pieces are as likely typos as informative."""
_BLOCK = 1 << 22
_LINK_FIELD = re.compile(r"\{(\w+)\}")
LINK_FIELDS = ("id", "line", "document", "channel", "year", "month", "day")
"""Fields that a link template may contain in braces."""


class Place(NamedTuple):
    """The position of a response."""

    segment: int
    row: int


@dataclass(frozen=True, slots=True)
class Response:
    """A response that somebody gave, with its source.

    Args:
        number: Its current number in the bank; `forget` takes it.
        text: The text of the response, with `{addressee}` and `{responder}` in place of names.
        question: The text that it answered, with the same slots.
        opening: The asker's first message of the conversation, if that is not the question.
        document: The log, or its day.
        channel: The room, if the log has several.
        line: The line of the response.
        thread: The line that began its conversation.
        asked: The line of the question.
        id: The platform's identifier for it, if it has one.
        time: The time of the response, if known.
        link: A link to the response, if the bank has a link template.
        times: How often it was said.
        thanked: Whether its asker said that it helped.
    """

    number: int
    text: str
    question: str
    opening: str | None
    document: str
    channel: str | None
    line: int
    thread: int
    asked: int
    id: str | None
    time: datetime | None
    link: str | None
    times: int
    thanked: bool

    def record(self) -> dict[str, Any]:
        """The response as JSON-compatible data."""
        return {
            "number": self.number, "text": self.text, "question": self.question, "opening": self.opening,
            "document": self.document, "channel": self.channel, "line": self.line, "thread": self.thread,
            "asked": self.asked, "id": self.id, "time": None if self.time is None else self.time.isoformat(),
            "link": self.link, "times": self.times, "thanked": self.thanked,
        }  # fmt: skip


class Segment:
    """Some responses of a bank, mapped into memory.

    Args:
        folder: Folder of the segment.
        files: Expected sizes and digests of its files, by name.
        probes: Number of cells of the vector index that a query searches; 0 if there is no index.
    """

    def __init__(self, folder: Path, files: dict[str, list[Any]], probes: int = 0) -> None:
        self.folder, self.probes = folder, probes
        for name, (size, _) in files.items():
            path = folder / name
            actual = path.stat().st_size if path.is_file() else None
            if actual != size:
                what = "is missing" if actual is None else f"has {actual:,} bytes, expected {size:,}"
                raise BankError(
                    f"{path}: {what}; the bank is damaged: take it from a copy, or build it again"
                )
        self.table = self._open()
        self.phrases = Phrases(folder / WORDS)

    def _open(self) -> Table:
        names = [*FIXED, *SCALES, *(f"{name}{end}" for name in (*TEXTS, *LISTS) for end in ("", ".offsets"))]
        columns: dict[str, NDArray[Any]] = {}
        for name in names:
            path = self.folder / f"{name}.npy"
            try:
                columns[name] = open_column(path).view(np.ndarray)  # faster to index than a memmap
            except _DAMAGED as error:
                raise BankError(
                    f"{path}: the column cannot be read ({error}); build the bank again"
                ) from error
        table = Table(columns)
        try:
            table.check()
        except _DAMAGED as error:
            raise BankError(f"{self.folder}: {error}; build the bank again") from error
        return table


class Bank:
    """An open response bank. Only the manifest is read at first; everything else is read on demand.

    Args:
        folder: The folder that `towhom bank build` made.

    Raises:
        BankError: The folder is not a bank, has another format version, or is damaged.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        try:
            self._segments = [(str(each["name"]), dict(each["files"])) for each in self.manifest["segments"]]
            self._probes = [int(each.get("probes", 0)) for each in self.manifest["segments"]]
            self.model = str(self.manifest["model"])
            self.salt = str(self.manifest["salt"])
            self.link_template = self.manifest["link"]
            starts = np.cumsum([0, *(int(each["responses"]) for each in self.manifest["segments"])])
        except (KeyError, TypeError, ValueError) as error:
            raise BankError(
                f"{self.folder / MANIFEST}: the manifest is damaged ({error!r}); take it from a copy, or "
                "build the bank anew"
            ) from error
        self.starts: NDArray[np.int64] = starts.astype(np.int64)
        """(segments + 1,) Number of the first response of each segment, and the total."""

    def __len__(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def segments(self) -> list[Segment]:
        """The segments of the bank."""
        segments = [
            Segment(self.folder / name, files, probes)
            for (name, files), probes in zip(self._segments, self._probes, strict=True)
        ]
        for segment, rows in zip(segments, np.diff(self.starts).tolist(), strict=True):
            if len(segment.table) != rows:
                raise BankError(
                    f"{segment.folder}: {len(segment.table)} responses, the manifest says {rows}; take the "
                    "bank from a copy, or build it anew"
                )
        return segments

    @cached_property
    def rarity(self) -> NDArray[np.float32]:
        """(`PIECE_WEIGHTS`,) Rarity of pieces in questions, from 0 to 1, by the low bits of their hashes."""
        counts = np.zeros(PIECE_WEIGHTS, np.int64)
        for segment in self.segments:
            pieces = segment.table["asked_pieces"]
            for start in range(0, len(pieces), _BLOCK):
                some = pieces[start : start + _BLOCK] & np.uint32(PIECE_WEIGHTS - 1)
                counts += np.bincount(some, minlength=PIECE_WEIGHTS)
        most = len(self) + _FEW
        rarity: NDArray[np.float32] = np.log(most / (counts + _SLIPS)).clip(0.0).astype(np.float32)
        rarity /= np.float32(np.log(most / _SLIPS))
        return rarity

    def key_of(self, speaker: str) -> int:
        """The key that represents a person in the columns of this bank."""
        return key_of(speaker, self.salt)

    def require_model(self, fingerprint: str) -> None:
        """Make sure that the vectors were made by a model.

        Raises:
            BankError: They were made by another model.
        """
        wanted = signature(fingerprint)
        if self.model != wanted:
            raise BankError(
                f"{self.folder}: the bank was built with another model ({self.model[:12]}) than the one that "
                f"asks ({wanted[:12]}); give the same --model, or build the bank again"
            )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Report that the bank is damaged if its contents make no sense.

        Raises:
            BankError: The bank is damaged.
        """
        try:
            yield
        except _DAMAGED as error:
            raise BankError(
                f"{self.folder}: the bank is damaged ({error!r}); towhom bank info --check finds the file"
            ) from error

    def place(self, number: int) -> Place:
        """The position of the response with a number.

        Raises:
            BankError: There is none.
        """
        if not 0 <= number < len(self):
            raise BankError(f"{self.folder}: there are {len(self):,} responses, no number {number}")
        segment = int(np.searchsorted(self.starts, number, side="right")) - 1
        return Place(segment, number - int(self.starts[segment]))

    def at(self, numbers: Sequence[int]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Table]]:
        """Positions of some responses, by segment: their places in the list, their rows, and the table."""
        every = np.asarray(numbers, np.int64)
        segment = np.searchsorted(self.starts, every, side="right") - 1
        for which in np.unique(segment).tolist():
            places = np.flatnonzero(segment == which)
            yield places, every[places] - self.starts[which], self.segments[which].table

    def __getitem__(self, number: int) -> Response:
        segment, row = self.place(number)
        table = self.segments[segment].table
        with self.reading():
            text, question, opening, document, channel, id = (table.texts(name)[row] for name in TEXTS)
        time = _time(int(table["time"][row]))
        line = int(table["line"][row])
        where = {"id": id, "line": str(line), "document": document, "channel": channel}
        return Response(
            number, shown(text), shown(question), shown(opening) or None, document, channel or None, line,
            int(table["thread"][row]), int(table["asked"][row]), id or None, time, self._link(where, time),
            int(table["times"][row]), table.has(row, "thanked"),
        )  # fmt: skip

    def _link(self, where: dict[str, str], time: datetime | None) -> str | None:
        if not isinstance(self.link_template, str):
            return None
        fields = dict(where)
        if time is not None:
            fields |= {"year": f"{time:%Y}", "month": f"{time:%m}", "day": f"{time:%d}"}
        wanted = _LINK_FIELD.findall(self.link_template)
        if not all(fields.get(name) for name in wanted):
            return None
        return _LINK_FIELD.sub(lambda found: fields[found[1]], self.link_template)

    def check(self, progress: Callable[[str], None] = lambda name: None) -> None:
        """Read the whole bank and compare it with the checksums of the manifest.

        Raises:
            BankError: Something is damaged; the message names the file.
        """
        for segment, (_, files) in zip(self.segments, self._segments, strict=True):
            for name, (_, digest) in sorted(files.items()):
                progress(name)
                if file_digest(segment.folder / name) != digest:
                    raise BankError(
                        f"{segment.folder / name}: its content has changed since it was written; take the "
                        "bank from a copy, or build it again"
                    )


def check_link(template: str) -> None:
    """Make sure that a link template has only known fields.

    Raises:
        BankError: It has unknown fields.
    """
    unknown = [name for name in _LINK_FIELD.findall(template) if name not in LINK_FIELDS]
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in LINK_FIELDS)
        raise BankError(f"{template}: nothing is known of {{{unknown[0]}}} in links; there are {known}")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a bank.

    Raises:
        BankError: The folder is not a bank, or has another format version.
    """
    path = folder / MANIFEST
    if not folder.exists():
        raise BankError(f"{folder}: there is no such bank; make one with: towhom bank build {folder} LOG")
    return read_described(
        path, (FORMAT, VERSION), what="response bank", again="build it anew", error=BankError
    )


def key_of(speaker: str, salt: str) -> int:
    """The key that represents a person in the columns of a bank: 64 bits, regardless of letter case."""
    name = normalized(speaker.strip().removeprefix("@")).encode("utf-8", "replace")
    digest = hashlib.blake2b(name, digest_size=8, key=salt.encode()[:64]).digest()
    return int.from_bytes(digest, "little")


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _time(seconds: int) -> datetime | None:
    if seconds == NO_TIME:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
