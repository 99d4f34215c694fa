"""The tests of connectors: a subclass says how to reach a server and inherits them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from towhom.chat import Kind, Message, Presence
from towhom.errors import RoomError
from towhom.rooms.base import Connector, Event

SECONDS = 60.0
"""That anything may take, on a busy machine."""

Result = TypeVar("Result")


async def next_message(connector: Connector, wanted: Callable[[Message], bool] = lambda _: True) -> Message:
    """The next message that is wanted; earlier events count as processed."""

    async def search() -> Message:
        async for event in connector:
            if isinstance(event, Message) and wanted(event):
                return event
        raise AssertionError("the connector ended")

    return await asyncio.wait_for(search(), SECONDS)


async def texts_until(connector: Connector, last: str) -> list[str]:
    """All messages up to and including `last`."""
    texts: list[str] = []
    while not texts or texts[-1] != last:
        texts.append((await next_message(connector)).text)
    return texts


async def events_until(connector: Connector, last: Callable[[Event], bool]) -> list[Event]:
    """All events up to and including one that is wanted."""

    async def search() -> list[Event]:
        events = []
        async for event in connector:
            events.append(event)
            if last(event):
                return events
        raise AssertionError("the connector ended")

    return await asyncio.wait_for(search(), SECONDS)


class ConnectorContract:
    """The tests. They may run in any order, against one server and one room."""

    room: str
    """The `channel` of events."""
    has_ids = True
    """Whether messages have identifiers."""
    has_replies = True
    """Whether the server says what a message answers."""
    remembers = True
    """Whether the server keeps what was said while the connector was away."""

    def connector(self, *, state: Path | None = None, write: bool = False) -> Connector:
        """A new connector to the room, always for the same account."""
        raise NotImplementedError

    async def say(self, text: str, reply_to: str | None = None) -> str | None:
        """Somebody else says something in the room; returns the message's identifier, if it has one."""
        raise NotImplementedError

    def run(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run a test in an event loop of its own, and check that nothing keeps running in it."""

        async def checked() -> Result:
            result = await work()
            await asyncio.sleep(0)
            left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            if left:
                await asyncio.wait(left, timeout=5)
            assert not [task for task in left if not task.done()], f"tasks go on after close: {left}"
            return result

        return asyncio.run(checked())

    def test_messages_are_heard_in_order(self) -> None:
        """What others say comes once, in order, with all that a message has."""

        async def work() -> None:
            async with self.connector() as connector:
                for number in range(5):
                    await self.say(f"in order {number}")
                heard = [await next_message(connector) for _ in range(5)]
                assert [message.text for message in heard] == [f"in order {number}" for number in range(5)]
                assert {message.channel for message in heard} == {self.room}
                assert {message.kind for message in heard} == {Kind.MESSAGE}
                assert len({message.speaker for message in heard}) == 1
                assert heard[0].speaker != connector.me
                assert all(message.time is not None and message.time.tzinfo for message in heard)
                if self.has_ids:
                    assert len({message.id for message in heard} - {None}) == 5
                assert connector.label(self.room)

        self.run(work)

    def test_replies_say_what_they_answer(self) -> None:
        """A reply has the identifier of the message that it answers."""

        async def work() -> None:
            async with self.connector() as connector:
                first = await self.say("a question")
                await self.say("an answer", first)
                question, answer = [await next_message(connector) for _ in range(2)]
                assert (answer.text, answer.reply_to) == ("an answer", question.id)
                assert question.id is not None

        if self.has_replies:
            self.run(work)

    def test_people_are_known_before_they_speak(self) -> None:
        """Everybody in the room is announced, including the connector's own account."""

        async def work() -> None:
            await self.say("I am here")
            async with self.connector() as connector:
                await self.say("still here")
                events = await events_until(connector, lambda event: isinstance(event, Message))
                speaker = events[-1].speaker
                present = {event.speaker for event in events if isinstance(event, Presence) and event.here}
                assert {speaker, connector.me} <= present
                assert {event.channel for event in events} == {self.room}

        self.run(work)

    def test_listening_is_all_unless_told_otherwise(self) -> None:
        """A connector that only listens sends nothing."""

        async def work() -> None:
            async with self.connector() as connector:
                assert "only listens" in await _refusal(connector.send(self.room, "not to be said"))
                await self.say("what was said")
                assert (await next_message(connector)).text == "what was said"

        self.run(work)

    def test_what_is_sent_comes_back(self) -> None:
        """What the connector says is an event as well, of the account that it has."""

        async def work() -> None:
            async with self.connector(write=True) as connector:
                first = await self.say("who is there?")
                question = await next_message(connector)
                identifier = await connector.send(self.room, "I am; ünïcödé 🙂", question.id)
                answer = await next_message(connector)
                assert (answer.speaker, answer.text) == (connector.me, "I am; ünïcödé 🙂")
                assert answer.id == identifier
                if self.has_replies:
                    assert answer.reply_to == question.id == first

        self.run(work)

    def test_a_key_is_said_once(self, tmp_path: Path) -> None:
        """A message that is sent twice with the same key, even by the next run, appears once."""

        async def work() -> None:
            state = tmp_path / "state"
            async with self.connector(state=state, write=True) as connector:
                one = await connector.send(self.room, "once", key="4711")
                assert await connector.send(self.room, "once", key="4711") == one
                await self.say("the end of the first run")
                assert await texts_until(connector, "the end of the first run") == [
                    "once",
                    "the end of the first run",
                ]
            async with self.connector(state=state, write=True) as connector:
                assert await connector.send(self.room, "once", key="4711") == one
                await self.say("the end of the second run")
                assert await texts_until(connector, "the end of the second run") == [
                    "the end of the second run"
                ]

        self.run(work)

    def test_a_restart_misses_nothing_and_hears_nothing_twice(self, tmp_path: Path) -> None:
        """With a state, the next run continues where the last one stopped, if the server supports it."""

        async def work() -> None:
            state = tmp_path / "state"
            async with self.connector(state=state) as connector:
                for text in ("heard", "heard, too"):
                    await self.say(text)
                assert await texts_until(connector, "heard, too") == ["heard", "heard, too"]
            assert state.stat().st_mode & 0o077 == 0
            for number in range(3):
                await self.say(f"missed {number}")
            async with self.connector(state=state) as connector:
                await self.say("after")
                missed = [f"missed {number}" for number in range(3)] if self.remembers else []
                assert await texts_until(connector, "after") == [*missed, "after"]

        self.run(work)

    def test_what_was_not_dealt_with_is_heard_again(self, tmp_path: Path) -> None:
        """An event counts as processed when the next one is requested, not before."""

        async def work() -> None:
            state = tmp_path / "state"
            with_trouble = self.connector(state=state)
            try:
                async with with_trouble as connector:
                    await self.say("dealt with")
                    await self.say("not dealt with")
                    assert await texts_until(connector, "not dealt with") == ["dealt with", "not dealt with"]
                    raise _TroubleError
            except _TroubleError:
                pass
            async with self.connector(state=state) as connector:
                await self.say("after the trouble")
                assert await texts_until(connector, "after the trouble") == [
                    "not dealt with",
                    "after the trouble",
                ]

        if self.remembers:
            self.run(work)

    def test_one_state_is_for_one_at_a_time(self, tmp_path: Path) -> None:
        """Two runs with the same state would each miss what the other heard."""

        async def work() -> None:
            state = tmp_path / "state"
            async with self.connector(state=state):
                assert "another process" in await _refusal(self.connector(state=state).__aenter__())

        self.run(work)

    def test_closing_ends_the_iteration(self) -> None:
        """A program that waits for the next event is told that there is none; closing again does nothing."""

        async def work() -> None:
            connector = self.connector()

            async def listen() -> None:
                async for _ in connector:
                    pass

            async with connector:
                listening = asyncio.create_task(listen())
                await asyncio.sleep(0.1)
            await asyncio.wait_for(listening, SECONDS)
            await connector.close()

        self.run(work)


async def _refusal(work: Awaitable[object]) -> str:
    """The sentence with which something is refused."""
    try:
        await work
    except RoomError as error:
        return str(error)
    raise AssertionError("it was not refused")


class _TroubleError(Exception):
    """What a program may fail with."""
