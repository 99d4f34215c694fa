"""Who is there, and by which names."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.costs import check_growth, seconds
from towhom.hearing import people as module
from towhom.hearing.people import REMEMBERED, People
from towhom.hearing.spelling import LONGEST_NAME, folded, one_slip, shown_name


@pytest.fixture
def people() -> People:
    people = People()
    people.introduce("Helper", aliases=["hb", "Tea Bot"])
    for name in ("ada", "bob", "Grace Hopper"):
        people.hear(name)
    return people


def found(people: People, name: str) -> str | None:
    person = people.find(name)
    return None if person is None else person.id


class TestFind:
    @pytest.mark.parametrize(
        ("name", "who"),
        [
            ("ada", "ada"),
            ("@ada", "ada"),
            ("ADA", "ada"),
            ("helper", "Helper"),
            ("@HB", "Helper"),
            ("tea bot", "Helper"),
            ("grace hopper", "Grace Hopper"),
            ("eve", None),
            ("@", None),
            ("", None),
        ],
    )
    def test_who(self, people: People, name: str, who: str | None) -> None:
        assert found(people, name) == who

    def test_an_identifier_before_a_name(self, people: People) -> None:
        people.hear("hb")
        assert found(people, "hb") == "hb"

    def test_the_same_letters_before_others(self) -> None:
        people = People()
        for name in ("Ada", "ada"):
            people.hear(name)
        assert [found(people, name) for name in ("Ada", "ada", "ADA")] == ["Ada", "ada", "ada"]
        people.hear("Ada")
        assert found(people, "ADA") == "Ada"


class TestIdsAndNames:
    def test_a_name_beside_an_identifier(self) -> None:
        people = People()
        people.hear("17", name="Ann")
        assert (people.name_of("17"), found(people, "ann"), found(people, "17")) == ("Ann", "17", "17")
        assert people.called("ann") == ("17",)
        assert people.is_name("ann")

    def test_the_platform_shows_another_name(self) -> None:
        people = People()
        people.hear("17", name="Ann")
        people.hear("17", name="Anna")
        assert (people.name_of("17"), people.called("anna"), people.called("ann")) == ("Anna", ("17",), ())
        people.hear("17")
        assert people.name_of("17") == "Anna"

    def test_somebody_unknown(self, people: People) -> None:
        assert (people.name_of("eve"), people.get("eve"), people.id_of("eve")) == ("eve", None, "eve")

    def test_introduced_twice(self, people: People) -> None:
        person = people.introduce("Helper", aliases=["hb", "h2"], bot=True)
        assert (person.aliases, person.bot) == (("hb", "Tea Bot", "h2"), True)
        assert len(people) == 4

    def test_introduced_with_a_name(self) -> None:
        people = People()
        people.introduce("U17", name="Hermes Bot", aliases=["hb"], bot=True)
        assert [found(people, name) for name in ("hermes bot", "HB", "U17")] == ["U17"] * 3
        assert people.called("hermes") == ("U17",)
        assert (people.spoken, people.speakers, len(people)) == (0, [], 1)

    def test_who_has_spoken(self, people: People) -> None:
        assert people.speakers == ["ada", "bob", "Grace Hopper"]
        people.hear("ada")
        assert people.speakers == ["bob", "Grace Hopper", "ada"]
        assert people.spoken == 3
        assert [person.id for person in people.introduced] == ["Helper"]


class TestCalled:
    @pytest.mark.parametrize(
        ("name", "who"),
        [
            ("noor_", "noor"),
            ("[[mandrix]]", "mandrix"),
            ("-=tom=-", "tom"),
            ("^nick^", "nick"),
            ("noor|away", "noor|away"),
            ("noor123", "noor"),
            ("Grace Hopper", "grace"),
            ("José", "jose"),
            ("Jörg", "joerg"),
            ("Jörg", "jorg"),
            ("Алёна", "алена"),
            ("أحمد", "احمد"),
            ("김민수", "민수"),
            ("Анна", "анн"),
        ],
    )
    def test_by_a_short_form(self, name: str, who: str) -> None:
        people = People()
        people.hear(name)
        assert people.called(who) == (name,)

    def test_the_whole_name_before_a_short_form(self) -> None:
        people = People()
        for name in ("noor_", "noor"):
            people.hear(name)
        assert people.called("noor") == ("noor",)

    def test_of_many_nobody(self) -> None:
        people = People()
        for number in range(5):
            people.hear(f"guest{number}")
        assert people.called("guest") == ()
        assert people.called("guest3") == ("guest3",)

    def test_two_people_of_one_name(self) -> None:
        people = People()
        for id in ("17", "18"):
            people.hear(id, name="Ann Lee")
        assert set(people.called("ann lee")) == {"17", "18"}
        assert found(people, "ann lee") == "18"
        people.hear("17")
        assert (found(people, "ann lee"), people.latest(["17", "18"])) == ("17", "17")

    def test_one_of_two_people_of_one_name_gets_another(self) -> None:
        people = People()
        for id in ("17", "18"):
            people.hear(id, name="Ann Lee")
        people.hear("17", name="Eve")
        assert people.called("ann lee") == ("18",)
        assert people.long_names("ann") == ["ann lee"]
        assert people.is_name("lee")
        people.hear("18", name="Zoe")
        assert people.called("ann lee") == ()
        assert people.long_names("ann") == []
        assert not people.is_name("lee")

    def test_the_longest_name_first(self) -> None:
        people = People()
        for name in ("Ada", "Ada L.", "Ada L. B."):
            people.hear(name)
        assert people.long_names("ada") == ["ada l. b.", "ada l."]

    @pytest.mark.parametrize(
        ("name", "first"), [("fay|afk", "fay"), ("a\\b", "a"), ("c++", "c"), ("(x|y)", "")]
    )
    def test_names_with_signs_that_end_a_word(self, name: str, first: str) -> None:
        people = People()
        people.hear(name)
        assert people.long_names(first) == [name]


class TestMeant:
    def test_a_prefix(self) -> None:
        people = People()
        people.hear("hermesbot")
        assert people.meant("hermes") == ("hermesbot",)
        assert people.meant("her") == ()
        people.hear("hermesdog")
        assert people.meant("hermes") == ()

    @pytest.mark.parametrize("typed", ["hermsebot", "hermsbot", "hermessbot", "hermezbot"])
    def test_a_typing_error(self, typed: str) -> None:
        people = People()
        people.hear("hermesbot")
        assert people.meant(typed) == ("hermesbot",)
        assert people.meant(typed, slips=False) == ()

    @settings(max_examples=300, deadline=None)
    @given(st.text("abc", min_size=6, max_size=8), st.text("abc", min_size=6, max_size=8))
    def test_as_slips_say(self, typed: str, name: str) -> None:
        people = People()
        people.hear(name)
        assert (people.meant(typed) == (name,)) == (one_slip(typed, name) or name.startswith(typed))

    @pytest.mark.parametrize("typed", ["hxrmxsbot", "hermesbxx", "ada", "adb"])
    def test_too_many_errors_or_too_short(self, typed: str) -> None:
        people = People()
        people.hear("hermesbot")
        people.hear("adc")
        assert people.meant(typed) == ()

    @pytest.mark.parametrize(
        ("one", "other", "slip"),
        [("abc", "abc", True), ("abc", "abcd", True), ("abcd", "abc", True), ("abc", "acb", True),
         ("abc", "axc", True), ("abc", "xyc", False), ("abc", "abcde", False), ("", "a", True)],
    )  # fmt: skip
    def test_slips(self, one: str, other: str, slip: bool) -> None:
        assert one_slip(one, other) is slip


class TestRenames:
    def test_back_and_forth(self) -> None:
        people = People()
        people.hear("ada")
        before = people.state()
        for _ in range(50):
            people.rename("ada", "ada_away")
            assert (people.name_of("ada"), people.id_of("ada_away")) == ("ada_away", "ada")
            people.rename("ada_away", "ada")
        person = people.get("ada")
        assert person is not None
        assert (person.id, person.name, person.names) == ("ada", "ada", ("ada", "ada_away"))
        assert (len(people), len(people.state()), len(before)) == (1, 1, 1)
        assert len(people._ids) == 1

    def test_two_who_exchange_their_names(self) -> None:
        people = People()
        for name in ("ada", "bob"):
            people.hear(name)
        for old, new in (("ada", "tmp"), ("bob", "ada"), ("tmp", "bob")):
            people.rename(old, new)
        assert (people.id_of("ada"), people.id_of("bob")) == ("bob", "ada")
        assert (people.name_of("ada"), people.name_of("bob")) == ("bob", "ada")
        assert people.hear("bob").id == "ada"
        other = People()
        other.resume(json.loads(json.dumps(people.state())))
        assert other.state() == people.state()
        assert (other.id_of("ada"), other.id_of("bob")) == ("bob", "ada")

    def test_a_name_that_another_had(self) -> None:
        """bob was called ada for a while; now ada has her name back."""
        people = People()
        for name in ("ada", "bob"):
            people.hear(name)
        for old, new in (("ada", "eve"), ("bob", "ada"), ("ada", "bob"), ("eve", "ada")):
            people.rename(old, new)
        assert [people.id_of(name) for name in ("ada", "bob", "eve")] == ["ada", "bob", "ada"]
        other = People()
        other.resume(json.loads(json.dumps(people.state())))
        assert [other.id_of(name) for name in ("ada", "bob", "eve")] == ["ada", "bob", "ada"]

    def test_parts_of_names_that_another_has(self) -> None:
        people = People()
        for name in ("ada", "eve lee"):
            people.hear(name)
        people.rename("ada", "eve")
        people.rename("eve", "zoe")
        people.rename("zoe", "ada")
        assert people.is_name("eve")
        assert people.is_name("lee")

    @pytest.mark.parametrize(("old", "new"), [("ada", "ada"), ("zoe", "yan"), ("ada", ""), ("ada", "  ")])
    def test_that_are_none(self, people: People, old: str, new: str) -> None:
        before = people.state()
        people.rename(old, new)
        assert people.state() == before

    def test_by_the_name_that_is_shown(self) -> None:
        people = People()
        people.hear("17", name="Ann")
        people.rename("Ann", "Anna")
        assert (people.name_of("17"), people.called("ann")) == ("Anna", ("17",))

    def test_many(self) -> None:
        """The latest are remembered, and the first."""
        people = People()
        people.hear("n0")
        for number in range(100):
            people.rename(f"n{number}", f"n{number + 1}")
        person = people.get("n100")
        assert person is not None
        assert (person.id, person.name, len(person.keys)) == ("n0", "n100", 20)
        assert people.id_of("n99") == "n0"
        assert people.id_of("n5") == "n5"
        assert people.called("n100") == ("n0",)


class TestWordsThatAreNames:
    @pytest.mark.parametrize("word", ["ada", "grace", "hopper", "helper", "hb", "bot"])
    def test_are(self, people: People, word: str) -> None:
        assert people.is_name(word)

    @pytest.mark.parametrize("word", ["eve", "ad", "", "Ada"])
    def test_are_not(self, people: People, word: str) -> None:
        assert not people.is_name(word)


class TestRoomOfTwo:
    def test_only_with_somebody_who_was_introduced(self) -> None:
        people = People()
        people.hear("ada")
        people.introduce("robo")
        assert people.only_other("ada") == "robo"
        assert people.only_other("robo") is None
        assert people.only_other("zoe") is None  # with her, there are three
        people.hear("bob")
        assert people.only_other("ada") is None


class TestForgetting:
    def test_who_was_silent_longest(self, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "REMEMBERED", 3)
        people.hear("ada")  # now bob is the one
        people.hear("eve")
        assert people.speakers == ["Grace Hopper", "ada", "eve"]
        assert (found(people, "bob"), people.called("bob"), people.is_name("bob")) == (None, (), False)
        people.hear("bob")
        assert (found(people, "bob"), people.called("bob")) == ("bob", ("bob",))

    def test_a_part_that_another_has_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "REMEMBERED", 2)
        people = People()
        for name in ("Ada Lovelace", "ada", "eve"):
            people.hear(name)
        assert people.is_name("ada")
        assert not people.is_name("lovelace")

    def test_who_was_introduced_is_not_forgotten(self, people: People) -> None:
        people.hear("Helper")
        for number in range(REMEMBERED):
            people.hear(f"guest{number}")
        assert "Helper" not in people.speakers
        assert (found(people, "hb"), people.is_name("helper")) == ("Helper", True)

    def test_with_all_their_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "REMEMBERED", 1)
        people = People()
        people.hear("ada")
        people.rename("ada", "eve")
        people.rename("eve", "ada")
        people.hear("bob")
        assert [found(people, name) for name in ("ada", "eve")] == [None, None]
        assert people._ids == {}
        assert set(people._exact) == {"bob"}
        assert people._sorted == ["bob"]

    def test_however_many(self) -> None:
        people = People()
        for number in range(20_000):
            people.hear(f"guest{number}")
        assert len(people) == people.spoken == REMEMBERED
        assert not people.is_name("guest5")
        assert people.is_name("guest19999")
        assert sum(people.is_name(f"guest{number}") for number in range(20_000)) == REMEMBERED

    def test_many_of_several_words(self) -> None:
        people = People()
        hear_guests(people, range(3 * REMEMBERED))
        last = 3 * REMEMBERED - 1
        assert people.long_names(f"guest{last}") == [f"guest{last} number{last}"]
        assert people.long_names("guest0") == []
        assert sum(map(len, people._first_words.values())) == REMEMBERED

    def test_each_newcomer_costs_the_same(self) -> None:
        """Nothing is built anew from all the names there are."""

        def cost(times: int) -> float:
            people, count = People(), times * REMEMBERED // 4
            hear_guests(people, range(count))
            return seconds(lambda: hear_guests(people, range(count, 2 * count)))

        check_growth(cost)


def hear_guests(people: People, numbers: Iterable[int]) -> None:
    for number in numbers:
        people.hear(f"Guest{number} Number{number}")


def hear_long(people: People, length: int) -> None:
    for letter in "abcde":
        people.hear(letter * length, name=f"{letter} " * (length // 2))
        people.hear(letter * length)
        people.rename(letter * length, letter * (length - 1))


class TestOddNames:
    def test_very_long(self) -> None:
        people = People()
        hear_long(people, 10_000)
        assert len(people) == 5
        assert all(len(person.name) <= LONGEST_NAME for person in people)
        assert people.hear("a" * 10_000).id == "a" * 10_000
        assert people.hear("b" * 9_999).id == "b" * 10_000
        check_growth(lambda times: seconds(lambda: hear_long(People(), 10_000 * times)))

    def test_empty(self) -> None:
        people = People()
        for name in ("", " ", "\t", "\u200b"):
            people.hear(name)
        assert len(people) == 4
        assert people.called("") == ()
        assert people.find("ada") is None
        assert people.name_of("") == ""

    @pytest.mark.parametrize("control", ["\u202e", "\u2066", "\u200f", "\u061c", "\ufeff", "\x00"])
    def test_controls_are_not_shown(self, control: str) -> None:
        """Text that is turned around could pass for another name."""
        people = People()
        people.hear("17", name=f"{control}ada{control}")
        assert people.name_of("17") == "ada"
        assert people.called("ada") == ("17",)
        assert shown_name(f"{control}ada") == "ada"

    def test_full_width(self) -> None:
        people = People()
        people.hear("Ｒｏｂｏ")
        assert people.called("robo") == ("Ｒｏｂｏ",)
        assert found(people, "robo") == "Ｒｏｂｏ"

    def test_folded(self) -> None:
        assert [folded(name) for name in ("josé", "алёна", "ada", "łukasz")] == [
            "jose",
            "алена",
            "ada",
            "łukasz",
        ]


class TestState:
    def test_goes_on(self, people: People) -> None:
        people.hear("17", name="José", bot=True)
        people.rename("bob", "robert")
        other = People()
        other.resume(json.loads(json.dumps(people.state())))
        assert other.state() == people.state()
        for index in (
            "_ids",
            "_exact",
            "_loose",
            "_first_words",
            "_attached",
            "_sorted",
            "_parts",
            "_spoken",
        ):
            assert getattr(other, index) == getattr(people, index), index

    @settings(max_examples=100, deadline=None)
    @given(st.data())
    def test_of_anything_that_happens(self, data: st.DataObject) -> None:
        """What is looked up is the same as if only the result were known."""
        names = st.sampled_from(
            ("ada", "bob", "Ada", "Ada L.", "Ada L. B.", "bob_", "李雷", "", "a|b", "José")
        )
        people = People()
        for _ in range(data.draw(st.integers(0, 12))):
            one, other = data.draw(names), data.draw(names)
            what = data.draw(st.sampled_from(("hear", "show", "introduce", "rename", "rename")))
            if what == "hear":
                people.hear(one)
            elif what == "show":
                people.hear(one, name=other)
            elif what == "introduce":
                people.introduce(one, aliases=[other])
            else:
                people.rename(one, other)
        again = People()
        again.resume(json.loads(json.dumps(people.state())))
        assert again.state() == people.state()
        assert again._ids == people._ids
        assert (again._sorted, again._parts, again._attached) == (
            people._sorted,
            people._parts,
            people._attached,
        )
        for index in ("_exact", "_loose", "_first_words"):
            ours, theirs = getattr(people, index), getattr(again, index)
            assert {key: set(value) for key, value in ours.items()} == {
                key: set(value) for key, value in theirs.items()
            }, index
