"""Write documents one by one into the columns of a corpus. Memory holds one document and the words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

from towhom.corpus.columns import ColumnWriter, OffsetsWriter, open_column, read_pieces
from towhom.corpus.document import DocumentColumns
from towhom.corpus.splits import SPLITS, Split
from towhom.corpus.vocabulary import WordCounter, final_vocabulary
from towhom.errors import CorpusError


class CorpusWriter:
    """Appends documents to the columns in a folder; `finish` completes what is known only at the end.

    That is the splits, the order of the words, and the indices of utterances that are not messages.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()
        self.words = WordCounter()
        self.documents = 0
        self.messages = 0
        self.samples = 0
        self.sizes: tuple[int, ...] | None = None
        self._loose = 0
        self._document_tokens = [0]
        column, strings = self._column, self._strings
        self._names = strings("documents.name")
        self._document_messages = self._offsets("documents.messages")
        self._document_samples = self._offsets("documents.samples")
        self._document_speakers = self._offsets("documents.speakers")
        self._speakers = strings("speakers.name")
        self._speaker = column("messages.speaker", np.int32)
        self._addressee = column("messages.addressee", np.int32)
        self._time = column("messages.time", np.int64)
        # Utterances of messages, and those that are not messages; the latter are appended at the end.
        self._texts = (strings("utterances.text"), strings("loose.text"))
        self._tokens = (column("numbers", np.uint32), column("loose.numbers", np.uint32))
        self._token_offsets = (
            self._offsets("utterances.tokens.offsets"),
            self._offsets("loose.tokens.offsets"),
        )
        self._sample_message = column("samples.message", np.uint32)
        self._sample_distance = column("samples.distance", np.int32)
        self._candidates: dict[int, tuple[ColumnWriter, ColumnWriter]] = {}

    def _column(self, name: str, dtype: DTypeLike, width: int | None = None) -> ColumnWriter:
        return self._open.enter_context(ColumnWriter(self._folder / f"{name}.npy", dtype, width))

    def _offsets(self, name: str) -> OffsetsWriter:
        return self._open.enter_context(OffsetsWriter(self._folder / f"{name}.npy"))

    def _strings(self, name: str) -> StringsWriter:
        return StringsWriter(self._column(name, np.uint8), self._offsets(f"{name}.offsets"))

    def append(self, document: DocumentColumns) -> None:
        """Append a document.

        Raises:
            CorpusError: Its samples have different numbers of candidates from those before.
        """
        self._check_sizes(document)
        messages = len(document.speaker)
        first, loose = self.messages, self._loose
        self._names.append([document.name.encode("utf-8", "replace")])
        self._speakers.append([name.encode("utf-8", "replace") for name in document.speakers])
        self._document_speakers.append_lengths(np.array([len(document.speakers)]))
        self._document_messages.append_lengths(np.array([messages]))
        self._document_samples.append_lengths(np.array([len(document.sample_message)]))
        self._speaker.append(document.speaker)
        self._addressee.append(document.addressee)
        self._time.append(document.time)
        numbers = self.words.add(document)[document.tokens]
        said = int(document.lengths[:messages].sum())
        halves = (slice(None, messages), slice(messages, None)), (slice(None, said), slice(said, None))
        for half in range(2):
            self._texts[half].append(document.texts[halves[0][half]])
            self._token_offsets[half].append_lengths(document.lengths[halves[0][half]])
            self._tokens[half].append(numbers[halves[1][half]])
        self._sample_message.append(document.sample_message + first)
        self._sample_distance.append(document.sample_distance)
        for size, (candidates, labels) in self._candidates.items():
            if size not in document.candidates:
                continue  # a published document without samples
            local = document.candidates[size]
            # Utterances that are not messages have negative indices until the number of messages is known.
            candidates.append(np.where(local < messages, local + first, messages - 1 - local - loose))
            labels.append(document.labels[size])
        self._document_tokens.append(self._document_tokens[-1] + said)
        self.documents += 1
        self.messages += messages
        self.samples += len(document.sample_message)
        self._loose += len(document.texts) - messages

    def _check_sizes(self, document: DocumentColumns) -> None:
        sizes = tuple(sorted(document.candidates))
        if not len(document.sample_message) and not sizes:
            return
        if self.sizes is None:
            self.sizes = sizes
            for size in sizes:
                self._candidates[size] = (
                    self._column(f"samples.candidates-{size}.signed", np.int64, size),
                    self._column(f"samples.label-{size}", np.uint8),
                )
        elif sizes != self.sizes:
            raise CorpusError(
                f"the samples of {document.name} have {_listed(sizes)} candidates, those before it "
                f"{_listed(self.sizes)}; build a corpus from each"
            )

    def finish(self, splits: Sequence[Split], *, names: set[str]) -> None:
        """Complete the corpus with the split of each document and the names to hide."""
        self._open.close()
        folder = self._folder
        np.save(folder / "documents.split.npy", np.array([SPLITS.index(split) for split in splits], np.uint8))
        words = self.words.words
        counts = self._train_counts(splits, len(words))
        final_words, final_counts, ids = final_vocabulary(words, counts, names)
        with (
            ColumnWriter(folder / "words.npy", np.uint8) as data,
            OffsetsWriter(folder / "words.offsets.npy") as ends,
        ):
            StringsWriter(data, ends).append([word.encode("utf-8", "replace") for word in final_words])
        np.save(folder / "words.count.npy", final_counts)
        with ColumnWriter(folder / "utterances.tokens.npy", np.uint32) as column:
            for name in ("numbers", "loose.numbers"):
                for numbers in read_pieces(folder / f"{name}.npy"):
                    column.append(ids[numbers])
        self._join_utterances()
        self._place_candidates()
        for left_over in (
            "numbers",
            "loose.numbers",
            "loose.text",
            "loose.text.offsets",
            "loose.tokens.offsets",
        ):
            (folder / f"{left_over}.npy").unlink()

    def _train_counts(self, splits: Sequence[Split], words: int) -> NDArray[np.int64]:
        """How often each word occurs in the training documents."""
        counts = np.zeros(words, np.int64)
        train = [index for index, split in enumerate(splits) if split is Split.TRAIN]
        for run in _runs(train):
            first, last = self._document_tokens[run.start], self._document_tokens[run.stop]
            for numbers in read_pieces(self._folder / "numbers.npy", first, last):
                counts += np.bincount(numbers, minlength=words)
        return counts

    def _join_utterances(self) -> None:
        """Append the utterances that are not messages to those of the messages."""
        if not self._loose:
            return
        folder = self._folder
        for name in ("utterances.text.offsets", "utterances.tokens.offsets"):
            loose = open_column(folder / f"{name.replace('utterances', 'loose')}.npy")
            said = np.load(folder / f"{name}.npy")
            np.save(folder / f"{name}.npy", np.concatenate([said, said[-1] + loose[1:]]))
        with ColumnWriter(folder / "joined.npy", np.uint8) as column:
            for name in ("utterances.text", "loose.text"):
                for piece in read_pieces(folder / f"{name}.npy"):
                    column.append(piece)
        (folder / "joined.npy").replace(folder / "utterances.text.npy")

    def _place_candidates(self) -> None:
        """Replace the negative indices of candidates by the final ones, after the messages."""
        for size in self._candidates:
            signed_path = self._folder / f"samples.candidates-{size}.signed.npy"
            with ColumnWriter(self._folder / f"samples.candidates-{size}.npy", np.uint32, size) as column:
                for signed in read_pieces(signed_path):
                    column.append(np.where(signed < 0, self.messages - 1 - signed, signed))
            signed_path.unlink()

    def close(self) -> None:
        """Close the files of an unfinished corpus."""
        self._open.close()


class StringsWriter:
    """Appends to a column of strings."""

    def __init__(self, data: ColumnWriter, offsets: OffsetsWriter) -> None:
        self._data = data
        self._offsets = offsets

    def append(self, strings: Sequence[bytes]) -> None:
        """Append strings."""
        self._data.append_bytes(b"".join(strings))
        self._offsets.append_lengths(np.fromiter(map(len, strings), np.int64, len(strings)))


def _runs(numbers: Iterable[int]) -> list[range]:
    """Group ascending numbers into runs of consecutive numbers.

    >>> _runs([0, 1, 2, 5, 6])
    [range(0, 3), range(5, 7)]
    """
    runs: list[range] = []
    for number in numbers:
        if runs and runs[-1].stop == number:
            runs[-1] = range(runs[-1].start, number + 1)
        else:
            runs.append(range(number, number + 1))
    return runs


def _listed(sizes: Sequence[int]) -> str:
    return " and ".join(map(str, sizes)) or "no"
