"""Addressees found as a chat runs: baselines, accuracy and curves, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.live.conftest import saved_model
from towhom.chat import Kind, Message
from towhom.evaluation.addressees import (
    BASELINES,
    Outcome,
    describe_addressees,
    follow_baseline,
    follow_logs,
    follow_model,
)
from towhom.evaluation.reply_links import LinkedLog
from towhom.live import Addressee, Model

SAID = (
    ("ada", "the kettle is on"),
    ("bob", "ada: thanks"),
    ("cyd", "who took the spoon"),
    ("ada", "it was bob"),
    ("ada", "cyd: ask him"),
    ("bob", "not me"),
    ("cyd", "then who"),
)


def linked(*links: tuple[int, int], name: str = "kitchen") -> LinkedLog:
    """The small chat; a line and the one that it answers."""
    lines = tuple(Message(speaker, text, line=line) for line, (speaker, text) in enumerate(SAID))
    return LinkedLog(name, lines, {line: frozenset({answered}) for line, answered in links})


EVERY = linked((0, 0), (1, 0), (2, 2), (3, 1), (4, 2), (5, 3), (6, 4))
TRUTH = [None, "ada", None, "bob", "cyd", "ada", "ada"]


def outcome(
    truth: set[str | None], *ranked: tuple[str | None, float], named: bool = False, document: int = 0
) -> Outcome:
    addressees = tuple(Addressee(name, probability) for name, probability in ranked)
    return Outcome(document, 0, named, frozenset(truth), addressees)


def first(outcomes: list[Outcome]) -> list[str | None]:
    return [each.ranked[0].name for each in outcomes]


class TestBaselines:
    def test_the_truth(self) -> None:
        outcomes = follow_logs(follow_baseline("nobody"), [EVERY])
        assert [each.truth for each in outcomes] == [{name} for name in TRUTH]
        assert [each.line for each in outcomes] == list(range(7))
        assert [each.named for each in outcomes] == [False, True, False, False, True, False, False]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("nobody", [None, "ada", None, None, "cyd", None, None]),
            ("previous-speaker", [None, "ada", "bob", "cyd", "cyd", "ada", "bob"]),
            # ada was addressed by bob, cyd by ada; bob by nobody.
            ("addressed-me-last", [None, "ada", None, "bob", "cyd", None, "ada"]),
        ],
    )
    def test_with_names_in_front(self, name: str, expected: list[str | None]) -> None:
        outcomes = follow_logs(follow_baseline(name), [EVERY], resolved=True)
        assert first(outcomes) == expected
        assert [each.right for each in outcomes] == [a == b for a, b in zip(expected, TRUTH, strict=True)]
        assert {each.probability for each in outcomes} == {1.0}

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("nobody", [None] * 7),
            ("previous-speaker", [None, "ada", "bob", "cyd", "cyd", "ada", "bob"]),
            ("addressed-me-last", [None] * 7),
        ],
    )
    def test_names_are_not_found_by_themselves(self, name: str, expected: list[str | None]) -> None:
        assert first(follow_logs(follow_baseline(name), [EVERY])) == expected

    def test_all_of_them_are_above(self) -> None:
        assert set(BASELINES) == {"nobody", "previous-speaker", "addressed-me-last"}


class TestFollowLogs:
    def follow(self, seen: list[list[Message]]) -> Callable[[], Callable[[Message], tuple[Addressee, ...]]]:
        """Remembers what each channel was shown."""

        def start() -> Callable[[Message], tuple[Addressee, ...]]:
            channel: list[Message] = []
            seen.append(channel)

            def take(message: Message) -> tuple[Addressee, ...]:
                channel.append(message)
                return (Addressee(None, 1.0),)

            return take

        return start

    def test_each_log_from_its_own_start(self) -> None:
        seen: list[list[Message]] = []
        done: list[str] = []
        logs = [linked((1, 0), name="one"), linked((5, 3), (6, 4), name="other")]
        outcomes = follow_logs(self.follow(seen), logs, progress=done.append)
        assert [(each.document, each.line) for each in outcomes] == [(0, 1), (1, 5), (1, 6)]
        assert [len(channel) for channel in seen] == [7, 7]
        assert done == ["one", "other"]

    @pytest.mark.parametrize(("warm_up", "begins"), [(0, 5), (2, 3), (200, 0)])
    def test_what_is_shown_before(self, warm_up: int, begins: int) -> None:
        seen: list[list[Message]] = []
        outcomes = follow_logs(self.follow(seen), [linked((5, 3), (6, 4))], warm_up=warm_up)
        assert [message.line for message in seen[0]] == list(range(begins, 7))
        assert len(outcomes) == 2

    def test_names_are_given_or_left_in_front(self) -> None:
        seen: list[list[Message]] = []
        for resolved in (True, False):
            follow_logs(self.follow(seen), [EVERY], resolved=resolved)
        assert [channel[1].addressee for channel in seen] == ["ada", None]
        assert [channel[0] for channel in seen] == [EVERY.lines[0]] * 2

    def test_only_messages_are_shown(self) -> None:
        waves = Message("dee", "waves", kind=Kind.ACTION, line=7)
        log = LinkedLog("kitchen", (*EVERY.lines, waves), {**EVERY.links, 7: frozenset({0})})
        seen: list[list[Message]] = []
        assert len(follow_logs(self.follow(seen), [log])) == 7
        assert waves not in seen[0]

    def test_nothing_was_annotated(self) -> None:
        assert follow_logs(follow_baseline("nobody"), [linked()]) == []
        assert follow_logs(follow_baseline("nobody"), []) == []

    @pytest.mark.parametrize("seed", range(3))
    def test_a_model(self, seed: int) -> None:
        outcomes = follow_logs(follow_model(Model(saved_model(seed))), [EVERY, EVERY])
        assert len(outcomes) == 14
        assert [each.ranked for each in outcomes[:7]] == [each.ranked for each in outcomes[7:]]
        assert all(each.right for each in outcomes if each.named)
        for each in outcomes:
            assert sum(addressee.probability for addressee in each.ranked) == pytest.approx(1, abs=0.02)


class TestDescribe:
    OUTCOMES = (
        outcome({"ada"}, ("ada", 0.9), (None, 0.1), named=True),
        outcome({"ada", "bob"}, ("bob", 0.6), ("ada", 0.3), (None, 0.1)),
        outcome({"ada"}, ("bob", 0.5), ("ada", 0.4), (None, 0.1), document=1),
        outcome({None}, (None, 0.8), ("ada", 0.2), document=1),
        outcome({None}, ("ada", 0.55), (None, 0.45), document=1),
        outcome({None, "bob"}, (None, 0.7), ("bob", 0.3), document=1),
    )

    def test_accuracy(self) -> None:
        found = describe_addressees(list(self.OUTCOMES))
        assert (found["messages"], found["accuracy"]) == (6, pytest.approx(400 / 6, abs=1e-4))
        unnamed = found["names_nobody"]
        assert (unnamed["messages"], unnamed["accuracy"]) == (5, 60.0)
        assert unnamed["for_nobody"] == {"messages": 2, "accuracy": 50.0}
        assert unnamed["for_somebody"] == {"messages": 2, "accuracy": 50.0}

    def test_interval(self) -> None:
        """Of two documents, one is all right and the other half: draws are one, the other, or both."""
        found = describe_addressees(list(self.OUTCOMES))
        assert found["interval"] == [50.0, 100.0]
        assert found["names_nobody"]["interval"] == [50.0, 100.0]

    @pytest.mark.parametrize(
        ("threshold", "precision", "recall"),
        [
            # Asked, and whether it is for them: ada .9 yes; bob .6 yes, ada .3 yes; bob .5 no, ada .4 yes;
            # ada .2 no; ada .55 no; bob .3 yes. Five are meant.
            (0.1, 5 / 8, 1),
            (0.2, 5 / 8, 1),
            (0.3, 5 / 7, 1),
            (0.4, 3 / 5, 3 / 5),
            (0.5, 2 / 4, 2 / 5),
            (0.6, 2 / 2, 2 / 5),
            (0.7, 1, 1 / 5),
            (0.9, 1, 1 / 5),
            (0.95, 0, 0),
        ],
    )
    def test_is_for(self, threshold: float, precision: float, recall: float) -> None:
        curve = describe_addressees(list(self.OUTCOMES))["is_for"]
        (point,) = [point for point in curve if point["threshold"] == threshold]
        assert point["precision"] == pytest.approx(precision, abs=1e-4)
        assert point["recall"] == pytest.approx(recall, abs=1e-4)

    def test_is_for_where_nobody_is_named(self) -> None:
        curve = describe_addressees(list(self.OUTCOMES))["is_for_names_nobody"]
        assert curve[0] == {"threshold": 0.1, "precision": pytest.approx(4 / 7, abs=1e-4), "recall": 1.0}
        assert curve[-2] == {"threshold": 0.9, "precision": 0.0, "recall": 0.0}

    def test_somebody_who_was_not_thought_of_is_missed(self) -> None:
        curve = describe_addressees([outcome({"eve", "ada"}, ("ada", 0.5), (None, 0.5))])["is_for"]
        assert curve[0] == {"threshold": 0.1, "precision": 1.0, "recall": 0.5}

    def test_calibration(self) -> None:
        found = describe_addressees(list(self.OUTCOMES))
        bins = [
            {"samples": 2, "said": 0.525, "right": 0.0},
            {"samples": 1, "said": 0.6, "right": 1.0},
            {"samples": 1, "said": 0.7, "right": 1.0},
            {"samples": 1, "said": 0.8, "right": 1.0},
        ]
        assert found["calibration_names_nobody"]["bins"] == bins
        assert found["calibration"]["bins"] == [*bins, {"samples": 1, "said": 0.9, "right": 1.0}]
        assert found["calibration"]["error"] == pytest.approx((1.05 + 0.4 + 0.3 + 0.2 + 0.1) / 6, abs=1e-4)

    @pytest.mark.parametrize("named", [True, False])
    def test_all_of_one_sort(self, named: bool) -> None:
        found = describe_addressees([outcome({"ada"}, ("ada", 1.0), named=named)])
        assert (found["messages"], found["accuracy"], found["interval"]) == (1, 100.0, [100.0, 100.0])
        assert found["names_nobody"]["messages"] == (0 if named else 1)
        assert found["names_nobody"]["accuracy"] == (0.0 if named else 100.0)
        assert found["names_nobody"]["interval"] == ([0.0, 0.0] if named else [100.0, 100.0])

    def test_nothing(self) -> None:
        found = describe_addressees([])
        assert (found["messages"], found["accuracy"], found["interval"]) == (0, 0.0, [0.0, 0.0])
        assert found["calibration"] == {"bins": [], "quarters": [], "error": 0.0}
        assert {point["recall"] for point in found["is_for"]} == {0.0}
