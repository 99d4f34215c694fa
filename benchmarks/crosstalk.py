"""What each part of Crosstalk is worth, and whether it generalises.

    python benchmarks/crosstalk.py CORPUS VECTORS MODELS RECORDS [--seeds 0 1 2] [--variant NAME ...]
        [--epochs N] [--also CORPUS ...]

Each variant differs in one thing and is trained like the whole, with as many seeds; those that are taught, by
models that were trained before, of the variant that they are taught by. A record a run; what has a
record is not run again, and a run that was killed goes on. All are measured on dev, with 2 and 10 candidates,
with as much context as training saw and, if that is more, with 15; with --also on the test samples of other
corpora as well, of which training has seen nothing.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from towhom.corpus import Corpus, Split
from towhom.evaluation.evaluator import evaluate
from towhom.evaluation.summary import describe
from towhom.models.registry import entry
from towhom.persistence import load_model
from towhom.records import circumstances, write_record
from towhom.text.vectors import WordVectors
from towhom.training.config import TrainingConfig
from towhom.training.loop import train

USUAL = 15
"""T of the protocol."""


@dataclass(frozen=True)
class Variant:
    """What differs from the whole: settings of the system, and of the training."""

    settings: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    teachers: str = ""
    """The variant whose models, of all of `TEACHERS`, teach it."""


TEACHERS = (0, 1, 2)
"""Seeds of models that teach others."""
VARIANTS = {
    "whole": Variant(),
    "no-overlap": Variant({"overlap": False}),
    "no-similarity": Variant({"similarity": False}),
    "no-names": Variant({"names": False}),
    "no-turns": Variant({"turns": False}),
    "no-links": Variant({"links": False}),
    "fixed-words": Variant({"words_rate": 1e-9}),
    "listed-candidates": Variant(training={"drawn": "listed"}),
    "one-false": Variant(training={"false": 1}),
    "narrow": Variant({"towers": 1, "content": 8, "evidence": 24, "strongest": 4, "hidden": 32}),
    "wide": Variant({"towers": 6, "content": 32, "evidence": 96, "strongest": 16, "hidden": 128}),
    "context-30": Variant({"positions": 30}, {"context": 30}),
    "taught": Variant(teachers="whole"),
    "taught-unaddressed": Variant(training={"unaddressed": 0.5}, teachers="whole"),
    "taught-30": Variant({"positions": 30}, {"context": 30}, "context-30"),
}


def run(
    name: str,
    config: TrainingConfig,
    corpus: Corpus,
    vectors: WordVectors,
    folder: Path,
    also: list[Corpus],
) -> dict[str, Any]:
    """Train a variant and measure it."""
    taught_by = VARIANTS[name].teachers
    teachers = [load_model(folder.with_name(f"{taught_by}-s{seed}")) for seed in TEACHERS if taught_by]
    training = train(config, corpus, vectors, folder, teachers=teachers)
    saved = load_model(folder)
    results = {}
    for where, split in [(corpus, Split.DEV), *((other, Split.TEST) for other in also)]:
        words = saved.vocabulary.ids(list(where.vocabulary.words))
        for context, size in product(sorted({config.context, min(config.context, USUAL)}), (2, 10)):
            outcomes = evaluate(saved.model, where, split, context=context, candidates=size, words=words)
            suffix = "" if context == config.context else f"-t{context}"
            results[f"{where.folder.name}-{size}{suffix}"] = describe(outcomes)
    kept = ("epochs", "seconds", "samples_per_second", "history")
    return {
        **circumstances(),
        "variant": name,
        "config": config.described(),
        "corpus": corpus.manifest["hash"],
        "vectors": dict(vectors.source),
        "training": {key: training[key] for key in kept},
        "results": results,
    }


def configured(name: str, seed: int, epochs: int | None) -> TrainingConfig:
    """How a variant is trained."""
    variant, usual = VARIANTS[name], entry("crosstalk").training
    settings = {**usual, **variant.training, "settings": {**usual["settings"], **variant.settings}}
    if epochs is not None:
        settings["epochs"] = epochs
    return TrainingConfig(system="crosstalk", seed=seed, **{"context": USUAL, **settings})


def table(records: Path, dev: str) -> str:
    """The mean and the deviation over seeds of every variant, as Markdown."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(records.glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        found.setdefault(record["variant"], []).append(record["results"])
    lines = [
        "| | seeds | ADR (2) | RES (2) | ADR-RES (2) | ADR (10) | RES (10) | ADR-RES (10) |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in (name for name in VARIANTS if name in found):
        cells = []
        for size in (2, 10):
            for metric in ("adr", "res", "adr_res"):
                values = np.array([result[f"{dev}-{size}"][metric] for result in found[name]])
                spread = f" ± {values.std(ddof=1):.2f}" if len(values) > 1 else ""
                cells.append(f"{values.mean():.2f}{spread}")
        lines.append(f"| {name} | {len(found[name])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, show the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("corpus", "vectors", "models", "records"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--variant", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--also", nargs="*", type=Path, default=[])
    options = parser.parse_args()
    corpus, vectors = Corpus(options.corpus), WordVectors.load(options.vectors)
    also = [Corpus(folder) for folder in options.also]
    for seed in options.seeds:
        for name in options.variant:
            path = options.records / f"{name}-s{seed}.json"
            if not path.exists():
                config = configured(name, seed, options.epochs)
                folder = options.models / f"{name}-s{seed}"
                record = run(name, config, corpus, vectors, folder, also)
                write_record(path, record)
                print(path.name, {k: v["adr_res"] for k, v in record["results"].items()}, flush=True)
    print(table(options.records, options.corpus.name))


if __name__ == "__main__":
    main()
