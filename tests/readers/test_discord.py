from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from tests.readers.conftest import Reading
from tests.readers.exports import discord, discord_message, discord_person, encoded
from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.readers import Report
from towhom.readers.discord import Discord

ADA = discord_person(1, "ada99", "Ada")
BOB = discord_person(2, "bob")
BOT = discord_person(3, "beep", isBot=True)
TIME = datetime(2024, 5, 31, 14, 0, tzinfo=timezone(timedelta(hours=2)))


def reply(number: int) -> dict[str, object]:
    return {"type": "Reply", "reference": {"messageId": str(number), "channelId": "2", "guildId": "1"}}


def test_messages_replies_and_mentions(reading: Reading) -> None:
    export = [
        discord_message(1, ADA, "who has the key?"),
        discord_message(2, BOB, "I do", **reply(1)),
        discord_message(3, ADA, "@bob, bring it", mentions=[BOB]),
        discord_message(4, BOB, "ask @Ada then", mentions=[ADA]),
        discord_message(5, BOB, "<@1> <@!2> <@77> raw", mentions=[ADA, BOB]),
        discord_message(6, BOB, "lost", **reply(99)),
        discord_message(7, BOB, "@bobby no", mentions=[BOB, ADA]),
    ]
    messages, report = reading(discord(export))
    assert messages == [
        Message("Ada", "who has the key?", None, TIME, "1", channel="lounge"),
        Message("bob", "I do", "Ada", TIME, "2", "1", channel="lounge"),
        Message("Ada", "bring it", "bob", TIME, "3", channel="lounge"),
        Message("bob", "ask @Ada then", "Ada", TIME, "4", channel="lounge"),
        Message("bob", "@bob @77 raw", "Ada", TIME, "5", channel="lounge"),
        Message("bob", "lost", None, TIME, "6", "99", channel="lounge"),
        Message("bob", "@bobby no", "Ada", TIME, "7", channel="lounge"),
    ]
    assert [message.line for message in messages] == list(range(7))
    assert report.kinds == {Kind.MESSAGE: 7}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (discord_message(1, BOT, "deployed"), Kind.NOTICE),
        (discord_message(1, ADA, "", attachments=[{"fileName": "a.png"}]), Kind.SYSTEM),
        (discord_message(1, ADA, "Pinned a message.", type="ChannelPinnedMessage"), Kind.SYSTEM),
        (discord_message(1, ADA, "Joined the server.", type="GuildMemberJoin"), Kind.SYSTEM),
        (discord_message(1, ADA, "Started a call", type="Call"), Kind.SYSTEM),
        (discord_message(1, ADA, "used a command", type="20"), Kind.SYSTEM),
    ],
)
def test_kinds(message: dict[str, object], kind: Kind, reading: Reading) -> None:
    messages, report = reading(discord([message]))
    assert [found.kind for found in messages] == [kind]
    assert report.kinds == {kind: 1}


def test_a_forwarded_message_answers_nobody(reading: Reading) -> None:
    forward = {"reference": {"type": "Forward", "messageId": "1"}}
    messages, _ = reading(discord([discord_message(1, ADA, "hi"), discord_message(2, BOB, "see", **forward)]))
    assert (messages[1].addressee, messages[1].reply_to) == (None, None)


def test_a_channel_without_a_name(reading: Reading) -> None:
    messages, _ = reading(discord([discord_message(1, ADA, "hi")], channel=None))
    assert messages[0].channel is None
    assert Discord().key((0, {"timestamp": "2024-05-31T14:00:00"})) == "2024-05-31"


def test_malformed_messages_are_counted(reading: Reading) -> None:
    export = [
        17,
        discord_message(1, {}, "hi"),
        discord_message(2, ADA, "hi", timestamp="noon"),
        discord_message(3, ADA, "hi") | {"content": None},
        discord_message(4, ADA, "hi", type=3),
        discord_message(5, ADA, "hi", mentions={"a": 1}, reference="x"),
    ]
    messages, report = reading(discord(export), name="lounge.json")
    assert [message.id for message in messages] == ["5"]
    assert report.malformed == 5
    assert [problem.partition("lounge.json:")[2] for problem in report.problems] == [
        "1: not a JSON object",
        '2: "author" is missing or has no name',
        "3: \"timestamp\" is 'noon', not a date and time",
        '4: "content" is missing or not a string',
        '5: "type" is missing or not a string',
    ]


def test_strict_stops_at_the_first(reading: Reading) -> None:
    with pytest.raises(LogError, match=r"lounge.json:2: not a JSON object"):
        reading(discord([discord_message(1, ADA, "hi"), None]), name="lounge.json", strict=True)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (b"", "parse error: premature EOF"),
        (b",", "parse error: invalid object key"),
        (b"\xff", "lexical error"),
    ],
)
def test_damaged_json_says_how_far_it_was_read(end: bytes, reason: str, reading: Reading) -> None:
    whole = discord([discord_message(number, ADA, "hi") for number in range(3)])
    cut = whole[: whole.rindex(b'"id": "2"')] + end
    with pytest.raises(LogError, match=rf"lounge.json: the JSON ends early .* after 2 messages \({reason}"):
        reading(cut, name="lounge.json")


def test_what_is_nested_too_deep_is_refused(reading: Reading) -> None:
    with pytest.raises(LogError, match=r"after 0 messages \(nested more than 100 levels deep\)"):
        reading(b'{"messages": ' + b"[" * 101, format="discord")


def test_brackets_in_texts_are_no_nesting(reading: Reading) -> None:
    texts = ['[{"\\', "{" * 500, '\\"[' * 500, "\\" * 501, "]" * 300]
    export = discord([discord_message(number, ADA, text) for number, text in enumerate(texts)])
    messages, report = reading(export, format="discord")
    assert [message.text for message in messages] == texts
    assert report == Report(kinds=report.kinds)


def test_a_byte_order_mark(reading: Reading) -> None:
    messages, _ = reading(b"\xef\xbb\xbf" + discord([discord_message(1, ADA, "hi")]))
    assert [message.text for message in messages] == ["hi"]


def test_messages_of_the_api(reading: Reading) -> None:
    ada, bob = (
        {"id": "1", "username": "ada"},
        {"id": "2", "username": "bob", "global_name": "Bob B", "bot": False},
    )
    common = {"channel_id": "9", "mentions": []}
    found = [
        common | {"id": "12", "type": 7, "content": "", "author": bob, "timestamp": "2024-05-31T10:02:00Z"},
        common | {"id": "11", "type": 19, "content": "<@1> in the shed", "author": bob, "mentions": [ada],
                  "timestamp": "2024-05-31T10:01:00+00:00", "message_reference": {"message_id": "10"}},
        common | {"id": "10", "type": 0, "content": "where?", "author": ada,
                  "timestamp": "2024-05-31T10:00:00+00:00"},
    ]  # fmt: skip
    for content in (
        encoded(found),
        encoded({"messages": found}),
        b"\n".join(json.dumps(each).encode() for each in found),
    ):
        messages, report = reading(content)
        assert report.malformed == 0
        assert [(message.speaker, message.text, message.kind) for message in messages] == [
            ("ada", "where?", Kind.MESSAGE),
            ("Bob B", "in the shed", Kind.MESSAGE),
            ("Bob B", "", Kind.SYSTEM),
        ]
        assert (messages[1].addressee, messages[1].reply_to) == ("ada", "10")
