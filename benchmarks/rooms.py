"""Rooms in which people write `@name`: are the named heard, and are they found where the name is hidden?

    python benchmarks/rooms.py RECORD LOG... [--share 0.05] [--most 4000]

Each channel of a log (JSON lines) is followed through its last days, in order of time; everybody who spoke in
it before was introduced, as the members of a room are known. Of the messages that begin with `@name`, or
`@name` where the log says that it is the addressee, counted is how often the likeliest addressee is that
person: as written, and with the `@name` hidden, in the same run, beside Direct-Recent (who addressed the
speaker last, else who spoke last). Where the name is hidden, only messages count whose addressee has spoken
within the last 50.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import towhom
from towhom.chat import Message
from towhom.readers import read_messages
from towhom.records import circumstances, describe_data, write_record

REACH = 50
"""With hidden names, only messages count whose addressee spoke within so many messages before."""
_AT = re.compile(r"\s*@([\w.-]+)")


def channels(path: Path) -> dict[str | None, list[Message]]:
    """The messages of each channel, in order of time."""
    found = defaultdict[str | None, list[Message]](list)
    for message in read_messages(path):
        found[message.channel].append(message)
    return {
        name: sorted(messages, key=lambda message: message.time.isoformat() if message.time else "")
        for name, messages in found.items()
    }


def last_days(messages: list[Message], share: float) -> int:
    """The place of the first message of the last days, by share of the days."""
    days = sorted({message.time.date() for message in messages if message.time})
    first = days[min(int(len(days) * (1 - share)), len(days) - 1)]
    return next(at for at, message in enumerate(messages) if message.time and message.time.date() >= first)


def named(message: Message, people: Iterable[str]) -> tuple[str, str] | None:
    """The person named by an @ in front, and the text without it; None if there is none."""
    known = {name.lower(): name for name in people}
    if message.addressee is not None:
        at = f"@{message.addressee}"
        start = message.text.lstrip()
        if start.startswith(at) and start[len(at) :].strip(" :,"):
            return message.addressee, start[len(at) :].lstrip(" :,")
        return None
    found = _AT.match(message.text)
    rest = message.text[found.end() :].lstrip(" :,") if found else ""
    name = known.get(found[1].lower()) if found else None
    return (name, rest) if name is not None and rest else None


class DirectRecent:
    """A baseline: the person who addressed the speaker last, else who spoke last."""

    def __init__(self) -> None:
        self._to: dict[str, str] = {}
        self._spoken: list[str] = []

    def __call__(self, speaker: str) -> str | None:
        """The person whom the speaker addresses by this rule."""
        last = next((name for name in reversed(self._spoken) if name != speaker), None)
        return self._to.get(speaker, last)

    def hear(self, speaker: str, addressee: str | None) -> None:
        """Take a message."""
        self._spoken.append(speaker)
        if addressee is not None:
            self._to[addressee] = speaker


def follow(model: towhom.live.Model, path: Path, share: float, most: int) -> dict[str, Any]:
    """The counts for one log."""
    count = right = hidden = found = recent = followed = 0
    for messages in channels(path).values():
        if len(messages) < _SMALLEST:
            continue
        first = max(last_days(messages, share), 1)
        session, rule = model.session(), DirectRecent()
        roster = dict.fromkeys(message.speaker for message in messages[:first])
        for name in roster:
            session.introduce(name)
        for message in messages[max(first - 2 * REACH, 0) : first]:
            session.observe(replace(message, addressee=None, reply_to=None))
        near: list[str] = [message.speaker for message in messages[max(first - REACH, 0) : first]]
        for message in messages[first:]:
            if followed >= most:
                break
            followed += 1
            roster[message.speaker] = None
            called = named(message, roster)
            plain = replace(message, addressee=None, reply_to=None)
            if called is not None and called[0] != message.speaker:
                name, rest = called
                if name in near[-REACH:]:
                    hidden += 1
                    found += session.rank_addressees(message.speaker, rest)[0].name == name
                    recent += rule(message.speaker) == name
                count += 1
                right += session.observe(plain).addressee == name
            else:
                session.observe(plain)
            rule.hear(message.speaker, called[0] if called else None)
            near.append(message.speaker)
    return {
        "messages": followed,
        "named": count,
        "named_right": round(100 * right / max(count, 1), 2),
        "hidden": hidden,
        "hidden_right": round(100 * found / max(hidden, 1), 2),
        "direct_recent": round(100 * recent / max(hidden, 1), 2),
    }


_SMALLEST = 200
"""The least number of messages of a channel that is measured."""


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--most", type=int, default=4000)
    arguments = parser.parse_args()
    model = towhom.load()
    result = {}
    for path in arguments.logs:
        result[path.name] = follow(model, path, arguments.share, arguments.most)
        print(path.name, result[path.name], flush=True)
    record = {**circumstances(), "data": describe_data(arguments.logs), "rooms": result}
    write_record(arguments.record, record)


if __name__ == "__main__":
    main()
