"""A channel goes on after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.live.conftest import by_name, saved_model, talk
from towhom.chat import Kind, Message
from towhom.errors import SessionError
from towhom.hearing.utterance import Utterance
from towhom.live import Model, Session

TEXTS = (
    "tea",
    "the milk is open ?",
    "bob: the door",
    "hb: thanks",
    "so ada: no",
    "eve: are you there?",
    "Ça va ☕?",
    "",
)


def chat(seed: int, *, messages: int) -> list[Message]:
    """Five people and a bot; the names of some are called before they speak."""
    random = Random(seed)
    start = datetime(2024, 5, 31)
    people = ("ada", "bob", "cyd", "Grace Hopper", "hélène")
    return [
        Message(random.choice(people), random.choice(TEXTS), time=start + timedelta(seconds=40 * place))
        for place in range(messages)
    ]


def assert_same_answers(one: Session, other: Session) -> None:
    assert one.people.introduced == other.people.introduced
    for name in ("ada", "bob", "hb", "stranger"):
        ours, theirs = one.is_for(name), other.is_for(name)
        assert (ours.yes, ours.reason) == (theirs.yes, theirs.reason)
        assert ours.probability == pytest.approx(theirs.probability, abs=1e-6)
        ranked = (
            one.rank_addressees(name, "is the tea open ?"),
            other.rank_addressees(name, "is the tea open ?"),
        )
        assert by_name(ranked[0]) == pytest.approx(by_name(ranked[1]), abs=1e-6)
        selected = one.select(name, ["tea", "bob: milk"]), other.select(name, ["tea", "bob: milk"])
        pairs = [{(each.addressee, each.candidate): each.probability for each in some} for some in selected]
        assert pairs[0] == pytest.approx(pairs[1], abs=1e-6)


@pytest.fixture
def saved(model: Model, tmp_path: Path) -> tuple[Session, Path]:
    """A session in the middle of a chat, and where it was saved."""
    session = model.session()
    session.introduce("helper", "hb")
    for message in chat(1, messages=80):
        session.observe(message)
    session.save(tmp_path / "state.json")
    return session, tmp_path / "state.json"


class TestRestored:
    def test_answers_the_same_from_then_on(self, model: Model, saved: tuple[Session, Path]) -> None:
        session, path = saved
        restored = model.session()
        restored.restore(path)
        assert_same_answers(session, restored)
        for message in chat(2, messages=60):
            ours, theirs = session.observe(message), restored.observe(message)
            assert (ours.message, ours.how) == (theirs.message, theirs.how)
            assert by_name(ours.addressees) == pytest.approx(by_name(theirs.addressees), abs=1e-5)
        assert_same_answers(session, restored)

    @pytest.mark.parametrize("messages", [0, 1, 3])
    def test_after_a_few_messages(self, model: Model, tmp_path: Path, messages: int) -> None:
        session, restored = model.session(), model.session()
        for message in chat(1, messages=messages):
            session.observe(message)
        session.save(tmp_path / "state.json")
        restored.restore(tmp_path / "state.json")
        assert_same_answers(session, restored)

    def test_replaces_what_was_known(self, model: Model, saved: tuple[Session, Path]) -> None:
        session, path = saved
        other = model.session()
        other.introduce("weather")
        talk(other, "zoe> milk", "yan> zoe: the door")
        other.restore(path)
        assert other.people.find("zoe") is None
        assert_same_answers(session, other)

    def test_calls_that_are_not_answered_yet(self, ruled: Model, tmp_path: Path) -> None:
        session, restored = ruled.session(), ruled.session()
        talk(session, "ada> tea", "ada> bob: are you there?")
        session.save(tmp_path / "state.json")
        restored.restore(tmp_path / "state.json")
        assert talk(restored, "bob> hello", "bob> what is it").reason == "ada had just addressed bob"

    def test_the_original_goes_on(self, saved: tuple[Session, Path]) -> None:
        """What is saved is a copy."""
        session, path = saved
        before = path.read_bytes()
        talk(session, "ada> tea")
        assert path.read_bytes() == before

    def test_by_another_model(self, saved: tuple[Session, Path]) -> None:
        """A model with a longer context may be put in."""
        session = Model(saved_model("dynamic-rnn", context=15)).session()
        session.restore(saved[1])
        assert sum(by_name(talk(session, "ada> tea").addressees).values()) == pytest.approx(1)


class TestFile:
    def test_small(self, saved: tuple[Session, Path]) -> None:
        assert saved[1].stat().st_size < 30_000

    def test_saved_again(self, saved: tuple[Session, Path]) -> None:
        session, path = saved
        before = path.read_bytes()
        session.save(str(path))
        assert path.read_bytes() == before

    def test_saved_again_by_the_restored(self, model: Model, saved: tuple[Session, Path]) -> None:
        _, path = saved
        restored = model.session()
        restored.restore(str(path))
        restored.save(path.with_name("again.json"))
        assert path.with_name("again.json").read_bytes() == path.read_bytes()

    def test_all_or_nothing(self, saved: tuple[Session, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        session, path = saved
        before = path.read_bytes()
        talk(session, "ada> tea")

        def full(state: Any, file: Any, **options: Any) -> None:
            file.write("{")
            raise OSError("no space left")

        monkeypatch.setattr("towhom.live.session.json.dump", full)
        with pytest.raises(OSError, match="no space left"):
            session.save(path)
        assert path.read_bytes() == before
        assert [each.name for each in path.parent.iterdir()] == [path.name]


def change(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda state: state.update({key: value})


class TestNoState:
    @pytest.fixture
    def session(self, saved: tuple[Session, Path]) -> Session:
        return saved[0]

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"\xff\xfe", b"tea", b"null", b"[]", b"{}", b'{"format": "x"}']
    )
    def test_something_else(self, session: Session, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "other.json").write_bytes(content)
        with pytest.raises(
            SessionError, match=r"other\.json: (this is not the state|the state cannot be read)"
        ):
            session.restore(tmp_path / "other.json")

    def test_nowhere(self, session: Session, tmp_path: Path) -> None:
        with pytest.raises(SessionError, match=r"nowhere\.json: the state cannot be read"):
            session.restore(tmp_path / "nowhere.json")

    def test_a_folder(self, session: Session, tmp_path: Path) -> None:
        with pytest.raises(SessionError, match="the state cannot be read"):
            session.restore(tmp_path)

    @pytest.mark.parametrize("version", [0, 1, 10, None, "2"])
    def test_another_version(self, saved: tuple[Session, Path], version: object) -> None:
        session, path = saved
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "version": version}), "utf-8")
        with pytest.raises(SessionError, match=rf"the session has format version {version}, expected 2"):
            session.restore(path)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda state: state.pop("ear"),
            lambda state: state.pop("messages"),
            lambda state: state.pop("vocabulary"),
            lambda state: state["ear"].pop("people"),
            lambda state: state["ear"].pop("authors"),
            lambda state: state["ear"].pop("languages"),
            lambda state: state["ear"]["people"][0].pop("keys"),
            lambda state: state["ear"]["people"][0].update(name=3),
            lambda state: state["ear"]["people"][0].update(bot="yes"),
            lambda state: state["ear"]["people"][0].update(aliases="hb"),
            lambda state: state["ear"].update(people=["helper"]),
            lambda state: state["ear"].update(people=None),
            lambda state: state["ear"].update(count="many"),
            lambda state: state["ear"].update(spoke=[["ada", 10**6]]),
            lambda state: state["ear"].update(languages={"klingon": 3}),
            lambda state: state["messages"][3].update(calls=[["ada", "shouted", 0.9]]),
            lambda state: state["messages"][3].update(calls=[["ada"]]),
            lambda state: state["messages"][3].update(own=-1),
            lambda state: state["messages"][3].update(asks="yes"),
            lambda state: state["messages"][3].update(kind="shout"),
            lambda state: state["messages"][3].update(time="noon"),
            lambda state: state["messages"][3].update(bearing=[1, 0, 0, 0]),
            lambda state: state.pop("last"),
            lambda state: state["messages"][3].pop("text"),
            lambda state: state["last"].pop("how"),
            lambda state: state["messages"][3].update(text=5),
            lambda state: state["messages"][3].update(meant=[["ada"]]),
            lambda state: state["messages"][3].update(meant=[["ada", "likely"]]),
            lambda state: state["last"].update(how="guessed"),
            lambda state: state["messages"][-1].update(tokens=["tea"]),
            lambda state: state["messages"][-1].update(tokens=[1 << 40]),
            lambda state: state["messages"][-1].update(pieces=["tea"]),
            lambda state: state["messages"][-1].update(pieces=[-1]),
            lambda state: state["last"].update(audience="some"),
            lambda state: state["last"].update(addressees=[["ada"]]),
            change("messages", "none"),
            change("last", "bob"),
        ],
    )
    def test_damaged(
        self, model: Model, saved: tuple[Session, Path], damage: Callable[[dict[str, Any]], object]
    ) -> None:
        session, path = saved
        untouched = model.session()
        untouched.restore(path)
        state = json.loads(path.read_text("utf-8"))
        damage(state)
        path.write_text(json.dumps(state), "utf-8")
        with pytest.raises(SessionError, match=r"state\.json: the state cannot be read"):
            session.restore(path)
        assert_same_answers(session, untouched)

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
    def test_cut_off(self, saved: tuple[Session, Path], share: float) -> None:
        session, path = saved
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(SessionError, match="the state cannot be read"):
            session.restore(path)


SAID = {**Utterance("x", "").state(), "meant": []}
"""A message, as it is saved."""


class TestExactly:
    def test_what_the_damaged_ones_are_made_of(self, bare: Model) -> None:
        session = bare.session()
        session.resume({**session.state(), "messages": [SAID]})
        assert [each.speaker for each in session.history] == ["x"]

    @pytest.mark.parametrize("system", ["sirnn", "crosstalk"])
    def test_names_that_were_not_known_yet(self, system: str, tmp_path: Path) -> None:
        """What was an unknown word when it was said stays one."""
        session = Model(saved_model(system, context=15)).session()
        talk(session, "ada> lotte has the key", "bob> tea", "lotte> hello", "ada> milk")
        session.save(tmp_path / "state.json")
        restored = session.model.session()
        restored.restore(tmp_path / "state.json")
        drafts = ["tea", "lotte: milk", "lotte's key"]
        assert restored.select("bob", drafts) == session.select("bob", drafts)
        assert restored.rank_addressees("bob", "tea?") == session.rank_addressees("bob", "tea?")

    def test_words_of_another_model(self, lettered: Model, tmp_path: Path) -> None:
        """They are found anew in the texts."""
        session, restored = lettered.session(), lettered.session()
        talk(session, "ada> is the door open ?", "bob> the doors are", "ada> bob has the key")
        session.save(tmp_path / "state.json")
        state = json.loads((tmp_path / "state.json").read_text("utf-8"))
        state["vocabulary"] = "of other words"
        for message in state["messages"]:
            message.update(tokens=[1, 1], pieces=[5])
        (tmp_path / "state.json").write_text(json.dumps(state), "utf-8")
        restored.restore(tmp_path / "state.json")
        assert restored.select("ada", ["the doors", "bob"]) == session.select("ada", ["the doors", "bob"])

    def test_edits_replies_and_renames_go_on(self, ruled: Model, tmp_path: Path) -> None:
        session, restored = ruled.session(), ruled.session()
        session.observe(Message("17", "tea", id="m1", name="Ann"))
        session.observe(Message("18", "milk", id="m2", name="Bob"))
        session.observe(Message("17", "Annie", kind=Kind.RENAME))
        session.save(tmp_path / "state.json")
        restored.restore(tmp_path / "state.json")
        assert_same_answers(session, restored)
        assert restored.observe(Message("19", "no", reply_to="m1")).addressee == "Annie"
        assert restored.observe(Message("18", "ann: milk", id="m2", kind=Kind.EDIT)).addressee == "Annie"
        assert [each.text for each in restored.history] == ["tea", "milk", "no"]

    def test_half_a_character(self, model: Model, tmp_path: Path) -> None:
        session = model.session()
        session.observe(Message("ada", "hi \ud83d"))
        session.save(tmp_path / "state.json")
        session.restore(tmp_path / "state.json")
        assert session.people.speakers == ["ada"]

    @pytest.mark.parametrize(
        "change",
        [
            {
                "messages": [],
                "last": {
                    "addressees": [[None, 1.0, None]],
                    "how": "inferred",
                    "reason": "",
                    "audience": "nobody",
                },
            },
            {"messages": [{**SAID, "speaker": ["x"]}]},
            {"messages": [{**SAID, "time": "x"}]},
            {"messages": [{**SAID, "reply_to": 5}]},
            {"messages": [{**SAID, "meant": [[5, 0.5]]}]},
        ],
    )
    def test_damaged(self, model: Model, tmp_path: Path, change: dict[str, Any]) -> None:
        session = model.session()
        session.save(tmp_path / "state.json")
        state = json.loads((tmp_path / "state.json").read_text("utf-8"))
        (tmp_path / "state.json").write_text(json.dumps({**state, **change}), "utf-8")
        with pytest.raises(SessionError, match="the state cannot be read"):
            session.restore(tmp_path / "state.json")

    def test_deep(self, model: Model, tmp_path: Path) -> None:
        (tmp_path / "state.json").write_text("[" * 100_000, "utf-8")
        with pytest.raises(SessionError, match="the state cannot be read"):
            model.session().restore(tmp_path / "state.json")
