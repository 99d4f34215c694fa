"""The jobs of a worker.

A job is a generator that yields after every step, so that other jobs have a turn. Where it needs the model,
it yields a question and is sent the answer: the questions of several jobs are answered in one pass.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from towhom.chat import Message
from towhom.crosstalk.mind import Heard, Question
from towhom.errors import TowhomError
from towhom.live import Model
from towhom.live.answered import answers_to
from towhom.serve.answers import introduce, placed, selections
from towhom.serve.banks import opened_bank
from towhom.serve.logs import Lines, LogAnswers, LogReport
from towhom.serve.room import Room
from towhom.wire import message_from

Job = Generator[Question | None, Heard | None, Any]
Item = TypeVar("Item")
Records = list[dict[str, Any]]
_POLITE = 5
"""Niceness of a process that reads a log, so that channels go first (see `nice`)."""
_ASKER = "asker"


class Jobs:
    """The jobs, by name, and the channels that are in memory.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._rooms: dict[str, Room] = {}
        self._lines: Iterator[Lines] = iter(())
        self._known: dict[str, Callable[..., Job]] = {
            "ping": self._ping,
            "addressees": self._addressees,
            "select": self._select,
            "threads": self._threads,
            "answered": self._answered,
            "log": self._log,
            "more": self._more,
            "open": self._open,
            "introduce": self._introduce,
            "observe": self._observe,
            "select-in": self._select_in,
            "remembers": self._remembers,
            "gate": self._gate,
            "respond-in": self._respond_in,
            "close": self._close,
        }

    def start(self, name: str, arguments: dict[str, Any]) -> Job:
        """Create a job, which runs when it is stepped through."""
        return self._known[name](**arguments)

    def _ping(self) -> Job:
        """Answer with None, which shows that the worker is alive."""
        yield None

    # -- whole chats, which are not remembered

    def _addressees(self, chats: Records) -> Job:
        results = []
        for chat in chats:
            room = Room(self._model)
            room.introduce(chat["people"])
            results.append((yield from room.observe(chat["messages"])))
        return results

    def _select(self, questions: Records, most: int) -> Job:
        """The selections for each question; None if the responses have more than `most` characters in all."""
        results = []
        for question in questions:
            session = self._model.session()
            introduce(session, question["people"])
            yield from session.following([message_from(each) for each in question["messages"]])
            found = selections(session, question["responder"], question["candidates"], question["top"])
            results.append(found)
            most -= _length(found)
            if most < 0:
                return None
            yield None
        return results

    def _threads(self, messages: Records) -> Job:
        return (yield from _resting(placed(self._model, [message_from(each) for each in messages])))

    def _answered(self, question: list[str], bank: str, top: int, least: float) -> Job:
        """Responses that answered similar questions before."""
        yield None
        said = [Message(_ASKER, text) for text in question]
        found = answers_to(self._model, said, opened_bank(bank), top, least=least)
        return [each.record() for each in found]

    # -- a log that was uploaded, in a process of its own

    def _log(self, path: str, most: int, format: str | None, report: bool = False) -> Job:
        """Begin to read a log; the job `more` returns the answers."""
        yield None
        if hasattr(os, "nice"):  # not on every system
            os.nice(_POLITE)
        read = LogReport if report else LogAnswers
        self._lines = iter(read(self._model, Path(path), most, format))
        return []

    def _more(self) -> Job:
        """The next lines about the log; an empty list at its end."""
        for lines in self._lines:
            if lines:
                return lines
            yield None
        return []

    # -- channels

    def _open(self, channel: str, state: str | None, first: int, messages: list[str], people: str) -> Job:
        """Restore a channel from its state and the messages since. False if the state cannot be used.

        If there is a state, it has the registered people already.
        """
        try:
            room = Room(self._model, first, None if state is None else json.loads(state))
        except (TowhomError, LookupError, TypeError, ValueError):
            return False
        if state is None:
            room.introduce(json.loads(people))
        yield from room.observe([json.loads(each) for each in messages])
        self._rooms[channel] = room
        return True

    def _introduce(self, channel: str, people: Records) -> Job:
        """Register people with a channel; returns the new state of the channel."""
        yield None
        room = self._rooms[channel]
        room.introduce(people)
        return json.dumps(room.state())

    def _observe(self, channel: str, messages: Records, keep: bool) -> Job:
        """Observe the next messages; with `keep`, also return the new state of the channel."""
        room = self._rooms[channel]
        observations = yield from room.observe(messages)
        return {"observations": observations, "state": json.dumps(room.state()) if keep else None}

    def _select_in(self, channel: str, responder: str, candidates: list[str], top: int, most: int) -> Job:
        yield None
        found = self._rooms[channel].select(responder, candidates, top)
        return None if _length(found) > most else found

    def _remembers(self, channel: str, id: str) -> Job:
        """Whether a message has been observed in a channel."""
        yield None
        return self._rooms[channel].remembers(id)

    def _gate(self, channel: str, number: int, record: dict[str, Any], question: dict[str, Any]) -> Job:
        """Whether a bot speaks after a message of a channel."""
        yield None
        return self._rooms[channel].gate(number, record, question)

    def _respond_in(self, channel: str, responder: str, bank: str, top: int, least: float) -> Job:
        yield None
        return self._rooms[channel].respond(responder, opened_bank(bank), top, least)

    def _close(self, channel: str) -> Job:
        """Remove a channel from memory; returns its state."""
        yield None
        return json.dumps(self._rooms.pop(channel).state())


def _length(selected: Records) -> int:
    return sum(len(each["response"]) for each in selected)


def _resting(items: Iterable[Item]) -> Generator[None, None, list[Item]]:
    """All items as a list, yielding after each."""
    taken = []
    for item in items:
        taken.append(item)
        yield None
    return taken
