"""Learning which words answer which."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.crosstalk.chats import random_weights
from tests.training.crosstalk.made import made_room
from towhom.crosstalk.matching import MATCHES, TELLING, match, shapes
from towhom.errors import TrainingError
from towhom.training.crosstalk import descent
from towhom.training.crosstalk.match import MatchConfig, Weights, train_match
from towhom.training.crosstalk.rooms import HeardRoom

QUESTIONS, REPLIES = ("dns", "sound", "grub", "wifi"), ("resolve", "alsa", "boot", "driver")
VOCABULARY = (*QUESTIONS, *REPLIES, "the")
TINY = MatchConfig(width=6, steps=12, windows=2, learning_rate=0.02, word_dropout=0.0)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> HeardRoom:
    """Eight people; somebody asks, and some messages later somebody answers, and names who asked."""
    random = Random(0)
    count, speaker, named, said = 500, list[int](), dict[int, int](), dict[int, str]()
    open_questions: list[tuple[int, int]] = []
    for place in range(count):
        if len(open_questions) > 3:
            who, kind = open_questions.pop(random.randrange(3))
            answerer = 4 + random.randrange(4)
            speaker.append(answerer)
            named[place], said[place] = who, f"the {REPLIES[kind]}"
        else:
            kind = random.randrange(4)
            speaker.append(random.choice([who for who in range(4) if who not in dict(open_questions)]))
            open_questions.append((speaker[-1], kind))
            said[place] = f"{QUESTIONS[kind]} the"
    return made_room(tmp_path_factory.mktemp("match") / "made", speaker, named=named, said=said)


@pytest.fixture(scope="module")
def text() -> Weights:
    found = {n: w for n, w in random_weights(3, count=len(VOCABULARY) + 1).items() if n.startswith("words.")}
    found["words.weight"] = np.abs(found["words.weight"])
    return found


def message(*words: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    found = [VOCABULARY.index(word) + 1 for word in words]
    return np.array([found + [0] * (TELLING - len(found))], np.int32)


def test_shapes(room: HeardRoom, text: Weights) -> None:
    losses: list[float] = []
    found = train_match([room], VOCABULARY, text, TINY, progress=lambda step, loss: losses.append(loss))
    assert {name: w.shape for name, w in found.items()} == shapes(len(VOCABULARY) + 1, TINY.width)
    assert len(losses) == TINY.steps
    assert np.isfinite(losses).all()
    assert found["match.scale"].shape == (MATCHES,)


def test_learns_what_answers_what(room: HeardRoom, text: Weights) -> None:
    found = train_match([room], VOCABULARY, text, replace(TINY, steps=300))
    heard = np.stack([message(word, "the") for word in QUESTIONS], axis=1)
    for place, reply in enumerate(REPLIES):
        fits = match(found, message("the", reply)[None], heard)[0, 0].sum(axis=1)
        assert fits.argmax() == place, reply


def test_goes_on(room: HeardRoom, text: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "KEEP_EVERY", 5)
    whole = train_match([room], VOCABULARY, text, TINY)
    checkpoint = tmp_path / "checkpoint"

    def interrupted(step: int, loss: float) -> None:
        if step == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_match([room], VOCABULARY, text, TINY, checkpoint=checkpoint, progress=interrupted)
    assert checkpoint.exists()
    again = train_match([room], VOCABULARY, text, TINY, checkpoint=checkpoint)
    for name, value in whole.items():
        assert_array_equal(again[name], value)


def test_left_out(room: HeardRoom, text: Weights) -> None:
    assert train_match([room], VOCABULARY, text, replace(TINY, width=0)) == {}


def test_nobody_names_anybody(tmp_path: Path, text: Weights) -> None:
    silent = made_room(tmp_path / "silent", [0, 1] * 150)
    with pytest.raises(TrainingError, match="nobody in the rooms names or quotes"):
        train_match([silent], VOCABULARY, text, TINY)
