"""What pulls conversations apart learns from reply links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.live.conftest import saved_model
from tests.threads.chats import busy_chat
from towhom import load
from towhom.chat import Kind, Message
from towhom.errors import TrainingError
from towhom.evaluation.reply_links import LinkedLog
from towhom.hearing.utterance import REACH, SPOKEN
from towhom.live import Model
from towhom.persistence import SavedModel, load_model, write_model
from towhom.threads.network import Network
from towhom.threads.signals import MESSAGE, MESSAGE_TIME, STRUCTURE, TIME, pair_names
from towhom.training.addressees import foreign
from towhom.training.dressing import small_rooms
from towhom.training.threads import (
    Examples,
    ThreadsConfig,
    _Trained,
    collect,
    cross_fitted,
    fit,
    predict,
    train_threads,
    with_structure,
)

PEOPLE = ("ada", "bob", "cyd", "dee", "eve", "fay")
QUICK = ThreadsConfig(hidden=16, second=8, epochs=12, batch=32, learning_rate=0.01, folds=2)
START = datetime(2024, 5, 31, 10, 0)


def log(seed: int, *, lines: int = 120, named: bool = True, timed: bool = True) -> LinkedLog:
    """Who names somebody answers what they said last; a question starts a conversation.

    Args:
        seed: Of everything.
        lines: How many.
        named: Whether names are in front; if not, the last message is answered.
        timed: Whether there are times.
    """
    random = Random(seed)
    messages: list[Message] = []
    links: dict[int, frozenset[int]] = {}
    last: dict[str, int] = {}
    for line in range(lines):
        speaker = random.choice(PEOPLE)
        others = [name for name in last if name != speaker]
        text = random.choice(("tea", "the milk", "thanks", "open the kettle"))
        if not others or random.random() < 0.2:
            links[line], text = frozenset({line}), "is the door open ?"
        elif named:
            other = random.choice(others)
            links[line], text = frozenset({last[other]}), f"{other}: {text}"
        else:
            links[line] = frozenset({line - 1})
        last[speaker] = line
        time = START + timedelta(seconds=20 * line) if timed else None
        messages.append(Message(speaker, text, line=line, time=time))
    return LinkedLog(f"log{seed}", tuple(messages), links)


def relinked(log: LinkedLog, seed: int = 0) -> LinkedLog:
    """The same lines are annotated, with other links."""
    random = Random(seed)
    return replace(
        log, links={line: frozenset({random.randint(max(0, line - 5), line)}) for line in log.links}
    )


def right(model: Model, logs: Sequence[LinkedLog]) -> float:
    """The share of annotated lines of which a true link is found."""
    found = [
        bool(log.links[each.line].intersection(each.replies_to))
        for log in logs
        for each in model.threads(log.lines)
        if each.line in log.links
    ]
    return float(np.mean(found))


def likely_truth(found: NDArray[np.float32], examples: Examples) -> float:
    """How likely true answers are made, on average, where they are known."""
    known = examples.answers.any(axis=1)
    return float((found * examples.answers).sum(axis=1)[known].mean())


def every(examples: Examples) -> NDArray[np.bool_]:
    return np.ones(len(examples.chat), bool)


def rows(examples: Examples) -> NDArray[np.int64]:
    return np.arange(len(examples.chat))


@pytest.fixture(scope="module", params=["crosstalk", "sirnn"])
def saved(request: pytest.FixtureRequest) -> SavedModel:
    """Each system brings likenesses of its own."""
    return saved_model(request.param)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(saved_model("crosstalk"))


@pytest.fixture(scope="module")
def examples(model: Model) -> Examples:
    return collect(model, [log(1), log(2), log(3)])


class TestCollect:
    def test_every_message(self, examples: Examples) -> None:
        signals, answers = examples.signals, examples.answers
        assert len(signals.pairs) == len(signals.messages) == len(signals.there) == len(answers) == 360
        assert answers.shape == (360, REACH + 1)
        assert examples.chat.tolist() == [0] * 120 + [1] * 120 + [2] * 120
        assert [(len(messages), first) for messages, first in examples.heard] == [(120, 0)] * 3

    def test_what_they_answer(self, model: Model) -> None:
        """0 starts; 1 answers 0, one back; 2 answers both; 3 is not known; 4 starts and answers 1."""
        lines = tuple(Message("ada", "tea", line=line) for line in range(5))
        links = {0: {0}, 1: {0}, 2: {0, 1}, 4: {4, 1}}
        found = collect(model, [LinkedLog("x", lines, {k: frozenset(v) for k, v in links.items()})])
        expected = [[REACH], [0], [0, 1], [], [2, REACH]]
        assert [np.flatnonzero(row).tolist() for row in found.answers] == expected

    @pytest.mark.parametrize(("between", "known"), [(REACH - 1, [REACH - 1]), (REACH, [])])
    def test_what_is_out_of_reach_cannot_be_learned(
        self, model: Model, between: int, known: list[int]
    ) -> None:
        lines = tuple(Message("ada", "tea", line=line) for line in range(between + 2))
        links = {0: frozenset({0}), between + 1: frozenset({0})}
        assert np.flatnonzero(collect(model, [LinkedLog("x", lines, links)]).answers[-1]).tolist() == known

    @pytest.mark.parametrize("parent", [0, 7, -1])
    @pytest.mark.parametrize("line", [1, 2])
    def test_an_answer_to_what_nobody_said_cannot_be_learned(
        self, model: Model, line: int, parent: int
    ) -> None:
        """To a line that is no message, or not there."""
        lines = (
            Message("", "ada has joined", kind=Kind.SYSTEM, line=0),
            Message("ada", "tea", line=1),
            Message("bob", "milk", line=2),
        )
        found = collect(model, [LinkedLog("x", lines, {line: frozenset({parent})})])
        assert not found.answers.any()

    def test_from_some_messages_before_the_first_annotated(self, model: Model) -> None:
        """Two hundred; of these, what they answer is not known."""
        whole = log(1, lines=300)
        links = {line: answered for line, answered in whole.links.items() if line >= 250}
        found = collect(model, [replace(whole, links=links)])
        assert len(found.answers) == 250
        assert not found.answers[:200].any()
        assert found.answers[200:].any(axis=1).all()
        assert found.heard[0][1] == 50

    def test_what_came_before_is_known_all_the_same(self, model: Model) -> None:
        whole = log(1, lines=300)
        links = {line: answered for line, answered in whole.links.items() if line >= 250}
        some, every = collect(model, [replace(whole, links=links)]), collect(model, [whole])
        assert_array_equal(some.signals.pairs, every.signals.pairs[50:])
        assert_array_equal(some.signals.messages, every.signals.messages[50:])

    def test_labels_do_not_reach_the_signals(self, model: Model) -> None:
        one, other = collect(model, [log(1)]), collect(model, [relinked(log(1))])
        assert (one.answers != other.answers).any()
        for ours, theirs in zip(one.signals, other.signals, strict=True):
            assert_array_equal(ours, theirs)

    def test_each_chat_from_its_own_start(self, model: Model, examples: Examples) -> None:
        alone = collect(model, [log(2)])
        for ours, theirs in zip(examples.signals, alone.signals, strict=True):
            assert_array_equal(ours[120:240], theirs)
        assert_array_equal(examples.answers[120:240], alone.answers)

    def test_lines_that_nobody_says(self, model: Model) -> None:
        """They are not counted, but their lines are."""
        plain = log(4, lines=40)
        joins = Message("", "zoe has joined", kind=Kind.SYSTEM)
        moved = tuple(
            replace(each, line=2 * line + place)
            for line, message in enumerate(plain.lines)
            for place, each in enumerate((joins, message))
        )
        links = {
            2 * line + 1: frozenset(2 * each + 1 for each in found) for line, found in plain.links.items()
        }
        ours, theirs = collect(model, [plain]), collect(model, [LinkedLog("x", moved, links)])
        assert_array_equal(ours.signals.pairs, theirs.signals.pairs)
        assert_array_equal(ours.answers, theirs.answers)

    def test_new_names_are_followed(self, model: Model) -> None:
        lines = (
            Message("ada", "tea", line=0),
            Message("ada", "lovelace", kind=Kind.RENAME, line=1),
            Message("lovelace", "milk", line=2),
        )
        found = collect(model, [LinkedLog("x", lines, {2: frozenset({0})})])
        assert found.signals.pairs[1, 0, pair_names(0).index("same speaker")] == 1
        assert np.flatnonzero(found.answers[1]).tolist() == [0]

    def test_chats_without_links_are_passed_over(self, model: Model) -> None:
        done: list[str] = []
        found = collect(model, [replace(log(1), links={}), log(2)], progress=done.append)
        assert done == ["log2"]
        assert set(found.chat.tolist()) == {0}

    def test_no_links_at_all(self, model: Model) -> None:
        for logs in ([], [replace(log(1), links={})], [LinkedLog("x", (), {3: frozenset({3})})]):
            with pytest.raises(TrainingError, match="no chat has reply links to learn from"):
                collect(model, logs)


class TestWithStructure:
    def test_more_signals(self, examples: Examples) -> None:
        likely = np.full(examples.answers.shape, 0.1, np.float32)
        found = with_structure(examples, likely)
        width = examples.signals.pairs.shape[2]
        assert found.signals.pairs.shape == (360, REACH, width + len(STRUCTURE))
        assert_array_equal(found.signals.pairs[..., :width], examples.signals.pairs)
        assert found.signals.messages is examples.signals.messages
        assert found.answers is examples.answers

    def test_as_the_first_stage_sees_it(self, examples: Examples) -> None:
        """In the last chat, which it sees rightly, what somebody says again is in the right conversation."""
        likely = examples.answers.astype(np.float32)
        found = with_structure(examples, likely).signals.pairs[240:, :, -len(STRUCTURE) :]
        truth = log(3).links
        starts = STRUCTURE.index("starts it")
        for row in range(1, 120):
            assert found[row, 0, starts] == (truth[row - 1] == {row - 1})
        answered = STRUCTURE.index("answered")
        for row in range(1, 120):
            for back in range(min(row, REACH)):
                before = any(row - 1 - back in truth[each] for each in range(row - back, row))
                assert found[row, back, answered] == before

    def test_again(self, examples: Examples) -> None:
        """What was seen before is forgotten."""
        one = examples.answers.astype(np.float32)
        other = np.roll(one, 1, axis=0) * np.pad(
            examples.signals.there, ((0, 0), (0, 1)), constant_values=True
        )
        other[:, REACH] += 0.01
        first = with_structure(examples, one).signals.pairs
        second = with_structure(examples, other).signals.pairs
        assert (first != second).any()
        assert_array_equal(with_structure(examples, one).signals.pairs, first)


class TestFit:
    def test_makes_the_truth_likely(self, examples: Examples) -> None:
        lazy = fit(examples, every(examples), replace(QUICK, learning_rate=1e-9))
        learned = fit(examples, every(examples), QUICK)
        before, after = (predict(each, examples.signals, rows(examples)) for each in (lazy, learned))
        assert likely_truth(before, examples) < 0.3
        assert likely_truth(after, examples) > 0.9

    def test_the_same_again(self, examples: Examples) -> None:
        quick = replace(QUICK, epochs=2)
        torch.manual_seed(1)
        one = fit(examples, every(examples), quick)
        torch.manual_seed(2)
        other = fit(examples, every(examples), quick)
        for name, value in one.items():
            assert_array_equal(value, other[name])

    def test_another_seed(self, examples: Examples) -> None:
        one, other = (fit(examples, every(examples), replace(QUICK, epochs=2, seed=seed)) for seed in (0, 1))
        assert all((one[name] != other[name]).any() for name in one)

    def test_shapes(self, examples: Examples) -> None:
        found = fit(examples, every(examples), replace(QUICK, epochs=1))
        pairs, messages = examples.signals.pairs.shape[2], examples.signals.messages.shape[1]
        assert {name: value.shape for name, value in found.items()} == Network.shapes(pairs, messages, 16, 8)
        assert all(value.dtype == np.float32 and np.isfinite(value).all() for value in found.values())

    def test_only_from_what_was_chosen(self, examples: Examples) -> None:
        """What the others answer does not matter."""
        chosen = examples.chat != 1
        wrong = examples.answers.copy()
        wrong[~chosen] = np.roll(wrong[~chosen], 1, axis=1)
        one, other = (
            fit(each, chosen, replace(QUICK, epochs=2))
            for each in (examples, replace(examples, answers=wrong))
        )
        for name, value in one.items():
            assert_array_equal(value, other[name])

    def test_what_is_not_annotated_is_left_out(self, examples: Examples) -> None:
        unknown = examples.answers.copy()
        unknown[examples.chat == 1] = False
        one = fit(replace(examples, answers=unknown), every(examples), replace(QUICK, epochs=2))
        other = fit(examples, examples.chat != 1, replace(QUICK, epochs=2))
        for name, value in one.items():
            assert_array_equal(value, other[name])

    def test_any_of_several_answers_will_do(self, model: Model) -> None:
        """The last message or the one before it: together they become likely."""
        lines = tuple(Message(PEOPLE[line % 3], "tea", line=line) for line in range(40))
        links = {line: frozenset({line - 2, line - 1} if line > 1 else {0}) for line in range(40)}
        found = collect(model, [LinkedLog("x", lines, links)])
        weights = fit(found, every(found), replace(QUICK, epochs=60))
        assert likely_truth(predict(weights, found.signals, rows(found)), found) > 0.9

    def test_without_times(self, examples: Examples) -> None:
        """If times are never shown, it is as if there were none."""
        pairs, messages = examples.signals.pairs.copy(), examples.signals.messages.copy()
        pairs[..., [pair_names(0).index(name) for name in TIME]] = 0
        messages[:, len(MESSAGE) : len(MESSAGE) + len(MESSAGE_TIME)] = 0
        blind = replace(examples, signals=examples.signals._replace(pairs=pairs, messages=messages))
        one, other = (
            fit(each, every(examples), replace(QUICK, epochs=2, untimed=1.0)) for each in (examples, blind)
        )
        seeing = fit(examples, every(examples), replace(QUICK, epochs=2, untimed=0.0))
        for name, value in one.items():
            assert_array_equal(value, other[name])
        assert (seeing["pair.w"] != one["pair.w"]).any()

    def test_nothing_to_learn_from(self, examples: Examples) -> None:
        message = "there is no annotated message to learn from: what they answer is not near"
        with pytest.raises(TrainingError, match=message):
            fit(examples, ~every(examples), QUICK)
        unknown = replace(examples, answers=np.zeros_like(examples.answers))
        with pytest.raises(TrainingError, match=message):
            fit(unknown, every(examples), QUICK)

    @pytest.mark.parametrize(
        "epochs",
        [
            1,
            2,
            9,
            10,
            11,
        ],
    )
    def test_however_few_steps(self, model: Model, epochs: int) -> None:
        few = collect(model, [log(1, lines=20)])
        fit(few, every(few), replace(QUICK, epochs=epochs))

    def test_starts_small(self) -> None:
        shapes = Network.shapes(20, 9, 16, 8)
        network = _Trained(shapes, 0.1, torch.Generator().manual_seed(1))
        for name, shape in shapes.items():
            value = network.weights[name.replace(".", "_")].detach()
            assert value.shape == shape
            assert bool(value.any()) is not name.endswith(".b")
            assert float(value.abs().max()) <= shape[0] ** -0.5


class TestPredict:
    def test_some_of_the_rows(self, examples: Examples) -> None:
        weights = fit(examples, every(examples), replace(QUICK, epochs=1))
        whole = predict(weights, examples.signals, rows(examples))
        some = np.array([3, 200, 17])
        assert_allclose(predict(weights, examples.signals, some), whole[some], atol=1e-6)
        assert_allclose(whole.sum(axis=1), 1, atol=1e-5)


class TestCrossFitted:
    def test_a_chat_is_not_learned_from_to_judge_itself(self, examples: Examples) -> None:
        wrong = examples.answers.copy()
        wrong[examples.chat == 0] = np.roll(wrong[examples.chat == 0], 1, axis=1)
        config = replace(QUICK, epochs=2, folds=3)
        ours = cross_fitted(examples, config)
        theirs = cross_fitted(replace(examples, answers=wrong), config)
        for chat in range(3):
            same = (ours[examples.chat == chat] == theirs[examples.chat == chat]).all()
            assert same == (chat == 0)

    def test_nor_are_others_of_its_part(self, examples: Examples) -> None:
        """With two parts, the first and the third chat are in one."""
        wrong = examples.answers.copy()
        wrong[examples.chat == 2] = np.roll(wrong[examples.chat == 2], 1, axis=1)
        config = replace(QUICK, epochs=2, folds=2)
        ours = cross_fitted(examples, config)
        theirs = cross_fitted(replace(examples, answers=wrong), config)
        assert_array_equal(ours[examples.chat != 1], theirs[examples.chat != 1])

    def test_learns(self, examples: Examples) -> None:
        config = replace(QUICK, epochs=2 * QUICK.epochs)
        assert likely_truth(cross_fitted(examples, config), examples) > 0.8

    def test_more_parts_than_chats(self, examples: Examples) -> None:
        config = replace(QUICK, epochs=1)
        one, other = (cross_fitted(examples, replace(config, folds=folds)) for folds in (3, 10))
        assert_array_equal(one, other)

    def test_one_chat_judges_itself(self, model: Model) -> None:
        alone = collect(model, [log(1)])
        config = replace(QUICK, epochs=2)
        expected = predict(fit(alone, every(alone), config), alone.signals, rows(alone))
        assert_array_equal(cross_fitted(alone, config), expected)


class TestTrainThreads:
    @pytest.mark.parametrize("named", [True, False])
    def test_learns_the_rule(self, saved: SavedModel, named: bool) -> None:
        """To answer what the one who is named said last, or else the last message."""
        trained = Model(train_threads(saved, [log(seed, named=named) for seed in range(4)], QUICK))
        assert right(trained, [log(98, named=named), log(99, named=named)]) > 0.9

    def test_needs_the_links_to(self, model: Model) -> None:
        logs = [relinked(log(seed), seed) for seed in range(4)]
        assert right(Model(train_threads(model.saved, logs, QUICK)), [log(99)]) < 0.6

    def test_works_where_there_are_no_times(self, model: Model) -> None:
        config = replace(QUICK, untimed=0.3)
        trained = Model(train_threads(model.saved, [log(seed) for seed in range(4)], config))
        assert right(trained, [log(99, timed=False)]) > 0.9

    def test_what_comes_back(self, saved: SavedModel) -> None:
        done: list[str] = []
        config = replace(QUICK, epochs=1)
        trained = train_threads(saved, [log(1, lines=30), log(2, lines=30)], config, progress=done.append)
        assert saved.thread_weights == {}
        assert replace(trained, thread_weights={}) == saved
        assert list(trained.thread_weights) == ["first", "second"]
        first, second = trained.thread_weights.values()
        assert len(second["pair.w"]) == len(first["pair.w"]) + len(STRUCTURE)
        assert done == ["collected the messages", "trained the first stage", "trained the second stage"]

    def test_the_second_stage_sees_what_the_first_says_of_unseen_chats(self, model: Model) -> None:
        logs, config = [log(1, lines=90), log(2, lines=90)], replace(QUICK, epochs=2)
        rooms = [room for each in logs for room in small_rooms(each, most=6)]
        assert len(rooms) > 2
        found = collect(model, [*logs, *rooms[::2]])
        found = found.joined(collect(foreign(model), [logs[0], *rooms[1::2]]))
        assert len(found.heard) == len(logs) + len(rooms) + 1
        expected = fit(with_structure(found, cross_fitted(found, config)), every(found), config)
        trained = train_threads(model.saved, logs, config)
        for name, value in trained.thread_weights["second"].items():
            assert_array_equal(value, expected[name])

    def test_the_same_again(self, model: Model) -> None:
        logs = [log(1, lines=40), log(2, lines=40)]
        one, other = (train_threads(model.saved, logs, replace(QUICK, epochs=2)) for _ in range(2))
        for stage, weights in one.thread_weights.items():
            for name, value in weights.items():
                assert_array_equal(value, other.thread_weights[stage][name])

    def test_one_chat(self, model: Model) -> None:
        trained = train_threads(model.saved, [log(1)], replace(QUICK, epochs=2))
        assert set(trained.thread_weights) == {"first", "second"}

    def test_no_links(self, model: Model) -> None:
        with pytest.raises(TrainingError, match="no chat has reply links to learn from"):
            train_threads(model.saved, [replace(log(1), links={})] * 2, QUICK)

    def test_only_links_that_lead_nowhere(self, model: Model) -> None:
        lines = (Message("", "joined", kind=Kind.SYSTEM, line=0), *log(1).lines[1:])
        with pytest.raises(TrainingError, match="there is no annotated message to learn from"):
            train_threads(model.saved, [LinkedLog("x", lines, {1: frozenset({0})})] * 2, QUICK)

    def test_a_link_that_leads_nowhere_spoils_nothing(self, model: Model) -> None:
        """The first message answers a line that nobody said."""
        whole = log(1, lines=40)
        joined = Message("", "joined", kind=Kind.SYSTEM, line=-1)
        links = {**whole.links, 0: frozenset({-1})}
        logs = [replace(whole, lines=(joined, *whole.lines), links=links)] * 2
        trained = train_threads(model.saved, logs, replace(QUICK, epochs=1))
        for weights in trained.thread_weights.values():
            assert all(np.isfinite(value).all() for value in weights.values())

    def test_saved_and_loaded(self, saved: SavedModel, tmp_path: Path) -> None:
        trained = train_threads(saved, [log(1, lines=60), log(2, lines=60)], replace(QUICK, epochs=2))
        write_model(tmp_path / "model", trained)
        loaded, ours = Model(load_model(tmp_path / "model")), Model(trained)
        chat = log(5).lines
        assert list(loaded.threads(chat)) == list(ours.threads(chat))


def test_runs_as_it_was_trained() -> None:
    """The two stages over what was collected, and a channel that is followed, say the same."""
    model = load()
    lines = tuple(busy_chat(6, 300))
    links = {message.line or 0: frozenset({message.line or 0}) for message in lines}
    found = collect(model, [LinkedLog("x", lines, links)])
    first, second = (model.saved.thread_weights[stage] for stage in ("first", "second"))
    likely = predict(first, found.signals, rows(found))
    after = with_structure(found, likely)
    likely = predict(second, after.signals, rows(after))
    order = [message.line for message in lines if message.kind in SPOKEN]
    placed = [each for each in model.threads(lines) if each.message.kind in SPOKEN]
    best = likely.argmax(axis=1).tolist()
    trained = [order[place if back == REACH else place - 1 - back] for place, back in enumerate(best)]
    same = [each.replies_to == (line,) for each, line in zip(placed, trained, strict=True)]
    assert np.mean(same) > 0.98  # signals were rounded to 16 bits
    close = [
        abs(each.probability - sure) < 0.02 for each, sure in zip(placed, likely.max(axis=1), strict=True)
    ]
    assert np.mean(close) > 0.95
