"""To whom messages are: who may be meant, how likely, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.live.conftest import by_name, saved_model, talk
from towhom.chat import Kind, Message
from towhom.hearing.manners import SURE, Manner
from towhom.hearing.utterance import REACH
from towhom.live import Addressee, Audience, How, Model


class TestWhoMayBeMeant:
    def test_everybody_and_nobody(self, model: Model) -> None:
        session = model.session()
        talk(session, "ada> tea ?", "bob> milk", "cyd> the kettle", "bob> thanks")
        found = by_name(talk(session, "ada> is the door open ?").addressees)
        assert {None} <= set(found) <= {"bob", "cyd", None}
        assert sum(found.values()) == pytest.approx(1, abs=0.02)
        assert all(0 <= value <= 1 for value in found.values())

    def test_all_who_have_spoken(self, soft: Model) -> None:
        """As long as nothing is sure."""
        session = soft.session()
        talk(session, "ada> tea ?", "bob> milk", "cyd> the kettle", "bob> thanks")
        assert set(by_name(talk(session, "ada> is the door open ?").addressees)) == {"bob", "cyd", None}

    def test_the_likeliest_first(self, model: Model) -> None:
        session = model.session()
        found = talk(session, "ada> tea ?", "bob> milk", "cyd> the kettle", "ada> thanks")
        values = [each.probability for each in found.addressees]
        assert values == sorted(values, reverse=True)
        assert (found.addressee, found.probability) == (found.addressees[0].name, values[0])

    def test_the_first_message_is_for_nobody(self, model: Model) -> None:
        found = talk(model.session(), "ada> is the door open ?")
        assert found.addressees == (Addressee(None, 1.0),)
        assert (found.how, found.reason) == (How.INFERRED, "nobody else is there")

    def test_somebody_who_spoke_long_ago_is_not_there_any_more(self, soft: Model) -> None:
        session = soft.session()
        talk(session, "dee> milk", *["ada> tea", "bob> tea"] * (REACH // 2))
        assert "dee" not in by_name(talk(session, "cyd> tea").addressees)

    def test_who_is_named_after_long_is_there_again(self, model: Model) -> None:
        session = model.session()
        talk(session, "dee> milk", *["ada> tea", "bob> tea"] * (REACH // 2))
        found = talk(session, "ada> dee: are you still here?")
        assert (found.addressee, found.how) == ("dee", How.NAMED)


class TestSaidOutright:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("bob: tea", "ada names bob"),
            ("bob, tea", "ada names bob"),
            ("bob; tea", "ada names bob"),
            ("  bob : tea", "ada names bob"),
            ("Bob: tea", "ada names bob"),
            ("@bob: tea", "ada mentions @bob"),
            ("@BOB tea", "ada mentions @bob"),
        ],
    )
    def test_a_name_in_front(self, model: Model, text: str, reason: str) -> None:
        session = model.session()
        talk(session, "bob> milk", "cyd> milk")
        found = session.observe(Message("ada", text))
        assert (found.addressee, found.how, found.audience) == ("bob", How.NAMED, Audience.SOMEBODY)
        assert found.reason == reason
        assert (found.message.text, found.message.addressee) == ("tea", "bob")

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("bob tea", "ada begins with the name of bob"),
            ("tea, bob: tea", "ada calls bob"),
            ("is it open, bob?", "ada calls bob"),
            ("thanks bob", "ada greets or thanks bob"),
            ("bob:", "ada names bob"),
            ("is it yours @bob", "ada mentions @bob"),
        ],
    )
    def test_a_call_of_another_kind(self, model: Model, text: str, reason: str) -> None:
        """The text stays as it is."""
        session = model.session()
        talk(session, "bob> milk", "cyd> milk")
        found = session.observe(Message("ada", text))
        assert (found.addressee, found.how, found.reason) == ("bob", How.NAMED, reason)
        assert found.message == Message("ada", text, "bob", name="ada")

    @pytest.mark.parametrize("text", ["bobby: tea", "zoe: tea", "the tea is bob's", "ask bob", "tea"])
    def test_no_call(self, ruled: Model, text: str) -> None:
        session = ruled.session()
        talk(session, "bob> milk", "cyd> milk")
        found = session.observe(Message("ada", text))
        assert found.how is How.INFERRED
        assert found.message == Message("ada", text, name="ada")

    def test_the_platform_says_so(self, model: Model) -> None:
        session = model.session()
        talk(session, "bob> milk", "cyd> milk")
        message = Message("ada", "cyd: said so", addressee="bob", id="7", channel="#tea")
        found = session.observe(message)
        assert (found.addressee, found.how) == ("bob", How.NAMED)
        assert found.message == replace(message, name="ada")
        assert session.is_for("bob").reason == "ada names bob"

    def test_what_else_is_known_of_a_message_stays(self, mixed: Model) -> None:
        session = mixed.session()
        talk(session, "bob> milk")
        found = session.observe(Message("ada", "bob: tea", id="7", reply_to="6", channel="#tea", line=3))
        assert found.message == Message("ada", "tea", "bob", id="7", reply_to="6", channel="#tea", name="ada")
        assert found.message.line == 3

    @pytest.mark.parametrize("text", ["so bob likes tea", "ask bob", "bob keeps crashing"])
    def test_who_is_talked_about_is_not_called(self, model: Model, text: str) -> None:
        """However much the model would like them."""
        session = model.session()
        talk(session, "bob> milk", "cyd> milk")
        found = session.observe(Message("ada", text))
        assert found.how is How.INFERRED
        assert by_name(found.addressees).get("bob", 0.0) <= SURE[Manner.ABOUT] + 1e-9
        assert sum(by_name(found.addressees).values()) == pytest.approx(1, abs=0.02)
        assert session.is_for("bob").reason == "ada talks about bob"

    def test_to_oneself(self, model: Model) -> None:
        session = model.session()
        talk(session, "ada> tea", "bob> milk")
        found = talk(session, "ada> ada: note to self")
        assert found.how is How.INFERRED
        assert set(by_name(found.addressees)) <= {"bob", None}
        assert not session.is_for("ada")

    def test_to_oneself_alone(self, model: Model) -> None:
        found = talk(model.session(), "ada> tea", "ada> ada: note to self")
        assert by_name(found.addressees) == pytest.approx({None: 1.0})


class TestCalledBeforeTheySpeak:
    def test_counts_once_they_do(self, ruled: Model) -> None:
        session = ruled.session()
        before = talk(session, "cyd> tea", "ada> bob: are you there?")
        assert before.how is How.INFERRED
        assert "bob" not in by_name(before.addressees)
        found = talk(session, "bob> hello")
        assert (found.addressee, found.reason) == ("ada", "ada had just addressed bob")
        assert session.history[1].text == "are you there?"

    def test_as_if_they_had_been_known(self, mixed: Model) -> None:
        """What the model sees is what it sees of a chat whose names were known from the start."""
        late, early = mixed.session(), mixed.session()
        talk(late, "ada> tea", "ada> bob: is the door open ?", "bob> the kettle")
        talk(early, "ada> tea")
        early.observe(Message("ada", "is the door open ?", addressee="bob"))
        talk(early, "bob> the kettle")
        ours, theirs = (each.select("cyd", ["tea", "milk"]) for each in (late, early))
        assert [(each.addressee, each.candidate) for each in ours] == [
            (each.addressee, each.candidate) for each in theirs
        ]
        assert [each.probability for each in ours] == pytest.approx([each.probability for each in theirs])

    def test_only_they(self, ruled: Model) -> None:
        session = ruled.session()
        talk(session, "ada> bob: are you there?", "dee> hello")
        assert talk(session, "dee> what is it").addressee is None
        assert session.history[0].text == "bob: are you there?"


class TestReasons:
    @pytest.mark.parametrize(
        ("chat", "addressee", "reason"),
        [
            (["bob> milk", "ada> bob: tea"], "bob", "ada names bob"),
            (["bob> milk", "ada> so bob likes tea"], None, "nothing ties it to anybody ada talks with"),
            (["bob> milk", "ada> hi all, tea?"], None, "ada speaks to everybody"),
            (["bob> milk", "ada> thanks bob"], "bob", "ada greets or thanks bob"),
            (["ada> milk", "bob> ada: tea", "ada> no"], "bob", "bob had just addressed ada"),
            (["bob> milk", "ada> bob: tea", "ada> no"], "bob", "ada goes on: the message before was to bob"),
            (
                ["bob> milk", "ada> bob: tea", "ada> no", "ada> milk"],
                "bob",
                "ada goes on: the message before seemed to be to bob",
            ),
            (["bob> milk", "ada> anybody there?"], None, "ada asks the room"),
            (["bob> milk", "ada> tea"], None, "nothing ties it to anybody ada talks with"),
            (["ada> tea"], None, "nobody else is there"),
            (["ada> tea", "ada> milk"], None, "nobody else is there"),
        ],
    )
    def test_in_words(self, ruled: Model, chat: list[str], addressee: str | None, reason: str) -> None:
        found = talk(ruled.session(), *chat)
        assert (found.addressee, found.reason) == (addressee, reason)


class TestLinesThatAreNoMessages:
    @pytest.mark.parametrize("kind", [Kind.SYSTEM, Kind.RENAME, Kind.DAY, Kind.EDIT, Kind.DELETE])
    def test_change_nothing(self, model: Model, kind: Kind) -> None:
        session, other = model.session(), model.session()
        for each in (session, other):
            talk(each, "ada> tea", "bob> ada: milk")
        line = Message("eve", "ada: has joined", kind=kind)
        found = session.observe(line)
        assert (found.addressees, found.message) == ((Addressee(None, 1.0),), line)
        assert session.is_for("ada") == other.is_for("ada")
        assert session.rank_addressees("ada", "tea") == other.rank_addressees("ada", "tea")
        ours, theirs = talk(session, "ada> eve: tea"), talk(other, "ada> eve: tea")
        assert (ours.addressees, ours.reason) == (theirs.addressees, theirs.reason)
        assert ours.placed.line == theirs.placed.line + 1

    @pytest.mark.parametrize("kind", [Kind.ACTION, Kind.NOTICE])
    def test_what_is_done_counts(self, soft: Model, kind: Kind) -> None:
        session = soft.session()
        session.observe(Message("eve", "makes tea", kind=kind))
        assert "eve" in by_name(talk(session, "ada> thanks").addressees)


class TestRankAddressees:
    def test_as_if_it_were_said(self, model: Model) -> None:
        session = model.session()
        talk(session, "ada> tea ?", "bob> ada: milk", "cyd> the kettle")
        for text in ("thanks bob", "is the tea open ?"):
            ranked = session.rank_addressees("ada", text)
            said = talk(session, f"ada> {text}").addressees
            assert [each.id for each in ranked] == [each.id for each in said]
            assert by_name(ranked) == pytest.approx(by_name(said), abs=1e-5)

    def test_in_a_room_of_two(self, model: Model) -> None:
        """As if it were said, by one who has not spoken yet, too."""
        session = model.session()
        session.introduce("robo", bot=True)
        ranked = session.rank_addressees("ada", "is the door open ?")
        assert by_name(ranked) == pytest.approx(by_name(talk(session, "ada> is the door open ?").addressees))

    def test_changes_nothing(self, model: Model) -> None:
        session, other = model.session(), model.session()
        for each in (session, other):
            talk(each, "ada> tea ?", "bob> ada: milk")
        for _ in range(3):
            session.rank_addressees("eve", "bob: is the door open ?")
            session.rank_addressees("ada", "eve: tea")
        assert session.is_for("ada") == other.is_for("ada")
        assert session.select("ada", ["tea", "milk"]) == other.select("ada", ["tea", "milk"])
        assert talk(session, "ada> eve: hello") == talk(other, "ada> eve: hello")

    def test_a_name_in_front(self, model: Model) -> None:
        session = model.session()
        talk(session, "ada> tea ?", "bob> ada: milk", "cyd> the kettle")
        assert session.rank_addressees("eve", "ada: milk")[0].name == "ada"

    def test_nobody_there(self, model: Model) -> None:
        assert model.session().rank_addressees("ada", "tea") == (Addressee(None, 1.0),)


class TestOtherNames:
    @pytest.mark.parametrize("given", ["hb", "@hb", "HB", "helper", "@Helper"])
    def test_an_addressee_given_by_the_platform(self, ruled: Model, given: str) -> None:
        session = ruled.session()
        session.introduce("helper", "hb")
        found = session.observe(Message("bob", "tea", addressee=given))
        assert (found.addressee, found.message.addressee) == ("helper", "helper")
        assert session.is_for("helper")
        assert session.is_for("hb")

    def test_called_by_several_words_before_they_speak(self, ruled: Model) -> None:
        session = ruled.session()
        talk(session, "bob> Ada L.: are you there?", "cyd> tea")
        session.observe(Message("Ada L.", "yes"))
        assert session.history[0].text == "are you there?"
        assert session._channel.turns[0].utterance.addressee == "Ada L."

    def test_somebody_who_is_called_like_a_word(self, ruled: Model) -> None:
        """The model knows "tea" as a common word: it is no mention of somebody called so."""
        session = ruled.session()
        talk(session, "tea> hello", "milk> hello", "ada> the tea")
        assert session._last is not None
        assert "mentions" not in session._last.reason


class TestScoresOfAnySize:
    @pytest.mark.parametrize("factor", [1e4, -1e4])
    def test_no_overflow(self, factor: float) -> None:
        saved = saved_model()
        for name in ("first.out", "second.out", "first.start.out", "first.draft.out"):
            saved.weights[name] *= np.float32(factor)
        session = Model(saved).session()
        found = talk(session, "ada> tea", "bob> milk", "cyd> ada: the door", "ada> thanks")
        assert sum(by_name(found.addressees).values()) == pytest.approx(1, abs=0.02)
        pairs = session.select("dee", ["tea", "milk"])
        assert sum(each.probability for each in pairs) == pytest.approx(1)


@pytest.mark.parametrize("front", ["", "bob: "])
def test_a_long_message_is_shown_in_whole(ruled: Model, front: str) -> None:
    session = ruled.session()
    talk(session, "bob> tea")
    text = "milk " * 5000 + "end"
    assert session.observe(Message("ada", front + text)).message.text == text
    assert len(session.history[-1].text) < 5000
