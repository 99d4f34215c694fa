"""Splits a whole corpus into conversations, one per record, to train on or to read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from towhom.clusters import Pool, open_processes
from towhom.corpus import Corpus
from towhom.corpus.splits import SPLITS
from towhom.errors import CorpusError
from towhom.files import atomic_file
from towhom.live.model import load_live
from towhom.parts import prepare_parts
from towhom.threads import Placed

_PART = 20_000
"""Messages per part. A part is written when it is done, and not computed again."""
_OTHERS = {"corpus": "another corpus", "model": "another model", "least": "another --least"}
_WHOLE = "whole.jsonl"


class Done(NamedTuple):
    """The progress of a run."""

    documents: int
    messages: int
    conversations: int


def disentangle(
    corpus: Corpus,
    out: Path,
    *,
    model: Path | None = None,
    workers: int = 1,
    cluster: str | None = None,
    least: int = 1,
    replace: bool = False,
    progress: Callable[[Done], None] = lambda done: None,
) -> Done:
    """Write the conversations of a corpus as JSON lines, in the order of documents and of their starts.

    An interrupted run continues where it stopped; its parts lie beside the file until it is complete.

    Args:
        corpus: The corpus to split; each document is followed separately.
        out: The file to write.
        model: A model folder; None for the model that comes with towhom.
        workers: Number of processes; the file is the same for any number.
        cluster: As for `towhom.clusters.open_pool`, instead of workers; all its machines must see the corpus
            and the file's folder under the same path.
        least: Conversations of fewer messages are left out.
        replace: Whether a file of this name is replaced.
        progress: Called after each part.

    Raises:
        CorpusError: The file exists already, or there are parts of another or an unknown run.
    """
    if out.exists() and not replace:
        raise CorpusError(f"{out}: already exists; replace it with --force")
    parts = out.with_name(f"{out.name}.parts")
    wanted = {
        "corpus": corpus.manifest["hash"],
        "model": load_live(model).saved.fingerprint,
        "least": least,
    }
    prepare_parts(parts, wanted, others=_OTHERS, replace=replace, error=CorpusError)
    ranges = list(corpus.ranges(_PART))
    done = Done(0, 0, 0)
    folders = corpus.folder.absolute(), None if model is None else model.absolute()
    tasks = [(*folders, first, last, least, parts.absolute()) for first, last in ranges]
    with open_processes(workers, cluster) as pool:
        for found in _run(tasks, pool):
            done = Done(*(a + b for a, b in zip(done, found, strict=True)))
            progress(done)
    with atomic_file(
        parts / _WHOLE
    ) as file:  # among the parts, so that a killed run leaves nothing elsewhere
        for first, last in ranges:
            with _part(parts, first, last).open("rb") as part:
                shutil.copyfileobj(part, file)
    (parts / _WHOLE).replace(out)
    shutil.rmtree(parts)
    return done


def _run(tasks: list[tuple[Any, ...]], pool: Pool) -> Iterator[Done]:
    """Compute the parts, with a few of them running or waiting at a time."""
    left = iter(tasks)
    running: set[Future[Done]] = set()
    try:
        while True:
            for task in islice(left, 2 * pool.places() - len(running) if pool.processes else 1):
                running.add(pool.executor.submit(_write_part, *task))
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in finished)
    finally:
        for each in running:
            each.cancel()


def _part(parts: Path, first: int, last: int) -> Path:
    return parts / f"{first:08}-{last:08}.jsonl"


def _write_part(folder: Path, model: Path | None, first: int, last: int, least: int, parts: Path) -> Done:
    """Write the conversations of a range of documents, unless that was done already."""
    corpus, path = Corpus(folder), _part(parts, first, last)
    starts = corpus.documents.messages
    messages = int(starts[last] - starts[first])
    if path.exists():
        with path.open("rb") as file:
            return Done(last - first, messages, sum(1 for _ in file))
    loaded, count = load_live(model), 0
    with atomic_file(path, "w") as file:
        for document in range(first, last):
            conversation = corpus.conversation(document)
            threads: dict[int, list[Placed]] = {}
            for placed in loaded.threads(conversation.messages):
                threads.setdefault(placed.thread, []).append(placed)
            for thread, members in threads.items():
                if len(members) >= least:
                    record = {
                        "document": conversation.name,
                        "split": SPLITS[corpus.documents.split[document]].value,
                        "thread": thread,
                        "speakers": list(dict.fromkeys(each.message.speaker for each in members)),
                        "messages": [_message(each) for each in members],
                    }
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
                    count += 1
    return Done(last - first, messages, count)


def _message(placed: Placed) -> dict[str, Any]:
    message = placed.message
    return {
        "number": placed.line,
        "replies_to": list(placed.replies_to),
        "probability": round(placed.probability, 4),
        "time": message.time.isoformat() if message.time else None,
        "speaker": message.speaker,
        "addressee": message.addressee,
        "text": message.text,
    }
