"""Exports that are made up: what a team would drop on the page."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from io import BytesIO
from random import Random

PEOPLE = {"U1": "Noor", "U2": "Wren", "U3": "Tobias Lindqvist", "U4": "Yo", "U5": "Mira"}
_QUESTIONS = (
    "is the *staging* server down?", "who has the key for `deploy.sh`?", "how do I reset my token?",
    "does anybody know why the build fails? :thinking_face:",
)  # fmt: skip
_ANSWERS = (
    "yes, since noon :white_check_mark:", "try\n```\nmake clean\nmake all\n```", "_fixed_ just now :tada:",
    "thanks! :+1:", "let me look", "that was me, sorry",
)  # fmt: skip


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """An archive of files."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def slack_export(random: Random, messages: int, *rooms: str) -> bytes:
    """An export of a workspace, as Slack gives it: a folder a channel, a file a day."""
    time = datetime(2024, 5, 27, 9, tzinfo=UTC)
    days: dict[str, list[dict[str, str]]] = {}
    roots: dict[str, dict[str, str]] = {}
    for _ in range(messages):
        time += timedelta(seconds=random.choice((20, 40, 90, 400, 3000)))
        room, user, ts = random.choice(rooms), random.choice([*PEOPLE]), f"{time.timestamp():.6f}"
        text = random.choice(_QUESTIONS if random.random() < 0.3 else _ANSWERS)
        if random.random() < 0.3:
            text = f"<@{random.choice([*PEOPLE])}> {text}"
        message = {"type": "message", "user": user, "ts": ts, "text": text}
        if room in roots and random.random() < 0.1:
            root = roots[room]
            message["thread_ts"] = root["thread_ts"] = root["ts"]  # Slack marks where a thread begins, too
        if room not in roots or random.random() < 0.02:
            roots[room] = message
        days.setdefault(f"{room}/{time:%Y-%m-%d}.json", []).append(message)
    people = [{"id": id, "name": name, "profile": {"display_name": name}} for id, name in PEOPLE.items()]
    channels = [{"id": f"C{number}", "name": room} for number, room in enumerate(rooms)]
    lists = {"users.json": json.dumps(people), "channels.json": json.dumps(channels)}
    return zipped(lists | {name: json.dumps(day) for name, day in days.items()})
