"""What a bot asks: is this for me?"""

from __future__ import annotations

import pytest

from tests.live.conftest import by_name, talk
from towhom.chat import Message
from towhom.live import Model, Session


@pytest.fixture
def session(ruled: Model) -> Session:
    """Two people; two bots, of which none has spoken."""
    session = ruled.session()
    session.introduce("helper", "hb", "Helper Bot")
    session.introduce("weather")
    talk(session, "ada> tea", "bob> milk")
    return session


class TestIsFor:
    def test_nothing_was_said(self, model: Model) -> None:
        verdict = model.session().is_for("helper")
        assert (verdict.yes, verdict.probability, verdict.reason) == (False, 0.0, "nothing has been said yet")

    def test_is_what_observe_said(self, model: Model) -> None:
        session = model.session()
        found = talk(session, "ada> tea ?", "bob> milk", "cyd> the kettle", "ada> thanks")
        likely = by_name(found.addressees)
        for name in ("bob", "cyd"):
            assert session.is_for(name).probability == likely.get(name, 0.0)
            assert session.is_for(name).reason == found.reason

    def test_threshold(self, soft: Model) -> None:
        session = soft.session()
        probability = by_name(talk(session, "ada> tea ?", "bob> milk", "ada> thanks").addressees)["bob"]
        assert 0.01 < probability < 0.99
        assert session.is_for("bob", threshold=probability)
        assert not session.is_for("bob", threshold=probability + 1e-9)
        assert bool(session.is_for("bob")) is (probability >= 0.5)

    def test_their_own_message(self, session: Session) -> None:
        talk(session, "helper> ada: hello")
        verdict = session.is_for("hb")
        assert (verdict.yes, verdict.probability, verdict.reason) == (False, 0.0, "helper said it")

    def test_a_stranger(self, session: Session) -> None:
        talk(session, "ada> helper: tea")
        verdict = session.is_for("somebody else")
        assert (verdict.yes, verdict.probability) == (False, 0.0)


class TestNames:
    @pytest.mark.parametrize(
        "text",
        ["helper: tea", "HELPER, tea", "@helper: tea", "hb: tea", "@Hb; tea", "Helper Bot: tea"],
    )
    def test_all_of_them(self, session: Session, text: str) -> None:
        found = session.observe(Message("ada", text))
        assert (found.addressee, found.message.text) == ("helper", "tea")
        assert session.is_for("helper")
        assert session.is_for("hb")
        assert session.is_for("@HELPER")
        assert not session.is_for("weather")

    @pytest.mark.parametrize("text", ["thanks HB", "is it open, helper?", "so what do you think, helper?"])
    def test_inside_a_text(self, session: Session, text: str) -> None:
        assert session.observe(Message("ada", text)).addressee == "helper"
        assert session.is_for("helper")

    @pytest.mark.parametrize("text", ["is helper there?", "helper keeps crashing", "ask hb"])
    def test_talked_about(self, session: Session, text: str) -> None:
        assert session.observe(Message("ada", text)).addressee != "helper"
        assert not session.is_for("helper")
        assert session.is_for("helper").probability < 0.5

    def test_a_bot_that_has_not_spoken_is_meant_only_if_it_is_called(self, session: Session) -> None:
        found = talk(session, "ada> tea")
        assert not {"helper", "weather"} & set(by_name(found.addressees))
        assert session.is_for("helper").probability == 0

    def test_a_bot_that_has_spoken_is_there_once(self, session: Session) -> None:
        talk(session, "helper> hello")
        found = talk(session, "ada> hb: tea")
        assert found.addressees[0].name == "helper"
        assert [each.id for each in found.addressees].count("helper") == 1
        assert session.is_for("helper")

    def test_a_bot_that_was_not_introduced(self, ruled: Model) -> None:
        session = ruled.session()
        talk(session, "ada> tea", "ada> helper: tea")
        assert not session.is_for("helper")


class TestSeveralBots:
    def test_the_one_that_is_named(self, session: Session) -> None:
        talk(session, "ada> weather: will it rain?")
        assert session.is_for("weather")
        assert not session.is_for("helper")
        talk(session, "bob> helper: is the door open ?")
        assert session.is_for("helper")
        assert not session.is_for("weather")

    def test_each_goes_on_with_whom_it_talks(self, session: Session) -> None:
        talk(session, "ada> weather: will it rain?", "bob> hb: is the door open ?")
        talk(session, "weather> ada: no", "helper> bob: yes")
        talk(session, "ada> and tomorrow?")
        assert (bool(session.is_for("weather")), bool(session.is_for("helper"))) == (True, False)
        talk(session, "bob> and the kettle?")
        assert (bool(session.is_for("weather")), bool(session.is_for("helper"))) == (False, True)


class TestGoingOn:
    def test_after_an_answer(self, session: Session) -> None:
        talk(session, "ada> helper: is the door open ?", "helper> yes", "ada> thanks")
        assert session.is_for("helper")

    def test_after_others_spoke(self, session: Session) -> None:
        talk(session, "ada> helper: is the door open ?", "helper> ada: yes", "bob> milk", "ada> thanks")
        assert session.is_for("helper")

    def test_a_burst(self, session: Session) -> None:
        burst = "ada> hb: is the", "ada> door", "bob> tea", "ada> I mean the one upstairs", "ada> open ?"
        for line in burst:
            talk(session, line)
            assert bool(session.is_for("helper")) is line.startswith("ada"), line

    def test_a_burst_to_nobody(self, session: Session) -> None:
        for text in ("so", "I made", "tea"):
            session.observe(Message("ada", text))
            assert not session.is_for("helper")
            assert not session.is_for("weather")

    def test_another_is_named(self, session: Session) -> None:
        talk(session, "ada> helper: is the door open ?", "helper> ada: yes", "ada> bob: come in")
        assert not session.is_for("helper")
        talk(session, "ada> quick")
        assert session.is_for("bob")
