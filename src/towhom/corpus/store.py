"""Open a corpus: its columns are mapped into memory without copying or parsing.

A corpus is a folder of `.npy` columns and a `manifest.json`. Shapes: D documents, M messages, U utterances
(first those of the M messages, then candidates that are not messages), S samples, K candidates, N tokens,
V words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Conversation, Message
from towhom.corpus.columns import Strings, open_column
from towhom.corpus.document import NO_TIME
from towhom.corpus.splits import SPLITS, Split
from towhom.documents import read_described, read_json
from towhom.errors import CorpusError

FORMAT = "towhom-corpus"
VERSION = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Documents:
    """Documents, in the order in which they were read."""

    names: Strings
    split: NDArray[np.uint8]
    """(D,) Index into `SPLITS`."""
    messages: NDArray[np.int64]
    """(D + 1,) Index of the first message of each document."""
    samples: NDArray[np.int64]
    """(D + 1,) Index of the first sample of each document."""
    speakers: NDArray[np.int64]
    """(D + 1,) Index of the first speaker of each document in `Corpus.speaker_names`."""


@dataclass(frozen=True)
class Messages:
    """Speakers, addressees and times of messages; the text of message i is utterance i."""

    speaker: NDArray[np.int32]
    """(M,) Number of the speaker within the document, by first appearance."""
    addressee: NDArray[np.int32]
    """(M,) Number of the addressee in the same way; -1 for nobody in particular."""
    time: NDArray[np.int64]
    """(M,) Seconds since 1970, or `NO_TIME`."""


@dataclass(frozen=True)
class Utterances:
    """Utterances as texts and as words."""

    text: Strings
    tokens: NDArray[np.uint32]
    """(N,) Ids into the vocabulary."""
    offsets: NDArray[np.int64]
    """(U + 1,) Index of the first token of each utterance."""


@dataclass(frozen=True)
class Samples:
    """Messages to be predicted, with their candidates as indices of utterances."""

    message: NDArray[np.uint32]
    """(S,) Index of the message; its speaker is the responder, its addressee the true addressee."""
    distance: NDArray[np.int32]
    """(S,) How many messages ago the addressee last spoke; 0 for never."""
    candidates: dict[int, NDArray[np.uint32]]
    """K -> (S, K) Indices of utterances."""
    labels: dict[int, NDArray[np.uint8]]
    """K -> (S,) Index of the true candidate."""


@dataclass(frozen=True)
class Vocabulary:
    """Words by id, the most frequent first, and how often each occurs in the training documents."""

    words: Strings
    counts: NDArray[np.int64]
    """(V,) How often each word occurs in the training documents."""


class Corpus:
    """A corpus on disk.

    Args:
        folder: A folder made by `towhom corpus build`.

    Raises:
        CorpusError: The folder is not a corpus, or its format is unknown to this version.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.name = str(folder)
        """The name of the corpus in error messages."""
        self.manifest = read_manifest(self.folder)

    def _column(self, name: str) -> NDArray[Any]:
        path = self.folder / f"{name}.npy"
        try:
            return open_column(path)
        except (OSError, ValueError, EOFError) as error:
            raise CorpusError(
                f"{path}: the column cannot be read ({error}); build the corpus again"
            ) from error

    def ranges(self, messages: int) -> Iterator[tuple[int, int]]:
        """Yield runs of consecutive documents that together have at least this many messages.

        A run is given as its first document and the one after its last. The last run may have fewer messages.
        """
        starts = self.documents.messages.tolist()
        first = 0
        for last in range(1, len(starts)):
            if starts[last] - starts[first] >= messages or last == len(starts) - 1:
                yield first, last
                first = last

    def _strings(self, name: str) -> Strings:
        return Strings(self._column(name), self._column(f"{name}.offsets"))

    @cached_property
    def documents(self) -> Documents:
        """The documents of the corpus."""
        return Documents(
            self._strings("documents.name"),
            self._column("documents.split"),
            self._column("documents.messages"),
            self._column("documents.samples"),
            self._column("documents.speakers"),
        )

    @cached_property
    def messages(self) -> Messages:
        """The messages of all documents."""
        return Messages(
            self._column("messages.speaker"),
            self._column("messages.addressee"),
            self._column("messages.time"),
        )

    @cached_property
    def utterances(self) -> Utterances:
        """The utterances of all documents."""
        return Utterances(
            self._strings("utterances.text"),
            self._column("utterances.tokens"),
            self._column("utterances.tokens.offsets"),
        )

    @cached_property
    def samples(self) -> Samples:
        """The samples of all documents."""
        sizes: list[int] = self.manifest["settings"]["candidates"]
        return Samples(
            self._column("samples.message"),
            self._column("samples.distance"),
            {size: self._column(f"samples.candidates-{size}") for size in sizes},
            {size: self._column(f"samples.label-{size}") for size in sizes},
        )

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the corpus."""
        return Vocabulary(self._strings("words"), self._column("words.count"))

    @cached_property
    def speaker_names(self) -> Strings:
        """Names of the speakers of all documents; a person who speaks in two documents appears twice."""
        return self._strings("speakers.name")

    def documents_of(self, split: Split | None) -> NDArray[np.int64]:
        """Indices of the documents of a split, or of all."""
        return np.flatnonzero(self._in(split))

    def _in(self, split: Split | None) -> NDArray[np.bool_]:
        of_document = self.documents.split
        return np.ones(len(of_document), bool) if split is None else of_document == SPLITS.index(split)

    def samples_of(self, split: Split | None, *, context: int | None = None) -> NDArray[np.int64]:
        """Indices of the samples of a split, or of all.

        Args:
            split: The split; None for all samples.
            context: Return only samples that training with a context of this many messages uses: those with
                a complete context in which the addressee speaks.
        """
        documents = self.documents
        wanted = self._in(split)
        of_document = np.repeat(np.arange(len(wanted)), np.diff(documents.samples))
        chosen = wanted[of_document]
        if context is not None:
            position = self.samples.message - documents.messages[of_document]
            distance = self.samples.distance
            chosen &= (position >= context) & (distance > 0) & (distance <= context)
        return np.flatnonzero(chosen)

    def require_candidates(self, size: int) -> None:
        """Make sure that there are candidate sets of this size.

        Raises:
            CorpusError: There are only other sizes, which the message names.
        """
        if size not in self.samples.candidates:
            sizes = " or ".join(map(str, self.samples.candidates)) or "none"
            raise CorpusError(f"{self.name}: its samples have {sizes} candidates, not {size}")

    def conversation(self, document: int) -> Conversation:
        """A document as a conversation, as it was read."""
        start, stop = self.documents.messages[document : document + 2].tolist()
        first, last = self.documents.speakers[document : document + 2].tolist()
        names = self.speaker_names.slice(first, last)
        texts = self.utterances.text.slice(start, stop)
        columns = zip(
            texts,
            self.messages.speaker[start:stop].tolist(),
            self.messages.addressee[start:stop].tolist(),
            self.messages.time[start:stop].tolist(),
            strict=True,
        )
        messages = tuple(
            Message(names[speaker], text, names[addressee] if addressee >= 0 else None, _datetime(time))
            for text, speaker, addressee, time in columns
        )
        return Conversation(messages, self.documents.names[document])


def _datetime(seconds: int) -> datetime | None:
    return None if seconds == NO_TIME else datetime(1970, 1, 1) + timedelta(seconds=seconds)


def is_corpus(folder: Path) -> bool:
    """Whether a folder holds a corpus of towhom, even if this version cannot read it."""
    try:
        manifest = read_json(folder / MANIFEST)
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("format") == FORMAT


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a corpus.

    Raises:
        CorpusError: There is no manifest, or it is not from towhom.
    """
    path = folder / MANIFEST
    if not folder.is_dir():
        raise CorpusError(f"{folder}: there is no such folder; make a corpus with: towhom corpus build")
    return read_described(
        path,
        (FORMAT, VERSION),
        what="corpus",
        again="build it again with: towhom corpus build --force",
        error=CorpusError,
    )
