"""A channel, followed: the same however it is cut."""

from __future__ import annotations

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
from towhom.crosstalk.mind import Mind, Room, softmax
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
        found.append(room.hear(messages[first : first + size]))
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
        whole = Room(mind).hear(messages)
        for sizes in ([1] * 300, random_sizes(seed, 300), [150, 150]):
            assert_allclose(in_chunks(Room(mind), messages, sizes), whole, atol=1e-5)

    def test_those_who_left_are_forgotten(self, mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
        messages = busy(4, 300)
        whole = Room(mind).hear(messages)
        monkeypatch.setattr(minds, "_PEOPLE", 4)
        assert_allclose(in_chunks(Room(mind), messages, random_sizes(4, 300)), whole, atol=1e-5)

    def test_a_crowd(self, mind: Mind) -> None:
        """More people than are remembered."""
        said = [Message(f"p{place}", f"p{max(place - 3, 0)}: tea is open") for place in range(560)]
        messages = heard(said)
        whole = Room(mind).hear(messages)
        assert_allclose(in_chunks(Room(mind), messages, [500, 30, *[1] * 30]), whole, atol=1e-5)

    def test_probabilities(self, mind: Mind) -> None:
        found = Room(mind).hear(busy(5, 300))
        assert found.shape == (300, REACH + 1)
        assert_allclose(found.sum(axis=1), 1, atol=1e-5)
        assert (found >= 0).all()

    def test_only_what_is_there(self, mind: Mind) -> None:
        messages = busy(6, 150, gone=0.3)
        found = Room(mind).hear(messages)
        assert (found[:, :REACH] > 0).sum(axis=1).max() == LIKELIEST
        for place, back in np.argwhere(found[:, :REACH] > 0).tolist():
            assert place - 1 - back >= 0
            assert not messages[place - 1 - back].gone

    def test_the_first_message(self, mind: Mind) -> None:
        found = Room(mind).hear(lines("ada> hi"))
        assert found[0, REACH] == 1
        assert not found[0, :REACH].any()

    def test_a_message_without_words(self, mind: Mind) -> None:
        room = Room(mind)
        assert np.isfinite(room.hear(lines("ada> ", "bob> ", "ada> bob:"))).all()

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

    def test_depends_on_what_is_said(self, mind: Mind) -> None:
        one, other = (
            Room(mind).hear(lines("ada> is the tea open ?", "bob> the door is", f"cyd> {text}"))
            for text in ("kettle thanks", "tea ?")
        )
        assert not np.allclose(one[2], other[2])


class TestKnown:
    def test_links(self, mind: Mind, sights: list[Sights]) -> None:
        messages = lines("ada> tea ?", "bob> door", "cyd> milk", "dee> open", "ada> yes")
        Room(mind).hear(messages, [(0, 70), (0, 80), (2, 0), (2, 0), (2, 0)])
        (seen,) = sights
        assert seen.parent.tolist() == [0, 0, 2, 2, 2]
        assert seen.thread.tolist() == [70, 80, 70, 80, 70]
        assert seen.answered.tolist() == [NOBODY, NOBODY, 0, 1, 2]

    def test_some(self, mind: Mind, sights: list[Sights]) -> None:
        messages = busy(3, 60)
        known: list[tuple[int, int] | None] = [None] * 60
        known[20], known[40] = (9, 0), (3, 0)
        room = Room(mind)
        room.hear(messages[:30], known[:30])
        room.hear(messages[30:], known[30:])
        seen = sights[-1]
        assert (seen.parent[20], seen.parent[40]) == (9, 3)
        assert (seen.thread[20], seen.thread[40]) == (seen.thread[11], seen.thread[37])

    def test_of_what_is_not_there(self, mind: Mind, sights: list[Sights]) -> None:
        room = Room(mind)
        room.hear(busy(3, 130))
        room.hear(lines("ada> hi", "bob> ho"), [(REACH + 1, 5), (REACH + 50, 6)])
        assert sights[-1].parent[-2:].tolist() == [0, 0]
        assert sights[-1].thread[-2:].tolist() == [5, 6]

    def test_it_matters(self, mind: Mind) -> None:
        messages = busy(3, 40)
        one, other = Room(mind), Room(mind)
        plain = one.hear(messages)
        known: list[tuple[int, int] | None] = [None] * 39 + [(17, 0)]
        told = other.hear(messages, known)
        assert_allclose(told[:39], plain[:39], atol=1e-6)
        following = lines("ada> so", "bob> ada: and then the tea ?")
        # However unlikely each is: random weights are sure of themselves.
        assert not np.allclose(one.hear(following), other.hear(following), rtol=1e-3, atol=0)

    def test_at_first_sight(self, mind: Mind, sights: list[Sights]) -> None:
        """Without links, each answers what the first look finds likeliest, or starts a conversation."""
        messages = busy(9, 90)
        Room(mind).hear(messages)
        columns, said = columns_of(messages, Numbers()), mind.read(messages)
        energies = mind.first_look(columns, columns, np.arange(90), said, said).energies
        best = energies.argmax(axis=1)
        assert_array_equal(sights[0].parent, np.where(best == REACH, 0, best + 1))
        for place, parent in enumerate(sights[0].parent.tolist()):
            assert sights[0].thread[place] == (sights[0].thread[place - parent] if parent else place)


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
    assert_array_equal(read.at(np.array([3, 5])).heard, read.heard[[3, 5]])
    assert_array_equal(read.last(4).answers, read.answers[-4:])


def test_what_was_taken_back_is_not_answered(mind: Mind) -> None:
    room = Room(mind)
    room.hear(lines("ada> tea ?", "bob> milk", "cyd> door"))
    room.messages[-1].gone = True
    room.refresh()
    assert room.hear(lines("dee> open"))[0, 0] == 0


def test_nothing_is_said(mind: Mind) -> None:
    room = Room(mind)
    room.refresh()
    assert room.hear([]).shape == (0, REACH + 1)
    assert room.number == 0
