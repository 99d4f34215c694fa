"""What messages answer, and their conversations."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.live.chats import START, Platform
from tests.live.conftest import assert_same_places
from towhom.chat import Kind, Message
from towhom.hearing.utterance import REACH, SPOKEN
from towhom.live import Model
from towhom.live import channel as module
from towhom.threads import Placed


def said(*lines: str) -> list[Message]:
    """Of lines like `ada> hello`, with identifiers m0, m1 ..."""
    found = []
    for place, line in enumerate(lines):
        speaker, _, text = line.partition("> ")
        found.append(Message(speaker, text, id=f"m{place}", line=place))
    return found


def people(count: int, text: str = "tea") -> list[Message]:
    """Four people in turn."""
    return [Message(f"p{place % 4}", text, id=str(place)) for place in range(count)]


class TestReplies:
    """What the platform says."""

    def test_wins(self, model: Model) -> None:
        chat = said("ada> is the kettle on?", "bob> where is the cat?", "cyd> bob: on the sofa")
        chat[2] = replace(chat[2], reply_to="m0")
        last = list(model.threads(chat))[2]
        assert (last.replies_to, last.thread, last.probability) == ((0,), 0, 1.0)

    @pytest.mark.parametrize("apart", [5, REACH - 1, REACH, REACH + 1, 300])
    def test_however_far_back(self, mixed: Model, apart: int) -> None:
        chat = people(340)
        chat[320] = replace(chat[320], speaker="zoe", reply_to=str(320 - apart))
        found = list(mixed.threads(chat))
        assert (found[320].replies_to, found[320].probability) == ((320 - apart,), 1.0)
        assert found[320].thread == found[320 - apart].thread
        assert_same_places(list(mixed.threads(chat, at_once=9)), found)

    @pytest.mark.parametrize("reply_to", ["nobody said so", "m2", "m3"])
    def test_what_was_not_said_before_is_answered_by_nobody(self, model: Model, reply_to: str) -> None:
        chat = said("ada> is the kettle on?", "bob> where is the cat?", "cyd> bob: on the sofa", "ada> hm")
        without = list(model.threads(chat))[2]
        chat[2] = replace(chat[2], reply_to=reply_to)
        assert list(model.threads(chat))[2].replies_to == without.replies_to

    def test_within_what_is_placed_at_once(self, model: Model) -> None:
        chat = said("ada> tea", "bob> cat", "cyd> sofa", "dee> door")
        chat[2], chat[3] = replace(chat[2], reply_to="m0"), replace(chat[3], reply_to="m2")
        found = list(model.threads(chat))
        assert [each.replies_to for each in found[2:]] == [(0,), (2,)]
        assert [each.thread for each in found[2:]] == [0, 0]

    @pytest.mark.parametrize("back", [1, REACH, REACH + 1, 150])
    def test_are_seen_at_first_sight(self, mixed: Model, back: int) -> None:
        """By what follows: it is in the conversation of what it answers, as far as that is still known."""
        session = mixed.session()
        session.observe_all(people(200))
        answered = session._channel.turn(str(200 - back))
        assert answered is not None
        session.observe(Message("zoe", "cat", reply_to=str(200 - back)))
        parent, thread, who = session._channel.room.state()["sights"][-1]
        near = back <= REACH
        assert thread == answered.first_thread
        assert parent == (back if near else 0)
        assert who == (f"p{(200 - back) % 4}" if near else None)

    def test_an_identifier_that_comes_again(self, model: Model) -> None:
        """The last that has it is meant."""
        chat = [
            Message("ada", "is the kettle on?", id="1"),
            Message("bob", "where are my keys?", id="2"),
            Message("cyd", "hm", reply_to="1"),
            Message("ada", "is the kettle off?", id="1"),
            Message("cyd", "hm", reply_to="1"),
        ]
        found = list(model.threads(chat))
        assert [found[2].replies_to, found[4].replies_to] == [(0,), (3,)]

    def test_identifiers_that_are_forgotten(self, mixed: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_IDS", 20)
        chat = [*people(60), Message("zoe", "hm", reply_to="39"), Message("zoe", "hm", reply_to="41")]
        found = list(mixed.threads(chat))
        assert found[60].probability < 1
        assert (found[61].replies_to, found[61].probability) == ((41,), 1.0)
        assert_same_places(list(mixed.threads(chat, at_once=7)), found)

    @pytest.mark.parametrize(
        "joins", [{"kind": Kind.SYSTEM}, {"channel": "cats"}], ids=["nobody says it", "in another channel"]
    )
    def test_to_what_is_no_message_of_the_channel(self, model: Model, joins: dict[str, Kind | str]) -> None:
        chat = said("ada> tea", "bob> the sofa")
        chat = [replace(chat[0], **joins), replace(chat[1], reply_to="m0")]  # type: ignore[arg-type]
        assert list(model.threads(chat))[1].starts


class TestTakenBack:
    def test_what_was_taken_back_is_never_answered(self, model: Model) -> None:
        gone: set[int] = set()
        session, lines = model.session(), dict[str, int]()
        for message in Platform(5).lines(300):
            found = session.observe(message).placed
            if message.kind is Kind.DELETE:
                gone.add(lines.pop(message.id or "", -1))
            elif message.kind in SPOKEN:
                assert not gone.intersection(found.replies_to)
                if message.id is not None:
                    lines[message.id] = found.line
        assert len(gone - {-1}) > 3

    def test_not_even_where_the_platform_says_so(self, model: Model) -> None:
        chat = [*said("ada> tea", "bob> milk"), Message("", "", id="m0", kind=Kind.DELETE)]
        found = list(model.threads([*chat, Message("cyd", "the door", reply_to="m0")]))[-1]
        assert 0 not in found.replies_to

    def test_the_only_message(self, model: Model) -> None:
        chat = [*said("ada> tea"), Message("", "", id="m0", kind=Kind.DELETE), Message("bob", "milk")]
        found = list(model.threads(chat))[-1]
        assert found.starts
        assert found.probability == pytest.approx(1.0)

    def test_far_away(self, mixed: Model) -> None:
        chat = [*people(REACH + 20), Message("", "", id="3", kind=Kind.DELETE)]
        found = list(mixed.threads([*chat, Message("dee", "milk", reply_to="3")]))[-1]
        assert found.replies_to != (3,)

    def test_said_again(self, model: Model) -> None:
        """With the same identifier, it can be answered."""
        chat = [*said("ada> tea"), Message("", "", id="m0", kind=Kind.DELETE), Message("ada", "tea", id="m0")]
        found = list(model.threads([*chat, Message("bob", "milk", reply_to="m0")]))
        assert found[-1].replies_to == (2,)


class TestWhatNobodySays:
    @pytest.mark.parametrize("kind", sorted(set(Kind) - SPOKEN))
    def test_is_a_thread_by_itself(self, model: Model, kind: Kind) -> None:
        chat = said("ada> tea", "bob> ada: milk", "cyd> ada: sugar")
        chat[1] = replace(chat[1], kind=kind, id="m0")
        found = list(model.threads(chat))[1]
        assert (found.replies_to, found.thread, found.probability) == ((1,), 1, 1.0)

    def test_is_in_no_other(self, mixed: Model) -> None:
        placed = list(mixed.threads(Platform(9).lines(300)))
        silent = {each.line for each in placed if each.message.kind not in SPOKEN}
        assert len(silent) > 20
        for each in placed:
            if each.message.kind in SPOKEN:
                assert each.thread not in silent
                assert not silent.intersection(each.replies_to)

    @pytest.mark.parametrize("kind", [Kind.SYSTEM, Kind.DAY])
    def test_changes_nothing_for_the_others(self, mixed: Model, kind: Kind) -> None:
        """However many of them there are between what is said."""
        chat = [each for each in Platform(3).lines(120) if each.kind in SPOKEN]
        silent = Message("", "ada has joined", kind=kind)
        mixed_in = [each for message in chat for each in (silent, message, silent)]
        found, plain = list(mixed.threads(mixed_in)), list(mixed.threads(chat))
        for ours, theirs in zip(found[1::3], plain, strict=True):
            assert tuple((line - 1) // 3 for line in ours.replies_to) == theirs.replies_to
            assert (ours.thread - 1) // 3 == theirs.thread
            assert ours.probability == pytest.approx(theirs.probability, abs=1e-5)

    @pytest.mark.parametrize("kind", [Kind.ACTION, Kind.NOTICE])
    def test_actions_and_notices_are_said(self, ruled: Model, kind: Kind) -> None:
        chat = said("ada> where is the cat?", "bob> ada: on the sofa")
        assert list(ruled.threads([chat[0], replace(chat[1], kind=kind)]))[1].replies_to == (0,)

    def test_a_new_name(self, ruled: Model) -> None:
        """ada answers bob under his other name."""
        chat = said(
            "ada> tea", "bob> where is the cat?", "dee> milk", "bob> robert", "ada> robert: on the sofa"
        )
        chat[3] = replace(chat[3], kind=Kind.RENAME)
        assert list(ruled.threads(chat))[4].replies_to == (1,)


class TestLines:
    def test_are_those_of_the_log(self, ruled: Model) -> None:
        chat = [Message("ada", "where is the cat?", line=70), Message("bob", "ada: here", line=95)]
        found = list(ruled.threads(chat))
        assert [(each.line, each.replies_to, each.thread) for each in found] == [
            (70, (70,), 70),
            (95, (70,), 70),
        ]

    def test_are_counted_where_there_are_none(self, mixed: Model) -> None:
        """All of them, whether somebody says them or not."""
        session = mixed.session()
        found = session.observe_all(Platform(2).lines(80))
        assert [each.placed.line for each in found] == list(range(80))
        assert mixed.session(session.state()).observe(Message("ada", "hm")).placed.line == 80

    def test_are_counted_over_all_channels(self, ruled: Model) -> None:
        chat = [Message("ada", "hello", channel="tea"), Message("ada", "hello", channel="cats")]
        assert [each.line for each in ruled.threads(chat)] == [0, 1]


class TestConversations:
    @pytest.fixture(scope="class")
    @staticmethod
    def placed(mixed: Model, soft: Model) -> list[list[Placed]]:
        """Nothing is edited: that may move a message to another conversation."""
        chat = [each for each in Platform(11, numbered=True).lines(300) if each.kind is not Kind.EDIT]
        return [list(model.threads(chat)) for model in (mixed, soft)]

    def test_that_of_what_is_answered(self, placed: list[list[Placed]]) -> None:
        for found in placed:
            places = {each.line: each for each in found}
            for each in found:
                (parent,) = each.replies_to
                assert parent <= each.line
                assert each.starts == (parent == each.line)
                assert each.thread == (each.line if each.starts else places[parent].thread)
                assert places[each.thread].starts

    def test_nothing_out_of_reach_is_guessed(self, placed: list[list[Placed]]) -> None:
        for found in placed:
            spoken = [each for each in found if each.message.kind in SPOKEN]
            order = {each.line: place for place, each in enumerate(spoken)}
            guessed = [each for each in spoken if each.probability < 1]
            assert len(guessed) > 100
            assert max(order[each.line] - order[each.replies_to[0]] for each in guessed) <= REACH

    def test_probabilities(self, placed: list[list[Placed]]) -> None:
        for each in (each for found in placed for each in found):
            assert 0 <= each.probability <= 1

    def test_the_first_starts_for_sure(self, model: Model) -> None:
        message = Message("ada", "hello", line=0)
        assert list(model.threads([message])) == [Placed(message, 0, (0,), 0, 1.0)]

    def test_what_is_placed_is_what_was_said(self, ruled: Model) -> None:
        chat = said("ada> tea", "bob> ada: milk")
        assert [each.message for each in ruled.threads(chat)] == chat


class TestTimes:
    @pytest.fixture(scope="class")
    @staticmethod
    def chat() -> list[Message]:
        return Platform(3).lines(120)

    def test_a_zone_counts_as_it_is(self, soft: Model, chat: list[Message]) -> None:
        east = timezone(timedelta(hours=9))
        moved = [
            replace(each, time=each.time and each.time.replace(tzinfo=UTC).astimezone(east)) for each in chat
        ]
        ours, theirs = list(soft.threads(moved)), list(soft.threads(chat))
        assert [(each.replies_to, each.probability) for each in ours] == [
            (each.replies_to, each.probability) for each in theirs
        ]

    def test_only_differences_matter(self, soft: Model, chat: list[Message]) -> None:
        moved = [replace(each, time=each.time and each.time + timedelta(days=8000)) for each in chat]
        assert [each.replies_to for each in soft.threads(moved)] == [
            each.replies_to for each in soft.threads(chat)
        ]

    @pytest.mark.parametrize(
        "step", [timedelta(0), timedelta(hours=-1), timedelta(days=4000)], ids=["same", "backwards", "years"]
    )
    def test_any(self, soft: Model, chat: list[Message], step: timedelta) -> None:
        moved = [replace(message, time=START + step * min(place, 50)) for place, message in enumerate(chat)]
        found = list(soft.threads(moved))
        assert_same_places(list(soft.threads(moved, at_once=1)), found)
        assert all(0 <= each.probability <= 1 for each in found)

    @pytest.mark.parametrize("time", [datetime.min, datetime.max, datetime.max.replace(tzinfo=UTC)], ids=str)
    def test_the_ends_of_time(self, soft: Model, time: datetime) -> None:
        found = list(soft.threads([Message("ada", "tea", time=START), Message("bob", "tea", time=time)]))
        assert 0 < found[1].probability <= 1
