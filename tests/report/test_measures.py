"""The numbers of a report, on chats that are small enough to count by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from tests.report.conftest import START, chat, report_of
from towhom.chat import Kind, Message
from towhom.readers.filters import Filter
from towhom.report.page import report_page

HELP = (
    "ada> does the kettle work?",
    "+10 1 bob> it does",
    "1 cyd> since noon",
    "2 ada> thanks",
    "+60 dee> where is the milk?",
    "+5 5 dee> I looked in the fridge",
    "+60 eve> the window is open",
    "+1 bob> is the printer on?",
    "+30 8 ada> turn it off and on",
    "9 bob> still nothing, what else?",
)


class TestCounts:
    def test_totals(self) -> None:
        part = report_of(chat(*HELP)).whole
        assert (part.messages, part.people, part.conversations) == (10, 5, 3)
        assert (part.questions, part.answered, part.open) == (3, 2, 2)

    def test_waits(self) -> None:
        waits = report_of(chat(*HELP)).whole.waits
        assert (waits.questions, waits.answered) == (3, 2)
        assert waits.median == 20 * 60
        assert waits.ninetieth == pytest.approx(28 * 60)
        assert report_of(chat(*HELP)).whole.within == [0, 0, 1, 1, 0, 0, 0, 0, 1]

    def test_open_questions_with_what_was_tried(self) -> None:
        report = report_of(chat(*HELP))
        printer, milk = report.whole.open_questions
        texts = report.columns.texts
        assert texts[printer.message] == "is the printer on?"
        assert printer.again is not None
        assert texts[printer.again] == "still nothing, what else?"
        assert [texts[number] for number in printer.tried] == [
            "turn it off and on",
            "still nothing, what else?",
        ]
        assert (texts[milk.message], milk.again) == ("where is the milk?", None)
        assert [texts[number] for number in milk.tried] == ["I looked in the fridge"]

    def test_helpers_and_pairs(self) -> None:
        report = report_of(chat(*HELP))
        people = report.columns.people
        helpers = {people[each.who]: each for each in report.whole.helpers}
        assert helpers.keys() == {"ada", "bob", "cyd"}
        assert (helpers["bob"].answers, helpers["bob"].first, helpers["bob"].median) == (1, 1, 600)
        assert (helpers["cyd"].answers, helpers["cyd"].first, helpers["cyd"].median) == (1, 0, None)
        pairs = {(people[pair.who], people[pair.whom]): pair.count for pair in report.whole.pairs}
        assert pairs == {("bob", "ada"): 2, ("cyd", "ada"): 1, ("ada", "bob"): 2}

    def test_the_longest(self) -> None:
        report = report_of(chat(*HELP))
        first = report.whole.longest[0]
        assert (first.message, first.count, first.people, first.seconds) == (0, 4, 3, 12 * 60)

    def test_hours_and_weekdays(self) -> None:
        part = report_of(chat(*HELP)).whole
        counts = np.array(part.busiest)
        assert counts.sum() == 10
        assert counts[0, 10] == 4  # 3 March 2025 is a Monday
        assert part.by_hour[10].questions == 1
        assert [span.messages for span in part.over_time] == [10]

    def test_rooms_have_their_own_and_all_have_the_sum(self) -> None:
        report = report_of([*chat(*HELP), *chat(*HELP[:5], room="other")])
        assert [(part.name, part.messages) for part in report.rooms] == [("help", 10), ("other", 5)]
        assert report.whole.questions == sum(part.questions for part in report.rooms) == 5


class TestWhatCounts:
    def test_an_answer_after_midnight_is_one(self) -> None:
        part = report_of(chat("+830 ada> does it work?", "+600 1 bob> yes")).whole
        assert (part.answered, part.open, part.waits.median) == (1, 0, 36_000)

    def test_bots_neither_ask_nor_answer(self) -> None:
        said = chat("ada> does it work?", "1 robo> yes", "robo> what is new?")
        said[1:] = [
            Message(m.speaker, m.text, id=m.id, reply_to=m.reply_to, time=m.time, channel="help", bot=True)
            for m in said[1:]
        ]
        part = report_of(said).whole
        assert (part.messages, part.bots, part.people, part.questions, part.answered) == (1, 2, 1, 1, 0)

    def test_the_second_line_may_be_the_question(self) -> None:
        part = report_of(chat("ada> hi all", "1 ada> does it work?", "+9 1 bob> yes")).whole
        assert (part.questions, part.answered, part.waits.median) == (1, 1, 540)

    def test_a_helper_who_asks_back_has_not_asked(self) -> None:
        part = report_of(chat("ada> it is broken", "1 bob> which one?", "2 ada> the blue one")).whole
        assert part.questions == 0

    def test_a_log_from_new_to_old_is_noticed(self) -> None:
        assert report_of(chat(*HELP)).backwards == []
        assert report_of(chat(*(f"{name}> hello" for name in "abcabcab"), minutes=-1)).backwards == ["help"]

    def test_no_times(self) -> None:
        said = [replace(message, time=None) for message in chat(*HELP)]
        report = report_of(said)
        assert (report.whole.questions, report.whole.answered, report.whole.waits.median) == (3, 2, None)
        assert [talk.seconds for talk in report.whole.longest] == [None] * 3
        assert "The log has no times: how soon is not known" in report_page(report)

    def test_who_is_renamed_stays_one_person(self) -> None:
        said = chat("ada> hello", "ada_> back again")
        said.insert(1, Message("ada", "ada_", kind=Kind.RENAME, channel="help"))
        assert report_of(said).whole.people == 1

    def test_what_is_taken_back_is_not_counted(self) -> None:
        said = [
            *chat("ada> does it work?", "bob> hm"),
            Message("ada", "", id="1", kind=Kind.DELETE, channel="help"),
        ]
        assert report_of(said).whole.messages == 1

    def test_without_times(self) -> None:
        said = [
            Message("ada", "does it work?", id="1", reply_to="1"),
            Message("bob", "yes", id="2", reply_to="1"),
        ]
        part = report_of(said).whole
        assert (part.first, part.answered, part.waits.median, part.over_time) == (None, 1, None, [])

    def test_newcomers(self) -> None:
        said = chat("ada> morning", "1 bob> hello", minutes=1)
        later = START + timedelta(days=40)
        said += [
            Message("new", "how do I start?", id="n", reply_to="n", time=later, channel="help"),
            Message("lucky", "and I?", id="l", reply_to="l", time=later, channel="help"),
            Message("ada", "here", id="a", reply_to="l", time=later + timedelta(hours=1), channel="help"),
            Message("bob", "so long", id="b", reply_to="b", time=later + timedelta(days=20), channel="help"),
        ]
        report = report_of(said)
        assert report.whole.newcomers == 2
        alone = [report.columns.texts[number] for number in report.whole.unanswered_newcomers]
        assert alone == ["how do I start?"]


def test_a_filter_does_not_change_whether_something_was_answered() -> None:
    shown = Filter(speakers=("ada",))
    part = report_of(chat(*HELP), shown).whole
    assert (part.messages, part.people, part.questions, part.answered) == (3, 1, 1, 1)
    assert part.waits.median == 600


def test_json_names_people_and_messages() -> None:
    value = report_of(chat(*HELP)).to_json()
    assert value["all"]["open_questions"][0]["id"] == "8"
    assert value["all"]["open_questions"][0]["tried"][0]["speaker"] == "ada"
    assert {"who": "cyd", "whom": "ada", "count": 1} in value["all"]["pairs"]
    assert value["rooms"][0]["name"] == "help"
