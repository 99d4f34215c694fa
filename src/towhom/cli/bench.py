"""`towhom bench`: how fast it is on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from towhom.cli.options import FOLDER, echo_json
from towhom.corpus import Corpus
from towhom.extras import require
from towhom.models.registry import SYSTEMS
from towhom.records import circumstances, write_record
from towhom.text.vectors import WordVectors


@click.group()
def bench() -> None:
    """Measure speed on this machine; what is compared is measured in one run."""


@bench.command()
@click.option("--corpus", "folder", type=FOLDER, required=True, help="What `towhom corpus build` made.")
@click.option("--vectors", type=FOLDER, required=True, help="What `towhom vectors` made.")
@click.option(
    "--system",
    type=click.Choice([name for name, system in SYSTEMS.items() if system.neural]),
    default="sirnn",
    show_default=True,
    help="What to train.",
)
@click.option("--context", default=15, show_default=True, help="T, messages of context.")
@click.option("--batch", default=128, show_default=True, help="Samples of a batch.")
@click.option("--rounds", default=10, show_default=True, help="How often each takes its turn.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write a record of the run.")
def train(folder: Path, vectors: Path, out: Path | None, **options: Any) -> None:
    """Samples a second in training and prediction, beside the plain computation and the matmul peak."""
    require("torch", extra="train", purpose="training")
    from towhom.bench.training import bench_training

    result = bench_training(Corpus(folder), WordVectors.load(vectors), **options)
    echo_json(result)
    if out is not None:
        write_record(out, {**circumstances(), "corpus": Corpus(folder).manifest["hash"], **result})
