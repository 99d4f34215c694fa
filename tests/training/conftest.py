"""A chat with a rule that can be learned: people answer whoever addressed them last."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.nn.conftest import one_thread as one_thread
from towhom.corpus import Corpus, Split
from towhom.model_folder import WEIGHTS
from towhom.testing.chats import PEOPLE, Line, word_vectors, write_corpus
from towhom.text.vectors import WordVectors
from towhom.training.config import TrainingConfig

QUESTIONS = ("where", "when", "who")
ANSWERS = {"where": "here", "when": "now", "who": "me"}


def quiz(random: Random, *, rounds: int) -> list[Line]:
    """Somebody asks somebody a question, others talk, the one who was asked answers.

    Both the addressee and the response can be told from who asked whom what.
    """
    chat: list[Line] = []
    for _ in range(rounds):
        asks, asked, *others = random.sample(PEOPLE[:6], 5)
        question = random.choice(QUESTIONS)
        chat.append(Line(asks, asked, question))
        chat += [Line(random.choice(others), None, "amber birch") for _ in range(random.randint(0, 2))]
        wrong = random.choice([answer for key, answer in ANSWERS.items() if key != question])
        chat.append(Line(asked, asks, ANSWERS[question], (wrong,), random.randrange(2)))
    return chat


@pytest.fixture(scope="session")
def vectors() -> WordVectors:
    return word_vectors(10, known=(*QUESTIONS, *ANSWERS.values(), "amber", "birch"))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    random = Random(11)
    documents = {
        Split.TRAIN: [quiz(random, rounds=60) for _ in range(6)],
        Split.DEV: [quiz(random, rounds=60) for _ in range(2)],
    }
    return write_corpus(tmp_path_factory.mktemp("quiz"), documents)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "model"


@pytest.fixture
def config() -> TrainingConfig:
    """Small and quick."""
    return TrainingConfig(
        settings={"hidden": 7, "init": 0.3},
        context=4,
        batch=16,
        run=4,
        learning_rate=0.01,
        weight_decay=0.0,
        epochs=3,
    )


def weights(model: Path) -> bytes:
    return (model / WEIGHTS).read_bytes()
