"""Small exports of every format, invented for the tests: single messages to put together, and long logs."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Files = dict[str, bytes]
"""Path -> content, of a log that is one file or many."""

START = datetime(2024, 5, 31, 9, 0, tzinfo=UTC)
STEP = timedelta(minutes=5)
NAMES = ("ada", "bob", "Cleo D.")


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Put files into a folder; the path of the log: the file, if there is but one."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder / next(iter(files)) if len(files) == 1 else folder


def zipped(files: Mapping[str, bytes], inside: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(inside + name, content)
    return buffer.getvalue()


def encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


# Slack ------------------------------------------------------------------------------------------------------

SLACK_USERS = [
    {
        "id": "U1",
        "name": "ada.l",
        "real_name": "Ada L",
        "profile": {"display_name": "ada", "real_name": "Ada L"},
    },
    {"id": "U2", "name": "bob", "profile": {"display_name": "", "real_name": "Bob B"}},
    {"id": "U3", "name": "cleo", "profile": {"display_name": "", "real_name": ""}},
    {"id": "U4"},
]


def slack_message(ts: str, user: str | None, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "ts": ts, "text": text, **({"user": user} if user else {}), **more}


def slack(days: Mapping[str, list[Any]], *, users: Any = SLACK_USERS) -> Files:
    """`days` has keys like "general/2024-05-31"."""
    channels = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "random"}]
    files = {"users.json": encoded(users), "channels.json": encoded(channels)}
    return files | {f"{day}.json": encoded(messages) for day, messages in days.items()}


def long_slack(count: int) -> Files:
    days: dict[str, list[Any]] = {}
    for number in range(count):
        time = START + number * STEP
        ts = f"{int(time.timestamp())}.{number % 1000000:06}"
        text = (
            "<@U1> is it done?" if number % 3 else f"it was {number} &amp; more, see <http://x.example|there>"
        )
        message = slack_message(ts, f"U{number % 4 + 1}", text)
        if number % 5 == 4:
            message["thread_ts"] = f"{int((time - STEP).timestamp())}.{number - 1:06}"
        days.setdefault(f"general/{time:%Y-%m-%d}", []).append(message)
    return slack(days)


# Discord ----------------------------------------------------------------------------------------------------


def discord_person(number: int, name: str, nickname: str | None = None, **more: Any) -> dict[str, Any]:
    person = {"id": str(number), "name": name, "discriminator": "0000", "isBot": False, "roles": []}
    return person | ({"nickname": nickname} if nickname else {}) | more


def discord_message(number: int, author: dict[str, Any], content: str, **more: Any) -> dict[str, Any]:
    message = {
        "id": str(number),
        "type": "Default",
        "timestamp": "2024-05-31T14:00:00+02:00",
        "content": content,
        "author": author,
        "attachments": [],
        "embeds": [{"title": "a [box]", "fields": [{"value": "with {brackets"}]}],
        "mentions": [],
    }
    return message | more


def discord(messages: list[Any], channel: str | None = "lounge") -> bytes:
    head = {
        "guild": {"id": "1", "name": "Guild"},
        "channel": {"id": "2", "type": "GuildTextChat", "name": channel},
    }
    return encoded(
        {**head, "exportedAt": "2024-06-01T00:00:00+00:00", "messages": messages, "messageCount": 0}
    )


def long_discord(count: int) -> Files:
    people = [discord_person(number, name) for number, name in enumerate(NAMES)]
    messages = []
    for number in range(count):
        time = (START + number * STEP).isoformat()
        message = discord_message(number, people[number % 3], f"line {number}", timestamp=time)
        if number % 4 == 1:
            message |= {"content": "@ada, look", "mentions": [people[0]]}
        if number % 4 == 2:
            message |= {"type": "Reply", "reference": {"messageId": str(number - 1)}}
        messages.append(message)
    return {"lounge.json": discord(messages)}


# Telegram ---------------------------------------------------------------------------------------------------


def telegram_message(number: int, name: str | None, text: Any, **more: Any) -> dict[str, Any]:
    message = {
        "id": number,
        "type": "message",
        "date": "2024-05-31T14:00:00",
        "date_unixtime": "1717156800",
        "from": name,
        "from_id": f"user{len(name or '')}",
        "text": text,
    }
    return message | more


def telegram(messages: list[Any], name: str | None = "Rowing club") -> bytes:
    return encoded({"name": name, "type": "private_group", "id": 77, "messages": messages})


def telegram_account(chats: list[dict[str, Any]]) -> bytes:
    about = {
        "about": "Here is the data you asked for.",
        "contacts": {"about": "", "list": [{"first_name": "Ada"}]},
    }
    return encoded({**about, "chats": {"about": "", "list": chats}})


def long_telegram(count: int) -> Files:
    messages = []
    for number in range(count):
        time = f"{START + number * STEP:%Y-%m-%dT%H:%M:%S}"
        text: Any = f"line {number}"
        if number % 4 == 1:
            text = [{"type": "mention", "text": "@ada"}, " look ", {"type": "bold", "text": "here"}]
        more = {"reply_to_message_id": number - 1} if number % 4 == 2 else {}
        messages.append(telegram_message(number, NAMES[number % 3], text, date=time, **more))
    return {"result.json": telegram(messages)}


def long_telegram_account(count: int) -> Files:
    chat = json.loads(long_telegram(count // 2)["result.json"])
    return {"result.json": telegram_account([chat, chat | {"name": "Chess"}])}


# Matrix -----------------------------------------------------------------------------------------------------


def matrix_event(number: int, sender: str, content: Any, **more: Any) -> dict[str, Any]:
    event = {
        "event_id": f"$e{number}",
        "type": "m.room.message",
        "sender": f"@{sender}:example.org",
        "origin_server_ts": int(START.timestamp() * 1000) + number * 300_000,
        "content": content,
        "unsigned": {"age": 1},
    }
    return event | more


def matrix_text(body: str, **more: Any) -> dict[str, Any]:
    return {"msgtype": "m.text", "body": body, **more}


def matrix_member(number: int, person: str, name: str | None, before: str | None = None) -> dict[str, Any]:
    unsigned = {"prev_content": {"membership": "join", "displayname": before}} if before else {}
    return matrix_event(
        number,
        person,
        {"membership": "join", "displayname": name},
        type="m.room.member",
        state_key=f"@{person}:example.org",
        unsigned=unsigned,
    )


def matrix_reply(number: int) -> dict[str, Any]:
    return {"m.relates_to": {"m.in_reply_to": {"event_id": f"$e{number}"}}}


def matrix(events: list[Any], room: str = "Tea room") -> bytes:
    return encoded({"room_name": room, "room_creator": "ada", "topic": "", "messages": events})


def long_matrix(count: int) -> Files:
    events = [matrix_member(0, "cleo", "Cleo D.")]
    for number in range(1, count):
        content = matrix_text(f"line {number}")
        if number % 4 == 1:
            content = matrix_text("Cleo D.: look", **{"m.mentions": {"user_ids": ["@cleo:example.org"]}})
        if number % 4 == 2:
            content = matrix_text("> <@ada:example.org> line\n\nyes", **matrix_reply(number - 1))
        events.append(matrix_event(number, ("ada", "bob", "cleo")[number % 3], content))
    return {"room.json": matrix(events)}


# Text logs --------------------------------------------------------------------------------------------------


def long_whatsapp(count: int) -> Files:
    lines = []
    for number in range(count):
        stamp = f"{START + number * STEP:%d/%m/%y, %H:%M}"
        text = "@\u2068Cleo D.\u2069 look" if number % 4 == 1 else f"line {number}\nand more"
        lines.append(f"{stamp} - {NAMES[number % 3]}: {text}" if number % 7 else f"{stamp} - Bob joined")
    return {"chat.txt": "\n".join(lines).encode()}


def long_irc(count: int) -> Files:
    lines, day = [], ""
    for number in range(count):
        time = START + number * STEP
        if day != f"{time:%Y%m%d}":
            day = f"{time:%Y%m%d}"
            lines.append(f"# {day}")
        text = "ada: is it done?" if number % 3 else f"line {number}"
        kinds = (f"<ada> {text}", f"<@bob> {text}", " * bob waves", "*** Joins: cleo")
        lines.append(f"[{time:%H:%M}] {kinds[number % 4]}")
    return {"log.txt": "\n".join(lines).encode()}


def long_jsonl(count: int) -> Files:
    lines = []
    for number in range(count):
        time = (START + number * STEP).isoformat()
        value = {"speaker": NAMES[number % 3], "text": f"line {number}", "time": time, "channel": "lounge"}
        lines.append(json.dumps(value | ({"addressee": "ada"} if number % 4 == 1 else {})))
    return {"chat.jsonl": "\n".join(lines).encode()}


def long_reference(count: int) -> Files:
    lines = []
    for number in range(count):
        if number % 50 == 0:
            lines.append(f"# day {number}" if number % 100 else "")
        time = f"{START + number * STEP:%Y-%m-%dT[%H:%M]}"
        rest = "bob\tyes\tno\t1" if number % 4 == 1 else f"-\tline {number}\t-\t-"
        lines.append(f"{time}\tada\t{rest}")
    return {"train.cand-2": "\n".join(lines).encode()}
