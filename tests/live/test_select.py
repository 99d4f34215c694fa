"""Which response, and to whom."""

from __future__ import annotations

from itertools import product

import pytest

from tests.live.conftest import talk
from towhom.errors import SessionError
from towhom.hearing.utterance import REACH
from towhom.live import Model, Session

CHAT = ("ada> is the door open ?", "bob> ada: the kettle is", "cyd> milk", "ada> thanks", "dee> bob: tea ?")
CANDIDATES = ["tea", "the milk is open", "thanks"]


@pytest.fixture
def session(mixed: Model) -> Session:
    session = mixed.session()
    talk(session, *CHAT)
    return session


class TestPairs:
    def test_all_of_them_add_up_to_one(self, model: Model) -> None:
        session = model.session()
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

    def test_they_depend_on_all(self, soft: Model) -> None:
        """On what is said, to whom, by whom, and on what was said before."""
        session, other = soft.session(), soft.session()
        talk(session, *CHAT)
        talk(other, "ada> tea", *CHAT[1:])

        def pairs(asked: Session, who: str) -> dict[tuple[str | None, int], float]:
            return {
                (each.addressee, each.candidate): each.probability for each in asked.select(who, CANDIDATES)
            }

        found = pairs(session, "eve")
        assert len({round(value, 6) for value in found.values()}) == len(found) == 12
        assert pairs(other, "eve") != pytest.approx(found, abs=1e-5)
        assert pairs(session, "fay") == pytest.approx(found)
        assert pairs(session, "bob") != pytest.approx(pairs(session, "cyd"), abs=1e-5)

    def test_nobody_has_spoken(self, model: Model) -> None:
        found = model.session().select("ada", CANDIDATES)
        assert {(each.addressee, each.candidate) for each in found} == {(None, 0), (None, 1), (None, 2)}
        assert sum(each.probability for each in found) == pytest.approx(1)

    def test_nobody_else_is_there(self, model: Model) -> None:
        session = model.session()
        talk(session, "ada> tea", "ada> milk")
        found = session.select("ada", CANDIDATES)
        assert [each.addressee for each in found] == [None] * 3

    def test_only_who_is_within_reach(self, model: Model) -> None:
        session = model.session()
        talk(session, "eve> tea", *["ada> milk", "bob> tea"] * (REACH // 2 - 1), "ada> milk")
        assert {each.addressee for each in session.select("cyd", ["tea"])} == {"ada", "bob", "eve"}
        talk(session, "bob> tea")
        assert {each.addressee for each in session.select("cyd", ["tea"])} == {"ada", "bob"}

    def test_an_own_line_leads_to_whom_it_was_for(self, ruled: Model) -> None:
        session = ruled.session()
        talk(session, "bob> milk", "cyd> the door", "ada> bob: tea", "ada> and sugar")
        found = {each.addressee: each.probability for each in session.select("ada", ["thanks"])}
        assert set(found) == {"bob", "cyd"}
        assert found["bob"] > found["cyd"]

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

    def test_by_another_name(self, mixed: Model) -> None:
        session = mixed.session()
        session.introduce("helper", "hb")
        talk(session, "ada> tea", "helper> milk")
        assert [each.addressee for each in session.select("bob", ["HB: thanks"])] == ["helper"]

    @pytest.mark.parametrize("text", ["milk", "is the door open ?"])
    def test_the_name_is_not_part_of_what_is_said(self, session: Session, text: str) -> None:
        """However it is spelled, and whatever stands between."""
        named, same = (session.select("cyd", [f"{front}{text}", "tea"]) for front in ("bob: ", "BOB,  "))
        assert [each.probability for each in named] == pytest.approx([each.probability for each in same])
        assert [each.addressee for each in named] == [each.addressee for each in same]

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


def test_closest_names(mixed: Model) -> None:
    session = mixed.session()
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
