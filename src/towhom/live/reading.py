"""A whole log read by a model: for every message its addressee and the id of the message that it answers."""

from __future__ import annotations

import json
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from towhom.chat import Message
from towhom.live.answers import Observation
from towhom.live.channel import CHUNK
from towhom.live.following import follow_together
from towhom.live.model import Model
from towhom.live.session import Session
from towhom.readers.identity import Located, record_of
from towhom.threads import Placed

_OPEN = 100
"""Number of rooms kept ready: an export has its rooms one after another, or few at a time."""
_ALTERNATIVES = 5
_REMEMBERED = 250_000
"""Conversations of at least so many messages are remembered, and of at most twice as many."""

WHO_FIELDS = (
    "id", "room", "day", "time", "file", "line", "speaker", "name", "addressee", "how", "probability",
    "audience", "reason", "replies_to", "thread", "text",
)  # fmt: skip
THREAD_FIELDS = (
    "id", "room", "day", "time", "file", "line", "kind", "speaker", "name", "addressee", "how", "replies_to",
    "thread", "probability", "changes", "text",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answered:
    """A line of a log, and the model's answer for it.

    Args:
        located: The line with its id.
        observation: Who it is for. The numbers of its `placed` are those of the reading: lines from 0.
        replies_to: The id of the message that it answers; its own if it starts a conversation.
        thread: The id of the message that started its conversation.
        certain: Whether the platform says what it answers.
    """

    located: Located
    observation: Observation
    replies_to: str
    thread: str
    certain: bool = False

    @property
    def message(self) -> Message:
        """The line as it stands in the log."""
        return self.located.message

    @property
    def starts(self) -> bool:
        """Whether it starts a conversation."""
        return self.replies_to == self.located.id

    @property
    def name(self) -> str:
        """What people call the speaker."""
        message = self.observation.message
        return message.name or message.speaker

    @property
    def text(self) -> str:
        """The text, without the addressee's name in front."""
        return self.observation.message.text

    @property
    def link_probability(self) -> float:
        """How likely it answers that message, or starts a conversation."""
        return 1.0 if self.certain else self.observation.placed.probability

    @property
    def placed(self) -> Placed:
        """Its link and thread, in the numbers of the reading."""
        return self.observation.placed


def answers(
    model: Model,
    lines: Iterable[Located],
    *,
    at_once: int = CHUNK,
    prepare: Callable[[Session], object] = lambda session: None,
) -> Iterator[Answered]:
    """The model's answer for every line, in order; memory is bounded for any number of lines.

    A room is followed from its first message to its last, across days and files. Reply links of the platform
    are kept, however far back they lead.

    Args:
        model: The model that answers.
        lines: The lines of some logs, as `locate` gives them.
        at_once: How many lines to collect before they are answered: 1 to follow a chat as it runs.
        prepare: Called with the session of each room before its first message.
    """
    sessions, known = _Sessions(model, prepare), _Known()
    source = enumerate(lines)
    while chunk := list(islice(source, at_once)):
        by_room: dict[str, list[Message]] = {}
        for number, located in chunk:
            message = replace(located.message, line=number, channel=located.room)
            by_room.setdefault(located.room, []).append(message)
        found: dict[str, Iterator[Observation]] = {}
        rooms = iter(by_room)
        while together := list(islice(rooms, _OPEN)):
            heard = follow_together([sessions.of(room).following(by_room[room]) for room in together])
            found |= {room: iter(observed) for room, observed in zip(together, heard, strict=True)}
        for _, located in chunk:
            yield known.answered(located, next(found[located.room]))


class _Sessions:
    """The sessions of rooms. Those that have been quiet for longest are stored as compressed states."""

    def __init__(self, model: Model, prepare: Callable[[Session], object]) -> None:
        self._model, self._prepare = model, prepare
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._closed: dict[str, bytes] = {}

    def of(self, room: str) -> Session:
        """The session of a room."""
        session = self._open.get(room)
        if session is None:
            session = self._open[room] = self._opened(room)
            if len(self._open) > _OPEN:
                quiet, last = self._open.popitem(last=False)
                self._closed[quiet] = zlib.compress(json.dumps(last.state()).encode(), 1)
        self._open.move_to_end(room)
        return session

    def _opened(self, room: str) -> Session:
        state = self._closed.pop(room, None)
        if state is not None:
            return self._model.session(json.loads(zlib.decompress(state)))
        session = self._model.session()
        self._prepare(session)
        return session


class _Known:
    """The ids and conversations of the latest messages."""

    def __init__(self) -> None:
        self._new: dict[int | str, tuple[str, str]] = {}
        self._old: dict[int | str, tuple[str, str]] = {}

    def answered(self, located: Located, observation: Observation) -> Answered:
        """The line with ids in place of numbers."""
        placed, id = observation.placed, located.id
        starts = located.reply_to == id
        linked = (id, id) if starts else self._get(located.reply_to)
        if linked is not None:
            replies_to, thread = linked
        elif placed.starts:
            replies_to, thread = id, id
        else:
            replies_to, thread = self._get(placed.replies_to[0]) or (id, id)
        self._new[placed.line] = self._new[id] = id, thread
        if len(self._new) >= 2 * _REMEMBERED:
            self._old, self._new = self._new, {}
        return Answered(located, observation, replies_to, thread, linked is not None)

    def _get(self, key: int | str | None) -> tuple[str, str] | None:
        """The id and the conversation of a message; None if it is not remembered."""
        if key is None:
            return None
        return self._new.get(key) or self._old.get(key)


def record(answered: Answered) -> dict[str, Any]:
    """The fields that all outputs have of a message: its id, speaker, addressee, text and link."""
    located, observation = answered.located, answered.observation
    return {
        **record_of(located),
        "name": answered.name,
        "addressee": observation.addressee,
        "how": observation.how.value,
        "probability": round(observation.probability, 4),
        "audience": observation.audience.value,
        "reason": observation.reason,
        "replies_to": answered.replies_to,
        "link_probability": round(answered.link_probability, 4),
        "thread": answered.thread,
        "changes": located.changes,
        "text": observation.message.text,
    }


def who_record(answered: Answered, *, likely: bool = False) -> dict[str, Any]:
    """A row of `towhom who`.

    Args:
        answered: The message.
        likely: Whether to add everybody who may be meant, as `addressees`.
    """
    row = _chosen(record(answered), WHO_FIELDS)
    if likely:
        row["addressees"] = likely_addressees(answered.observation)
    return row


def likely_addressees(observation: Observation) -> list[dict[str, Any]]:
    """The likeliest addressees, in the form that all outputs use."""
    return [
        {"name": each.name, "id": each.id, "probability": round(each.probability, 4)}
        for each in observation.addressees[:_ALTERNATIVES]
    ]


def thread_record(answered: Answered) -> dict[str, Any]:
    """A row of `towhom threads`."""
    found = record(answered)
    found |= {"probability": found["link_probability"], "text": answered.message.text}
    return _chosen(found, THREAD_FIELDS)


def _chosen(found: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: found[field] for field in fields}
