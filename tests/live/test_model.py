"""What `towhom.load` gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import towhom
from tests.live.chats import Platform
from tests.live.conftest import assert_same, by_name, saved_model, talk
from tests.test_import import loaded_by
from towhom.crosstalk.folder import compacted, write_crosstalk
from towhom.errors import ModelFormatError
from towhom.hearing.manners import SURE, Manner
from towhom.live import Model, Session

CHAT = ("ada> is the door open ?", "bob> ada: the kettle is", "ada> thanks")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_crosstalk(tmp_path / "m", saved_model(1), card="")
    return tmp_path / "m"


@pytest.mark.parametrize("kind", [str, Path])
def test_a_folder(folder: Path, kind: type[str] | type[Path]) -> None:
    saved = saved_model(1)
    saved.weights.update(compacted(saved.weights))
    loaded, direct = towhom.load(kind(folder)), Model(saved)
    chat = Platform(1).lines(60)
    assert_same(loaded.session().observe_all(chat), direct.session().observe_all(chat))
    assert loaded.saved.fingerprint == saved.fingerprint
    assert loaded.lexicon.fingerprint == saved.lexicon.fingerprint


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="nowhere: there is no such folder"):
        towhom.load(tmp_path / "nowhere")


def test_sessions_know_nothing_of_each_other(model: Model) -> None:
    one, other = model.session(), model.session()
    one.introduce("helper")
    talk(one, *CHAT)
    assert set(by_name(talk(other, "ada> helper: tea").addressees)) == {None}


def test_a_session_that_goes_on(model: Model) -> None:
    one = model.session()
    talk(one, *CHAT)
    other = model.session(one.state())
    assert isinstance(other, Session)
    assert other.history == one.history


@pytest.mark.parametrize(
    ("text", "manner"),
    [("bob: tea", Manner.FRONT), ("@bob tea", Manner.MENTION), ("is it open, bob?", Manner.VOCATIVE)],
)
def test_a_call_is_believed_as_often_as_calls_are_right(model: Model, text: str, manner: Manner) -> None:
    session = model.session()
    found = by_name(talk(session, *CHAT, f"cyd> {text}").addressees)
    assert found["bob"] == pytest.approx(SURE[manner])
    assert sum(found.values()) == pytest.approx(1, abs=0.02)


def test_several_who_are_called_are_each_believed(model: Model) -> None:
    session = model.session()
    found = by_name(talk(session, *CHAT, "dee> milk", "cyd> bob, ada: tea").addressees)
    assert found.pop("bob") == found.pop("ada") == pytest.approx(SURE[Manner.FRONT])
    assert sum(found.values()) == pytest.approx(1 - SURE[Manner.FRONT], abs=0.01)


class TestNoTorch:
    @pytest.mark.parametrize(
        "module",
        ["live", "live.model", "live.session", "live.channel", "hearing.people", "crosstalk.mind", "threads"],
    )
    def test_modules(self, module: str) -> None:
        assert "torch" not in loaded_by(f"import towhom.{module}")

    def test_a_channel(self, folder: Path) -> None:
        loaded = loaded_by(
            f"import towhom; session = towhom.load({json.dumps(str(folder))}).session()\n"
            "session.introduce('helper', 'hb'); session.observe(towhom.Message('ada', 'hb: tea'))\n"
            "assert session.is_for('helper'); session.select('helper', ['tea', 'milk'])"
        )
        assert "towhom.crosstalk.mind" in loaded
        assert not {"torch", "towhom.models", "towhom.training"} & loaded
