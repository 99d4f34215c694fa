"""Measures how well conversations are separated, as Kummerfeld et al. (ACL 2019) do.

Links are compared as pairs of lines; a line that starts a conversation is linked with itself. Conversations
are sets of lines connected by links, counted over all logs together. Only annotated lines count. A link to a
line before them is right or wrong, too, and two lines that answer the same such line are in one conversation,
but that line itself is in none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, log2
from typing import Any

import numpy as np

from towhom.chat import Message
from towhom.evaluation.calibration import reliability
from towhom.evaluation.reply_links import LinkedLog
from towhom.extras import require
from towhom.hearing.utterance import SPOKEN
from towhom.threads import Placed

Links = Mapping[int, frozenset[int]]
"""By line, the lines that it answers; the line itself if it starts a conversation."""
Follow = Callable[[Sequence[Message]], Iterable[Placed]]
"""Finds the links and threads of the lines of one log."""


def clusters(links: Links) -> list[frozenset[int]]:
    """The conversations of the annotated lines."""
    parent: dict[int, int] = {}

    def root(line: int) -> int:
        parent.setdefault(line, line)
        while parent[line] != line:
            parent[line] = parent[parent[line]]
            line = parent[line]
        return line

    for line, answered in links.items():
        for other in answered:
            parent[root(other)] = root(line)
    found: dict[int, set[int]] = {}
    for line in links:
        found.setdefault(root(line), set()).add(line)
    return [frozenset(each) for each in found.values()]


@dataclass(frozen=True)
class Share:
    """Precision, recall and F1, in percent."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, right: int, said: int, true: int) -> Share:
        """Compute from the numbers of correct, predicted and true items."""
        precision, recall = 100 * right / said if said else 0.0, 100 * right / true if true else 0.0
        return cls(precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0)


def link_scores(true: Sequence[Links], said: Sequence[Links]) -> Share:
    """Precision, recall and F1 of links."""
    pairs = [
        [{(line, other) for line, answered in links.items() for other in answered} for links in logs]
        for logs in (true, said)
    ]
    right = sum(len(a & b) for a, b in zip(*pairs, strict=True))
    return Share.of(right, sum(map(len, pairs[1])), sum(map(len, pairs[0])))


def exact_matches(true: Sequence[Links], said: Sequence[Links]) -> Share:
    """Precision, recall and F1 of exact conversations, without those of one message."""
    found = [[{each for each in clusters(links) if len(each) > 1} for links in logs] for logs in (true, said)]
    right = sum(len(a & b) for a, b in zip(*found, strict=True))
    return Share.of(right, sum(map(len, found[1])), sum(map(len, found[0])))


@dataclass(frozen=True)
class Overlap:
    """The overlap between the conversations of two annotations of the same lines."""

    both: list[int]
    """Number of common lines, for each pair of conversations that has any."""
    first: list[int]
    """Sizes of the conversations of the first annotation."""
    second: list[int]
    """Sizes of the conversations of the second annotation."""
    matched: int
    """Number of common lines in the best matching of conversations, each with at most one other."""

    @property
    def variation(self) -> float:
        """One minus the variation of information, scaled to its largest possible value, in percent."""
        lines = sum(self.first)
        if lines < 2:
            return 100.0
        between = 2 * _entropy(self.both) - _entropy(self.first) - _entropy(self.second)
        return 100 * (1 - between / log2(lines))

    @property
    def one_to_one(self) -> float:
        """Share of lines that matched conversations have in common, in percent."""
        return 100 * self.matched / max(sum(self.first), 1)

    @property
    def rand(self) -> float:
        """The adjusted Rand index, in percent: 0 for chance, 100 for equal annotations."""
        pairs = comb(sum(self.first), 2)
        both, first, second = (sum(comb(n, 2) for n in each) for each in (self.both, self.first, self.second))
        chance = first * second / pairs if pairs else 0.0
        most = (first + second) / 2
        return 100.0 if most == chance else 100 * (both - chance) / (most - chance)


def overlap(true: Sequence[Links], said: Sequence[Links]) -> Overlap:
    """The overlap between true and predicted conversations of some logs.

    Raises:
        MissingExtraError: SciPy, which matches conversations, is not installed.
        ValueError: The annotated lines differ.
    """
    optimize = require("scipy.optimize", extra="train", purpose="matching conversations")
    both, first, second = list[int](), list[int](), list[int]()
    matched = 0
    for mine, theirs in zip(true, said, strict=True):
        if mine.keys() != theirs.keys():
            raise ValueError("the two do not annotate the same lines")
        rows, columns = clusters(mine), clusters(theirs)
        column_of = {line: place for place, each in enumerate(columns) for line in each}
        common = np.zeros((len(rows), len(columns)), np.int64)
        for place, each in enumerate(rows):
            for column, count in Counter(column_of[line] for line in each).items():
                common[place, column] = count
        matched += int(common[optimize.linear_sum_assignment(common, maximize=True)].sum())
        both += common[common > 0].tolist()
        first += map(len, rows)
        second += map(len, columns)
    return Overlap(both, first, second, matched)


def follow_logs(
    follow: Follow, logs: Iterable[LinkedLog], *, progress: Callable[[str], None] = lambda name: None
) -> list[dict[int, Placed]]:
    """Collect the results for annotated lines of logs. Lines without a result count as starts.

    Args:
        follow: The system to measure; it gets all lines of a log.
        logs: The chats.
        progress: Called with the name of each log when it is done.
    """
    found = []
    for log in logs:
        placed = {each.line: each for each in follow(log.lines) if each.line in log.links}
        for line in log.links.keys() - placed.keys():
            placed[line] = Placed(Message("", "", line=line), line, (line,), line, 1.0)
        found.append(placed)
        progress(log.name)
    return found


def describe_threads(logs: Sequence[LinkedLog], found: Sequence[Mapping[int, Placed]]) -> dict[str, Any]:
    """All measures; shares are in percent."""
    true = [log.links for log in logs]
    said = [{line: frozenset(each.replies_to) for line, each in placed.items()} for placed in found]
    links, exact, together = link_scores(true, said), exact_matches(true, said), overlap(true, said)
    sure = [
        (each.probability, bool(links.get(line, frozenset()) & frozenset(each.replies_to)))
        for links, placed in zip(true, found, strict=True)
        for line, each in sorted(placed.items())
        if each.message.kind in SPOKEN and each.message.speaker
    ]
    return {
        "lines": sum(map(len, true)),
        "links": _rounded(links),
        "conversations": {
            "variation_of_information": round(together.variation, 4),
            "one_to_one": round(together.one_to_one, 4),
            "exact_match": _rounded(exact),
            "adjusted_rand_index": round(together.rand, 4),
        },
        "errors": _errors(true, said),
        "calibration": reliability(np.array([p for p, _ in sure]), np.array([right for _, right in sure])),
    }


def _errors(true: Sequence[Links], said: Sequence[Links]) -> dict[str, int]:
    """Numbers of lines without any correct link, by kind of error."""
    found = dict.fromkeys(("start_missed", "start_invented", "same_conversation", "other_conversation"), 0)
    for mine, theirs in zip(true, said, strict=True):
        of = {line: place for place, each in enumerate(clusters(mine)) for line in each}
        for line, answered in theirs.items():
            if mine[line] & answered:
                continue
            if line in answered:
                found["start_invented"] += 1
            elif mine[line] == {line}:
                found["start_missed"] += 1
            else:
                same = any(of.get(other) == of[line] for other in answered)
                found["same_conversation" if same else "other_conversation"] += 1
    return found


def _rounded(share: Share) -> dict[str, float]:
    return {
        "precision": round(share.precision, 4),
        "recall": round(share.recall, 4),
        "f1": round(share.f1, 4),
    }


def _entropy(sizes: Sequence[int]) -> float:
    total = sum(sizes)
    return -sum(size / total * log2(size / total) for size in sizes)
