"""What reading costs: time grows with the length of a log, not with its square, whatever is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.costs import check_growth, seconds
from tests.readers.exports import (
    START,
    Files,
    discord,
    discord_message,
    discord_person,
    encoded,
    matrix,
    matrix_event,
    matrix_member,
    matrix_reply,
    matrix_text,
    slack,
    slack_message,
    telegram,
    telegram_message,
    write,
)
from tests.readers.platforms import (
    exporter_div,
    exporter_page,
    facebook,
    facebook_message,
    gitter_message,
    google_message,
    hangouts,
    hangouts_event,
    json_lines,
    lua_item,
    mattermost,
    mattermost_post,
    meta_div,
    meta_page,
    package_message,
    rocket_message,
    signal_envelope,
    sms,
    stanza,
    teams_message,
    telegram_div,
    telegram_page,
    zulip,
    zulip_archived,
    zulip_message,
)
from towhom.readers import READERS, read_conversations

_LENGTH = 4_000

UNITS = [
    *(" ", "\t", "<", ">", "@", ":", "[", "]", "(", "9", "a", ".", "-", "\\", '"', "_"),
    *("* ", "> ", ">\n", "\n", "\r", "a ", "a.b", "-:", "[]", "[[", "{}", '{"a":', "=== ", "# ", "9:"),
    *("<mx-reply>", "</mx-reply>", '"https://matrix.to/#/@', '"https://matrix.to/#/@a"', "<@1>", "<@U1>"),
    *("<|", "<!date^", "&amp;", "@ada", "@ada, ", "\u200e", "\u200e<", " \u200e<a>", "\u2068", "@\u2068"),
    *("@\u2068a\u2069", "\x03", "\x041", " is now known as ", "e\u0301", "\U0001f468\u200d"),
]
"""What hostile texts repeat."""


def _jsonl(text: str) -> Iterator[bytes]:
    fields = ("text", "speaker", "addressee", "channel", "time", "name", "id")
    lines: list[dict[str, object]] = [{"speaker": "ada", "text": "hi"}]
    lines += [{"speaker": "ada", "text": "hi", field: text} for field in fields]
    lines.append({"speaker": "ada", "text": "hi", "mentions": [text] * 3})
    yield "\n".join(map(json.dumps, lines)).encode()
    yield json.dumps(lines[0]).encode() + b"\n" + text.encode() + b'\n{"a":' + text.encode()


def _slack(text: str) -> Iterator[Files]:
    messages = [
        slack_message("1717142400.000000", "U1", text),
        slack_message("1717142401.000000", "U1", f"<@U1>{text}"),
        slack_message("1717142402.000000", "U2", f"<@U1|{text}> <{text}>"),
        slack_message("1717142403.000000", "U9", "hi", user_profile={"display_name": text}),
        slack_message("1717142404.000000", None, "hi", username=text, thread_ts=text),
    ]
    yield slack({"general/2024-05-31": messages})


def _discord(text: str) -> Iterator[bytes]:
    ada = discord_person(1, "ada")
    yield discord(
        [
            discord_message(1, ada, text),
            discord_message(2, ada, f"@ada{text}", mentions=[ada, discord_person(2, text)]),
            discord_message(3, discord_person(3, text), "hi", type=text, reference={"messageId": text}),
        ]
    )


def _telegram(text: str) -> Iterator[bytes]:
    pieces = [{"type": "mention", "text": f"@{text}"}, text, {"type": "mention_name", "text": text}]
    yield telegram(
        [
            telegram_message(1, "ada", text),
            telegram_message(2, text, "hi"),
            telegram_message(3, "ada", pieces),
            telegram_message(4, "ada", [{"type": "mention", "text": "@ada"}] * 3 + list(text[:20_000])),
            telegram_message(5, "ada", "hi", type=text, date=text),
        ]
    )


def _matrix(text: str) -> Iterator[bytes]:
    yield matrix(
        [
            matrix_event(1, "ada", matrix_text(text)),
            matrix_event(2, "ada", matrix_text(f"> <@ada>{text}", **matrix_reply(1))),
            matrix_event(3, "ada", matrix_text(f"> <@ada>\n{text}", **matrix_reply(1))),
            matrix_event(4, "ada", matrix_text("hi", formatted_body=text)),
            matrix_event(5, text, matrix_text("hi", **{"m.mentions": {"user_ids": [text, "@ada:a"]}})),
            matrix_member(6, "ada", text, before="ada"),
        ]
    )


def _reference(text: str) -> Iterator[bytes]:
    line = "2024-05-31T[10:00]\tada\t-\thi\t-\t-"
    fields = line.split("\t")
    lines = ["\t".join([*fields[:place], text, *fields[place + 1 :]]) for place in range(len(fields))]
    yield "\n".join([line] * 60 + lines).encode()


def _irc(text: str) -> Iterator[bytes]:
    bodies = [
        *(f"<ada> {text}", f"<{text}> hi", f"<{text}", f"* {text}", f" * ada {text}", f"*** {text}"),
        *(f"-{text}", f"-ada:{text}", f"-!- {text}", f"*** ada [{text}", f"*** Nick change: {text}", text),
    ]
    for stamp in ("[10:00] ", "10:00 ", "2024-05-31 10:00:00\t", "", "May 31 10:00:00 ", "@1717142400 "):
        first = f"{stamp}ada\thi" if "\t" in stamp else f"{stamp}<ada> hi"
        marks = (f"=== {text}", f"--- {text}", f"--- Day changed {text}", f"--- Log opened Fri May {text}")
        lines = [first] * 60 + [stamp + body for body in bodies] + list(marks)
        yield "\n".join([*lines, f"# {text}", f"--> \t{text}"]).encode()


def _whatsapp(text: str) -> Iterator[bytes]:
    stamp = "31/05/24, 10:00 - "
    bodies = [
        *(
            f"Ada: {text}",
            f"Ada L: @{text}",
            f"{text}: hi",
            text,
            f"Ada: \u200e{text}",
            f"Ada: hi{text}\u200e<",
        ),
        *(f"Ada: {text}.jpg (file", f"Ada: <{text}", f"Ada: @\u2068{text}", f"Ada: @Ada L{text}"),
    ]
    yield "\n".join([*(stamp + body for body in bodies), text, f"[{text}", f"\u200e{text}"]).encode()


def _facebook(text: str) -> Iterator[bytes]:
    messages = [
        facebook_message(1717142400000, "ada", text),
        facebook_message(1717142400001, text[:5000], "hi", type=text),
        {"sender_name": text, "timestamp_ms": text, "content": "\u00c3" * len(text)},
    ]
    yield facebook(messages, text)


def _google_chat(text: str) -> Iterator[bytes]:
    marked = [{"start_index": place, "length": 9} for place in range(min(len(text), 3000))]
    messages = [
        google_message(1, "ada", f"@{text}", annotations=marked[:1000]),
        google_message(2, text, "hi", quoted_message_metadata={"message_id": text}),
        google_message(3, "ada", "hi") | {"created_date": text, "message_id": text},
    ]
    yield encoded({"messages": messages})


def _zulip(text: str) -> Iterator[Files | bytes]:
    said = f"@_**ada|1** [said](http://x/near/1):\n```quote\n{text}\n```\n{text}"
    contents = (
        text,
        said,
        f"@**{text}",
        f"@_**ada|1** [said]({text}",
        f"<p>{text}",
        f"<span class=user-mention {text}>",
    )
    yield zulip(
        [zulip_message(place, 1, content, subject=text[:2000]) for place, content in enumerate(contents)]
    )
    yield encoded([zulip_archived(place, "ada", content) for place, content in enumerate(contents)])


def _mattermost(text: str) -> Iterator[bytes]:
    replies = [{"user": "bob", "message": text, "create_at": 1717142400001}]
    lines = [
        mattermost_post(START, "ada", text, replies=replies),
        mattermost_post(START, text, "hi", channel=text),
    ]
    yield mattermost(lines) + f"\n{text}".encode()


def _rocketchat(text: str) -> Iterator[bytes]:
    messages = [
        rocket_message(1, "ada", text),
        rocket_message(2, "ada", f"[ ](http://x?msg={text}"),
        rocket_message(3, text, "hi", ts=text, tmid=text),
    ]
    yield encoded({"messages": messages})


def _teams(text: str) -> Iterator[bytes]:
    reference = {"contentType": "messageReference", "content": text}
    contents = (
        text,
        f"<p>{text}",
        f"<at id={text}>",
        f'<at id="0">{text}</at>',
        f"<blockquote {text}",
        f"<{text}",
    )
    messages = [teams_message(place, "ada", content) for place, content in enumerate(contents)]
    yield encoded({"value": [*messages, teams_message(9, text, "hi", attachments=[reference])]})


def _gitter(text: str) -> Iterator[bytes]:
    mentions = [{"screenName": text[:100]}] * 3
    yield encoded(
        [gitter_message(1, "ada", text, mentions=mentions), gitter_message(2, text, "hi", sent=text)]
    )


def _signal(text: str) -> Iterator[bytes]:
    mentions = [{"uuid": "u", "name": "ada", "start": 1, "length": 1}] * 3
    envelopes = [
        signal_envelope(1, "ada", f"\ufffc{text}", mentions=mentions),
        signal_envelope(2, text, "\ufffc" * (len(text) // 3), groupInfo={"groupId": text}),
    ]
    yield json_lines(envelopes)


def _package(text: str) -> Iterator[bytes]:
    yield encoded([package_message(1, text), package_message(2, "hi") | {"Timestamp": text}])
    yield f'ID,Timestamp,Contents\n1,{text}\n2,2024-05-31 10:00:00,"{text}'.encode()


def _whisper(text: str) -> Iterator[bytes]:
    segments = [{"start": 1.0, "end": 2.0, "text": text, "speaker": "ada"}]
    yield encoded({"segments": [*segments, {"start": 2, "end": 3, "text": "hi", "speaker": text}]})


def _subtitles(text: str) -> Iterator[bytes]:
    time = "00:00:01.000 --> 00:00:02.000"
    bodies = (
        f"<v Ada>{text}",
        f"<v {text}>hi",
        f"<v {text}",
        f"Ada: {text}",
        text,
        f"[{text}",
        f"- {text}",
        f"{{\\{text}",
    )
    yield "\n\n".join(["WEBVTT", *(f"{time}\n{body}" for body in bodies), text, f"{text} --> 1"]).encode()


def _xmpp(text: str) -> Iterator[bytes]:
    items = [
        lua_item(1, "ada", text),
        lua_item(2, text[:1000], "hi"),
        f'item({{ "{text}',
        f"item({{ {text} }});",
    ]
    yield "\n".join(items).encode()
    stanzas = (
        stanza(1, "ada", text),
        stanza(2, "ada", "hi", text),
        f"<message {text}",
        f"<message from='{text}'>",
    )
    yield "\n".join([*stanzas, "<message>" * (len(text) // 9), f'return {{ "{text}";']).encode()


def _table(text: str) -> Iterator[bytes]:
    yield f'time,speaker,text\n{text},ada,hi\n1,{text},hi\n2,ada,{text}\n3,ada,"{text}'.encode()
    yield f'{{"author": "ada", "message": "hi"}}\n{text}\n{{"author": "ada", "message": "{text}'.encode()


def _pattern(text: str) -> Iterator[bytes]:
    for stamp in ("2024-05-31 10:03 | ", "31 May 2024 10:03 | ", "10:03 | "):
        names = ("ada", "bob", "ada", "eve") * 40
        chat = [f"{stamp}{name} | what is it, then? {number}" for number, name in enumerate(names)]
        lines = [f"# {text}", f"--- Day changed {text}", f"--- {text} ---"]
        lines += [f"{stamp}ada | {text}", f"{stamp}{text}", f"{stamp}{text} | hi", f"{text} | ada | hi", text]
        yield "\n".join([*chat, *lines]).encode()
    people = [("ada", "bob", "eve")[number % 3] for number in range(120)]
    for head in ("ada\n10:03\n", "10:03\nada\n", "ada 10:03\n"):
        heads = [head.replace("ada", name) for name in people]
        chat = [f"{each}what is it, then, and why? {number}" for number, each in enumerate(heads)]
        lines = [f"{head}{text}", f"{text}\n10:03\n{text}", f"10:03\n{text}\n{text}"]
        yield "\n".join([*chat, *lines]).encode()
    page = "<br>".join(
        f"(10:03) {name}: what is it, then, and why? {number}" for number, name in enumerate(people)
    )
    yield f"<html><body>{page}<br>(10:04) ada: {text}<{text}<br>{text}".encode()


def _html(text: str) -> Iterator[Files | bytes]:
    reply = f'<div class="reply_to details"><a href="{text}'
    yield telegram_page(
        [telegram_div(1, "ada", text), telegram_div(2, text, "hi"), telegram_div(3, None, "hi", reply)]
    )
    yield telegram_page([telegram_div(1, "ada", f"<{text}"), telegram_div(2, "ada", f"<!--{text}")])
    yield exporter_page([exporter_div(1, "ada", text), exporter_div(2, "ada", "hi", f'<a title="{text}')])
    yield meta_page([meta_div(1, "ada", text), meta_div(2, text, "hi"), f"<script>{text}"])
    yield "\n".join(["<smses>", sms(1, "ada", text), sms(2, text, "hi"), f"<sms {text}"]).encode()


def _hangouts(text: str) -> Iterator[bytes]:
    events = [
        hangouts_event(1, 1, text),
        hangouts_event(2, 2, "hi", event_id=text, timestamp=text),
        hangouts_event(3, 1, None, event_type=text),
    ]
    yield hangouts(events, text)


HOSTILE: dict[str, Callable[[str], Iterator[bytes | Files]]] = {
    "jsonl": _jsonl,
    "slack": _slack,
    "discord": _discord,
    "telegram": _telegram,
    "matrix": _matrix,
    "reference": _reference,
    "irc": _irc,
    "whatsapp": _whatsapp,
    "facebook": _facebook,
    "google-chat": _google_chat,
    "zulip": _zulip,
    "mattermost": _mattermost,
    "rocketchat": _rocketchat,
    "teams": _teams,
    "gitter": _gitter,
    "signal": _signal,
    "discord-package": _package,
    "whisper": _whisper,
    "subtitles": _subtitles,
    "html": _html,
    "hangouts": _hangouts,
    "xmpp": _xmpp,
    "table": _table,
    "pattern": _pattern,
}
"""Format -> logs in it that have a text in every place where there can be one."""


def test_every_format_has_hostile_logs() -> None:
    assert set(HOSTILE) == set(READERS)


def cost(log: bytes | Files, format: str, folder: Path) -> float:
    """Seconds of the processor that reading takes."""
    path = write(folder, log if isinstance(log, dict) else {"log": log})
    return seconds(lambda: sum(1 for _ in read_conversations(path, format=format)))


@pytest.mark.parametrize(
    ("format", "unit"),
    # Where a line is a message, a text of many lines is none.
    [
        (each, unit)
        for each in HOSTILE
        for unit in UNITS
        if "\n" not in unit or each not in ("irc", "reference")
    ],
    ids=ascii,
)
def test_the_cost_of_a_log_grows_with_its_length(format: str, unit: str, tmp_path: Path) -> None:
    folders = (tmp_path / str(number) for number in count())

    def reading(times: int) -> float:
        logs = HOSTILE[format](unit * (times * _LENGTH // len(unit)))
        return sum(cost(log, format, next(folders)) for log in logs)

    check_growth(reading)
