"""What is known of a message when it is heard."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from math import isnan

import pytest
from numpy.testing import assert_array_equal

from tests.live.conftest import VOCABULARY
from towhom.chat import Kind, Message
from towhom.hearing.lexicon import Lexicon
from towhom.people import REMEMBERED
from towhom.text.pieces import pieces_of
from towhom.threads.hearing import MENTIONS, NOBODY, REACH, STRANGER, Heard, Hearing

LEXICON = Lexicon(VOCABULARY, None)
"""Of its ten words, "tea" is among the frequent ones and "thanks" among the rare."""


@pytest.fixture
def hearing() -> Hearing:
    """Of a channel in which ada (0), bob (1) and cyd (2) have said something."""
    hearing = Hearing(LEXICON)
    for name in ("ada", "bob", "cyd"):
        hearing.hear(Message(name, "tea"))
    return hearing


def hear(hearing: Hearing, line: str) -> Heard:
    """A line like `ada> hello`."""
    speaker, _, text = line.partition("> ")
    return hearing.hear(Message(speaker, text))


class TestSpeakers:
    def test_are_numbers_in_the_order_in_which_they_come(self) -> None:
        hearing = Hearing(LEXICON)
        said = ("ada> tea", "bob> tea", "ada> tea", "Ada> tea", "cyd> tea")
        assert [hear(hearing, line).speaker for line in said] == [0, 1, 0, 2, 3]

    def test_are_counted(self, hearing: Hearing) -> None:
        assert hearing.count == 3

    def test_who_is_only_named_has_no_number(self, hearing: Hearing) -> None:
        hear(hearing, "ada> zoe: tea")
        assert hear(hearing, "yan> tea").speaker == 3


class TestNamedInFront:
    @pytest.mark.parametrize(
        "text",
        [
            "bob: tea",
            "bob, tea",
            "bob; tea",
            "  bob : tea",
            "BOB: tea",
            "bob> tea",
            "bob tea",
            "Bob tea",
            "@bob tea",
            "@bob: tea",
            "bob:: tea",
        ],
    )
    def test_found(self, hearing: Hearing, text: str) -> None:
        assert hear(hearing, f"ada> {text}").named == 1

    @pytest.mark.parametrize("text", ["tea for bob", "", "bobby tea", "boben, tea", "zoe, tea", "milk"])
    def test_nobody(self, hearing: Hearing, text: str) -> None:
        assert hear(hearing, f"ada> {text}").named == NOBODY

    @pytest.mark.parametrize("text", ["zoe: tea", "Zoe: tea ?", "@zoe: tea", "note: the tea"])
    def test_a_stranger(self, hearing: Hearing, text: str) -> None:
        """A word with a colon, and something after it."""
        assert hear(hearing, f"ada> {text}").named == STRANGER

    @pytest.mark.parametrize("text", ["zoe:", "zoe: ", "hi: tea", ":: tea"])
    def test_no_stranger(self, hearing: Hearing, text: str) -> None:
        """Nothing after it, or too short for a name."""
        assert hear(hearing, f"ada> {text}").named == NOBODY

    def test_ones_own_name_names_nobody(self, hearing: Hearing) -> None:
        assert hear(hearing, "ada> ADA is here").named == NOBODY

    def test_a_common_word_needs_a_mark(self, hearing: Hearing) -> None:
        hear(hearing, "tea> milk")
        assert hear(hearing, "ada> tea is open").named == NOBODY
        assert hear(hearing, "ada> Tea, is it open").named == 3

    def test_a_rare_word_needs_none(self, hearing: Hearing) -> None:
        hear(hearing, "thanks> milk")
        assert hear(hearing, "ada> thanks is open").named == 3

    def test_a_short_name_needs_a_mark(self, hearing: Hearing) -> None:
        hear(hearing, "xy> milk")
        assert hear(hearing, "ada> xy is open").named == NOBODY
        assert hear(hearing, "ada> xy: is open").named == 3

    def test_names_of_several_words(self, hearing: Hearing) -> None:
        hear(hearing, "Grace Hopper> tea")
        assert hear(hearing, "ada> Grace Hopper: tea").named == 3

    def test_the_name_is_not_part_of_what_is_said(self, hearing: Hearing) -> None:
        plain = hear(hearing, "ada> the tea ?")
        for text in ("bob: the tea ?", "BOB: the tea ?", "@bob the tea ?"):
            found = hear(hearing, f"ada> {text}")
            assert_array_equal(found.tokens, plain.tokens)
            assert_array_equal(found.pieces, plain.pieces)

    def test_a_word_that_may_be_a_stranger_is(self, hearing: Hearing) -> None:
        assert len(hear(hearing, "ada> note: the tea").tokens) == 4

    def test_as_the_platform_says(self, hearing: Hearing) -> None:
        """Whatever stands in front; the text is left whole."""
        found = hearing.hear(Message("ada", "cyd: the tea", addressee="bob"))
        assert found.named == 1
        assert len(found.tokens) == 4
        assert hearing.hear(Message("ada", "cyd: tea", addressee="zoe")).named == STRANGER


class TestMentions:
    def test_those_who_have_spoken(self, hearing: Hearing) -> None:
        assert hear(hearing, "dee> the tea of CYD and zoe, and ada").mentions == (2, 0, NOBODY)

    def test_neither_the_speaker_nor_who_is_named(self, hearing: Hearing) -> None:
        found = hear(hearing, "ada> bob: is ada or bob or cyd there")
        assert (found.named, found.mentions) == (1, (2, NOBODY, NOBODY))

    def test_each_once(self, hearing: Hearing) -> None:
        assert hear(hearing, "dee> tea bob, bob and BOB").mentions == (1, NOBODY, NOBODY)

    def test_only_the_first(self, hearing: Hearing) -> None:
        hear(hearing, "dee> tea")
        found = hear(hearing, "eve> where are dee and cyd and bob and ada")
        assert found.mentions == (3, 2, 1)
        assert len(found.mentions) == MENTIONS

    @pytest.mark.parametrize("name", ["xy", "tea"])
    def test_not_what_is_too_short_or_too_common(self, hearing: Hearing, name: str) -> None:
        hear(hearing, f"{name}> milk")
        assert hear(hearing, f"ada> the door of {name}").mentions == (NOBODY,) * 3

    def test_nobody(self, hearing: Hearing) -> None:
        assert hear(hearing, "ada> the door").mentions == (NOBODY,) * MENTIONS


class TestDistances:
    def test_since_the_speaker_spoke(self) -> None:
        hearing = Hearing(LEXICON)
        found = [hear(hearing, line) for line in ("ada> tea", "bob> tea", "bob> tea", "ada> tea")]
        assert [each.own for each in found] == [0, 0, 1, 3]

    def test_since_the_speaker_was_named(self, hearing: Hearing) -> None:
        said = ("ada> bob: tea", "cyd> tea", "bob> tea", "bob> cyd: tea", "cyd> tea", "bob> tea")
        assert [hear(hearing, line).called for line in said] == [0, 0, 2, 3, 1, 5]

    def test_a_mention_is_no_call(self, hearing: Hearing) -> None:
        hear(hearing, "ada> the tea is for bob")
        assert hear(hearing, "bob> tea").called == 0

    @pytest.mark.parametrize(("between", "distance"), [(REACH - 1, REACH), (REACH, 0)])
    def test_out_of_reach(self, hearing: Hearing, between: int, distance: int) -> None:
        hear(hearing, "ada> bob: tea")
        for _ in range(between):
            hear(hearing, "cyd> tea")
        assert hear(hearing, "bob> tea").called == distance
        for _ in range(between):
            hear(hearing, "cyd> tea")
        assert hear(hearing, "bob> tea").own == distance


class TestWhatItIs:
    @pytest.mark.parametrize(("text", "asks"), [("tea?", True), ("tea ?", True), ("tea", False), ("", False)])
    def test_question(self, hearing: Hearing, text: str, asks: bool) -> None:
        assert hear(hearing, f"ada> {text}").question is asks

    @pytest.mark.parametrize(
        ("text", "command"), [("!tea", True), ("bob: !tea", True), ("tea!", False), (" !tea", False)]
    )
    def test_command(self, hearing: Hearing, text: str, command: bool) -> None:
        assert hear(hearing, f"ada> {text}").command is command

    @pytest.mark.parametrize(
        ("kind", "action"), [(Kind.MESSAGE, False), (Kind.ACTION, True), (Kind.NOTICE, True)]
    )
    def test_action(self, hearing: Hearing, kind: Kind, action: bool) -> None:
        assert hearing.hear(Message("ada", "waves", kind=kind)).action is action

    def test_time(self, hearing: Hearing) -> None:
        """In seconds; without a zone as in Greenwich."""
        noon = datetime(1970, 1, 2, 12)
        for time in (noon, noon.replace(tzinfo=UTC), noon.replace(tzinfo=timezone(timedelta(hours=5)))):
            seconds = 36 * 3600 - (5 * 3600 if time.utcoffset() else 0)
            assert hearing.hear(Message("ada", "tea", time=time)).time == seconds
        assert isnan(hearing.hear(Message("ada", "tea")).time)

    def test_words(self, hearing: Hearing) -> None:
        found = hear(hearing, "ada> The kettle is OPEN")
        assert found.tokens.tolist() == [LEXICON.ids[word] for word in ("the", "kettle", "is", "open")]
        assert found.pieces.tolist() == pieces_of(["the", "kettle", "is", "open"])

    def test_names_are_hidden_once_they_are_known(self, hearing: Hearing) -> None:
        before = hear(hearing, "ada> the tea of zoe")
        hear(hearing, "zoe> milk")
        after = hear(hearing, "ada> the tea of zoe")
        assert before.tokens[3] != after.tokens[3]
        assert set(before.pieces.tolist()) - set(after.pieces.tolist()) == set(pieces_of(["zoe"]))

    def test_only_the_beginning_is_read(self, hearing: Hearing) -> None:
        assert len(hear(hearing, "ada> " + "tea " * 100_000).tokens) == 1000
        assert not hear(hearing, "ada> " + "tea " * 1000 + "?").question

    def test_nothing_at_all(self, hearing: Hearing) -> None:
        found = hear(hearing, "ada> ")
        assert (len(found.tokens), len(found.pieces), found.named) == (0, 0, NOBODY)


class TestRename:
    def test_the_same_person(self, hearing: Hearing) -> None:
        hearing.rename("bob", "robert")
        assert hear(hearing, "ada> robert: tea").named == 1
        found = hear(hearing, "robert> tea")
        assert (found.speaker, found.own, found.called) == (1, 3, 1)

    def test_the_old_name_is_still_theirs(self, hearing: Hearing) -> None:
        hearing.rename("bob", "bob_away")
        assert hear(hearing, "ada> bob: tea").named == 1
        hearing.rename("bob_away", "bob")
        assert hear(hearing, "bob> tea").speaker == 1

    def test_somebody_who_has_said_nothing(self, hearing: Hearing) -> None:
        hearing.rename("zoe", "yan")
        assert hear(hearing, "yan> tea").speaker == 3
        assert hear(hearing, "zoe> tea").speaker == 4

    def test_to_the_same(self, hearing: Hearing) -> None:
        before = hearing.state()
        hearing.rename("bob", "bob")
        assert hearing.state() == before

    def test_is_not_counted(self, hearing: Hearing) -> None:
        hearing.rename("bob", "robert")
        assert hearing.count == 3


class TestForgets:
    def test_who_has_been_silent_for_long(self) -> None:
        hearing = Hearing(LEXICON)
        for number in range(2 * REMEMBERED + 1):
            hear(hearing, f"guest{number}> tea")
        assert len(hearing._numbers) == len(hearing._spoke) == REMEMBERED
        assert hear(hearing, "guest0> tea").speaker == 2 * REMEMBERED + 1
        last = hear(hearing, f"guest{2 * REMEMBERED}> tea")
        assert (last.speaker, last.own) == (2 * REMEMBERED, 2)

    def test_nobody_gets_the_number_of_another(self) -> None:
        hearing = Hearing(LEXICON)
        numbers = [hear(hearing, f"guest{number % 3001}> tea").speaker for number in range(6000)]
        assert len(set(numbers)) == 6000


class TestState:
    SAID = ("ada> bob: tea", "dee> tea", "bob> cyd, is dee there", "zoe> ada: hm", "ada> ZOE tea", "eve> tea")

    def test_goes_on_where_it_was(self, hearing: Hearing) -> None:
        hear(hearing, "ada> cyd: tea")
        hearing.rename("cyd", "cyd_away")
        other = Hearing(LEXICON)
        other.resume(json.loads(json.dumps(hearing.state())))
        assert other.state() == hearing.state()
        for line in self.SAID:
            ours, theirs = hear(hearing, line), hear(other, line)
            for name in ("speaker", "named", "mentions", "own", "called"):
                assert getattr(ours, name) == getattr(theirs, name), (line, name)
            assert_array_equal(ours.tokens, theirs.tokens)

    def test_is_a_copy(self, hearing: Hearing) -> None:
        state = hearing.state()
        before = json.dumps(state)
        for line in self.SAID:
            hear(hearing, line)
        hearing.rename("ada", "lovelace")
        assert json.dumps(state) == before


class TestFirstSight:
    def test_an_answer(self, hearing: Hearing) -> None:
        first, second = hear(hearing, "ada> tea"), hear(hearing, "bob> tea")
        first.starts(7)
        second.answers(first, 1)
        assert (second.parent, second.thread, second.answered) == (1, 7, 0)

    def test_a_start_after_all(self, hearing: Hearing) -> None:
        first, second = hear(hearing, "ada> tea"), hear(hearing, "bob> tea")
        second.answers(first, 1)
        second.starts(3)
        assert (second.parent, second.thread, second.answered) == (0, 3, NOBODY)
