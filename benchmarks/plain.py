"""Compares training with the fast computation and with the plain padded one: same accuracy, other speed.

    python benchmarks/plain.py CORPUS VECTORS --epochs 5 --json results/plain.json

Trains SI-RNN twice with our settings and one seed, one run after the other, through all epochs. Speeds depend
on the machine and its load; in `towhom bench train`, the two take turns.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import torch

from towhom.corpus import Corpus
from towhom.experiments import load_experiment
from towhom.records import circumstances, write_record
from towhom.text.vectors import WordVectors
from towhom.training.config import TrainingConfig
from towhom.training.loop import Watch, train

METRICS = ("adr", "res", "adr_res")


def course(training: dict[str, Any]) -> dict[str, Any]:
    """The part of a training's report that the record keeps."""
    by_epoch = [
        {
            "epoch": measured["epoch"],
            "loss": measured["loss"],
            **{metric: measured["dev"][metric] for metric in METRICS},
        }
        for measured in training["history"]
    ]
    return {
        "seconds": training["seconds"],
        "samples_per_second": training["samples_per_second"],
        "by_epoch": by_epoch,
    }


def show(measured: dict[str, Any]) -> None:
    """Print the results of an epoch."""
    dev = "  ".join(f"{metric} {measured['dev'][metric]:.2f}" for metric in METRICS)
    print(f"  epoch {measured['epoch']:2}  loss {measured['loss']:.5f}  {dev}", flush=True)


def main() -> None:
    """Train, print, record."""
    parser = argparse.ArgumentParser(description="Training with the fast and with the plain computation.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--context", type=int, default=15)
    parser.add_argument("--candidates", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    corpus, vectors = Corpus(options.corpus), WordVectors.load(options.vectors)
    sizes = {key: getattr(options, key) for key in ("epochs", "context", "candidates", "seed")}
    settings = {**load_experiment().settings["ours"], **sizes, "patience": options.epochs}
    runs = {}
    for name in ("fast", "plain"):
        print(name, flush=True)
        config = TrainingConfig(**settings, plain=name == "plain")
        with tempfile.TemporaryDirectory() as folder:
            runs[name] = course(
                train(config, corpus, vectors, Path(folder) / "model", watch=Watch(epoch=show))
            )
        print(f"  {runs[name]['seconds']} s, {runs[name]['samples_per_second']:,} samples/s", flush=True)
    if options.json:
        record = {
            **circumstances(),
            "corpus": corpus.manifest["hash"],
            "vectors": dict(vectors.source),
            "config": TrainingConfig(**settings).described(),
            "threads": torch.get_num_threads(),
            "ratio": round(runs["fast"]["samples_per_second"] / runs["plain"]["samples_per_second"], 1),
            **runs,
        }
        write_record(options.json, record)


if __name__ == "__main__":
    main()
