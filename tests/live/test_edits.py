"""Messages that are changed or taken back."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from tests.live.conftest import by_name, talk
from towhom.chat import Kind, Message
from towhom.hearing.utterance import REACH
from towhom.live import Addressee, Audience, How, Model, Session


@pytest.fixture
def session(ruled: Model) -> Session:
    """Three people, whose messages have the numbers 1 to 4."""
    session = ruled.session()
    session.introduce("robo", bot=True)
    said = (("ada", "tea ?"), ("bob", "milk"), ("cyd", "the kettle"), ("ada", "bob: thanks"))
    for number, (speaker, text) in enumerate(said, 1):
        session.observe(Message(speaker, text, id=str(number)))
    return session


def edit(id: str | None, text: str, speaker: str = "ada") -> Message:
    return Message(speaker, text, id=id, kind=Kind.EDIT)


def delete(id: str | None, speaker: str = "ada") -> Message:
    return Message(speaker, "", id=id, kind=Kind.DELETE)


def known(session: Session) -> dict[str, Any]:
    """All that a session knows but how many lines there were."""
    state = session.state()
    return {**state, "channel": {**state["channel"], "lines": 0}}


def texts(session: Session) -> list[str]:
    return [message.text for message in session.history]


class TestEdit:
    def test_the_last_message_calls_another(self, session: Session) -> None:
        assert session.is_for("bob")
        found = session.observe(edit("4", "cyd: thanks"))
        assert (found.addressee, found.how, found.reason) == ("cyd", How.NAMED, "ada names cyd")
        assert (found.message.text, found.message.id) == ("thanks", "4")
        assert session.is_for("cyd")
        assert not session.is_for("bob")
        assert session.is_for("cyd").reason == "ada names cyd"

    def test_a_call_is_added(self, session: Session) -> None:
        session.observe(Message("cyd", "is the door open ?", id="5"))
        assert not session.is_for("robo")
        session.observe(edit("5", "robo: is the door open ?", "cyd"))
        assert session.is_for("robo")

    def test_a_call_is_taken_away(self, session: Session) -> None:
        session.observe(Message("cyd", "robo: is the door open ?", id="5"))
        assert session.is_for("robo")
        found = session.observe(edit("5", "is the door open ?", "cyd"))
        assert found.how is How.INFERRED
        assert found.addressee != "robo"
        assert not session.is_for("robo")

    def test_as_if_it_had_been_said_so(self, model: Model) -> None:
        edited, direct = model.session(), model.session()
        talk(edited, "ada> tea ?", "bob> milk")
        talk(direct, "ada> tea ?", "bob> milk")
        edited.observe(Message("cyd", "bob: the door", id="3"))
        edited.observe(edit("3", "ada: is the kettle open ?", "cyd"))
        direct.observe(Message("cyd", "ada: is the kettle open ?", id="3"))
        assert edited.history == direct.history
        for name in ("ada", "bob"):
            assert edited.is_for(name) == direct.is_for(name)
        texts = [each.utterance.tokens.tolist() for each in edited._channel.turns]
        assert texts == [each.utterance.tokens.tolist() for each in direct._channel.turns]
        ours, theirs = (each.select("dee", ["tea", "milk"]) for each in (edited, direct))
        assert [(each.addressee, each.candidate) for each in ours] == [
            (each.addressee, each.candidate) for each in theirs
        ]
        assert [each.probability for each in ours] == pytest.approx(
            [each.probability for each in theirs], abs=1e-5
        )

    def test_what_follows_sees_what_it_says_now(self, mixed: Model) -> None:
        plain, edited = mixed.session(), mixed.session()
        for each in (plain, edited):
            talk(each, "ada> tea ?", "bob> milk")
            each.observe(Message("cyd", "the door", id="3"))
        edited.observe(edit("3", "is the kettle open ?", "cyd"))
        ours, theirs = (each.select("ada", ["the kettle is open", "yes"]) for each in (edited, plain))
        assert ours != theirs

    def test_an_older_message(self, session: Session) -> None:
        """It is judged by what came before it; the last message stays the last."""
        before = session.is_for("bob")
        found = session.observe(edit("2", "ada: the milk", "bob"))
        assert (found.addressee, found.how) == ("ada", How.NAMED)
        assert "cyd" not in by_name(found.addressees)
        assert session.is_for("bob") == before
        assert texts(session) == ["tea ?", "the milk", "the kettle", "thanks"]
        assert [message.addressee for message in session.history][1] == "ada"

    def test_one_that_left_the_context(self, ruled: Model) -> None:
        session = ruled.session()
        session.observe(Message("ada", "tea", id="1"))
        session.observe(Message("bob", "the kettle is open", id="2"))
        talk(session, *["ada> milk", "bob> tea"] * 10)
        found = session.observe(edit("2", "ada: the door", "bob"))
        assert (found.addressee, found.message.text) == ("ada", "the door")
        assert texts(session)[:2] == ["tea", "the door"]
        assert session.select("cyd", ["tea", "milk"])

    @pytest.mark.parametrize("id", ["17", None, ""])
    def test_of_what_is_not_remembered(self, session: Session, id: str | None) -> None:
        before = known(session)
        message = edit(id, "robo: tea")
        found = session.observe(message)
        assert found.addressees == (Addressee(None, 1.0),)
        assert (found.message, found.audience) == (message, Audience.NOBODY)
        assert found.reason == "the message that it changes is not remembered"
        assert known(session) == before

    def test_of_what_is_forgotten(self, session: Session) -> None:
        talk(session, *["ada> milk"] * REACH)
        assert (
            session.observe(edit("4", "cyd: tea")).reason == "the message that it changes is not remembered"
        )

    def test_a_reply_stays_one(self, session: Session) -> None:
        session.observe(Message("ada", "no", id="5", reply_to="3"))
        found = session.observe(edit("5", "yes"))
        assert (found.addressee, found.reason) == ("cyd", "ada replies to a message of cyd")

    def test_the_time_stays(self, session: Session) -> None:
        session.observe(Message("ada", "no", id="5", time=datetime(2024, 5, 31)))
        session.observe(edit("5", "yes"))
        last = session.history[-1]
        assert last.time is not None
        assert last.time.replace(tzinfo=None) == datetime(2024, 5, 31)

    def test_again_and_again(self, session: Session) -> None:
        for text in ("cyd: tea", "tea", "bob: tea") * 5:
            session.observe(edit("4", text))
        assert session.is_for("bob")
        assert len(session.history) == 4


class TestDelete:
    def test_the_last_message(self, session: Session) -> None:
        found = session.observe(delete("4"))
        assert (found.addressees, found.reason) == ((Addressee(None, 1.0),), "a message was taken back")
        assert texts(session) == ["tea ?", "milk", "the kettle"]
        verdict = session.is_for("bob")
        assert (verdict.yes, verdict.probability) == (False, 0.0)
        assert verdict.reason == "the last message was taken back"
        assert session.state()["last"] is None

    def test_an_older_one(self, session: Session) -> None:
        before = session.is_for("bob")
        session.observe(delete("3", "cyd"))
        assert texts(session) == ["tea ?", "milk", "thanks"]
        assert session.is_for("bob") == before
        assert 2 not in talk(session, "ada> so").placed.replies_to

    def test_nothing_of_what_it_said_is_seen(self, model: Model) -> None:
        """Whatever it was, what follows is the same."""
        sessions = [model.session() for _ in range(2)]
        for session, text in zip(sessions, ("is the kettle open ?", "the milk and the door"), strict=True):
            talk(session, "ada> tea ?", "bob> milk", *["ada> the door", "bob> the kettle"] * 5)
            session.observe(Message("cyd", text, id="x"))
            session.observe(delete("x"))
        one, other = sessions
        assert one.history == other.history
        assert one.select("ada", ["tea", "milk"]) == other.select("ada", ["tea", "milk"])
        for text in ("tea", "bob: tea", "is the milk open ?"):
            assert one.rank_addressees("ada", text) == other.rank_addressees("ada", text)
            assert talk(one, f"ada> {text}") == talk(other, f"ada> {text}")

    def test_nothing_answers_it(self, model: Model) -> None:
        session = model.session()
        talk(session, "ada> tea ?")
        session.observe(Message("bob", "ada: milk", id="x"))
        session.observe(delete("x"))
        for speaker in ("ada", "cyd", "ada", "bob"):
            assert 1 not in talk(session, f"{speaker}> so").placed.replies_to

    def test_it_is_not_kept(self, session: Session) -> None:
        """What was taken back is gone, from what is saved as well."""
        session.observe(Message("ada", "my password is swordfish", id="5"))
        session.observe(delete("5"))
        assert "swordfish" not in json.dumps(session.state())

    def test_somebody_all_of_whose_messages_are_gone(self, model: Model) -> None:
        """Nothing can be said to them, unless they are called."""
        session = model.session()
        talk(session, "ada> tea ?", "bob> milk")
        session.observe(Message("cyd", "the door", id="x"))
        session.observe(delete("x"))
        assert {each.addressee for each in session.select("dee", ["tea"])} == {"ada", "bob"}
        assert {each.addressee for each in session.select("dee", ["cyd: tea"])} == {"cyd"}

    def test_a_reply_to_it_is_for_who_wrote_it(self, session: Session) -> None:
        session.observe(delete("3", "cyd"))
        found = session.observe(Message("ada", "no", reply_to="3"))
        assert (found.addressee, found.how) == ("cyd", How.NAMED)

    @pytest.mark.parametrize("id", ["17", None, ""])
    def test_of_what_is_not_remembered(self, session: Session, id: str | None) -> None:
        before = known(session)
        assert session.observe(delete(id)).reason == "the message that it takes back is not remembered"
        assert known(session) == before

    def test_twice(self, session: Session) -> None:
        session.observe(delete("4"))
        assert session.observe(delete("4")).reason == "the message that it takes back is not remembered"
        assert session.observe(edit("4", "tea")).reason == "the message that it changes is not remembered"

    def test_everything(self, session: Session) -> None:
        for id in ("2", "4", "1", "3"):
            session.observe(delete(id))
        assert session.history == []
        assert session.select("ada", ["tea"])[0].addressee is None
        assert talk(session, "ada> bob: tea").addressee == "bob"

    def test_with_a_state_between(self, session: Session) -> None:
        session.observe(delete("4"))
        other = session.model.session(session.state())
        assert other.history == session.history
        assert other.is_for("bob") == session.is_for("bob")
        other.observe(edit("2", "ada: the milk", "bob"))
        assert texts(other) == ["tea ?", "the milk", "the kettle"]
