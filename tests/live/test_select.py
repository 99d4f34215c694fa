"""Which response, and to whom."""

from __future__ import annotations

from itertools import product

import pytest

from tests.live.conftest import random_ranker, saved_model, talk
from tests.models.systems import NEURAL
from towhom.errors import SessionError
from towhom.live import Model, Session

CHAT = ("ada> is the door open ?", "bob> ada: the kettle is", "cyd> milk", "ada> thanks", "dee> bob: tea ?")
CANDIDATES = ["tea", "the milk is open", "thanks"]


@pytest.fixture
def session(bare: Model) -> Session:
    session = bare.session()
    talk(session, *CHAT)
    return session


class TestPairs:
    @pytest.mark.parametrize("system", NEURAL)
    @pytest.mark.parametrize("temperature", [0.1, 1.0, 7.0])
    def test_all_of_them_add_up_to_one(self, system: str, temperature: float) -> None:
        session = Model(saved_model(system, live={"pairs": {"temperature": temperature}})).session()
        talk(session, *CHAT)
        found = session.select("cyd", CANDIDATES)
        assert {(each.addressee, each.candidate) for each in found} == set(
            product(("ada", "bob", "dee"), range(3))
        )
        assert len(found) == 9
        assert sum(each.probability for each in found) == pytest.approx(1)
        assert all(each.response == CANDIDATES[each.candidate] for each in found)
        values = [each.probability for each in found]
        assert values == sorted(values, reverse=True)

    @pytest.mark.parametrize("system", NEURAL)
    def test_temperature_changes_how_sure_not_what(self, system: str) -> None:
        sure, unsure = (
            Model(saved_model(system, live={"pairs": {"temperature": temperature}})).session()
            for temperature in (0.25, 4.0)
        )
        for each in (sure, unsure):
            talk(each, *CHAT)
        first, second = sure.select("cyd", CANDIDATES), unsure.select("cyd", CANDIDATES)
        order = [(each.addressee, each.candidate) for each in first]
        assert order == [(each.addressee, each.candidate) for each in second]
        assert first[0].probability > second[0].probability

    def test_nobody_has_spoken(self, model: Model) -> None:
        found = model.session().select("ada", CANDIDATES)
        assert {(each.addressee, each.candidate) for each in found} == {(None, 0), (None, 1), (None, 2)}
        assert sum(each.probability for each in found) == pytest.approx(1)

    def test_nobody_else_is_there(self, model: Model) -> None:
        session = model.session()
        talk(session, "ada> tea", "ada> milk")
        found = session.select("ada", CANDIDATES)
        assert [each.addressee for each in found] == [None] * 3

    def test_only_who_is_in_the_context(self, bare: Model) -> None:
        session = bare.session()
        talk(session, "eve> tea", *["ada> milk", "bob> tea"] * 3)
        assert {each.addressee for each in session.select("cyd", ["tea"])} == {"ada", "bob"}

    def test_a_responder_who_has_not_spoken(self, session: Session) -> None:
        assert {each.addressee for each in session.select("eve", ["tea"])} == {"ada", "bob", "cyd", "dee"}

    def test_candidates_that_are_the_same(self, session: Session) -> None:
        found = session.select("cyd", ["tea", "tea"])
        by_place = {(each.addressee, each.candidate): each.probability for each in found}
        for name in ("ada", "bob", "dee"):
            assert by_place[name, 0] == pytest.approx(by_place[name, 1], abs=1e-7)

    def test_odd_candidates(self, session: Session) -> None:
        found = session.select("cyd", ["", "   ", "🫖" * 50_000, "tea " * 25_000, ":", "bob:"])
        assert len(found) == 5 * 3 + 1  # the last calls bob, and says nothing else
        assert {each.addressee for each in found if each.candidate == 5} == {"bob"}
        assert sum(each.probability for each in found) == pytest.approx(1)

    @pytest.mark.parametrize("candidates", [[], (), "tea"])
    def test_none(self, session: Session, candidates: list[str]) -> None:
        with pytest.raises(
            SessionError, match="there is no candidate to select from; give a list of one or more"
        ):
            session.select("ada", candidates)


class TestCandidatesThatName:
    @pytest.mark.parametrize("candidate", ["bob: milk", "@bob, milk"])
    def test_are_for_them(self, session: Session, candidate: str) -> None:
        found = session.select("cyd", ["tea", candidate])
        assert {each.addressee for each in found if each.candidate == 1} == {"bob"}
        assert {each.addressee for each in found if each.candidate == 0} == {"ada", "bob", "dee"}
        assert sum(each.probability for each in found) == pytest.approx(1)
        assert {each.response for each in found} == {"tea", candidate}

    def test_by_another_name(self, bare: Model) -> None:
        session = bare.session()
        session.introduce("helper", "hb")
        talk(session, "ada> tea", "helper> milk")
        assert [each.addressee for each in session.select("bob", ["HB: thanks"])] == ["helper"]

    def test_the_name_is_not_part_of_what_is_said(self, session: Session) -> None:
        named = session.select("cyd", ["bob: milk", "tea"])
        plain = session.select("cyd", ["milk", "tea"])
        allowed = {
            (each.addressee, each.candidate): each.probability
            for each in plain
            if each.candidate == 1 or each.addressee == "bob"
        }
        total = sum(allowed.values())
        for each in named:
            assert each.probability == pytest.approx(allowed[each.addressee, each.candidate] / total)

    def test_the_responder(self, session: Session) -> None:
        found = session.select("cyd", ["cyd: note to self"])
        assert {each.addressee for each in found} == {"ada", "bob", "dee"}


class TestNothingChanges:
    def test_asked_again(self, model: Model) -> None:
        session, other = model.session(), model.session()
        for each in (session, other):
            talk(each, *CHAT)
        first = session.select("eve", [*CANDIDATES, "bob: tea"])
        assert session.select("eve", [*CANDIDATES, "bob: tea"]) == first
        assert session.is_for("bob") == other.is_for("bob")
        assert talk(session, "ada> eve: hello") == talk(other, "ada> eve: hello")

    def test_the_ranker_has_no_say(self, bare: Model) -> None:
        ranked = Model(saved_model(ranker=random_ranker())).session()
        plain = bare.session()
        for each in (ranked, plain):
            talk(each, *CHAT)
        assert ranked.select("cyd", CANDIDATES) == plain.select("cyd", CANDIDATES)


def test_closest_names(bare: Model) -> None:
    session = bare.session()
    session.introduce("Weather")
    talk(session, "Ada> tea", "adam> tea", "bob> tea")
    assert set(session.closest_names("ADA")) == {"Ada", "adam"}
    assert session.closest_names("wether") == ["Weather"]
    assert session.closest_names("zzz") == []


class TestCandidatesThatNameSomebody:
    def test_who_has_not_spoken(self, model: Model) -> None:
        session = model.session()
        session.introduce("helper")
        talk(session, "ada> tea", "bob> milk")
        found = session.select("ada", ["helper: milk", "tea"])
        assert {(each.addressee, each.candidate) for each in found} == {("helper", 0), ("bob", 1)}
        assert sum(each.probability for each in found) == pytest.approx(1)

    def test_where_nobody_else_is_there(self, model: Model) -> None:
        session = model.session()
        session.introduce("helper")
        talk(session, "ada> tea")
        found = session.select("ada", ["helper: milk", "tea"])
        assert {(each.addressee, each.candidate) for each in found} == {("helper", 0), (None, 1)}

    def test_one_name_is_cut(self, model: Model) -> None:
        session = model.session()
        talk(session, "ada> tea", "bob> milk", "cyd> the door")
        one = session.select("cyd", ["bob: ada: milk"])
        assert [each.addressee for each in one] == ["bob"]
        _, turns, _, to = session.question("cyd", ["bob: ada: milk"])
        assert (turns[-1].utterance.text, to) == ("ada: milk", ["bob"])
