"""What is heard of a message: whom it calls, what it is made of, and what is remembered of the room."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests.costs import check_growth, seconds
from tests.live.conftest import VOCABULARY
from towhom.chat import Kind, Message
from towhom.hearing import ear as module
from towhom.hearing.ear import Ear
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.manners import SURE, Manner
from towhom.hearing.people import REMEMBERED
from towhom.hearing.utterance import LONGEST, REACH, Utterance
from towhom.text.pieces import pieces_of

LEXICON = Lexicon(VOCABULARY, None)
"""Of its ten words, "tea" is among the frequent ones and "thanks" among the rare."""


def hear(ear: Ear, line: str) -> Utterance:
    """A line like `ada> hello`."""
    speaker, _, text = line.partition("> ")
    return ear.hear(Message(speaker, text))


@pytest.fixture
def ear() -> Ear:
    """Of a room in which ada, bob and cyd have said something."""
    ear = Ear(LEXICON)
    for name in ("ada", "bob", "cyd"):
        ear.hear(Message(name, "tea"))
    return ear


class TestCalls:
    @pytest.mark.parametrize(
        "text",
        ["bob: tea", "bob, tea", "bob; tea", "  bob : tea", "BOB: tea", "bob> tea", "@bob tea", "@bob: tea"],
    )
    def test_in_front(self, ear: Ear, text: str) -> None:
        found = hear(ear, f"ada> {text}")
        assert (found.addressees, found.mentions, found.text) == (("bob",), (), "tea")

    @pytest.mark.parametrize("text", ["bob tea", "Bob tea", "bob:: tea", "tea, bob", "thanks bob"])
    def test_in_other_manners(self, ear: Ear, text: str) -> None:
        assert hear(ear, f"ada> {text}").addressee == "bob"

    @pytest.mark.parametrize("text", ["tea for bob", "", "bobby tea", "boben, tea", "zoe, tea", "milk"])
    def test_nobody(self, ear: Ear, text: str) -> None:
        found = hear(ear, f"ada> {text}")
        assert (found.addressee, found.stranger) == (None, False)

    @pytest.mark.parametrize("text", ["zoe: tea", "Zoe: tea ?", "@zoe: tea", "note: the tea"])
    def test_a_stranger(self, ear: Ear, text: str) -> None:
        """A word with a colon, and something after it; the text stays."""
        found = hear(ear, f"ada> {text}")
        assert (found.addressee, found.stranger, found.text) == (None, True, text)

    @pytest.mark.parametrize("text", ["zoe:", "zoe: ", "hi: tea", ":: tea", "bob: tea"])
    def test_no_stranger(self, ear: Ear, text: str) -> None:
        assert not hear(ear, f"ada> {text}").stranger

    def test_nobody_calls_themselves(self, ear: Ear) -> None:
        assert hear(ear, "ada> ADA: is here").calls == ()

    def test_several(self, ear: Ear) -> None:
        found = hear(ear, "ada> bob, cyd: tea")
        assert (set(found.addressees), found.text) == ({"bob", "cyd"}, "tea")

    def test_everybody(self, ear: Ear) -> None:
        assert hear(ear, "ada> hi all, the tea is open").everybody
        assert not hear(ear, "ada> the tea is open").everybody

    def test_a_common_word_needs_a_mark(self, ear: Ear) -> None:
        hear(ear, "tea> milk")
        assert hear(ear, "ada> tea is open").addressee is None
        assert hear(ear, "ada> Tea: is it open").addressee == "tea"

    def test_who_is_talked_about_is_a_mention(self, ear: Ear) -> None:
        found = hear(ear, "ada> bob: ask cyd")
        assert (found.addressees, found.mentions) == (("bob",), ("cyd",))

    def test_each_once(self, ear: Ear) -> None:
        found = hear(ear, "dee> bob: the tea of bob, and of BOB")
        assert [call.who for call in found.calls] == ["bob"]

    @pytest.mark.parametrize(
        "name", ["fay|afk", "a\\b", "c++", "[x]", "ada:bob", "R&D", "Ann (work)", "(", "^_^"]
    )
    def test_names_with_signs(self, ear: Ear, name: str) -> None:
        ear.hear(Message(name, "milk"))
        found = ear.hear(Message("bob", f"{name}: the door"))
        assert (found.addressees, found.text) == ((name,), "the door")

    def test_a_text_of_nothing_but_names(self, ear: Ear) -> None:
        assert hear(ear, "ada> " + "bob: " * 1000).addressee == "bob"
        check_growth(lambda times: seconds(lambda: hear(ear, "ada> " + "bob: " * 1000 * times)))


class TestWhatThePlatformSays:
    def test_whom_it_is_for(self, ear: Ear) -> None:
        """Whoever is named in front, too, comes after them; the text is left whole."""
        found = ear.hear(Message("ada", "cyd: the tea", addressee="bob"))
        assert found.calls[0] == ("bob", Manner.GIVEN, SURE[Manner.GIVEN])
        assert (found.addressee, found.text) == ("bob", "cyd: the tea")

    @pytest.mark.parametrize("given", ["bob", "BOB", "@bob"])
    def test_by_any_of_their_names(self, ear: Ear, given: str) -> None:
        assert ear.hear(Message("ada", "tea", addressee=given)).addressees == ("bob",)

    def test_somebody_who_has_not_spoken(self, ear: Ear) -> None:
        assert ear.hear(Message("ada", "tea", addressee="zoe")).addressees == ("zoe",)

    def test_a_reply(self, ear: Ear) -> None:
        ear.hear(Message("bob", "milk", id="7"))
        found = ear.hear(Message("ada", "the tea", reply_to="7"))
        assert found.calls == (("bob", Manner.REPLY, SURE[Manner.REPLY]),)
        assert (found.reply_to, ear.author("7"), ear.author("8"), ear.author(None)) == (
            "7",
            "bob",
            None,
            None,
        )

    def test_a_reply_to_oneself_or_to_nothing(self, ear: Ear) -> None:
        ear.hear(Message("ada", "milk", id="7"))
        assert ear.hear(Message("ada", "the tea", reply_to="7")).calls == ()
        assert ear.hear(Message("ada", "the tea", reply_to="never")).calls == ()

    def test_the_last_with_an_identifier_is_meant(self, ear: Ear) -> None:
        ear.hear(Message("bob", "milk", id="7"))
        ear.hear(Message("cyd", "milk", id="7"))
        assert ear.hear(Message("ada", "the tea", reply_to="7")).addressees == ("cyd",)

    def test_mentions(self, ear: Ear) -> None:
        found = ear.hear(Message("ada", "the tea", mentions=("bob", "ada", "zoe")))
        assert found.addressees == ("bob", "zoe")
        assert {call.manner for call in found.calls} == {Manner.MENTION}

    def test_whole_numbers_and_names(self) -> None:
        ear = Ear(LEXICON)
        ear.hear(Message(17, "tea", name="Ann"))  # type: ignore[arg-type]
        found = ear.hear(Message(18, "ann: milk", name="Bob", bot=True))  # type: ignore[arg-type]
        assert (found.speaker, found.addressees, found.text) == ("18", ("17",), "milk")
        assert [(person.id, person.name, person.bot) for person in ear.people] == [
            ("17", "Ann", False),
            ("18", "Bob", True),
        ]


class TestCutting:
    @pytest.mark.parametrize(
        ("name", "text", "rest"),
        [
            ("李雷", "李雷：重启一下", "重启一下"),
            ("李雷", "李雷，Restart 它", "Restart 它"),
            ("robo", "Ｒｏｂｏ：重启一下？", "重启一下？"),
            ("hélène", "Hélène: ça marche ?", "ça marche ?"),
            ("hélène", "He\u0301le\u0300ne: ça marche ?", "ça marche ?"),
            ("أحمد", "أحمد: كيف الحال؟", "كيف الحال؟"),
            ("Мария", "Мария, ты здесь?", "ты здесь?"),
            ("İlker", "İlker: nasılsın", "nasılsın"),
            ("bob", "bob:   “quoted” – text", "“quoted” – text"),
            ("bob", "@bob: 🫖 ﬁne", "🫖 ﬁne"),
        ],
    )
    def test_the_rest_is_as_it_was_written(self, name: str, text: str, rest: str) -> None:
        ear = Ear(LEXICON)
        ear.hear(Message(name, "tea"))
        found = ear.hear(Message("ada", text))
        assert (found.addressees, found.text) == ((name,), rest)

    @settings(max_examples=100, deadline=None)
    @given(st.text(max_size=30))
    def test_of_anything(self, text: str) -> None:
        ear = Ear(LEXICON)
        ear.hear(Message("bob", "tea"))
        found = ear.hear(Message("ada", f"bob: {text}"))
        assert f"bob: {text}".endswith(found.text)


class TestDistances:
    def test_since_the_speaker_spoke(self) -> None:
        ear = Ear(LEXICON)
        found = [hear(ear, line) for line in ("ada> tea", "bob> tea", "bob> tea", "ada> tea")]
        assert [each.own for each in found] == [0, 0, 1, 3]

    def test_since_the_speaker_was_called(self, ear: Ear) -> None:
        said = ("ada> bob: tea", "cyd> tea", "bob> tea", "bob> cyd: tea", "cyd> tea", "bob> tea")
        assert [hear(ear, line).called for line in said] == [0, 0, 2, 3, 1, 5]

    def test_several_were_called(self, ear: Ear) -> None:
        hear(ear, "ada> bob, cyd: tea")
        assert [hear(ear, line).called for line in ("bob> tea", "cyd> tea")] == [1, 2]

    def test_a_mention_is_no_call(self, ear: Ear) -> None:
        hear(ear, "ada> the tea is for bob")
        assert hear(ear, "bob> tea").called == 0

    @pytest.mark.parametrize(("between", "distance"), [(REACH - 1, REACH), (REACH, 0)])
    def test_out_of_reach(self, ear: Ear, between: int, distance: int) -> None:
        hear(ear, "ada> bob: tea")
        for _ in range(between):
            hear(ear, "cyd> tea")
        assert hear(ear, "bob> tea").called == distance
        for _ in range(between):
            hear(ear, "cyd> tea")
        assert hear(ear, "bob> tea").own == distance

    def test_imagining_counts_nothing(self, ear: Ear) -> None:
        before = ear.state()
        found = ear.imagine(Message("zoe", "bob: tea", id="x"))
        assert (found.addressees, ear.state(), ear.count) == (("bob",), before, 3)


class TestWhatItIs:
    @pytest.mark.parametrize(
        ("text", "asks"),
        [("tea?", True), ("tea ?", True), ("茶？", True), ("tea", False), ("a.org/?x=1", False)],
    )
    def test_question(self, ear: Ear, text: str, asks: bool) -> None:
        assert hear(ear, f"ada> {text}").asks is asks

    @pytest.mark.parametrize(
        ("text", "command"), [("!tea", True), ("bob: !tea", True), ("tea!", False), (" !tea", False)]
    )
    def test_command(self, ear: Ear, text: str, command: bool) -> None:
        assert hear(ear, f"ada> {text}").command is command

    @pytest.mark.parametrize("kind", [Kind.MESSAGE, Kind.ACTION, Kind.NOTICE])
    def test_kind(self, ear: Ear, kind: Kind) -> None:
        assert ear.hear(Message("ada", "waves", kind=kind)).kind is kind

    def test_time(self, ear: Ear) -> None:
        """In seconds; without a zone as in Greenwich."""
        noon = datetime(1970, 1, 2, 12)
        for time in (noon, noon.replace(tzinfo=UTC), noon.replace(tzinfo=timezone(timedelta(hours=5)))):
            seconds = 36 * 3600 - (5 * 3600 if time.utcoffset() else 0)
            assert ear.hear(Message("ada", "tea", time=time)).time == seconds
        assert ear.hear(Message("ada", "tea")).time is None

    def test_words(self, ear: Ear) -> None:
        found = hear(ear, "ada> The kettle is OPEN")
        assert found.tokens.tolist() == [LEXICON.ids[word] for word in ("the", "kettle", "is", "open")]
        assert found.pieces.tolist() == pieces_of(["the", "kettle", "is", "open"])

    def test_the_name_is_not_part_of_what_is_said(self, ear: Ear) -> None:
        plain = hear(ear, "ada> the tea ?")
        for text in ("bob: the tea ?", "BOB: the tea ?", "@bob the tea ?"):
            found = hear(ear, f"ada> {text}")
            assert_array_equal(found.tokens, plain.tokens)
            assert_array_equal(found.pieces, plain.pieces)

    def test_names_are_hidden_once_they_are_known(self, ear: Ear) -> None:
        before = hear(ear, "ada> the tea of zoe")
        hear(ear, "zoe> milk")
        after = hear(ear, "ada> the tea of zoe")
        assert before.tokens[3] != after.tokens[3]
        assert set(before.pieces.tolist()) - set(after.pieces.tolist()) == set(pieces_of(["zoe"]))

    def test_only_the_beginning_is_read(self, ear: Ear) -> None:
        found = hear(ear, "ada> " + "tea " * 100_000)
        assert (len(found.text), len(found.tokens)) == (LONGEST, LONGEST // 4)
        assert not hear(ear, "ada> " + "tea " * 1000 + "?").asks

    def test_nothing_at_all(self, ear: Ear) -> None:
        found = hear(ear, "ada> ")
        assert (len(found.tokens), len(found.pieces), found.calls, found.names) == (0, 0, (), ())


class TestRenames:
    def test_the_same_person(self, ear: Ear) -> None:
        ear.rename("bob", "robert")
        assert hear(ear, "ada> robert: tea").addressee == "bob"
        found = hear(ear, "robert> tea")
        assert (found.speaker, found.own, found.called) == ("bob", 3, 1)
        assert ear.people.name_of("bob") == "robert"

    def test_the_old_name_is_still_theirs(self, ear: Ear) -> None:
        ear.rename("bob", "bob_away")
        assert hear(ear, "ada> bob: tea").addressee == "bob"
        ear.rename("bob_away", "bob")
        assert hear(ear, "bob> tea").speaker == "bob"

    def test_somebody_who_has_said_nothing(self, ear: Ear) -> None:
        ear.rename("zoe", "yan")
        assert [hear(ear, line).speaker for line in ("yan> tea", "zoe> tea")] == ["yan", "zoe"]

    def test_to_the_same(self, ear: Ear) -> None:
        before = ear.state()
        ear.rename("bob", "bob")
        assert ear.state() == before


class TestHearingAgain:
    def test_a_call_is_added(self, ear: Ear) -> None:
        found = hear(ear, "ada> tea")
        ear.rehear(found, "bob: is the door open?")
        assert (found.addressees, found.text, found.asks) == (("bob",), "is the door open?", True)
        assert found.tokens.tolist() == hear(ear, "ada> is the door open?").tokens.tolist()

    def test_a_call_is_taken_away(self, ear: Ear) -> None:
        found = hear(ear, "ada> bob: is it open?")
        ear.rehear(found, "tea")
        assert (found.addressees, found.calls, found.text, found.asks) == ((), (), "tea", False)

    def test_what_the_platform_says_stays(self, ear: Ear) -> None:
        ear.hear(Message("cyd", "milk", id="7"))
        given = ear.hear(Message("ada", "tea", addressee="bob"))
        reply = ear.hear(Message("ada", "tea", reply_to="7", id="8"))
        for each in (given, reply):
            ear.rehear(each, "milk")
        assert (given.addressees, reply.addressees) == (("bob",), ("cyd",))
        assert (reply.id, reply.reply_to, reply.own) == ("8", "7", 1)

    def test_is_no_new_message(self, ear: Ear) -> None:
        found = hear(ear, "ada> tea")
        before = ear.state()
        ear.rehear(found, "bob: tea")
        assert ear.state() == before

    def test_somebody_is_met_who_was_called_before(self, ear: Ear) -> None:
        earlier = [hear(ear, line) for line in ("ada> zoe: are you there?", "bob> tea", "cyd> where is zoe")]
        assert [each.addressee for each in earlier] == [None, None, None]
        ear.hear(Message("zoe", "yes"))
        assert ear.naming("zoe", earlier) == earlier[:1]
        ear.rehear(earlier[0], earlier[0].text)
        assert (earlier[0].addressee, earlier[0].text, earlier[0].stranger) == (
            "zoe",
            "are you there?",
            False,
        )
        assert earlier[2].addressee is None


class TestMemory:
    def test_who_has_been_silent_for_long(self) -> None:
        ear = Ear(LEXICON)
        for number in range(3 * REMEMBERED):
            hear(ear, f"guest{number}> tea")
        assert len(ear.people) == REMEMBERED
        assert len(ear._spoke) <= 2 * (REMEMBERED + REACH)
        last = hear(ear, f"guest{3 * REMEMBERED - 1}> tea")
        assert last.own == 1

    @pytest.mark.parametrize("how", ["addressee", "mentions"])
    def test_those_who_never_speak(self, how: str) -> None:
        """Each message is for somebody else, of whom nothing else is known."""
        ear, sizes = Ear(LEXICON), []
        for number in range(3000):
            name = f"guest{number}"
            ear.hear(Message("ada", "tea", **{how: name if how == "addressee" else (name,)}))  # type: ignore[arg-type]
            if number % 1000 == 999:
                sizes.append(len(ear._called))
        assert max(sizes) <= 2 * (1 + REACH) + 1

    def test_identifiers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_IDS", 3)
        ear = Ear(LEXICON)
        for id in "abcad":
            ear.hear(Message("bob", "tea", id=id))
        assert list(ear._authors) == ["c", "a", "d"]

    def test_renames_without_end(self) -> None:
        ear = Ear(LEXICON)
        hear(ear, "n0> tea")
        for number in range(500):
            ear.rename(f"n{number}", f"n{number + 1}")
        assert hear(ear, "n500> tea").own == 1
        assert len(ear.people._ids) <= 20
        assert len(ear.people._exact) <= 50


class TestLanguage:
    SAID: ClassVar = {
        "de": ("wer kommt heute mit ins kino?", "ich bin nicht da", "das ist schade, und morgen?"),
        "es": ("¿quién viene hoy al cine?", "yo no puedo, pero mañana sí", "qué pena, hasta mañana"),
        "en": ("who is coming to the cinema today?", "i am not there", "that is a pity, and tomorrow?"),
        "ja": ("今日は映画に行きますか", "私は行きません", "残念ですね"),
        "ru": ("кто идёт сегодня в кино?", "я не могу", "жаль, а завтра?"),
    }

    @pytest.mark.parametrize("code", list(SAID))
    def test_of_the_room(self, code: str) -> None:
        ear = Ear(LEXICON)
        assert ear.language is None
        for text in self.SAID[code] * 4:
            hear(ear, f"ada> {text}")
        assert ear.language == code

    def test_words_that_mean_something_else(self) -> None:
        """A model of English knows no word of German, though "die" and "tea" may be written the same."""
        ear = Ear(LEXICON)
        assert ear.lexicon is LEXICON
        for text in self.SAID["de"] * 4:
            hear(ear, f"ada> {text}")
        assert ear.lexicon is LEXICON.foreign("de")
        assert not hear(ear, "ada> tea is open").tokens.any()

    def test_changes_with_the_room(self) -> None:
        ear = Ear(LEXICON)
        for text in self.SAID["de"] * 10:
            hear(ear, f"ada> {text}")
        for text in self.SAID["en"] * 300:
            hear(ear, f"ada> {text}")
        assert ear.language == "en"
        assert sum(ear._languages.values()) <= 50


def through_json(state: Any) -> Any:
    return json.loads(json.dumps(state))


class TestState:
    SAID = ("ada> bob: tea", "dee> tea", "bob> cyd, is dee there", "zoe> ada: hm", "ada> ZOE tea", "eve> tea")

    def prepare(self, ear: Ear) -> None:
        hear(ear, "ada> cyd: tea")
        ear.rename("cyd", "cyd_away")
        ear.hear(Message("17", "milk", name="Grace Hopper", id="m1"))
        ear.people.introduce("18", name="Robo", aliases=["hb"], bot=True)

    def test_goes_on_where_it_was(self, ear: Ear) -> None:
        self.prepare(ear)
        other = Ear(LEXICON)
        other.resume(through_json(ear.state()))
        assert through_json(other.state()) == through_json(ear.state())
        for line in (*self.SAID, "cyd_away> grace: tea", "eve> hb, tea"):
            ours, theirs = hear(ear, line), hear(other, line)
            assert ours.state() == theirs.state(), line
        assert other.author("m1") == "17"

    def test_is_a_copy(self, ear: Ear) -> None:
        state = ear.state()
        before = json.dumps(state)
        for line in self.SAID:
            hear(ear, line)
        ear.rename("ada", "lovelace")
        assert json.dumps(state) == before

    def test_replaces_what_was_known(self, ear: Ear) -> None:
        other = Ear(LEXICON)
        hear(other, "yan> tea")
        other.resume(through_json(ear.state()))
        assert other.state() == ear.state()

    @pytest.mark.parametrize(
        "damage",
        [
            lambda state: state.pop("count"),
            lambda state: state.pop("people"),
            lambda state: state.update(count="3"),
            lambda state: state.update(count=-1),
            lambda state: state.update(count=True),
            lambda state: state.update(people=[{"id": "ada"}]),
            lambda state: state["people"][0].update(id=3),
            lambda state: state["people"][0].update(name=None),
            lambda state: state["people"][0].update(aliases="ab"),
            lambda state: state["people"][0].update(keys=[3]),
            lambda state: state["people"][0].update(introduced=0),
            lambda state: state.update(authors=[["m1", 3]]),
            lambda state: state.update(spoke=[["ada", 3]]),
            lambda state: state.update(spoke=[["ada", 1.5]]),
            lambda state: state.update(called=[[3, 1]]),
            lambda state: state.update(languages={"xx": 1}),
            lambda state: state.update(languages={"en": -1}),
        ],
    )
    def test_damaged(self, ear: Ear, damage: Callable[[dict[str, Any]], object]) -> None:
        state = through_json(ear.state())
        damage(state)
        with pytest.raises((LookupError, TypeError, ValueError)):
            Ear(LEXICON).resume(state)

    @settings(max_examples=50, deadline=None)
    @given(st.text(max_size=20), st.text(max_size=20), st.none() | st.text(max_size=5))
    def test_of_any_message(self, speaker: str, text: str, id: str | None) -> None:
        found = Ear(LEXICON).hear(Message(speaker, text, id=id, time=datetime(2024, 5, 31)))
        again = Utterance.of(through_json(found.state()))
        assert again.state() == found.state()
        assert again.tokens.dtype == np.int32
        assert again.pieces.dtype == np.uint32
