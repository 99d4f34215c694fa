"""What is for a bot and what is not, in many forms: calls, follow-ups, remarks, commands, other bots."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.bots.conftest import lines
from towhom import Gate, Presence
from towhom.live import Model

TALK = ("ann> morning", "bob> hi ann", "cid> build is red again")
ANSWERED = ("bob> lunch?", "ann> robo: which disk is full?", "robo> ann: /dev/sda1, 98 %")
ASKED_BACK = ("bob> lunch?", "ann> robo: restart the server", "robo> ann: which one, web or db?")
TOLD = ("bob> lunch?", "ann> robo: my wifi is gone", "robo> ann: run lspci and look for the network card")
OTHER_BOT = ("ann> milo: status?", "milo> ann: all green", "bob> nice")
BOTS = ("robo", "milo")


def speaks(
    model: Model, before: tuple[str, ...], text: str, reply_to: str | None = None, **policy: Any
) -> bool:
    """Whether robo speaks after a message in a room of four people and two bots."""

    async def chat() -> bool:
        gate = Gate("robo", model=model, **policy)
        for name in ("ann", "bob", "cid", "dee", *BOTS):
            await gate.hear(Presence(name, "lab", bot=name in BOTS))
        *earlier, last = lines(*before, text)
        for message in earlier:
            await gate.hear(replace(message, bot=message.speaker in BOTS))
        return bool(await gate.hear(replace(last, reply_to=reply_to)))

    return asyncio.run(chat())


@pytest.mark.parametrize(
    "text",
    [
        "@robo is it up?", "is it up @robo?", "robo, is it up?", "so tell me, robo, is it up?", "robo?",
        "last question for today robo: is it up?", "can someone, robo maybe, restart it?", "robo restart it",
        "robo trains back from the lake?", "what do you think, robo", "quick question for you robo",
        "bob and robo: who broke it?", "anyone? robo?", "robo: the server is down",
    ],
)  # fmt: skip
def test_calls(model: Model, text: str) -> None:
    assert speaks(model, TALK, f"ann> {text}")


@pytest.mark.parametrize(
    "text",
    [
        "robo is nice", "nice bot", "ask robo", "robo said so", "does robo know that?", "is robo down?",
        "bob, can you ask robo?", "who wrote robo?", "robo's answer was wrong", "why is robo so slow",
        "robotics is fun", "the robot is here?", "@bob ask @robo about it", "maybe robo can help bob",
    ],
)  # fmt: skip
def test_talk_about_the_bot(model: Model, text: str) -> None:
    assert not speaks(model, TALK, f"ann> {text}")


@pytest.mark.parametrize(
    "text",
    [
        "and on the other host?", "and sda2", "how do i free some space", "please clean it",
        "delete the logs then", "are you sure", "that's wrong, it's sdb", "no i meant the backup server",
        "the biggest files as well please", "why", "it is empty, right",
    ],
)  # fmt: skip
def test_follow_ups(model: Model, text: str) -> None:
    assert speaks(model, ANSWERED, f"ann> {text}")


@pytest.mark.parametrize(
    "text",
    [
        "ann> ok", "ann> lol", "ann> as usual", "ann> oh wow", "ann> i'll clean it up", "ann> what a mess",
        "ann> let me look", "ann> 👍", "ann> bob: lunch in 10", "bob> it knows everything", "bob> told you",
        "bob> ann do you need help?", "cid> we should buy a new one", "bob> that disk is ancient",
    ],
)  # fmt: skip
def test_remarks(model: Model, text: str) -> None:
    assert not speaks(model, ANSWERED, text)


def test_remarks_are_answered_if_the_policy_says_so(model: Model) -> None:
    assert speaks(model, ANSWERED, "ann> as usual", remarks=True)


@pytest.mark.parametrize("text", ["web", "the first one", "neither, never mind", "ok"])
def test_answers_to_a_question_of_the_bot(model: Model, text: str) -> None:
    assert speaks(model, ASKED_BACK, f"ann> {text}")
    assert not speaks(model, ASKED_BACK, f"ann> bob: {text}")


def test_only_who_was_asked_answers(model: Model) -> None:
    assert speaks(model, (*ASKED_BACK, "ann> web"), "ann> the one in the cellar")
    for remark in ("lol", "good question", "it never knows"):
        assert not speaks(model, ASKED_BACK, f"cid> {remark}")


def test_what_comes_of_an_advice(model: Model) -> None:
    assert speaks(model, TOLD, "ann> broadcom bcm4360")
    assert not speaks(model, TOLD, "ann> ok")


def test_a_message_in_parts(model: Model) -> None:
    asked = (*TALK, "ann> robo can you put the party in the calendar")
    assert speaks(model, asked, "ann> 6 pm, big room")
    assert not speaks(model, asked, "bob> 6 pm, big room")
    assert not speaks(model, asked, "ann> 🎉")
    assert not speaks(model, (*asked, "robo> ann: done"), "ann> finally a party")


def test_reply_links(model: Model) -> None:
    assert speaks(model, ANSWERED, "cid> since when", reply_to="m2")
    assert not speaks(model, ANSWERED, "cid> at noon?", reply_to="m0")


@pytest.mark.parametrize("command", ["!help", "!roll 2d6", "/giphy cat", "/askme is it up"])
def test_commands_of_other_programs(model: Model, command: str) -> None:
    assert not speaks(model, ANSWERED, f"ann> {command}", commands=("/ask",))


def test_commands_of_the_bot(model: Model) -> None:
    assert speaks(model, TALK, "ann> /ask is it up", commands=("/ask",))
    assert speaks(model, TALK, "ann> ?ask", commands=("?ask",))
    assert speaks(model, TALK, "ann> /ask@robo is it up")
    assert not speaks(model, TALK, "ann> /ask@milo is it up", commands=("/ask",))
    assert speaks(model, TALK, "ann> !robo is it up")
    assert not speaks(model, TALK, "ann> /usr/bin/python is gone")


def test_another_bot(model: Model) -> None:
    for text in ("ann> and yesterday?", "ann> milo restart it", "milo> robo: all green?"):
        assert not speaks(model, OTHER_BOT, text)
    for text in ("ann> robo: and you?", "ann> robo and milo, stop", "ann> not you milo, robo!"):
        assert speaks(model, OTHER_BOT, text)


@pytest.mark.parametrize(
    ("question", "answer", "follow_up", "remark"),
    [
        ("robo, wann kommt der zug", "ann: um 8", "und der nächste", "na super"),
        ("robo, ¿a qué hora abre?", "ann: a las ocho", "y cuánto cuesta", "qué bien"),
        ("robo, когда открыто?", "ann: в восемь", "а сколько это стоит?", "как всегда"),
        ("robo、何時に開きますか？", "ann: 8時です", "いくらですか", "なるほど"),
        ("robo，几点开门？", "ann: 八点", "多少钱？", "太好了"),
        ("robo، متى يفتح؟", "ann: في الثامنة", "وكم السعر؟", "ممتاز"),
    ],
)
def test_in_other_languages(model: Model, question: str, answer: str, follow_up: str, remark: str) -> None:
    before = (*TALK, f"ann> {question}", f"robo> {answer}")
    assert speaks(model, before[:-2], before[-2])
    assert speaks(model, before, f"ann> {follow_up}")
    assert not speaks(model, before, f"ann> {remark}")


def test_who_asks_on_at_once_needs_half_the_threshold(model: Model) -> None:
    assert speaks(model, ANSWERED, "ann> and on the other host?", threshold=1.0)
    assert not speaks(model, (*ANSWERED, "bob> nice"), "ann> and on the other host?", threshold=1.0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("will", "will it rain tomorrow?"), ("will", "will you bring the tent?"), ("may", "may I come in?"),
        ("can", "can you help me?"), ("do", "do you have a minute?"), ("support", "do we support windows 7?"),
        ("bot", "bot broken?"), ("mark", "can you mark it?"), ("pi", "pi day is when?"),
    ],
)  # fmt: skip
def test_a_word_that_is_the_name_of_the_bot(model: Model, name: str, text: str) -> None:
    """It is no call where people would say it anyway."""

    async def chat() -> tuple[bool, bool]:
        gate = Gate(name, model=model)
        said = lines("ann> morning", "bob> hi ann", f"ann> {text}", f"ann> {name}: when is the deadline?")
        *_, word, call = [bool(await gate.hear(message)) for message in said]
        return word, call

    assert asyncio.run(chat()) == (False, True)


@pytest.mark.parametrize(
    "text",
    ["great, thank you so much!", "thank you very much", "thanks for your help", "ok, danke dir", "고마워"],
)
def test_thanks_want_nothing(model: Model, text: str) -> None:
    assert not speaks(model, ANSWERED, f"ann> {text}")


@pytest.mark.parametrize("text", ["that one doesn't respond", "hey you forgot one", "it won't start"])
def test_what_is_still_wrong(model: Model, text: str) -> None:
    assert speaks(model, ANSWERED, f"ann> {text}")


def test_a_command_that_is_called_as_the_bot_is(model: Model) -> None:
    assert speaks(model, TALK, "ann> /robo status")
    assert not speaks(model, TALK, "ann> /milo status")
