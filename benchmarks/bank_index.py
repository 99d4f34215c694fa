"""What the index of a large bank finds of what exact search finds, and what each costs a query.

    python benchmarks/bank_index.py BANK --responses 10000000 --json RECORD

The vectors of a bank are multiplied to a given number, each copy a little different; queries are what
responses of the bank answered. Costs are processor time of one core, so that other work on the machine counts
little; they are of the search alone. The time to open is that of the wall clock, in a new process, from the
manifest to the end of the first search; the files have been read before, so it is not that of a disk.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from towhom import load
from towhom.bank import Bank
from towhom.bank.approximate import write_index
from towhom.bank.search import nearest
from towhom.bank.store import WORDS, file_digest
from towhom.bank.tables import FIXED, LISTS, TEXTS, VECTORS, quantized
from towhom.bank.tables import SCALES as WIDE
from towhom.bank.writing import write_manifest
from towhom.blas import one_thread
from towhom.corpus.columns import ColumnWriter
from towhom.live import Model
from towhom.live.responding import FOUND
from towhom.records import circumstances, write_record
from towhom.training.bank_queries import describe
from towhom.training.bank_vectors import states, tokens_of

_NOISE = 0.05
"""Size of the noise added to each number of a copy; vectors have 96 numbers of about 0.1 at length 1."""
_TUNED_BY, _QUERIES = 256, 100
"""Numbers of questions by which the index is tuned, and by which it is measured; no question is in both."""
_BLOCK = 1 << 15
_OPEN = """
import sys, time
import numpy as np
from towhom.bank import Bank
from towhom.bank.approximate import has_faiss
from towhom.bank.search import nearest
import faiss
vector = np.load(sys.argv[2])
start = time.perf_counter()
bank = Bank(sys.argv[1])
opened = time.perf_counter() - start
nearest(bank, vector, 300)
print(opened, time.perf_counter() - start)
"""


def main() -> None:
    """Make the bank, index it, and search it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("--responses", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    circumstanced, model, source = circumstances(), load(), Bank(options.bank)
    drawn = np.random.default_rng(1).permutation(len(source))[: _TUNED_BY + _QUERIES]
    asked = _vectors(model, [source[int(row)].question for row in drawn])
    with tempfile.TemporaryDirectory(dir=options.bank.parent) as folder, one_thread():
        large = _multiplied(source, Path(folder) / "bank", options.responses)
        start = process_time()
        (tuned,) = write_index(large, asked[:_TUNED_BY]).values()
        built = process_time() - start
        bank, queries = Bank(large.folder), asked[_TUNED_BY:]
        found, seconds = {}, {}
        for exact in (False, True):
            nearest(bank, queries[0], FOUND, exact=exact)  # loads the pages into memory
            start = process_time()
            found[exact] = [{*nearest(bank, query, FOUND, exact=exact)} for query in queries]
            seconds[exact] = (process_time() - start) / len(queries)
        shares = [len(a & b) / len(b) for a, b in zip(found[False], found[True], strict=True)]
        opened, searched = _time_to_open(bank, queries[0])
        vectors = bank.segments[0].folder / f"{VECTORS}.npy"
        record = {
            **circumstanced, "model": model.fingerprint, "responses": len(bank), "queries": len(queries),
            "nearest": FOUND, "recall": round(float(np.mean(shares)), 4),
            "recall_when_tuned": round(tuned, 4),
            "probes": bank.segments[0].probes, "index_bytes": _size(bank),
            "vector_bytes": vectors.stat().st_size,
            "processor_milliseconds": {
                "index": round(1000 * seconds[False], 2), "exact": round(1000 * seconds[True], 2),
            },
            "seconds_to_open": round(opened, 3), "seconds_to_open_and_search": round(searched, 3),
            "processor_seconds_to_build": round(built, 1),
            "bank": describe(source),
        }  # fmt: skip
    print({name: value for name, value in record.items() if name not in circumstanced and name != "bank"})
    if options.json:
        write_record(options.json, record)


def _vectors(model: Model, questions: list[str]) -> NDArray[np.float32]:
    return model.head.heard(states(model, tokens_of(model, questions)))


def _time_to_open(bank: Bank, query: NDArray[np.float32]) -> tuple[float, float]:
    """Seconds until the bank is open, and until it has been searched once."""
    np.save(bank.folder.parent / "query.npy", query)
    command = [sys.executable, "-c", _OPEN, str(bank.folder), str(bank.folder.parent / "query.npy")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    opened, searched = map(float, done.stdout.split())
    return opened, searched


def _size(bank: Bank) -> int:
    return sum(path.stat().st_size for path in bank.folder.rglob("*.faiss"))


def _multiplied(source: Bank, folder: Path, count: int) -> Bank:
    """A bank of so many responses, of which only the vectors have any content."""
    segment = folder / "segment-0000"
    segment.mkdir(parents=True)
    table, random = source.segments[0].table, np.random.default_rng(0)
    width = table[VECTORS].shape[1]
    with ExitStack() as stack:

        def column(name: str, kind: type[np.generic], width: int | None = None) -> ColumnWriter:
            return stack.enter_context(ColumnWriter(segment / f"{name}.npy", kind, width))

        fixed = {name: column(name, kind) for name, kind in FIXED.items()}
        wide = {name: column(name, np.int8, width) for name in WIDE}
        kinds: dict[str, type[np.generic]] = {**dict.fromkeys(TEXTS, np.uint8), **LISTS}
        offsets = [column(f"{name}.offsets", np.int64) for name in kinds]
        for name, kind in kinds.items():
            column(name, kind)
        for start in range(0, count, _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, count))
            vectors = table[VECTORS][rows % len(table)] * table["scale"][rows % len(table)][:, None]
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            noise = random.normal(0, _NOISE, vectors.shape).astype(np.float32)
            noisy = vectors + np.where((rows < len(table))[:, None], 0.0, noise * lengths)
            noisy *= lengths / (np.linalg.norm(noisy, axis=1, keepdims=True) + 1e-9)
            values, scale = quantized(noisy.astype(np.float32))
            wide[VECTORS].append(values)
            for name, writer in (*wide.items(), *fixed.items()):
                if name != VECTORS:
                    empty = np.zeros_like(values) if name in wide else np.zeros(len(rows), writer.dtype)
                    writer.append(scale if name == "scale" else empty)
            for writer in offsets:
                writer.append(np.zeros(len(rows) + (start == 0), np.int64))
    shutil.copyfile(source.segments[0].folder / WORDS, segment / WORDS)
    files = {path.name: [path.stat().st_size, file_digest(path)] for path in sorted(segment.iterdir())}
    entry = {"name": segment.name, "responses": count, "files": files}
    write_manifest(folder, {**source.manifest, "segments": [entry]})
    return Bank(folder)


if __name__ == "__main__":
    main()
