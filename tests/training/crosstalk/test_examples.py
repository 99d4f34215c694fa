"""Which cells would be right, and what is seen of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.crosstalk.chats import LEXICON, busy
from tests.training.crosstalk.made import made_room, quiz
from towhom.crosstalk.columns import NOBODY, Columns, Numbers, columns_of
from towhom.crosstalk.signals import OF_TEXT, PAIRS, compare
from towhom.hearing.utterance import REACH
from towhom.training.crosstalk.examples import (
    OF_DRAFT,
    OTHERS,
    Examples,
    Kind,
    Rows,
    bounds_of,
    collect,
    rows_of,
)
from towhom.training.crosstalk.rooms import HeardRoom

WEIGHTS = LEXICON.piece_weights
COUNT = 200
CYCLE = [place % 5 for place in range(COUNT)]


def rows(room: HeardRoom, kind: Kind, *, hidden: bool = False, part: str = "train") -> Rows | None:
    first, last = room.segments(part)[0]
    return rows_of(room, kind, first, last, hidden=hidden, random=np.random.default_rng(0))


def found_rows(room: HeardRoom, kind: Kind, *, hidden: bool = False) -> Rows:
    found = rows(room, kind, hidden=hidden)
    assert found is not None
    return found


def places(found: Rows, which: NDArray[np.bool_], at: int) -> set[int]:
    """The messages of some cells of a message; -1 for a start."""
    (row,) = np.flatnonzero(found.at == at)
    return {-1 if back == REACH else at - 1 - back for back in np.flatnonzero(which[row]).tolist()}


class TestLinks:
    def test_cells(self, tmp_path: Path) -> None:
        links = [(7, 3), (9, 9), (12, 10), (12, 11), (150, 20), (8, 14), (160, 60)]
        found = found_rows(made_room(tmp_path / "room", CYCLE, links=links), Kind.LINKS)
        assert found.at.tolist() == [
            7,
            9,
            12,
            160,
        ]  # 150 answers what is out of reach, 8 what is still to come
        assert [places(found, found.right, at) for at in (7, 9, 12, 160)] == [{3}, {-1}, {10, 11}, {60}]
        assert not found.unknown.any()

    def test_of_its_segment(self, tmp_path: Path) -> None:
        parts = [("dev", 50), ("train", 120), ("dev", COUNT)]
        room = made_room(tmp_path / "room", CYCLE, links=[(7, 3), (70, 60), (130, 121)], parts=parts)
        found = found_rows(room, Kind.LINKS)
        assert found.at.tolist() == [20]
        assert places(found, found.right, 20) == {10}

    def test_names_stay(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE, links=[(7, 3), (9, 8)], named={7: 3}, mentions={7: 4})
        found = found_rows(room, Kind.LINKS)
        assert found.named.tolist() == [3, NOBODY]
        assert found.mentions[0].tolist() == [4, NOBODY, NOBODY]

    def test_and_are_hidden_as_well(self, tmp_path: Path) -> None:
        """Once more without the name, where there is one."""
        room = made_room(tmp_path / "room", CYCLE, links=[(7, 3), (9, 8)], named={7: 3}, mentions={7: 3})
        found = found_rows(room, Kind.LINKS, hidden=True)
        assert found.at.tolist() == [7, 9, 7]
        assert found.named.tolist() == [3, NOBODY, NOBODY]
        assert found.mentions[:, 0].tolist() == [3, NOBODY, NOBODY]
        assert_array_equal(found.right[0], found.right[2])

    def test_none(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE)
        assert rows(room, Kind.LINKS) is None


class TestNames:
    def test_cells(self, tmp_path: Path) -> None:
        """All that who is named said, and own lines for them; own lines for nobody may be, or not."""
        speaker = [0, 1, 2] * 10
        room = made_room(tmp_path / "room", speaker, named={24: 1, 15: 1, 18: 2})
        found = found_rows(room, Kind.NAMES)
        assert found.at.tolist() == [15, 18, 24]
        assert places(found, found.right, 24) == {*range(1, 24, 3), 15}
        assert places(found, found.unknown, 24) == {*range(0, 24, 3), -1} - {15, 18}
        assert found.named.tolist() == [NOBODY] * 3

    def test_only_where_there_is_something_to_tell(self, tmp_path: Path) -> None:
        """Not oneself, not strangers, not one who is silent, and not where nobody else speaks."""
        named = {20: 20 % 5, 22: -2, 24: 9, 26: 3}
        found = found_rows(made_room(tmp_path / "room", CYCLE[:100], named=named), Kind.NAMES)
        assert found.at.tolist() == [26]
        two = made_room(tmp_path / "two", [0, 1] * 30, named={31: 0})
        assert rows(two, Kind.NAMES) is None

    def test_not_at_the_start(self, tmp_path: Path) -> None:
        named = {1: 3, 10: 1, 16: 2, 140: 2, 161: 2}
        short = made_room(tmp_path / "short", CYCLE, named=named)
        assert found_rows(short, Kind.NAMES).at.tolist() == [10, 16, 140, 161]
        long = made_room(tmp_path / "long", CYCLE * 2, named=named)
        assert found_rows(long, Kind.NAMES).at.tolist() == [161]

    def test_the_name_is_hidden_everywhere(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE, named={26: 3, 27: 4}, mentions={26: 3, 27: 3})
        found = found_rows(room, Kind.NAMES)
        assert found.mentions[:, 0].tolist() == [NOBODY, 3]


class TestTopics:
    def test_cells(self, tmp_path: Path) -> None:
        topic = {100: 7, 151: 7, 155: 7, 160: 8, 161: 8, 170: 7}
        room = made_room(tmp_path / "room", CYCLE * 2, topic=topic)
        found = found_rows(room, Kind.TOPICS)
        assert found.at.tolist() == [151, 155, 160, 161, 170]
        assert places(found, found.right, 170) == {100, 151, 155}
        assert places(found, found.right, 160) == {-1}
        assert not found.unknown.any()

    def test_in_a_small_room(self, tmp_path: Path) -> None:
        """What a message goes on with may have been said before: nothing is known to be a start."""
        topic = {1: 7, 9: 7, 20: 8, 30: 8, 40: 7}
        found = found_rows(made_room(tmp_path / "room", CYCLE, topic=topic), Kind.TOPICS)
        assert found.at.tolist() == [9, 30, 40]
        assert [places(found, found.right, at) for at in (9, 30, 40)] == [{1}, {20}, {1, 9}]

    def test_quotes(self, tmp_path: Path) -> None:
        topic = dict.fromkeys(range(140, 170), 7)
        room = made_room(tmp_path / "room", CYCLE, topic=topic, reply={160: 3, 161: 70, 162: REACH + 1})
        found = found_rows(room, Kind.TOPICS)
        assert places(found, found.right, 160) == {157}
        assert places(found, found.right, 161) == {91}
        assert places(found, found.right, 162) == set(range(140, 162))

    def test_half_of_the_names_are_hidden(self, tmp_path: Path) -> None:
        every = range(150, COUNT)
        room = made_room(
            tmp_path / "room", CYCLE, topic=dict.fromkeys(every, 1), named=dict.fromkeys(every, 9)
        )
        assert (found_rows(room, Kind.TOPICS).named == 9).all()
        hidden = (found_rows(room, Kind.TOPICS, hidden=True).named == NOBODY).mean()
        assert 0.2 < hidden < 0.8

    def test_none(self, tmp_path: Path) -> None:
        assert rows(made_room(tmp_path / "room", CYCLE * 2, topic={20: 1}), Kind.TOPICS) is None


class TestMeant:
    def test_cells(self, tmp_path: Path) -> None:
        """0 speaks to 1, or the group; what 0 said for the same is right, too, and of some nobody knows."""
        speaker = [0, 1, 2] * 4
        meant = {0: 1, 3: NOBODY, 9: 1, 10: NOBODY, 11: 0}
        room = made_room(tmp_path / "room", speaker, meant=meant)
        found = found_rows(room, Kind.MEANT)
        assert found.at.tolist() == [9, 10, 11]
        assert places(found, found.right, 9) == {1, 4, 7, 0}
        assert places(found, found.unknown, 9) == {6}
        assert places(found, found.right, 10) == {-1}
        assert places(found, found.unknown, 10) == {1, 4, 7}
        assert places(found, found.right, 11) == {0, 3, 6, 9}

    def test_for_the_group_again(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", [0, 1, 2] * 4, meant={3: NOBODY, 9: NOBODY})
        found = found_rows(room, Kind.MEANT)
        assert places(found, found.right, 9) == {3, -1}

    def test_one_who_never_spoke(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", [0, 1, 2] * 4, meant={9: 7, 10: 0})
        assert found_rows(room, Kind.MEANT).at.tolist() == [10]

    def test_none(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", [0, 1, 2] * 4, meant={2: 1})
        assert rows(room, Kind.MEANT) is None


@pytest.fixture
def no_small_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towhom.training.crosstalk.examples._BEGINNINGS", {})


@pytest.mark.usefixtures("no_small_rooms")
class TestCollect:
    def test_written_and_read_back(self, tmp_path: Path) -> None:
        room = made_room(
            tmp_path / "room",
            CYCLE,
            links=[(20, 18), (30, 30), (60, 5)],
            said={18: "tea milk", 20: "tea door"},
        )
        found = collect(room, Kind.LINKS, "train", WEIGHTS, tmp_path / "examples")
        assert found is not None
        assert found.at.tolist() == [20, 30, 60]
        assert found.start.tolist() == [0, 0, 0]
        columns = room.columns(0, COUNT, WEIGHTS)
        expected = compare(columns, columns.at(found.at), found.at)
        assert_allclose(found.pairs, expected.pairs, atol=2e-3)
        assert_allclose(found.messages, expected.messages, atol=2e-3)
        assert found.pairs[0, 1, PAIRS.index("cosine of pieces")] > 0
        right, unknown = (found.bits(name, slice(0, 3)) for name in ("right", "unknown"))
        assert right.shape == (3, REACH + 1)
        assert [np.flatnonzero(row).tolist() for row in right] == [[1], [REACH], [54]]
        assert_array_equal(unknown[:, :REACH], ~expected.there)
        assert not unknown[:, REACH].any()
        assert_array_equal(Examples(tmp_path / "examples").right, found.right)

    def test_not_again(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE, links=[(20, 18), (30, 30)])
        collect(room, Kind.LINKS, "train", WEIGHTS, tmp_path / "examples")
        other = made_room(tmp_path / "other", CYCLE, links=[(40, 18)])
        again = collect(other, Kind.LINKS, "train", WEIGHTS, tmp_path / "examples")
        assert again is not None
        assert again.at.tolist() == [20, 30]

    def test_nothing(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE)
        for kind in Kind:
            assert collect(room, kind, "train", WEIGHTS, tmp_path / kind.value) is None
            assert not (tmp_path / kind.value).exists()

    def test_of_several_segments(self, tmp_path: Path) -> None:
        parts = [("train", 80), ("dev", 120), ("train", COUNT)]
        room = made_room(tmp_path / "room", CYCLE, links=[(20, 18), (90, 89), (125, 121)], parts=parts)
        found = collect(room, Kind.LINKS, "train", WEIGHTS, tmp_path / "examples")
        assert found is not None
        assert found.at.tolist() == [20, 125]
        assert found.start.tolist() == [0, 120]
        assert found.bits("unknown", slice(1, 2))[0, :REACH].tolist() == [False] * 5 + [True] * 95

    def test_at_most(self, tmp_path: Path) -> None:
        room = made_room(tmp_path / "room", CYCLE, links=[(place, place - 1) for place in range(1, COUNT)])
        found = collect(room, Kind.LINKS, "train", WEIGHTS, tmp_path / "examples", most=30)
        assert found is not None
        assert 15 <= len(found.at) <= 45
        assert (np.diff(found.at) > 0).all()
        assert found.at.min() < 40
        assert found.at.max() > 160

    @pytest.mark.parametrize("kind", [Kind.NAMES, Kind.DRAFTS])
    @pytest.mark.parametrize("part", ["train", "dev"])
    def test_drafts(self, tmp_path: Path, kind: Kind, part: str) -> None:
        """What is kept of another text is what is seen if it is said there."""
        random, count = np.random.default_rng(1), OTHERS[kind]
        vocabulary = ("tea", "milk", "door", "kettle", "open", "thanks")
        said = {place: " ".join(random.choice(vocabulary, random.integers(4))) for place in range(COUNT)}
        named = {place: int(random.integers(5)) for place in range(20, COUNT, 3)}
        mentions = {place: int(random.integers(5)) for place in range(0, COUNT, 4)}
        parts = [("test", 40), (part, COUNT)]
        room = made_room(tmp_path / "room", CYCLE, said=said, named=named, mentions=mentions, parts=parts)
        found = collect(room, kind, part, WEIGHTS, tmp_path / "examples")
        assert found is not None
        shown = found.pairs.shape[1]
        assert found.drafts.shape == (len(found.at), count)
        assert found.of_text.shape == (len(found.at), count, shown, len(OF_TEXT))
        past = room.columns(40, COUNT, WEIGHTS)
        kept = rows_of(room, kind, 40, COUNT, hidden=part == "train", random=random)
        assert kept is not None
        assert_array_equal(kept.at + 40, found.at)
        beyond = found.bits("unknown", slice(0, len(found.at)))
        for row, at in list(enumerate(kept.at.tolist()))[::4]:
            pairs = found.pairs[row]
            within = pairs[:, PAIRS.index("distance")] + pairs[:, PAIRS.index("the last")] > 0
            reach, timed = int(within.sum()), bool(pairs[:, PAIRS.index("gap known")].any())
            assert beyond[row, :REACH][reach:].all()
            for draft in range(count):
                text = past.at(np.array([found.drafts[row, draft] - 40]))
                new = text._replace(
                    speaker=past.speaker[[at]], named=np.array([NOBODY]), own=past.own[[at]],
                    called=past.called[[at]], time=past.time[[at]],
                )  # fmt: skip
                seen = compare(past, new, np.array([at]), reach=np.array([reach]), timed=np.array([timed]))
                assert_allclose(found.of_text[row, draft], seen.pairs[0][:shown, OF_TEXT], atol=2e-3)
                assert_allclose(found.of_draft[row, draft], seen.messages[0][list(OF_DRAFT)], atol=2e-3)
        assert found.of_text.any()

    def test_how_far_is_seen_where_names_are_hidden(self, tmp_path: Path) -> None:
        """All of a chunk equally far, now near, now far; only where they see all may they see the time."""
        room, reaches = quiz(tmp_path / "quiz", rounds=130), set[int]()
        for seed in range(12):
            folder = tmp_path / f"examples{seed}"
            found = collect(room, Kind.NAMES, "train", WEIGHTS, folder, seed=seed)
            assert found is not None
            assert (found.at >= 150).all()
            reach, timed = seen_by(found)
            reaches.add(reach)
            assert 0.5 < timed < 1 if reach == REACH else timed == 0
        assert reaches == {30, REACH}

    def test_how_far_is_seen_in_the_task(self, tmp_path: Path) -> None:
        """Fifteen messages, and no time."""
        found = collect(
            quiz(tmp_path / "quiz", rounds=130), Kind.DRAFTS, "train", WEIGHTS, tmp_path / "examples"
        )
        assert found is not None
        assert found.pairs.shape[1] == 15
        assert seen_by(found) == (15, 0.0)

    def test_no_other_arrays(self, tmp_path: Path) -> None:
        found = collect(quiz(tmp_path / "quiz"), Kind.NAMES, "train", WEIGHTS, tmp_path / "examples")
        assert found is not None
        assert not hasattr(found, "weather")


def seen_by(found: Examples) -> tuple[int, float]:
    """How far back all rows see, and the share of them that see the time."""
    every = slice(0, len(found.at))
    pairs = np.asarray(found.pairs)
    within = (pairs[..., PAIRS.index("distance")] > 0) | (pairs[..., PAIRS.index("the last")] > 0)
    (reach,) = set(within.sum(axis=1).tolist())
    assert found.bits("unknown", every)[:, reach:REACH].all()
    assert not found.bits("right", every)[:, reach:REACH].any()
    return reach, float(pairs[..., PAIRS.index("gap known")].any(axis=1).mean())


class TestSmallRooms:
    """Chats begin short: what was said before never happened."""

    def links(self, folder: Path) -> HeardRoom:
        parts = [("train", 120), ("dev", 160), ("train", COUNT)]
        links = [(place, max(place - 3, 0)) for place in range(COUNT)]
        return made_room(folder, CYCLE, links=links, parts=parts)

    def test_where_they_are(self, tmp_path: Path) -> None:
        room, random = self.links(tmp_path / "room"), np.random.default_rng(1)
        found = bounds_of(room, Kind.LINKS, "train", random)
        assert found[:2] == room.segments("train") == [(0, 120), (160, COUNT)]
        every = room.beginnings("train", 1.0, random)
        assert len(every) >= 2
        for first, last in every:
            assert first < last
            assert any(start <= first and last <= stop for start, stop in found[:2])
        assert bounds_of(room, Kind.LINKS, "dev", random) == [(120, 160)]
        assert room.beginnings("train", 0.0, random) == []

    def test_nothing_before_them_is_seen(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("towhom.training.crosstalk.examples._BEGINNINGS", {Kind.LINKS: 1.0})
        monkeypatch.setattr("towhom.training.crosstalk.rooms._SMALL", (8, 30))
        room = self.links(tmp_path / "room")
        found = collect(room, Kind.LINKS, "train", WEIGHTS, tmp_path / "examples", seed=1)
        assert found is not None
        begun = sorted(set(np.asarray(found.start).tolist()) - {0, 160})
        assert len(begun) > 3
        unknown, right = (found.bits(name, slice(0, len(found.at))) for name in ("unknown", "right"))
        for row, (at, start) in enumerate(zip(found.at.tolist(), found.start.tolist(), strict=True)):
            assert start <= at
            before = at - start
            assert unknown[row, before:REACH].all()
            assert not right[row, before:REACH].any()
            assert right[row].any()

    def test_own_and_called(self, tmp_path: Path) -> None:
        room = self.links(tmp_path / "room")
        columns = room.columns(23, 40, WEIGHTS)
        assert columns.own.tolist() == [0] * 5 + [5] * 12


def test_columns_in_any_order() -> None:
    messages, numbers = busy(1, 60), Numbers()
    columns = columns_of(messages, numbers)
    order = np.array([50, 3, 3, 17])
    found, expected = columns.at(order), columns_of([messages[place] for place in order], numbers)
    for name in Columns._fields:
        assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
