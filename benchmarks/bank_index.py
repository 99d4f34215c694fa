"""What the index of a large bank finds of what exact search finds, and what each costs a query.

    python benchmarks/bank_index.py BANK --responses 1000000 --json RECORD

The vectors of a bank are multiplied to a given number, each copy a little different; queries are what
responses of the bank answered. Costs are processor time of one core, so that other work on the machine counts
little; they are of the search alone.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

from towhom import load
from towhom.bank import Bank
from towhom.bank.search import nearest
from towhom.bank.store import file_digest
from towhom.bank.tables import VECTORS, quantized
from towhom.bank.writing import write_manifest
from towhom.hearing.utterance import Utterance
from towhom.hearing.words import words
from towhom.live.banking import index_bank
from towhom.live.responding import FOUND
from towhom.records import circumstances, write_record

_NOISE = 0.05
"""Size of the noise added to each number of a copy; vectors have length 1 and 96 numbers of about 0.1."""
_QUERIES = 100


def main() -> None:
    """Make the bank, index it, and search it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("--responses", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = load()
    with tempfile.TemporaryDirectory(dir=options.bank.parent) as folder:
        large = _multiplied(options.bank, Path(folder) / "bank", options.responses)
        start = process_time()
        (tuned,) = index_bank(large, model).values()
        built = process_time() - start
        bank = Bank(large.folder)
        rows = np.random.default_rng(1).permutation(len(Bank(options.bank)))[:_QUERIES].tolist()
        asked = [words(Bank(options.bank)[row].question) for row in rows]
        said = [Utterance("", "", tokens=model.lexicon.tokens(each, lambda word: False)) for each in asked]
        queries = model.head.heard(model.mind.read(said).state)
        found, seconds = {}, {}
        for exact in (False, True):
            nearest(bank, queries[0], FOUND, exact=exact)  # loads the pages into memory
            start = process_time()
            found[exact] = [{*nearest(bank, query, FOUND, exact=exact)} for query in queries]
            seconds[exact] = (process_time() - start) / len(queries)
        shares = [len(a & b) / len(b) for a, b in zip(found[False], found[True], strict=True)]
        record = {
            **circumstances(), "responses": len(bank), "queries": len(queries), "nearest": FOUND,
            "recall": round(float(np.mean(shares)), 4), "recall_when_tuned": round(tuned, 4),
            "probes": bank.segments[0].probes, "index_bytes": _size(bank),
            "processor_milliseconds": {
                "index": round(1000 * seconds[False], 2), "exact": round(1000 * seconds[True], 2),
            },
            "processor_seconds_to_build": round(built, 1),
        }  # fmt: skip
    print({name: record[name] for name in ("responses", "recall", "probes", "processor_milliseconds")})
    if options.json:
        write_record(options.json, record)


def _size(bank: Bank) -> int:
    return sum(path.stat().st_size for path in bank.folder.rglob("*.faiss"))


def _multiplied(source: Path, folder: Path, count: int) -> Bank:
    """A bank of so many responses, of which only vectors and questions are used."""
    shutil.copytree(source, folder)
    bank = Bank(folder)
    table = bank.segments[0].table
    vectors = table[VECTORS].astype(np.float32) * table["scale"][:, None]
    random = np.random.default_rng(0)
    copies = -(-count // len(vectors))
    parts = [vectors + random.normal(0, _NOISE, vectors.shape).astype(np.float32) for _ in range(copies)]
    segment = bank.segments[0].folder
    every = np.concatenate(parts)[:count]
    every /= np.linalg.norm(every, axis=1, keepdims=True)
    rows = np.arange(count) % len(table)
    columns = table.at(rows).columns
    columns[VECTORS], columns["scale"] = quantized(every)
    for name, values in columns.items():
        np.save(segment / f"{name}.npy", values)
    files = {path.name: [path.stat().st_size, file_digest(path)] for path in sorted(segment.iterdir())}
    entry = {"name": segment.name, "responses": count, "files": files}
    write_manifest(folder, {**bank.manifest, "segments": [entry]})
    return Bank(folder)


if __name__ == "__main__":
    main()
