"""People whom the platform numbers, and what they are called."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.conftest import by_name, talk
from towhom.chat import Kind, Message
from towhom.hearing.manners import SURE, Manner
from towhom.live import Audience, How, Model, Session


def message(speaker: int, text: str, **others: Any) -> Message:
    names = {17: "Ann", 18: "Bob", 19: "Robo"}
    return Message(speaker, text, name=names.get(speaker), **others)  # type: ignore[arg-type]


@pytest.fixture
def session(ruled: Model) -> Session:
    session = ruled.session()
    session.introduce(19, "rb", name="Robo", bot=True)
    session.introduce(99, name="Weather", bot=True)  # so that it is no room of two
    session.observe(message(17, "tea", id=1))
    session.observe(message(18, "milk", id=2))
    return session


class TestWholeNumbers:
    def test_names_are_shown(self, session: Session) -> None:
        found = session.observe(message(17, "bob: is it open ?"))
        assert (found.addressee, found.addressees[0].id) == ("Bob", "18")
        assert found.reason == "Ann names Bob"
        assert {each.name for each in found.addressees} == {"Bob", None}
        assert {each.id for each in found.addressees} == {"18", None}
        assert (found.message.speaker, found.message.name, found.message.addressee) == ("17", "Ann", "18")

    @pytest.mark.parametrize("who", [19, "19", "Robo", "robo", "@Robo", "rb"])
    def test_asked_by_any_of_them(self, session: Session, who: str | int) -> None:
        session.observe(message(17, "robo, is it open ?"))
        assert session.is_for(who)
        assert session.is_for(who).reason == "Ann names Robo"
        assert not session.is_for(18)

    def test_their_own_message(self, session: Session) -> None:
        session.observe(message(19, "ann: hello"))
        for who in (19, "Robo", "rb"):
            verdict = session.is_for(who)
            assert (verdict.yes, verdict.probability, verdict.reason) == (False, 0.0, "Robo said it")

    def test_replies(self, session: Session) -> None:
        found = session.observe(message(18, "no", reply_to=1))
        assert (found.addressee, found.how, found.reason) == (
            "Ann",
            How.NAMED,
            "Bob replies to a message of Ann",
        )

    def test_mentions_and_addressees(self, session: Session) -> None:
        found = session.observe(message(18, "no", mentions=(17, 19)))
        assert {each.name for each in found.addressees[:2]} == {"Ann", "Robo"}
        found = session.observe(message(18, "no", addressee=17))
        assert (found.addressee, found.reason) == ("Ann", "Bob names Ann")

    def test_a_number_is_no_name(self, session: Session) -> None:
        """Once they are called something."""
        assert session.observe(message(17, "18: tea")).how is How.INFERRED

    def test_history(self, session: Session) -> None:
        session.observe(message(17, "bob: thanks"))
        assert [(each.speaker, each.addressee) for each in session.history][-1] == ("Ann", "Bob")

    @pytest.mark.parametrize("who", ["Ann", "17"])
    def test_what_if(self, session: Session, who: str) -> None:
        ranked = by_name(session.rank_addressees(who, "bob: tea"))
        assert "Ann" not in ranked
        assert max(ranked, key=lambda name: ranked[name]) == "Bob"
        selected = session.select(who, ["tea", "bob: milk"])
        assert {each.addressee for each in selected} == {"Bob"}

    def test_two_people_of_one_name(self, session: Session) -> None:
        session.observe(Message("20", "hello", name="Bob"))
        found = session.observe(message(17, "bob: tea"))
        assert (found.addressee, found.addressees[0].id) == ("Bob", "20")  # who spoke last
        probabilities = {each.id: each.probability for each in found.addressees}
        assert probabilities["20"] > 0.5 > probabilities.get("18", 0.0)
        assert session.is_for(20)
        assert not session.is_for(18)


class TestRenames:
    def test_change_the_name(self, session: Session) -> None:
        found = session.observe(Message("18", "Robert", kind=Kind.RENAME))
        assert found.reason == "18 is called Robert from now on"
        for name in ("robert", "bob"):
            found = session.observe(message(17, f"{name}: tea"))
            assert (found.addressee, found.addressees[0].id, found.reason) == (
                "Robert",
                "18",
                "Ann names Robert",
            )
        assert session.is_for("Robert")
        assert session.is_for("Bob")

    def test_of_nicks(self, ruled: Model) -> None:
        session = ruled.session()
        talk(session, "ada> tea", "bob> ada: milk")
        session.observe(Message("ada", "ada|away", kind=Kind.RENAME))
        assert session.is_for("ada|away")
        found = talk(session, "ada|away> no")
        assert (found.addressee, found.reason) == ("bob", "bob had just addressed ada|away")
        assert talk(session, "bob> ada|away: so").addressees[0].id == "ada"
        assert talk(session, "bob> ada: so").addressee == "ada|away"
        assert [each.speaker for each in session.history][:2] == ["ada|away", "bob"]

    def test_do_not_count_as_messages(self, session: Session) -> None:
        before = session.history
        session.observe(Message("zoe", "yan", kind=Kind.RENAME))
        assert session.history == before
        assert session.people.find("yan") is None


class TestSeveral:
    def test_are_all_meant(self, session: Session) -> None:
        found = session.observe(message(17, "bob, robo: is it open ?"))
        assert {each.name for each in found.addressees[:2]} == {"Bob", "Robo"}
        assert found.audience is Audience.SOMEBODY
        for who in ("Bob", "Robo"):
            assert session.is_for(who)
            assert session.is_for(who).probability == pytest.approx(SURE[Manner.FRONT])
        assert sum(each.probability for each in found.addressees) > 1

    def test_those_who_are_called_come_first(self, soft: Model) -> None:
        session = soft.session()
        session.introduce(19, "rb", name="Robo", bot=True)
        session.observe(message(18, "milk"))
        session.observe(Message("20", "ann: hello", name="Zoe"))
        found = session.observe(message(17, "bob, robo: is it open ?"))
        assert {each.name for each in found.addressees[2:]} == {"Zoe", None}
        values = [each.probability for each in found.addressees[2:]]
        assert values == sorted(values, reverse=True)
        rest = sum(each.probability for each in found.addressees[2:])
        assert rest == pytest.approx(1 - SURE[Manner.FRONT], abs=1e-3)


class TestEverybody:
    @pytest.mark.parametrize("text", ["hi all, the tea is open", "@everyone tea", "good morning everybody"])
    def test_is_said(self, session: Session, text: str) -> None:
        found = session.observe(message(17, text))
        assert (found.audience, found.how) == (Audience.EVERYBODY, How.INFERRED)
        assert session.is_for("Robo").everybody
        assert not session.is_for("Robo")

    def test_is_not(self, session: Session) -> None:
        session.observe(message(17, "bob: tea"))
        assert not session.is_for("Bob").everybody


class TestARoomOfTwo:
    def test_with_a_bot(self, ruled: Model) -> None:
        session = ruled.session()
        session.introduce("robo", bot=True)
        found = talk(session, "ada> is the door open ?")
        assert (found.addressee, found.how) == ("robo", How.INFERRED)
        assert session.is_for("robo").probability == pytest.approx(0.8)
        assert sum(by_name(found.addressees).values()) == pytest.approx(1)

    @pytest.mark.parametrize("text", ["hi all", "robo keeps crashing", "ask robo"])
    def test_not_where_it_says_otherwise(self, ruled: Model, text: str) -> None:
        session = ruled.session()
        session.introduce("robo", bot=True)
        session.observe(Message("ada", text))
        assert not session.is_for("robo")

    def test_no_longer_when_somebody_comes(self, ruled: Model) -> None:
        session = ruled.session()
        session.introduce("robo", bot=True)
        talk(session, "bob> milk", "ada> is the door open ?")
        assert not session.is_for("robo")

    def test_two_people_may_be_of_many(self, ruled: Model) -> None:
        """Nobody said that only these two are there."""
        session = ruled.session()
        talk(session, "ada> tea", "bob> milk")
        assert talk(session, "cyd> is the door open ?").addressee is None
