"""From a trained model to one that people run: small, calibrated, able to rank addressees, with a card."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.corpus import Corpus, Split
from towhom.errors import TrainingError
from towhom.evaluation.addressees import Outcome, describe_addressees, follow_logs, follow_model
from towhom.evaluation.calibration import as_scores, cross_fitted, fit_calibration, reliability
from towhom.evaluation.evaluator import evaluate, summary
from towhom.evaluation.reply_links import LinkedLog
from towhom.evaluation.threads import describe_threads
from towhom.evaluation.threads import follow_logs as place_logs
from towhom.live import Model
from towhom.live.calibration import Calibration
from towhom.models.registry import SYSTEMS
from towhom.persistence import SavedModel, compacted, load_model, write_model
from towhom.records import circumstances, describe_data
from towhom.selection import choose
from towhom.training.addressees import RankerConfig, train_ranker
from towhom.training.privacy import without_names
from towhom.training.threads import ThreadsConfig, train_threads

_BATCH = 512


def make_package(
    model: Path,
    out: Path,
    *,
    corpus: Corpus,
    train: list[LinkedLog],
    dev: list[LinkedLog],
    config: RankerConfig,
    keep_ranker: bool = False,
    data: Iterable[Path] = (),
    about: str = "",
    progress: Callable[[str], None] = lambda name: None,
) -> dict[str, Any]:
    """Write the model to run; returns what was measured.

    Args:
        model: A folder that `towhom train` made.
        out: Where to write.
        corpus: Its dev part calibrates the selection of pairs.
        train: Chats with reply links, for the ranker of addressees and the networks of threads.
        dev: More of them, to calibrate it and to measure.
        config: How the ranker is trained.
        keep_ranker: Whether the ranker of addressees that the model has stays: only the networks of threads
            are trained.
        data: What the record calls the chats.
        about: What the card says about the data.
        progress: Called with the name of each chat that was followed.

    Raises:
        TrainingError: There is nothing to learn from, or to measure.
    """
    if not any(log.truth for log in dev):
        raise TrainingError("the dev links say of no message whom it addresses: there is nothing to measure")
    before = load_model(model)
    saved = compacted(replace(before, vocabulary=without_names(before.vocabulary, corpus, [*train, *dev])))
    select, calibration = _measure_select(before, saved, corpus)
    # What it may know of threads is learned anew, and of addressees, unless that is to stay.
    saved = replace(saved, live={"pairs": asdict(calibration)}, thread_weights={})
    if not keep_ranker:
        saved = train_ranker(replace(saved, live_weights={}), train, config, progress=progress)
    elif not saved.live_weights:
        raise TrainingError(f"{model}: has no ranker of addressees that could stay")
    saved, unnamed_reliability = _calibrated(saved, dev)
    addressees = describe_addressees(follow_logs(follow_model(Model(saved)), dev))
    addressees["calibration_names_nobody"] = unnamed_reliability
    saved = train_threads(saved, train, ThreadsConfig(seed=config.seed), progress=progress)
    threads = describe_threads(dev, place_logs(Model(saved).threads, dev))
    result = {"select": select, "addressees": addressees, "threads": threads}
    training = {
        **saved.training,
        "package": {
            **circumstances(),
            **(_ranker_of(before) if keep_ranker else {"ranker": asdict(config)}),
            "threads_training": asdict(ThreadsConfig(seed=config.seed)),
            "corpus": corpus.manifest["hash"],
            "links": [{"messages": len(_truths(logs))} for logs in (train, dev)],
            "data": describe_data(data),
            "live": saved.live,
            **result,
        },
    }
    write_model(out, replace(saved, training=training), compact=True, card=_card(saved, result, about))
    return result


def _measure_select(
    before: SavedModel, saved: SavedModel, corpus: Corpus
) -> tuple[dict[str, Any], Calibration]:
    """How good the selection of pairs is, by number of candidates, and one calibration for all of them."""
    names = list(corpus.vocabulary.words)
    result: dict[str, Any] = {}
    parts = []
    for size in sorted(corpus.samples.candidates):
        full, measured = (
            summary(
                evaluate(
                    each.model,
                    corpus,
                    Split.DEV,
                    context=each.context,
                    candidates=size,
                    words=each.vocabulary.ids(names),
                )
            )
            for each in (before, saved)
        )
        result[str(size)] = {
            **measured,
            "before_compacting": {key: full[key] for key in ("adr", "res", "adr_res")},
        }
        parts.append(_pairs(saved, corpus, size, saved.vocabulary.ids(names)))
    scores = _stacked([part[0] for part in parts])
    right, documents = (np.concatenate([part[place] for part in parts]) for place in (1, 2))
    sure = np.split(cross_fitted(scores, right, documents), len(parts))
    for found, confident, part in zip(result.values(), sure, parts, strict=True):
        found["calibration"] = reliability(confident, part[1])
    return result, fit_calibration(scores, right)


def _calibrated(saved: SavedModel, dev: list[LinkedLog]) -> tuple[SavedModel, dict[str, Any]]:
    """The temperature of who is not called, and its reliability on unseen documents."""
    outcomes = follow_logs(follow_model(Model(saved)), dev)
    unnamed = [each for each in outcomes if not each.named]
    right = np.array([each.right for each in unnamed])
    scores, documents = _scores(unnamed), np.array([each.document for each in unnamed])
    live = {
        **saved.live,
        "addressees": asdict(fit_calibration(scores, right)),
    }
    return replace(saved, live=live), reliability(cross_fitted(scores, right, documents), right)


def _ranker_of(before: SavedModel) -> dict[str, Any]:
    """How the ranker that stays was made."""
    made = before.training.get("package", {})
    told = ("commit", "date", "versions", "ranker", "corpus", "links")
    return {"ranker": made.get("ranker"), "ranker_of": {key: made[key] for key in told if key in made}}


def _truths(logs: list[LinkedLog]) -> list[int]:
    return [line for log in logs for line in log.truth]


def _scores(outcomes: list[Outcome]) -> NDArray[np.float64]:
    return as_scores([[each.probability for each in outcome.ranked] for outcome in outcomes])


def _pairs(
    saved: SavedModel, corpus: Corpus, candidates: int, words: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    """(S, pairs) Logarithmic scores of all pairs of the dev samples; whether the best is right; documents."""
    samples = corpus.samples_of(Split.DEV)
    batcher = saved.model.batcher(corpus, context=saved.context, candidates=candidates, words=words)
    rows, right = [], []
    for start in range(0, len(samples), _BATCH):
        part = samples[start : start + _BATCH]
        scores, answers = saved.model.score_many(batcher.questions(part)), batcher.answers(part)
        pairs = scores.logarithms(saved.rule)
        pairs[~np.isnan(scores.addressee).all(axis=1), 0] = -np.inf  # somebody else is there
        rows.append(pairs.reshape(len(part), -1))
        chosen = choose(scores, saved.rule)
        right.append((chosen.response == answers.response) & (chosen.addressee == answers.addressee))
    documents = np.searchsorted(corpus.documents.samples, samples, side="right") - 1
    return _stacked(rows), np.concatenate(right), documents


def _stacked(scores: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Rows below each other, those with fewer choices filled up with none."""
    widest = max(each.shape[1] for each in scores)
    return np.concatenate(
        [np.pad(each, ((0, 0), (0, widest - each.shape[1])), constant_values=-np.inf) for each in scores]
    )


def _card(saved: SavedModel, measured: dict[str, Any], about: str) -> str:
    """A page about the model, for people."""
    found = measured["addressees"]
    rows = [
        f"| {size} | {each['adr_res']:.2f} | {each['adr']:.2f} | {each['res']:.2f} "
        f"| {each['calibration']['error']:.3f} |"
        for size, each in measured["select"].items()
    ]
    template = (files("towhom.training") / "card.md").read_text("utf-8")
    return template.format(
        about=f"{fill(about, 118)}\n\n" if about else "",
        title=SYSTEMS[saved.system].title,
        context=saved.context,
        words=f"{len(saved.vocabulary.words):,}",
        rows="\n".join(rows),
        accuracy=found["accuracy"],
        messages=found["messages"],
        unnamed=found["names_nobody"]["messages"],
        unnamed_accuracy=found["names_nobody"]["accuracy"],
        max_words=saved.max_words or "",
        links=measured["threads"]["links"]["f1"],
        one_to_one=measured["threads"]["conversations"]["one_to_one"],
        exact=measured["threads"]["conversations"]["exact_match"]["f1"],
    )
