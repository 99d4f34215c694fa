"""Many messages at once, one by one, or by `Model.threads`: the same answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.live.chats import Platform, channels
from tests.live.conftest import (
    assert_same,
    assert_same_places,
    ruled_model,
    saved_model,
    through_json,
)
from towhom.chat import Kind, Message
from towhom.crosstalk import mind as minds
from towhom.crosstalk.columns import Columns
from towhom.crosstalk.mind import FirstLook, Mind
from towhom.hearing import people
from towhom.hearing.utterance import REACH
from towhom.live import Model, Observation, Session
from towhom.live.channel import CHUNK
from towhom.live.following import follow_together

LONG = 280


def one_by_one(session: Session, messages: Sequence[Message]) -> list[Observation]:
    return [session.observe(message) for message in messages]


def in_chunks(session: Session, messages: Sequence[Message], sizes: Iterator[int]) -> list[Observation]:
    """Some at once, then some more."""
    found: list[Observation] = []
    while len(found) < len(messages):
        found += session.observe_all(messages[len(found) : len(found) + next(sizes)])
    return found


def of_size(size: int) -> Iterator[int]:
    while True:
        yield size


def any_sizes(seed: int) -> Iterator[int]:
    random = Random(seed)
    while True:
        yield random.choice((1, 1, 2, 3, 7, 40, 120, 300))


def assert_same_state(one: Session, other: Session) -> None:
    """But for rounding, and numbers of people that mean nothing."""
    ours, theirs = (through_json(each.state())["channel"] for each in (one, other))
    assert ours["ear"] == theirs["ear"]
    assert ours["room"] == theirs["room"]
    for mine, their in zip(ours["ids"], theirs["ids"], strict=True):
        assert mine == [pytest.approx(each, abs=1e-4) if isinstance(each, float) else each for each in their]
    assert ours["lines"] == theirs["lines"]
    for mine, their in zip(ours["turns"], theirs["turns"], strict=True):
        for each in (mine, their):
            each["people"] = sorted((who or "", round(p, 2)) for who, p in each["people"] if p > 0.01)
            each["link"][-1] = round(each["link"][-1], 3)
        assert mine == pytest.approx(their) if isinstance(mine, float) else mine == their


def check(model: Model, chat: Sequence[Message], sizes: Iterator[int]) -> list[Observation]:
    """All ways give the same; returns that."""
    slow, quick = model.session(), model.session()
    found = one_by_one(slow, chat)
    assert_same(in_chunks(quick, chat, sizes), found)
    assert_same_state(quick, slow)
    for name in ("ada", "bob", "100", "101", "102"):
        ours, theirs = quick.is_for(name), slow.is_for(name)
        assert (ours.yes, ours.reason, ours.everybody) == (theirs.yes, theirs.reason, theirs.everybody)
        assert ours.probability == pytest.approx(theirs.probability, abs=1e-4)
    assert quick.history == slow.history
    return found


class TestTheSame:
    @pytest.mark.parametrize("seed", [1, 2])
    @pytest.mark.parametrize("numbered", [False, True])
    def test_whatever_happens(self, model: Model, seed: int, numbered: bool) -> None:
        """Renames, edits, deletions, names that change, newcomers who were called, replies near and far."""
        chat = Platform(seed, numbered=numbered).lines(LONG)
        found = check(model, chat, any_sizes(seed))
        assert_same(model.session().observe_all(chat), found)
        assert_same_places(list(model.threads(chat)), [each.placed for each in found])
        assert len({each.message.kind for each in found}) == len(Kind)

    def test_chunks_of_any_size(self, mixed: Model) -> None:
        chat = Platform(7).lines(LONG)
        found = one_by_one(mixed.session(), chat)
        for size in (2, 31, REACH - 1, REACH, REACH + 1, CHUNK, CHUNK + 1):
            assert_same(in_chunks(mixed.session(), chat, of_size(size)), found)

    @pytest.mark.parametrize("timed", [False, True])
    def test_replies_of_the_platform(self, soft: Model, timed: bool) -> None:
        chat = Platform(8, replies=0.7, timed=timed).lines(LONG)
        found = check(soft, chat, any_sizes(8))
        far = [
            each
            for each in found
            if each.message.reply_to is not None and each.placed.line - each.placed.replies_to[0] > REACH
        ]
        assert len(far) > 10

    def test_nothing(self, model: Model) -> None:
        session = model.session()
        assert session.observe_all([]) == []
        assert list(model.threads([])) == []
        assert list(model.observations([])) == []
        assert session.state() == model.session().state()

    def test_a_crowd(self, soft: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        """More people than are remembered, who are called before and after they have left."""
        monkeypatch.setattr(people, "REMEMBERED", 30)
        random = Random(1)
        chat = [
            Message(str(place % 70), f"n{random.randrange(70)}: tea {place}", name=f"n{place % 70}")
            for place in range(300)
        ]
        check(soft, chat, any_sizes(1))

    def test_in_a_room_that_turns_out_to_speak_another_language(self, soft: Model) -> None:
        """What is said before is judged by what was known then."""
        texts = (
            "ok", "tea", "the kettle is open", "wer kommt heute mit ins kino?", "ich bin nicht da",
            "das ist schade, und morgen?", "wo ist der schlüssel", "tea is the door", "der ist bei mir",
        )  # fmt: skip
        random = Random(1)
        chat = [Message(random.choice("abcdef"), random.choice(texts)) for _ in range(120)]
        chat += [
            Message(random.choice("abcdef"), "the kettle is open and it is not my tea") for _ in range(80)
        ]
        check(soft, chat, any_sizes(2))


class TestTogether:
    """Several channels in one pass: each as if it were alone."""

    def test_whatever_happens(self, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        chats = [Platform(seed, numbered=seed % 2 == 0).lines(30 + 40 * seed) for seed in range(6)]
        alone, together = [model.session() for _ in chats], [model.session() for _ in chats]
        monkeypatch.setattr(minds, "_ROOMS", 4)
        expected = [session.observe_all(chat) for session, chat in zip(alone, chats, strict=True)]
        found: list[list[Observation]] = [[] for _ in chats]
        for start in range(0, max(map(len, chats)), 9):
            some = [chat[start : start + 9] for chat in chats]
            parts = follow_together([each.following(part) for each, part in zip(together, some, strict=True)])
            for observations, part in zip(found, parts, strict=True):
                observations += part
        for ours, theirs, one, other in zip(found, expected, together, alone, strict=True):
            assert_same(ours, theirs)
            assert_same_state(one, other)

    def test_one_pass(self, soft: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        """What many channels ask at the same time costs one look."""
        looks: list[int] = []
        first_look = Mind.first_look

        def counted(mind: Mind, past: Columns, *rest: Any, **more: Any) -> FirstLook:
            looks.append(past.size)
            return first_look(mind, past, *rest, **more)

        monkeypatch.setattr(Mind, "first_look", counted)
        follow_together([soft.session().following([Message("ada", "tea")]) for _ in range(50)])
        assert looks == [50]


class TestNewcomers:
    """Whoever comes is seen only by those who speak later."""

    @pytest.mark.parametrize("size", [2, 3, 50])
    def test_called_before_they_speak(self, model: Model, size: int) -> None:
        chat = [
            Message("ada", "bob: are you there?"),
            Message("cyd", "@bob hello"),
            Message("ada", "bob"),
            Message("bob", "yes"),
            Message("cyd", "so"),
            Message("ada", "bob: good"),
        ]
        found = check(model, chat, of_size(size))
        assert [each.how.value for each in found[:3]] == ["inferred"] * 3
        assert found[-1].addressee == "bob"

    @pytest.mark.parametrize("how", [{"mentions": ("18",)}, {"addressee": "18"}])
    def test_names_that_are_not_known_yet(self, model: Model, how: dict[str, Any]) -> None:
        """Somebody is meant by their number before it is known what they are called."""
        chat = [
            Message("17", "hello", name="Ann"),
            Message("17", "are you there?", name="Ann", **how),
            Message("18", "yes", name="Bob"),
            Message("17", "good", name="Ann", **how),
        ]
        found = check(model, chat, of_size(4))
        assert [each.addressee for each in found if each.how.value == "named"] == ["18", "Bob"]

    def test_a_name_that_changes(self, model: Model) -> None:
        chat = [
            Message("17", "hello", name="Ann"),
            Message("18", "ann: hello", name="Bob"),
            Message("17", "bob: tea?", name="Annie"),
            Message("18", "annie: no", name="Bob"),
            Message("18", "ann: or", name="Robert"),
        ]
        found = check(model, chat, of_size(5))
        assert [each.message.name for each in found] == ["Ann", "Bob", "Annie", "Bob", "Robert"]
        assert [each.addressee for each in found[1:4]] == ["Ann", "Bob", "Annie"]

    def test_a_number_that_was_forgotten(self, soft: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of more people than are remembered, the name is gone; what was said while it was known has it."""
        monkeypatch.setattr(people, "REMEMBERED", 3)
        chat = [Message(str(place), "tea", name=f"n{place}") for place in range(3)]
        chat += [
            Message("2", "n0: milk", name="n2"),
            Message("3", "tea", name="n3"),
            Message("4", "tea", name="n4"),
        ]
        found = check(soft, chat, of_size(6))
        assert found[3].addressee == "n0"


class TestNoFuture:
    @pytest.mark.parametrize("cut", [1, 17, 120])
    @pytest.mark.parametrize("numbered", [False, True])
    def test_what_follows_changes_nothing(self, mixed: Model, cut: int, numbered: bool) -> None:
        platform = Platform(3, numbered=numbered)
        before = platform.lines(cut)
        expected = one_by_one(mixed.session(), before)
        other = Platform(99, numbered=numbered).lines(60)
        for after in ([], platform.lines(60), other, [Message("ada", "cyd: kettle?")] * 5):
            assert_same(mixed.session().observe_all([*before, *after])[:cut], expected)


class TestThreads:
    @pytest.mark.parametrize("at_once", [1, 7, CHUNK])
    def test_the_same_as_observations(self, mixed: Model, at_once: int) -> None:
        chat = channels(5, 150)
        observed = list(mixed.observations(chat))
        assert [each.placed.message for each in observed] == chat
        assert_same_places(list(mixed.threads(chat, at_once=at_once)), [each.placed for each in observed])
        assert_same(list(mixed.observations(chat, at_once=at_once)), observed)

    def test_each_channel_is_followed_for_itself(self, mixed: Model) -> None:
        chat = [replace(message, line=place) for place, message in enumerate(channels(6, 300))]
        together = list(mixed.observations(chat))
        for name in ("tea", "cats", None):
            alone = one_by_one(mixed.session(), [each for each in chat if each.channel == name])
            assert len(alone) > 60
            assert_same([each for each in together if each.placed.message.channel == name], alone)

    def test_no_thread_is_in_two_channels(self, soft: Model) -> None:
        rooms: dict[int, set[str | None]] = {}
        for each in soft.threads(channels(6, 300)):
            rooms.setdefault(each.thread, set()).add(each.message.channel)
        assert all(len(names) == 1 for names in rooms.values())

    def test_each_session_is_prepared_once(self, ruled: Model) -> None:
        prepared: list[Session] = []

        def prepare(session: Session) -> None:
            session.introduce("robo", "rb", bot=True)
            prepared.append(session)

        chat = [Message("ada", "rb: tea", channel=name) for name in ("tea", "cats", "tea", None, "cats")]
        found = list(ruled.observations(chat, at_once=2, prepare=prepare))
        assert [each.addressee for each in found] == ["robo"] * 5
        assert len(prepared) == len(set(map(id, prepared))) == 3

    @pytest.mark.parametrize("way", ["threads", "observations"])
    @pytest.mark.parametrize("at_once", [1, 5, CHUNK])
    def test_a_log_is_read_as_it_is_asked_for(self, ruled: Model, way: str, at_once: int) -> None:
        taken: list[Message] = []

        def endless() -> Iterator[Message]:
            while True:
                taken.append(Message(f"p{len(taken) % 5}", "tea"))
                yield taken[-1]

        found = getattr(ruled, way)(endless(), at_once=at_once)
        next(found)
        assert len(taken) == at_once


NAMES = ("ada", "bob", "ADA", "hélène", "🫖", "Grace Hopper", ".*", "(", "@", ":", "", " ", "the")
names = st.sampled_from(NAMES) | st.text(max_size=6)
texts = (
    st.text(max_size=30)
    | st.builds("{}{} {}".format, names, st.sampled_from((":", ",", ";", ">", "", ":")), st.text(max_size=12))
    | st.sampled_from(("", " ", "?", "!tea", ": :", "is the tea open ?", "thanks"))
)
ids = st.none() | st.integers(0, 14).map(str)
messages = st.builds(
    Message,
    names,
    texts,
    addressee=st.none() | names,
    time=st.none() | st.datetimes(),
    id=ids,
    reply_to=ids,
    kind=st.sampled_from((*Kind, *[Kind.MESSAGE] * 5)),
    name=st.none() | names,
    mentions=st.lists(names, max_size=2).map(tuple),
    bot=st.booleans(),
)
ANY_MODELS = (Model(ruled_model()), Model(saved_model(1)), Model(saved_model(2, scale=0.15)))


@settings(max_examples=100, deadline=None)
@given(model=st.sampled_from(ANY_MODELS), chat=st.lists(messages, max_size=14), cut=st.integers(0, 14))
def test_any_chat(model: Model, chat: list[Message], cut: int) -> None:
    session = model.session()
    found = one_by_one(session, chat)
    assert_same(model.session().observe_all(chat), found)
    assert_same_places(list(model.threads(chat)), [each.placed for each in found])
    first = model.session()
    begun = first.observe_all(chat[:cut])
    resumed = model.session(through_json(first.state()))
    assert_same([*begun, *resumed.observe_all(chat[cut:])], found)
