"""Learning from models that were trained before, and that see the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.chats import write_corpus
from tests.training.conftest import for_system, quiz, weights
from tests.training.test_resume import StoppedError, stop_at
from towhom.batching import Batcher
from towhom.corpus import Corpus, Split
from towhom.errors import ConfigError, TowhomError
from towhom.models.crosstalk import Crosstalk
from towhom.persistence import SavedModel, load_model
from towhom.text.vectors import WordVectors
from towhom.training.config import TrainingConfig
from towhom.training.loop import train


@pytest.fixture
def config(config: TrainingConfig) -> TrainingConfig:
    return for_system(config, "crosstalk")


Train = Callable[..., SavedModel]


@pytest.fixture
def trained(config: TrainingConfig, corpus: Corpus, vectors: WordVectors, tmp_path: Path) -> Train:
    def trained(name: str, teachers: tuple[SavedModel, ...] = (), **settings: Any) -> SavedModel:
        train(replace(config, **settings), corpus, vectors, tmp_path / name, teachers=teachers)
        return load_model(tmp_path / name)

    return trained


def probabilities(saved: SavedModel, corpus: Corpus) -> list[float]:
    """Of all pairs of all dev samples."""
    words = saved.vocabulary.ids(list(corpus.vocabulary.words))
    batcher = Batcher(corpus, context=4, candidates=2, words=words, letters=True)
    scores = saved.model.score_many(batcher.questions(corpus.samples_of(Split.DEV)))
    assert scores.joint is not None
    return np.nan_to_num(scores.joint).ravel().tolist()


def test_it_says_what_its_teachers_say(trained: Train, corpus: Corpus) -> None:
    """Teachers that were trained for a moment are not sure; nor is who learns from them alone."""
    teachers = tuple(trained(f"teacher-{seed}", seed=seed, epochs=1) for seed in (1, 2))
    pupil, other = trained("pupil", teachers, trust=1.0, epochs=8), trained("other", epochs=8)
    said = np.mean([probabilities(teacher, corpus) for teacher in teachers], axis=0)
    imitated, learned = (np.abs(probabilities(each, corpus) - said).mean() for each in (pupil, other))
    assert imitated < learned / 3


def test_who_trusts_nobody_learns_the_truth(trained: Train, tmp_path: Path) -> None:
    teacher = trained("teacher", seed=1)
    trained("alone")
    trained("distrustful", (teacher,), trust=0.0)
    trained("trustful", (teacher,), trust=0.5)
    assert weights(tmp_path / "alone") == weights(tmp_path / "distrustful")
    assert weights(tmp_path / "alone") != weights(tmp_path / "trustful")


def test_teachers_stay_as_they_are(trained: Train) -> None:
    teacher = trained("teacher", seed=1)
    before = teacher.fingerprint
    trained("pupil", (teacher,))
    assert teacher.fingerprint == before
    assert not teacher.model.training
    now = {name: value.numpy() for name, value in teacher.model.state_dict().items()}
    assert all((now[name] == value).all() for name, value in teacher.weights.items())


def test_loss() -> None:
    """Cross-entropy of the teachers' mean, where those who are not there have no probability."""
    scores, one, other = (torch.randn(2, 3, 2, generator=torch.Generator().manual_seed(n)) for n in range(3))
    for each in (scores, one, other):
        each[:, 0] = each[1, 2] = -torch.inf
    expected = 0.0
    for row in range(2):
        mean = (one[row].flatten().softmax(0) + other[row].flatten().softmax(0)) / 2
        for wanted, said in zip(mean, scores[row].flatten().softmax(0), strict=True):
            expected -= float(wanted * said.log()) / 2 if wanted else 0.0
    scores.requires_grad_()
    loss = Crosstalk.imitation(None, scores, [one, other])  # type: ignore[arg-type]
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)
    loss.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


class TestIdentity:
    """A folder or a checkpoint of other teachers is not taken for this one's."""

    def test_model(self, trained: Train) -> None:
        one, two = (trained(f"teacher-{seed}", seed=seed) for seed in (1, 2))
        first = trained("model", (one,))
        assert first.training["teachers"] == [one.fingerprint]
        assert trained("model", (one,)).training == first.training  # nothing happens
        for others in ((), (two,), (one, two)):
            with pytest.raises(ConfigError, match="other data or settings"):
                trained("model", others)
        trained("plain")
        with pytest.raises(ConfigError, match="other data or settings"):
            trained("plain", (one,))

    def test_checkpoint(
        self, trained: Train, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        one, two = (trained(f"teacher-{seed}", seed=seed) for seed in (1, 2))
        trained("undisturbed", (one,))
        stop = stop_at(1, 3)
        with pytest.raises(StoppedError):
            train(config, corpus, vectors, out, teachers=[one], watch=stop, checkpoint_seconds=0)
        with pytest.raises(TowhomError, match="a run with other teachers"):
            train(config, corpus, vectors, out, teachers=[two])
        train(config, corpus, vectors, out, teachers=[one])
        assert weights(out) == weights(out.with_name("undisturbed"))


class TestWhoCannotTeach:
    def test_another_system(self, trained: Train, config: TrainingConfig) -> None:
        teacher = trained("teacher", system="sirnn", settings={"hidden": 7})
        with pytest.raises(ConfigError, match=r"teacher 1 \(sirnn\) cannot teach this model \(crosstalk\)"):
            trained("model", (teacher,))
        with pytest.raises(ConfigError, match=r"teacher 1 \(sirnn\) cannot teach this model \(sirnn\)"):
            trained("model", (teacher,), system="sirnn", settings={"hidden": 7})

    def test_other_parts(self, trained: Train, config: TrainingConfig) -> None:
        teachers = tuple(
            trained(f"teacher-{value}", settings={**config.settings, "overlap": value})
            for value in (True, False)
        )
        with pytest.raises(ConfigError, match="teacher 2 "):
            trained("model", teachers)

    def test_another_corpus(
        self, trained: Train, config: TrainingConfig, vectors: WordVectors, tmp_path: Path
    ) -> None:
        """The same words, but others are rare."""
        random = Random(5)
        documents = {split: [quiz(random, rounds=9)] for split in (Split.TRAIN, Split.DEV)}
        train(config, write_corpus(tmp_path / "corpus", documents), vectors, tmp_path / "teacher")
        with pytest.raises(ConfigError, match="trained on the same corpus"):
            trained("model", (load_model(tmp_path / "teacher"),))
