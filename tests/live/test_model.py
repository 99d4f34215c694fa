"""What `towhom.load` gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import towhom
from tests.live.conftest import VOCABULARY, Weights, by_name, random_ranker, rule_ranker, saved_model, talk
from tests.models.systems import NEURAL, neural
from tests.test_import import loaded_by
from towhom.errors import ModelFormatError
from towhom.hearing.manners import SURE, Manner
from towhom.live import Model
from towhom.persistence import save_model, write_model
from towhom.selection import Scores

CHAT = ("ada> is the door open ?", "bob> ada: the kettle is", "ada> thanks")


@pytest.mark.parametrize("system", NEURAL)
def test_a_folder_that_training_made(system: str, tmp_path: Path) -> None:
    network = neural(system, VOCABULARY, hidden=4)
    save_model(tmp_path / "m", network, VOCABULARY, system=system, context=5, training={})
    loaded, direct = towhom.load(tmp_path / "m").session(), Model(saved_model(system)).session()
    assert talk(loaded, *CHAT) == talk(direct, *CHAT)
    assert loaded.select("cyd", ["tea", "milk"]) == direct.select("cyd", ["tea", "milk"])


def test_a_folder_with_a_ranker(tmp_path: Path) -> None:
    saved = saved_model(ranker=rule_ranker(), live={"pairs": {"temperature": 0.5}})
    write_model(tmp_path / "m", saved)
    loaded, direct = towhom.load(str(tmp_path / "m")).session(), Model(saved).session()
    assert talk(loaded, *CHAT) == talk(direct, *CHAT)
    assert talk(loaded, *CHAT).addressee == "bob"
    assert loaded.select("cyd", ["tea", "milk"])[0].probability != pytest.approx(
        Model(saved_model()).session().select("cyd", ["tea", "milk"])[0].probability
    )


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="nowhere: there is no such folder"):
        towhom.load(tmp_path / "nowhere")


def test_sessions_know_nothing_of_each_other(model: Model) -> None:
    one, other = model.session(), model.session()
    one.introduce("helper")
    talk(one, *CHAT)
    assert set(by_name(talk(other, "ada> helper: tea").addressees)) == {None}


class TestWithoutARanker:
    def test_as_the_model_says(self, bare: Model) -> None:
        session = bare.session()
        found = by_name(talk(session, *CHAT, "cyd> tea", "ada> milk").addressees)
        assert found[None] == 0  # it knows nothing of messages to nobody
        assert found["bob"] > 0
        assert found["cyd"] > 0

    def test_who_is_named(self, bare: Model) -> None:
        session = bare.session()
        found = by_name(talk(session, *CHAT, "cyd> bob: tea").addressees)
        assert found["bob"] == pytest.approx(SURE[Manner.FRONT])


@pytest.mark.parametrize("ranker", [None, random_ranker()])
@pytest.mark.parametrize(
    ("text", "manner"),
    [("bob: tea", Manner.FRONT), ("@bob tea", Manner.MENTION), ("is it open, bob?", Manner.VOCATIVE)],
)
def test_a_call_is_believed_as_often_as_calls_are_right(
    ranker: Weights | None, text: str, manner: Manner
) -> None:
    session = Model(saved_model(ranker=ranker)).session()
    found = by_name(talk(session, *CHAT, f"cyd> {text}").addressees)
    assert found["bob"] == pytest.approx(SURE[manner])
    assert sum(found.values()) == pytest.approx(1)
    assert found["ada"] > 0


@pytest.mark.parametrize("ranker", [None, random_ranker()])
def test_several_who_are_called_are_each_believed(ranker: Weights | None) -> None:
    session = Model(saved_model(ranker=ranker)).session()
    found = by_name(talk(session, *CHAT, "dee> milk", "cyd> bob, ada: tea").addressees)
    assert found["bob"] == found["ada"] == pytest.approx(SURE[Manner.FRONT])
    assert found["dee"] + (found[None] or 0) == pytest.approx(1 - SURE[Manner.FRONT])


class TestDamagedRanker:
    @pytest.mark.parametrize("name", list(rule_ranker()))
    def test_weights(self, tmp_path: Path, name: str) -> None:
        missing = {key: value for key, value in rule_ranker().items() if key != name}
        for weights in (missing, {**missing, name: np.zeros((3, 3), np.float32)}):
            write_model(tmp_path / "m", replace(saved_model(ranker=rule_ranker()), live_weights=weights))
            with pytest.raises(ModelFormatError, match="what sessions need of the model is damaged"):
                towhom.load(tmp_path / "m")

    @pytest.mark.parametrize(
        "live",
        [{"addressees": 1}, {"addressees": {"heat": 1}}, {"pairs": {"temperature": 0}}, {"pairs": "often"}],
    )
    def test_settings(self, tmp_path: Path, live: dict[str, object]) -> None:
        write_model(tmp_path / "m", replace(saved_model(ranker=rule_ranker()), live=live))
        with pytest.raises(ModelFormatError, match="what sessions need of the model is damaged"):
            towhom.load(tmp_path / "m")


class TestPairProbabilities:
    SCORES = Scores(np.array([[np.nan, 0.8, 0.4]]), np.array([[0.5, 0.25]]))

    def test_shares(self) -> None:
        model = Model(saved_model("sirnn-separate"))
        allowed = np.array([[False, False], [True, True], [True, True]])
        pairs = model.pair_probabilities(self.SCORES, allowed, np.zeros(allowed.shape))
        assert pairs[0].tolist() == [-1, -1]
        assert pairs[1:].ravel() == pytest.approx(np.array([0.4, 0.2, 0.2, 0.1]) / 0.9)

    def test_those_that_cannot_be(self) -> None:
        model = Model(saved_model("sirnn-separate"))
        allowed = np.array([[False, False], [True, False], [True, True]])
        pairs = model.pair_probabilities(self.SCORES, allowed, np.zeros(allowed.shape))
        assert pairs[1, 1] == -1
        assert pairs[pairs >= 0].sum() == pytest.approx(1)

    def test_what_counts_besides(self) -> None:
        """Logarithmic probabilities."""
        model = Model(saved_model("sirnn-separate"))
        allowed = np.array([[False, False], [True, True], [True, True]])
        more = np.log([[1, 1], [2, 1], [1, 1]])
        pairs = model.pair_probabilities(self.SCORES, allowed, more)
        assert pairs[1:].ravel() == pytest.approx(np.array([0.8, 0.2, 0.2, 0.1]) / 1.3)

    def test_temperature(self) -> None:
        model = Model(saved_model("sirnn-separate", live={"pairs": {"temperature": 0.5}}))
        allowed = np.array([[False, False], [True, True], [True, True]])
        pairs = model.pair_probabilities(self.SCORES, allowed, np.zeros(allowed.shape))
        assert pairs[1:].ravel() == pytest.approx(np.array([0.16, 0.04, 0.04, 0.01]) / 0.25)


class TestNoTorch:
    @pytest.mark.parametrize(
        "module",
        [
            "live",
            "live.model",
            "live.session",
            "hearing.people",
            "hearing.utterance",
            "threads",
            "live.addressees",
        ],
    )
    def test_modules(self, module: str) -> None:
        assert "torch" not in loaded_by(f"import towhom.{module}")

    def test_a_channel(self, tmp_path: Path) -> None:
        write_model(tmp_path / "m", saved_model(ranker=rule_ranker()))
        loaded = loaded_by(
            f"import towhom; session = towhom.load({json.dumps(str(tmp_path / 'm'))}).session()\n"
            "session.introduce('helper', 'hb'); session.observe(towhom.Message('ada', 'hb: tea'))\n"
            "assert session.is_for('helper'); session.select('helper', ['tea', 'milk'])"
        )
        assert "towhom.runtime.sirnn" in loaded
        assert "torch" not in loaded
