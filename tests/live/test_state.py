"""A channel goes on after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.live.chats import Platform
from tests.live.conftest import (
    assert_same,
    assert_same_selections,
    by_name,
    ruled_model,
    saved_model,
    talk,
    through_json,
)
from tests.live.damage import FUZZED, assert_refused_or_works, damaged
from towhom.chat import Kind, Message
from towhom.errors import SessionError
from towhom.hearing.utterance import REACH
from towhom.live import Model, Observation, Session

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


def at(*path: str | int, to: object) -> Callable[[Any], None]:
    """Puts something else somewhere in the state of the channel."""

    def damage(state: Any) -> None:
        there = state["channel"]
        for key in path[:-1]:
            there = there[key]
        there[path[-1]] = to

    return damage


def without(*path: str | int) -> Callable[[Any], None]:
    def damage(state: Any) -> None:
        there = state
        for key in path[:-1]:
            there = there[key]
        del there[path[-1]]

    return damage


DAMAGE: dict[str, Callable[[Any], object]] = {
    **{
        f"no {path[-1]}": without(*path)
        for path in (
            ("channel",), ("last",), ("last", "how"), ("last", "reason"), ("last", "audience"),
            ("channel", "ear"),
            ("channel", "room"), ("channel", "turns"), ("channel", "ids"), ("channel", "lines"),
            ("channel", "vocabulary"), ("channel", "ear", "people"), ("channel", "ear", "authors"),
            ("channel", "ear", "languages"), ("channel", "ear", "spoke"), ("channel", "ear", "count"),
            ("channel", "ear", "people", 0, "keys"), ("channel", "room", "sights"),
            ("channel", "room", "number"),
            *(("channel", "turns", 3, name)
              for name in ("text", "tokens", "people", "link", "order", "addressee", "gone")),
        )
    },
    "a message is missing": without("channel", "turns", 0),
    "a sight is missing": without("channel", "room", "sights", 0),
    "how": lambda state: state["last"].update(how="guessed"),
    "audience": lambda state: state["last"].update(audience="some"),
    "addressees": lambda state: state["last"].update(addressees=[["ada"]]),
    "last": lambda state: state.update(last="bob"),
    "turns": at("turns", to="none"),
    "one turn": at("turns", 3, to="tea"),
    "lines": at("lines", to="many"),
    "ids": at("ids", to=[["m1"]]),
    "ids of what is to come": at("ids", to=[["m1", 10**6, 0, 0, 0]]),
    "the line of an id": at("ids", to=[["m1", 0, "x", 0, 0]]),
    "the thread of an id": at("ids", to=[["m1", 0, 0, "x", 0]]),
    "an id": at("ids", to=[[5, 0, 0, 0, 0]]),
    "people": at("ear", "people", to=["helper"]),
    "no people": at("ear", "people", to=None),
    "a name": at("ear", "people", 0, "name", to=3),
    "a bot": at("ear", "people", 0, "bot", to="yes"),
    "aliases": at("ear", "people", 0, "aliases", to="hb"),
    "count": at("ear", "count", to="many"),
    "another count": at("ear", "count", to=5),
    "spoke": at("ear", "spoke", to=[["ada", 10**6]]),
    "called": at("ear", "called", to=[["ada", "x"]]),
    "a language": at("ear", "languages", to={"klingon": 3}),
    "authors": at("ear", "authors", to=[["m1"]]),
    "calls": at("turns", 3, "calls", to=[["ada"]]),
    "a manner": at("turns", 3, "calls", to=[["ada", "shouted", 0.9]]),
    "who is called": at("turns", 3, "calls", to=[[3, "front", 0.9]]),
    "own": at("turns", 3, "own", to=-1),
    "own, far": at("turns", 3, "own", to=REACH + 1),
    "called, far": at("turns", 3, "called", to=10**30),
    "asks": at("turns", 3, "asks", to="yes"),
    "gone": at("turns", 3, "gone", to=1),
    "kind": at("turns", 3, "kind", to="shout"),
    "time": at("turns", 3, "time", to="noon"),
    "bearing": at("turns", 3, "bearing", to=[1, 0, 0, 0]),
    "text": at("turns", 3, "text", to=5),
    "speaker": at("turns", 3, "speaker", to=["x"]),
    "reply_to": at("turns", 3, "reply_to", to=5),
    "addressee": at("turns", 3, "addressee", to=5),
    "people of a message": at("turns", 3, "people", to=[["ada"]]),
    "how likely": at("turns", 3, "people", to=[["ada", "likely"]]),
    "who may be meant": at("turns", 3, "people", to=[[5, 0.5]]),
    "order": at("turns", 3, "order", to=0),
    "line": at("turns", 3, "line", to="x"),
    "link": at("turns", 3, "link", to=[0, 0, 0]),
    "back": at("turns", 3, "link", to=[-1, 0, 0, 0, 1.0]),
    "what is answered": at("turns", 3, "link", to=[0, "x", 0, 0, 1.0]),
    "thread": at("turns", 3, "link", to=[0, 0, "x", 0, 1.0]),
    "first thread": at("turns", 3, "link", to=[0, 0, 0, "x", 1.0]),
    "tokens": at("turns", -1, "tokens", to=["tea"]),
    "tokens too large": at("turns", -1, "tokens", to=[1 << 40]),
    "tokens of no word": at("turns", -1, "tokens", to=[1 << 20]),
    "pieces": at("turns", -1, "pieces", to=["tea"]),
    "pieces below nothing": at("turns", -1, "pieces", to=[-1]),
    "pieces without weights": at("turns", -1, "weights", to=[0.5] * 50),
    "sight": at("room", "sights", 3, to=[0, "first", None]),
    "sight, far": at("room", "sights", 3, to=[REACH + 1, 0, None]),
    "who is answered": at("room", "sights", 3, to=[1, 0, 3]),
    "a number of messages": at("room", "number", to=(1 << 62) - 1),
    "a number of lines": at("lines", to=(1 << 62) - 1),
    "a message after none": at("turns", 0, "own", to=2),
    "a call after none": at("turns", 1, "called", to=2),
    "somebody twice": lambda state: state["channel"]["ear"]["people"].append(
        state["channel"]["ear"]["people"][0]
    ),
    "more pieces than messages": at("ear", "pieces", to=[[7, 1 << 61]]),
    "a message that nobody says": at("turns", 3, "kind", to="edit"),
    "nobody may be meant": lambda state: state["last"].update(addressees=[]),
    "more than likely": lambda state: state["last"].update(addressees=[[None, 1.5, None]]),
    "less than unlikely": lambda state: state["last"].update(addressees=[[None, -0.2, None]]),
    "a reason": lambda state: state["last"].update(reason=["why"]),
    **{f"{value} for a probability": at("turns", 3, "people", to=[["ada", value]])
       for value in (float("nan"), float("inf"), -float("inf"), 1.1, -0.1, True, "0.5", 10**400)},
    **{f"{value} for a link": at("turns", 3, "link", to=[0, 0, 0, 0, value])
       for value in (float("nan"), 2, -1, "0.5")},
    "a call that is surer than sure": at("turns", 3, "calls", to=[["ada", "front", 1.5]]),
    "a conversation that has not begun": at("turns", 3, "link", to=[0, 0, 0, 80, 1.0]),
    "a line of many digits": at("turns", 3, "line", to=10**400),
    "a time that is none": at("turns", 3, "time", to=float("nan")),
    "a time in a text": at("turns", 3, "time", to="12"),
    "tokens below nothing": at("turns", -1, "tokens", to=[-1]),
    "half a token": at("turns", -1, "tokens", to=[0.5]),
    "tokens in tokens": at("turns", -1, "tokens", to=[[1]]),
    **{f"a weight of {value!r}": at("turns", 5, "weights", to=[value])
       for value in (float("nan"), float("inf"), -1.0, 1e30, "0.5")},
    "telling": at("turns", 3, "telling", to=-1),
}  # fmt: skip


@pytest.fixture
def saved(model: Model, tmp_path: Path) -> tuple[Session, Path]:
    """A session in the middle of a chat, and where it was saved."""
    session = model.session()
    session.introduce("helper", "hb")
    for message in chat(1, messages=80):
        session.observe(message)
    session.save(tmp_path / "state.json")
    return session, tmp_path / "state.json"


@pytest.fixture(scope="module")
def whole() -> tuple[Model, str]:
    """A model, and the state of a session in the middle of a chat."""
    model = Model(ruled_model())
    session = model.session()
    session.introduce("helper", "hb")
    session.observe_all(chat(1, messages=80))
    return model, json.dumps(session.state())


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
        assert talk(restored, "bob> hello").reason == "ada had just addressed bob"

    def test_the_original_goes_on(self, saved: tuple[Session, Path]) -> None:
        """What is saved is a copy."""
        session, path = saved
        before = path.read_bytes()
        talk(session, "ada> tea")
        assert path.read_bytes() == before

    def test_by_another_model(self, saved: tuple[Session, Path]) -> None:
        """One that knows other words may be put in."""
        session = Model(saved_model(5, words=("tea", "door", "?", "the"))).session()
        session.restore(saved[1])
        assert sum(by_name(talk(session, "ada> tea").addressees).values()) == pytest.approx(1, abs=0.02)


class TestGoesOn:
    """However long it was, and whatever happened."""

    @pytest.mark.parametrize("cut", [0, 1, 40, REACH - 1, REACH, REACH + 1, 230, 299])
    @pytest.mark.parametrize("numbered", [False, True])
    def test_where_it_was(self, mixed: Model, cut: int, numbered: bool) -> None:
        lines = Platform(4, numbered=numbered, replies=0.3).lines(300)
        whole, first = mixed.session(), mixed.session()
        expected = whole.observe_all(lines)
        first.observe_all(lines[:cut])
        second = mixed.session(through_json(first.state()))
        assert_same(second.observe_all(lines[cut:]), expected[cut:])
        assert second.history == whole.history

    def test_again_and_again(self, soft: Model) -> None:
        lines, found = Platform(5).lines(260), list[Observation]()
        state: Any = None
        while len(found) < 260:
            session = soft.session(state)
            found += session.observe_all(lines[len(found) : len(found) + 23])
            state = through_json(session.state())
        assert_same(found, soft.session().observe_all(lines))

    @pytest.mark.parametrize("cut", [0, 3, 90, 150, 260])
    def test_the_same_state(self, mixed: Model, cut: int) -> None:
        first = mixed.session()
        first.observe_all(Platform(6, numbered=True).lines(cut))
        state = through_json(first.state())
        assert through_json(mixed.session(state).state()) == state

    def test_it_is_a_copy(self, mixed: Model) -> None:
        session = mixed.session()
        session.observe_all(Platform(6).lines(50))
        state = session.state()
        before = through_json(state)
        session.observe_all(Platform(7).lines(20))
        mixed.session(state).observe_all(Platform(8).lines(20))
        assert through_json(state) == before

    def test_replies_far_back(self, mixed: Model) -> None:
        session = mixed.session()
        session.observe_all([Message(f"p{place % 4}", "tea", id=str(place)) for place in range(150)])
        restored = mixed.session(through_json(session.state()))
        for each in (session, restored):
            found = each.observe(Message("zoe", "cat", reply_to="3"))
            assert (found.placed.replies_to, found.placed.probability) == ((3,), 1.0)
            assert (found.addressee, found.reason) == ("p3", "zoe replies to a message of p3")

    def test_a_reply_to_an_own_line_far_back(self, mixed: Model) -> None:
        session = mixed.session()
        session.observe_all([Message("bob", "milk"), Message("ada", "bob: tea", id="x")])
        session.observe_all([Message(f"p{place % 4}", "tea") for place in range(150)])
        restored = mixed.session(through_json(session.state()))
        message = Message("ada", "so", reply_to="x")
        assert_same([restored.observe(message)], [session.observe(message)])

    def test_an_identifier_that_came_again_and_was_taken_back(self, mixed: Model) -> None:
        """The earlier message with it is not answered any more, before a restart and after it."""
        session = mixed.session()
        said = [Message("ada", "tea", id="1"), Message("bob", "milk", id="1"), Message("cyd", "the door")]
        session.observe_all([*said, Message("", "", id="1", kind=Kind.DELETE)])
        restored = mixed.session(through_json(session.state()))
        message = Message("dee", "so", reply_to="1")
        assert_same([restored.observe(message)], [session.observe(message)])


class TestFile:
    def test_small(self, saved: tuple[Session, Path]) -> None:
        assert saved[1].stat().st_size < 60_000

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

    @pytest.mark.parametrize("version", [0, 1, 2, 10, None, "3"])
    def test_another_version(self, saved: tuple[Session, Path], version: object) -> None:
        session, path = saved
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "version": version}), "utf-8")
        with pytest.raises(SessionError, match=rf"the session has format version {version}, expected 3"):
            session.restore(path)

    @pytest.mark.parametrize("damage", DAMAGE, ids=str)
    def test_damaged(self, whole: tuple[Model, str], tmp_path: Path, damage: str) -> None:
        model, text = whole
        session, untouched = model.session(json.loads(text)), model.session(json.loads(text))
        state, path = json.loads(text), tmp_path / "state.json"
        DAMAGE[damage](state)
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


class TestExactly:
    def test_names_that_were_not_known_yet(self, mixed: Model, tmp_path: Path) -> None:
        """What was an unknown word when it was said stays one."""
        session = mixed.session()
        talk(session, "ada> lotte has the key", "bob> tea", "lotte> hello", "ada> milk")
        session.save(tmp_path / "state.json")
        restored = mixed.session()
        restored.restore(tmp_path / "state.json")
        drafts = ["tea", "lotte: milk", "lotte's key"]
        assert_same_selections(restored.select("bob", drafts), session.select("bob", drafts))
        found, expected = (each.rank_addressees("bob", "tea?") for each in (restored, session))
        assert by_name(found) == pytest.approx(by_name(expected), abs=1e-4)

    def test_words_of_another_model(self, mixed: Model) -> None:
        """They are found anew in the texts."""
        session = mixed.session()
        talk(session, "ada> is the door open ?", "bob> the doors are", "ada> bob has the key")
        state = through_json(session.state())
        state["channel"]["vocabulary"] = "of other words"
        for turn in state["channel"]["turns"]:
            turn.update(tokens=[1, 1], pieces=[5], weights=[0.5])
        restored = mixed.session(state)
        drafts = ["the doors", "bob"]
        assert_same_selections(restored.select("ada", drafts), session.select("ada", drafts))

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
        session.observe(Message("ada", "hi \ud83d", id="\ud83d"))
        session.save(tmp_path / "state.json")
        session.restore(tmp_path / "state.json")
        assert session.people.speakers == ["ada"]
        assert session.observe(Message("bob", "ho", reply_to="\ud83d")).addressee == "ada"

    def test_names_that_differ_in_case(self, model: Model) -> None:
        first = model.session()
        talk(first, "Ada> hello", "ada> hello", "Ada> so")
        second = model.session(through_json(first.state()))
        assert_same([talk(second, "bob> ADA: are you there?")], [talk(first, "bob> ADA: are you there?")])

    def test_deep(self, model: Model, tmp_path: Path) -> None:
        (tmp_path / "state.json").write_text("[" * 100_000, "utf-8")
        with pytest.raises(SessionError, match="the state cannot be read"):
            model.session().restore(tmp_path / "state.json")


@settings(max_examples=400, deadline=None)
@given(model=st.sampled_from(FUZZED), random=st.randoms())
def test_whatever_is_damaged(model: Model, random: Random) -> None:
    """It is no state, or the session works."""
    assert_refused_or_works(model, damaged(random))


def test_a_small_room_is_known_to_be_small(model: Model) -> None:
    """Who was alone, and who was in a room of two, is remembered: a third may come, and edits may follow."""
    said = [Message("ada", "tea ?", id="0"), Message("bob", "milk", id="1"), Message("ada", "door", id="2")]
    later = [
        Message("ada", "tea", id="0", kind=Kind.EDIT), Message("cyd", "hi"), Message("ada", "so", id="3"),
        Message("ada", "so ?", id="3", kind=Kind.EDIT),
    ]  # fmt: skip
    for cut in range(1, len(said) + 1):
        whole, begun = model.session(), model.session()
        expected = whole.observe_all([*said[:cut], *later])
        begun.observe_all(said[:cut])
        resumed = model.session(through_json(begun.state()))
        assert_same(resumed.observe_all(later), expected[cut:])
