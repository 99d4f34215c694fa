"""Both looks are learned, and run as they were learned."""

from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from tests.crosstalk.chats import LEXICON, SIZES, WORDS, Weights, chatter, heard, random_weights
from tests.training.crosstalk.made import made_room, quiz
from towhom.chat import Message
from towhom.crosstalk import mind as minds
from towhom.crosstalk import network, signals, words
from towhom.crosstalk.mind import Mind, Room
from towhom.crosstalk.signals import ALONE, PAIRS
from towhom.crosstalk.structure import LIKELIEST, Second, Sights, look_again
from towhom.errors import TowhomError
from towhom.hearing.utterance import REACH
from towhom.training.crosstalk import descent
from towhom.training.crosstalk.arrays import Torch
from towhom.training.crosstalk.descent import loss_of
from towhom.training.crosstalk.examples import Kind, collect
from towhom.training.crosstalk.looks import (
    GROUPS,
    Lesson,
    Looks,
    LooksConfig,
    States,
    blinded,
    block_of,
    read_texts,
    shares_of,
    train_first,
    unknown_text,
)
from towhom.training.crosstalk.rooms import HeardRoom, Source, hear_room
from towhom.training.crosstalk.second import collect_second, first_sights, train_second
from towhom.wire import to_json

PIECES = LEXICON.piece_weights
TINY = LooksConfig(says=4, hidden=10, second=6, steps=12, blocks=2, learning_rate=0.02)
COUNT = 260


def said() -> list[Message]:
    return [replace(message, time=None) for message in chatter(5, COUNT)]


def heard_room(folder: Path) -> HeardRoom:
    """A room in which everybody answers the message before the last; names are as they are."""
    folder.mkdir()
    (folder / "x.jsonl").write_text("".join(to_json(each) + "\n" for each in said()), "utf-8")
    room = hear_room(Source("room", "x.jsonl", "CC0"), folder, folder / "room", LEXICON)
    links = [(place, place - 2) for place in range(2, COUNT)]
    np.save(room.folder / "links.npy", np.array(links))
    return HeardRoom(room.folder)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> HeardRoom:
    return heard_room(tmp_path_factory.mktemp("looks") / "data")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Weights:
    return {name: value for name, value in random_weights(3).items() if name.startswith("words.")}


@pytest.fixture
def texts(room: HeardRoom, text: Weights, tmp_path: Path) -> States:
    return read_texts(text, room, WORDS, tmp_path / "texts")


@pytest.fixture
def lessons(room: HeardRoom, texts: States, tmp_path: Path) -> list[Lesson]:
    found = []
    for kind in (Kind.LINKS, Kind.NAMES):
        examples = collect(room, kind, "train", PIECES, tmp_path / kind.value)
        assert examples is not None
        found.append(Lesson("room", kind, examples, texts))
    return found


class TestLoss:
    ENERGIES = torch.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]).log()

    def loss(self, right: list[bool], unknown: list[bool], *, texts: int = 1, drafts: float = 0.6) -> float:
        found = loss_of(self.ENERGIES[:, :texts], torch.tensor([right]), torch.tensor([unknown]), drafts)
        assert found.shape == (1,)
        return float(found[0])

    def test_right(self) -> None:
        assert self.loss([True, False, True], [False] * 3) == pytest.approx(-log(4 / 6))

    def test_unknown(self) -> None:
        assert self.loss([True, False, False], [False, True, False]) == pytest.approx(-log(1 / 4))

    def test_all_that_is_known_is_right(self) -> None:
        assert self.loss([True, False, True], [False, True, False]) == pytest.approx(0, abs=1e-6)

    def test_drafts(self) -> None:
        found = self.loss([True, False, True], [False] * 3, texts=2)
        assert found == pytest.approx(-0.4 * log(4 / 6) - 0.6 * log(4 / 21))

    def test_unknown_in_drafts(self) -> None:
        found = self.loss([False, False, True], [False, True, False], texts=2, drafts=1.0)
        assert found == pytest.approx(-log(3 / (1 + 3 + 4 + 6)))

    def test_nothing_is_right(self) -> None:
        energies = self.ENERGIES.clone().requires_grad_()
        found = loss_of(energies, torch.zeros(1, 3).bool(), torch.zeros(1, 3).bool(), 0.6)
        assert float(found.detach()[0]) == 0
        found.sum().backward()  # type: ignore[no-untyped-call]
        assert energies.grad is not None
        assert not energies.grad.any()


class TestTexts:
    def test_as_a_mind_reads_them(self, texts: States, text: Weights) -> None:
        found = Mind({**random_weights(3), **text}).read(heard(said()))
        assert_allclose(texts, found.state, atol=2e-2)
        again = Mind({**random_weights(3), **text}).texts(np.asarray(texts, np.float32))
        for ours, theirs in ((again.answers, found.answers), (again.said.heard, found.said.heard)):
            assert_allclose(ours, theirs, atol=2e-2)

    def test_kept(self, room: HeardRoom, text: Weights, tmp_path: Path) -> None:
        one = read_texts(text, room, WORDS, tmp_path / "texts")
        other = read_texts({}, room, WORDS, tmp_path / "texts")
        assert_array_equal(one, other)


class TestLesson:
    def test_blocks(self, lessons: list[Lesson]) -> None:
        for lesson in lessons:
            at = np.asarray(lesson.examples.at)
            assert [row for block in lesson.blocks for row in range(block.start, block.stop)] == list(
                range(len(at))
            )
            for block in lesson.blocks:
                here = at[block]
                assert 0 < len(here) <= 64
                assert (np.diff(here) >= 0).all()
                assert here[-1] - here[0] <= 350

    def test_not_across_segments(self, tmp_path: Path, texts: States) -> None:
        parts = [("train", 50), ("train", 100)]
        made = made_room(tmp_path / "made", [0, 1] * 50, links=[(40, 39), (60, 59), (61, 60)], parts=parts)
        examples = collect(made, Kind.LINKS, "train", PIECES, tmp_path / "examples")
        assert examples is not None
        assert Lesson("made", Kind.LINKS, examples, texts).blocks == [slice(0, 1), slice(1, 3)]

    def test_shares(self) -> None:
        kinds, given = [Kind.LINKS, Kind.NAMES, Kind.TOPICS], {Kind.LINKS: 0.4}
        assert_allclose(shares_of(kinds, [50, 70, 70], given), [0.4, 0.3, 0.3])
        assert_allclose(shares_of([Kind.LINKS] * 2, [9, 9], given), [0.5, 0.5])
        assert_allclose(shares_of([Kind.NAMES], [3], given), [1])

    def test_of_a_longer_lesson_more_is_taken(self) -> None:
        """Twice as much of one that is four times as long; kinds keep their shares."""
        kinds = [Kind.LINKS, Kind.NAMES, Kind.LINKS, Kind.TOPICS, Kind.DRAFTS]
        shares = shares_of(kinds, [100, 400, 900, 100, 7], {Kind.LINKS: 0.4, Kind.DRAFTS: 0.3})
        assert_allclose(shares, [0.1, 0.2, 0.3, 0.1, 0.3])

    def test_kinds_that_are_not_there(self) -> None:
        """What there is shares all."""
        shares = shares_of([Kind.NAMES, Kind.DRAFTS], [9, 9], {Kind.LINKS: 0.4, Kind.DRAFTS: 0.3})
        assert_allclose(shares, [0.5, 0.5])

    def test_near(self, lessons: list[Lesson], text: Weights) -> None:
        for lesson in lessons:
            rows = next(rows for rows in lesson.blocks if lesson.examples.at[rows.start] > REACH)
            whole, near = (block_of(lesson, rows, reach) for reach in (REACH, 20))
            assert whole.pairs.shape[1] > near.pairs.shape[1] == 20
            for name in ("pairs", "there"):
                assert_array_equal(getattr(near, name), getattr(whole, name)[:, :20], err_msg=name)
            looks = Looks(text, TINY, torch.Generator().manual_seed(0))
            with torch.no_grad():
                energies, others = (looks.first(block, Torch()) for block in (near, whole))
            assert_allclose(energies[..., :20].diff(dim=2), others[..., :20].diff(dim=2), atol=1e-4)
            for name in ("right", "unknown"):
                ours, theirs = getattr(near, name), getattr(whole, name)
                assert_array_equal(ours[:, :20], theirs[:, :20])
                assert_array_equal(ours[:, 20], theirs[:, -1])

    def test_no_farther_than_there_is_something(self, lessons: list[Lesson]) -> None:
        """At the start of a room, less is looked at."""
        for lesson in lessons:
            for rows in lesson.blocks:
                block = block_of(lesson, rows)
                assert bool(block.there[:, -1].any())
                assert block.right.shape[1] == block.there.shape[1] + 1

    def test_as_if_no_word_were_known(self, lessons: list[Lesson], text: Weights) -> None:
        """All say the same; what can be counted stays."""
        unknown = unknown_text(text)
        for lesson in lessons:
            plain, foreign = (block_of(lesson, lesson.blocks[0], REACH, each) for each in (None, unknown))
            assert_array_equal(foreign.pairs, plain.pairs)
            assert_array_equal(foreign.messages, plain.messages)
            assert foreign.state.shape == plain.state.shape
            assert_allclose(foreign.state, np.repeat(unknown, len(foreign.state), axis=0), atol=1e-3)
            assert not np.allclose(plain.state, foreign.state, atol=1e-2)

    @pytest.mark.parametrize("group", GROUPS)
    def test_blind_for_a_group_of_signals(self, lessons: list[Lesson], group: str) -> None:
        block = block_of(lessons[0], lessons[0].blocks[0])
        without = blinded(block, {group})
        names = getattr(signals, group.upper(), ())
        of_pairs = np.isin(PAIRS, names) if set(names) <= set(PAIRS) and group != "message" else False
        of_messages = np.isin(ALONE, names) if group in ("message", "habits") else False
        assert_array_equal(without.pairs, np.where(of_pairs, 0, block.pairs))
        assert_array_equal(without.messages, np.where(of_messages, 0, block.messages))
        assert_array_equal(without.state, block.state * (group != "texts"))

    def test_drafts_come_after_what_was_said(self, lessons: list[Lesson], texts: States) -> None:
        lesson = lessons[1]
        rows = lesson.blocks[0]
        block = block_of(lesson, rows)
        drafts, at = np.asarray(lesson.examples.drafts[rows]), np.asarray(lesson.examples.at[rows])
        states = block.state.numpy()[block.said].reshape(len(at), 1 + drafts.shape[1], -1)
        assert_allclose(states[:, 0], texts[at], atol=1e-6)
        assert_allclose(states[:, 1:], texts[drafts], atol=1e-6)


def network_names() -> set[str]:
    return set(network.shapes(SIZES["state"], TINY.says, TINY.hidden, TINY.second))


class TestAsItRuns:
    """What is trained on is what is run."""

    WEIGHTS = random_weights(3, says=4, hidden=10, second=6)

    @pytest.fixture
    def mind(self, text: Weights) -> Mind:
        return Mind({**self.WEIGHTS, **text})

    def test_first_look(
        self, mind: Mind, text: Weights, room: HeardRoom, texts: States, lessons: list[Lesson]
    ) -> None:
        trained = Looks(text, TINY, torch.Generator().manual_seed(0))
        trained.take({name: value for name, value in self.WEIGHTS.items() if name in network_names()})
        lesson = lessons[0]
        past = room.columns(0, COUNT, PIECES)
        read = mind.texts(np.asarray(texts, np.float32))
        named = 0
        for rows in lesson.blocks:
            block = block_of(lesson, rows)
            with torch.no_grad():
                energies = trained.first(block, Torch())[:, 0].numpy()
            at = np.asarray(lesson.examples.at[rows])
            new = past.at(at)
            if np.asarray(lesson.examples.messages[rows])[:, 4].any() != (new.named >= 0).any():
                continue  # where the names are hidden
            if lesson.examples.start[rows.start]:
                continue  # a small room that is made of this one
            named += 1
            expected = mind.first_look(past, new, at, read.said, read.at(at), weigh=True).energies
            reach = block.there.shape[1]
            assert np.isneginf(expected[:, reach:REACH]).all()
            expected = np.delete(expected, np.s_[reach:REACH], axis=1)
            known = ~block.unknown.numpy()
            assert_array_equal(known, np.isfinite(expected))
            assert_allclose(energies[known], expected[known], atol=3e-2)
        assert named > 2

    def test_conversations(self, mind: Mind, room: HeardRoom, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[Sights] = []

        def spy(past: Any, new: Any, at: Any, sights: Sights, *rest: Any, **more: Any) -> Second:
            seen.append(sights)
            return look_again(past, new, at, sights, *rest, **more)

        monkeypatch.setattr(minds, "look_again", spy)
        messages = heard(said())
        Room(mind).hear(messages)
        sights = first_sights(mind, room.columns(0, COUNT, PIECES), mind.read(messages))
        for name in Sights._fields:
            assert_array_equal(getattr(sights, name), getattr(seen[0], name), err_msg=name)
        assert len(np.unique(sights.thread)) > 3

    def test_second_look(self, mind: Mind, room: HeardRoom, texts: States, tmp_path: Path) -> None:
        """What was collected gives what a room says of the same messages."""
        found = collect_second(
            mind, room, texts, Kind.LINKS, "train", PIECES, tmp_path / "second", unknown=texts
        )
        assert found is not None
        count = COUNT - 2  # those that name somebody follow once more, without the names
        assert len(found.right) > count
        cells, messages, there = (
            np.asarray(each[:count], np.float32) for each in (found.cells, found.messages, found.there)
        )
        likely = Room(mind).hear(heard(said())).likely[2:]
        likeliest, start = network.second_look(self.WEIGHTS, cells, messages, there[:, :-1])
        together = np.concatenate([np.where(there[:, :-1] > 0, likeliest, -np.inf), start[:, None]], axis=1)
        ours = minds.softmax(together)
        close = np.abs(ours[:, -1] - likely[:, REACH]) < 0.02
        assert close.mean() > 0.95  # rounded to 16 bits, another message may be the likeliest
        close = np.abs(ours[:, :-1].max(axis=1) - likely[:, :REACH].max(axis=1)) < 0.02
        assert close.mean() > 0.95


class TestFirst:
    def test_weights(self, lessons: list[Lesson], text: Weights) -> None:
        losses: list[float] = []
        found = train_first(lessons, text, TINY, progress=lambda step, loss: losses.append(loss))
        shapes = network.shapes(SIZES["state"], TINY.says, TINY.hidden, TINY.second)
        shapes |= words.projections(SIZES["state"], SIZES["tower"])
        assert {name: value.shape for name, value in found.items()} == shapes
        assert len(losses) == TINY.steps
        assert np.isfinite(losses).all()

    def test_what_people_annotated_does_not_change_the_projections(
        self, lessons: list[Lesson], text: Weights
    ) -> None:
        links, names = lessons
        for lesson, learned in ((links, False), (names, True)):
            found = train_first([lesson], text, TINY)
            for name in words.projections(SIZES["state"], SIZES["tower"]):
                assert np.array_equal(found[name], text[name]) is not learned, name

    def test_learns(self, lessons: list[Lesson], text: Weights) -> None:
        losses: list[float] = []
        config = replace(TINY, steps=120, dropout=0.0, learning_rate=0.03)
        train_first(lessons[:1], text, config, progress=lambda step, loss: losses.append(loss))
        assert np.mean(losses[-10:]) < 0.3 * np.mean(losses[:10])

    def test_goes_on(
        self, lessons: list[Lesson], text: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = train_first(lessons, text, TINY)
        monkeypatch.setattr(descent, "KEEP_EVERY", 5)
        checkpoint, steps = tmp_path / "checkpoint", list[int]()

        def interrupted(step: int, loss: float) -> None:
            if step == 8:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train_first(lessons, text, TINY, checkpoint=checkpoint, progress=interrupted)
        resumed = train_first(
            lessons,
            text,
            TINY,
            checkpoint=checkpoint,
            progress=lambda step, loss: steps.append(step),
        )
        assert steps == list(range(5, TINY.steps))
        for name, value in whole.items():
            assert_array_equal(resumed[name], value, err_msg=name)
        with pytest.raises(TowhomError, match="other lessons"):
            train_first(lessons[:1], text, TINY, checkpoint=checkpoint)


class TestSecond:
    @pytest.fixture
    def first(self, lessons: list[Lesson], text: Weights) -> Weights:
        return {
            name: value.copy() for name, value in train_first(lessons, text, replace(TINY, steps=3)).items()
        }

    def test_collected(
        self, first: Weights, text: Weights, room: HeardRoom, texts: States, tmp_path: Path
    ) -> None:
        mind = Mind({**text, **first})
        found = collect_second(
            mind, room, texts, Kind.LINKS, "train", PIECES, tmp_path / "second", unknown=texts
        )
        assert found is not None
        assert found.right.shape == found.there.shape == (len(found.cells), LIKELIEST + 1)
        assert (found.right.sum(axis=1) <= 1).all()
        assert found.right.any()
        assert not (np.asarray(found.right) & ~np.asarray(found.there)).any()
        again = collect_second(mind, quiz(tmp_path / "quiz"), texts, Kind.LINKS, "train", PIECES,
                               tmp_path / "second", unknown=texts)  # fmt: skip
        assert again is not None
        assert_array_equal(again.right, found.right)

    def test_nothing_to_collect(
        self, first: Weights, text: Weights, room: HeardRoom, texts: States, tmp_path: Path
    ) -> None:
        mind = Mind({**text, **first})
        for kind, part, share in (
            (Kind.TOPICS, "train", 1.0), (Kind.LINKS, "dev", 1.0), (Kind.LINKS, "train", 0.0),
        ):  # fmt: skip
            folder = tmp_path / "second"
            assert (
                collect_second(mind, room, texts, kind, part, PIECES, folder, unknown=texts, share=share)
                is None
            )
            assert not folder.exists()

    def test_the_first_stays(
        self, first: Weights, text: Weights, room: HeardRoom, texts: States, tmp_path: Path
    ) -> None:
        mind = Mind({**text, **first})
        lessons = []
        for kind in (Kind.LINKS, Kind.NAMES):
            found = collect_second(
                mind, room, texts, kind, "train", PIECES, tmp_path / f"second.{kind}", unknown=texts
            )
            assert found is not None
            lessons.append((kind, found))
        losses: list[float] = []
        both = train_second(first, lessons, TINY, progress=lambda step, loss: losses.append(loss))
        assert set(both) == set(first)
        for name, value in both.items():
            assert np.array_equal(value, first[name]) is not name.startswith("second.")
        assert np.isfinite(losses).all()
        assert len(losses) > 3

    def test_learns(
        self, first: Weights, text: Weights, room: HeardRoom, texts: States, tmp_path: Path
    ) -> None:
        found = collect_second(
            Mind({**text, **first}),
            room,
            texts,
            Kind.LINKS,
            "train",
            PIECES,
            tmp_path / "second",
            unknown=texts,
        )
        assert found is not None
        losses: list[float] = []
        train_second(first, [(Kind.LINKS, found)], replace(TINY, dropout=0.0), epochs=150,
                     progress=lambda step, loss: losses.append(loss))  # fmt: skip
        assert np.mean(losses[-10:]) < 0.6 * np.mean(losses[:10])
