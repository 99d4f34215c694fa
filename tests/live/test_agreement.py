"""Who a message is for and what it answers are read off the same probabilities: the two always agree."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.live.chats import Platform
from tests.live.conftest import talk
from towhom.chat import Kind, Message
from towhom.hearing.utterance import REACH, SPOKEN
from towhom.live import How, Model, Observation, Session


class Follow:
    """Follows what a session says of each message, by the numbers of messages."""

    def __init__(self, model: Model) -> None:
        self.session: Session = model.session()
        self.speaker: dict[int, str] = {}
        self.to: dict[int, str | None] = {}
        self.order: list[int] = []
        self.gone: set[int] = set()
        self.lines: dict[str, int] = {}

    def observe(self, message: Message) -> Observation:
        found = self.session.observe(message)
        line = found.placed.line
        if message.kind in SPOKEN:
            self.speaker[line] = self.session.people.id_of(message.speaker)
            self.to[line] = found.addressees[0].id
            self.order.append(line)
            if message.id is not None:
                self.lines[message.id] = line
        elif message.kind is Kind.DELETE and message.id in self.lines:
            self.gone.add(self.lines.pop(message.id))
        elif message.kind is Kind.EDIT and found.reason != "the message that it changes is not remembered":
            self.to[self.lines[message.id or ""]] = found.addressees[0].id
        return found

    def leads_to(self, found: Observation) -> str | None:
        """Whom the link of a message leads to."""
        if found.placed.starts:
            return None
        (answered,) = found.placed.replies_to
        me = self.speaker[found.placed.line]
        return self.to[answered] if self.speaker[answered] == me else self.speaker[answered]

    def has_spoken_since(self, found: Observation) -> bool:
        """Whether it goes on with an own line for nobody, and is for who has spoken since: there are few."""
        line, (answered,) = found.placed.line, found.placed.replies_to
        if self.speaker[answered] != self.speaker[line] or self.to[answered] is not None:
            return False
        since = [self.speaker[each] for each in self.order if answered < each < line]
        return len(self.session.people) <= 4 and found.addressees[0].id in since

    def contradicts(self, found: Observation) -> bool:
        """Whether the platform says two things: that it answers one, and that it is for another.

        Where somebody replies to an own line, or notes whom a reply is for, who is named is believed.
        """
        message, line = found.placed.message, found.placed.line
        if message.reply_to is None or found.placed.starts or found.how is How.INFERRED:
            return False
        own = self.speaker[found.placed.replies_to[0]] == self.speaker[line]
        return own or message.addressee is not None

    def said_something(self, who: str | None) -> bool:
        """Whether somebody has said anything within reach that the last message could answer."""
        before = [line for line in self.order[-REACH - 1 : -1] if line not in self.gone]
        return any(self.speaker[line] == who for line in before)


def check(model: Model, chat: Iterable[Message]) -> list[Observation]:
    """The link of each message leads to whom it is for."""
    follow, result = Follow(model), []
    for message in chat:
        found = follow.observe(message)
        result.append(found)
        if message.kind not in SPOKEN:
            continue
        who = found.addressees[0].id
        if follow.contradicts(found):
            continue
        if found.placed.starts and who is not None:
            assert found.how is How.NAMED, found  # nobody is found who did not say anything
            assert not follow.said_something(who), found
        elif found.how is How.INFERRED:  # who calls somebody may take up what another said to them
            assert follow.leads_to(found) == who or follow.has_spoken_since(found), found
    return result


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_without_links_of_the_platform(model: Model, seed: int, numbered: bool) -> None:
    found = check(model, Platform(seed, numbered=numbered, replies=0).lines(180))
    assert sum(not each.placed.starts for each in found) > 15
    assert sum(each.addressee is None for each in found) > 15


@pytest.mark.parametrize("seed", [1, 2])
def test_with_links_of_the_platform(model: Model, seed: int) -> None:
    """What the platform says is answered, however unlikely it is; it is for whoever said that."""
    found = check(model, Platform(seed, replies=0.5).lines(180))
    linked = [each for each in found if each.message.reply_to is not None and each.placed.probability == 1]
    assert len(linked) > 30


class TestOwnLines:
    def test_a_reply_to_an_own_line(self, model: Model) -> None:
        """It goes on, for whoever that line was for."""
        chat = [
            Message("bob", "milk", id="1"),
            Message("ada", "bob: tea?", id="2"),
            Message("cyd", "the door", id="3"),
            Message("ada", "i mean now", reply_to="2"),
        ]
        last = check(model, chat)[-1]
        assert (last.addressee, last.placed.replies_to) == ("bob", (1,))

    def test_a_reply_to_an_own_line_for_nobody(self, model: Model) -> None:
        chat = [
            Message("ada", "tea?", id="1"),
            Message("bob", "ada: milk", id="2"),
            Message("ada", "i mean now", reply_to="1"),
        ]
        last = check(model, chat)[-1]
        assert (last.addressee, last.placed.replies_to) == (None, (0,))


class TestCalls:
    def test_somebody_who_has_spoken_is_answered(self, model: Model) -> None:
        """However far back it was, within reach."""
        session = model.session()
        talk(session, "bob> milk", *["ada> tea", "cyd> door"] * 40)
        found = talk(session, "dee> bob: are you there?")
        assert (found.addressee, found.placed.replies_to) == ("bob", (0,))

    def test_somebody_who_has_not_spoken_within_reach(self, model: Model) -> None:
        """It starts something."""
        session = model.session()
        talk(session, "bob> milk", *["ada> tea", "cyd> door"] * 51)
        found = talk(session, "dee> bob: are you there?")
        assert (found.addressee, found.placed.starts) == ("bob", True)

    def test_somebody_who_was_introduced(self, model: Model) -> None:
        session = model.session()
        session.introduce("robo", bot=True)
        found = talk(session, "ada> tea", "cyd> milk", "bob> robo: tea?")
        assert (found.addressee, found.placed.starts) == ("robo", True)

    def test_what_was_taken_back_is_not_answered(self, model: Model) -> None:
        session = model.session()
        talk(session, "ada> tea")
        session.observe(Message("bob", "milk", id="1"))
        session.observe(Message("", "", id="1", kind=Kind.DELETE))
        found = talk(session, "ada> bob: are you there?")
        assert (found.addressee, found.placed.starts) == ("bob", True)
