"""A bot in its rooms: when it speaks, to whom, and what it reads before."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from tests.bots.conftest import START, hear_all, lines
from towhom import Gate, Kind, Message, Presence
from towhom.bots import GateVerdict
from towhom.errors import ConfigError, SessionError
from towhom.live import Model

CHAT = (
    "noor> my wifi is gone since the upgrade",
    "tobias> is there a deb of the new kernel?",
    "noor> hey helper, how do I see which card I have?",
    "helper> noor: run lspci and look for the network controller",
    "noor> it says broadcom",
    "mira> helper told me the same last week",
    "mira> tobias: in the ppa, yes",
)
FOR_HELPER = {"m2", "m4"}


def run(gate: Gate, *texts: str, first: int = 0) -> list[str]:
    """The texts that a gate wants to be answered."""
    messages = lines(*texts, first=first)
    verdicts = asyncio.run(hear_all(gate, messages))
    return [message.text for message, verdict in zip(messages, verdicts, strict=True) if verdict]


class TestVerdicts:
    def test_silent_but_when_called_or_followed_up(self, model: Model) -> None:
        gate = Gate("helper", model=model)
        verdicts = asyncio.run(hear_all(gate, lines(*CHAT)))
        assert {verdict.message.id for verdict in verdicts if verdict and verdict.message} == FOR_HELPER
        assert all(verdict.reason for verdict in verdicts)

    def test_to_whom_and_in_which_conversation(self, model: Model) -> None:
        verdicts = asyncio.run(hear_all(Gate("helper", model=model), lines(*CHAT)))
        answer = verdicts[4]
        assert answer.reply_to is not None
        assert (answer.reply_to.name, answer.reply_to.message) == ("noor", "m4")
        assert answer.thread == verdicts[2].thread != verdicts[1].thread
        assert answer.probability > 0.5

    def test_the_context_is_the_conversation(self, model: Model) -> None:
        verdict = asyncio.run(hear_all(Gate("helper", model=model), lines(*CHAT[:5])))[-1]
        context = verdict.context(max_tokens=500)
        assert [message.id for message in context] == ["m0", "m2", "m3", "m4"]
        assert str(context).endswith("noor -> helper: it says broadcom")

    @pytest.mark.parametrize(
        ("call", "first"),
        [
            ("noor> helper: how do I fix that?", "m0"),
            ("wren> @helper can you help us with that?", "m0"),
            ("mira> helper, summarize what noor said", "m0"),
            ("eve> helper, which burgers are best?", "m1"),
        ],
    )
    def test_a_bot_that_is_called_out_of_a_conversation_reads_it(
        self, model: Model, call: str, first: str
    ) -> None:
        """What starts a conversation with the bot is about what was said before."""
        chat = (
            "noor> my wifi is gone since the upgrade", "eve> who is up for lunch?",
            "wren> noor: which card is it?",
            "dan> eve: me", "noor> a broadcom", "eve> dan: burgers?",
        )  # fmt: skip
        verdict = asyncio.run(hear_all(Gate("helper", model=model), lines(*chat, call)))[-1]
        found = [message.id for message in verdict.context(max_tokens=500)]
        assert found == (["m0", "m2", "m4", "m6"] if first == "m0" else ["m1", "m3", "m5", "m6"])
        assert [message.id for message in verdict.context(max_tokens=20)] == ["m6"]

    @pytest.mark.parametrize("most", [0, 1, 5, 12, 20, 60])
    def test_the_context_is_never_longer_than_asked_for(self, model: Model, most: int) -> None:
        verdict = asyncio.run(hear_all(Gate("helper", model=model), lines(*CHAT[:5])))[-1]
        context = verdict.context(max_tokens=most)
        assert context.tokens <= most
        by_words = verdict.context(max_tokens=most, count=lambda line: len(line.split()))
        assert sum(len(line.split()) for line in str(by_words).splitlines()) == by_words.tokens <= most

    def test_what_was_taken_back_is_in_no_context(self, model: Model) -> None:
        async def chat() -> str:
            gate = Gate("helper", model=model)
            verdicts = await hear_all(gate, lines(*CHAT[:5]))
            await gate.hear(Message("helper", "", id="m3", kind=Kind.DELETE, channel="lab"))
            return str(verdicts[-1].context())

        assert "lspci" not in asyncio.run(chat())

    def test_rooms_know_nothing_of_each_other(self, model: Model) -> None:
        async def chat() -> list[bool]:
            gate = Gate("helper", model=model)
            await hear_all(gate, lines(*CHAT[:4], room="one"))
            other = await hear_all(gate, lines(*CHAT[:2], CHAT[4], room="two"))
            return [*map(bool, other), bool(await gate.hear(lines(CHAT[4], room="one", first=4)[0]))]

        assert asyncio.run(chat()) == [False, False, False, True]

    def test_identifiers_and_names(self, model: Model) -> None:
        async def chat() -> None:
            gate = Gate(90210, "hb", name="Hermes Bot", model=model)
            called = await gate.hear(Message("17", "hb, what is on today?", name="Zoë", id="1"))
            assert called.reply_to is not None
            assert (bool(called), called.reply_to.id, called.reply_to.name) == (True, "17", "Zoë")
            assert await gate.hear(Message("17", "and tomorrow?", name="Zoë", mentions=("90210",), id="2"))
            own = await gate.hear(Message("90210", "nothing", id="3"))
            assert (bool(own), own.reason) == (False, "Hermes Bot said it")

        asyncio.run(chat())

    def test_only_events_are_heard(self, model: Model) -> None:
        with pytest.raises(TypeError, match=r"towhom\.Message"):
            asyncio.run(Gate("helper", model=model).hear("hello"))  # type: ignore[arg-type]


class TestPresence:
    def test_the_only_other_one_talks_to_the_bot(self, model: Model) -> None:
        async def chat(*here: str) -> bool:
            gate = Gate("helper", model=model)
            for name in here:
                await gate.hear(Presence(name, "lab"))
            return bool(await gate.hear(lines("ann> is the printer on?")[0]))

        assert asyncio.run(chat("helper", "ann"))
        assert not asyncio.run(chat("helper", "ann", "bob"))
        assert not asyncio.run(chat())

    def test_who_has_left_is_not_there(self, model: Model) -> None:
        async def chat() -> bool:
            gate = Gate("helper", model=model)
            for name in ("helper", "ann", "bob"):
                await gate.hear(Presence(name, "lab"))
            await gate.hear(Presence("bob", "lab", here=False))
            return bool(await gate.hear(lines("ann> is the printer on?")[0]))

        assert asyncio.run(chat())


class TestPolicy:
    def test_wrong_settings_are_named(self) -> None:
        with pytest.raises(ConfigError, match=r"threshold is 2.*burst is -1"):
            Gate("helper", threshold=2, burst=-1)
        with pytest.raises(ConfigError, match=r"unknown settings: mood; known are threshold"):
            Gate("helper", mood="good")
        with pytest.raises(ConfigError, match="the bot has no name"):
            Gate("")

    def test_a_follow_up_has_its_time(self, model: Model) -> None:
        async def chat(seconds: float) -> bool:
            gate = Gate("helper", model=model, follow_up=300)
            messages = lines(*CHAT[:5])
            late = START + timedelta(seconds=30 + seconds)
            messages[-1] = replace(messages[-1], time=late)
            return bool((await hear_all(gate, messages))[-1])

        assert asyncio.run(chat(20))
        assert not asyncio.run(chat(400))

    def test_only_when_called(self, model: Model) -> None:
        gate = Gate("helper", model=model, only_called=True)
        assert run(gate, *CHAT) == ["hey helper, how do I see which card I have?"]

    def test_called_outright_whatever_the_threshold(self, model: Model) -> None:
        call = "ann> helper: is the site up?"
        assert run(Gate("helper", model=model, threshold=1.0), call)
        assert not run(Gate("helper", model=model, threshold=1.0, when_called=False), call)

    def test_an_acknowledgement_needs_no_answer(self, model: Model) -> None:
        told = ("ann> helper: is the site up?", "helper> ann: yes, since noon", "ann> ok")
        asked = ("ann> helper: restart it", "helper> ann: now?", "ann> ok")
        assert run(Gate("helper", model=model), *told) == ["helper: is the site up?"]
        assert run(Gate("helper", model=model), *asked) == ["helper: restart it", "ok"]
        assert run(Gate("helper", model=model, remarks=True), *told)[-1] == "ok"

    def test_everybody(self, model: Model) -> None:
        texts = ("ann> morning", "bob> hi ann", "ann> @everyone lunch is here")
        assert not run(Gate("helper", model=model), *texts)
        assert run(Gate("helper", model=model, everybody=True), *texts) == ["@everyone lunch is here"]

    def test_silence_where_another_bot_is_meant(self, model: Model) -> None:
        gate = Gate("helper", bots=["milo"], model=model)
        texts = (
            "ann> helper: is it up?",
            "helper> ann: yes",
            "ann> milo: and since when?",
            "ann> helper, milo: thanks",
        )
        assert run(gate, *texts) == ["helper: is it up?", "helper, milo: thanks"]

    @pytest.mark.parametrize("turns", [0, 2])
    def test_bots_do_not_talk_for_ever(self, model: Model, turns: int) -> None:
        async def chat() -> int:
            gate = Gate("helper", model=model, bot_turns=turns)
            answers = 0
            for number in range(10):
                if await gate.hear(Message("milo", "helper: no, after you", id=f"a{number}", bot=True)):
                    answers += 1
                    await gate.hear(Message("helper", "milo: after you", id=f"b{number}"))
            return answers

        assert asyncio.run(chat()) == turns

    def test_a_daily_cap(self, model: Model) -> None:
        async def chat() -> list[bool]:
            gate = Gate("helper", model=model, daily_cap=2)
            calls = [
                Message(
                    "ann", "helper: hi", id=str(hour), time=START + timedelta(hours=hour), channel=f"r{hour}"
                )
                for hour in (0, 1, 2, 30)
            ]
            return [bool(verdict) for verdict in await hear_all(gate, calls)]

        assert asyncio.run(chat()) == [True, True, False, True]

    def test_an_edit_is_answered_once(self, model: Model) -> None:
        async def chat(*, answered: bool) -> bool:
            gate = Gate("helper", model=model)
            await hear_all(gate, lines("bob> lunch?", "ann> how do I install it", "bob> no idea"))
            if answered:
                await gate.hear(Message("helper", "ann: with pip", id="h", reply_to="m1", channel="lab"))
            edit = Message("ann", "helper: how do I install it", id="m1", kind=Kind.EDIT, channel="lab")
            return bool(await gate.hear(edit))

        assert asyncio.run(chat(answered=False))
        assert not asyncio.run(chat(answered=True))

    def test_an_edit_of_what_is_to_be_answered_is_no_second_question(self, model: Model) -> None:
        async def chat() -> list[bool]:
            gate = Gate("helper", model=model)
            call = lines("ann> helper: is it pu?")[0]
            edit = replace(call, text="helper: is it up?", kind=Kind.EDIT)
            return [bool(await gate.hear(event)) for event in (call, edit, edit)]

        assert asyncio.run(chat()) == [True, False, False]

    def test_what_was_said_before_the_bot_came(self, model: Model) -> None:
        verdict = asyncio.run(Gate("helper", model=model).hear(lines("ann> helper: hi")[0], speak=False))
        assert (bool(verdict), verdict.reason) == (False, "it was said before the bot came")


class TestBursts:
    """Seconds here are the only waits: as short as a busy machine allows."""

    @staticmethod
    async def hear_at_once(gate: Gate, messages: list[Message]) -> list[tuple[bool, tuple[str | None, ...]]]:
        verdicts = await asyncio.gather(*map(gate.hear, messages))
        return [(bool(each), tuple(message.id for message in each.burst)) for each in verdicts]

    def test_one_verdict_a_burst(self, model: Model) -> None:
        gate = Gate("helper", model=model, burst=1.0)
        messages = lines("ann> helper: one thing", "ann> the door does not close", "ann> since monday")
        found = asyncio.run(self.hear_at_once(gate, messages))
        assert [yes for yes, _ in found] == [False, False, True]
        assert found[-1][1] == ("m0", "m1", "m2")

    def test_others_do_not_end_it(self, model: Model) -> None:
        gate = Gate("helper", model=model, burst=1.0)
        messages = lines(
            "ann> helper: one thing", "bob> carol: lunch?", "ann> carol: not me", "bob> helper: hi"
        )
        found = asyncio.run(self.hear_at_once(gate, messages))
        assert [yes for yes, _ in found] == [True, False, False, True]

    def test_taken_back(self, model: Model) -> None:
        gate = Gate("helper", model=model, burst=1.0)
        messages = [
            *lines("ann> helper: one thing"),
            Message("ann", "", id="m0", kind=Kind.DELETE, channel="lab"),
        ]
        assert [yes for yes, _ in asyncio.run(self.hear_at_once(gate, messages))] == [False, False]

    def test_listen_gives_what_is_to_be_answered(self, model: Model) -> None:
        async def events() -> AsyncIterator[Message]:
            for message in lines(*CHAT):
                yield message

        async def chat() -> list[str | None]:
            gate = Gate("helper", model=model)
            return [verdict.message.id async for verdict in gate.listen(events()) if verdict.message]

        assert set(asyncio.run(chat())) == FOR_HELPER

    def test_listen_tells_what_goes_wrong(self, model: Model) -> None:
        async def events() -> AsyncIterator[Message]:
            yield lines("ann> helper: hi")[0]
            raise ConnectionError("the server is gone")

        async def chat() -> None:
            async for _ in Gate("helper", model=model).listen(events()):
                pass

        with pytest.raises(ConnectionError, match="gone"):
            asyncio.run(chat())


class TestOrderAndRepetition:
    def test_rooms_keep_their_order(self, model: Model) -> None:
        """Heard at once, the verdicts are those of one after the other."""

        async def at_once() -> list[bool]:
            gate = Gate("helper", model=model)
            return [bool(each) for each in await asyncio.gather(*map(gate.hear, lines(*CHAT)))]

        one_by_one = asyncio.run(hear_all(Gate("helper", model=model), lines(*CHAT)))
        assert asyncio.run(at_once()) == [*map(bool, one_by_one)]

    def test_a_message_that_comes_twice_is_answered_once(self, model: Model) -> None:
        async def chat() -> list[bool]:
            gate = Gate("helper", model=model)
            message = lines("ann> helper: hi")[0]
            return [bool(await gate.hear(message)), bool(await gate.hear(message))]

        assert asyncio.run(chat()) == [True, False]

    def test_many_gates_share_a_thread_and_a_model(self) -> None:
        async def chat() -> list[bool]:
            gates = [Gate(name) for name in ("atlas", "milo", "helper")]
            message = lines("ann> atlas, milo: stop it")[0]
            return [bool(await gate.hear(message)) for gate in gates]

        assert asyncio.run(chat()) == [True, True, False]


class TestKept:
    def test_a_bot_goes_on_where_it_was(self, model: Model, tmp_path: Path) -> None:
        async def chat(part: list[Message], *, close: bool) -> list[bool]:
            gate = Gate("helper", model=model, folder=tmp_path)
            verdicts = await hear_all(gate, part)
            if close:
                await gate.close()
            return [*map(bool, verdicts)]

        for close in (True, False):
            whole = asyncio.run(hear_all(Gate("helper", model=model), lines(*CHAT, room=str(close))))
            messages = lines(*CHAT, room=str(close))
            found = [verdict for message in messages for verdict in asyncio.run(chat([message], close=close))]
            assert found == [*map(bool, whole)]

    def test_a_long_room_comes_back_from_its_snapshot(self, model: Model, tmp_path: Path) -> None:
        texts = [
            f"ann> the {word} of the day is {number}" for number, word in enumerate(["soup", "joke"] * 50)
        ]
        asyncio.run(hear_all(Gate("helper", model=model, folder=tmp_path), lines(*texts)))
        (journal,) = tmp_path.rglob("*.jsonl")
        assert len(journal.read_text().splitlines()) < 64
        again = Gate("helper", model=model, folder=tmp_path)
        follow_up = lines("helper> ann: noted", "ann> helper: thanks", first=100)
        assert [*map(bool, asyncio.run(hear_all(again, follow_up)))] == [False, True]

    def test_what_was_not_answered_before_a_restart_is_answered_after_it(
        self, model: Model, tmp_path: Path
    ) -> None:
        async def hear(gate: Gate, *messages: Message) -> list[bool]:
            return [*map(bool, await hear_all(gate, messages))]

        first, second = lines("ann> helper: is it up?", "bob> helper: and the wiki?")
        reply = Message("helper", "yes", id="r", reply_to="m0", channel="lab")
        before = Gate("helper", model=model, folder=tmp_path)
        assert asyncio.run(hear(before, first, second, reply, second)) == [True, True, False, False]
        after = Gate("helper", model=model, folder=tmp_path)
        assert asyncio.run(hear(after, first, second, reply, second)) == [False, True, False, False]

    def test_what_no_draft_answers_is_not_answered_after_a_restart(
        self, model: Model, tmp_path: Path
    ) -> None:
        async def chat(*, choose: bool) -> bool:
            gate = Gate("helper", model=model, folder=tmp_path)
            *_, verdict = await hear_all(gate, lines("bob> morning", "ann> helper: is it up?"))
            if choose:
                assert not await gate.choose("lab", ["bob: no"])
            return bool(verdict)

        assert asyncio.run(chat(choose=False))
        assert asyncio.run(chat(choose=True))
        assert not asyncio.run(chat(choose=False))

    def test_half_a_line_is_no_harm(self, model: Model, tmp_path: Path) -> None:
        asyncio.run(hear_all(Gate("helper", model=model, folder=tmp_path), lines(*CHAT[:4])))
        (journal,) = tmp_path.rglob("*.jsonl")
        journal.write_bytes(journal.read_bytes() + b'{"number": 5, "mess')
        for number in (4, 5):
            again = Gate("helper", model=model, folder=tmp_path)
            assert asyncio.run(hear_all(again, lines(CHAT[4], first=number)))[0]

    def test_a_damaged_snapshot_is_put_aside(
        self, model: Model, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def save() -> None:
            async with Gate("helper", model=model, folder=tmp_path) as gate:
                await hear_all(gate, lines(*CHAT))

        asyncio.run(save())
        (snapshot,) = (path for path in tmp_path.rglob("*.json") if path.name != "answers.json")
        snapshot.write_text(snapshot.read_text()[:-20])
        assert run(Gate("helper", model=model, folder=tmp_path), "ann> helper: hi", first=50)
        assert list(tmp_path.rglob("*.damaged"))
        assert "starts again" in caplog.text

    def test_rooms_beyond_the_most_leave_memory_and_come_back(self, model: Model, tmp_path: Path) -> None:
        async def chat(folder: Path | None) -> tuple[int, bool]:
            gate = Gate("helper", model=model, folder=folder, max_rooms=3)
            await hear_all(gate, lines(*CHAT[:4], room="first"))
            for number in range(5):
                await gate.hear(lines("ann> hi", room=f"room {number}")[0])
            return len(gate.rooms), bool(await gate.hear(lines(CHAT[4], room="first", first=4)[0]))

        assert asyncio.run(chat(tmp_path)) == (3, True)
        assert asyncio.run(chat(None)) == (3, False)

    def test_the_cap_outlives_a_restart(self, model: Model, tmp_path: Path) -> None:
        for number, expected in ((0, 1), (1, 0)):
            gate = Gate("helper", model=model, folder=tmp_path, daily_cap=1)
            assert len(run(gate, "ann> helper: hi", first=number)) == expected


class TestWords:
    def test_everything_is_logged_with_a_reason(self, model: Model, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "towhom.gate"):
            asyncio.run(hear_all(Gate("helper", model=model), lines(*CHAT)))
        assert len(caplog.messages) == len(CHAT)
        assert "lab: keeps quiet (0.01): mira talks about helper" in caplog.messages
        assert not [text for text in caplog.messages if "broadcom" in text], "what is said is not logged"

    def test_explain(self, model: Model) -> None:
        gate = Gate("helper", model=model)
        messages = lines(*CHAT)
        asyncio.run(hear_all(gate, [*messages, messages[4]]))
        told = gate.explain("m4")
        assert "it answers helper (message m3" in told
        assert told.endswith("speaks: helper had just addressed noor")
        assert gate.explain("m4", room="lab") == told
        assert "no message m4" in gate.explain("m4", room="elsewhere")


class TestDrafts:
    DRAFTS = ("then install the broadcom driver, bcmwl-kernel-source", "the printer is out of paper again")

    def test_which_and_to_whom(self, model: Model) -> None:
        async def chat() -> None:
            gate = Gate("helper", model=model)
            await hear_all(gate, lines(*CHAT[:5]))
            choice = await gate.choose("lab", self.DRAFTS)
            assert choice.to is not None
            assert (choice.draft, choice.index) == (self.DRAFTS[0], 0)
            assert (choice.to.name, choice.to.message) == ("noor", "m4")
            silence = await gate.choose("lab", self.DRAFTS, least=1.0)
            assert (bool(silence), silence.draft, silence.to) == (False, None, None)

        asyncio.run(chat())

    THREE = (
        "ann> my wifi is gone since the upgrade",
        "cid> does anyone have the recipe for the lentil soup",
        "ann> helper: which driver do I need for broadcom?",
        "dee> who drives on saturday?",
        "cid> helper, what goes into lentil soup?",
        "eve> I can drive, 4 seats",
        "dee> helper: how long is the drive to the lake on saturday?",
    )
    ANSWERS = (
        "install the broadcom driver and reboot",
        "lentils, carrots, cumin and lemon go into the soup",
        "the drive to the lake takes about 50 minutes",
    )
    WAITING: ClassVar = {"m2": 0, "m4": 1, "m6": 2}

    def test_three_conversations(self, model: Model) -> None:
        """Each gets the draft that answers it; who has been answered, and who asked nothing, gets none."""

        async def chat() -> dict[str | None, int | None]:
            gate, chosen = Gate("helper", model=model), {}
            for message in lines(*self.THREE):
                verdict = await gate.hear(message)
                choice = await gate.choose("lab", self.ANSWERS)
                assert bool(choice) == bool(verdict), choice.reason
                if choice.to is not None:
                    chosen[choice.to.message] = choice.index
                    own = f"{choice.to.name}: {choice.draft}"
                    await gate.hear(Message("helper", own, channel="lab", time=message.time))
            return chosen

        assert asyncio.run(chat()) == self.WAITING

    def test_several_wait_for_an_answer(self, model: Model) -> None:
        async def chat() -> None:
            gate = Gate("helper", model=model)
            await hear_all(gate, lines(*self.THREE))
            for id, index in self.WAITING.items():
                choice = await gate.choose("lab", self.ANSWERS, message=id)
                assert choice.to is not None
                assert (choice.index, choice.to.message) == (index, id)
            latest = await gate.choose("lab", self.ANSWERS)
            assert latest.to is not None
            assert latest.to.message == "m6"
            await gate.hear(Message("helper", "dee: 50 minutes", channel="lab"))
            before = await gate.choose("lab", self.ANSWERS)
            assert before.to is not None
            assert before.to.message == "m4"

        asyncio.run(chat())

    def test_a_draft_for_somebody_else_is_not_chosen(self, model: Model) -> None:
        async def chat() -> None:
            gate = Gate("helper", model=model)
            await hear_all(gate, lines(*self.THREE))
            choice = await gate.choose("lab", ["ann: install the broadcom driver", "eve: thank you"])
            assert (choice.draft, choice.to) == (None, None)
            assert "no draft answers dee" in choice.reason
            # What the bot has chosen to keep quiet about waits no more.
            following = await gate.choose("lab", self.ANSWERS)
            assert following.to is not None
            assert following.to.message == "m4"
            gone = await gate.choose("lab", self.ANSWERS, message="m99")
            assert "m99 is not remembered" in gone.reason

        asyncio.run(chat())

    def test_messages_without_identifiers(self, model: Model) -> None:
        async def chat() -> None:
            gate = Gate("helper", model=model)
            await gate.hear(Message("ann", "helper: which driver do I need for broadcom?"))
            assert (await gate.choose(None, self.ANSWERS)).index == 0
            await gate.hear(Message("helper", "ann: the broadcom driver"))
            assert not await gate.choose(None, self.ANSWERS)

        asyncio.run(chat())

    def test_nothing_to_choose_from(self, model: Model) -> None:
        gate = Gate("helper", model=model)
        with pytest.raises(SessionError, match="no draft"):
            asyncio.run(gate.choose("lab", []))
        with pytest.raises(SessionError, match="nothing has been heard"):
            asyncio.run(gate.choose("lab", self.DRAFTS))


class TestKilled:
    PROGRAM = """
import asyncio, sys
from towhom import Gate, Message

async def main():
    gate = Gate("helper", folder=sys.argv[1])
    await gate.hear(Message("bob", "morning", id="first", channel="lab"))
    for number in range(40):
        for text in ("helper: one more", "bob: lunch?"):
            call = Message("ann", text, id=f"{number} {text}", channel="lab")
            if await gate.hear(call):
                print(number, flush=True)
                reply = Message("helper", "ann: done", reply_to=call.id, id=f"r{number}", channel="lab")
                await gate.hear(reply)
    print("end", flush=True)

asyncio.run(main())
"""

    def test_nothing_is_missed_and_nothing_answered_twice(self, tmp_path: Path) -> None:
        """`kill -9` in the middle; the platform then sends everything again."""
        command = [sys.executable, "-c", self.PROGRAM, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            before = [process.stdout.readline().strip() for _ in range(15)]
            process.kill()
            before += [line.strip() for line in process.stdout if line.endswith("\n")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        after = done.stdout.split()
        assert after.pop() == "end"
        assert {*before, *after} >= {str(number) for number in range(40)}
        # Told to answer, and killed before the answer was heard: only that one comes again.
        assert len(set(before) & set(after)) <= 1


def test_bots_may_share_a_folder(model: Model, tmp_path: Path) -> None:
    call = lines("ann> atlas, milo: are you there?")[0]
    for name in ("atlas", "milo"):
        assert asyncio.run(Gate(name, model=model, folder=tmp_path).hear(call))


def test_what_waits_is_judged_together_as_it_is_one_by_one(model: Model) -> None:
    messages = lines(*CHAT * 12)
    one_by_one = asyncio.run(hear_all(Gate("helper", model=model), messages))

    async def at_once() -> list[GateVerdict]:
        gate = Gate("helper", model=model)
        return await asyncio.gather(*map(gate.hear, messages))

    together = asyncio.run(at_once())
    assert [(each.yes, each.thread, each.reason) for each in together] == [
        (each.yes, each.thread, each.reason) for each in one_by_one
    ]
    assert str(together[4].context()) == str(one_by_one[4].context())


def test_who_does_not_wait_for_a_verdict_is_heard_nevertheless(model: Model) -> None:
    async def chat() -> bool:
        gate = Gate("helper", model=model)
        first, second, third, fourth, fifth = lines(*CHAT[:5])
        await hear_all(gate, [first, second, third])
        impatient = asyncio.create_task(gate.hear(fourth))
        await asyncio.sleep(0)
        impatient.cancel()
        return bool(await gate.hear(fifth))

    assert asyncio.run(chat())
