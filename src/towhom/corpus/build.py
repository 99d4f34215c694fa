"""Build a corpus on disk from logs, as a stream; the bytes are the same for any number of processes."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from towhom.clusters import Pool, open_processes
from towhom.corpus.document import Built, DocumentSettings, build_document
from towhom.corpus.splits import Split, SplitBy, split_documents
from towhom.corpus.stats import split_statistics
from towhom.corpus.store import FORMAT, MANIFEST, VERSION, Corpus, is_corpus, read_manifest
from towhom.corpus.writer import CorpusWriter
from towhom.errors import CorpusError
from towhom.files import atomic_folder
from towhom.readers import Document, Log, Report, find_logs
from towhom.text.tokenizer import TREEBANK

_BATCH_RECORDS = 4_000
"""Lines sent to a worker at a time: enough to keep overhead low, few enough to share the work."""


class Names(StrEnum):
    """How speakers' names are treated among the words of texts."""

    HIDE = "hide"
    """Names become `<name>`, unless they are plainly words as well; see `towhom.corpus.vocabulary`."""
    KEEP = "keep"
    """Names stay words, as in the published corpus."""


@dataclass(frozen=True, kw_only=True)
class CorpusSettings:
    """All settings that a corpus depends on, besides its logs."""

    document: DocumentSettings = field(default_factory=DocumentSettings)
    names: Names = Names.HIDE
    split_by: SplitBy = SplitBy.RANDOM
    dev_share: float = 0.05
    test_share: float = 0.05

    def problems(self) -> list[str]:
        """Problems with the settings; empty if they are valid."""
        found = []
        sizes = self.document.candidates
        if not sizes or min(sizes) < 2 or max(sizes) > 255:
            found.append(f"candidates must be numbers from 2 to 255, not {list(sizes)}")
        if self.document.min_addressed < 0:
            found.append(f"min_addressed must not be negative, is {self.document.min_addressed}")
        if min(self.dev_share, self.test_share) < 0 or self.dev_share + self.test_share >= 1:
            found.append(
                f"the shares of dev and test must leave some for train: {self.dev_share}, {self.test_share}"
            )
        if self.document.seed < 0:
            found.append(f"the seed must not be negative, is {self.document.seed}")
        return found


@dataclass(frozen=True)
class Progress:
    """Progress of a build."""

    documents: int
    messages: int
    share: float
    """Share of the logs' bytes that have been read."""


def build_corpus(
    folder: str | Path,
    logs: Iterable[str | Path] = (),
    *,
    splits: Mapping[Split, Sequence[str | Path]] | None = None,
    format: str | None = None,
    settings: CorpusSettings | None = None,
    workers: int = 1,
    cluster: str | None = None,
    replace: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Corpus:
    """Build a corpus from chat logs, by the protocol of the paper.

    Nothing happens if the folder already holds the corpus of the same logs and settings. The folder appears
    only when it is complete; an interrupted build leaves nothing behind.

    Args:
        folder: Folder to create.
        logs: Files, folders and archives whose documents are to be split.
        splits: Files, folders and archives for which the split is given.
        format: The logs' format; None to recognize it from the files.
        settings: Candidates, seed, splits and so on.
        workers: Number of processes; the result does not depend on it.
        cluster: As for `towhom.clusters.open_pool`, instead of workers; logs are read and the corpus is
            written by this process.
        replace: Whether a corpus of other logs or settings in this folder may be replaced.
        progress: Called after each document.

    Raises:
        LogError: A log cannot be read.
        CorpusError: The folder is in use, the settings are invalid, or no document is left.
    """
    folder, logs = Path(folder), list(logs)
    settings = settings or CorpusSettings()
    if problems := settings.problems():
        raise CorpusError("; ".join(problems))
    report = Report(strict=settings.document.strict)
    if "-" in map(str, [*logs, *chain.from_iterable((splits or {}).values())]):
        raise CorpusError("a corpus cannot be built from standard input; save the log to a file first")
    given = [(split, list(paths)) for split, paths in (splits or {}).items()]
    found = [
        (log, split)
        for split, paths in [*given, (None, logs)]
        for log in find_logs(*paths, format=format, report=report)
    ]
    if not found:
        raise CorpusError("no logs were given")
    described = _description(found, settings)
    if folder.exists() and _stands(folder, described, replace=replace):
        return Corpus(folder)
    with atomic_folder(folder) as temporary:
        writer = CorpusWriter(temporary)
        try:
            with open_processes(workers, cluster) as pool:
                manifest = _fill(writer, found, settings, pool, report, progress)
        finally:
            writer.close()
        made = {"tokenizer": TREEBANK, "columns": _columns(temporary), "hash": _hash_columns(temporary)}
        manifest = {**described, **manifest, **made}
        _write_manifest(temporary, manifest)
        statistics = split_statistics(Corpus(temporary))
        _write_manifest(temporary, {**manifest, "statistics": statistics})
    return Corpus(folder)


def _fill(
    writer: CorpusWriter,
    found: list[tuple[Log, Split | None]],
    settings: CorpusSettings,
    pool: Pool,
    report: Report,
    progress: Callable[[Progress], None],
) -> dict[str, Any]:
    """Write all documents; return entries for the manifest."""
    left_out: Counter[str] = Counter(documents=0, messages=0, addressed=0)
    names: list[str] = []
    sources: list[int] = []
    *before, total = accumulate((log.source.size for log, _ in found), initial=0)
    with closing(_documents(found, report)) as jobs:
        for source, built in _build_all(jobs, settings.document, pool):
            report.add(built.report)
            if built.columns is not None:
                writer.append(built.columns)
                names.append(built.columns.name)
                sources.append(source)
            elif built.messages:
                left_out.update(documents=1, messages=built.messages, addressed=built.addressed)
            read = before[source] + found[source][0].source.position
            progress(Progress(writer.documents, writer.messages, min(1.0, read / max(1, total))))
    if not writer.documents:
        raise CorpusError(_nothing_left(left_out, settings))
    writer.finish(
        _split(names, sources, [split for _, split in found], settings),
        names=writer.words.names() if settings.names is Names.HIDE else set(),
    )
    return {
        "settings": {**_plain(settings), "candidates": list(writer.sizes or ())},
        "left_out": dict(left_out),
        "read": {
            "lines": {kind.value: count for kind, count in sorted(report.kinds.items())},
            "malformed": report.malformed,
            "not_utf8": report.redecoded,
            "files_skipped": len(report.skipped_files),
            "problems": report.problems,
        },
        "words_overflow": writer.words.overflow,
    }


def _documents(
    found: list[tuple[Log, Split | None]], report: Report
) -> Generator[tuple[int, Document], None, None]:
    for source, (log, _) in enumerate(found):
        with closing(log.documents(report)) as documents:
            yield from ((source, document) for document in documents)


def _build_all(
    jobs: Iterator[tuple[int, Document]], settings: DocumentSettings, pool: Pool
) -> Iterator[tuple[int, Built]]:
    """Build the columns of documents in one or several processes; yield them in order."""
    if not pool.processes:
        yield from ((source, build_document(document, settings)) for source, document in jobs)
        return
    batches = _batches(jobs)
    run = partial(_build_batch, settings=settings)
    waiting: deque[Future[list[tuple[int, Built]]]] = deque()
    try:
        for batch in batches:
            waiting.append(pool.executor.submit(run, batch))
            if len(waiting) > 2 * pool.places():
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        for each in waiting:
            each.cancel()


def _batches(jobs: Iterator[tuple[int, Document]]) -> Iterator[list[tuple[int, Document]]]:
    batch: list[tuple[int, Document]] = []
    records = 0
    for job in jobs:
        batch.append(job)
        records += len(job[1].records)
        if records >= _BATCH_RECORDS:
            yield batch
            batch, records = [], 0
    if batch:
        yield batch


def _build_batch(batch: list[tuple[int, Document]], settings: DocumentSettings) -> list[tuple[int, Built]]:
    return [(source, build_document(document, settings)) for source, document in batch]


def _split(
    names: list[str], sources: list[int], given: list[Split | None], settings: CorpusSettings
) -> list[Split]:
    """The split of each document: the one given for its log, or a chosen one."""
    free = [index for index, source in enumerate(sources) if given[source] is None]
    chosen = split_documents(
        [names[index] for index in free],
        [sources[index] for index in free],
        by=settings.split_by,
        shares=(settings.dev_share, settings.test_share),
        seed=settings.document.seed,
    )
    of_free = dict(zip(free, chosen, strict=True))
    return [given[source] or of_free[index] for index, source in enumerate(sources)]


def _description(found: list[tuple[Log, Split | None]], settings: CorpusSettings) -> dict[str, Any]:
    """Description of all inputs: two builds with the same description give the same corpus."""
    sources = []
    for log, split in found:
        size, digest = log.source.digest()
        entry = {
            "name": Path(log.source.name).name,
            "format": log.reader.name,
            "bytes": size,
            "sha256": digest,
        }
        sources.append(entry if split is None else {**entry, "split": split.value})
    return {
        "format": FORMAT,
        "version": VERSION,
        "sources": sources,
        "settings": _plain(settings),
        "candidates_asked": sorted(set(settings.document.candidates)),
    }


def _stands(folder: Path, described: dict[str, Any], *, replace: bool) -> bool:
    """Whether the folder already holds exactly this corpus.

    Raises:
        CorpusError: It holds something else that must not be replaced.
    """
    try:
        manifest = read_manifest(folder)
    except CorpusError:
        if replace and is_corpus(folder):
            return False
        raise  # a folder that is not a corpus is never replaced
    # Published files have their own numbers of candidates, so the numbers requested are kept separately.
    candidates = manifest["settings"]["candidates"]
    expected = {**described, "settings": {**described["settings"], "candidates": candidates}}
    if all(manifest.get(key) == value for key, value in expected.items()):
        return bool(manifest["columns"] == _columns(folder))  # a damaged corpus is rebuilt
    if not replace:
        raise CorpusError(
            f"{folder}: holds a corpus of other logs or settings; choose another folder, "
            "or replace it with --force"
        )
    return False


def _plain(settings: CorpusSettings) -> dict[str, Any]:
    values = asdict(settings)
    flat = {**values.pop("document"), **values}
    flat.pop("strict")  # it decides whether the build succeeds, not what it contains
    plain: dict[str, Any] = json.loads(json.dumps(flat))
    return plain


def _nothing_left(left_out: Counter[str], settings: CorpusSettings) -> str:
    return (
        f"no document is left: of {left_out['documents']} documents with {left_out['messages']} messages, "
        f"{left_out['addressed']} of them addressed, none has {settings.document.min_addressed} addressed "
        f"messages (lower it with --min-addressed) and the {max(settings.document.candidates)} messages "
        f"that candidates are drawn from"
    )


def _columns(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in sorted(folder.glob("*.npy"))}


def _hash_columns(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.npy")):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (folder / MANIFEST).write_text(text + "\n", "utf-8", errors="replace")
