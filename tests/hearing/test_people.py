"""Who can be addressed, and by which names."""

from __future__ import annotations

import pytest

from towhom import people as module
from towhom.people import REMEMBERED, People


@pytest.fixture
def people() -> People:
    people = People()
    people.introduce("Helper", ["hb", "Tea Bot"])
    for name in ("ada", "bob", "Grace Hopper"):
        people.heard(name)
    return people


class TestNamesInFront:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("ada: tea", ("ada", "tea")),
            ("ada , tea", ("ada", "tea")),
            ("@ada; tea", ("ada", "tea")),
            ("Grace Hopper: tea", ("Grace Hopper", "tea")),
            ("@helper: tea", ("Helper", "tea")),
            ("HB, tea", ("Helper", "tea")),
            ("Tea Bot: tea", ("Helper", "tea")),
            ("ada: bob: tea", ("ada", "bob: tea")),
            ("Ada: tea", None),  # people who have spoken are who they are
            ("@@ada: tea", None),
            ("grace: tea", None),
            ("eve: tea", None),
            ("ada:tea", None),
            ("ada:", None),
            ("tea ada: tea", None),
            ("", None),
            (": tea", None),
        ],
    )
    def test_who(self, people: People, text: str, found: tuple[str, str] | None) -> None:
        assert people.named_in_front(text) == found

    @pytest.mark.parametrize(
        "name", ["[ada]", "a.b*c+", "(x|y)", "\\d", "$^", "a|b", "c++", "ada:bob", "@ada"]
    )
    @pytest.mark.parametrize("form", ["{}", "{} the first"])
    def test_names_of_signs(self, name: str, form: str) -> None:
        people = People()
        people.heard(form.format(name))
        assert people.named_in_front(f"{form.format(name)}: tea") == (form.format(name), "tea")
        assert people.named_in_front("dd: tea") is None

    def test_the_longest_name(self) -> None:
        people = People()
        for name in ("Ada", "Ada L.", "Ada L. B."):
            people.heard(name)
        assert people.named_in_front("Ada L. B.: tea") == ("Ada L. B.", "tea")
        assert people.named_in_front(" Ada L., tea") == ("Ada L.", "tea")
        assert people.named_in_front("Ada: tea") == ("Ada", "tea")
        assert people.named_in_front("Ada X.: tea") is None


class TestKnownAs:
    @pytest.mark.parametrize(
        ("name", "who"),
        [
            ("ada", "ada"),
            ("@ada", "ada"),
            ("ADA", None),
            ("helper", "Helper"),
            ("@HB", "Helper"),
            ("eve", None),
        ],
    )
    def test_who(self, people: People, name: str, who: str | None) -> None:
        assert people.known_as(name) == who

    def test_somebody_whose_name_is_an_alias(self, people: People) -> None:
        people.heard("hb")
        assert people.known_as("hb") == "hb"
        assert people.known_as("HB") == "Helper"


class TestWordsThatAreNames:
    @pytest.mark.parametrize("word", ["ada", "grace", "hopper", "helper", "hb", "bot"])
    def test_are(self, people: People, word: str) -> None:
        assert people.is_name(word)

    @pytest.mark.parametrize("word", ["eve", "ad", "", "Ada"])
    def test_are_not(self, people: People, word: str) -> None:
        assert not people.is_name(word)

    def test_mentioned(self, people: People) -> None:
        assert people.mentioned(("hb", "tea", "ada"), ("tea",)) == {"Helper"}
        assert people.mentioned(("hb", "tea", "ada"), ("ada",)) == {"Helper", "ada"}
        assert people.mentioned(("tea",), ("tea",)) == set()


class TestForgetting:
    def test_new_or_not(self, people: People) -> None:
        assert people.heard("eve")
        assert not people.heard("eve")
        assert not people.heard("ada")

    def test_who_was_silent_longest(self, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "REMEMBERED", 3)
        people.heard("ada")  # now bob is the one
        people.heard("eve")
        assert list(people.names) == ["Grace Hopper", "ada", "eve"]
        assert people.named_in_front("bob: tea") is None
        assert not people.is_name("bob")
        assert people.heard("bob")
        assert people.named_in_front("bob: tea") == ("bob", "tea")

    def test_a_part_that_another_has_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "REMEMBERED", 2)
        people = People()
        for name in ("Ada Lovelace", "ada", "eve"):
            people.heard(name)
        assert people.is_name("ada")
        assert not people.is_name("lovelace")

    def test_who_was_introduced_is_not_forgotten(self, people: People) -> None:
        people.heard("Helper")
        for number in range(REMEMBERED):
            people.heard(f"guest{number}")
        assert "Helper" not in people.names
        assert people.named_in_front("hb: tea") == ("Helper", "tea")
        assert people.is_name("helper")

    def test_however_many(self) -> None:
        people = People()
        for number in range(20_000):
            people.heard(f"guest{number}")
        assert len(people.names) == REMEMBERED
        assert not people.is_name("guest5")
        assert people.is_name("guest19999")
        assert sum(people.is_name(f"guest{number}") for number in range(20_000)) == REMEMBERED


class TestManyNames:
    def test_of_several_words(self) -> None:
        """Each newcomer costs the same: nothing is built anew from all the names there are."""
        people = People()
        for number in range(3 * REMEMBERED):
            people.heard(f"Guest Number{number}")
        assert people.named_in_front(f"Guest Number{3 * REMEMBERED - 1}: tea") is not None
        assert people.named_in_front("Guest Number0: tea") is None
        assert sum(map(len, people._long.values())) == REMEMBERED
