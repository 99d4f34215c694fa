"""What words say about answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.training.crosstalk.made import VOCABULARY, made_room, quiz
from towhom.crosstalk import words
from towhom.errors import TowhomError, TrainingError
from towhom.training.crosstalk import descent
from towhom.training.crosstalk.text import FAR, Answers, TextConfig, train_text

COUNT = 130
CYCLE = [place % 5 for place in range(COUNT)]
"""Five people, one after the other."""
TINY = TextConfig(
    words=len(VOCABULARY), dimensions=8, state=12, tower=6, steps=12, windows=2, learning_rate=0.05,
    word_dropout=0.1, dropout=0.0,
)  # fmt: skip


def known(answers: Answers) -> dict[int, int]:
    """What is answered, by message."""
    return {place: int(answers.answered[place]) for place in np.flatnonzero(answers.answered >= 0).tolist()}


class TestAnswered:
    def test_nothing(self, tmp_path: Path) -> None:
        assert known(Answers(made_room(tmp_path / "room", CYCLE), ())) == {}

    def test_named(self, tmp_path: Path) -> None:
        """What who is named said last; not what they say at the time, and nothing of one who never spoke."""
        room = made_room(tmp_path / "room", CYCLE, named={11: 3, 20: 4, 30: 9, 2: 4})
        assert known(Answers(room, ())) == {11: 8, 20: 19}

    def test_nobody_answers_themselves(self, tmp_path: Path) -> None:
        room = made_room(
            tmp_path / "room",
            CYCLE,
            named={11: 1},
            reply={25: 5, 26: 4},
            links=[(42, 37), (43, 37), (44, 44)],
        )
        assert known(Answers(room, ())) == {26: 22, 43: 37}

    def test_quoted(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE, reply={50: 7, 40: 9}, named={50: 4})
        assert known(Answers(room, ())) == {50: 43, 40: 31}

    def test_linked(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE, reply={50: 7}, named={50: 4}, links=[(50, 46), (60, 58)])
        assert known(Answers(room, ())) == {50: 46, 60: 58}

    def test_topic(self, tmp_path: Path) -> None:
        """What somebody else said there last; who is named comes first."""
        topic = {**dict.fromkeys(range(COUNT), 1), 20: 0, 25: 0, 33: 0, 48: 0}
        room = made_room(tmp_path / "room", CYCLE, topic=topic, named={48: 2})
        found = known(Answers(room, ()))
        assert {place: found.get(place) for place in (20, 25, 33, 48)} == {20: None, 25: None, 33: 25, 48: 47}
        assert found[26] == 24
        assert 0 not in found

    def test_the_last_of_another(self, tmp_path: Path) -> None:
        speaker = [0] * COUNT
        speaker[10] = 1
        room = made_room(tmp_path / "room", speaker, topic=dict.fromkeys(range(COUNT), 0))
        assert known(Answers(room, ())) == {10: 9, **dict.fromkeys(range(11, 11 + FAR), 10)}

    def test_too_far(self, tmp_path: Path) -> None:
        speaker = [1] * COUNT
        speaker[100] = speaker[101] = speaker[110] = speaker[111] = 0
        room = made_room(
            tmp_path / "room",
            speaker,
            reply={100: FAR, 101: FAR + 1},
            links=[(110, 110 - FAR), (111, 110 - FAR)],
        )
        assert known(Answers(room, ())) == {100: 100 - FAR, 110: 110 - FAR}

    def test_only_what_is_learned_from(self, tmp_path: Path) -> None:
        room = made_room(
            tmp_path / "room", CYCLE * 2, named={20: 1, COUNT + 20: 1}, links=[(COUNT + 30, COUNT + 29)],
            parts=[("train", COUNT), ("dev", 2 * COUNT)],
        )  # fmt: skip
        assert known(Answers(room, ())) == {20: 16}

    def test_not_across_segments(self, tmp_path: Path) -> None:
        room = made_room(
            tmp_path / "room", [*[0] * COUNT, *[1] * COUNT], named={COUNT + 3: 0},
            parts=[("train", COUNT), ("train", 2 * COUNT)],
        )  # fmt: skip
        answers = Answers(room, ())
        assert known(answers) == {}
        assert answers.before[COUNT] == -1

    def test_before(self, tmp_path: Path) -> None:
        speaker = [1] * COUNT
        speaker[10] = speaker[10 + FAR] = 0
        before = Answers(made_room(tmp_path / "room", speaker), ()).before
        assert before[[0, 10, 10 + FAR]].tolist() == [-1, -1, 10]
        assert before[[1, 11]].tolist() == [0, 9]
        speaker[10], speaker[9] = 1, 0
        assert Answers(made_room(tmp_path / "far", speaker), ()).before[10 + FAR] == -1

    def test_short_segments_are_left_out(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE[: 2 * FAR], named={20: 1})
        answers = Answers(room, ())
        assert answers.segments == []
        assert known(answers) == {}

    def test_single(self, tmp_path: Path) -> None:
        assert not Answers(made_room(tmp_path / "a", CYCLE, named={20: 1}), ()).single
        assert Answers(made_room(tmp_path / "b", CYCLE, links=[(20, 19)]), ()).single
        assert Answers(made_room(tmp_path / "c", CYCLE, topic={20: 0}), ()).single


class TestTrain:
    def test_weights(self, tmp_path: Path) -> None:
        losses: list[float] = []
        found = train_text(
            [quiz(tmp_path / "quiz")], VOCABULARY, TINY, progress=lambda step, loss: losses.append(loss)
        )
        assert {name: value.shape for name, value in found.items()} == TINY.shapes
        assert len(losses) == TINY.steps
        assert np.isfinite(losses).all()
        encoded = words.encode(found, np.array([1, 5], np.int32), np.array([0, 1, 2]))
        assert all(np.isfinite(each).all() for each in encoded)

    def test_learns(self, tmp_path: Path) -> None:
        losses: list[float] = []
        config = replace(TINY, steps=80)
        found = train_text(
            [quiz(tmp_path / "quiz")], VOCABULARY, config, progress=lambda step, loss: losses.append(loss)
        )
        assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:10])
        # Each answer goes best with its own question.
        said = words.encode(found, np.arange(1, 9, dtype=np.int32), np.arange(9))
        fits = said.answers[4:, 0] @ said.heard[:4, 0].T
        assert fits.argmax(axis=1).tolist() == [0, 1, 2, 3]

    def test_goes_on(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        room = quiz(tmp_path / "quiz")
        config = replace(TINY, dropout=0.1)
        whole = train_text([room], VOCABULARY, config)
        monkeypatch.setattr(descent, "KEEP_EVERY", 5)
        checkpoint, steps = tmp_path / "checkpoint", list[int]()

        def interrupted(step: int, loss: float) -> None:
            if step == 7:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train_text([room], VOCABULARY, config, checkpoint=checkpoint, progress=interrupted)
        resumed = train_text(
            [room], VOCABULARY, config, checkpoint=checkpoint, progress=lambda step, loss: steps.append(step)
        )
        assert steps == list(range(5, TINY.steps))
        for name, value in whole.items():
            assert_array_equal(resumed[name], value, err_msg=name)

    def test_not_with_other_settings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        room, checkpoint = quiz(tmp_path / "quiz"), tmp_path / "checkpoint"
        monkeypatch.setattr(descent, "KEEP_EVERY", 5)
        train_text([room], VOCABULARY, TINY, checkpoint=checkpoint)
        with pytest.raises(TowhomError, match="other seed"):
            train_text([room], VOCABULARY, replace(TINY, seed=3), checkpoint=checkpoint)

    def test_begins_with_vectors(self, tmp_path: Path) -> None:
        vectors = np.random.default_rng(1).normal(size=(TINY.words, TINY.dimensions)).astype(np.float32)
        config = replace(TINY, steps=1, learning_rate=1e-6)
        found = train_text([quiz(tmp_path / "quiz")], VOCABULARY, config, vectors=vectors)
        assert np.abs(found["words.vectors"][1:] - vectors).max() < 1e-4

    def test_a_short_segment(self, tmp_path: Path) -> None:
        """Shorter than a window."""
        losses: list[float] = []
        room = quiz(tmp_path / "quiz", rounds=41)
        train_text([room], VOCABULARY, TINY, progress=lambda step, loss: losses.append(loss))
        assert np.isfinite(losses).all()

    def test_nobody_answers(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE)
        with pytest.raises(TrainingError, match="nobody in the rooms names or quotes"):
            train_text([room], VOCABULARY, TINY)
        with pytest.raises(TrainingError, match="nobody in the rooms names or quotes"):
            train_text([], VOCABULARY, TINY)


def test_no_topic_is_no_topic(tmp_path: Path) -> None:
    room = made_room(tmp_path / "a", CYCLE, topic={20: 0, 33: 0})
    assert set(known(Answers(room, ()))) <= {20, 33}
