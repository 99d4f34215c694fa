"""Training: it learns, it is repeatable, it stops in time, and it says what is wrong before it starts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.systems import NEURAL
from tests.training.conftest import quiz, weights
from towhom.batching import Questions
from towhom.corpus import Corpus, Split
from towhom.errors import ConfigError, CorpusError
from towhom.evaluation.evaluator import evaluate, summary
from towhom.model_folder import TRAINING
from towhom.models.chance import Chance
from towhom.models.recurrent import Inputs, RecurrentSelector
from towhom.models.registry import SYSTEMS
from towhom.nn import dialog
from towhom.nn.gru import GRU
from towhom.persistence import load_model
from towhom.selection import Rule
from towhom.testing.chats import random_document, write_corpus
from towhom.text.vectors import WordVectors
from towhom.training import loop
from towhom.training.config import TrainingConfig
from towhom.training.loop import Step, Watch, is_training_of, train


def on_dev(model: Path, corpus: Corpus) -> dict[str, Any]:
    """What a saved model comes to."""
    saved = load_model(model)
    words = saved.vocabulary.ids(list(corpus.vocabulary.words))
    outcomes = evaluate(saved.model, corpus, Split.DEV, context=saved.context, candidates=2, words=words)
    return summary(outcomes)


@pytest.mark.parametrize("system", ["sirnn", "dynamic-rnn"])
def test_learns_a_rule(
    system: str, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    chance = summary(evaluate(Chance(), corpus, Split.DEV, context=4, candidates=2))
    trained = train(replace(config, system=system, epochs=8), corpus, vectors, out)
    assert chance["adr_res"] < 10
    assert trained["dev"]["adr"] > 80
    assert trained["dev"]["res"] > 75
    assert trained["dev"]["adr_res"] > 70
    assert trained["history"][-1]["loss"] < trained["history"][0]["loss"] / 2


@pytest.mark.parametrize("false_addressee", ["hardest", "all"])
@pytest.mark.parametrize("system", NEURAL)
def test_every_system_is_saved_as_it_was_measured(
    system: str, false_addressee: Any, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    config = replace(config, system=system, false_addressee=false_addressee, epochs=1)
    trained = train(config, corpus, vectors, out, checkpoint_seconds=0)
    assert load_model(out).model.rule is (SYSTEMS[system].rule or load_model(out).model.rule)
    assert on_dev(out, corpus) == trained["dev"]
    assert not out.with_name("model.checkpoint").exists()
    assert [path.name for path in out.parent.iterdir()] == ["model"]


def test_the_rule_of_the_footnote_is_saved(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    train(replace(config, system="sirnn-log", epochs=1), corpus, vectors, out)
    assert load_model(out).model.rule is Rule.JOINT_LOG


def test_record(config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path) -> None:
    trained = train(config, corpus, vectors, out)
    assert json.loads((out / TRAINING).read_text("utf-8")) == trained
    assert trained["config"]["learning_rate"] == 0.01
    assert trained["corpus"]["hash"] == corpus.manifest["hash"]
    assert trained["corpus"]["training_samples"] > 300
    assert trained["vectors"] == {"seed": 0}
    assert [measured["epoch"] for measured in trained["history"]] == [1, 2, 3]
    best = max(measured["dev"]["adr_res"] for measured in trained["history"])
    assert trained["dev"]["adr_res"] == best
    assert trained["history"][trained["best_epoch"] - 1]["dev"] == trained["dev"]
    assert on_dev(out, corpus) == trained["dev"]


def test_words_that_only_dev_has_are_unknown(
    config: TrainingConfig, vectors: WordVectors, tmp_path: Path
) -> None:
    random = Random(0)
    strange = [said._replace(text="birch") for said in quiz(random, rounds=5)]
    plain = [[s._replace(text=s.text.replace("birch", "")) for s in quiz(random, rounds=9)] for _ in range(2)]
    corpus = write_corpus(tmp_path, {Split.TRAIN: plain, Split.DEV: [strange]})
    train(replace(config, epochs=1), corpus, vectors, tmp_path / "model")
    words = load_model(tmp_path / "model").vocabulary.words
    assert "amber" in words
    assert "birch" not in words


@pytest.mark.parametrize("system", ["sirnn", "static-hier-rnn"])
def test_the_seed_decides(
    system: str, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, tmp_path: Path
) -> None:
    config = replace(config, system=system)
    for name, seed in (("one", 3), ("same", 3), ("other", 4)):
        train(replace(config, seed=seed), corpus, vectors, tmp_path / name)
    assert weights(tmp_path / "one") == weights(tmp_path / "same")
    assert weights(tmp_path / "one") != weights(tmp_path / "other")


@pytest.mark.parametrize("system", ["sirnn", "static-rnn"])
def test_plain_is_fast_up_to_rounding(
    system: str, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, tmp_path: Path
) -> None:
    config = replace(config, system=system, epochs=2)
    fast = train(config, corpus, vectors, tmp_path / "fast")
    plain = train(replace(config, plain=True), corpus, vectors, tmp_path / "plain")
    assert len(fast["history"]) == len(plain["history"]) == 2
    for ours, theirs in zip(fast["history"], plain["history"], strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-3)
        for metric in ("adr", "res", "adr_res"):
            # Of 120 samples, one that is on the edge may fall to either side.
            assert ours["dev"][metric] == pytest.approx(theirs["dev"][metric], abs=1.0)
    # The saved model is computed in the fast way.
    assert on_dev(tmp_path / "plain", corpus)["adr"] == pytest.approx(plain["dev"]["adr"], abs=1.0)


def test_plain_is_plain(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is shared, and no kernel runs."""
    monkeypatch.delattr(GRU, "with_kernels")
    monkeypatch.delattr(GRU, "packed")
    monkeypatch.delattr(dialog, "final_states")
    sizes = []

    def inputs(self: RecurrentSelector, questions: Questions) -> Inputs:
        if self.training:
            sizes.append((len(questions.offsets) - 1) / len(questions))
        return made(self, questions)

    made = RecurrentSelector.inputs
    monkeypatch.setattr(RecurrentSelector, "inputs", inputs)
    train(replace(config, plain=True, epochs=1), corpus, vectors, out)
    assert set(sizes) == {config.context + 2}


def test_models_from_before_there_was_a_choice(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    """They do not say that they are not plain."""
    training = train(replace(config, epochs=1), corpus, vectors, out)
    assert "plain" not in training["config"]
    assert is_training_of(training, replace(config, epochs=1), corpus, vectors)
    assert not is_training_of(training, replace(config, epochs=1, plain=True), corpus, vectors)
    with pytest.raises(ConfigError, match="holds a model of other data or settings"):
        train(replace(config, epochs=1, plain=True), corpus, vectors, out)


def test_stops_when_dev_gets_no_better(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    trained = train(replace(config, learning_rate=1e-12, epochs=9, patience=2), corpus, vectors, out)
    assert (trained["best_epoch"], trained["epochs"], len(trained["history"])) == (1, 3, 3)


def test_ten_candidates(config: TrainingConfig, vectors: WordVectors, tmp_path: Path) -> None:
    random = Random(5)
    documents = [random_document(random, lines=60, people=4, candidates=10) for _ in range(3)]
    corpus = write_corpus(tmp_path, {Split.TRAIN: documents[:2], Split.DEV: documents[2:]}, candidates=10)
    trained = train(replace(config, candidates=10, epochs=2), corpus, vectors, tmp_path / "model")
    assert trained["dev"]["samples"] == len(corpus.samples_of(Split.DEV))
    assert 0 < trained["dev"]["mrr"] < 1


def test_watchers_are_told(config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path) -> None:
    steps: list[Step] = []
    epochs: list[dict[str, Any]] = []
    trained = train(config, corpus, vectors, out, watch=Watch(steps.append, epochs.append))
    assert epochs == trained["history"]
    batches = [step.batches for step in steps]
    assert [(step.epoch, step.batch) for step in steps] == [
        (epoch, batch)
        for epoch in range(3)
        for batch in range(1, batches[sum(s.epoch < epoch for s in steps)] + 1)
    ]
    assert all(step.loss > 0 and step.samples_per_second > 0 for step in steps)
    assert round(steps[batches[0] - 1].loss, 5) == epochs[0]["loss"]


class TestSaidBeforeAnyWork:
    @pytest.fixture(autouse=True)
    def _no_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr(loop, "ModelVocabulary")

    def test_all_wrong_settings(self, corpus: Corpus, vectors: WordVectors, out: Path) -> None:
        config = TrainingConfig(
            settings={"hiden": 3, "hidden": 0},
            context=0,
            candidates=1,
            run=0,
            learning_rate=float("nan"),
            weight_decay=-1,
            clip=0,
            epochs=0,
            patience=0,
            seed=-1,
            false_addressee="some",  # type: ignore[arg-type]
        )
        with pytest.raises(ConfigError) as caught:
            train(config, corpus, vectors, out)
        assert str(caught.value).split("; ") == [
            "context must be positive, is 0",
            "run must be positive, is 0",
            "learning_rate must be positive, is nan",
            "clip must be positive, is 0",
            "epochs must be positive, is 0",
            "patience must be positive, is 0",
            "candidates must be 2 or more, is 1",
            "weight_decay must not be negative, is -1",
            "seed must not be negative, is -1",
            "false_addressee must be hardest or all, is 'some'",
            "hiden is not a setting of sirnn",
            "known are dimensions, hidden, init, shared, joint",
            "hidden must be positive, is 0",
        ]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"batch": 100}, r"batch \(100\) must be a multiple of run \(16\)"),
            ({"batch": -16}, "batch must be positive, is -16"),
            ({"system": "recent-tfidf"}, "recent-tfidf learns nothing; it can be evaluated as it is"),
            ({"system": "rnn"}, "there is no system 'rnn'; known are"),
        ],
    )
    def test_wrong_setting(
        self, changes: dict[str, Any], message: str, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            train(TrainingConfig(**changes), corpus, vectors, out)
        assert not list(out.parent.iterdir())

    def test_no_such_candidates(
        self, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        with pytest.raises(CorpusError, match="its samples have 2 candidates, not 10"):
            train(replace(config, candidates=10), corpus, vectors, out)

    @pytest.mark.parametrize(("missing", "split"), [("train", Split.DEV), ("dev", Split.TRAIN)])
    def test_no_samples(
        self, missing: str, split: Split, config: TrainingConfig, vectors: WordVectors, tmp_path: Path
    ) -> None:
        corpus = write_corpus(tmp_path, {split: [quiz(Random(0), rounds=9)]})
        with pytest.raises(
            CorpusError, match=f"there are no samples for {missing} in it; see towhom corpus stats"
        ):
            train(config, corpus, vectors, tmp_path / "model")

    def test_too_much_context(
        self, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        with pytest.raises(CorpusError, match="there are no samples for train"):
            train(replace(config, context=10_000), corpus, vectors, out)

    @pytest.mark.parametrize("kind", ["folder", "file"])
    def test_a_place_that_is_taken(
        self, kind: str, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        note = out / "note.txt" if kind == "folder" else out
        note.parent.mkdir(exist_ok=True)
        note.write_text("keep me")
        with pytest.raises(
            ConfigError, match="model: already exists and is not a model; choose another folder"
        ):
            train(config, corpus, vectors, out)
        assert note.read_text() == "keep me"


def test_another_model_is_replaced_only_if_asked(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    train(replace(config, epochs=1), corpus, vectors, out)
    first = weights(out)
    other = replace(config, epochs=1, seed=9)
    with pytest.raises(ConfigError, match="holds a model of other data or settings; choose another folder"):
        train(other, corpus, vectors, out)
    assert weights(out) == first
    train(other, corpus, vectors, out, replace_model=True)
    assert weights(out) != first
    assert np.isfinite(on_dev(out, corpus)["adr_res"])


def test_the_same_model_is_not_trained_again(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    first = train(replace(config, epochs=1), corpus, vectors, out)
    steps: list[Step] = []
    assert train(replace(config, epochs=1), corpus, vectors, out, watch=Watch(steps.append)) == first
    assert steps == []


def test_the_processor_is_left_as_it_was(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    """Training counts tiny values as zero, which would be a surprise to everybody else in the process."""
    train(replace(config, epochs=1), corpus, vectors, out)
    assert 2.0**-1070 * 0.5 > 0.0
    assert float(torch.tensor(2.0**-130) * 0.5) > 0.0


def test_short_contexts(config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path) -> None:
    """Batches that see less of the context are learned from as well, and do better with little of it."""
    trained = train(replace(config, epochs=8, short=0.5), corpus, vectors, out)
    assert trained["config"]["short"] == 0.5
    assert trained["dev"]["adr_res"] > 70


class TestFromAModel:
    """Training that starts from a model."""

    @pytest.fixture
    def first(self, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, tmp_path: Path) -> Path:
        train(replace(config, epochs=2), corpus, vectors, tmp_path / "first")
        return tmp_path / "first"

    @pytest.mark.parametrize("system", ["sirnn", "dynamic-rnn"])
    def test_goes_on(
        self, system: str, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        """It begins where the other has ended, and leaves the other as it was."""
        config = replace(config, system=system, epochs=4)
        first = train(config, corpus, vectors, out.with_name("first"))
        start = load_model(out.with_name("first"))
        before = {name: value.copy() for name, value in start.weights.items()}
        second = train(replace(config, seed=1), corpus, start, out)
        assert second["history"][0]["loss"] < first["history"][1]["loss"]
        assert load_model(out).vocabulary.words == start.vocabulary.words
        assert on_dev(out, corpus) == second["dev"]
        assert on_dev(out.with_name("first"), corpus) == first["dev"]
        for name, value in start.weights.items():
            np.testing.assert_array_equal(value, before[name], err_msg=name)

    def test_hardly_anything_learned_hardly_anything_changed(
        self, first: Path, config: TrainingConfig, corpus: Corpus, out: Path
    ) -> None:
        start = load_model(first)
        train(replace(config, learning_rate=1e-12, epochs=1), corpus, start, out)
        assert on_dev(out, corpus) == on_dev(first, corpus)

    def test_record(
        self, first: Path, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        start = load_model(first)
        trained = train(replace(config, epochs=1), corpus, start, out)
        assert trained["before"] == start.training
        assert "vectors" not in trained
        assert len(trained["start"]) == 64
        assert is_training_of(trained, replace(config, epochs=1), corpus, start)
        assert not is_training_of(trained, replace(config, epochs=1), corpus, vectors)
        assert not is_training_of(trained, replace(config, epochs=1), corpus, load_model(out))

    def test_goes_on_after_a_stop(
        self, first: Path, config: TrainingConfig, corpus: Corpus, out: Path
    ) -> None:
        start, config = load_model(first), replace(config, epochs=2)
        train(config, corpus, start, out.with_name("undisturbed"))

        def stop(step: Step) -> None:
            if (step.epoch, step.batch) == (1, 2):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(config, corpus, start, out, watch=Watch(stop), checkpoint_seconds=0)
        train(config, corpus, load_model(first), out)
        assert weights(out) == weights(out.with_name("undisturbed"))

    @pytest.mark.parametrize(
        "change", [{"system": "dynamic-rnn", "settings": {}}, {"settings": {"hidden": 3}}, {"settings": {}}]
    )
    def test_another_model(
        self, change: dict[str, Any], first: Path, config: TrainingConfig, corpus: Corpus, out: Path
    ) -> None:
        expected = "the model to start from is sirnn with settings of its own, which stay as they are"
        with pytest.raises(ConfigError, match=expected):
            train(replace(config, **change), corpus, load_model(first), out)
        assert not out.exists()

    def test_the_plain_way(self, first: Path, config: TrainingConfig, corpus: Corpus, out: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be trained further with --plain"):
            train(replace(config, plain=True), corpus, load_model(first), out)
