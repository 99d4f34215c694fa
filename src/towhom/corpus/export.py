"""Export a corpus to Parquet files for Polars, DuckDB, pandas and Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from towhom.corpus.document import NO_TIME
from towhom.corpus.splits import SPLITS
from towhom.corpus.store import Corpus
from towhom.errors import CorpusError
from towhom.extras import require
from towhom.files import atomic_folder

_ROWS = 100_000


def export_parquet(corpus: Corpus, folder: str | Path) -> dict[Path, int]:
    """Write `messages.parquet`, `samples.parquet`, `words.parquet` and, where needed, `candidates.parquet`.

    A candidate is a number: the `id` of a message or, in a corpus of published files, of a row of
    `candidates.parquet`, which holds the false candidates that are not messages.

    Returns:
        The files and their numbers of rows.

    Raises:
        CorpusError: The folder already exists.
        MissingExtraError: pyarrow is not installed.
    """
    require("pyarrow", extra="export", purpose="writing Parquet files")
    folder = Path(folder)
    if folder.exists():
        raise CorpusError(f"{folder}: already exists; choose another folder or remove it")
    with atomic_folder(folder) as temporary:
        tables = {"messages": _messages(corpus), "samples": _samples(corpus), "words": _words(corpus)}
        if len(corpus.utterances.text) > len(corpus.messages.speaker):
            tables["candidates"] = _loose(corpus)
        return {
            folder / f"{name}.parquet": _write(temporary / f"{name}.parquet", batches)
            for name, batches in tables.items()
        }


def _write(path: Path, batches: Iterator[dict[str, Any]]) -> int:
    """Write batches of columns, each as a row group, with one in memory at a time; return the row count."""
    import pyarrow as pa
    from pyarrow import parquet

    first = pa.table(next(batches))
    rows = len(first)
    with parquet.ParquetWriter(path, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for batch in batches:
            table = pa.table(batch).cast(first.schema)
            writer.write_table(table)
            rows += len(table)
    return rows


def _ranges(count: int) -> Iterator[tuple[int, int]]:
    for start in range(0, max(count, 1), _ROWS):
        yield start, min(start + _ROWS, count)


def _tokens(corpus: Corpus, start: int, stop: int) -> Any:
    import pyarrow as pa

    offsets = corpus.utterances.offsets[start : stop + 1]
    tokens = corpus.utterances.tokens[offsets[0] : offsets[-1]]
    return pa.LargeListArray.from_arrays(pa.array(offsets - offsets[0]), pa.array(tokens))


def _messages(corpus: Corpus) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    documents = corpus.documents
    for start, stop in _ranges(len(corpus.messages.speaker)):
        ids = np.arange(start, stop)
        document = np.searchsorted(documents.messages, ids, side="right") - 1
        names = _speaker_names(corpus, document)
        base = documents.speakers[document]
        speaker = (corpus.messages.speaker[start:stop] + base).tolist()
        addressee = corpus.messages.addressee[start:stop]
        named = np.where(addressee >= 0, addressee + base, -1).tolist()
        time = corpus.messages.time[start:stop]
        yield {
            "id": pa.array(ids, pa.int64()),
            "document": pa.array([documents.names[i] for i in document.tolist()], pa.large_string()),
            "split": pa.array([SPLITS[i].value for i in documents.split[document].tolist()], pa.string()),
            "position": pa.array(ids - documents.messages[document], pa.int64()),
            "speaker": pa.array([names[i] for i in speaker], pa.string()),
            "addressee": pa.array([None if i < 0 else names[i] for i in named], pa.string()),
            "time": pa.array(time, mask=time == NO_TIME).cast(pa.timestamp("s")),
            "text": pa.array(corpus.utterances.text.slice(start, stop), pa.large_string()),
            "tokens": _tokens(corpus, start, stop),
        }


def _speaker_names(corpus: Corpus, document: np.ndarray[Any, Any]) -> dict[int, str]:
    """Names of the speakers of a run of documents, by their number in the corpus."""
    if not len(document):
        return {}
    first = int(corpus.documents.speakers[document[0]])
    last = int(corpus.documents.speakers[document[-1] + 1])
    return dict(enumerate(corpus.speaker_names.slice(first, last), first))


def _samples(corpus: Corpus) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    samples, documents = corpus.samples, corpus.documents
    for start, stop in _ranges(len(samples.message)):
        message = samples.message[start:stop].astype(np.int64)
        document = np.searchsorted(documents.messages, message, side="right") - 1
        batch = {
            "id": pa.array(np.arange(start, stop), pa.int64()),
            "message": pa.array(message, pa.int64()),
            "split": pa.array([SPLITS[i].value for i in documents.split[document].tolist()], pa.string()),
            "distance": pa.array(samples.distance[start:stop], pa.int32()),
        }
        for size, candidates in samples.candidates.items():
            flat = pa.array(candidates[start:stop].astype(np.int64).ravel(), pa.int64())
            batch[f"candidates_{size}"] = pa.FixedSizeListArray.from_arrays(flat, size)
            batch[f"label_{size}"] = pa.array(samples.labels[size][start:stop], pa.uint8())
        yield batch


def _words(corpus: Corpus) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    vocabulary = corpus.vocabulary
    for start, stop in _ranges(len(vocabulary.words)):
        yield {
            "id": pa.array(np.arange(start, stop), pa.int64()),
            "word": pa.array(vocabulary.words.slice(start, stop), pa.string()),
            "count": pa.array(vocabulary.counts[start:stop], pa.int64()),
        }


def _loose(corpus: Corpus) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    messages, text = len(corpus.messages.speaker), corpus.utterances.text
    for first, last in _ranges(len(text) - messages):
        start, stop = messages + first, messages + last
        yield {
            "id": pa.array(np.arange(start, stop), pa.int64()),
            "text": pa.array(text.slice(start, stop), pa.large_string()),
            "tokens": _tokens(corpus, start, stop),
        }
