"""Raw events of platforms: edits, deletions, replies, direct chats, and what is no message."""

from __future__ import annotations

from typing import Any

import pytest

from towhom import Kind
from towhom.bots.platforms import PLATFORMS, read_event
from towhom.errors import TowhomError

Event = dict[str, Any]


def slack(**fields: Any) -> Event:
    event = {"type": "message", "channel": "C1", "user": "U1", "text": "hi", "ts": "1772442000.000200"}
    return {"type": "event_callback", "event": event | fields}


def telegram(field: str = "message", **fields: Any) -> Event:
    said = {
        "message_id": 7, "date": 1772442000, "text": "hi", "chat": {"id": -5, "type": "group"},
        "from": {"id": 17, "first_name": "Ada"},
    }  # fmt: skip
    return {"update_id": 1, field: said | fields}


def discord(event: str = "MESSAGE_CREATE", **fields: Any) -> Event:
    said = {
        "id": "7", "channel_id": "5", "guild_id": "1", "content": "hi", "mentions": [], "type": 0,
        "author": {"id": "17", "username": "ada"}, "timestamp": "2026-03-02T09:00:00+00:00",
    }  # fmt: skip
    return {"t": event, "d": said | fields}


def matrix(content: Event, **fields: Any) -> Event:
    return {
        "type": "m.room.message", "room_id": "!r:x", "sender": "@ada:x", "event_id": "$7",
        "origin_server_ts": 1772442000200, "content": content,
    } | fields  # fmt: skip


def text(body: str, **more: Any) -> Event:
    return {"msgtype": "m.text", "body": body, **more}


def mattermost(event: str = "posted", data: Event | None = None, **fields: Any) -> Event:
    post = {
        "id": "p7",
        "create_at": 1772442000200,
        "user_id": "u1",
        "channel_id": "c1",
        "message": "hi",
        "type": "",
    }
    return {
        "event": event,
        "data": {"sender_name": "@ada", "channel_type": "O", "post": post | fields} | (data or {}),
    }


EDIT = matrix(
    text(
        "* hello",
        **{"m.new_content": text("hello"), "m.relates_to": {"rel_type": "m.replace", "event_id": "$1"}},
    )
)
CASES: list[tuple[Event, Event]] = [
    (slack(thread_ts="1.1"), {"reply_to": "1.1", "speaker": "U1", "channel": "C1"}),
    (slack(thread_ts="1772442000.000200"), {"reply_to": None}),
    (
        slack(text="<@U2> &amp; <@U3|bob> see <https://x.y|this>"),
        {"text": "@U2 & @bob see https://x.y", "mentions": ("U2", "U3")},
    ),
    (slack(text="<!here> lunch"), {"text": "@here lunch"}),
    (
        slack(subtype="message_changed", message={"ts": "1.1", "user": "U1", "text": "b"}),
        {"kind": Kind.EDIT, "id": "1.1", "text": "b"},
    ),
    (slack(subtype="message_deleted", deleted_ts="1.1"), {"kind": Kind.DELETE, "id": "1.1"}),
    (slack(subtype="bot_message", user=None, bot_id="B1"), {"bot": True, "speaker": "B1"}),
    (telegram("edited_message"), {"kind": Kind.EDIT, "id": "7", "name": "Ada", "channel": "-5"}),
    (telegram(reply_to_message={"message_id": 3}), {"reply_to": "3"}),
    (telegram(text="yo", entities=[{"type": "text_mention", "user": {"id": 9}}]), {"mentions": ("9",)}),
    (
        discord(content="<@!9> hi", mentions=[{"id": "9", "username": "bob"}]),
        {"text": "@bob hi", "mentions": ("9",)},
    ),
    (discord(message_reference={"message_id": "3"}, type=19), {"reply_to": "3"}),
    (discord("MESSAGE_DELETE"), {"kind": Kind.DELETE, "id": "7"}),
    (discord(author={"id": "1", "username": "b", "bot": True}), {"bot": True}),
    (EDIT, {"kind": Kind.EDIT, "id": "$1", "text": "hello"}),
    (
        matrix(text("> <@b:x> old\n\nnew", **{"m.relates_to": {"m.in_reply_to": {"event_id": "$1"}}})),
        {"text": "new", "reply_to": "$1"},
    ),
    (matrix({}, type="m.room.redaction", redacts="$1"), {"kind": Kind.DELETE, "id": "$1"}),
    (matrix({"msgtype": "m.emote", "body": "waves"}), {"kind": Kind.ACTION, "name": "ada"}),
    (mattermost("post_edited", message="b"), {"kind": Kind.EDIT, "id": "p7", "text": "b"}),
    (mattermost(root_id="p1"), {"reply_to": "p1", "name": "ada"}),
    (mattermost(props={"from_bot": "true"}), {"bot": True}),
]


@pytest.mark.parametrize(("event", "expected"), CASES)
def test_what_an_event_says(event: Event, expected: Event) -> None:
    received = read_event(event)
    assert received is not None
    assert {name: getattr(received.message, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("event", "direct"),
    [
        (slack(channel_type="im"), True),
        (slack(channel_type="channel"), False),
        (telegram(chat={"id": 17, "type": "private"}), True),
        (telegram(), False),
        (discord(guild_id=None), True),
        (discord(), False),
        (mattermost(data={"channel_type": "D"}), True),
        (mattermost(), False),
        (matrix(text("hi")), False),
    ],
)
def test_direct_chats(event: Event, direct: bool) -> None:
    received = read_event(event)
    assert received is not None
    assert received.direct is direct


@pytest.mark.parametrize(
    "event",
    [
        slack(subtype="channel_join"),
        {"update_id": 3, "callback_query": {}},
        telegram(text=None),
        discord(type=7),
        matrix({"membership": "join"}, type="m.room.member"),
        mattermost(type="system_join_channel"),
    ],
)
def test_what_is_no_message(event: Event) -> None:
    assert read_event(event) is None


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("event", [{}, {"event": 3}, {"d": []}, {"update_id": 1, "message": "x"}])
def test_whatever_comes_there_is_a_sentence(platform: str, event: Event) -> None:
    try:
        assert read_event(event, platform) is None
    except TowhomError as error:
        assert f"not like those of {platform}" in str(error)  # noqa: PT017


def test_own_messages_of_others_are_not_taken_for_a_platform() -> None:
    with pytest.raises(TowhomError, match="no platform that is known"):
        read_event({"speaker": "ann", "text": "hi"})


@pytest.mark.parametrize(
    "event",
    [
        {"type": "url_verification", "challenge": "abc", "token": "…"},
        {"type": "app_rate_limited", "minute_rate_limited": 1, "team_id": "T1"},
        {"type": "event_callback", "event": {"type": "reaction_added", "user": "U1", "event_ts": "1.2"}},
        {"type": "event_callback", "event": {"type": "member_joined_channel", "user": "U1", "channel": "C1"}},
        {"t": "TYPING_START", "op": 0, "s": 3, "d": {"channel_id": "1", "user_id": "2", "timestamp": 1}},
        {"t": None, "op": 10, "s": None, "d": {"heartbeat_interval": 41250}},
        {"type": "m.reaction", "room_id": "!r:x", "sender": "@ada:x", "event_id": "$8", "content": {}},
        {"type": "m.typing", "room_id": "!r:x", "content": {"user_ids": []}},
        {"event": "typing", "data": {"user_id": "u1"}, "broadcast": {"channel_id": "c1"}, "seq": 2},
        {"status": "OK", "seq_reply": 1},
    ],
)  # fmt: skip
def test_what_platforms_send_besides_messages(event: Event) -> None:
    assert read_event(event) is None


def test_a_file_without_a_word() -> None:
    event = slack(subtype="file_share", files=[{}])
    del event["event"]["text"]
    received = read_event(event)
    assert received is not None
    assert received.message.text == ""


def test_an_administrator_who_speaks_as_the_group_is_no_bot() -> None:
    event = telegram(sender_chat={"id": -5, "type": "group", "title": "lab"})
    event["message"]["from"] = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
    received = read_event(event)
    assert received is not None
    assert (received.message.name, received.message.bot) == ("lab", False)
