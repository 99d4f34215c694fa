"""A generated Slack export of any size, with everything that has caused errors in exports.

It has threads of the platform that continue after midnight, mentions before emoji, bots, edits, texts that
are formulas, messages of two channels with the same identifier, and newcomers whom nobody answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

Files = dict[str, bytes]

CHANNELS = ("3d-printing", "electronics", "general")
PEOPLE = (
    "Marta Oyelaran", "Jonas Weir", "Priya Nambiar", "Teo Castellan", "Ingrid Solvang", "Kofi Adjei",
    "Lena Brandt", "Rafael Duarte", "Sunniva", "Wen Li", "Aleksy", "Dede", "Hanna Ruiz", "Bram", "Nia Okafor",
    "Yusuf", "Clara Jensen", "Mikael", "Ottoline", "Zev",
)  # fmt: skip
NEWCOMERS = (
    "Ferris",
    "Gwen Abara",
    "Halvard",
    "Isolde",
    "Jun",
    "Kestrel",
    "Lucien",
    "Mirela",
    "Noor H.",
    "Pim",
)
THINGS = (
    "the resin printer", "the laser cutter", "my Arduino", "the soldering station", "the big lathe",
    "the vinyl plotter", "the CNC mill", "the label printer", "the sewing machine", "my ESP32 board",
    "the filament dryer", "the band saw",
)  # fmt: skip
TROUBLES = (
    "stops after ten minutes", "makes a burning smell", "is not found over USB", "prints only half the layer",
    "shows error 41", "needs a new fuse, I think", "will not home on the x axis", "asks for a password",
)  # fmt: skip
ADVICE = (
    "check the cable first, it was that twice last month", "turn it off for a minute and try again",
    "the fuse is behind the left panel", "there is a spare one in the blue drawer",
    "update the firmware, 2.1 has a fix for that", "ask for the key at the desk, then reset it",
    "I had that too: the belt was loose", "clean the contacts with alcohol",
)  # fmt: skip
TRIED = (
    "I have turned it off and on already",
    "the cable is new",
    "same thing with another laptop",
    "still no luck",
)
REMARKS = (
    "the shop is open until ten tonight", "somebody left a jacket by the door", "new wood arrived today",
    "thanks to all who cleaned up yesterday", "the coffee machine works again", "inventory day is on Sunday",
)  # fmt: skip
THANKS = ("that was it, thank you!", "works now, thanks", "perfect, thanks a lot", "ah, that helped")
FORMULAS = ('=HYPERLINK("http://example.org","click")', "+1 from me", "-2 degrees in the hall", "@SUM(A1)")
EMOJI = (":tada: congrats", ":) nice", ":+1:", ":wave: hello there")


@dataclass
class Workspace:
    """An export, with the facts that a reading must find."""

    files: Files = field(default_factory=dict)
    count: int = 0
    """Number of messages by people and bots."""
    replies: dict[tuple[str, str], str] = field(default_factory=dict)
    """Channel and identifier of a reply -> the identifier of the message that it answers."""
    overnight: list[tuple[str, str]] = field(default_factory=list)
    """Channel and identifier of the replies that came after midnight."""


def workspace(
    *, seed: int = 0, messages: int = 3100, days: int = 21, start: datetime | None = None
) -> Workspace:
    """A Slack export of about so many messages in three channels, with a file per channel and day."""
    random = Random(seed)
    ids = {name: f"U{number:03}" for number, name in enumerate((*PEOPLE, *NEWCOMERS))}
    made = Workspace()
    begin = start or datetime(2025, 3, 3, tzinfo=UTC)
    for channel in CHANNELS:
        wanted = messages // len(CHANNELS) // days
        by_day: dict[str, list[dict[str, Any]]] = {
            f"{begin + timedelta(days=day):%Y-%m-%d}": [] for day in range(days)
        }
        for day in range(days):
            said = 0
            quiet = (begin + timedelta(days=day)).weekday() >= 5
            while said < wanted * (0.5 if quiet else 1.2):
                hour = random.choices(range(24), weights=_HOURS)[0]
                time = begin + timedelta(days=day, hours=hour, seconds=random.randrange(3600))
                for message in _exchange(random, time, ids, day / days, made, channel):
                    by_day.setdefault(f"{_time(message):%Y-%m-%d}", []).append(message)
                    said += 1
        for name, lines in list(by_day.items())[:days]:
            lines.sort(key=lambda message: float(message["ts"]))
            made.files[f"{channel}/{name}.json"] = json.dumps(lines).encode()
            made.count += len(lines)
        lost = {(channel, line["ts"]) for lines in list(by_day.values())[days:] for line in lines}
        made.replies = {key: to for key, to in made.replies.items() if key not in lost}
        made.overnight = [key for key in made.overnight if key not in lost]
    users = [
        {"id": id, "name": name.lower().replace(" ", "."), "profile": {"display_name": name}}
        for name, id in ids.items()
    ]
    rooms = [{"id": f"C{number}", "name": name} for number, name in enumerate(CHANNELS)]
    made.files = {
        "users.json": json.dumps(users).encode(),
        "channels.json": json.dumps(rooms).encode(),
        **made.files,
    }
    return made


_HOURS = (1, 1, 1, 1, 1, 1, 2, 4, 8, 10, 10, 9, 6, 8, 9, 9, 8, 7, 8, 12, 14, 10, 6, 4)
"""Weights of the hours of a day."""


def _exchange(
    random: Random, time: datetime, ids: dict[str, str], passed: float, made: Workspace, channel: str
) -> Iterator[dict[str, Any]]:
    """A question with its answers, a remark, or something that has caused errors in exports."""
    used = getattr(made, "_used", None) or set()
    made._used = used  # type: ignore[attr-defined]

    def message(who: str, text: str, when: datetime, **more: Any) -> dict[str, Any]:
        ts = f"{int(when.timestamp())}.000100"
        while (channel, ts) in used:  # identifiers are unique within a channel, not across channels
            ts = f"{ts[:-6]}{int(ts[-6:]) + 100:06}"
        used.add((channel, ts))
        return {"type": "message", "ts": ts, "user": ids[who], "text": text, **more}

    helpers = random.choices(PEOPLE, weights=[20 // (n + 1) + 1 for n in range(len(PEOPLE))], k=3)
    asker = random.choice([name for name in PEOPLE if name not in helpers])
    kind = random.random()
    if kind < 0.05:
        newcomer = NEWCOMERS[min(int(passed * len(NEWCOMERS)), len(NEWCOMERS) - 1)]
        yield message(newcomer, f"hi, does anybody know why {random.choice(THINGS)} is locked?", time)
        return
    if kind < 0.10:
        yield message(helpers[0], f"<@{ids[asker]}> {random.choice(EMOJI)}", time)
        return
    if kind < 0.13:
        bot = {"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "doorbell"}
        ts = message(asker, "", time)["ts"]
        yield {**bot, "ts": ts, "text": f"the front door opened at {time:%H:%M}"}
        return
    if kind < 0.16:
        yield message(asker, random.choice(FORMULAS), time)
        return
    if kind < 0.30:
        yield message(asker, random.choice(REMARKS), time, edited={"user": ids[asker], "ts": "0"})
        return
    if kind < 0.34:
        yield message(asker, f"where do I find the manual of {random.choice(THINGS)}?", time)
        return
    thing = random.choice(THINGS)
    first = message(asker, f"{thing} {random.choice(TROUBLES)}. Any idea what it could be?", time)
    overnight = time.hour >= 20 and random.random() < 0.7
    wait = timedelta(minutes=random.expovariate(1 / 14)) + timedelta(hours=11 if overnight else 0)
    threaded = overnight or random.random() < 0.5
    more = {"thread_ts": first["ts"], "parent_user_id": ids[asker]} if threaded else {}
    yield first | ({"thread_ts": first["ts"]} if threaded else {})
    lines = [
        (asker, random.choice(TRIED), wait / 2),
        (helpers[0], f"<@{ids[asker]}> {random.choice(ADVICE)}", wait),
        (helpers[1], random.choice(ADVICE), wait + timedelta(minutes=3)),
        (asker, random.choice(THANKS), wait + timedelta(minutes=random.randrange(4, 30))),
    ]
    for who, text, after in random.choice((lines, lines[:2], lines[1:], lines[1:2])):
        reply = message(who, text, time + after, **more)
        yield reply
        if threaded:
            made.replies[channel, reply["ts"]] = first["ts"]
            if _time(reply).date() > time.date():
                made.overnight.append((channel, reply["ts"]))


def _time(message: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(float(message["ts"]), UTC)
