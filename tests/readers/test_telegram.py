from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.readers.conftest import Reading
from tests.readers.exports import telegram, telegram_account, telegram_message
from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.readers.telegram import Telegram

TIME = datetime(2024, 5, 31, 14, 0, tzinfo=timezone(timedelta(hours=2)))
BARE = TIME.replace(tzinfo=None)
CLUB = "Rowing club"


def test_messages_replies_and_mentions(reading: Reading) -> None:
    export = [
        telegram_message(1, "Ada L", "who has the key?"),
        telegram_message(2, "Bob", "I do", reply_to_message_id=1),
        telegram_message(
            3, "Ada L", [{"type": "mention", "text": "@bob_b"}, ": bring ", {"type": "bold", "text": "it"}]
        ),
        telegram_message(4, "Bob", [{"type": "mention_name", "text": "Adi", "user_id": 5}, " yes"]),
        telegram_message(5, "Bob", ["so ", {"type": "mention_name", "text": "Eve", "user_id": 99}, " said"]),
        telegram_message(6, "Bob", [{"type": "mention_name", "text": "Adi", "user_id": 5}]),
        telegram_message(7, None, "gone", from_id="user40", reply_to_message_id=2),
        telegram_message(8, None, "older", from_id=41),
        telegram_message(9, "Bob", "elsewhere", reply_to_message_id=1, reply_to_peer_id="channel5"),
    ]
    messages, report = reading(telegram(export))
    assert messages == [
        Message("Ada L", "who has the key?", None, TIME, "1", channel=CLUB),
        Message("Bob", "I do", "Ada L", TIME, "2", "1", channel=CLUB),
        Message("Ada L", "bring it", "bob_b", TIME, "3", channel=CLUB),
        Message("Bob", "yes", "Ada L", TIME, "4", channel=CLUB),
        Message("Bob", "so Eve said", "Eve", TIME, "5", channel=CLUB),
        Message("Bob", "Adi", "Ada L", TIME, "6", channel=CLUB),
        Message("user40", "gone", "Bob", TIME, "7", "2", channel=CLUB),
        Message("user41", "older", None, TIME, "8", channel=CLUB),
        Message("Bob", "elsewhere", None, TIME, "9", "1", channel=CLUB),
    ]
    assert report.kinds == {Kind.MESSAGE: 9}


def test_what_nobody_said(reading: Reading) -> None:
    service = {"id": 1, "type": "service", "date": "2024-05-31T14:00:00", "actor": "Ada", "text": ""}
    export = [
        {**service, "action": "invite_members", "members": ["Bob"]},
        {**service, "actor": None, "actor_id": "user7", "information_text": "x"},
        {"id": 2, "type": "unsupported"},
        telegram_message(3, "Ada", "", photo="photos/1.jpg"),
    ]
    messages, report = reading(telegram(export))
    assert messages == [
        Message("Ada", "invite_members", None, BARE, "1", kind=Kind.SYSTEM, channel=CLUB),
        Message("user7", "service", None, BARE, "1", kind=Kind.SYSTEM, channel=CLUB),
        Message("", "unsupported", None, None, "2", kind=Kind.SYSTEM, channel=CLUB),
        Message("Ada", "", None, TIME, "3", kind=Kind.SYSTEM, channel=CLUB),
    ]
    assert report.kinds == {Kind.SYSTEM: 4}


def test_only_seconds_since_1970(reading: Reading) -> None:
    """Exports that other programs have written anew have lost the date, the type of the chat, or its id."""
    bare = [
        {"type": "message", "date_unixtime": "1717156800", "from": "Ada", "text": "hi"},
        {
            "type": "message",
            "date_unixtime": 1717243200,
            "from": "Bob",
            "text": [{"type": "bold", "text": "yo"}],
        },
        {"type": "message", "date_unixtime": "soon", "from": "Bob", "text": "?"},
    ]
    day = datetime(2024, 5, 31, 12, 0, tzinfo=UTC)
    for export, room in (
        ({"messages": bare}, None),
        ({"name": CLUB, "messages": bare}, CLUB),
        ({"chats": {"list": [{"name": CLUB, "messages": bare}]}}, CLUB),
    ):
        messages, report = reading(json.dumps(export))
        assert messages == [
            Message("Ada", "hi", time=day, channel=room),
            Message("Bob", "yo", time=day + timedelta(days=1), channel=room),
        ]
        assert report.malformed == 1


def test_a_time_in_utc_that_fits_no_zone(reading: Reading) -> None:
    messages, _ = reading(telegram([telegram_message(1, "Ada", "hi", date_unixtime="1717156801")]))
    assert messages[0].time == BARE


def test_an_account(reading: Reading) -> None:
    club = {"name": CLUB, "type": "private_group", "id": 1, "messages": [telegram_message(1, "Ada", "hi"), 5]}
    notes = {
        "type": "saved_messages",
        "id": 2,
        "messages": [telegram_message(2, "Bob", "no", reply_to_message_id=1)],
    }
    messages, report = reading(telegram_account([club, {"name": "Empty", "messages": []}, notes]))
    assert [(message.channel, message.speaker, message.addressee) for message in messages] == [
        (CLUB, "Ada", None),
        ("saved_messages 2", "Bob", None),
    ]
    assert report.malformed == 1


def test_left_chats_and_keys(reading: Reading) -> None:
    said = telegram_message(1, "Ada", [{"type": "code", "text": "x"}, {"no": "text"}, 3])
    left = {"about": "", "list": [{"name": "Old", "type": "private_group", "id": 3, "messages": [said]}]}
    messages, _ = reading(json.dumps({"about": "x", "left_chats": left}))
    assert [(message.channel, message.text) for message in messages] == [("Old", "x")]
    record = (0, {"chat": "Old", "date": "2024-05-31T14:00:00"})
    assert Telegram(account=True).key(record) == "Old 2024-05-31"


def test_control_characters_as_telegram_writes_them(reading: Reading) -> None:
    content = telegram(
        [telegram_message(1, "Ada", "tab MARK end"), telegram_message(2, "Ada", "back\\x0b slash")]
    )
    messages, _ = reading(content.replace(b"MARK", b"\\x0B"))
    assert [message.text for message in messages] == ["tab \x0b end", "back\\x0b slash"]


def test_escapes_across_the_buffer(reading: Reading) -> None:
    texts = ["\\" * 70_001, '"' * 70_000, "é" * 70_001]
    messages, _ = reading(telegram([telegram_message(1, "Ada", text) for text in texts]), format="telegram")
    assert [message.text for message in messages] == texts


def test_malformed_messages_are_counted(reading: Reading) -> None:
    export = [
        telegram_message(1, None, "hi", from_id=None),
        telegram_message(2, "Ada", None),
        telegram_message(3, "Ada", "hi", date="soon"),
        telegram_message(4, "Ada", "hi", type=None),
        {"type": "service", "date": 3},
    ]
    messages, report = reading(telegram(export), name="result.json")
    assert messages == []
    assert [problem.partition("result.json:")[2] for problem in report.problems] == [
        '1: "from" and "from_id" are missing',
        '2: "text" is missing or neither a string nor a list',
        "3: \"date\" is 'soon', not a date and time",
        '4: "type" is missing or not a string',
        '5: "date" is missing or not a string',
    ]


def test_a_damaged_account(reading: Reading) -> None:
    chat = {
        "name": CLUB,
        "type": "x",
        "id": 1,
        "messages": [telegram_message(n, "Ada", "hi") for n in range(3)],
    }
    whole = telegram_account([chat])
    with pytest.raises(LogError, match="after 2 messages"):
        reading(whole[: whole.rindex(b'"id": 2')])
