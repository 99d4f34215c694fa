"""A channel, followed: the same however it is cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.crosstalk.chats import LEXICON, busy, chatter, heard, lines, random_weights
from towhom.chat import Message
from towhom.crosstalk import mind as minds
from towhom.crosstalk.columns import NOBODY, Numbers, columns_of
from towhom.crosstalk.mind import Known, Mind, Question, Room, hear, softmax
from towhom.crosstalk.signals import PAIRS
from towhom.crosstalk.structure import ALONE_AFTER, LIKELIEST, STRUCTURE, Second, Sights, look_again
from towhom.crosstalk.words import TOWERS
from towhom.hearing.utterance import REACH, Utterance

Found = NDArray[np.float32]


@pytest.fixture(scope="module")
def mind() -> Mind:
    return Mind(random_weights(1))


def in_chunks(room: Room, messages: Sequence[Utterance], sizes: Iterable[int]) -> Found:
    found, first = [], 0
    for size in sizes:
        found.append(room.hear(messages[first : first + size]).likely)
        first += size
        assert len(room.messages) <= REACH
    return np.concatenate(found)


def random_sizes(seed: int, total: int) -> list[int]:
    random, sizes = Random(seed), list[int]()
    while sum(sizes) < total:
        sizes.append(min(random.choice((1, 2, 7, 40, 130)), total - sum(sizes)))
    return sizes


@pytest.fixture
def sights(monkeypatch: pytest.MonkeyPatch) -> list[Sights]:
    """What every second look is told."""
    seen: list[Sights] = []

    def spy(past: Any, new: Any, at: Any, found: Sights, *rest: Any, **more: Any) -> Second:
        seen.append(found)
        return look_again(past, new, at, found, *rest, **more)

    monkeypatch.setattr(minds, "look_again", spy)
    return seen


class TestHear:
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_however_it_is_cut(self, mind: Mind, seed: int) -> None:
        messages = busy(seed, 300)
        whole = Room(mind).hear(messages).likely
        for sizes in ([1] * 300, random_sizes(seed, 300), [150, 150]):
            assert_allclose(in_chunks(Room(mind), messages, sizes), whole, atol=1e-5)

    def test_those_who_left_are_forgotten(self, mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
        messages = busy(4, 300)
        whole = Room(mind).hear(messages).likely
        monkeypatch.setattr(minds, "_PEOPLE", 4)
        assert_allclose(in_chunks(Room(mind), messages, random_sizes(4, 300)), whole, atol=1e-5)

    def test_a_crowd(self, mind: Mind) -> None:
        """More people than are remembered."""
        said = [Message(f"p{place}", f"p{max(place - 3, 0)}: tea is open") for place in range(560)]
        messages = heard(said)
        whole = Room(mind).hear(messages).likely
        assert_allclose(in_chunks(Room(mind), messages, [500, 30, *[1] * 30]), whole, atol=1e-5)

    def test_probabilities(self, mind: Mind) -> None:
        found = Room(mind).hear(busy(5, 300)).likely
        assert found.shape == (300, REACH + 1)
        assert_allclose(found.sum(axis=1), 1, atol=1e-5)
        assert (found >= 0).all()

    def test_only_what_is_there(self, mind: Mind) -> None:
        messages = busy(6, 150, gone=0.3)
        found = Room(mind).hear(messages).likely
        assert (found[:, :REACH] > 0).sum(axis=1).max() == LIKELIEST
        for place, back in np.argwhere(found[:, :REACH] > 0).tolist():
            assert place - 1 - back >= 0
            assert not messages[place - 1 - back].gone

    def test_the_first_message(self, mind: Mind) -> None:
        found = Room(mind).hear(lines("ada> hi")).likely
        assert found[0, REACH] == 1
        assert not found[0, :REACH].any()

    def test_a_message_without_words(self, mind: Mind) -> None:
        room = Room(mind)
        assert np.isfinite(room.hear(lines("ada> ", "bob> ", "ada> bob:")).likely).all()

    def test_memory(self, mind: Mind) -> None:
        room, messages = Room(mind), busy(7, 320)
        room.hear(messages[:250])
        assert len(room.messages) == REACH
        assert room.messages == messages[150:250]
        room.hear(messages[250:])
        assert room.messages == messages[-REACH:]
        assert room.number == 320

    def test_what_is_given_stays_as_it_is(self, mind: Mind) -> None:
        messages = busy(7, 130)
        Room(mind).hear(messages)
        assert len(messages) == 130

    def test_conversations_at_first_sight(self, mind: Mind, sights: list[Sights]) -> None:
        messages = busy(5, 130)
        found = Room(mind).hear(messages)
        assert found.threads == sights[0].thread.tolist()
        room = Room(mind)
        assert [thread for each in messages for thread in room.hear([each]).threads] == found.threads

    def test_depends_on_what_is_said(self, mind: Mind) -> None:
        one, other = (
            Room(mind).hear(lines("ada> is the tea open ?", "bob> the door is", f"cyd> {text}")).likely
            for text in ("kettle thanks", "tea ?")
        )
        assert not np.allclose(one[2], other[2])


class TestKnown:
    def test_links(self, mind: Mind, sights: list[Sights]) -> None:
        messages = lines("ada> tea ?", "bob> door", "cyd> milk", "dee> open", "ada> yes")
        Room(mind).hear(messages, [Known(200, 70), Known(300, 80), *[Known(2, 0)] * 3])
        (seen,) = sights
        assert seen.parent.tolist() == [0, 0, 2, 2, 2]
        assert seen.thread.tolist() == [70, 80, 70, 80, 70]
        assert seen.answered.tolist() == [NOBODY, NOBODY, 0, 1, 2]

    def test_some(self, mind: Mind, sights: list[Sights]) -> None:
        messages = busy(3, 60)
        known: list[Known | None] = [None] * 60
        known[20], known[40] = Known(9, 0), Known(3, 0)
        room = Room(mind)
        room.hear(messages[:30], known[:30])
        room.hear(messages[30:], known[30:])
        seen = sights[-1]
        assert (seen.parent[20], seen.parent[40]) == (9, 3)
        assert (seen.thread[20], seen.thread[40]) == (seen.thread[11], seen.thread[37])

    def test_of_what_is_not_there(self, mind: Mind, sights: list[Sights]) -> None:
        room = Room(mind)
        room.hear(busy(3, 130))
        room.hear(lines("ada> hi", "bob> ho"), [Known(REACH + 1, 5), Known(REACH + 50, 6)])
        assert sights[-1].parent[-2:].tolist() == [0, 0]
        assert sights[-1].thread[-2:].tolist() == [5, 6]

    def test_it_matters(self, mind: Mind) -> None:
        messages = busy(3, 40)
        one, other = Room(mind), Room(mind)
        plain = one.hear(messages).likely
        known: list[Known | None] = [None] * 39 + [Known(17, 0)]
        told = other.hear(messages, known).likely
        assert_allclose(told[:39], plain[:39], atol=1e-6)
        following = lines("ada> so", "bob> ada: and then the tea ?")
        # However unlikely each is: random weights are sure of themselves.
        assert not np.allclose(one.hear(following).likely, other.hear(following).likely, rtol=1e-3, atol=0)

    def test_at_first_sight(self, mind: Mind, sights: list[Sights]) -> None:
        """Without links, each answers what the first look finds likeliest, or starts a conversation."""
        messages = busy(9, 90)
        Room(mind).hear(messages)
        columns, said = columns_of(messages, Numbers()), mind.read(messages)
        energies = mind.first_look(columns, columns, np.arange(90), said.said, said).energies
        best = energies.argmax(axis=1)
        assert_array_equal(sights[0].parent, np.where(best == REACH, 0, best + 1))
        for place, parent in enumerate(sights[0].parent.tolist()):
            assert sights[0].thread[place] == (sights[0].thread[place - parent] if parent else place)


class TestImagine:
    @pytest.mark.parametrize("count", [0, 1, 30, 140])
    def test_as_if_it_were_said(self, mind: Mind, count: int) -> None:
        messages = busy(11, count + 1, gone=0)
        room = Room(mind)
        room.hear(messages[:count])
        imagined = room.imagine(messages[count])
        assert_allclose(imagined, room.hear(messages[count:]).likely[0], atol=1e-5)

    def test_at_another_place(self, mind: Mind) -> None:
        """What was said there is seen as it was when it was said."""
        messages = busy(12, 60, gone=0)
        room = Room(mind)
        likely = room.hear(messages).likely
        for place in (0, 1, 20, 59):
            assert_allclose(room.imagine(messages[place], place), likely[place], atol=1e-5)

    def test_nothing_is_remembered(self, mind: Mind) -> None:
        one, other = Room(mind), Room(mind)
        for room in (one, other):
            room.hear(busy(13, 50))
        one.imagine(lines("zoe> is the tea open ?")[0])
        one.imagine(lines("ada> bob: tea")[0], 7)
        one.weigh(lines("zoe> milk", "ada> door"))
        assert one.state() == other.state()
        following = lines("ada> so", "bob> ada: and then the tea ?")
        assert_array_equal(one.hear(following).likely, other.hear(following).likely)


class TestWeigh:
    def test_energies(self, mind: Mind) -> None:
        """Those of the first look, and how well each draft fits into the room."""
        messages, drafts = busy(14, 120), lines("ada> tea ?", "ada> the door is open", "ada> ")
        room, numbers = Room(mind), Numbers()
        room.hear(messages)
        found = room.weigh(drafts)
        past, new = columns_of(messages, numbers), columns_of(drafts, numbers)
        at = np.full(3, past.size)
        looks = [
            mind.first_look(past, new, at, mind.read(messages).said, mind.read(drafts), weigh=weigh).energies
            for weigh in (True, False)
        ]
        assert found.shape == (3, REACH + 1)
        assert_allclose(found, looks[0], atol=1e-4)
        there = np.isfinite(found)
        fits = [row[known] - other[known] for row, other, known in zip(*looks, there, strict=True)]
        assert all(np.ptp(each) < 1e-4 for each in fits)  # whatever it answers
        assert np.ptp([each[0] for each in fits]) > 0.1
        gone = [back for back in range(REACH) if messages[-1 - back].gone]
        assert gone
        assert np.isneginf(found[:, gone]).all()

    def test_each_for_itself(self, mind: Mind) -> None:
        room, drafts = Room(mind), lines("ada> tea ?", "ada> the door is open", "ada> milk")
        room.hear(busy(15, 40))
        together = room.weigh(drafts)
        for row, draft in enumerate(drafts):
            assert_allclose(room.weigh([draft])[0], together[row], atol=1e-4)

    def test_in_an_empty_room(self, mind: Mind) -> None:
        """One draft is as good as another."""
        found = Room(mind).weigh(lines("ada> tea", "ada> milk"))
        assert_array_equal(found, np.zeros((2, REACH + 1)))


class TestRooms:
    """Several rooms in one pass."""

    def test_as_room_by_room(self, mind: Mind) -> None:
        """Young rooms and old ones, of the same people, one message and many, with links of the platform."""
        sizes = (1, 40, 230, 140, 90, 3)
        chats = [busy(seed, size) for seed, size in enumerate(sizes, 21)]
        before = (0, 30, 228, 100, 1, 2)
        together, alone = [Room(mind) for _ in chats], [Room(mind) for _ in chats]
        for rooms in (together, alone):
            for room, chat, count in zip(rooms, chats, before, strict=True):
                room.hear(chat[:count])
        news = [chat[count:] for chat, count in zip(chats, before, strict=True)]
        known = [[Known(2, 0) if row % 7 == 3 else None for row in range(len(new))] for new in news]
        found = hear([Question(*each) for each in zip(together, news, known, strict=True)])
        for one, other, new, given, each in zip(together, alone, news, known, found, strict=True):
            expected = other.hear(new, given)
            assert_allclose(each.likely, expected.likely, atol=1e-5)
            assert each.threads == expected.threads
            assert one.state() == other.state()
            assert_allclose(one.said.heard, other.said.heard, atol=1e-6)
        following = [busy(seed, 20) for seed in range(31, 37)]
        questions = [Question(room, new, [None] * 20) for room, new in zip(together, following, strict=True)]
        for each, room, new in zip(hear(questions), alone, following, strict=True):
            assert_allclose(each.likely, room.hear(new).likely, atol=1e-5)


class TestReachAndTime:
    """What drafts of a corpus see."""

    def test_reach(self, mind: Mind) -> None:
        messages = busy(16, 120, gone=0)
        past, said = columns_of(messages, Numbers()), mind.read(messages)
        at = np.array([110, 119])
        found = mind.first_look(
            past, past.at(at), at, said.said, said.at(at), reach=np.array([15, 40]), weigh=True
        )
        assert np.isfinite(found.energies[0, :15]).all()
        assert np.isneginf(found.energies[0, 15:REACH]).all()
        assert np.isfinite(found.energies[1, :40]).all()
        assert np.isneginf(found.energies[1, 40:REACH]).all()
        assert np.isfinite(found.energies[:, REACH]).all()

    def test_beyond_reach_nothing_matters(self, mind: Mind) -> None:
        messages, others = busy(16, 120, gone=0), busy(17, 120, gone=0)
        found = []
        for chat in (messages, [*others[:90], *messages[90:]]):
            past, said = columns_of(chat, Numbers()), mind.read(chat)
            at = np.array([119])
            looked = mind.first_look(
                past, past.at(at), at, said.said, said.at(at), reach=np.array([15]), weigh=True
            )
            found.append(looked.energies)
        assert_allclose(found[0], found[1], atol=1e-4)

    def test_timed(self, mind: Mind) -> None:
        messages = busy(18, 60, gone=0)
        untimed = [Utterance.of({**each.state(), "time": None}) for each in messages]
        past, said, at = columns_of(messages, Numbers()), mind.read(messages), np.arange(30, 60)
        blind = mind.first_look(past, past.at(at), at, said.said, said.at(at), timed=np.zeros(30, bool))
        seen = mind.first_look(past, past.at(at), at, said.said, said.at(at))
        never = columns_of(untimed, Numbers())
        expected = mind.first_look(never, never.at(at), at, said.said, said.at(at))
        assert_allclose(blind.energies, expected.energies, atol=1e-4)
        assert not np.allclose(blind.energies, seen.energies, atol=1e-2)


class TestState:
    @pytest.mark.parametrize("count", [0, 1, 40, 99, 100, 101, 250])
    def test_goes_on(self, mind: Mind, count: int) -> None:
        messages, one, other = busy(19, 300), Room(mind), Room(mind)
        one.hear(messages[:count])
        other.resume(json.loads(json.dumps(one.state())), one.messages)
        assert json.dumps(other.state()) == json.dumps(one.state())
        assert_allclose(other.hear(messages[count:]).likely, one.hear(messages[count:]).likely, atol=1e-5)
        assert other.number == one.number == 300

    @pytest.mark.parametrize(
        "damage",
        [
            {"number": -1},
            {"number": "many"},
            {"number": 3},
            {"sights": []},
            {"sights": [[0, 0, None]] * 41},
            {"sights": [[0, 0]] * 40},
            {"sights": [[REACH + 1, 0, None]] * 40},
            {"sights": [[-1, 0, None]] * 40},
            {"sights": [["x", 0, None]] * 40},
            {"sights": [[0, 40, None]] * 40},
            {"sights": [[0, "x", None]] * 40},
            {"sights": [[0, 0, 5]] * 40},
        ],
        ids=str,
    )
    def test_damaged(self, mind: Mind, damage: dict[str, Any]) -> None:
        one = Room(mind)
        one.hear(busy(20, 40))
        with pytest.raises((LookupError, TypeError, ValueError)):
            Room(mind).resume({**one.state(), **damage}, one.messages)

    def test_of_other_messages(self, mind: Mind) -> None:
        one = Room(mind)
        one.hear(busy(20, 40))
        with pytest.raises(ValueError, match="messages and conversations differ"):
            Room(mind).resume(one.state(), one.messages[1:])


class TestRefresh:
    def test_what_was_changed_is_seen(self, mind: Mind) -> None:
        """As if it had been said so; at first sight, it answers what it did."""
        one, other = Room(mind), Room(mind)
        messages = lines("ada> tea ?", "bob> milk", "cyd> the door is open")
        other.hear(lines("ada> tea ?", "bob> milk", "cyd> is the kettle open ?"))
        one.hear(messages)
        changed = lines("cyd> is the kettle open ?")[0]
        for name in ("text", "tokens", "pieces", "weights", "asks"):
            setattr(messages[2], name, getattr(changed, name))
        one.refresh(messages[2:])
        if one.state() != other.state():
            other.resume(one.state(), other.messages)
        following = lines("dee> the kettle is")
        following[0].own = 0
        assert_allclose(one.hear(following).likely, other.hear(following).likely, atol=1e-5)

    def test_nothing_was_changed(self, mind: Mind) -> None:
        messages, one, other = busy(21, 160), Room(mind), Room(mind)
        for room in (one, other):
            room.hear(messages[:150])
        one.refresh([messages[10], messages[120]])  # the first is forgotten
        assert_allclose(one.hear(messages[150:]).likely, other.hear(messages[150:]).likely, atol=1e-5)


class TestStructure:
    """ada asks, bob answers, cyd starts something, dee answers that, ada goes on; then bob speaks."""

    SAID = ("ada> tea ?", "bob> ada: milk", "cyd> door", "dee> cyd: open", "ada> thanks", "bob> yes")
    PARENT = (0, 1, 0, 1, 3, 0)
    THREAD = (0, 0, 2, 2, 0, 5)
    ANSWERED = (None, "ada", None, "cyd", "bob", None)

    def second(self) -> Second:
        numbers = Numbers()
        columns = columns_of(lines(*self.SAID), numbers)
        answered = [NOBODY if who is None else numbers[who] for who in self.ANSWERED]
        sights = Sights(*(np.array(each) for each in (self.PARENT, self.THREAD, answered)))
        energies = np.full((1, REACH), -np.inf, np.float32)
        energies[0, :5] = np.log([0.1, 0.2, 0.3, 0.05, 0.25])
        likely = np.zeros((1, REACH + 1), np.float32)
        likely[0, :5], likely[0, REACH] = [0.1, 0.2, 0.3, 0.05, 0.25], 0.1
        pairs = np.zeros((1, REACH, len(PAIRS)), np.float32)
        fits = np.zeros((1, REACH, TOWERS), np.float32)
        fits[0, :5, 0] = [1, 2, 3, 4, 5]
        return look_again(columns, columns.part(5), np.array([5]), sights, energies, likely, pairs, fits)

    def column(self, name: str) -> list[float]:
        """Of the messages from the latest on."""
        found = self.second()
        assert found.there[0].sum() == 5
        assert found.likeliest[0][found.there[0]].tolist() == [0, 1, 2, 3, 4]
        values = found.pairs[0, found.there[0], STRUCTURE.index(name)]
        return [round(float(value), 5) for value in values]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("the speaker's last is in it", [1, 0, 0, 1, 1]),
            ("latest of it", [1, 1, 0, 0, 0]),
            ("latest but one of it", [0, 0, 1, 1, 0]),
            ("its speaker's last in it", [1, 1, 1, 1, 0]),
            ("answered", [0, 0, 1, 1, 1]),
            ("answers the speaker", [1, 0, 0, 0, 0]),
            ("starts it", [0, 0, 1, 0, 1]),
            ("likely altogether", [0.4, 0.5, 0.5, 0.4, 0.4]),
            ("likeliest of it", [0.25, 0.3, 0.3, 0.25, 0.25]),
            ("its speaker altogether", [0.35, 0.2, 0.3, 0.05, 0.35]),
            ("the speaker's last", [0, 0, 0, 1, 0]),
            ("what the speaker's last answers", [0, 0, 0, 0, 1]),
            ("by whom the speaker's last answers", [1, 0, 0, 0, 1]),
            ("best answer to any of it", [5, 3, 3, 5, 5]),
            ("answer to what it answers", [4, 3, 0, 5, 0]),
        ],
    )
    def test_by_hand(self, name: str, expected: list[float]) -> None:
        assert self.column(name) == expected

    def test_alone(self) -> None:
        found = self.second()
        assert found.messages.shape == (1, len(ALONE_AFTER))
        assert_allclose(found.messages[0], [np.log(0.1) / 6, 0.3], atol=1e-6)

    def test_nothing_of_what_is_not_there(self) -> None:
        found = self.second()
        assert not found.pairs[~found.there].any()


def test_softmax() -> None:
    found = softmax(np.array([[0.0, -np.inf, np.log(3.0)], [1000.0, 1000.0, -np.inf]], np.float32))
    assert_allclose(found, [[0.25, 0, 0.75], [0.5, 0.5, 0]], atol=1e-6)


def test_a_mind_reads_what_an_ear_hears(mind: Mind) -> None:
    messages = heard(chatter(1, 20))
    read = mind.read(messages)
    assert len(LEXICON.ids) + 1 == len(random_weights()["words.weight"])
    assert_allclose(mind.read(messages[7:8]).state[0], read.state[7], atol=1e-5)
    assert_array_equal(read.at(np.array([3, 5])).said.heard, read.said.heard[[3, 5]])
    assert_array_equal(read.said.last(4).heard, read.said.heard[-4:])


def test_what_was_taken_back_is_not_answered(mind: Mind) -> None:
    room = Room(mind)
    room.hear(lines("ada> tea ?", "bob> milk", "cyd> door"))
    room.messages[-1].gone = True
    room.refresh(room.messages[-1:])
    assert room.hear(lines("dee> open")).likely[0, 0] == 0


def test_nothing_is_said(mind: Mind) -> None:
    room = Room(mind)
    room.refresh([])
    found = room.hear([])
    assert found.likely.shape == (0, REACH + 1)
    assert found.threads == []
    assert room.number == 0
