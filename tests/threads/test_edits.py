"""Messages of a channel that are changed or taken back, and rooms in other languages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.threads.chats import PEOPLE, busy_chat
from tests.threads.conftest import small_model
from towhom.chat import Kind, Message
from towhom.hearing.utterance import REACH, SPOKEN
from towhom.live import Model
from towhom.threads import Placed

SYSTEMS = ("sirnn", "crosstalk")


@pytest.fixture(scope="module", params=SYSTEMS)
def small(request: pytest.FixtureRequest) -> Model:
    """Its networks look at everything, in no sensible way."""
    return Model(small_model(request.param))


def edit(id: str, text: str) -> Message:
    return Message("", text, id=id, kind=Kind.EDIT)


def delete(id: str) -> Message:
    return Message("", "", id=id, kind=Kind.DELETE)


def through_json(state: Any) -> Any:
    return json.loads(json.dumps(state))


def assert_same(ours: Sequence[Placed], theirs: Sequence[Placed]) -> None:
    """But for rounding."""
    assert [(p.message, p.line, p.replies_to, p.thread) for p in ours] == [
        (p.message, p.line, p.replies_to, p.thread) for p in theirs
    ]
    assert [p.probability for p in ours] == pytest.approx([p.probability for p in theirs], abs=1e-5)


def changing_chat(seed: int, messages: int) -> list[Message]:
    """A busy chat in which messages are changed and taken back, some of them unknown or far away."""
    random, result = Random(seed), list[Message]()
    for place, message in enumerate(busy_chat(seed, messages, replies=True)):
        result.append(replace(message, line=None))
        if random.random() < 0.1:
            id = f"m{random.randint(max(place - 2 * REACH, 0), place + 1)}"
            text = random.choice(("the kettle is boiling", "ada: lost my key?", "", "bob: no"))
            result.append(random.choice((edit(id, text), delete(id))))
    return result


class TestEdits:
    def test_are_no_messages(self, small: Model) -> None:
        here = small.threader()
        found = here.place_all([Message("ada", "tea", id="1"), edit("1", "milk"), delete("2")])
        assert [(each.replies_to, each.thread, each.probability) for each in found[1:]] == [
            ((1,), 1, 1.0),
            ((2,), 2, 1.0),
        ]
        assert here._ear.count == 1

    def test_what_follows_sees_what_it_says_now(self, small: Model) -> None:
        """As if it had been said so."""
        chat = [Message(PEOPLE[place % 4], f"the door {place}", id=str(place)) for place in range(20)]
        after = [Message("ada", "is the kettle open ?"), Message("bob", "cyd: thanks")]
        edited, direct = small.threader(), small.threader()
        edited.place_all(chat)
        edited.place_all([edit("7", "the kettle is open"), edit("12", "ada: is the kettle open ?")])
        said = [replace(message) for message in chat]
        said[7] = replace(said[7], text="the kettle is open")
        said[12] = replace(said[12], text="ada: is the kettle open ?")
        direct.place_all(said)
        for ours, theirs in zip(edited._utterances, direct._utterances, strict=True):
            assert (ours.text, ours.addressees, ours.asks) == (theirs.text, theirs.addressees, theirs.asks)
            assert ours.tokens.tolist() == theirs.tokens.tolist()
        assert edited._sides is not None
        assert direct._sides is not None
        assert edited._sides.ravel().tolist() == pytest.approx(direct._sides.ravel().tolist(), abs=1e-5)
        assert len(edited.place_all(after)) == 2

    def test_of_what_is_unknown_or_out_of_reach(self, small: Model) -> None:
        here = small.threader()
        here.place_all([Message("ada", "tea", id=str(place)) for place in range(REACH + 20)])
        before = through_json(here.state())
        here.place_all([edit("3", "milk"), edit("never", "milk"), Message("", "milk", kind=Kind.EDIT)])
        assert {**through_json(here.state()), "lines": before["lines"]} == before


class TestDeletions:
    def test_what_was_taken_back_is_never_answered(self, small: Model) -> None:
        gone: set[int] = set()
        here, lines = small.threader(), dict[str, int]()
        for message in changing_chat(5, 400):
            found = here.place(message)
            if message.kind is Kind.DELETE:
                gone.add(lines.get(message.id or "", -1))
            elif message.kind in SPOKEN:
                assert not gone.intersection(found.replies_to)
                lines[message.id or ""] = found.line
        assert len(gone) > 10

    def test_not_even_where_the_platform_says_so(self, small: Model) -> None:
        chat = [Message("ada", "tea", id="1"), Message("bob", "milk", id="2"), delete("1")]
        found = small.threader().place_all([*chat, Message("cyd", "the door", reply_to="1")])[-1]
        assert 0 not in found.replies_to

    def test_the_only_message(self, small: Model) -> None:
        found = small.threader().place_all(
            [Message("ada", "tea", id="1"), delete("1"), Message("bob", "milk")]
        )
        assert found[-1].starts
        assert found[-1].probability == pytest.approx(1.0)

    def test_far_away(self, small: Model) -> None:
        here = small.threader()
        here.place_all([Message(PEOPLE[place % 3], "tea", id=str(place)) for place in range(REACH + 20)])
        here.place(delete("3"))
        assert "3" not in here._by_id
        assert here.place(Message("dee", "milk", reply_to="3")).replies_to != (3,)

    def test_said_again(self, small: Model) -> None:
        """With the same identifier, it can be answered."""
        chat = [Message("ada", "tea", id="1"), delete("1"), Message("ada", "tea", id="1")]
        assert small.threader().place_all([*chat, Message("bob", "milk", reply_to="1")])[-1].replies_to == (
            2,
        )


class TestTheSame:
    @pytest.mark.parametrize("seed", [1, 2])
    def test_many_at_once_and_one_by_one(self, small: Model, seed: int) -> None:
        chat = changing_chat(seed, 350)
        one, other = small.threader(), small.threader()
        assert_same(one.place_all(chat), [other.place(message) for message in chat])
        assert through_json(one.state()) == through_json(other.state())

    @pytest.mark.parametrize("cut", [1, 50, 180, 333])
    def test_after_a_state(self, small: Model, cut: int) -> None:
        chat = changing_chat(3, 350)
        whole = small.threader().place_all(chat)
        first = small.threader()
        first.place_all(chat[:cut])
        second = small.threader(through_json(first.state()))
        assert_same(second.place_all(chat[cut:]), whole[cut:])

    @pytest.mark.parametrize("size", [1, 7, 200])
    def test_in_a_room_that_turns_out_to_speak_another_language(self, small: Model, size: int) -> None:
        """What is said before is judged by what was known then."""
        texts = (
            "ok", "tea", "the kettle is open", "wer kommt heute mit ins kino?", "ich bin nicht da",
            "das ist schade, und morgen?", "wo ist der schlüssel", "tea is the door", "der ist bei mir",
        )  # fmt: skip
        random = Random(1)
        chat = [Message(random.choice(PEOPLE), random.choice(texts)) for _ in range(120)]
        chat += [
            Message(random.choice(PEOPLE), "the kettle is open and i think it is not my tea")
            for _ in range(80)
        ]
        here = small.threader()
        found = [each for start in range(0, 200, size) for each in here.place_all(chat[start : start + size])]
        assert_same(found, small.threader().place_all(chat))


def test_holds_no_texts(small: Model) -> None:
    here = small.threader()
    here.place_all([Message("ada", "the secret is out", id="1"), Message("bob", "ada: which secret")])
    here.place(edit("1", "another secret, !hidden"))
    assert "secret" not in json.dumps(here.state())
    again = small.threader(through_json(here.state()))
    assert [each.command for each in again._utterances] == [each.command for each in here._utterances]
