"""What cutting a long room changes: answers after a cut, against those of one pass.

    python benchmarks/seams.py RECORD LOG... [--messages 20000] [--cuts 6] [--after 3000]

The first messages of the longest room of each log are followed in one pass. Then the room is cut at several
places, and each piece is followed from some messages before its cut (the warm-up), as `threads --into` and
`who --into` do. The result is the number of messages after a cut with a different link, conversation (by its
first message, after conversations have been joined across the cut) or likeliest addressee.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from itertools import islice
from pathlib import Path
from typing import Any

import towhom
from towhom.chat import Kind, Message
from towhom.live import Model
from towhom.readers import read_messages
from towhom.records import circumstances, describe_data, write_record

WARM_UPS = (0, 100, 300, 1000, 3000)
NEAR = 100
_READ = 400_000
"""Number of lines of a log that are searched for its longest room."""

Answer = tuple[int, str | None]
"""The line that a message answers, and its addressee."""


def longest_room(path: Path, messages: int) -> list[Message]:
    """The first messages of the longest room."""
    rooms = defaultdict[str | None, list[Message]](list)
    for message in islice(read_messages(path), _READ):
        if message.kind not in (Kind.SYSTEM, Kind.DAY):
            rooms[message.channel].append(message)
    return max(rooms.values(), key=len)[:messages]


def answers(model: Model, messages: list[Message], start: int, stop: int) -> list[Answer]:
    """The model's answer for each message; lines are places in the room."""
    places = {message.line: place for place, message in enumerate(messages)}
    return [
        (places[each.placed.replies_to[0]], each.addressee)
        for each in model.observations(messages[start:stop])
    ]


def threads(links: list[int]) -> list[int]:
    """For each message, the first message of its conversation."""
    found: list[int] = []
    for place, link in enumerate(links):
        found.append(place if link == place else found[link])
    return found


def compare(model: Model, room: list[Message], cuts: int, after: int) -> dict[str, Any]:
    """The differences between answers after cuts and those of one pass, for each warm-up."""
    whole = answers(model, room, 0, len(room))
    whole_threads = threads([link for link, _ in whole])
    places = [number * len(room) // (cuts + 1) for number in range(1, cuts + 1)]
    found: dict[str, Any] = {}
    for warm_up in WARM_UPS:
        links = [link for link, _ in whole]
        counts = defaultdict[str, int](int)
        for place in places:
            stop = min(place + after, len(room))
            piece = answers(model, room, max(place - warm_up, 0), stop)[min(warm_up, place) :]
            for at, (answer, one) in enumerate(zip(piece, whole[place:stop], strict=True)):
                where = "near" if at < NEAR else "far"
                counts[f"{where} messages"] += 1
                counts[f"{where} links"] += answer[0] != one[0]
                counts[f"{where} addressees"] += answer[1] != one[1]
                links[place + at] = answer[0]
        joined = threads(links)
        differing = sum(a != b for a, b in zip(joined, whole_threads, strict=True))
        total = {what: counts[f"near {what}"] + counts[f"far {what}"] for what in ("links", "addressees")}
        found[str(warm_up)] = {
            **counts,
            "threads": differing,
            **{f"{what} a cut": count / cuts for what, count in total.items()},
            "threads a cut": differing / cuts,
        }
    return found


def main() -> None:
    """Measure, show, and write a record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("record", type=Path)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--cuts", type=int, default=6)
    parser.add_argument("--after", type=int, default=3_000)
    arguments = parser.parse_args()
    model = towhom.load()
    rooms = {}
    for log in arguments.logs:
        room = longest_room(log, arguments.messages)
        rooms[log.name] = {"messages": len(room), **compare(model, room, arguments.cuts, arguments.after)}
        for warm_up in WARM_UPS:
            told = rooms[log.name][str(warm_up)]
            print(f"{log.name} {warm_up:5} " + " ".join(
                f"{what} {told[f'{what} a cut']:.1f}" for what in ("links", "addressees", "threads")
            ), flush=True)  # fmt: skip
    settings = {"cuts": arguments.cuts, "after": arguments.after, "near": NEAR}
    write_record(
        arguments.record,
        {**circumstances(), "data": describe_data(arguments.logs), "settings": settings, "rooms": rooms},
    )


if __name__ == "__main__":
    main()
