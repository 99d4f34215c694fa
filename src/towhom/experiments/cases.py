"""Cases for the report: the selections of the table's systems, sample by sample."""

from __future__ import annotations

from typing import Any

from towhom.evaluation.cases import Case, System, find_cases
from towhom.evaluation.evaluator import samples_to_measure
from towhom.experiments import Experiment, Row
from towhom.experiments.run import Plan, model_of
from towhom.extras import require
from towhom.models.registry import SYSTEMS, baseline, entry

_OF_INTEREST = "sirnn"


def table_cases(
    experiment: Experiment, records: list[dict[str, Any]], plan: Plan, *, number: int
) -> list[Case]:
    """The most telling samples of the largest setting that was run: most context, then most candidates.

    The systems are those with a record for it, and with a model if they need one, SI-RNN last; chance is left
    out, since it chooses nothing. The samples are from the last split.
    """
    done = {
        (key["system"], key["context"], key["candidates"])
        for key in (record["identity"] for record in records)
        if key["seed"] == 0
    }
    rows = [row for row in experiment.rows if (row.system, row.context, row.candidates) in done]
    if not number or not rows or not plan.splits:
        return []
    context, candidates = max((row.context, row.candidates) for row in rows)
    chosen = [row for row in rows if (row.context, row.candidates) == (context, candidates)]
    chosen.sort(key=lambda row: row.system == _OF_INTEREST)
    found = {SYSTEMS[row.system].title: _system(row, plan) for row in chosen}
    systems = {title: system for title, system in found.items() if system and system.selector.decides}
    if not systems:
        return []
    samples = samples_to_measure(plan.corpus, plan.splits[-1], candidates)
    return find_cases(systems, plan.corpus, samples, context=context, candidates=candidates, telling=number)


def _system(row: Row, plan: Plan) -> System | None:
    """The system of a row as run with the first seed; None if its model no longer exists."""
    if not entry(row.system).neural:
        return System(baseline(row.system, plan.corpus))
    folder, config = model_of(row, plan, seed=0)
    if not folder.exists():
        return None
    require("torch", extra="train", purpose="showing what a trained model selects")
    from towhom.persistence import load_model
    from towhom.training.loop import is_training_of

    saved = load_model(folder)
    if not is_training_of(saved.training, config, plan.corpus, plan.vectors):
        return None
    saved.model.rule = entry(row.system).rule or saved.model.rule
    return System(saved.model, saved.vocabulary.ids(list(plan.corpus.vocabulary.words)))
