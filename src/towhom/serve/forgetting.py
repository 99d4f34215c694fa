"""Removes a person from a channel: their lines stay, but are emptied.

No line is removed, because answers and clients refer to line numbers. What other people wrote stays as it
is, even where it names the person; what the server inferred about them is removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from towhom.serve.storage import NumberedRow, Storage

Record = dict[str, Any]

NOBODY = "deleted"
"""The speaker of emptied lines."""
_AT_ONCE = 1000
_UNKNOWN = "somebody who was deleted"


@dataclass(frozen=True)
class Forgotten:
    """The changes to write so that a person is forgotten.

    Args:
        rows: The changed lines.
        people: The remaining registered people of the channel, as JSON.
        messages: Number of lines of the forgotten person, with edits of them.
    """

    rows: list[NumberedRow]
    people: str
    messages: int


def forgotten(storage: Storage, channel: str, person: str) -> Forgotten | None:
    """The changes that remove a person from a channel; None if they do not occur in it.

    Args:
        storage: The storage of the channel.
        channel: Name of the channel.
        person: The person, as in `speaker`.
    """
    people = json.loads(storage.people(channel))
    names, ids = {person}, set[str]()
    for each in people:
        if each["id"] == person:
            names |= _known(each["name"], *each["aliases"])
    for _, message, _ in _lines(storage, channel):
        if message["speaker"] == person:
            renamed = message["text"] if message.get("kind") == "rename" else None
            names |= _known(message.get("name"), renamed)
            ids |= _known(message.get("id"))
    rows, count = [], 0
    for number, message, observation in _lines(storage, channel):
        if message["speaker"] == person or (message.get("kind") == "edit" and message["id"] in ids):
            count += 1
            rows.append((number, _text(_EMPTY), _text(_emptied(number, observation))))
        elif (changed := _without(person, names, message, observation)) is not None:
            rows.append((number, _text(changed[0]), _text(changed[1])))
    left = [each for each in people if each["id"] != person]
    if not rows and left == people:
        return None
    return Forgotten(rows, json.dumps(left, ensure_ascii=False), count)


_EMPTY: Record = {"speaker": NOBODY, "text": "", "kind": "system"}


def _known(*names: str | None) -> set[str]:
    return {name for name in names if name}


def _lines(storage: Storage, channel: str) -> Iterator[tuple[int, Record, Record]]:
    first = 0
    while rows := storage.rows(channel, first, _AT_ONCE):
        for number, message, observation in rows:
            yield number, json.loads(message), json.loads(observation)
        first = rows[-1][0] + 1


def _emptied(number: int, observation: Record) -> Record:
    """An emptied observation, which keeps only its place in the chat."""
    message = {
        **_EMPTY, "addressee": None, "time": None, "id": None, "reply_to": None, "name": None, "mentions": [],
        "bot": False,
    }  # fmt: skip
    return {
        "number": number,
        "message": message,
        "addressees": [],
        "how": "inferred",
        "reason": "",
        "audience": "unknown",
        "asks": False,
        "replies_to": observation.get("replies_to", [number]),
        "thread": observation.get("thread", number),
        "thread_probability": observation.get("thread_probability", 1.0),
    }


def _without(
    person: str, names: set[str], message: Record, observation: Record
) -> tuple[Record, Record] | None:
    """Another speaker's line and its observation, without the forgotten person; None if nothing changes."""
    told = _unmarked(person, names, message)
    seen = dict(observation)
    if "message" in seen:
        seen["message"] = _unmarked(person, names, seen["message"])
    if "addressees" in seen:
        seen["addressees"] = [
            {**each, "name": _UNKNOWN, "id": None}
            if each.get("id") == person or (each.get("id") is None and each["name"] in names)
            else each
            for each in seen["addressees"]
        ]
    if any(name in seen.get("reason", "") for name in names):
        seen["reason"] = _UNKNOWN
    return None if (told, seen) == (message, observation) else (told, seen)


def _unmarked(person: str, names: set[str], message: Record) -> Record:
    """A message without the platform's marks (addressee, mentions) of the forgotten person."""
    found = dict(message)
    if found.get("addressee") in names:
        found["addressee"] = None
    if set(found.get("mentions") or ()) & {person, *names}:
        found["mentions"] = [name for name in found["mentions"] if name not in names]
    return found


def _text(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
