"""What a worker can be asked. A job is a generator: it rests after every step, so that others have a turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

from towhom.chat import Message
from towhom.errors import TowhomError
from towhom.live import Model, Session
from towhom.readers.jsonl import message_from
from towhom.serve.answers import introduce, placed, read_line, selections
from towhom.serve.logs import LogText
from towhom.serve.room import CHUNK, Room

Job = Generator[None, None, Any]
Item = TypeVar("Item")
Records = list[dict[str, Any]]


class Jobs:
    """The jobs, by name, and the channels that are in memory.

    Args:
        model: What answers.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._rooms: dict[str, Room] = {}
        self._known: dict[str, Callable[..., Job]] = {
            "ping": self._ping,
            "addressees": self._addressees,
            "select": self._select,
            "threads": self._threads,
            "threads-of-log": self._threads_of_log,
            "read": self._read,
            "open": self._open,
            "introduce": self._introduce,
            "observe": self._observe,
            "select-in": self._select_in,
            "close": self._close,
        }

    def start(self, name: str, arguments: dict[str, Any]) -> Job:
        """A job that is about to begin."""
        return self._known[name](**arguments)

    def _ping(self) -> Job:
        """Nothing; that there is an answer is enough."""
        yield

    # -- chats that come whole, and are forgotten

    def _addressees(self, chats: Records) -> Job:
        results = []
        for chat in chats:
            room = Room(self._model)
            room.introduce(chat["people"])
            results.append((yield from _resting(room.observe(chat["messages"]))))
        return results

    def _select(self, questions: Records, most: int) -> Job:
        """None if the responses of all answers together have more characters than that."""
        results = []
        for question in questions:
            session = self._model.session()
            introduce(session, question["people"])
            yield from _resting(_observed(session, [message_from(each) for each in question["messages"]]))
            found = selections(session, question["responder"], question["candidates"], question["top"])
            results.append(found)
            most -= _length(found)
            if most < 0:
                return None
            yield
        return results

    def _threads(self, messages: Records) -> Job:
        return (yield from _resting(placed(self._model, [message_from(each) for each in messages])))

    def _threads_of_log(self, log: str, name: str | None, most: int, longest: int) -> Job:
        messages = yield from _resting(LogText(log, name, most))
        return (yield from _resting(placed(self._model, messages, longest)))

    def _read(self, log: str, name: str | None, most: int) -> Job:
        text = LogText(log, name, most)
        messages = yield from _resting(text)
        lines = [read_line(number, message) for number, message in enumerate(messages)]
        return {"format": text.format, "messages": lines, "problems": text.problems}

    # -- channels

    def _open(self, channel: str, state: str | None, first: int, messages: list[str], people: str) -> Job:
        """Bring a channel into memory: what it was, and what has been said since. False if that cannot be.

        Those who are made known to it are in its state, if it has one.
        """
        try:
            room = Room(self._model, first, None if state is None else json.loads(state))
        except (TowhomError, LookupError, TypeError, ValueError):
            return False
        if state is None:
            room.introduce(json.loads(people))
        yield from _resting(room.observe([json.loads(each) for each in messages]))
        self._rooms[channel] = room
        return True

    def _introduce(self, channel: str, people: Records) -> Job:
        """Make people known to a channel; returns what it takes to go on."""
        yield
        room = self._rooms[channel]
        room.introduce(people)
        return json.dumps(room.state())

    def _observe(self, channel: str, messages: Records, keep: bool) -> Job:
        """The next messages; with `keep`, what it takes to go on from there."""
        room = self._rooms[channel]
        observations = yield from _resting(room.observe(messages))
        return {"observations": observations, "state": json.dumps(room.state()) if keep else None}

    def _select_in(self, channel: str, responder: str, candidates: list[str], top: int, most: int) -> Job:
        yield
        found = self._rooms[channel].select(responder, candidates, top)
        return None if _length(found) > most else found

    def _close(self, channel: str) -> Job:
        """Let a channel leave memory; returns what it takes to go on."""
        yield
        return json.dumps(self._rooms.pop(channel).state())


def _length(selected: Records) -> int:
    return sum(len(each["response"]) for each in selected)


def _observed(session: Session, messages: list[Message]) -> Iterator[None]:
    """A session follows messages, some at a time."""
    for start in range(0, len(messages), CHUNK):
        session.observe_all(messages[start : start + CHUNK])
        yield


def _resting(items: Iterable[Item]) -> Generator[None, None, list[Item]]:
    """All items, with a rest after each."""
    taken = []
    for item in items:
        taken.append(item)
        yield
    return taken
