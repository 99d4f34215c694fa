"""A message compared with each before it: every signal, on small chats, by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from math import log, log1p, sqrt
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.live.conftest import VOCABULARY
from tests.threads.chats import START, busy_chat
from towhom.chat import Kind, Message
from towhom.hearing.ear import Ear
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.utterance import REACH, SPOKEN, Utterance
from towhom.text.pieces import PIECE_WEIGHTS, pieces
from towhom.threads.signals import (
    MESSAGE,
    MESSAGE_TIME,
    STRUCTURE,
    TIME,
    TURNS,
    WHO,
    WORDS,
    Likeness,
    Sight,
    Signals,
    columns_of,
    compare,
    pair_names,
    structure,
    with_threads,
)

LEXICON = Lexicon(VOCABULARY, None)
Pairs = set[tuple[int, int]]
"""Of messages: the later, and the earlier with which it is compared."""

KITCHEN = (
    "ada> is the kettle open ?",  # 0
    "bob> ada: the tea is",  # 1
    "cyd> who has milk",  # 2
    "ada> bob: thanks",  # 3
    "ada> cyd: ask bob",  # 4
    "cyd> bob: milk ?",  # 5
    "bob> no",  # 6
)
MINUTES = (0, 1, 2, 3, 3.5, 6, 20)


def heard(lines: Sequence[str], *, minutes: Sequence[float] | None = None) -> list[Utterance]:
    """What is known of lines like `ada> hello`."""
    ear, result = Ear(LEXICON), []
    for place, line in enumerate(lines):
        speaker, _, text = line.partition("> ")
        time = None if minutes is None else START + timedelta(minutes=minutes[place])
        kind = Kind.ACTION if text.startswith("/me ") else Kind.MESSAGE
        result.append(ear.hear(Message(speaker, text.removeprefix("/me "), time=time, kind=kind)))
    return result


def alone(messages: Sequence[Utterance]) -> list[Sight]:
    """Each starts a conversation."""
    return [Sight(thread=place) for place in range(len(messages))]


def answering(messages: Sequence[Utterance], parents: Iterable[tuple[int, int]]) -> list[Sight]:
    """Some answer others, at first sight."""
    sights = alone(messages)
    for place, parent in parents:
        sights[place].answers(sights[parent], messages[parent].speaker, place - parent)
    return sights


def nothing_alike(count: int, first: int = 0, *, kinds: int = 0, content: int = 0) -> Likeness:
    return Likeness(
        np.zeros((count, kinds, 1), np.float32),
        np.zeros((count - first, kinds, 1), np.float32),
        np.zeros((count - first, content), np.float32),
    )


def compared(messages: list[Utterance], first: int = 0) -> Signals:
    return compare(columns_of(messages), nothing_alike(len(messages), first), first)


def of_pairs(found: Signals, name: str) -> dict[tuple[int, int], float]:
    """A signal, by the two messages."""
    column = found.pairs[..., pair_names(found.pairs.shape[2] - len(pair_names(0))).index(name)]
    return by_pair(column, found.there)


def by_pair(column: NDArray[np.float32], there: NDArray[np.bool_]) -> dict[tuple[int, int], float]:
    return {
        (row, row - 1 - back): float(column[row, back]) for row, back in np.argwhere(there).tolist()
    }  # fmt: skip


def true_of(values: dict[tuple[int, int], float]) -> Pairs:
    """Where something is so; it must be yes or no."""
    assert set(values.values()) <= {0.0, 1.0}
    return {pair for pair, value in values.items() if value}


def of_messages(found: Signals, name: str) -> list[float]:
    values = found.messages[:, (*MESSAGE, *MESSAGE_TIME).index(name)]
    return [float(value) for value in values]


def after(*places: int, count: int = 7) -> Pairs:
    """Of some messages, all pairs with a later one."""
    return {(later, place) for place in places for later in range(place + 1, count)}


class TestShape:
    def test_names(self) -> None:
        names = pair_names(2)
        assert len(set(names)) == len(names)
        assert names[-2:] == ("likeness 1", "likeness 2")
        assert names[: len(WHO) + len(TURNS)] == (*WHO, *TURNS)
        for each in ((*MESSAGE, *MESSAGE_TIME), STRUCTURE):
            assert len(set(each)) == len(each)

    def test_as_many_as_there_are_names(self) -> None:
        messages = heard(KITCHEN)
        found = compare(columns_of(messages), nothing_alike(7, kinds=2, content=3), 0)
        assert found.pairs.shape == (7, REACH, len(pair_names(2)))
        assert found.messages.shape == (7, len(MESSAGE) + len(MESSAGE_TIME) + 3)
        likely = np.full((7, REACH + 1), 0.5, np.float32)
        assert structure(with_threads(columns_of(messages), alone(messages)), 0, likely).shape == (
            7,
            REACH,
            len(STRUCTURE),
        )

    def test_who_is_there(self) -> None:
        found = compared(heard(KITCHEN))
        assert found.there.sum(axis=1).tolist() == [0, 1, 2, 3, 4, 5, 6]
        assert found.there[:, 0].tolist() == [False, *[True] * 6]

    def test_nothing_of_what_is_not_there(self) -> None:
        messages = heard(KITCHEN, minutes=MINUTES)
        found = compared(messages)
        assert not found.pairs[~found.there].any()
        likely = np.full((7, REACH + 1), 0.5, np.float32)
        assert not structure(with_threads(columns_of(messages), alone(messages)), 0, likely)[
            ~found.there
        ].any()

    def test_in_32_bits(self) -> None:
        found = compared(heard(KITCHEN, minutes=MINUTES))
        assert found.pairs.dtype == found.messages.dtype == np.float32
        assert found.there.dtype == bool


class TestWho:
    """In the kitchen, ada is named by 1, bob by 3 and 5, cyd by 4, which also mentions bob."""

    KITCHEN: tuple[tuple[str, Pairs], ...] = (
        ("same speaker", {(3, 0), (4, 0), (4, 3), (5, 2), (6, 1)}),
        ("names its speaker", {(1, 0), (3, 1), (4, 2), (5, 1)}),
        ("names another", {(3, 0), (3, 2), (4, 0), (4, 1), (4, 3), (5, 0), (5, 2), (5, 3), (5, 4)}),
        ("mentions its speaker", {(4, 1)}),
        ("is named by it", {(3, 1), (4, 1), (6, 3), (5, 4), (6, 5)}),
        ("is mentioned by it", {(6, 4)}),
        ("both name the same", {(5, 3)}),
        ("it names another", {(2, 1), (5, 1), (6, 1), (4, 3), (6, 4)}),
        ("it mentions whom this names", {(5, 4)}),
    )

    @pytest.mark.parametrize(("name", "expected"), KITCHEN)
    def test_in_the_kitchen(self, name: str, expected: Pairs) -> None:
        assert true_of(of_pairs(compared(heard(KITCHEN)), name)) == expected

    def test_all_of_them_are_above(self) -> None:
        assert tuple(name for name, _ in self.KITCHEN) == WHO

    def test_strangers_are_not_the_same(self) -> None:
        """Both name somebody who is not there; who knows whether it is the same."""
        found = compared(heard(["ada> zoe: tea", "bob> yan: milk", "cyd> tea"]))
        assert true_of(of_pairs(found, "both name the same")) == set()
        assert true_of(of_pairs(found, "names another")) == {(1, 0)}
        assert true_of(of_pairs(found, "it names another")) == {(1, 0), (2, 0), (2, 1)}
        assert true_of(of_pairs(found, "names its speaker")) == set()


class TestTurns:
    """In the kitchen, ada speaks at 0, 3 and 4, bob at 1 and 6, cyd at 2 and 5."""

    KITCHEN: tuple[tuple[str, Pairs], ...] = (
        # Until and with the message in which the speaker speaks again.
        (
            "its speaker's last",
            {(1, 0), (2, 0), (3, 0), (3, 2), (4, 2), (5, 2), (4, 3), *after(1, 4, 5)},
        ),
        # 0 after 3, until 4; 2 after 5; 3 after 4.
        ("its speaker's last but one", {(4, 0), (6, 2), (5, 3), (6, 3)}),
        # ada by 1, bob by 3, cyd by 4.
        (
            "its speaker was named since",
            {(2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (4, 1), (5, 1), (6, 1), (5, 2), (6, 2)},
        ),
        ("continued at once", {(5, 3), (6, 3)}),
        # ada at 3 before 4; cyd at 2 before 5; bob at 1 before 6.
        ("the speaker spoke since, 1", {(4, 0), (4, 1), (4, 2), (5, 0), (5, 1), (6, 0)}),
        ("the speaker spoke since, 2", set()),
        ("the speaker spoke since, 3", set()),
        # Before 4, ada named bob; before 6, bob named ada.
        ("the speaker's last but 0 names its speaker", {(4, 1), (6, 0), (6, 3), (6, 4)}),
        ("the speaker's last but 1 names its speaker", set()),
        ("the speaker's last but 2 names its speaker", set()),
        ("the last that names the speaker", {(3, 1), (4, 1), (5, 4), (6, 5)}),
        # ada by bob; cyd by ada; bob by cyd.
        ("by who named the speaker last", {(3, 1), (4, 1), (5, 0), (5, 3), (5, 4), (6, 2), (6, 5)}),
    )

    @pytest.mark.parametrize(("name", "expected"), KITCHEN)
    def test_in_the_kitchen(self, name: str, expected: Pairs) -> None:
        assert true_of(of_pairs(compared(heard(KITCHEN)), name)) == expected

    def test_all_of_them_are_above(self) -> None:
        assert tuple(name for name, _ in self.KITCHEN) == TURNS

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            (
                "the speaker spoke since, 1",
                {(3, 0), (3, 1), *((4, j) for j in range(3)), *((5, j) for j in range(4))},
            ),
            ("the speaker spoke since, 2", {(4, 0), (4, 1), (5, 0), (5, 1), (5, 2)}),
            ("the speaker spoke since, 3", {(5, 0), (5, 1)}),
            ("the speaker's last but 0 names its speaker", {(4, 1)}),
            ("the speaker's last but 1 names its speaker", {(5, 1)}),
            ("the speaker's last but 2 names its speaker", set()),
        ],
    )  # fmt: skip
    def test_who_goes_on_and_on(self, name: str, expected: Pairs) -> None:
        """ada speaks at 0 and at 2 to 5; at 3, to bob."""
        lines = ("ada> tea", "bob> tea", "ada> tea", "ada> bob: tea", "ada> tea", "ada> tea")
        assert true_of(of_pairs(compared(heard(lines)), name)) == expected

    def test_the_third_before(self) -> None:
        lines = ("bob> tea", "ada> bob: tea", "ada> milk", "ada> milk", "ada> milk")
        found = of_pairs(compared(heard(lines)), "the speaker's last but 2 names its speaker")
        assert true_of(found) == {(4, 0)}

    def test_out_of_reach(self) -> None:
        """ada was named, and spoke, more than a hundred messages ago."""
        lines = ["ada> tea", "bob> ada: tea", *["cyd> tea"] * REACH, "ada> tea"]
        found = compared(heard(lines))
        last = len(lines) - 1
        for name in ("the speaker spoke since, 1", "the last that names the speaker",
                     "by who named the speaker last"):  # fmt: skip
            assert not any(pair[0] == last for pair in true_of(of_pairs(found, name)))
        nearer = compared(heard(lines[:2] + lines[4:]))
        assert (last - 2, 1) in true_of(of_pairs(nearer, "the last that names the speaker"))

    @pytest.mark.parametrize(("between", "names"), [(40, True), (60, False)])
    def test_the_second_before_is_out_of_reach(self, between: int, names: bool) -> None:
        """The last is not: ada named bob twice as many messages ago as she spoke."""
        gap = ["cyd> tea"] * between
        found = compared(heard(["bob> tea", "ada> bob: tea", *gap, "ada> tea", *gap, "bob> tea", "ada> tea"]))
        last = len(found.there) - 1
        named = true_of(of_pairs(found, "the speaker's last but 1 names its speaker"))
        assert ((last, last - 1) in named) == names


class TestIt:
    def test_what_it_is(self) -> None:
        lines = ("ada> tea ?", "bob> !tea", "ada> /me waves", "cyd> bob: tea", "dee> zoe: tea", "ada> tea")
        found = compared(heard(lines))
        for name, places in (
            ("asks", [0]), ("command", [1]), ("action", [2]), ("names somebody", [3, 4]),
            ("first of its speaker", [0, 1, 3, 4]), ("asks anybody", []), ("greets", []),
        ):  # fmt: skip
            assert true_of(of_pairs(found, name)) == after(*places, count=6), name

    def test_how_it_behaves(self) -> None:
        found = compared(heard(["ada> does anybody know", "bob> good morning", "cyd> tea"]))
        assert true_of(of_pairs(found, "asks anybody")) == after(0, count=3)
        assert true_of(of_pairs(found, "greets")) == after(1, count=3)

    def test_length(self) -> None:
        found = of_pairs(compared(heard(["ada> ", "bob> ada: tea", "cyd> the tea is open"])), "length")
        assert found == pytest.approx({(1, 0): 0, (2, 0): 0, (2, 1): log1p(1) / 3})
        found = of_pairs(compared(heard(["cyd> the tea is open", "bob> tea"])), "length")
        assert found == pytest.approx({(1, 0): log1p(4) / 3})

    def test_since_its_speaker_spoke(self) -> None:
        found = of_pairs(compared(heard(KITCHEN)), "since its speaker spoke")
        expected = {0: 0, 1: 0, 2: 0, 3: 3, 4: 1, 5: 3}
        assert found == pytest.approx({pair: log1p(expected[pair[1]]) / 5 for pair in found})


class TestPlaceAndTime:
    def test_distance(self) -> None:
        found = of_pairs(compared(heard(KITCHEN)), "distance")
        assert found == pytest.approx({(i, j): log(i - j) / 4 for i, j in found})
        assert found[1, 0] == 0

    def test_gaps(self) -> None:
        found = compared(heard(KITCHEN, minutes=MINUTES))
        gaps = {(i, j): MINUTES[i] - MINUTES[j] for i in range(7) for j in range(i)}
        assert of_pairs(found, "gap") == pytest.approx({pair: log1p(gap) / 3 for pair, gap in gaps.items()})
        assert true_of(of_pairs(found, "a gap")) == {pair for pair, gap in gaps.items() if gap >= 1}
        assert (4, 3) not in true_of(of_pairs(found, "a gap"))
        assert true_of(of_pairs(found, "gap known")) == set(gaps)

    def test_no_times(self) -> None:
        found = compared(heard(KITCHEN))
        assert not any(of_pairs(found, name)[6, 0] for name in TIME)
        assert not any(any(of_messages(found, name)) for name in MESSAGE_TIME)

    def test_time_going_backwards_is_no_gap(self) -> None:
        found = compared(heard(["ada> tea", "bob> tea"], minutes=[30, 0]))
        assert [of_pairs(found, name)[1, 0] for name in TIME] == [0, 0, 1]

    def test_some_times(self) -> None:
        messages = heard(KITCHEN, minutes=MINUTES)
        messages[3].time = None
        found = true_of(of_pairs(compared(messages), "gap known"))
        assert found == {pair for pair in after(*range(6)) if 3 not in pair}


WORTH = {"tea": 0.5, "milk": 0.25, "door": 0.75, "kettle": 1.0, "open": 0.125}


class TestWords:
    @staticmethod
    def weighed(lines: Sequence[str]) -> list[Utterance]:
        """So much is it worth to have these words in common."""
        worth = {piece: weight for word, weight in WORTH.items() for piece in pieces(word)}
        messages = heard(lines)
        for each in messages:
            each.weights = np.array([worth.get(piece, 0.0) for piece in each.pieces.tolist()], np.float32)
        return messages

    def test_by_hand(self) -> None:
        """The third has tea and milk in common with the first, tea and door with the second."""
        messages = self.weighed(["ada> tea milk kettle", "bob> door tea open", "cyd> milk door tea"])
        found = compare(columns_of(messages), nothing_alike(3), 0)
        sums = [1.75, 1.375, 1.5]
        common = {(1, 0): 0.5, (2, 0): 0.75, (2, 1): 1.25}
        assert of_pairs(found, "common weight") == pytest.approx({p: log1p(w) for p, w in common.items()})
        assert of_pairs(found, "cosine of pieces") == pytest.approx(
            {(i, j): weight / sqrt(sums[i] * sums[j]) for (i, j), weight in common.items()}
        )
        assert of_pairs(found, "rarest common piece") == {(1, 0): 0.5, (2, 0): 0.5, (2, 1): 0.75}
        assert of_pairs(found, "common pieces") == pytest.approx(
            {(1, 0): log1p(1), (2, 0): log1p(2), (2, 1): log1p(2)}
        )

    def test_a_word_counts_once(self) -> None:
        messages = self.weighed(["ada> tea tea tea", "bob> tea tea"])
        found = compare(columns_of(messages), nothing_alike(2), 0)
        assert of_pairs(found, "common pieces")[1, 0] == pytest.approx(log1p(1))
        assert of_pairs(found, "cosine of pieces")[1, 0] == pytest.approx(1)

    def test_forms_of_a_word_are_the_same(self) -> None:
        found = compared(heard(["ada> installing drivers", "bob> installed driver"]))
        assert of_pairs(found, "common pieces")[1, 0] == pytest.approx(log1p(2))

    def test_nothing_in_common(self) -> None:
        for lines in (["ada> ", "bob> "], ["ada> tea", "bob> milk"], ["ada> ", "bob> milk"]):
            found = compared(heard(lines))
            assert [of_pairs(found, name)[1, 0] for name in WORDS] == [0, 0, 0, 0]

    def test_against_sets(self) -> None:
        """A busy chat, with a second implementation."""
        ear = Ear(LEXICON)
        messages = [ear.hear(each) for each in busy_chat(4, 180) if each.kind in SPOKEN]
        first = 40
        found = compared(messages, first)
        worth = LEXICON.piece_weights
        own = [
            {int(piece): float(worth[piece & (PIECE_WEIGHTS - 1)]) for piece in each.pieces}
            for each in messages
        ]
        column = pair_names(0).index(WORDS[0])
        for row in range(len(messages) - first):
            mine = own[first + row]
            for back in range(min(REACH, first + row)):
                theirs = own[first + row - 1 - back]
                both = [mine[piece] for piece in mine.keys() & theirs.keys()]
                below = sqrt(max(sum(mine.values()) * sum(theirs.values()), 0.1))
                expected = [log1p(sum(both)), sum(both) / below, max(both, default=0), log1p(len(both))]
                ours = found.pairs[row, back, column : column + len(WORDS)]
                assert ours.tolist() == pytest.approx(expected, abs=1e-5)


class TestLikeness:
    @pytest.mark.parametrize(("count", "first"), [(5, 0), (5, 2), (130, 0), (130, REACH), (260, 120)])
    def test_products(self, count: int, first: int) -> None:
        random = np.random.default_rng(1)
        sides = random.normal(size=(count, 2, 3)).astype(np.float32)
        answers = random.normal(size=(count - first, 2, 3)).astype(np.float32)
        content = random.normal(size=(count - first, 4)).astype(np.float32)
        messages = heard(["ada> tea"] * count)
        found = compare(columns_of(messages), Likeness(sides, answers, content), first)
        for row in range(count - first):
            for back in range(min(REACH, first + row)):
                expected = (sides[first + row - 1 - back] * answers[row]).sum(axis=1)
                assert_allclose(found.pairs[row, back, -2:], expected, atol=1e-5)
        assert_array_equal(found.messages[:, -4:], content)


class TestAlone:
    LINES = (
        "ada> is the tea open ?",  # 0
        "bob> ada: !tea",  # 1
        "ada> /me looks for bob",  # 2
        "cyd> zoe: milk",  # 3
        "ada> bob: thanks",  # 4
        "bob> hm",  # 5
        "ada> hm",  # 6
    )

    EXPECTED = (
        ("asks", [1, 0, 0, 0, 0, 0, 0]),
        ("command", [0, 1, 0, 0, 0, 0, 0]),
        ("action", [0, 0, 1, 0, 0, 0, 0]),
        ("length", [log1p(5) / 3, log1p(2) / 3, log1p(3) / 3, log1p(3) / 3, *[log1p(1) / 3] * 3]),
        ("names somebody", [0, 1, 0, 0, 1, 0, 0]),
        ("names a stranger", [0, 0, 0, 1, 0, 0, 0]),
        ("mentions somebody", [0, 0, 1, 0, 0, 0, 0]),
        ("first within reach", [1, 1, 0, 1, 0, 0, 0]),
        # Twice the reach where they have not spoken, four times where nobody named them.
        ("since the speaker spoke", [log1p(each) / 4 for each in (200, 200, 2, 200, 2, 4, 2)]),
        ("since the speaker was named", [log1p(each) / 4 for each in (400, 400, 1, 400, 3, 1, 5)]),
        # ada was named at 1, and spoke at 0, 2 and 4; bob was named at 4 and spoke at 1.
        ("spoke since named", [0, 0, 0, 0, 1, 0, 1]),
        ("their last names somebody", [0, 0, 0, 0, 0, 1, 1]),
        ("asks anybody", [0] * 7),
        ("greets", [0, 0, 0, 0, 1, 0, 0]),  # thanks
        ("begins like an answer", [0, 0, 0, 0, 0, 1, 1]),  # hm
        ("says you", [0] * 7),
        ("calls everybody", [0] * 7),
    )

    @pytest.mark.parametrize(("name", "expected"), EXPECTED)
    def test_by_hand(self, name: str, expected: list[float]) -> None:
        assert of_messages(compared(heard(self.LINES)), name) == pytest.approx(expected)

    def test_all_of_them_are_above(self) -> None:
        assert tuple(name for name, _ in self.EXPECTED) == MESSAGE

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("does anybody know", "asks anybody"),
            ("good morning", "greets"),
            ("yes it is", "begins like an answer"),
            ("could you open it", "says you"),
            ("hi all, the tea is open", "calls everybody"),
        ],
    )
    def test_how_it_behaves(self, text: str, name: str) -> None:
        found = compared(heard(["ada> the door", f"bob> {text}"]))
        assert of_messages(found, name) == [0, 1]

    def test_gap_since_the_speaker_spoke(self) -> None:
        """Ten hours where they have not spoken."""
        found = compared(heard(KITCHEN, minutes=MINUTES))
        gaps = [600, 600, 600, 3, 0.5, 4, 19]
        expected = [log1p(gap) / 4 for gap in gaps]
        assert of_messages(found, "gap since the speaker spoke") == pytest.approx(expected)

    def test_pace(self) -> None:
        """How long the last ten messages took."""
        minutes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 40]
        found = compared(heard(["ada> tea"] * 12, minutes=minutes))
        assert of_messages(found, "pace") == pytest.approx([0] * 10 + [log1p(30) / 3, log1p(39) / 3])
        assert of_messages(found, "pace known") == [0.0] * 10 + [1.0] * 2

    def test_pace_where_times_are_missing(self) -> None:
        messages = heard(["ada> tea"] * 13, minutes=list(range(13)))
        messages[1].time = messages[12].time = None
        found = compared(messages)
        assert of_messages(found, "pace known")[10:] == [1.0, 0.0, 0.0]
        assert of_messages(found, "gap since the speaker spoke")[12] == 0


class TestStructure:
    """In the kitchen, at first sight: 0, 1 to 0, 3 to 1 in one; 2, 4 to 2, 5 to 4, 6 to 5 in another."""

    ANSWERS = ((1, 0), (3, 1), (4, 2), (5, 4), (6, 5))

    def of(self, name: str, likely: NDArray[np.float32] | None = None) -> dict[tuple[int, int], float]:
        messages = heard(KITCHEN)
        if likely is None:
            likely = np.full((7, REACH + 1), 0.01, np.float32)
        sights = answering(messages, self.ANSWERS)
        found = structure(with_threads(columns_of(messages), sights), 0, likely)
        return by_pair(found[..., STRUCTURE.index(name)], compared(messages).there)

    KITCHEN: tuple[tuple[str, Pairs], ...] = (
        # ada's last before 3 is in the first, and before 4; cyd's before 5 in the second; bob's in the first.
        (
            "the speaker's last is in it",
            {(3, 0), (3, 1), (4, 0), (4, 1), (4, 3), (5, 2), (5, 4), (6, 0), (6, 1), (6, 3)},
        ),
        ("the speaker's last but one is in it", {(4, 0), (4, 1), (4, 3)}),
        (
            "latest of it",
            {(1, 0), (2, 1), (3, 1), (3, 2), (4, 2), (4, 3), (5, 3), (6, 3), (5, 4), (6, 5)},
        ),
        ("latest but one of it", {(2, 0), (3, 0), (4, 1), (5, 1), (6, 1), (5, 2), (6, 4)}),
        # In the first, ada speaks at 0 and 3; in the second, cyd at 2 and 5.
        (
            "its speaker's last in it",
            {(1, 0), (2, 0), (3, 0), (3, 2), (4, 2), (5, 2), *after(1, 3, 4, 5)},
        ),
        ("answered", {*((i, 0) for i in range(2, 7)), (4, 1), (5, 1), (6, 1), (5, 2), (6, 2), (6, 4)}),
        # 1 answers ada, 3 answers bob, 4 answers cyd.
        ("answers the speaker", {(3, 1), (4, 1), (6, 3), (5, 4)}),
        # 5 names bob, whom 3 answers.
        ("answers whom this names", {(5, 3)}),
        ("starts it", after(0, 2)),
    )

    @pytest.mark.parametrize(("name", "expected"), KITCHEN)
    def test_in_the_kitchen(self, name: str, expected: Pairs) -> None:
        assert true_of(self.of(name)) == expected

    TOGETHER = (
        ("likely altogether", 0.05 + 0.05 + 0.1, 0.2 + 0.4),
        ("likeliest of it", 0.1, 0.4),
        ("messages", log1p(3) / 3, log1p(2) / 3),
        ("the speaker's", 0, log1p(1)),
        ("of whom this names", log1p(1), 0),
        # Of the first, 3 is two back; of the second, 4 is one back.
        ("distance of the latest", log(2) / 4, 0),
    )

    @pytest.mark.parametrize(("name", "first", "second"), TOGETHER)
    def test_of_all_messages_in_it(self, name: str, first: float, second: float) -> None:
        """Before 5, which cyd says to bob, 0, 1 and 3 are in the first, 2 and 4 in the second."""
        likely = np.full((7, REACH + 1), 0.9, np.float32)
        likely[5, :5] = [0.4, 0.1, 0.2, 0.05, 0.05]  # 4, 3, 2, 1, 0
        found = self.of(name, likely)
        for earlier in range(5):
            expected = first if earlier in (0, 1, 3) else second
            assert found[5, earlier] == pytest.approx(expected, abs=1e-6), earlier

    def test_likely(self) -> None:
        likely = np.zeros((7, REACH + 1), np.float32)
        likely[3, :3], likely[3, REACH] = [0.5, 0.25, 0.0], 0.25
        found, start = self.of("likely", likely), self.of("start likely", likely)
        assert [found[3, j] for j in (2, 1, 0)] == pytest.approx([log(0.5) / 6, log(0.25) / 6, -2])
        assert [start[3, j] for j in range(3)] == pytest.approx([log(0.25) / 6] * 3)
        assert start[6, 0] == -2

    def test_all_of_them_are_above(self) -> None:
        named = [*(name for name, _ in self.KITCHEN), *(name for name, _, _ in self.TOGETHER)]
        assert (*named, "likely", "start likely") == STRUCTURE

    def test_going_on_is_no_answer_to_oneself(self) -> None:
        """ada goes on with what she said, and goes on again."""
        messages = heard(["ada> tea", "ada> milk", "ada> the door"])
        sights = answering(messages, [(1, 0)])
        found = structure(
            with_threads(columns_of(messages), sights), 0, np.full((3, REACH + 1), 0.1, np.float32)
        )
        column = by_pair(found[..., STRUCTURE.index("answers the speaker")], compared(messages).there)
        assert true_of(column) == set()

    def test_what_is_answered_twice(self) -> None:
        """It counts when it was answered first."""
        messages = heard(["ada> tea", "bob> tea", "cyd> tea", "dee> tea"])
        sights = answering(messages, [(1, 0), (3, 0)])
        found = structure(
            with_threads(columns_of(messages), sights), 0, np.full((4, REACH + 1), 0.1, np.float32)
        )
        column = by_pair(found[..., STRUCTURE.index("answered")], compared(messages).there)
        assert true_of(column) == {(2, 0), (3, 0)}

    def test_an_answer_to_what_is_forgotten(self) -> None:
        """It is in the conversation all the same."""
        messages = heard(["ada> tea", "bob> tea", "ada> tea"])
        sights = alone(messages)
        for each in sights:
            each.starts(50)
        found = structure(
            with_threads(columns_of(messages), sights), 0, np.full((3, REACH + 1), 0.1, np.float32)
        )
        column = by_pair(found[..., STRUCTURE.index("messages")], compared(messages).there)
        assert column[2, 0] == pytest.approx(log1p(2) / 3)


class TestFirstSight:
    def test_an_answer(self) -> None:
        first, second = Sight(), Sight()
        first.starts(7)
        second.answers(first, "ada", 1)
        assert second == Sight(1, 7, "ada")

    def test_a_start_after_all(self) -> None:
        first, second = Sight(), Sight()
        second.answers(first, "ada", 1)
        second.starts(3)
        assert second == Sight(0, 3, None)


class TestTakenBack:
    """Message 1 of the kitchen, which bob said to ada, is gone."""

    def messages(self) -> list[Utterance]:
        messages = heard(KITCHEN, minutes=MINUTES)
        messages[1].gone = True
        return messages

    def test_is_not_there(self) -> None:
        found, before = compared(self.messages()), compared(heard(KITCHEN, minutes=MINUTES))
        gone = {(row, row - 2) for row in range(2, 7)}
        assert found.there.sum(axis=1).tolist() == [0, 1, 1, 2, 3, 4, 5]
        for row in range(2, 7):
            back = row - 2
            assert not found.there[row, back]
            assert not found.pairs[row, back].any()
            others = np.arange(REACH) != back
            assert_array_equal(found.there[row, others], before.there[row, others])
        assert len(gone) == 5

    def test_is_in_no_conversation(self) -> None:
        messages = self.messages()
        sights = answering(messages, TestStructure.ANSWERS)
        likely = np.full((7, REACH + 1), 0.1, np.float32)
        found = structure(with_threads(columns_of(messages), sights), 0, likely)
        assert not found[~compared(messages).there].any()
        # 0 and 3 are left in it.
        column = by_pair(found[..., STRUCTURE.index("messages")], compared(messages).there)
        assert column[6, 0] == pytest.approx(log1p(2) / 3)


class TestPartByPart:
    """The same numbers, however many messages come at once, and whatever comes later."""

    @pytest.fixture(scope="class", params=[True, False], ids=["timed", "untimed"])
    @staticmethod
    def messages(request: pytest.FixtureRequest) -> list[Utterance]:
        """A busy chat whose conversations are drawn by lot."""
        ear = Ear(LEXICON)
        chat = [each for each in busy_chat(3, 330, timed=request.param) if each.kind in SPOKEN]
        return [ear.hear(each) for each in chat]

    @pytest.fixture(scope="class")
    @staticmethod
    def sights(messages: list[Utterance]) -> list[Sight]:
        random, sights = Random(2), alone(messages)
        for place, each in enumerate(sights):
            back = random.randint(0, min(place, 30))
            if back:
                each.answers(sights[place - back], messages[place - back].speaker, back)
        return sights

    @pytest.fixture(scope="class")
    @staticmethod
    def whole(
        messages: list[Utterance], sights: list[Sight]
    ) -> tuple[Signals, NDArray[np.float32], NDArray[np.float32]]:
        likely = np.random.default_rng(3).dirichlet(np.ones(REACH + 1), len(messages)).astype(np.float32)
        return compared(messages), structure(with_threads(columns_of(messages), sights), 0, likely), likely

    @pytest.mark.parametrize("bounds", [(1, 2, 3, 50), (99, 100, 101, 102), (150, 151, 300)])
    def test_as_they_come(
        self,
        messages: list[Utterance],
        sights: list[Sight],
        whole: tuple[Signals, NDArray[np.float32], NDArray[np.float32]],
        bounds: tuple[int, ...],
    ) -> None:
        signals, conversations, likely = whole
        for start, stop in pairwise(bounds):
            begin = max(start - REACH, 0)  # no more is remembered
            part = messages[begin:stop]
            found = compared(part, start - begin)
            assert_allclose(found.pairs, signals.pairs[start:stop], atol=1e-6)
            assert_allclose(found.messages, signals.messages[start:stop], atol=1e-6)
            assert_array_equal(found.there, signals.there[start:stop])
            theirs = structure(
                with_threads(columns_of(part), sights[begin:stop]), start - begin, likely[start:stop]
            )
            assert_allclose(theirs, conversations[start:stop], atol=1e-6)
