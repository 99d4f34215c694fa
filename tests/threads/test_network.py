"""The network that weighs signals: forward here and in torch, and whether weights fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.threads.conftest import CONTENT, LIKENESS, Weights, random_weights, small_model
from towhom import load
from towhom.errors import ModelFormatError
from towhom.hearing.utterance import REACH
from towhom.live import Model
from towhom.persistence import load_model, write_model
from towhom.threads.network import STAGES, Network, load_networks
from towhom.threads.signals import MESSAGE, MESSAGE_TIME, STRUCTURE, Signals, pair_names
from towhom.training.threads import _Trained

ROWS, PAIRS, MESSAGES = 9, 7, 4


@pytest.fixture
def signals() -> Signals:
    """Of the first messages of a channel: before each there is one more."""
    random = np.random.default_rng(1)
    there = np.arange(REACH) < np.arange(ROWS)[:, None]
    pairs = random.normal(size=(ROWS, REACH, PAIRS)).astype(np.float32) * there[..., None]
    return Signals(pairs, random.normal(size=(ROWS, MESSAGES)).astype(np.float32), there)


@pytest.fixture
def weights() -> Weights:
    return random_weights(PAIRS, MESSAGES, seed=2, scale=1.0)


def in_torch(weights: Weights, signals: Signals) -> NDArray[np.float32]:
    shapes = {name: value.shape for name, value in weights.items()}
    network = _Trained(shapes, 0.5, torch.Generator()).eval()
    with torch.no_grad():
        for name, value in weights.items():
            network.weights[name.replace(".", "_")].copy_(torch.from_numpy(value))
        found: NDArray[np.float32] = network(*map(torch.from_numpy, signals)).exp().numpy()
    return found


class Parts(NamedTuple):
    """By another way, one message and one candidate after the other."""

    answers: list[float]
    start: float


def one_by_one(weights: Weights, signals: Signals, row: int) -> Parts:
    """Scores before they are made to sum to one."""
    message = signals.messages[row].astype(float)
    answers, largest = [], np.zeros(PAIRS)
    for back in range(REACH):
        pair = signals.pairs[row, back].astype(float)
        largest = pair if back == 0 else np.maximum(largest, pair)
        if signals.there[row, back]:
            hidden = pair @ weights["pair.w"] + message @ weights["message.w"] + weights["pair.b"]
            second = np.clip(hidden, 0, None) @ weights["second.w"] + weights["second.b"]
            answers.append(float(np.clip(second, 0, None) @ weights["out"]))
    known = np.concatenate([message, largest])
    start = np.clip(known @ weights["start.w"] + weights["start.b"], 0, None) @ weights["start.out"]
    return Parts(answers, float(start))


class TestForward:
    def test_the_same_as_in_torch(self, signals: Signals, weights: Weights) -> None:
        assert_allclose(Network(weights)(signals), in_torch(weights, signals), rtol=0, atol=1e-5)

    @pytest.mark.parametrize("row", [0, 1, ROWS - 1])
    def test_the_same_one_by_one(self, signals: Signals, weights: Weights, row: int) -> None:
        answers, start = one_by_one(weights, signals, row)
        odds = np.exp(np.array([*answers, start]) - max([*answers, start]))
        found = Network(weights)(signals)[row]
        assert_allclose([*found[: len(answers)], found[REACH]], odds / odds.sum(), rtol=0, atol=1e-5)

    def test_probabilities(self, signals: Signals, weights: Weights) -> None:
        found = Network(weights)(signals)
        assert found.shape == (ROWS, REACH + 1)
        assert found.dtype == np.float32
        assert_allclose(found.sum(axis=1), 1, atol=1e-5)
        assert not found[:, :REACH][~signals.there].any()

    def test_the_first_message_can_only_start(self, signals: Signals, weights: Weights) -> None:
        assert Network(weights)(signals)[0, REACH] == 1

    def test_rows_do_not_know_each_other(self, signals: Signals, weights: Weights) -> None:
        whole = Network(weights)(signals)
        for row in range(ROWS):
            here = slice(row, row + 1)
            alone = Network(weights)(
                Signals(signals.pairs[here], signals.messages[here], signals.there[here])
            )
            assert_allclose(alone[0], whole[row], rtol=0, atol=1e-6)

    def test_its_input_is_left_alone(self, signals: Signals, weights: Weights) -> None:
        before = [each.copy() for each in signals]
        kept = {name: value.copy() for name, value in weights.items()}
        Network(weights)(signals)
        for now, then in zip(signals, before, strict=True):
            assert_array_equal(now, then)
        for name, value in weights.items():
            assert_array_equal(value, kept[name])

    def test_scores_of_any_size(self, signals: Signals, weights: Weights) -> None:
        """Nothing overflows."""
        for sign in (1e6, -1e6):
            large = {**weights, "out": weights["out"] * np.float32(sign)}
            found = Network(large)(signals)
            assert np.isfinite(found).all()
            assert_allclose(found.sum(axis=1), 1, atol=1e-5)


class TestLoading:
    @pytest.mark.parametrize("system", list(LIKENESS))
    def test_those_that_fit(self, system: str) -> None:
        saved = small_model(system)
        assert set(load_networks(saved.thread_weights, saved.runtime)) == set(STAGES)

    def test_none(self) -> None:
        assert load_networks({}, small_model().runtime) == {}

    @pytest.mark.parametrize("stage", STAGES)
    def test_a_stage_is_missing(self, stage: str) -> None:
        saved = small_model()
        some = {stage: saved.thread_weights[stage]}
        with pytest.raises(ValueError, match=f"threads need the stages first and second, found {stage}$"):
            load_networks(some, saved.runtime)

    @pytest.mark.parametrize("stage", STAGES)
    @pytest.mark.parametrize("name", list(Network.shapes(1, 1, 1, 1)))
    def test_another_shape(self, stage: str, name: str) -> None:
        saved = small_model()
        own = saved.thread_weights[stage]
        wrong = {**own, name: np.concatenate([own[name], own[name]])}
        with pytest.raises(ValueError, match=f"the weights of the {stage} stage of threads do not fit"):
            load_networks({**saved.thread_weights, stage: wrong}, saved.runtime)

    def test_stages_in_each_others_place(self) -> None:
        saved = small_model()
        first, second = (saved.thread_weights[stage] for stage in STAGES)
        with pytest.raises(ValueError, match="do not fit its signals"):
            load_networks({"first": second, "second": first}, saved.runtime)

    def test_of_another_selector(self) -> None:
        with pytest.raises(ValueError, match="do not fit its signals"):
            Model(replace(small_model("sirnn"), thread_weights=small_model("crosstalk").thread_weights))

    def test_a_damaged_folder_says_so(self, tmp_path: Path) -> None:
        saved = small_model()
        broken = {stage: dict(weights) for stage, weights in saved.thread_weights.items()}
        del broken["second"]["second.w"]
        write_model(tmp_path / "model", replace(saved, thread_weights=broken))
        with pytest.raises(ModelFormatError, match="what sessions need of the model is damaged"):
            load(tmp_path / "model")

    def test_of_the_model_that_comes_with_towhom(self, model: Model) -> None:
        utterance = model.runtime.encode_utterances(np.zeros(1, np.int32), np.array([0, 1]))
        kinds, content = (
            model.runtime.sides(utterance)[0].shape[1],
            model.runtime.embedding(utterance).shape[1],
        )
        for stage, more in (("first", 0), ("second", len(STRUCTURE))):
            weights = model.saved.thread_weights[stage]
            assert weights["pair.w"].shape[0] == len(pair_names(kinds)) + more
            assert weights["message.w"].shape[0] == len(MESSAGE) + len(MESSAGE_TIME) + content


def test_saved_and_loaded(tmp_path: Path) -> None:
    saved = small_model()
    write_model(tmp_path / "model", saved)
    loaded = load_model(tmp_path / "model")
    assert loaded.thread_weights.keys() == saved.thread_weights.keys()
    for stage, weights in saved.thread_weights.items():
        assert loaded.thread_weights[stage].keys() == weights.keys()
        for name, value in weights.items():
            assert_array_equal(loaded.thread_weights[stage][name], value)


def test_small_models_are_what_they_say() -> None:
    for system, likeness in LIKENESS.items():
        runtime = small_model(system).runtime
        utterance = runtime.encode_utterances(np.zeros(1, np.int32), np.array([0, 1]))
        assert runtime.sides(utterance)[0].shape[1] == likeness
        assert runtime.embedding(utterance).shape[1] == CONTENT[system]
