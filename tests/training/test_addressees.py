"""What ranks addressees learns from reply links."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from tests.live.conftest import HIDDEN, saved_model
from tests.models.systems import SIZES
from towhom.chat import Kind, Message
from towhom.evaluation.addressees import follow_logs, follow_model
from towhom.evaluation.reply_links import LinkedLog
from towhom.live import Model
from towhom.live.addressees import AddresseeRanker
from towhom.live.calibration import Calibration
from towhom.persistence import SavedModel, load_model, write_model
from towhom.training import addressees as module
from towhom.training.addressees import (
    Example,
    RankerConfig,
    _Network,
    _padded,
    collect,
    fit,
    train_ranker,
)
from towhom.training.dressing import small_rooms

PEOPLE = ("ada", "bob", "cyd", "dee", "eve")
QUICK = RankerConfig(hidden=8, rounds=1, epochs=150, learning_rate=0.02)


def log(seed: int, *, lag: int, lines: int = 120) -> LinkedLog:
    """Who speaks answers who spoke so many messages ago; a question starts a conversation with nobody."""
    random = Random(seed)
    said: list[Message] = []
    links: dict[int, frozenset[int]] = {}
    for line in range(lines):
        answered = said[-lag].speaker if len(said) >= lag else ""
        speaker = random.choice([name for name in PEOPLE if name != answered])
        asks = not answered or random.random() < 0.2
        links[line] = frozenset({line if asks else line - lag})
        text = "is the door open ?" if asks else random.choice(("tea", "the kettle", "thanks"))
        said.append(Message(speaker, text, line=line))
    return LinkedLog(f"log{seed}", tuple(said), links)


def loss(ranker: AddresseeRanker, examples: list[Example]) -> float:
    """How unlikely it makes those who are meant."""
    calibration = Calibration()
    found = [calibration(ranker(each.features, each.state))[each.meant].sum() for each in examples]
    return float(-np.log(found).mean())


def accuracy(saved: SavedModel, logs: list[LinkedLog]) -> float:
    return float(np.mean([each.right for each in follow_logs(follow_model(Model(saved)), logs)]))


EMBEDDING = {"sirnn": HIDDEN, "crosstalk": 2 * SIZES["crosstalk"]["content"]}
"""What a ranker sees of a message's embedding."""


@pytest.fixture(scope="module", params=list(EMBEDDING))
def saved(request: pytest.FixtureRequest) -> SavedModel:
    return saved_model(request.param)


@pytest.fixture(scope="module")
def examples(saved: SavedModel) -> list[Example]:
    return collect(Model(saved), [log(1, lag=1), log(2, lag=1)])


class TestCollect:
    def test_every_annotated_message(self, saved: SavedModel, examples: list[Example]) -> None:
        assert len(examples) == 240
        for each in examples:
            assert each.meant.shape == (len(each.features.names) + 1,)
            assert each.meant.sum() == 1
            assert each.state.shape == (EMBEDDING[saved.system],)

    def test_who_is_meant(self, saved: SavedModel) -> None:
        chat = (
            Message("ada", "is the door open ?", line=0),
            Message("bob", "the kettle", line=1),
            Message("cyd", "tea", line=2),
            Message("bob", "thanks", line=3),
        )
        links = {0: {0}, 2: {0, 1}, 3: {1}}  # bob's second goes on with a line that answers nobody we know
        found = collect(Model(saved), [LinkedLog("x", chat, {k: frozenset(v) for k, v in links.items()})])
        assert [set(each.features.names) for each in found] == [set(), {"ada", "bob"}]
        assert found[0].meant.tolist() == [True]
        assert dict(zip(found[1].features.names, found[1].meant, strict=False)) == {"ada": True, "bob": True}
        assert not found[1].meant[-1]

    def test_who_is_out_of_reach_cannot_be_learned(self, saved: SavedModel) -> None:
        chat = [Message("dee", "tea", line=0)]
        chat += [Message(PEOPLE[line % 2], "milk", line=line) for line in range(1, 60)]
        links = {10: frozenset({0}), 59: frozenset({0})}
        assert len(collect(Model(saved), [LinkedLog("x", tuple(chat), links)])) == 1

    def test_lines_that_are_no_messages(self, saved: SavedModel) -> None:
        plain = log(3, lag=1, lines=20)
        joins = Message("zoe", "has joined", kind=Kind.SYSTEM, line=7)
        moved = [*plain.lines[:5], joins, *plain.lines[5:]]
        ours = collect(Model(saved), [plain])
        theirs = collect(Model(saved), [LinkedLog("x", tuple(moved), plain.links)])
        assert len(ours) == len(theirs) == 20
        for one, other in zip(ours, theirs, strict=True):
            assert one.features.names == other.features.names
            assert_array_equal(one.features.candidates, other.features.candidates)

    def test_each_log_from_its_own_start(self, saved: SavedModel) -> None:
        first, second = log(1, lag=1, lines=30), log(2, lag=1, lines=30)
        done: list[str] = []
        together = collect(Model(saved), [first, second], progress=done.append)
        alone = collect(Model(saved), [second])
        assert done == ["log1", "log2"]
        for one, other in zip(together[-30:], alone, strict=True):
            assert_array_equal(one.features.candidates, other.features.candidates)


class TestFit:
    def test_weights(self, examples: list[Example]) -> None:
        weights = fit(examples, QUICK)
        assert {name: value.shape for name, value in weights.items()} == AddresseeRanker.shapes(
            8, len(examples[0].state)
        )
        for value in weights.values():
            assert value.dtype == np.float32
            assert np.isfinite(value).all()

    def test_the_loss_falls(self, saved: SavedModel, examples: list[Example]) -> None:
        others = collect(Model(saved), [log(9, lag=1)])
        short, long = (
            AddresseeRanker(fit(examples, RankerConfig(hidden=8, epochs=epochs, learning_rate=0.02)))
            for epochs in (1, 60)
        )
        assert loss(long, examples) < 0.25 * loss(short, examples)
        assert loss(long, others) < 0.25 * loss(short, others)

    def test_the_seed_decides(self, examples: list[Example]) -> None:
        config = RankerConfig(hidden=8, epochs=3, seed=5)
        first, again = fit(examples, config), fit(examples, config)
        other = fit(examples, RankerConfig(hidden=8, epochs=3, seed=6))
        for name, value in first.items():
            assert_array_equal(value, again[name])
            assert (value != other[name]).any()

    def test_one_example(self, examples: list[Example]) -> None:
        ranker = AddresseeRanker(fit(examples[50:51], QUICK))
        assert loss(ranker, examples[50:51]) < 0.5 * np.log(len(examples[50].meant))


class TestNetwork:
    def test_runs_the_same_in_numpy(self, examples: list[Example]) -> None:
        """With padding: the examples have one to four candidates."""
        assert len({len(each.meant) for each in examples}) > 2
        weights = fit(examples, RankerConfig(hidden=8, epochs=5, learning_rate=0.02))
        network = _Network(8, len(examples[0].state), torch.Generator().manual_seed(1))
        with torch.no_grad():
            for name, value in weights.items():
                network.weights[name.replace(".", "_")].copy_(torch.from_numpy(value))
            *inputs, meant = _padded(examples)
            found = network(*inputs).exp().numpy()
        ranker = AddresseeRanker(weights)
        for row, each in enumerate(examples):
            ours = Calibration()(ranker(each.features, each.state))
            count = len(ours) - 1
            assert_allclose(found[row, :count], ours[:-1], rtol=0, atol=1e-5)
            assert_allclose(found[row, -1], ours[-1], rtol=0, atol=1e-5)
            assert not found[row, count:-1].any()
            assert_array_equal(meant[row].numpy()[[*range(count), -1]], each.meant)

    def test_starts_small(self) -> None:
        network = _Network(8, HIDDEN, torch.Generator().manual_seed(1))
        for name, shape in AddresseeRanker.shapes(8, HIDDEN).items():
            value = network.weights[name.replace(".", "_")].detach()
            assert value.shape == shape
            assert bool(value.any()) is not name.endswith(".b")
            assert float(value.abs().max()) <= shape[0] ** -0.5


class TestTrainRanker:
    @pytest.mark.parametrize("lag", [1, 2])
    def test_learns_the_rule(self, saved: SavedModel, lag: int) -> None:
        trained = train_ranker(saved, [log(seed, lag=lag) for seed in range(4)], QUICK)
        unseen = [log(99, lag=lag)]
        assert accuracy(trained, unseen) > 0.9
        assert accuracy(trained, unseen) > accuracy(saved, unseen) + 0.2

    def test_what_comes_back(self) -> None:
        calibrated = saved_model(live={"pairs": {"temperature": 0.5}})
        done: list[str] = []
        config = RankerConfig(hidden=8, rounds=2, epochs=2)
        logs = [log(1, lag=1, lines=20), log(2, lag=1, lines=20)]
        trained = train_ranker(calibrated, logs, config, progress=done.append)
        assert trained.live == {"pairs": {"temperature": 0.5}}
        assert calibrated.live == {"pairs": {"temperature": 0.5}}
        assert trained.weights is calibrated.weights
        assert done == ["log1", "log2"] * 2

    def test_later_rounds_see_what_earlier_ones_said(
        self, saved: SavedModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Rooms are dressed anew in each round, and other logs are foreign; here, all rounds have the same.
        monkeypatch.setattr(module, "small_rooms", lambda log, seed: small_rooms(log))
        monkeypatch.setattr(module, "_FOREIGN", 1)
        logs = [log(1, lag=2, lines=60)]
        once = train_ranker(saved, logs, QUICK)
        twice = train_ranker(saved, logs, replace(QUICK, rounds=2))
        by_hand = train_ranker(once, logs, QUICK)
        assert (once.live_weights["candidate.w"] != twice.live_weights["candidate.w"]).any()
        for name, value in twice.live_weights.items():
            assert_array_equal(value, by_hand.live_weights[name])

    def test_saved_and_loaded(self, saved: SavedModel, tmp_path: Path) -> None:
        trained = train_ranker(saved, [log(1, lag=1, lines=40)], QUICK)
        write_model(tmp_path / "m", trained)
        loaded, ours = Model(load_model(tmp_path / "m")).session(), Model(trained).session()
        for message in log(5, lag=1, lines=30).lines:
            assert loaded.observe(message) == ours.observe(message)
