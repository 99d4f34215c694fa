"""Rules of thumb, on small chats by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.threads.chats import START, busy_chat, talk, unnumbered
from towhom.chat import Kind, Message
from towhom.hearing.utterance import SPOKEN
from towhom.threads import Placed
from towhom.threads.baselines import BASELINES, place_by_rule

CHAT = talk(
    "ada> is the kettle on?",  # 0
    "bob> ada: since noon",  # 1
    "dee has joined",  # 2: nobody says it
    "cyd> who paid?",  # 3
    "ada> bob: thanks",  # 4
    "cyd> ada: was it you?",  # 5
    "bob> no",  # 6
    "dee> eve: no",  # 7: eve speaks only later, but she is known
    "eve> dee: what",  # 8
)


def placed(name: str, chat: list[Message]) -> list[Placed]:
    return list(place_by_rule(name, chat))


def answered(name: str, chat: list[Message]) -> list[int]:
    return [each.replies_to[0] for each in placed(name, chat)]


def timed(chat: list[Message], *minutes: float) -> list[Message]:
    return [
        replace(message, time=START + timedelta(minutes=minute))
        for message, minute in zip(chat, minutes, strict=True)
    ]


class TestPreviousMessage:
    def test_by_hand(self) -> None:
        """What nobody says is passed over."""
        assert answered("previous-message", CHAT) == [0, 0, 2, 1, 3, 4, 5, 6, 7]

    def test_all_is_one_conversation(self) -> None:
        assert [each.thread for each in placed("previous-message", CHAT)] == [0, 0, 2, 0, 0, 0, 0, 0, 0]


class TestAddresseeElseOwnLast:
    def test_by_hand(self) -> None:
        """1 to ada at 0; 3 nobody; 4 to bob at 1; 5 to ada at 4; 6 bob's own at 1; 7 eve has said nothing."""
        assert answered("addressee-else-own-last", CHAT) == [0, 0, 2, 3, 1, 4, 1, 7, 7]

    def test_conversations(self) -> None:
        assert [each.thread for each in placed("addressee-else-own-last", CHAT)] == [
            0,
            0,
            2,
            3,
            0,
            0,
            0,
            7,
            7,
        ]

    def test_who_has_not_spoken_is_passed_over_for_ones_own(self) -> None:
        chat = talk("ada> tea", "ada> bob: tea", "bob> hm")
        assert answered("addressee-else-own-last", chat) == [0, 0, 2]

    def test_as_the_platform_says(self) -> None:
        chat = talk("ada> tea", "bob> milk", "cyd> sugar")
        chat[2] = replace(chat[2], addressee="ada")
        assert answered("addressee-else-own-last", chat) == [0, 1, 0]

    def test_however_long_ago(self) -> None:
        chat = timed(talk("ada> tea", "bob> milk", "ada> sugar"), 0, 1, 6000)
        assert answered("addressee-else-own-last", chat) == [0, 1, 0]


class TestWithinMinutes:
    def test_by_hand(self) -> None:
        """The last by the speaker, by whom they address, or to the speaker.

        1: ada at 0; 3: nobody; 4: bob at 1, who named ada; 5: ada at 4; 6: ada at 4 named bob; 8: dee at 7.
        """
        assert answered("within-minutes", CHAT) == [0, 0, 2, 3, 1, 4, 4, 7, 7]

    @pytest.mark.parametrize(("minutes", "found"), [(5, 0), (5.01, 1), (600, 1), (-3, 0)])
    def test_unless_it_was_too_long_ago(self, minutes: float, found: int) -> None:
        chat = timed(talk("ada> tea", "bob> ada: milk"), 0, minutes)
        assert answered("within-minutes", chat)[1] == found

    @pytest.mark.parametrize(("between", "found"), [(0, 0), (49, 0), (50, 51)])
    def test_messages_where_there_are_no_times(self, between: int, found: int) -> None:
        chat = talk("ada> tea", *["bob> milk"] * between, "ada> sugar")
        assert answered("within-minutes", chat)[-1] == found

    def test_only_the_last_of_them_is_asked(self) -> None:
        """cyd, whom ada names, spoke long ago; her own message came later, and is recent."""
        chat = timed(talk("cyd> tea", "ada> milk", "ada> cyd: sugar"), 0, 20, 21)
        assert answered("within-minutes", chat)[2] == 1

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (START.replace(tzinfo=UTC), START.replace(tzinfo=UTC)),
            (START.replace(tzinfo=UTC), None),
            pytest.param(START, START.replace(tzinfo=UTC)),
            pytest.param(START.replace(tzinfo=UTC), START),
        ],
    )
    def test_some_times_have_a_zone(self, first: datetime, second: datetime | None) -> None:
        chat = talk("ada> tea", "ada> milk")
        chat = [replace(each, time=time) for each, time in zip(chat, (first, second), strict=True)]
        assert answered("within-minutes", chat) == [0, 0]


@pytest.mark.parametrize("name", list(BASELINES))
class TestEveryRule:
    def test_what_nobody_says_is_alone(self, name: str) -> None:
        for kind in (Kind.SYSTEM, Kind.RENAME, Kind.DAY):
            chat = talk("ada> tea", "bob> ada: milk", "ada> bob: sugar")
            chat[1] = replace(chat[1], kind=kind)
            assert [each.replies_to for each in placed(name, chat)] == [(0,), (1,), (0,)]

    def test_actions_are_said(self, name: str) -> None:
        chat = talk("ada> tea", "ada> waves", "ada> milk")
        chat[1] = replace(chat[1], kind=Kind.ACTION)
        assert [each.replies_to for each in placed(name, chat)] == [(0,), (0,), (1,)]

    def test_lines_are_those_of_the_log_or_counted(self, name: str) -> None:
        chat = busy_chat(2, 80)
        moved = [replace(each, line=10 * (each.line or 0)) for each in chat]
        lines = answered(name, chat)
        assert answered(name, unnumbered(chat)) == lines
        assert answered(name, moved) == [10 * line for line in lines]

    def test_of_anything(self, name: str) -> None:
        found = placed(name, busy_chat(2, 200))
        places = {each.line: each for each in found}
        assert [each.line for each in found] == list(range(200))
        for each in found:
            (parent,) = each.replies_to
            assert each.probability == 1
            assert parent <= each.line
            assert each.thread == (each.line if each.starts else places[parent].thread)
            assert each.starts or (each.message.kind in SPOKEN and places[parent].message.kind in SPOKEN)

    def test_nothing(self, name: str) -> None:
        assert placed(name, []) == []

    def test_names_in_front_are_cut_off(self, name: str) -> None:
        found = placed(name, CHAT)[1].message
        assert (found.addressee, found.text) == ("ada", "since noon")


def test_a_rule_that_is_none() -> None:
    with pytest.raises(KeyError, match="first-message"):
        placed("first-message", CHAT)
