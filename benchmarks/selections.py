"""Selections a second without torch, on one core: from a corpus's columns to choices, many at a time.

    OMP_NUM_THREADS=1 python benchmarks/selections.py CORPUS MODEL ... [--context T ...] --json RECORD

`towhom bench live` measures the other case: one question at a time, as a chat runs, from texts to an answer.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np

from towhom.corpus import Corpus, Split
from towhom.persistence import load_model
from towhom.records import circumstances, write_record
from towhom.selection import choose

_BATCH = 256
_ROUNDS = 7


def main() -> None:
    """Measure some models in turn, so that all have the same machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument(
        "--context", type=int, nargs="*", help="T; what a model was trained with if not given"
    )
    parser.add_argument("--candidates", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    corpus = Corpus(options.corpus)
    samples = corpus.samples_of(Split.DEV)[: _BATCH * _ROUNDS]
    seconds: dict[str, list[float]] = {}
    systems = {}
    for folder in options.models:
        saved = load_model(folder)
        words = saved.vocabulary.ids(list(corpus.vocabulary.words))
        for context in options.context or [saved.context]:
            batcher = saved.runtime.batcher(
                corpus, context=context, candidates=options.candidates, words=words
            )
            systems[f"{saved.system} ({folder.name}), T = {context}"] = saved, batcher
            saved.runtime.score_many(batcher.questions(samples[:_BATCH]))  # warm
    for part in np.split(samples, range(_BATCH, len(samples), _BATCH)):
        for name, (saved, batcher) in systems.items():
            start = perf_counter()
            choose(saved.runtime.score_many(batcher.questions(part)), saved.rule)
            seconds.setdefault(name, []).append((perf_counter() - start) / len(part))
    result = {name: round(1 / float(np.median(each))) for name, each in seconds.items()}
    for name, rate in result.items():
        print(f"{name}: {rate:,} selections a second")
    if options.json:
        setting = {"candidates": options.candidates}
        write_record(options.json, {**circumstances(), **setting, "selections_per_second": result})


if __name__ == "__main__":
    main()
