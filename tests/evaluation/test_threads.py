"""Conversations pulled apart: the measures of Kummerfeld et al. (ACL 2019), by hand and by other means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, permutations
from math import isfinite, log2
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towhom.chat import Kind, Message
from towhom.evaluation.reply_links import LinkedLog
from towhom.evaluation.threads import (
    Links,
    Share,
    clusters,
    describe_threads,
    exact_matches,
    follow_logs,
    link_scores,
    overlap,
)
from towhom.threads import Placed

Partition = set[frozenset[int]]


def linked(*pairs: tuple[int, int]) -> dict[int, frozenset[int]]:
    """A line and what it answers; a line may come several times."""
    result: dict[int, frozenset[int]] = {}
    for line, answered in pairs:
        result[line] = result.get(line, frozenset()) | {answered}
    return result


def grouped(*groups: Sequence[int]) -> dict[int, frozenset[int]]:
    """Conversations in which everything answers the first line."""
    return {line: frozenset({group[0]}) for group in groups for line in group}


def share(precision: float, recall: float, f1: float) -> object:
    """What such a share is equal to, but for rounding."""
    return pytest.approx((precision, recall, f1), abs=1e-3)


def of_links(true: Sequence[Links], said: Sequence[Links]) -> tuple[float, float, float]:
    return as_tuple(link_scores(true, said))


def of_matches(true: Sequence[Links], said: Sequence[Links]) -> tuple[float, float, float]:
    return as_tuple(exact_matches(true, said))


def as_tuple(found: Share) -> tuple[float, float, float]:
    return found.precision, found.recall, found.f1


class TestClusters:
    def test_a_chain_is_one(self) -> None:
        assert clusters(linked((0, 0), (1, 0), (2, 1), (3, 2))) == [{0, 1, 2, 3}]

    def test_answers_to_the_same_line_are_together(self) -> None:
        assert clusters(linked((0, 0), (1, 0), (2, 0))) == [{0, 1, 2}]

    def test_two_at_a_time(self) -> None:
        found = clusters(linked((0, 0), (1, 1), (2, 0), (3, 1), (4, 2)))
        assert set(found) == {frozenset({0, 2, 4}), frozenset({1, 3})}

    def test_several_links_of_a_line_hold_what_they_answer_together(self) -> None:
        assert set(clusters(linked((0, 0), (1, 1), (2, 2), (3, 0), (3, 1)))) == {
            frozenset({0, 1, 3}),
            frozenset({2}),
        }

    def test_a_link_to_itself_beside_others_changes_nothing(self) -> None:
        assert clusters(linked((0, 0), (1, 1), (1, 0))) == clusters(linked((0, 0), (1, 0))) == [{0, 1}]

    def test_lines_before_the_annotated_ones_are_in_none(self) -> None:
        assert clusters(linked((10, 3))) == [{10}]

    def test_two_that_answer_the_same_early_line_are_together(self) -> None:
        found = clusters(linked((10, 3), (11, 4), (12, 3), (13, 12)))
        assert set(found) == {frozenset({10, 12, 13}), frozenset({11})}

    def test_an_early_line_can_join_what_would_be_apart(self) -> None:
        """11 starts a conversation, but 12 goes on with it and with what 10 answers."""
        assert clusters(linked((10, 3), (11, 11), (12, 11), (12, 3))) == [{10, 11, 12}]

    def test_the_order_of_the_lines_does_not_matter(self) -> None:
        links = linked((0, 0), (1, 1), (2, 0), (3, 2), (3, 1), (4, 4))
        backwards = dict(reversed(links.items()))
        assert set(clusters(backwards)) == set(clusters(links))

    def test_nothing(self) -> None:
        assert clusters({}) == []


class TestLinks:
    def test_by_hand(self) -> None:
        """True are 0-0, 1-0, 2-0, 2-1, 3-3; said are 0-0, 1-0, 2-1, 3-2: three are right.

        P = 3/4, R = 3/5, F1 = 2 · 3/4 · 3/5 / (3/4 + 3/5) = 2/3.
        """
        true, said = linked((0, 0), (1, 0), (2, 0), (2, 1), (3, 3)), linked((0, 0), (1, 0), (2, 1), (3, 2))
        assert of_links([true], [said]) == share(75, 60, 66.6667)

    def test_a_start_is_a_link(self) -> None:
        """Somebody joined, and somebody else: lines that belong nowhere are right if they are alone."""
        assert of_links([linked((0, 0), (1, 1))], [linked((0, 0), (1, 0))]) == share(50, 50, 50)

    def test_a_link_to_itself_beside_another_is_a_second_link(self) -> None:
        true, said = linked((0, 0), (1, 1), (1, 0)), linked((0, 0), (1, 0))
        assert of_links([true], [said]) == share(100, 66.6667, 80)

    def test_links_to_lines_before_the_annotated_ones_count(self) -> None:
        true = linked((10, 3), (11, 4))
        assert of_links([true], [linked((10, 3), (11, 3))]) == share(50, 50, 50)

    def test_the_other_direction_is_another_link(self) -> None:
        assert of_links([{1: frozenset({0})}], [{0: frozenset({1})}]) == share(0, 0, 0)

    def test_logs_are_counted_together(self) -> None:
        """One of one is right here, one of three there: 2/4, not the mean of 1 and 1/3."""
        true = [grouped([0]), grouped([0], [1], [2])]
        said = [grouped([0]), grouped([0, 1, 2])]
        assert of_links(true, said) == share(50, 50, 50)

    def test_the_same_line_of_another_log_is_another_line(self) -> None:
        true = [linked((1, 0)), linked((1, 1))]
        assert of_links(true, true[::-1]) == share(0, 0, 0)

    def test_nothing(self) -> None:
        assert of_links([], []) == of_links([{}], [{}]) == (0, 0, 0)


class TestExactMatch:
    def test_by_hand(self) -> None:
        """Of the three true and two said conversations of two lines or more, one is the same."""
        true, said = grouped([0, 1], [2, 3], [4, 5], [6]), grouped([0, 1], [2, 3, 4, 5], [6])
        assert of_matches([true], [said]) == share(50, 33.3333, 40)

    def test_conversations_of_one_line_are_left_out(self) -> None:
        true, said = grouped([0, 1], [2], [3]), grouped([0], [1], [2], [3])
        assert of_matches([true], [said]) == share(0, 0, 0)
        assert of_matches([true], [true]) == share(100, 100, 100)

    def test_other_links_in_the_same_conversation(self) -> None:
        """Links are all wrong but the first; the conversation is the same."""
        true, said = linked((0, 0), (1, 0), (2, 0)), linked((0, 0), (1, 1), (2, 1), (2, 0))
        assert of_matches([true], [said]) == share(100, 100, 100)

    def test_one_line_too_few(self) -> None:
        assert of_matches([grouped([0, 1, 2])], [grouped([0, 1], [2])]) == share(0, 0, 0)

    def test_what_a_conversation_answers_of_earlier_lines_is_not_part_of_it(self) -> None:
        assert of_matches([linked((10, 3), (11, 10))], [linked((10, 4), (11, 4))]) == share(100, 100, 100)

    def test_a_line_that_is_alone_after_an_early_one_is_left_out(self) -> None:
        """With line 3 there are two lines, but that one does not count."""
        assert of_matches([linked((10, 3))], [linked((10, 3))]) == share(0, 0, 0)

    def test_the_same_lines_of_another_log(self) -> None:
        true = [grouped([0, 1], [2]), grouped([0], [1, 2])]
        assert of_matches(true, true[::-1]) == share(0, 0, 0)

    def test_logs_are_counted_together(self) -> None:
        true, said = [grouped([0, 1]), grouped([0, 1])], [grouped([0, 1]), grouped([0], [1])]
        assert of_matches(true, said) == share(100, 50, 66.6667)


class TestConversations:
    def test_by_hand(self) -> None:
        """True {0 1 2} {3 4 5}, said {0 1 2 3} {4 5}: in common are 3, 1 and 2 of 6 lines.

        VI = 2 H(1/2, 1/6, 1/3) - H(1/2, 1/2) - H(2/3, 1/3) = (log2 3 + 4/3) - 1 - (log2 3 - 2/3) = 1 bit,
        of log2 6 at most. One-to-one: 3 + 2 of 6. Rand: pairs in common 3 + 0 + 1 = 4, together in the one
        3 + 3 = 6, in the other 6 + 1 = 7, of 15; by chance 6 · 7 / 15 = 2.8, at most (6 + 7) / 2 = 6.5.
        """
        found = overlap([grouped([0, 1, 2], [3, 4, 5])], [grouped([0, 1, 2, 3], [4, 5])])
        assert found.variation == pytest.approx(100 * (1 - 1 / log2(6)))
        assert found.one_to_one == pytest.approx(100 * 5 / 6)
        assert found.rand == pytest.approx(100 * (4 - 2.8) / (6.5 - 2.8))

    def test_a_link_that_joins_two_conversations(self) -> None:
        """True {0 1} {2 3}, said all: VI is 2 · 1 - 1 - 0 = 1 of 2 bits; two of four lines are matched.

        Rand: in common 2 pairs; by chance 2 · 6 / 6 = 2.
        """
        true, said = linked((0, 0), (1, 0), (2, 2), (3, 2)), linked((0, 0), (1, 0), (2, 1), (3, 2))
        assert of_links([true], [said]) == share(75, 75, 75)
        assert of_matches([true], [said]) == share(0, 0, 0)
        found = overlap([true], [said])
        assert (found.variation, found.one_to_one, found.rand) == (50, 50, 0)

    def test_matched_as_well_as_possible(self) -> None:
        """5 lines of one conversation: 3 in the first, 2 in the second; all 3 of the other in the first.

        The largest first would take 3 and leave 0 for the other; 2 + 3 is better.
        """
        found = overlap([grouped([0, 1, 2, 3, 4], [5, 6, 7])], [grouped([0, 1, 2, 5, 6, 7], [3, 4])])
        assert found.one_to_one == pytest.approx(100 * 5 / 8)

    def test_logs_are_counted_together(self) -> None:
        """Two lines each; in the first log they are said to be apart: sizes 2, 2 and 1, 1, 2 of 4 lines.

        VI = 2 · 1.5 - 1 - 1.5 = 0.5 of 2 bits, so 75 %; the mean of the logs would be 50 %. One-to-one: 1 + 2
        of 4. Rand: 1 pair in common; 2 and 1 together, of 6; chance 1/3, at most 3/2.
        """
        true, said = [grouped([0, 1]), grouped([0, 1])], [grouped([0], [1]), grouped([0, 1])]
        found = overlap(true, said)
        assert found.variation == pytest.approx(75)
        assert found.one_to_one == pytest.approx(75)
        assert found.rand == pytest.approx(100 * (1 - 1 / 3) / (3 / 2 - 1 / 3))

    def test_all_in_one_and_all_apart(self) -> None:
        """As different as can be: VI is log2 4; one line of four is matched; pairs in common by chance."""
        found = overlap([grouped([0, 1, 2, 3])], [grouped([0], [1], [2], [3])])
        assert (found.variation, found.one_to_one, found.rand) == (0, 25, 0)

    @pytest.mark.parametrize(
        "links",
        [
            grouped([0, 1, 2, 3]),
            grouped([0], [1], [2], [3]),
            grouped([0, 2], [1, 3, 4], [5]),
            grouped([7]),
            linked((10, 3), (11, 3), (12, 12), (12, 10), (13, 13)),
        ],
        ids=["all in one", "all apart", "some", "one line", "after others"],
    )
    def test_the_same(self, links: Links) -> None:
        found = overlap([links], [links])
        assert (found.variation, found.one_to_one, found.rand) == (100, 100, 100)

    def test_system_lines_count_as_conversations_of_one(self) -> None:
        """To take a line that belongs nowhere into a conversation costs: true 3, 1; said 4.

        VI = 2 H(3/4, 1/4) - H(3/4, 1/4) - 0 = 0.8113 of 2 bits.
        """
        found = overlap([grouped([0, 1, 2], [3])], [grouped([0, 1, 2, 3])])
        entropy = -(0.75 * log2(0.75) + 0.25 * log2(0.25))
        assert found.variation == pytest.approx(100 * (1 - entropy / 2))
        assert found.one_to_one == 75

    def test_early_lines_are_not_counted(self) -> None:
        """Both answer the same early line, or not: one conversation of two lines against two."""
        found = overlap([linked((10, 3), (11, 3))], [linked((10, 3), (11, 4))])
        assert (found.first, sorted(found.second)) == ([2], [1, 1])
        assert (found.variation, found.one_to_one) == (0, 50)

    def test_worse_than_chance(self) -> None:
        """True {0 1} {2 3}, said {0 2} {1 3}: no pair in common, by chance 2 · 2 / 6, at most 2."""
        found = overlap([grouped([0, 1], [2, 3])], [grouped([0, 2], [1, 3])])
        assert found.rand == pytest.approx(100 * (0 - 2 / 3) / (2 - 2 / 3))

    def test_no_lines(self) -> None:
        for found in (overlap([], []), overlap([{}], [{}])):
            assert all(map(isfinite, (found.variation, found.one_to_one, found.rand)))

    def test_other_lines(self) -> None:
        with pytest.raises(ValueError, match="the two do not annotate the same lines"):
            overlap([grouped([0, 1])], [grouped([0, 2])])

    def test_other_logs(self) -> None:
        with pytest.raises(ValueError, match="shorter"):
            overlap([grouped([0, 1])], [])


@st.composite
def annotated_twice(draw: st.DrawFn, *, most: int = 7) -> tuple[dict[int, frozenset[int]], ...]:
    """Two annotations of the same lines: links to some of those before, to earlier ones, to itself."""
    first = draw(st.integers(0, 4))
    lines = range(first, first + draw(st.integers(1, most)))
    return tuple(
        {line: draw(st.frozensets(st.integers(0, line), min_size=1, max_size=2)) for line in lines}
        for _ in range(2)
    )


logs = st.lists(annotated_twice(), min_size=1, max_size=3).map(lambda found: tuple(zip(*found, strict=True)))
"""True and said links of some logs."""
Logs = tuple[tuple[Links, ...], tuple[Links, ...]]


def together(links: Links) -> Partition:
    """The conversations, by following links back and forth from each line."""
    ways: dict[int, set[int]] = {}
    for line, answered in links.items():
        for other in answered:
            ways.setdefault(line, set()).add(other)
            ways.setdefault(other, set()).add(line)
    result = set()
    for line in links:
        seen, ahead = {line}, [line]
        while ahead:
            new = ways[ahead.pop()] - seen
            seen |= new
            ahead += new
        result.add(frozenset(seen & links.keys()))
    return result


def labelled(some: Iterable[Links]) -> list[object]:
    """For each line of some logs, in order, something that its conversation alone has."""
    return [
        (log, next(group for group in together(links) if line in group))
        for log, links in enumerate(some)
        for line in sorted(links)
    ]


def information_lost(first: list[object], second: list[object]) -> float:
    """H(first | second) + H(second | first), from the joint distribution."""
    total, count = 0.0, len(first)
    joint = list(zip(first, second, strict=True))
    for a, b in set(joint):
        p = joint.count((a, b)) / count
        total -= p * (log2(p * count / first.count(a)) + log2(p * count / second.count(b)))
    return total


def best_matching(true: Partition, said: Partition) -> int:
    """Tries all of them."""
    few, many = sorted((list(true), list(said)), key=len)
    return max(
        sum(len(a & b) for a, b in zip(few, order, strict=True)) for order in permutations(many, len(few))
    )


def rand_by_pairs(first: list[object], second: list[object]) -> float:
    """From each two lines: together in both, in one, in the other, in none."""
    counts = {(a, b): 0 for a in (True, False) for b in (True, False)}
    for i, j in combinations(range(len(first)), 2):
        counts[first[i] == first[j], second[i] == second[j]] += 1
    yy, yn, ny, nn = counts[True, True], counts[True, False], counts[False, True], counts[False, False]
    below = (yy + yn) * (yn + nn) + (yy + ny) * (ny + nn)
    return 100 * 2 * (yy * nn - yn * ny) / below if below else 100.0


class TestAnother:
    """A second implementation of each says the same."""

    @settings(deadline=None)
    @given(logs)
    def test_clusters(self, found: Logs) -> None:
        for links in (*found[0], *found[1]):
            ours = clusters(links)
            assert len(ours) == len(set(ours))
            assert set(ours) == together(links)

    @settings(deadline=None)
    @given(logs)
    def test_variation_of_information(self, found: Logs) -> None:
        first, second = map(labelled, found)
        most = log2(len(first)) if len(first) > 1 else 1.0
        expected = 100 * (1 - information_lost(first, second) / most)
        assert overlap(*found).variation == pytest.approx(expected, abs=1e-6)

    @settings(deadline=None)
    @given(logs)
    def test_one_to_one(self, found: Logs) -> None:
        matched = sum(best_matching(together(a), together(b)) for a, b in zip(*found, strict=True))
        assert overlap(*found).one_to_one == pytest.approx(100 * matched / sum(map(len, found[0])))

    @settings(deadline=None)
    @given(logs)
    def test_rand(self, found: Logs) -> None:
        assert overlap(*found).rand == pytest.approx(rand_by_pairs(*map(labelled, found)), abs=1e-6)

    @settings(deadline=None)
    @given(logs)
    def test_exact_match(self, found: Logs) -> None:
        true, said = (
            {(log, each) for log, links in enumerate(some) for each in together(links) if len(each) > 1}
            for some in found
        )
        assert of_matches(*found) == shares(len(true & said), len(said), len(true))

    @settings(deadline=None)
    @given(logs)
    def test_links(self, found: Logs) -> None:
        true, said = (
            [(log, line, each) for log, links in enumerate(some) for line in links for each in links[line]]
            for some in found
        )
        assert of_links(*found) == shares(sum(each in true for each in said), len(said), len(true))


def shares(right: int, said: int, true: int) -> object:
    """With F1 as the share of what is right in the mean of both numbers."""
    return share(
        100 * right / said if said else 0,
        100 * right / true if true else 0,
        200 * right / (said + true) if said + true else 0,
    )


def every_measure(true: Sequence[Links], said: Sequence[Links]) -> list[float]:
    found = overlap(true, said)
    return [found.variation, found.one_to_one, found.rand, *of_links(true, said), *of_matches(true, said)]


class TestAlways:
    @settings(deadline=None)
    @given(logs)
    def test_bounds(self, found: Logs) -> None:
        measures = every_measure(*found)
        assert all(-1e-9 <= value <= 100 + 1e-9 for place, value in enumerate(measures) if place != 2)
        assert -100 - 1e-9 <= measures[2] <= 100 + 1e-9
        assert measures[1] > 0

    @settings(deadline=None)
    @given(logs)
    def test_the_best_only_if_they_are_the_same(self, found: Logs) -> None:
        same = all(together(a) == together(b) for a, b in zip(*found, strict=True))
        ours = overlap(*found)
        for value in (ours.variation, ours.one_to_one, ours.rand):
            assert (value == pytest.approx(100)) == same

    @settings(deadline=None)
    @given(logs)
    def test_with_itself(self, found: Logs) -> None:
        variation, one_to_one, rand, *links, precision, recall, f1 = every_measure(found[0], found[0])
        assert [variation, one_to_one, rand, *links] == pytest.approx([100] * 6)
        # There may be no conversation of two lines.
        assert precision == recall == pytest.approx(f1)
        assert f1 in (0, pytest.approx(100))

    @settings(deadline=None)
    @given(logs)
    def test_either_can_be_the_truth(self, found: Logs) -> None:
        true, said = found
        one, other = overlap(true, said), overlap(said, true)
        assert one.variation == pytest.approx(other.variation)
        assert one.one_to_one == pytest.approx(other.one_to_one)
        assert one.rand == pytest.approx(other.rand)
        for measure in (of_links, of_matches):
            precision, recall, f1 = measure(said, true)
            assert measure(true, said) == share(recall, precision, f1)

    @settings(deadline=None)
    @given(logs, st.randoms(use_true_random=False))
    def test_the_numbers_of_lines_do_not_matter(self, found: Logs, random: Random) -> None:
        numbers = random.sample(range(1000), 20)

        def renumbered(some: Iterable[Links]) -> list[Links]:
            return [
                {numbers[line]: frozenset(numbers[each] for each in links[line]) for line in links}
                for links in some
            ]

        assert every_measure(*map(renumbered, found)) == pytest.approx(every_measure(*found))

    @settings(deadline=None)
    @given(logs, st.randoms(use_true_random=False))
    def test_the_order_of_logs_does_not_matter(self, found: Logs, random: Random) -> None:
        pairs = list(zip(*found, strict=True))
        random.shuffle(pairs)
        true, said = zip(*pairs, strict=True)
        assert every_measure(true, said) == pytest.approx(every_measure(*found))


SAID = (
    ("ada", "is the kettle on?", Kind.MESSAGE),
    ("bob", "ada: yes", Kind.MESSAGE),
    ("", "cyd has joined", Kind.SYSTEM),
    ("cyd", "who took the spoon?", Kind.MESSAGE),
    ("ada", "bob: thanks", Kind.MESSAGE),
    ("dee", "cyd: me", Kind.MESSAGE),
)
LINES = tuple(Message(who, text, kind=kind, line=line) for line, (who, text, kind) in enumerate(SAID))
TRUE = linked((0, 0), (1, 0), (2, 2), (3, 3), (4, 1), (5, 3))


def kitchen(links: dict[int, frozenset[int]], *, name: str = "kitchen") -> LinkedLog:
    return LinkedLog(name, LINES, links)


def placing(*places: tuple[int, int, float]) -> Callable[[Sequence[Message]], list[Placed]]:
    """Says of lines what they answer, and how surely."""
    return lambda messages: [
        Placed(messages[line], line, (answered,), answered, sure) for line, answered, sure in places
    ]


class TestFollowLogs:
    def test_what_is_said_of_annotated_lines(self) -> None:
        follow = placing((0, 0, 0.9), (1, 0, 0.8), (3, 3, 0.7))
        (found,) = follow_logs(follow, [kitchen(linked((0, 0), (1, 0)))])
        assert {line: each.probability for line, each in found.items()} == {0: 0.9, 1: 0.8}

    def test_lines_that_were_not_placed_start(self) -> None:
        (found,) = follow_logs(placing((1, 0, 0.8)), [kitchen(linked((1, 0), (2, 2), (99, 3)))])
        assert {line: each.replies_to for line, each in found.items()} == {1: (0,), 2: (2,), 99: (99,)}
        assert found[99].starts

    def test_each_log_from_its_beginning(self) -> None:
        seen: list[Sequence[Message]] = []

        def follow(messages: Sequence[Message]) -> list[Placed]:
            seen.append(messages)
            return []

        done: list[str] = []
        names = [kitchen(linked((5, 3)), name="one"), kitchen(linked((4, 1)), name="other")]
        assert [set(found) for found in follow_logs(follow, names, progress=done.append)] == [{5}, {4}]
        assert seen == [LINES, LINES]
        assert done == ["one", "other"]

    def test_no_logs(self) -> None:
        assert follow_logs(placing(), []) == []


class TestDescribe:
    PLACES = ((0, 0, 0.95), (1, 0, 0.85), (2, 2, 1.0), (3, 3, 0.55), (4, 3, 0.65), (5, 4, 0.75))
    """Two are wrong: 4 answers 1, and 5 answers 3."""

    def describe(self, links: dict[int, frozenset[int]]) -> dict[str, Any]:
        some = [kitchen(links)]
        return describe_threads(some, follow_logs(placing(*self.PLACES), some))

    def test_by_hand(self) -> None:
        """True {0 1 4} {2} {3 5}, said {0 1} {2} {3 4 5}: in common 2, 1, 1, 2 of 6.

        H(both) = 2 · 1/3 log2 3 + 2 · 1/6 log2 6 = log2 3 + 1/3; either alone 1/2 + 1/6 log2 6 + 1/3 log2 3 =
        2/3 + 1/2 log2 3; VI = log2 3 + 2/3 + log2 3 - 4/3 - log2 3 = log2 3 - 2/3 of log2 6. One-to-one:
        2 + 1 + 2 of 6. Rand: 2 pairs in common, 4 and 4 of 15: (2 - 16/15) / (4 - 16/15) = 14/44.
        """
        found = self.describe(TRUE)
        assert found["lines"] == 6
        assert found["links"] == pytest.approx({"precision": 66.6667, "recall": 66.6667, "f1": 66.6667})
        assert found["conversations"] == {
            "variation_of_information": pytest.approx(100 * (1 - (log2(3) - 2 / 3) / log2(6)), abs=1e-4),
            "one_to_one": pytest.approx(100 * 5 / 6, abs=1e-4),
            "exact_match": {"precision": 0.0, "recall": 0.0, "f1": 0.0},
            "adjusted_rand_index": pytest.approx(100 * 14 / 44, abs=1e-4),
        }

    def test_right_in_everything(self) -> None:
        found = self.describe(linked(*((line, answered) for line, answered, _ in self.PLACES)))
        everything = {"precision": 100.0, "recall": 100.0, "f1": 100.0}
        assert found["links"] == everything
        assert found["conversations"] == {
            "variation_of_information": 100.0,
            "one_to_one": 100.0,
            "exact_match": everything,
            "adjusted_rand_index": 100.0,
        }

    def test_how_sure(self) -> None:
        """What nobody says does not count: of the others, the two with 0.65 and 0.75 are wrong."""
        assert self.describe(TRUE)["calibration"] == {
            "bins": [
                {"samples": 1, "said": 0.55, "right": 1.0},
                {"samples": 1, "said": 0.65, "right": 0.0},
                {"samples": 1, "said": 0.75, "right": 0.0},
                {"samples": 1, "said": 0.85, "right": 1.0},
                {"samples": 1, "said": 0.95, "right": 1.0},
            ],
            "quarters": [0.5, 0.0, 1.0, 1.0],
            "error": pytest.approx((0.45 + 0.65 + 0.75 + 0.15 + 0.05) / 5, abs=1e-4),
        }

    def test_a_rename_is_nothing_that_was_said(self) -> None:
        log = LinkedLog("x", (Message("ada", "bob", kind=Kind.RENAME, line=0),), grouped([0]))
        assert describe_threads([log], follow_logs(placing((0, 0, 1.0)), [log]))["calibration"]["bins"] == []

    def test_one_of_several_links_is_enough_to_be_right(self) -> None:
        links = linked((4, 1), (4, 3))
        found = self.describe(links)
        assert found["calibration"]["bins"] == [{"samples": 1, "said": 0.65, "right": 1.0}]
        assert found["links"] == pytest.approx({"precision": 100.0, "recall": 50.0, "f1": 66.6667})

    @pytest.mark.parametrize(
        ("links", "expected"),
        [
            # 4 is said to answer 3, and 5 to answer 4: neither is in their conversation.
            (TRUE, (0, 0, 0, 2)),
            # 3 is said to start, but answers 1; 4 is said to answer 3, but answers 1; 5 should start.
            (linked((0, 0), (1, 0), (2, 2), (3, 1), (4, 1), (5, 5)), (1, 1, 1, 0)),
            # One of several is enough; a start that also answers something is not missed.
            (linked((0, 0), (1, 0), (4, 1), (4, 3)), (0, 0, 0, 0)),
            (linked((0, 0), (1, 0), (4, 4), (4, 1)), (0, 0, 0, 1)),
        ],
    )
    def test_errors(self, links: dict[int, frozenset[int]], expected: tuple[int, ...]) -> None:
        kinds = ("start_missed", "start_invented", "same_conversation", "other_conversation")
        assert self.describe(links)["errors"] == dict(zip(kinds, expected, strict=True))

    def test_nothing_was_annotated(self) -> None:
        found = self.describe({})
        assert found["lines"] == 0
        assert found["links"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
        assert found["calibration"]["bins"] == []
