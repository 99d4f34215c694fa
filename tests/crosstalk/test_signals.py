"""A message compared with each before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log1p

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.crosstalk.chats import LEXICON, busy, chatter, heard, lines
from towhom.chat import Message
from towhom.crosstalk.columns import Columns, Numbers, columns_of, joined
from towhom.crosstalk.signals import ALONE, OF_TEXT, PAIRS, WORDS, Signals, compare
from towhom.hearing.ear import Ear
from towhom.hearing.utterance import REACH, Utterance

Pairs = set[tuple[int, int]]

KITCHEN = (
    "ada> is the kettle open ?",  # 0
    "bob> ada: the tea is",  # 1
    "cyd> who has milk",  # 2
    "ada> bob: thanks",  # 3
    "ada> cyd: ask bob",  # 4
    "cyd> bob: milk ?",  # 5
    "bob> no",  # 6
)
MINUTES = (0, 0.5, 2, 3, 3.5, 6, 20)


def all_at_once(
    messages: Sequence[Utterance],
    *,
    reach: NDArray[np.int64] | None = None,
    timed: NDArray[np.bool_] | None = None,
) -> Signals:
    columns = columns_of(messages, Numbers())
    return compare(columns, columns, np.arange(columns.size), reach=reach, timed=timed)


def of_one(past: Sequence[Utterance], new: Utterance, *, reach: int = REACH, timed: bool = True) -> Signals:
    numbers = Numbers()
    before = columns_of(past, numbers)
    at = np.array([before.size])
    return compare(before, columns_of([new], numbers), at, reach=np.array([reach]), timed=np.array([timed]))


def assert_same(one: Signals, other: Signals, row: int = 0) -> None:
    """The first row of one, and some row of another."""
    assert_array_equal(one.there[0], other.there[row])
    assert_allclose(one.pairs[0], other.pairs[row], atol=1e-6)
    assert_allclose(one.messages[0], other.messages[row], atol=1e-6)


def true_of(found: Signals, name: str) -> Pairs:
    """The later and the earlier message of which something is so; it must be yes or no."""
    column = found.pairs[..., PAIRS.index(name)]
    assert set(np.unique(column).tolist()) <= {0.0, 1.0}
    return {(row, row - 1 - back) for row, back in np.argwhere(column).tolist()}


def of_messages(found: Signals, name: str) -> list[float]:
    return [float(value) for value in found.messages[:, ALONE.index(name)]]


class TestShape:
    def test_names_fit(self) -> None:
        found = all_at_once(lines(*KITCHEN))
        assert found.pairs.shape == (7, REACH, len(PAIRS))
        assert found.messages.shape == (7, len(ALONE))
        assert found.there.shape == (7, REACH)
        assert found.pairs.dtype == found.messages.dtype == np.float32
        for names in (PAIRS, ALONE):
            assert len(set(names)) == len(names)

    def test_what_another_text_changes(self) -> None:
        assert [PAIRS[place] for place in OF_TEXT] == ["mentions its speaker", *WORDS]

    def test_only_another_text_changes_it(self) -> None:
        messages = heard(chatter(3, 80))
        columns = columns_of(messages, Numbers())
        at = np.arange(40, 80)
        new = columns.part(40)
        texts = columns_of(messages[:40], Numbers())
        said = {name: getattr(texts, name) for name in ("mentions", "length", "pieces", "weights", "offsets")}
        one, other = compare(columns, new, at), compare(columns, new._replace(**said), at)
        changed = (one.pairs != other.pairs).any(axis=(0, 1))
        assert set(np.flatnonzero(changed).tolist()) == set(OF_TEXT)


class TestByHand:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("same speaker", {(3, 0), (4, 0), (4, 3), (5, 2), (6, 1)}),
            ("names its speaker", {(1, 0), (3, 1), (4, 2), (5, 1)}),
            ("mentions its speaker", {(4, 1)}),
            ("is named by it", {(3, 1), (4, 1), (6, 3), (5, 4), (6, 5)}),
            ("is mentioned by it", {(6, 4)}),
            ("both name the same", {(5, 3)}),
            ("it mentions whom this names", {(5, 4)}),
            ("continued at once", {(5, 3), (6, 3)}),
            ("the last that names the speaker", {(3, 1), (4, 1), (5, 4), (6, 5)}),
            ("the last", {(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5)}),
            ("the last of another", {(1, 0), (2, 1), (3, 2), (4, 2), (5, 4), (6, 5)}),
        ],
    )
    def test_pairs(self, name: str, expected: Pairs) -> None:
        assert true_of(all_at_once(lines(*KITCHEN)), name) == expected

    def test_turns(self) -> None:
        found = all_at_once(lines(*KITCHEN))
        last = true_of(found, "its speaker's last")
        assert {pair for pair in last if pair[0] == 6} == {(6, 1), (6, 4), (6, 5)}
        last_but_one = true_of(found, "its speaker's last but one")
        assert {pair for pair in last_but_one if pair[0] == 6} == {(6, 2), (6, 3)}
        named_since = true_of(found, "its speaker was named since")
        assert {pair for pair in named_since if pair[0] == 4} == {(4, 0), (4, 1)}
        assert {pair for pair in named_since if pair[0] == 3} == {(3, 0)}

    def test_times(self) -> None:
        found = all_at_once(lines(*KITCHEN, minutes=MINUTES))
        gap, short = (found.pairs[..., PAIRS.index(name)] for name in ("gap", "short gap"))
        assert_allclose(gap[6, :2], [log1p(14) / 3, log1p(16.5) / 3], atol=1e-6)
        assert_allclose(short[1, 0], log1p(30) / 8, atol=1e-6)
        assert (1, 0) not in true_of(found, "a gap")
        assert (2, 1) in true_of(found, "a gap")
        assert true_of(found, "gap known") == {(row, before) for row in range(7) for before in range(row)}
        unknown = all_at_once(lines(*KITCHEN))
        assert not true_of(unknown, "gap known")

    def test_alone(self) -> None:
        found = all_at_once(lines(*KITCHEN))
        assert of_messages(found, "asks") == [1, 0, 0, 0, 0, 1, 0]
        assert of_messages(found, "names somebody") == [0, 1, 0, 1, 1, 1, 0]
        assert of_messages(found, "first within reach") == [1, 1, 1, 0, 0, 0, 0]
        assert of_messages(found, "mentions somebody") == [0, 0, 0, 0, 1, 0, 0]
        since = of_messages(found, "since the speaker was named")
        assert since[6] == pytest.approx(log1p(1) / 4)
        assert since[0] == pytest.approx(log1p(4 * REACH) / 4)

    def test_nobody_common_and_a_stranger(self) -> None:
        found = all_at_once(lines("ada> hi", "ada> zoe: hello there", "bob> zoe: hello there"))
        assert of_messages(found, "names a stranger") == [0, 1, 1]
        assert not true_of(found, "both name the same")
        cosine = found.pairs[..., PAIRS.index("cosine of pieces")]
        assert cosine[2, 0] == pytest.approx(1.0)
        assert cosine[2, 1] == cosine[1, 0] == 0


class TestOneByOne:
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_as_all_at_once(self, seed: int) -> None:
        messages = busy(seed, 270)
        whole = all_at_once(messages)
        for place, message in enumerate(messages):
            assert_same(of_one(messages[max(place - REACH, 0) : place], message), whole, place)

    @pytest.mark.parametrize("seed", [4, 5])
    def test_however_far_they_see(self, seed: int) -> None:
        messages, random = busy(seed, 260), np.random.default_rng(seed)
        reach, timed = random.choice([1, 5, 15, 30, 100], 260), random.random(260) < 0.7
        whole = all_at_once(messages, reach=reach, timed=timed)
        for place, message in enumerate(messages):
            past = messages[max(place - REACH, 0) : place]
            found = of_one(past, message, reach=int(reach[place]), timed=bool(timed[place]))
            assert_same(found, whole, place)

    def test_among_those_after_it(self) -> None:
        """What is said later changes nothing."""
        messages = busy(6, 250)
        whole, some = all_at_once(messages), all_at_once(messages[:180])
        assert_allclose(whole.pairs[:180], some.pairs, atol=1e-6)
        assert_allclose(whole.messages[:180], some.messages, atol=1e-6)

    def test_columns_one_after_the_other(self) -> None:
        messages, numbers = busy(7, 120), Numbers()
        whole = columns_of(messages, numbers)
        parts = [columns_of(messages[:50], numbers), columns_of(messages[50:70], numbers)]
        both = joined([*parts, columns_of(messages[70:], numbers)])
        for name in Columns._fields:
            assert_array_equal(getattr(both, name), getattr(whole, name))
        part = both.part(70)
        for name in Columns._fields:
            assert_array_equal(getattr(part, name), getattr(columns_of(messages[70:], numbers), name))


class TestDrafts:
    @pytest.mark.parametrize("seed", [1, 2, 3, 4])
    def test_as_if_it_were_said(self, seed: int) -> None:
        ear = Ear(LEXICON)
        messages = heard(chatter(seed, 160), ear=ear)
        for said in chatter(seed + 50, 10):
            draft = ear.imagine(said)
            spoken = ear.hear(said)
            assert (draft.own, draft.called) == (spoken.own, spoken.called)
            found = of_one(messages, draft)
            messages.append(spoken)
            assert_same(found, all_at_once(messages), len(messages) - 1)

    def test_several(self) -> None:
        messages, numbers = busy(8, 130), Numbers()
        past = columns_of(messages[:-3], numbers)
        at = np.full(3, past.size)
        together = compare(past, columns_of(messages[-3:], numbers), at)
        for row, message in enumerate(messages[-3:]):
            assert_same(of_one(messages[:-3], message), together, row)


class TestReach:
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_farther_back_does_not_matter(self, seed: int) -> None:
        messages, others = busy(seed, 200), busy(seed + 10, 200)
        for place in range(60, 200, 7):
            first = place - 15
            ours = of_one(messages[:place], messages[place], reach=15)
            kept = [
                replace(each, own=each.own * (each.own <= back), called=each.called * (each.called <= back))
                for back, each in enumerate(messages[first : place + 1])
            ]
            assert len(kept) == 16
            for past in (others[:first] + messages[first:place], others[:first] + kept[:-1], kept[:-1]):
                for new in (messages[place], kept[-1]):
                    assert_same(of_one(past, new, reach=15), ours)
        assert ours.there[0, :15].any()
        assert not ours.there[0, 15:].any()

    def test_nearer_does(self) -> None:
        messages, others = busy(1, 200), busy(11, 200)
        changed = [*messages[:190], others[190], *messages[191:]]
        ours, theirs = (of_one(each[:199], each[199], reach=15) for each in (messages, changed))
        assert not np.allclose(ours.pairs, theirs.pairs)


class TestGone:
    def test_not_there(self) -> None:
        messages = lines(*KITCHEN)
        messages[2].gone = messages[5].gone = True
        found = all_at_once(messages)
        there = {(row, row - 1 - back) for row, back in np.argwhere(found.there).tolist()}
        assert there == {(row, before) for row in range(7) for before in range(row) if before not in (2, 5)}

    def test_nothing_of_them(self) -> None:
        found = all_at_once(busy(3, 200, gone=0.3))
        assert not found.pairs[~found.there].any()
        assert found.pairs[found.there].any(axis=1).all()


class TestNothingBefore:
    def test_the_first_message(self) -> None:
        found = of_one([], lines("ada> hi")[0])
        assert not found.there.any()
        assert not found.pairs.any()
        assert np.isfinite(found.messages).all()
        assert of_messages(found, "first within reach") == [1]

    def test_the_first_drafts(self) -> None:
        numbers = Numbers()
        drafts = [Ear(LEXICON).imagine(Message(who, "tea is open ?")) for who in ("ada", "bob", "ada")]
        found = compare(columns_of([], numbers), columns_of(drafts, numbers), np.zeros(3, np.int64))
        assert not found.there.any()
        assert not found.pairs.any()
        assert np.isfinite(found.messages).all()

    def test_all_that_was_said_is_gone(self) -> None:
        messages = busy(1, 60, gone=1.0)
        found = all_at_once(messages)
        assert not found.pairs.any()
        assert np.isfinite(found.messages).all()
