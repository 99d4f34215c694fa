"""Converts raw events of chat platforms, as their webhooks and gateways send them, to messages.

For each platform, there is a function that converts an event, and a test that reliably recognises its events.
Events that are not messages (typing, reactions, joins) become `None`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from towhom.chat import Kind, Message
from towhom.documents import parse_json
from towhom.errors import TowhomError

Event = Mapping[str, Any]


class Received(NamedTuple):
    """The message of an event."""

    message: Message
    """The message, with the room as its channel."""
    direct: bool = False
    """Whether only the speaker and the bot are in the room."""


class Platform(NamedTuple):
    """The functions that recognise and convert the events of a platform."""

    recognises: Callable[[Event], bool]
    read: Callable[[Event], Received | None]


def read_event(event: Event, platform: str | None = None) -> Received | None:
    """The message of a raw event; None if the event is not a message.

    Args:
        event: The event as the platform sent it.
        platform: Name of the platform; None to recognise it.

    Raises:
        TowhomError: The event is not from a known platform, or lacks required fields.

    >>> update = {"update_id": 1, "message": {"message_id": 7, "date": 0, "text": "hi",
    ...     "chat": {"id": -5, "type": "group"}, "from": {"id": 17, "first_name": "Ada"}}}
    >>> read_event(update).message.name
    'Ada'
    """
    name = platform or next((name for name in PLATFORMS if _recognises(name, event)), None)
    if name not in PLATFORMS:
        known = ", ".join(PLATFORMS)
        raise TowhomError(
            f"the event is of no platform that is known ({known}); send it as a message of ours"
        )
    try:
        return PLATFORMS[name].read(event)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        what = (
            f"it has no field {error}" if isinstance(error, KeyError) else "a field is not what it should be"
        )
        raise TowhomError(f"the event is not like those of {name}: {what}") from error


def _recognises(platform: str, event: Event) -> bool:
    with suppress(TypeError):  # a list where there should be a name
        return PLATFORMS[platform].recognises(event)
    return False


def _moment(seconds: float) -> datetime:
    """The time for a number of seconds; OSError, ValueError or OverflowError if there is none."""
    return datetime.fromtimestamp(seconds, UTC)


# -- Slack: Events API, with or without its envelope

_SLACK_KINDS = {"me_message": Kind.ACTION, "bot_message": Kind.NOTICE}
_SLACK_NOTES = ("url_verification", "app_rate_limited")
"""Types of requests that Slack sends besides events."""
_SLACK_MENTION = re.compile(r"<@(\w+)(?:\|([^>]*))?>")
_SLACK_LINK = re.compile(r"<(https?://[^|>]+)(?:\|[^>]*)?>")
_SLACK_CALLS = re.compile(r"<!(here|channel|everyone)(?:\|[^>]*)?>")


def _is_slack(event: Event) -> bool:
    kind = event.get("type")
    if kind == "event_callback":
        return isinstance(event.get("event"), Mapping)
    return kind in _SLACK_NOTES or _is_slack_message(event)


def _is_slack_message(event: Event) -> bool:
    return event.get("type") in ("message", "app_mention") and ("ts" in event or "subtype" in event)


def _slack(event: Event) -> Received | None:
    event = event["event"] if event.get("type") == "event_callback" else event
    if not _is_slack_message(event):
        return None
    room, direct = event["channel"], event.get("channel_type") == "im"
    subtype = event.get("subtype")
    if subtype == "message_deleted":
        gone = Message("", "", id=event["deleted_ts"], kind=Kind.DELETE, channel=room)
        return Received(gone, direct)
    kind = _SLACK_KINDS.get(subtype or "", Kind.MESSAGE)
    if subtype == "message_changed":
        event, kind = event["message"], Kind.EDIT
    elif subtype not in (None, *_SLACK_KINDS, "thread_broadcast", "file_share"):
        return None
    text = event.get("text") or ""  # files, and messages of bots in blocks, have none
    mentions = tuple(match[1] for match in _SLACK_MENTION.finditer(text))
    thread = event.get("thread_ts")
    message = Message(
        event.get("user") or event["bot_id"],
        _slack_text(text),
        time=_moment(float(event["ts"])),
        id=event["ts"],
        reply_to=thread if thread != event["ts"] else None,
        kind=kind,
        channel=room,
        name=event.get("username") or None,
        mentions=mentions,
        bot="bot_id" in event,
    )
    return Received(message, direct)


def _slack_text(text: str) -> str:
    text = _SLACK_MENTION.sub(lambda match: f"@{match[2] or match[1]}", text)
    text = _SLACK_CALLS.sub(r"@\1", _SLACK_LINK.sub(r"\1", text))
    return html.unescape(text)


# -- Discord: what its gateway dispatches, with or without the envelope

_DISCORD_KINDS = {"MESSAGE_CREATE": Kind.MESSAGE, "MESSAGE_UPDATE": Kind.EDIT, "MESSAGE_DELETE": Kind.DELETE}
_DISCORD_MENTION = re.compile(r"<@!?(\d+)>")
_DISCORD_SPOKEN = (0, 19, 20)
"""Types of spoken messages: a plain one, a reply, a command."""


def _is_discord(event: Event) -> bool:
    dispatched = "d" in event and ("op" in event or event.get("t") in _DISCORD_KINDS)
    return dispatched or ("channel_id" in event and "author" in event)


def _discord(event: Event) -> Received | None:
    kind = _DISCORD_KINDS.get(event.get("t") or "") if "op" in event or "t" in event else Kind.MESSAGE
    inner = event.get("d", event)
    if kind is None:
        return None
    room, direct = str(inner["channel_id"]), inner.get("guild_id") is None
    if kind is Kind.DELETE:
        return Received(Message("", "", id=inner["id"], kind=kind, channel=room), direct)
    if "author" not in inner or inner.get("type", 0) not in _DISCORD_SPOKEN:
        return None
    people = {str(each["id"]): _discord_name(each) for each in inner.get("mentions", ())}
    author = inner["author"]
    message = Message(
        str(author["id"]),
        _DISCORD_MENTION.sub(lambda match: f"@{people.get(match[1], match[1])}", inner["content"]),
        time=datetime.fromisoformat(inner["timestamp"]) if inner.get("timestamp") else None,
        id=str(inner["id"]),
        reply_to=(inner.get("message_reference") or {}).get("message_id"),
        kind=kind,
        channel=room,
        name=(inner.get("member") or {}).get("nick") or _discord_name(author),
        mentions=tuple(people),
        bot=bool(author.get("bot")),
    )
    return Received(message, direct)


def _discord_name(user: Event) -> str:
    name: str = (user.get("member") or {}).get("nick") or user.get("global_name") or user["username"]
    return name


# -- Telegram: an update of the Bot API

_TELEGRAM_KINDS = {
    "message": Kind.MESSAGE,
    "channel_post": Kind.MESSAGE,
    "edited_message": Kind.EDIT,
    "edited_channel_post": Kind.EDIT,
}


def _is_telegram(event: Event) -> bool:
    return "update_id" in event


def _telegram(event: Event) -> Received | None:
    field = next((each for each in _TELEGRAM_KINDS if each in event), None)
    if field is None:
        return None
    said = event[field]
    text = said.get("text", said.get("caption"))
    if text is None:
        return None
    # If somebody speaks as a group or as a channel, `from` is one of Telegram's own bots.
    author = said.get("sender_chat") or said.get("from") or said["chat"]
    entities = said.get("entities") or said.get("caption_entities") or ()
    message = Message(
        author["id"],
        text,
        time=_moment(said["date"]),
        id=said["message_id"],
        reply_to=(said.get("reply_to_message") or {}).get("message_id"),
        kind=_TELEGRAM_KINDS[field],
        channel=str(said["chat"]["id"]),
        name=_telegram_name(author),
        mentions=tuple(str(each["user"]["id"]) for each in entities if each["type"] == "text_mention"),
        bot=bool(author.get("is_bot")),
    )
    return Received(message, said["chat"].get("type") == "private")


def _telegram_name(author: Event) -> str | None:
    full = " ".join(part for part in (author.get("first_name"), author.get("last_name")) if part)
    return full or author.get("title") or author.get("username")


# -- Matrix: a room event of the client-server API

_MATRIX_KINDS = {"m.text": Kind.MESSAGE, "m.emote": Kind.ACTION, "m.notice": Kind.NOTICE}
_MATRIX_QUOTE = re.compile(r"\A(?:> [^\n]*\n)+\n")
"""The quotation that older clients insert before a reply."""


def _is_matrix(event: Event) -> bool:
    return str(event.get("type", "")).startswith("m.") and isinstance(event.get("content"), Mapping)


def _matrix(event: Event) -> Received | None:
    if not {"room_id", "sender"} <= event.keys():  # typing, receipts
        return None
    room, content = event["room_id"], event.get("content") or {}
    if event["type"] == "m.room.redaction":
        gone = event.get("redacts") or content["redacts"]
        return Received(Message(event["sender"], "", id=gone, kind=Kind.DELETE, channel=room))
    if event["type"] != "m.room.message" or content.get("msgtype") not in _MATRIX_KINDS:
        return None
    relation = content.get("m.relates_to") or {}
    kind, id = _MATRIX_KINDS[content["msgtype"]], event["event_id"]
    if relation.get("rel_type") == "m.replace":
        content, kind, id = content["m.new_content"], Kind.EDIT, relation["event_id"]
    reply_to = (relation.get("m.in_reply_to") or {}).get("event_id")
    if relation.get("is_falling_back"):  # a message of a thread that answers no particular message
        reply_to = relation.get("event_id")
    message = Message(
        event["sender"],
        _MATRIX_QUOTE.sub("", content["body"]) if reply_to else content["body"],
        time=_moment(event["origin_server_ts"] / 1000),
        id=id,
        reply_to=reply_to,
        kind=kind,
        channel=room,
        name=event["sender"].removeprefix("@").partition(":")[0],
        mentions=tuple((content.get("m.mentions") or {}).get("user_ids", ())),
    )
    return Received(message)


# -- Mattermost: an event of its websocket, or an outgoing webhook

_MATTERMOST_KINDS = {"posted": Kind.MESSAGE, "post_edited": Kind.EDIT, "post_deleted": Kind.DELETE}


def _is_mattermost(event: Event) -> bool:
    if isinstance(event.get("event"), str) and isinstance(event.get("data"), Mapping):
        return event["event"] in _MATTERMOST_KINDS or "broadcast" in event
    return "seq_reply" in event or {"post_id", "channel_id", "user_id", "text"} <= event.keys()


def _mattermost(event: Event) -> Received | None:
    if "post_id" in event:
        return Received(
            Message(
                event["user_id"],
                event["text"],
                time=_moment(event["timestamp"] / 1000) if isinstance(event.get("timestamp"), int) else None,
                id=event["post_id"],
                channel=event["channel_id"],
                name=event.get("user_name") or None,
            )
        )
    if event.get("event") not in _MATTERMOST_KINDS:
        return None
    data, kind = event["data"], _MATTERMOST_KINDS[event["event"]]
    post = parse_json(data["post"]) if isinstance(data["post"], str) else data["post"]
    if str(post.get("type", "")).startswith("system_"):
        return None
    mentions = data.get("mentions") or "[]"
    properties = post.get("props") or {}
    message = Message(
        post["user_id"],
        "" if kind is Kind.DELETE else post["message"],
        time=_moment(post["create_at"] / 1000),
        id=post["id"],
        reply_to=post.get("root_id") or None,
        kind=kind,
        channel=post["channel_id"],
        name=str(data.get("sender_name") or "").removeprefix("@") or None,
        mentions=tuple(parse_json(mentions) if isinstance(mentions, str) else mentions),
        bot=str(properties.get("from_bot", "")) == "true"
        or str(properties.get("from_webhook", "")) == "true",
    )
    return Received(message, data.get("channel_type") == "D")


PLATFORMS: dict[str, Platform] = {
    "slack": Platform(_is_slack, _slack),
    "telegram": Platform(_is_telegram, _telegram),
    "matrix": Platform(_is_matrix, _matrix),
    "mattermost": Platform(_is_mattermost, _mattermost),
    "discord": Platform(_is_discord, _discord),
}
"""Platforms by name; those whose events are easiest to recognise come first."""
