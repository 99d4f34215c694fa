"""Runs an experiment. Each completed run writes a record; runs that have a record are not repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.corpus import Corpus, Split
from towhom.errors import TowhomError
from towhom.evaluation.evaluator import evaluate
from towhom.evaluation.summary import describe
from towhom.experiments import Row
from towhom.extras import require
from towhom.models.base import Selector
from towhom.models.registry import baseline, entry
from towhom.records import circumstances, read_record, write_record
from towhom.text.vectors import WordVectors
from towhom.training.config import TrainingConfig

_SAME_MODEL = {"sirnn-log": "sirnn"}
"""Systems that use the model of another one with another rule, and are not trained themselves."""


@dataclass(frozen=True)
class Plan:
    """The data and settings that all runs of an experiment share."""

    corpus: Corpus
    vectors: WordVectors
    records: Path
    models: Path
    settings: dict[str, Any]
    """The settings for training."""
    splits: tuple[Split, ...]
    """The splits to evaluate on."""


def run_row(row: Row, plan: Plan, *, seed: int, watch: Any = None) -> dict[str, Any]:
    """The record of a run: read if it exists, else made by running it.

    Raises:
        TowhomError: There is a record with other data or settings at its path.
    """
    path = plan.records / f"{row.name}-s{seed}.json"
    identity = _identity(row, plan, seed)
    if path.exists():
        record = read_record(path)
        if record.get("identity") != identity:
            raise TowhomError(
                f"{path}: is the record of a run with other data or settings; choose another folder"
            )
        return record
    selector, words, training = _selector(row, plan, seed, watch)
    start = perf_counter()
    results = {}
    for split in plan.splits:
        outcomes = evaluate(
            selector,
            plan.corpus,
            split,
            context=row.context,
            candidates=row.candidates,
            words=words,
            rule=entry(row.system).rule,
        )
        results[split.value] = describe(outcomes)
    record = {
        **circumstances(),
        "identity": identity,
        "published": row.published,
        "training": training,
        "evaluation_seconds": round(perf_counter() - start, 2),
        "results": results,
    }
    write_record(path, record)
    return record


def is_run_of(record: dict[str, Any], plan: Plan) -> bool:
    """Whether a record has the plan's data and settings."""
    key = record["identity"]
    row = Row(key["system"], key["context"], key["candidates"])
    return bool(key == _identity(row, plan, key["seed"]))


def _identity(row: Row, plan: Plan, seed: int) -> dict[str, Any]:
    identity = {
        "system": row.system,
        "context": row.context,
        "candidates": row.candidates,
        "seed": seed,
        "corpus": plan.corpus.manifest["hash"],
    }
    if entry(row.system).neural:
        identity |= {"settings": plan.settings, "vectors": dict(plan.vectors.source)}
    plain: dict[str, Any] = json.loads(json.dumps(identity))
    return plain


def model_of(row: Row, plan: Plan, *, seed: int) -> tuple[Path, TrainingConfig]:
    """The folder of the model of a neural row, and its training settings."""
    system = _SAME_MODEL.get(row.system, row.system)
    config = TrainingConfig(
        system=system, context=row.context, candidates=row.candidates, seed=seed, **plan.settings
    )
    return plan.models / f"{Row(system, row.context, row.candidates).name}-s{seed}", config


def _selector(
    row: Row, plan: Plan, seed: int, watch: Any
) -> tuple[Selector, NDArray[np.int32] | None, dict[str, Any]]:
    """The system of a row, trained if necessary; its ids for the corpus's words; its training record."""
    if not entry(row.system).neural:
        return baseline(row.system, plan.corpus), None, {}
    require("torch", extra="train", purpose="training")
    from towhom.persistence import load_model
    from towhom.training.loop import is_training_of, train

    folder, config = model_of(row, plan, seed=seed)
    if not folder.exists():
        train(config, plan.corpus, plan.vectors, folder, watch=watch)
    saved = load_model(folder)
    if not is_training_of(saved.training, config, plan.corpus, plan.vectors):
        raise TowhomError(
            f"{folder}: is a model with other data or settings; choose another folder for the models"
        )
    kept = ("commit", "changed", "date", "best_epoch", "epochs", "seconds", "samples_per_second", "history")
    training = {key: saved.training[key] for key in kept if key in saved.training}
    return saved.model, saved.vocabulary.ids(list(plan.corpus.vocabulary.words)), training


def run_all(
    rows: list[Row],
    plan: Plan,
    *,
    seeds: int = 1,
    watch: Any = None,
    done: Callable[[Row, int, dict[str, Any]], None] = lambda row, seed, record: None,
) -> list[dict[str, Any]]:
    """The records of all rows and seeds, in order; systems without weights run with the first seed only."""
    records = []
    for seed in range(seeds):
        for row in rows:
            if seed and not entry(row.system).neural:
                continue
            record = run_row(row, plan, seed=seed, watch=watch)
            done(row, seed, record)
            records.append(record)
    return records
