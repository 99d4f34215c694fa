from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.readers.conftest import Reading
from tests.readers.exports import START, matrix, matrix_event, matrix_member, matrix_reply, matrix_text
from towhom.chat import Kind, Message
from towhom.readers.matrix import Matrix

ROOM = "Tea room"


def at(number: int) -> dict[str, Any]:
    return {"time": START + timedelta(minutes=5 * number), "id": f"$e{number}", "channel": ROOM}


def test_messages_replies_and_names(reading: Reading) -> None:
    export = [
        matrix_event(0, "ada", matrix_text("who has the key?")),
        matrix_member(1, "bob", "Bob B"),
        matrix_event(
            2, "bob", matrix_text("> <@ada:example.org> who has\n> the key?\n\nI do\n> so", **matrix_reply(0))
        ),
        matrix_event(
            3, "ada", matrix_text("Bob B: bring it", **{"m.mentions": {"user_ids": ["@bob:example.org"]}})
        ),
        matrix_event(4, "bob", matrix_text("> not a quote")),
        matrix_event(
            5, "cleo", matrix_text("@ada hi", **{"m.mentions": {"user_ids": ["@ada:example.org", 3]}})
        ),
        matrix_event(6, "ada", matrix_text("unknown", **matrix_reply(77))),
    ]
    messages, report = reading(matrix(export))
    assert messages == [
        Message("ada", "who has the key?", **at(0)),
        Message("Bob B", "m.room.member", kind=Kind.SYSTEM, **at(1)),
        Message("Bob B", "I do\n> so", "ada", reply_to="$e0", **at(2)),
        Message("ada", "bring it", "Bob B", **at(3)),
        Message("Bob B", "> not a quote", **at(4)),
        Message("cleo", "hi", "ada", **at(5)),
        Message("ada", "unknown", None, reply_to="$e77", **at(6)),
    ]
    assert report.kinds == {Kind.MESSAGE: 6, Kind.SYSTEM: 1}


def test_mentions_of_older_clients_are_links(reading: Reading) -> None:
    quoted = '<mx-reply><a href="https://matrix.to/#/@eve:example.org">eve</a> hm</mx-reply>'
    linked = '<a href="https://matrix.to/#/@bob:example.org">bob</a>: yes'
    content = matrix_text("bob: yes", format="org.matrix.custom.html", formatted_body=quoted + linked)
    messages, _ = reading(matrix([matrix_event(0, "ada", content)]))
    assert messages == [Message("ada", "yes", "bob", **at(0))]


def test_a_thread_answers_its_first_message(reading: Reading) -> None:
    thread = {"rel_type": "m.thread", "event_id": "$e0", "m.in_reply_to": {"event_id": "$e1"}}
    export = [
        matrix_event(0, "ada", matrix_text("first")),
        matrix_event(1, "bob", matrix_text("second")),
        matrix_event(2, "cleo", matrix_text("a", **{"m.relates_to": {**thread, "is_falling_back": True}})),
        matrix_event(3, "cleo", matrix_text("b", **{"m.relates_to": thread})),
    ]
    messages, _ = reading(matrix(export))
    assert [(message.reply_to, message.addressee) for message in messages[2:]] == [
        ("$e0", "ada"),
        ("$e1", "bob"),
    ]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            matrix_event(0, "ada", {"msgtype": "m.emote", "body": "waves"}),
            Message("ada", "waves", kind=Kind.ACTION),
        ),
        (
            matrix_event(0, "ada", {"msgtype": "m.notice", "body": "up"}),
            Message("ada", "up", kind=Kind.NOTICE),
        ),
        (
            matrix_event(0, "ada", {"msgtype": "m.image", "body": "a.png"}),
            Message("ada", "a.png", kind=Kind.SYSTEM),
        ),
        (matrix_event(0, "ada", {}), Message("ada", "m.room.message", kind=Kind.SYSTEM)),
        (
            matrix_event(0, "ada", matrix_text("* hi", **{"m.relates_to": {"rel_type": "m.replace"}})),
            Message("ada", "* hi", kind=Kind.SYSTEM),
        ),
        (
            matrix_event(0, "ada", {"topic": "tea"}, type="m.room.topic"),
            Message("ada", "m.room.topic", kind=Kind.SYSTEM),
        ),
        (matrix_member(0, "ada", "Ada L", "Ada"), Message("Ada", "Ada L", kind=Kind.RENAME)),
        (matrix_member(0, "ada", "Ada", "Ada"), Message("Ada", "m.room.member", kind=Kind.SYSTEM)),
    ],
)
def test_kinds(event: dict[str, object], expected: Message, reading: Reading) -> None:
    messages, report = reading(matrix([event]))
    assert [(found.speaker, found.text, found.kind) for found in messages] == [
        (expected.speaker, expected.text, expected.kind)
    ]
    assert report.kinds == {expected.kind: 1}


def test_malformed_events_are_counted(reading: Reading) -> None:
    good = matrix_text("hi")
    export = [
        [],
        matrix_event(0, "ada", good, type=4),
        matrix_event(0, "ada", good) | {"sender": None},
        matrix_event(0, "ada", "hi"),
        matrix_event(0, "ada", good, origin_server_ts="x"),
        matrix_event(0, "ada", good, origin_server_ts=2**62),
        matrix_event(0, "ada", {"body": 3, "msgtype": "m.text"}),
        matrix_event(0, "ada", {"body": "hi"}),
    ]
    messages, report = reading(matrix(export), name="room.json")
    assert messages == []
    assert [problem.partition("room.json:")[2] for problem in report.problems] == [
        "1: not a JSON object",
        '2: "type" is missing or not a string',
        '3: "sender" is missing or not a string',
        '4: "content" is missing or not an object',
        '5: "origin_server_ts" is missing or not a whole number',
        "6: the time is out of range",
        '7: "body" is missing or not a string',
        '8: "msgtype" is missing or not a string',
    ]


def test_days_are_in_utc() -> None:
    assert Matrix("x").key((0, {"origin_server_ts": 1_717_199_999_999})) == "x 2024-05-31"
    assert Matrix("x").key((0, {"origin_server_ts": 1_717_200_000_000})) == "x 2024-06-01"
    assert Matrix("x").key((0, None)) is None


@pytest.mark.parametrize("place", ["chunk", "list", "lines", "commander", "sync"])
def test_events_without_an_export(place: str, reading: Reading) -> None:
    events = [
        matrix_event(2, "bob", matrix_text("> <@ada:example.org> hi\n\nho", **matrix_reply(1))),
        matrix_event(1, "ada", matrix_text("hi")),
    ]
    room = {"room_id": "!tea:example.org"}
    values: dict[str, Any] = {
        "chunk": {"start": "t1", "chunk": [event | room for event in events]},
        "list": [event | room for event in events],
        "sync": {
            "next_batch": "s",
            "rooms": {"join": {"!tea:example.org": {"timeline": {"events": events}}}},
        },
    }
    if place in values:
        content = json.dumps(values[place])
    elif place == "lines":
        content = "\n".join(json.dumps(event | room) for event in events)
    else:
        content = "\n".join(json.dumps({"source": event, "room_display_name": "Tea"}) for event in events)
    messages, report = reading(content)
    assert report.malformed == 0
    assert [(message.speaker, message.text, message.addressee) for message in messages] == [
        ("ada", "hi", None),
        ("bob", "ho", "ada"),
    ]
    assert {message.channel for message in messages} == {
        "Tea" if place == "commander" else "!tea:example.org"
    }
