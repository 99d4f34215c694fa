"""Chats dressed anew, so that a model meets rooms and manners that the logs it learns from do not have.

The logs are of one busy room, in which everybody writes `nick: text`. Most rooms are small, and people write
`@nick`, `hey nick`, or no name at all. Conversations that people have drawn links in are taken out of the
log, a few at a time, as a room of their own; names in front are dressed in other manners, or left out.
In some, hours go by between two conversations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from random import Random

from towhom.chat import Kind, Message
from towhom.evaluation.reply_links import LinkedLog

_PAUSED = 0.3
"""Share of the rooms in which hours go by."""
_LATER = 1_000_000
"""Added to the numbers of lines of what is said later: more than a log has lines."""
_SHORTEST = 3
"""Messages of a conversation that is taken out."""
_MANNERS = (
    ("{name}: {text}", 3), ("{name}, {text}", 1), ("@{name} {text}", 3), ("@{name}: {text}", 1),
    ("hey {name}, {text}", 1), ("hi {name} {text}", 1), ("{text}, {name}", 1), ("{text} @{name}", 1),
    ("{name} {text}", 1), ("{text}", 12),
)  # fmt: skip
"""How a name in front is written instead, and how often."""


def small_rooms(log: LinkedLog, *, seed: int = 0, most: int = 3) -> Iterator[LinkedLog]:
    """Conversations of a log as rooms of their own, a few at a time, some with a long pause between.

    Args:
        log: What people have drawn links in.
        seed: For what is taken together, and how it is dressed.
        most: How many conversations a room has at most.
    """
    random = Random(f"{seed} {log.name}")
    rooms = _rooms(log, most, random)
    for room in rooms:
        later = next(rooms, None) if random.random() < _PAUSED else None
        yield room if later is None else _after_a_pause(room, later, random)


def _rooms(log: LinkedLog, most: int, random: Random) -> Iterator[LinkedLog]:
    said = {m.line: m for m in log.lines if m.line is not None and m.kind is Kind.MESSAGE}
    conversations = [sorted(part) for part in _conversations(log) if len(part) >= _SHORTEST]
    conversations.sort()
    at = 0
    while at < len(conversations):
        count = random.randint(1, most)
        lines = sorted({line for part in conversations[at : at + count] for line in part if line in said})
        at += count
        links = {
            line: frozenset(kept)
            for line in lines
            if (kept := [parent for parent in log.links.get(line, ()) if parent in said and parent in lines])
        }
        messages = tuple(_dressed(said[line], log.named.get(line), random) for line in lines)
        if messages:
            yield LinkedLog(f"{log.name}-{at}", messages, links)


def _after_a_pause(room: LinkedLog, later: LinkedLog, random: Random) -> LinkedLog:
    """A room in which hours go by before the next conversation starts."""
    last, first = room.lines[-1].time, later.lines[0].time
    if last is None or first is None:
        return room
    pause = last - first + timedelta(hours=random.uniform(0.5, 14))
    lines = tuple(
        replace(message, time=message.time and message.time + pause, line=(message.line or 0) + _LATER)
        for message in later.lines
    )
    links = {
        line + _LATER: frozenset(parent + _LATER for parent in parents)
        for line, parents in later.links.items()
    }
    return LinkedLog(f"{room.name}, {later.name}", room.lines + lines, {**room.links, **links})


def _conversations(log: LinkedLog) -> list[set[int]]:
    """Lines that are linked, directly or by others."""
    group: dict[int, int] = {}

    def first(line: int) -> int:
        while group.setdefault(line, line) != line:
            line = group[line]
        return line

    for line, parents in log.links.items():
        for parent in parents:
            one, other = first(line), first(parent)
            group[max(one, other)] = min(one, other)
    parts = defaultdict[int, set[int]](set)
    for line in group:
        parts[first(line)].add(line)
    return list(parts.values())


def _dressed(message: Message, named: str | None, random: Random) -> Message:
    if named is None:
        return message
    text = message.text.lstrip()[len(named) :].lstrip(" :,;")
    manners, shares = zip(*_MANNERS, strict=True)
    manner = random.choices(manners, shares)[0]
    return replace(message, text=manner.format(name=named, text=text))
