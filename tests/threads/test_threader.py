"""Messages placed in conversations as they come, by the model that comes with towhom."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.live.conftest import saved_model
from tests.threads.chats import PEOPLE, START, busy_chat, talk, unnumbered
from tests.threads.conftest import small_model
from towhom import load
from towhom.chat import Kind, Message
from towhom.errors import ModelFormatError, SessionError
from towhom.hearing.people import REMEMBERED
from towhom.hearing.utterance import REACH, SPOKEN
from towhom.live import Model
from towhom.threads import Placed, Threader, threader

LONG = 700


def one_by_one(threader: Threader, messages: Iterable[Message]) -> list[Placed]:
    return [threader.place(message) for message in messages]


def in_chunks(threader: Threader, messages: Sequence[Message], sizes: Iterator[int]) -> list[Placed]:
    """Some at once, then some more."""
    found: list[Placed] = []
    while len(found) < len(messages):
        found += threader.place_all(messages[len(found) : len(found) + next(sizes)])
    return found


def of_size(size: int) -> Iterator[int]:
    while True:
        yield size


def assert_same(ours: Sequence[Placed], theirs: Sequence[Placed]) -> None:
    """But for rounding."""
    assert [(p.message, p.line, p.replies_to, p.thread) for p in ours] == [
        (p.message, p.line, p.replies_to, p.thread) for p in theirs
    ]
    assert [p.probability for p in ours] == pytest.approx([p.probability for p in theirs], abs=1e-5)


def through_json(state: Any) -> Any:
    return json.loads(json.dumps(state))


class Long:
    """A busy chat, and where its messages belong, one by one."""

    def __init__(self, model: Model, messages: list[Message]) -> None:
        self.messages = messages
        self.placed = one_by_one(model.threader(), messages)


@pytest.fixture(scope="module")
def long(model: Model) -> Long:
    return Long(model, busy_chat(1, LONG, replies=True))


@pytest.fixture(scope="module")
def untimed(model: Model) -> Long:
    return Long(model, busy_chat(2, LONG, timed=False))


class TestSense:
    """What anybody would say."""

    def place(self, model: Model, *lines: str) -> list[Placed]:
        return list(model.threads(talk(*lines)))

    def test_two_conversations_at_once(self, model: Model) -> None:
        found = self.place(
            model,
            "ada> does anybody know how to install the nvidia driver?",
            "bob> where can i buy a good kettle?",
            "cyd> ada: which nvidia card do you have?",
            "dee> bob: any shop has a kettle",
            "ada> cyd: a very old one",
            "bob> dee: thanks",
        )
        assert [each.replies_to for each in found] == [(0,), (1,), (0,), (1,), (2,), (3,)]
        assert [each.thread for each in found] == [0, 1, 0, 1, 0, 1]

    def test_the_first_message_starts_a_conversation_for_sure(self, model: Model) -> None:
        (found,) = self.place(model, "ada> hello")
        assert found == Placed(found.message, 0, (0,), 0, 1.0)
        assert found.starts

    def test_more_than_one_answer_is_thought_of(self, untimed: Long) -> None:
        sure = [each.probability for each in untimed.placed if each.message.kind in SPOKEN]
        assert min(sure) < 0.6
        assert max(sure) > 0.95
        starts = sum(each.starts for each in untimed.placed if each.message.kind in SPOKEN)
        assert 0.01 * LONG < starts < 0.5 * LONG


class TestManyAtOnce:
    @pytest.mark.parametrize("size", [2, 31, REACH - 1, REACH, REACH + 1, threader.CHUNK, LONG])
    def test_the_same_as_one_by_one(self, model: Model, long: Long, size: int) -> None:
        assert_same(in_chunks(model.threader(), long.messages, of_size(size)), long.placed)

    @pytest.mark.parametrize("size", [64, LONG])
    def test_without_times(self, model: Model, untimed: Long, size: int) -> None:
        assert_same(in_chunks(model.threader(), untimed.messages, of_size(size)), untimed.placed)

    @pytest.mark.parametrize("seed", [1, 2])
    def test_now_a_few_now_many(self, model: Model, long: Long, seed: int) -> None:
        random = Random(seed)
        sizes = iter(lambda: random.choice((1, 1, 2, 5, 60, 150, 300)), 0)
        assert_same(in_chunks(model.threader(), long.messages, sizes), long.placed)

    def test_as_the_model_reads_a_log(self, model: Model, long: Long) -> None:
        assert_same(list(model.threads(iter(long.messages))), long.placed)

    def test_nothing(self, model: Model) -> None:
        assert model.threader().place_all([]) == []
        assert list(model.threads([])) == []

    def test_a_log_is_read_as_it_is_asked_for(self, model: Model) -> None:
        taken: list[Message] = []

        def endless() -> Iterator[Message]:
            while True:
                taken.append(Message(PEOPLE[len(taken) % 5], "tea"))
                yield taken[-1]

        assert next(model.threads(endless())).message == taken[0]
        assert len(taken) == threader.CHUNK

    def test_an_identifier_that_comes_again(self, model: Model) -> None:
        """An edited message, for example."""
        chat = [
            Message("ada", "is the kettle on?", id="1"),
            Message("bob", "where are my keys?", id="2"),
            Message("cyd", "hm", reply_to="1"),
            Message("ada", "is the kettle off?", id="1"),
        ]
        assert_same(model.threader().place_all(chat), one_by_one(model.threader(), chat))

    def test_identifiers_that_are_forgotten(self, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(threader, "_IDS", 20)
        chat = [Message(PEOPLE[place % 3], f"what is {place}?", id=str(place)) for place in range(60)]
        chat.append(Message("dee", "hm", reply_to="30"))
        assert_same(model.threader().place_all(chat), one_by_one(model.threader(), chat))


class TestNoFuture:
    @pytest.mark.parametrize("cut", [1, 17, 120, 250])
    def test_what_follows_changes_nothing(self, model: Model, long: Long, cut: int) -> None:
        before = long.messages[:cut]
        other = busy_chat(9, 255, replies=True)
        for after in ([], long.messages[cut:255], other[cut:], [Message("ada", "cyd: kettle?")] * 5):
            found = model.threader().place_all([*before, *after])[:cut]
            assert_same(found, long.placed[:cut])

    def test_somebody_who_speaks_later_is_a_stranger(self, model: Model) -> None:
        """What is said to zoe is the same to whoever does not come."""
        chat = talk("ada> hello", "bob> zoe: are you there?", "cyd> where is zoe")
        comes = [*chat, Message("zoe", "here", line=3), Message("bob", "zoe: good", line=4)]
        stays_away = [*chat, Message("ada", "here", line=3), Message("bob", "ada: good", line=4)]
        assert_same(model.threader().place_all(comes)[:3], model.threader().place_all(stays_away)[:3])


class TestState:
    @pytest.mark.parametrize("cut", [0, 1, 40, REACH - 1, REACH, REACH + 1, 333, LONG - 1, LONG])
    def test_goes_on_where_it_was(self, model: Model, long: Long, cut: int) -> None:
        first = model.threader()
        first.place_all(long.messages[:cut])
        second = model.threader(through_json(first.state()))
        assert_same(second.place_all(long.messages[cut:]), long.placed[cut:])

    def test_again_and_again(self, model: Model, untimed: Long) -> None:
        found: list[Placed] = []
        state = None
        while len(found) < 300:
            here = model.threader(state)
            found += here.place_all(untimed.messages[len(found) : len(found) + 23])
            state = through_json(here.state())
        assert_same(found, untimed.placed[: len(found)])

    @pytest.mark.parametrize("cut", [0, 3, 150, 400])
    def test_of_what_was_resumed(self, model: Model, long: Long, cut: int) -> None:
        first = model.threader()
        first.place_all(long.messages[:cut])
        state = through_json(first.state())
        assert through_json(model.threader(state).state()) == state

    def test_is_a_copy(self, model: Model) -> None:
        here = model.threader()
        here.place_all(busy_chat(3, 30, replies=True))
        state = here.state()
        before = through_json(state)
        here.place_all([Message("zoe", "hello", id="new"), Message("yan", "zoe: hello")])
        assert through_json(state) == before

    def test_what_was_resumed_from_is_left_alone(self, model: Model) -> None:
        first = model.threader()
        first.place_all(busy_chat(3, 30, replies=True))
        state = first.state()
        before = through_json(state)
        model.threader(state).place_all([Message("zoe", "hello", id="new"), Message("ada", "zoe: hello")])
        assert through_json(state) == before

    def test_replaces_what_was_known(self, model: Model, long: Long) -> None:
        first, second = model.threader(), model.threader()
        first.place_all(long.messages[:50])
        second.place_all(busy_chat(7, 80, replies=True))
        second.resume(through_json(first.state()))
        assert_same(second.place_all(long.messages[50:200]), long.placed[50:200])

    def test_names_that_differ_in_case(self, model: Model) -> None:
        first = model.threader()
        first.place_all([Message(name, "hello") for name in ("Ada", "ada", "Ada")])
        second = model.threader(through_json(first.state()))
        new = Message("bob", "ADA: are you there?")
        assert_same([second.place(new)], [first.place(new)])
        assert first._utterances[-1].calls == second._utterances[-1].calls

    def test_half_a_character(self, model: Model) -> None:
        first = model.threader()
        first.place(Message("a\ud83d", "hi \ud83d", id="\ud83d"))
        second = model.threader(through_json(first.state()))
        new = Message("bob", "a\ud83d: hello", reply_to="\ud83d")
        assert_same([second.place(new)], [first.place(new)])

    def test_holds_no_texts(self, model: Model) -> None:
        here = model.threader()
        here.place_all(talk("ada> the secret is out", "bob> ada: which secret"))
        assert "secret" not in json.dumps(here.state())


def change(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    """Puts something else somewhere."""

    def damage(state: Any) -> None:
        for key in path[:-1]:
            state = state[key]
        state[path[-1]] = to

    return damage


def remove(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def damage(state: Any) -> None:
        for key in path[:-1]:
            state = state[key]
        del state[path[-1]]

    return damage


@pytest.fixture(scope="module")
def state(model: Model) -> Any:
    """Of a channel after 40 lines."""
    here = model.threader()
    here.place_all(busy_chat(4, 40, replies=True))
    return through_json(here.state())


class TestNoState:
    @pytest.mark.parametrize(
        "other",
        [{}, [], "tea", 5, {"format": "towhom-session", "version": 2}, {"format": "towhom-threads"}],
        ids=repr,
    )
    def test_something_else(self, model: Model, other: object) -> None:
        with pytest.raises(SessionError, match="this is not the state of a threader, of format version 2"):
            model.threader(other)

    @pytest.mark.parametrize("version", [0, 1, None, "2"])
    def test_another_version(self, model: Model, state: dict[str, Any], version: object) -> None:
        with pytest.raises(SessionError, match="this is not the state of a threader, of format version 2"):
            model.threader({**state, "version": version})

    def test_of_a_model_with_other_words(self, model: Model, state: dict[str, Any]) -> None:
        with pytest.raises(SessionError, match="the state is of a model that knows other words; start"):
            Model(small_model()).threader(state)

    @pytest.mark.parametrize(
        "damage",
        [
            remove("lines"),
            remove("ear"),
            remove("utterances"),
            remove("sights"),
            remove("places"),
            remove("by_id"),
            remove("utterances", 0),
            remove("sights", 0),
            remove("places", -1),
            remove("utterances", 3, "tokens"),
            remove("utterances", 3, "speaker"),
            remove("ear", "spoke"),
            remove("ear", "people", 0, "keys"),
            change("lines", to="many"),
            change("utterances", to=None),
            change("utterances", 2, to="tea"),
            change("utterances", 2, "tokens", to=["tea"]),
            change("utterances", 2, "tokens", to=[1 << 40]),
            change("utterances", 2, "tokens", to=[1 << 30]),
            change("utterances", 2, "pieces", to=[-1]),
            change("utterances", 2, "time", to="noon"),
            change("utterances", 2, "calls", to=["ada"]),
            change("utterances", 2, "calls", to=[["ada", "shouted", 0.9]]),
            change("utterances", 2, "calls", to=[[3, "front", 0.9]]),
            change("places", 1, to=None),
            change("places", 1, to=[1, 2, 3, 4, 5]),
            change("places", 1, to=["x", 2, 3, 4]),
            change("by_id", to=[]),
            change("by_id", "m1", to=None),
            change("ear", "people", to=[3]),
            change("ear", "people", to=None),
            change("ear", "people", 0, "name", to=3),
            change("ear", "people", 0, "aliases", to="ada"),
            change("ear", "people", 0, "spoken", to="yes"),
            change("ear", "authors", to=[["m1"]]),
            change("ear", "spoke", to=[[1]]),
            change("ear", "spoke", to=[["ada", -1]]),
            change("ear", "spoke", to=[["ada", 10**6]]),
            change("ear", "called", to=[["ada", "x"]]),
            change("ear", "count", to=float("inf")),
            change("ear", "languages", to={"en": "x"}),
            change("ear", "languages", to={"klingon": 5}),
            change("utterances", 2, "speaker", to=3),
            change("utterances", 2, "own", to="far"),
            change("utterances", 2, "own", to=10**30),
            change("utterances", 2, "asks", to="tea"),
            change("utterances", 2, "gone", to=1),
            change("utterances", 2, "bearing", to=[0, 0, 0, 0]),
            change("sights", 2, to=[0, "first", None]),
            change("sights", 2, to=[[1], 0, None]),
            change("sights", 2, to=[1, 0, 3]),
            change("sights", 2, to=[REACH + 1, 0, None]),
            change("utterances", 2, "own", to=REACH + 1),
            change("utterances", 2, "called", to=-1),
        ],
    )
    def test_damaged(
        self, model: Model, state: dict[str, Any], damage: Callable[[dict[str, Any]], None]
    ) -> None:
        damaged = through_json(state)
        damage(damaged)
        with pytest.raises(SessionError, match="the state cannot be read"):
            model.threader(damaged)

    @pytest.mark.parametrize(
        "damage",
        [
            change("ear", "count", to=5),
            change("utterances", 2, "pieces", to=5),
            change("by_id", "m30", 0, to=10**30),
            change("by_id", "m30", 0, to=200),
        ],
    )
    def test_damaged_where_it_shows_late(
        self, model: Model, state: dict[str, Any], damage: Callable[[dict[str, Any]], None]
    ) -> None:
        damaged = through_json(state)
        damage(damaged)
        with pytest.raises(SessionError, match="the state cannot be read"):
            model.threader(damaged).place(Message("ada", "cyd: hello?", reply_to="m30"))

    def test_what_was_known_stays(self, model: Model, state: dict[str, Any], long: Long) -> None:
        here = model.threader()
        here.place_all(long.messages[:60])
        damaged = through_json(state)
        del damaged["places"][-1]
        with pytest.raises(SessionError, match="messages and places differ"):
            here.resume(damaged)
        assert_same(here.place_all(long.messages[60:90]), long.placed[60:90])


class TestMemory:
    def test_bounded(self, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        """Everybody is new, calls somebody who is not there, and can be answered by an identifier."""
        monkeypatch.setattr(threader, "_IDS", 700)
        monkeypatch.setattr("towhom.hearing.ear._IDS", 700)
        here = model.threader()
        sizes = []
        for start in range(0, 5000, 1000):
            here.place_all(
                [
                    Message(f"guest{number}", f"guest{number - 1}: hi", id=f"{number}")
                    for number in range(start, start + 1000)
                ]
            )
            ear = here._ear
            assert len(here._utterances) == len(here._sights) == len(here._places) == REACH
            assert here._sides is not None
            assert len(here._sides) == REACH
            assert len(ear.people) == REMEMBERED
            assert max(len(ear._spoke), len(ear._called)) <= 2 * (REMEMBERED + REACH)
            assert len(ear._authors) == 700
            assert len(here._by_id) == 700
            sizes.append(len(json.dumps(here.state())))
        assert max(sizes[2:]) < 1.1 * sizes[1]

    def test_does_not_keep_a_chunk_alive(self, model: Model, long: Long) -> None:
        """An array that looks into a larger one holds all of it."""
        here = model.threader()
        here.place_all(long.messages[:250])
        assert here._sides is not None
        assert here._sides.base is None


class TestChannels:
    def mixed(self) -> list[Message]:
        """Two channels with the same people, in turn; what they say has the same identifiers."""
        rooms = {name: iter(busy_chat(seed, 300, replies=True)) for name, seed in (("tea", 5), ("cats", 6))}
        random = Random(1)
        order = ["tea"] * 300 + ["cats"] * 300
        random.shuffle(order)
        return [replace(next(rooms[name]), channel=name, line=line) for line, name in enumerate(order)]

    def test_each_is_followed_for_itself(self, model: Model) -> None:
        chat = self.mixed()
        together = list(model.threads(chat))
        assert [each.message for each in together] == chat
        for name in ("tea", "cats"):
            alone = model.threader().place_all([message for message in chat if message.channel == name])
            assert_same([each for each in together if each.message.channel == name], alone)

    def test_no_thread_is_in_two(self, model: Model) -> None:
        rooms: dict[int, set[str | None]] = {}
        for each in model.threads(self.mixed()):
            rooms.setdefault(each.thread, set()).add(each.message.channel)
        assert all(len(names) == 1 for names in rooms.values())

    def test_no_channel_is_one_as_well(self, model: Model) -> None:
        chat = [Message("ada", "is the kettle on?", line=0), Message("bob", "yes", line=1, channel="tea")]
        assert [each.starts for each in model.threads(chat)] == [True, True]

    def test_lines_are_counted_over_all_of_them(self, model: Model) -> None:
        chat = [Message("ada", "hello", channel="tea"), Message("ada", "hello", channel="cats")]
        assert [each.line for each in model.threads(chat)] == [0, 1]


class TestReplies:
    """What the platform says."""

    def test_wins(self, model: Model) -> None:
        chat = talk("ada> is the kettle on?", "bob> where is the cat?", "cyd> bob: on the sofa")
        chat = [replace(message, id=f"m{message.line}") for message in chat]
        chat[2] = replace(chat[2], reply_to="m0")
        last = model.threader().place_all(chat)[2]
        assert (last.replies_to, last.thread, last.probability) == ((0,), 0, 1.0)

    @pytest.mark.parametrize("apart", [5, 99, 100, 101, 300])
    def test_however_far_back(self, model: Model, apart: int) -> None:
        chat = [
            Message(PEOPLE[place % 4], f"item {place}", line=place, id=f"m{place}") for place in range(400)
        ]
        chat[350] = replace(chat[350], reply_to=f"m{350 - apart}")
        found = model.threader().place_all(chat)
        assert (found[350].replies_to, found[350].probability) == ((350 - apart,), 1.0)
        assert found[350].thread == found[350 - apart].thread
        assert_same(found, one_by_one(model.threader(), chat))

    @pytest.mark.parametrize("reply_to", ["nobody said so", "m2", "m3"])
    def test_what_was_not_said_before_is_answered_by_nobody(self, model: Model, reply_to: str) -> None:
        chat = talk("ada> is the kettle on?", "bob> where is the cat?", "cyd> bob: on the sofa", "ada> hm")
        chat = [replace(message, id=f"m{message.line}") for message in chat]
        without = model.threader().place_all(chat)[2]
        chat[2] = replace(chat[2], reply_to=reply_to)
        assert model.threader().place_all(chat)[2].replies_to == without.replies_to

    def test_every_one_of_them(self, long: Long) -> None:
        replies = [each for each in long.placed if each.message.reply_to is not None]
        assert len(replies) > 100
        for each in replies:
            assert (f"m{each.replies_to[0]}", each.probability) == (each.message.reply_to, 1.0)

    def test_within_what_is_placed_at_once(self, model: Model) -> None:
        chat = [
            Message("ada", "tea", id="a"),
            Message("bob", "cat", id="b"),
            Message("cyd", "sofa", id="c", reply_to="a"),
            Message("dee", "door", reply_to="c"),
        ]
        found = model.threader().place_all(chat)
        assert [each.replies_to for each in found[2:]] == [(0,), (2,)]
        assert [each.thread for each in found[2:]] == [0, 0]

    @pytest.mark.parametrize("back", [1, REACH, REACH + 1, 150])
    def test_are_seen_at_first_sight(self, model: Model, back: int) -> None:
        """By what follows: it is in the conversation of what it answers, as far as that is still known."""
        here = model.threader()
        here.place_all([Message(PEOPLE[place % 4], "tea?", id=str(place)) for place in range(200)])
        answered = here._by_id[str(200 - back)]
        here.place(Message("zoe", "cat", reply_to=str(200 - back)))
        found, near = here._sights[-1], back <= REACH
        assert found.thread == answered.first_thread
        assert found.parent == (back if near else 0)
        assert found.answered == (PEOPLE[(200 - back) % 4] if near else None)

    def test_to_an_identifier_that_came_again(self, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        """The last that has it is meant; it is as new as that."""
        monkeypatch.setattr(threader, "_IDS", 3)
        chat = [Message("ada", "tea", id=name) for name in "abcad"]
        here = model.threader()
        here.place_all(chat)
        assert here.place(Message("bob", "hm", reply_to="a")).replies_to == (3,)
        assert set(here._by_id) == {"c", "a", "d"}

    def test_after_a_state(self, model: Model) -> None:
        first = model.threader()
        first.place_all([Message(PEOPLE[place % 4], "tea", id=str(place)) for place in range(150)])
        second = model.threader(through_json(first.state()))
        found = second.place(Message("zoe", "cat", reply_to="3"))
        assert (found.replies_to, found.probability) == ((3,), 1.0)

    @pytest.mark.parametrize(
        "joins", [{"kind": Kind.SYSTEM}, {"channel": "cats"}], ids=["nobody says it", "in another channel"]
    )
    def test_to_what_is_no_message_of_the_channel(self, model: Model, joins: dict[str, Any]) -> None:
        chat = talk("ada> tea", "bob> the sofa")
        chat = [replace(chat[0], id="a", **joins), replace(chat[1], reply_to="a")]
        assert list(model.threads(chat))[1].starts


class TestWhatNobodySays:
    @pytest.mark.parametrize("kind", [Kind.SYSTEM, Kind.RENAME, Kind.DAY])
    def test_is_a_thread_by_itself(self, model: Model, kind: Kind) -> None:
        chat = talk("ada> tea", "bob> ada: milk", "cyd> ada: sugar")
        chat[1] = replace(chat[1], kind=kind)
        found = model.threader().place_all(chat)[1]
        assert (found.replies_to, found.thread, found.probability) == ((1,), 1, 1.0)

    def test_is_in_no_other(self, long: Long) -> None:
        silent = {each.line for each in long.placed if each.message.kind not in SPOKEN}
        assert len(silent) > 20
        for each in long.placed:
            if each.message.kind in SPOKEN:
                assert each.thread not in silent
                assert not silent.intersection(each.replies_to)

    @pytest.mark.parametrize("kind", [Kind.SYSTEM, Kind.DAY])
    def test_changes_nothing_for_the_others(self, model: Model, kind: Kind) -> None:
        """However many of them there are between what is said."""
        chat = [message for message in busy_chat(3, 120) if message.kind in SPOKEN]
        silent = Message("", "ada has joined", kind=kind)
        mixed = [each for message in chat for each in (silent, replace(message, line=None), silent)]
        found, plain = model.threader().place_all(mixed), model.threader().place_all(chat)
        numbers = {3 * place + 1: message.line for place, message in enumerate(chat)}
        for ours, theirs in zip(found[1::3], plain, strict=True):
            assert tuple(numbers[line] for line in ours.replies_to) == theirs.replies_to
            assert numbers[ours.thread] == theirs.thread
            assert ours.probability == pytest.approx(theirs.probability, abs=1e-5)

    def test_only_that(self, model: Model) -> None:
        found = model.threader().place_all([Message("", "joined", kind=Kind.SYSTEM)] * 3)
        assert [each.thread for each in found] == [0, 1, 2]

    @pytest.mark.parametrize("kind", [Kind.ACTION, Kind.NOTICE])
    def test_actions_and_notices_are_said(self, model: Model, kind: Kind) -> None:
        chat = talk("ada> where is the cat?", "bob> ada: on the sofa")
        assert model.threader().place_all([chat[0], replace(chat[1], kind=kind)])[1].replies_to == (0,)

    def test_a_new_name(self, model: Model) -> None:
        """ada answers bob under his other name."""
        chat = talk(
            "ada> tea",
            "bob> where is the cat?",
            "dee> does anybody know how to install the nvidia driver?",
            "bob> robert",
            "ada> robert: on the sofa",
        )
        chat[3] = replace(chat[3], kind=Kind.RENAME)
        here = model.threader()
        assert here.place_all(chat)[4].replies_to == (1,)
        assert here._utterances[-1].addressee == here._utterances[1].speaker == "bob"


class TestLines:
    def test_are_those_of_the_log(self, model: Model) -> None:
        chat = [Message("ada", "where is the cat?", line=70), Message("bob", "ada: here", line=95)]
        found = model.threader().place_all(chat)
        assert [(each.line, each.replies_to, each.thread) for each in found] == [
            (70, (70,), 70),
            (95, (70,), 70),
        ]

    def test_are_counted_where_there_are_none(self, model: Model, long: Long) -> None:
        """All of them, whether somebody says them or not."""
        here = model.threader()
        found = here.place_all(unnumbered(long.messages[:200]))
        assert [(each.line, each.replies_to) for each in found] == [
            (each.line, each.replies_to) for each in long.placed[:200]
        ]
        again = model.threader(through_json(here.state()))
        assert again.place(Message("ada", "hm")).line == 200


class TestThreads:
    def test_that_of_what_is_answered(self, long: Long) -> None:
        places = {each.line: each for each in long.placed}
        for each in long.placed:
            (parent,) = each.replies_to
            assert parent <= each.line
            assert each.starts == (parent == each.line)
            assert each.thread == (each.line if each.starts else places[parent].thread)
            assert places[each.thread].starts

    def test_nothing_out_of_reach_is_guessed(self, long: Long) -> None:
        spoken = [each for each in long.placed if each.message.kind in SPOKEN]
        order = {each.line: place for place, each in enumerate(spoken)}
        guessed = [each for each in spoken if each.message.reply_to is None]
        assert max(order[each.line] - order[each.replies_to[0]] for each in guessed) <= REACH

    def test_probabilities(self, long: Long, untimed: Long) -> None:
        for each in (*long.placed, *untimed.placed):
            assert 0 < each.probability <= 1

    def test_what_is_placed_is_what_was_said(self, long: Long) -> None:
        assert all(p.message is message for p, message in zip(long.placed, long.messages, strict=True))


class TestTimes:
    @pytest.fixture(scope="class")
    @staticmethod
    def chat() -> list[Message]:
        return busy_chat(3, 120)

    def moved(self, model: Model, chat: list[Message], move: Callable[[datetime], datetime]) -> list[Placed]:
        there = [replace(each, time=each.time and move(each.time)) for each in chat]
        return model.threader().place_all(there)

    def test_a_zone_counts_as_it_is(self, model: Model, chat: list[Message]) -> None:
        east = timezone(timedelta(hours=9))
        ours = self.moved(model, chat, lambda time: time.replace(tzinfo=UTC).astimezone(east))
        theirs = model.threader().place_all(chat)
        assert [each.replies_to for each in ours] == [each.replies_to for each in theirs]

    def test_only_differences_matter(self, model: Model, chat: list[Message]) -> None:
        ours = self.moved(model, chat, lambda time: time + timedelta(days=8000))
        theirs = model.threader().place_all(chat)
        assert [each.replies_to for each in ours] == [each.replies_to for each in theirs]

    @staticmethod
    def later(model: Model, text: str, hours: float) -> Placed:
        """Something that is said so many hours after a question and its answer."""
        chat = talk("ada> is the kettle on?", "bob> yes it is", f"cleo> {text}")
        times = START, START + timedelta(minutes=1), START + timedelta(hours=hours)
        timed = [replace(message, time=time) for message, time in zip(chat, times, strict=True)]
        return model.threader().place_all(timed)[2]

    @pytest.mark.parametrize("text", ["where is the milk?", "my printer is broken"])
    def test_a_night_later_something_else_starts(self, model: Model, text: str) -> None:
        soon, late = self.later(model, text, 0.1), self.later(model, text, 9)
        assert late.starts
        assert late.probability > 0.9
        assert not soon.starts or soon.probability < late.probability

    def test_what_was_asked_may_be_answered_the_next_morning(self, model: Model) -> None:
        chat = talk("ada> is the kettle on?", "bob> yes it is")
        sure = []
        for hours in (0.001, 9, 24):
            times = START, START + timedelta(hours=hours)
            timed = [replace(message, time=time) for message, time in zip(chat, times, strict=True)]
            found = model.threader().place_all(timed)[1]
            assert not found.starts
            sure.append(found.probability)
        assert sure == sorted(sure, reverse=True)


class TestAnything:
    @pytest.mark.parametrize(
        "texts",
        [
            ("", " ", "\t"),
            ("?", "!", "!!", "..."),
            ("x" * 100_000, "a " * 50_000),
            ("half \ud83d", "\udc00"),
            ("\x00\x01", "\u202e", "\n"),
            ("ada:", ": ada", "ada: ", "@ada"),
        ],
    )
    def test_texts(self, model: Model, texts: tuple[str, ...]) -> None:
        chat = [Message(PEOPLE[place % 3], text) for place, text in enumerate(texts * 3)]
        assert_same(model.threader().place_all(chat), one_by_one(model.threader(), chat))

    @pytest.mark.parametrize(
        "names",
        [
            ("Grace Hopper", "Ada L.", "Ada L. B."),
            ("🫖", "👩‍👩‍👧", "李雷"),
            ("", " ", "\n"),
            (".*", "(", "\\"),
            (":", ",", "@"),
            ("a" * 10_000, "\ud83d", "{0}"),
        ],
    )
    def test_names(self, model: Model, names: tuple[str, ...]) -> None:
        chat = [
            Message(one, f"{other}{mark} the cat is with {other}")
            for one in names
            for other in names
            for mark in (":", ",", "")
        ]
        assert_same(model.threader().place_all(chat), one_by_one(model.threader(), chat))

    def test_names_of_several_words_are_found_in_front(self, model: Model) -> None:
        chat = talk("Grace Hopper> where is the cat?", "bob> any tea?", "cyd> Grace Hopper: on the sofa")
        here = model.threader()
        assert here.place_all(chat)[2].replies_to == (0,)
        assert here._utterances[2].addressee == here._utterances[0].speaker

    @pytest.mark.parametrize(
        "step", [timedelta(0), timedelta(hours=-1), timedelta(days=4000)], ids=["same", "backwards", "years"]
    )
    def test_times(self, model: Model, step: timedelta) -> None:
        chat = [replace(message, time=START + step * place) for place, message in enumerate(busy_chat(3, 50))]
        found = model.threader().place_all(chat)
        assert_same(found, one_by_one(model.threader(), chat))
        assert all(0 < each.probability <= 1 for each in found)

    def test_some_times_with_a_zone_some_without_some_none(self, model: Model) -> None:
        zones = (UTC, None, timezone(timedelta(hours=-5)))
        chat = [
            replace(message, time=None if place % 7 == 3 else START.replace(tzinfo=zones[place % 3]))
            for place, message in enumerate(busy_chat(3, 100))
        ]
        assert_same(model.threader().place_all(chat), one_by_one(model.threader(), chat))

    @pytest.mark.parametrize("time", [datetime.min, datetime.max, datetime.max.replace(tzinfo=UTC)], ids=str)
    def test_the_ends_of_time(self, model: Model, time: datetime) -> None:
        found = model.threader().place_all(
            [Message("ada", "tea", time=START), Message("bob", "tea", time=time)]
        )
        assert 0 < found[1].probability <= 1

    def test_everybody_says_the_same(self, model: Model) -> None:
        chat = [Message("ada", "tea")] * 150
        assert_same(model.threader().place_all(chat), one_by_one(model.threader(), chat))

    def test_to_oneself(self, model: Model) -> None:
        chat = [
            Message("ada", "ada: tea", addressee="ada"),
            Message("ada", "ada: milk"),
            Message("ada", "ADA: x"),
        ]
        assert_same(model.threader().place_all(chat), one_by_one(model.threader(), chat))


NAMES = ("ada", "bob", "ADA", "hélène", "🫖", "Grace Hopper", ".*", "(", "@", ":", "", " ", "the")
names = st.sampled_from(NAMES) | st.text(max_size=6)
texts = (
    st.text(max_size=30)
    | st.builds("{}{} {}".format, names, st.sampled_from((":", ",", ";", ">", "", ":")), st.text(max_size=12))
    | st.sampled_from(("", " ", "?", "!tea", ": :", "is the tea ready?", "thanks"))
)
times = st.none() | st.datetimes(timezones=st.none() | st.sampled_from((UTC, timezone(timedelta(hours=9)))))
ids = st.none() | st.integers(0, 14).map(str)


@st.composite
def chats(draw: st.DrawFn) -> list[Message]:
    """Anything at all; several messages may have the same identifier."""
    kinds = st.sampled_from(Kind)
    return [
        Message(
            draw(names),
            draw(texts),
            addressee=draw(st.none() | names),
            time=draw(times),
            id=draw(ids),
            reply_to=draw(ids),
            kind=draw(kinds),
            line=place,
        )
        for place in range(draw(st.integers(0, 14)))
    ]


MODEL = load()


@settings(max_examples=60, deadline=None)
@given(chat=chats(), cut=st.integers(0, 14))
def test_any_chat(chat: list[Message], cut: int) -> None:
    at_once = MODEL.threader().place_all(chat)
    assert_same(at_once, one_by_one(MODEL.threader(), chat))
    first = MODEL.threader()
    begun = first.place_all(chat[:cut])
    resumed = MODEL.threader(through_json(first.state()))
    assert_same(at_once, [*begun, *resumed.place_all(chat[cut:])])
    places = {each.line: each for each in at_once}
    for each in at_once:
        (parent,) = each.replies_to
        assert 0 < each.probability <= 1
        assert each.thread == (each.line if parent == each.line else places[parent].thread)
        if each.message.kind not in SPOKEN:
            assert each.starts


class TestModels:
    def test_one_without_threads_says_what_to_do(self) -> None:
        bare = Model(saved_model())
        message = "this model places no messages in conversations; `towhom package` makes one that does"
        with pytest.raises(ModelFormatError, match=message):
            bare.threader()
        with pytest.raises(ModelFormatError, match=message):
            list(bare.threads([Message("ada", "tea")]))

    @pytest.mark.parametrize("system", ["sirnn", "crosstalk"])
    def test_of_any_kind(self, system: str) -> None:
        """Any selector can say how messages fit; the network here is one that was never trained."""
        chat, small = busy_chat(8, 250), Model(small_model(system))
        found = small.threader().place_all(chat)
        assert_same(found, in_chunks(small.threader(), chat, of_size(9)))
        assert len({each.thread for each in found}) > 5

    def test_is_shared_by_channels(self, model: Model, long: Long, untimed: Long) -> None:
        """Two channels at once do not disturb each other."""

        def follow(chat: Long) -> list[Placed]:
            return in_chunks(model.threader(), chat.messages[:150], of_size(10))

        with ThreadPoolExecutor(2) as pool:
            for chat, found in zip((long, untimed), pool.map(follow, (long, untimed)), strict=True):
                assert_same(found, chat.placed[:150])
