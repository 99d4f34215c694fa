"""Cases of the report: of the richest setting that was run, by those that can still be asked."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.tiny import SETTINGS
from towhom.corpus import Corpus, Split
from towhom.evaluation.cases import System, find_cases
from towhom.experiments import Experiment, Row
from towhom.experiments.cases import table_cases
from towhom.experiments.run import Plan, run_all
from towhom.models.recency import DirectRecentTfIdf, RecentTfIdf
from towhom.persistence import load_model
from towhom.selection import Rule
from towhom.text.vectors import WordVectors

ROWS = (
    Row("chance", 4, 2),
    Row("recent-tfidf", 4, 2),
    Row("direct-recent-tfidf", 4, 2),
    Row("direct-recent-tfidf", 3, 2),
    Row("sirnn", 4, 2),
    Row("sirnn-log", 4, 2),
)
TABLE = Experiment(ROWS, {})
TITLES = ["Recent+TF-IDF", "Direct-Recent+TF-IDF", "SI-RNN, joint in logarithms", "SI-RNN"]
"""As they are shown."""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus, vectors: WordVectors) -> Plan:
    folder = tmp_path_factory.mktemp("runs")
    return Plan(corpus, vectors, folder / "records", folder / "models", SETTINGS, (Split.DEV,))


@pytest.fixture(scope="module")
def records(plan: Plan) -> list[dict[str, Any]]:
    return run_all(list(ROWS), plan)


def of(records: list[dict[str, Any]], *systems: str) -> list[dict[str, Any]]:
    return [record for record in records if record["identity"]["system"] in systems]


class TestSystems:
    def test_in_the_order_of_the_table_and_ours_last(self, plan: Plan, records: list[dict[str, Any]]) -> None:
        """Chance is not asked: it has no preference."""
        found = table_cases(TABLE, records, plan, number=2)
        assert len(found) == 2
        assert [list(case.selected) for case in found] == [TITLES, TITLES]

    def test_what_they_select(self, plan: Plan, records: list[dict[str, Any]]) -> None:
        saved, log = (load_model(plan.models / "sirnn-t4-c2-s0") for _ in range(2))
        log.model.rule = Rule.JOINT_LOG
        words = saved.vocabulary.ids(list(plan.corpus.vocabulary.words))
        systems = (
            System(RecentTfIdf(plan.corpus)),
            System(DirectRecentTfIdf(plan.corpus)),
            System(log.model, words),
            System(saved.model, words),
        )
        expected = find_cases(
            dict(zip(TITLES, systems, strict=True)),
            plan.corpus,
            plan.corpus.samples_of(Split.DEV),
            context=4,
            candidates=2,
            telling=3,
        )
        assert table_cases(TABLE, records, plan, number=3) == expected

    def test_without_ours_the_last(self, plan: Plan, records: list[dict[str, Any]]) -> None:
        (case,) = table_cases(TABLE, of(records, "recent-tfidf", "direct-recent-tfidf"), plan, number=1)
        assert list(case.selected) == TITLES[:2]
        right = case.selected[TITLES[1]]
        assert (right.right_addressee, right.right_response) == (True, True)

    @pytest.mark.parametrize("there", ["nothing", "another"])
    def test_a_model_that_is_not_there_any_more(
        self, there: str, plan: Plan, records: list[dict[str, Any]], tmp_path: Path
    ) -> None:
        moved = replace(plan, models=tmp_path)
        if there == "another":
            shutil.copytree(plan.models, tmp_path, dirs_exist_ok=True)
            moved = replace(moved, settings={**SETTINGS, "epochs": 7})
        (case,) = table_cases(TABLE, records, moved, number=1)
        assert list(case.selected) == TITLES[:2]
        assert table_cases(TABLE, of(records, "sirnn", "sirnn-log"), moved, number=1) == []


class TestSetting:
    def test_the_most_context(self, plan: Plan, records: list[dict[str, Any]]) -> None:
        direct = of(records, "direct-recent-tfidf")
        (case,) = table_cases(TABLE, direct, plan, number=1)
        assert len(case.context) == 4
        shorter = [record for record in direct if record["identity"]["context"] == 3]
        (case,) = table_cases(TABLE, shorter, plan, number=1)
        assert len(case.context) == 3

    def test_the_last_split(self, plan: Plan, records: list[dict[str, Any]]) -> None:
        both = replace(plan, splits=(Split.DEV, Split.TRAIN))
        samples = [case.sample for case in table_cases(TABLE, records, both, number=3)]
        assert set(samples) <= set(plan.corpus.samples_of(Split.TRAIN).tolist())


class TestNone:
    def test_asked_for(self, plan: Plan, records: list[dict[str, Any]]) -> None:
        assert table_cases(TABLE, records, plan, number=0) == []

    def test_chance_alone(self, plan: Plan, records: list[dict[str, Any]]) -> None:
        assert table_cases(TABLE, of(records, "chance"), plan, number=3) == []

    def test_no_rows_of_the_table(self, plan: Plan, records: list[dict[str, Any]]) -> None:
        assert table_cases(Experiment((), {}), records, plan, number=3) == []

    def test_nowhere_to_take_them_from(self, plan: Plan, records: list[dict[str, Any]]) -> None:
        assert table_cases(TABLE, records, replace(plan, splits=()), number=3) == []
