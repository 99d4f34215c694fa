"""Runs: a record each, complete or not there; what has one is not run again."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.experiments.tiny import SETTINGS
from tests.training.conftest import quiz
from towhom.corpus import Corpus, Split
from towhom.errors import MissingExtraError, TowhomError
from towhom.evaluation.evaluator import evaluate, summary
from towhom.evaluation.metrics import Outcomes
from towhom.evaluation.summary import describe
from towhom.experiments import Row, run
from towhom.experiments.run import Plan, is_run_of, run_all, run_row
from towhom.model_folder import CONFIG, TRAINING
from towhom.models.chance import Chance
from towhom.persistence import load_model
from towhom.records import circumstances
from towhom.selection import Rule
from towhom.testing.chats import word_vectors, write_corpus
from towhom.text.vectors import WordVectors
from towhom.training import loop

CHANCE = Row("chance", 4, 2, {"adr": 1.24})
SIRNN = Row("sirnn", 4, 2)
LOG = Row("sirnn-log", 4, 2)


@pytest.fixture
def plan(tmp_path: Path, corpus: Corpus, vectors: WordVectors) -> Plan:
    return Plan(corpus, vectors, tmp_path / "records", tmp_path / "models", SETTINGS, (Split.DEV,))


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it trains again")

    monkeypatch.setattr(loop.Run, "train", refuse)


def times(folder: Path) -> dict[str, int]:
    """When each file below was last written."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


class TestRecord:
    def test_of_a_baseline(self, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "argv", ["/somewhere/bin/towhom", "reproduce", "out"])
        record = run_row(CHANCE, plan, seed=3)
        assert json.loads((plan.records / "chance-t4-c2-s3.json").read_text("utf-8")) == record
        assert record["identity"] == {
            "system": "chance",
            "context": 4,
            "candidates": 2,
            "seed": 3,
            "corpus": plan.corpus.manifest["hash"],
        }
        assert record["command"] == "towhom reproduce out"
        assert record.keys() >= circumstances().keys()  # the commit too, in a checkout
        assert record["published"] == {"adr": 1.24}
        assert record["training"] == {}
        assert record["evaluation_seconds"] >= 0
        measured = summary(evaluate(Chance(), plan.corpus, Split.DEV, context=4, candidates=2))
        assert record["results"].keys() == {"dev"}
        assert record["results"]["dev"].items() >= measured.items()

    def test_of_a_training(self, plan: Plan) -> None:
        record = run_row(SIRNN, plan, seed=0)
        training = json.loads((plan.models / "sirnn-t4-c2-s0" / TRAINING).read_text("utf-8"))
        assert record["identity"].items() >= {"settings": SETTINGS, "vectors": {"seed": 0}}.items()
        assert record["results"]["dev"].items() >= training["dev"].items()
        assert record["training"].items() <= training.items()
        assert record["training"].keys() >= {"best_epoch", "date", "history", "seconds"}
        assert record["training"]["epochs"] == 1

    def test_there_or_not(self, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
        def stop(*_: object, **__: object) -> Outcomes:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(run, "evaluate", stop)
            with pytest.raises(KeyboardInterrupt):
                run_row(CHANCE, plan, seed=0)
        assert not plan.records.exists()
        run_row(CHANCE, plan, seed=0)
        assert [path.name for path in plan.records.iterdir()] == ["chance-t4-c2-s0.json"]


class TestAgain:
    def test_nothing_is_done_twice(
        self, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
    ) -> None:
        first = run_row(SIRNN, plan, seed=0)
        before = times(tmp_path)
        request.getfixturevalue("no_training")
        monkeypatch.delattr(run, "evaluate")
        assert run_row(SIRNN, plan, seed=0) == first
        assert times(tmp_path) == before

    def test_a_trained_model_is_measured(self, plan: Plan, request: pytest.FixtureRequest) -> None:
        """A run that was stopped between training and measuring."""
        first = run_row(SIRNN, plan, seed=0)
        (plan.records / "sirnn-t4-c2-s0.json").unlink()
        request.getfixturevalue("no_training")
        again = run_row(SIRNN, plan, seed=0)
        assert again["results"] == first["results"]
        assert again["training"] == first["training"]

    @pytest.mark.parametrize("kept", ["record", "model"])
    @pytest.mark.parametrize("other", ["settings", "vectors", "corpus"])
    def test_not_what_was_made_of_other_data_or_settings(
        self, kept: str, other: str, plan: Plan, tmp_path: Path
    ) -> None:
        run_row(SIRNN, plan, seed=0)
        made = plan.records / "sirnn-t4-c2-s0.json"
        if kept == "model":
            made.unlink()
            made = plan.models / "sirnn-t4-c2-s0"
        changed: dict[str, Any] = {"settings": {**SETTINGS, "epochs": 2}}
        if other == "vectors":
            changed = {"vectors": word_vectors(10, known=plan.vectors.words, seed=1)}
        elif other == "corpus":
            documents = [quiz(Random(seed), rounds=20) for seed in (1, 2)]
            changed = {
                "corpus": write_corpus(tmp_path, {Split.TRAIN: documents[:1], Split.DEV: documents[1:]})
            }
        with pytest.raises(TowhomError, match="other data or settings") as error:
            run_row(SIRNN, replace(plan, **changed), seed=0)
        assert str(error.value).startswith(f"{made}: ")

    def test_a_baseline_has_no_settings(self, plan: Plan) -> None:
        first = run_row(CHANCE, plan, seed=0)
        assert run_row(CHANCE, replace(plan, settings={}), seed=0) == first


class TestRunOf:
    @pytest.mark.parametrize("row", [CHANCE, SIRNN], ids=lambda row: row.system)
    def test_this_plan(self, row: Row, plan: Plan) -> None:
        assert is_run_of(run_row(row, plan, seed=1), plan)

    def test_another(self, plan: Plan, tmp_path: Path) -> None:
        baseline, trained = run_row(CHANCE, plan, seed=0), run_row(SIRNN, plan, seed=0)
        other_vectors = replace(plan, vectors=word_vectors(10, known=plan.vectors.words, seed=1))
        for other in (replace(plan, settings={**SETTINGS, "epochs": 2}), other_vectors):
            assert is_run_of(baseline, other)
            assert not is_run_of(trained, other)
        documents = {split: [quiz(Random(1), rounds=20)] for split in (Split.TRAIN, Split.DEV)}
        other = replace(plan, corpus=write_corpus(tmp_path, documents))
        assert not is_run_of(baseline, other)
        assert not is_run_of(trained, other)


class TestFootnote:
    def test_it_is_measured_with_the_other_model(
        self, plan: Plan, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rules = []

        def evaluate_and_tell(*arguments: Any, rule: Rule | None, **options: Any) -> Outcomes:
            rules.append(rule)
            return evaluate(*arguments, rule=rule, **options)

        monkeypatch.setattr(run, "evaluate", evaluate_and_tell)
        run_row(SIRNN, plan, seed=0)
        request.getfixturevalue("no_training")
        record = run_row(LOG, plan, seed=0)
        assert rules == [None, Rule.JOINT_LOG]
        assert [path.name for path in plan.models.iterdir()] == ["sirnn-t4-c2-s0"]
        saved = load_model(plan.models / "sirnn-t4-c2-s0")
        words = saved.vocabulary.ids(list(plan.corpus.vocabulary.words))
        outcomes = evaluate(
            saved.model, plan.corpus, Split.DEV, context=4, candidates=2, words=words, rule=Rule.JOINT_LOG
        )
        assert record["results"]["dev"].items() >= summary(outcomes).items()

    def test_which_is_trained_if_need_be(self, plan: Plan) -> None:
        run_row(LOG, plan, seed=0)
        folder = plan.models / "sirnn-t4-c2-s0"
        assert json.loads((folder / CONFIG).read_text("utf-8"))["system"] == "sirnn"
        assert load_model(folder).model.rule is Rule.JOINT


def test_all_rows_and_seeds(plan: Plan) -> None:
    """What learns nothing cannot differ from seed to seed, and is run once."""
    done: list[tuple[Row, int, dict[str, Any]]] = []
    recent = Row("recent-tfidf", 4, 2)
    records = run_all([CHANCE, recent, SIRNN], plan, seeds=2, done=lambda *each: done.append(each))
    assert [(row, seed) for row, seed, _ in done] == [(CHANCE, 0), (recent, 0), (SIRNN, 0), (SIRNN, 1)]
    assert [record for _, _, record in done] == records
    names = ("chance-t4-c2-s0", "recent-tfidf-t4-c2-s0", "sirnn-t4-c2-s0", "sirnn-t4-c2-s1")
    assert sorted(path.stem for path in plan.records.iterdir()) == list(names)


def test_description(corpus: Corpus) -> None:
    found = describe(evaluate(Chance(), corpus, Split.DEV, context=4, candidates=2))
    for metric in ("adr", "res", "adr_res"):
        low, high = found["intervals"][metric]
        assert 0 <= low <= found[metric] <= high <= 100
    for groups in (found["by_speakers"], found["by_distance"]):
        assert sum(group["samples"] for group in groups) == found["samples"] == 120
        mean = sum(group["samples"] * group["adr"] for group in groups) / 120
        assert mean == pytest.approx(found["adr"], abs=1e-3)


def test_without_torch_there_is_a_command(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'towhom[train]'")):
        run_row(SIRNN, plan, seed=0)
