"""Turn the lines of a document into columns: a pure function that can be mapped over any number of documents.

It reads only its arguments, and its random numbers depend on the seed and the document's name. The columns
are the same whether one process, a pool or a cluster engine runs it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Kind, Message, seconds_since_1970
from towhom.corpus.candidates import document_generator, draw_candidates
from towhom.hearing.protocol import resolve_addressees
from towhom.readers import Document, Report
from towhom.readers.reference import Reference, ReferenceLine
from towhom.text.tokenizer import tokenize

NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, kw_only=True)
class DocumentSettings:
    """The settings that the columns of a document depend on.

    Args:
        seed: Seed for drawing the false candidates.
        candidates: Numbers of candidates of a sample, including the true one; each number makes its own set.
        min_addressed: Documents with fewer addressed messages are left out.
        ignore_case: Whether `Ada:` addresses `ada`.
        follow_renames: Whether a speaker who changes their name stays one speaker.
        kinds: Which lines count as messages.
        strict: Whether the first malformed line stops the build.
    """

    seed: int = 0
    candidates: tuple[int, ...] = (2, 10)
    min_addressed: int = 10
    ignore_case: bool = False
    follow_renames: bool = False
    kinds: tuple[Kind, ...] = (Kind.MESSAGE,)
    strict: bool = False


@dataclass(frozen=True, kw_only=True)
class DocumentColumns:
    """A document as arrays. Indices are local to it; M messages, U utterances, S samples, K candidates."""

    name: str
    speakers: tuple[str, ...]
    speaker: NDArray[np.int32]
    """(M,) The speaker."""
    addressee: NDArray[np.int32]
    """(M,) The addressee; -1 for nobody in particular."""
    time: NDArray[np.int64]
    """(M,) Seconds since 1970, or `NO_TIME`."""
    texts: tuple[bytes, ...]
    """(U,) Texts of the messages, then those of candidates that are not messages of the document."""
    words: tuple[str, ...]
    """The distinct words, in order of appearance."""
    tokens: NDArray[np.int64]
    """Indices into `words` of the tokens of all utterances, one after the other."""
    lengths: NDArray[np.int64]
    """(U,) Number of tokens of each utterance."""
    sample_message: NDArray[np.int64]
    """(S,) Indices of the messages that are samples."""
    sample_distance: NDArray[np.int32]
    """(S,) How many messages ago the addressee last spoke; 0 for never."""
    candidates: dict[int, NDArray[np.int64]]
    """K -> (S, K) Indices of utterances."""
    labels: dict[int, NDArray[np.int64]]
    """K -> (S,) Index of the true candidate."""


@dataclass(frozen=True)
class Built:
    """The result for one document: its columns if it has any, its counts, and the report of its reading."""

    columns: DocumentColumns | None
    messages: int
    addressed: int
    report: Report = field(default_factory=Report)


def build_document(document: Document, settings: DocumentSettings) -> Built:
    """Build the columns of one document by the protocol; none if too few of its messages are addressed."""
    report = Report(strict=settings.strict)
    if isinstance(document.reader, Reference):
        lines = list(document.reader.parse_samples(document.records, report, document.file))
        return _build_published(document.name, lines, report)
    resolved = resolve_addressees(
        document.messages(report),
        ignore_case=settings.ignore_case,
        follow_renames=settings.follow_renames,
    )
    messages = [message for message in resolved if message.kind in settings.kinds]
    parts = _MessageColumns(messages)
    addressed = int((parts.addressee >= 0).sum())
    too_few = addressed < settings.min_addressed or len(messages) < max(settings.candidates)
    if not messages or too_few:
        return Built(None, len(messages), addressed, report)
    sample_message, sample_distance = _samples(parts)
    generator = document_generator(settings.seed, document.name)
    drawn = {
        size: draw_candidates(generator, len(messages), sample_message, size)
        for size in sorted(set(settings.candidates))
    }
    columns = parts.with_samples(
        document.name,
        texts=[message.text for message in messages],
        tokens=[tokenize(message.text) for message in messages],
        sample_message=sample_message,
        sample_distance=sample_distance,
        candidates={size: candidates for size, (candidates, _) in drawn.items()},
        labels={size: labels for size, (_, labels) in drawn.items()},
    )
    return Built(columns, len(messages), addressed, report)


def _build_published(name: str, lines: list[ReferenceLine], report: Report) -> Built:
    """Build the columns of a document of the published corpus, keeping its candidates and labels."""
    messages = [line.message for line in lines]
    parts = _MessageColumns(messages)
    addressed = int((parts.addressee >= 0).sum())
    samples, size = _published_samples(name, lines, report)
    if not messages:
        return Built(None, 0, 0, report)
    texts, candidates = _published_candidates(messages, samples, size)
    labels = np.array([line.label for _, line in samples], np.int64)
    chosen = np.array([index for index, _ in samples], np.int64)
    columns = parts.with_samples(
        name,
        texts=texts,
        tokens=[text.lower().split() for text in texts],  # they are already tokenized
        sample_message=chosen,
        sample_distance=parts.distances()[chosen],
        candidates={size: candidates} if size else {},
        labels={size: labels} if size else {},
    )
    return Built(columns, len(messages), addressed, report)


def _published_samples(
    name: str, lines: list[ReferenceLine], report: Report
) -> tuple[list[tuple[int, ReferenceLine]], int]:
    """Samples with their positions, and the number of candidates; lines with another number are malformed."""
    samples = [(index, line) for index, line in enumerate(lines) if line.label is not None]
    sizes = Counter(len(line.candidates) for _, line in samples)
    size = sizes.most_common(1)[0][0] if sizes else 0
    for index, line in samples:
        if len(line.candidates) != size:
            reason = f"{len(line.candidates)} candidates; the other samples have {size}"
            report.skip(reason, file=name, record=line.message.line or index)
    return [(index, line) for index, line in samples if len(line.candidates) == size], size


def _published_candidates(
    messages: list[Message], samples: list[tuple[int, ReferenceLine]], size: int
) -> tuple[list[str], NDArray[np.int64]]:
    """All texts, those of the messages first; and the (samples, candidates) indices of candidates in them."""
    utterances = {message.text: index for index, message in reversed(list(enumerate(messages)))}
    texts = [message.text for message in messages]
    candidates = np.empty((len(samples), size), np.int64)
    for row, (index, line) in enumerate(samples):
        for place, text in enumerate(line.candidates):
            if text not in utterances:
                utterances[text] = len(texts)
                texts.append(text)
            candidates[row, place] = index if place == line.label else utterances[text]
    return texts, candidates


def numbering() -> defaultdict[str, int]:
    """A mapping that gives every new key the next number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


class _MessageColumns:
    """Speakers, addressees and times of some messages."""

    def __init__(self, messages: Sequence[Message]) -> None:
        ids = numbering()
        self.speaker = np.array([ids[message.speaker] for message in messages], np.int32)
        self.addressee = np.array(
            [-1 if m.addressee is None else ids.get(m.addressee, -1) for m in messages], np.int32
        )
        self.time = np.array(_seconds(messages), np.int64)
        self.speakers = tuple(ids)

    def distances(self) -> NDArray[np.int32]:
        """(M,) How many messages ago the addressee last spoke; 0 for never or no addressee."""
        last: dict[int, int] = {}
        result = np.zeros(len(self.speaker), np.int32)
        pairs = zip(self.speaker.tolist(), self.addressee.tolist(), strict=True)
        for index, (speaker, addressee) in enumerate(pairs):
            if addressee in last:
                result[index] = index - last[addressee]
            last[speaker] = index
        return result

    def with_samples(
        self,
        name: str,
        *,
        texts: Sequence[str],
        tokens: Sequence[Sequence[str]],
        sample_message: NDArray[np.int64],
        sample_distance: NDArray[np.int32],
        candidates: dict[int, NDArray[np.int64]],
        labels: dict[int, NDArray[np.int64]],
    ) -> DocumentColumns:
        words = numbering()
        ids = [words[word] for utterance in tokens for word in utterance]
        return DocumentColumns(
            name=name,
            speakers=self.speakers,
            speaker=self.speaker,
            addressee=self.addressee,
            time=self.time,
            texts=tuple(text.encode("utf-8", "replace") for text in texts),
            words=tuple(words),
            tokens=np.array(ids, np.int64),
            lengths=np.array([len(utterance) for utterance in tokens], np.int64),
            sample_message=sample_message,
            sample_distance=sample_distance,
            candidates=candidates,
            labels=labels,
        )


def _samples(parts: _MessageColumns) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Indices and distances of addressed messages whose addressee has spoken before and is not the sender."""
    distances = parts.distances()
    chosen = np.flatnonzero((distances > 0) & (parts.addressee != parts.speaker))
    return chosen, distances[chosen]


def _seconds(messages: Sequence[Message]) -> list[int]:
    """Time of each message in whole seconds since 1970, or `NO_TIME`."""
    result = []
    last: datetime | None = None
    seconds = NO_TIME
    for message in messages:
        time = message.time
        if time is not last:  # lines of one minute share one object
            last = time
            seconds = NO_TIME if time is None else int(seconds_since_1970(time))
        result.append(seconds)
    return result
