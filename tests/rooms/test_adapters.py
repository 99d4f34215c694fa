"""Slack, Discord, Telegram, Zulip, Mattermost: events in the shape that their documentation gives.

None of these was tried against the real service.
"""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.rooms.servers import free_port
from towhom.chat import Kind, Presence
from towhom.errors import RoomError
from towhom.rooms import Address, connect, connector_for
from towhom.testing.connectors import next_message


def made(address: str) -> Any:
    where = Address.parse(address)
    return connector_for(where.scheme)(where)


def test_slack() -> None:
    slack = made("slack:///C1")
    said = {
        "type": "message",
        "channel": "C1",
        "user": "U1",
        "text": "<@U2> is it &lt;up&gt;?",
        "ts": "1700000000.0001",
    }
    (message,) = slack.events(said)
    assert (message.speaker, message.text, message.mentions) == ("U1", "@U2 is it <up>?", ("U2",))
    assert (message.id, message.channel, message.reply_to) == ("1700000000.0001", "C1", None)
    (reply,) = slack.events({**said, "ts": "1700000001.0001", "thread_ts": "1700000000.0001"})
    assert reply.reply_to == "1700000000.0001"
    changed = {
        "type": "message",
        "subtype": "message_changed",
        "channel": "C1",
        "message": {**said, "text": "is it?"},
    }
    (edit,) = slack.events(changed)
    assert (edit.kind, edit.id, edit.text) == (Kind.EDIT, "1700000000.0001", "is it?")
    gone = {"type": "message", "subtype": "message_deleted", "channel": "C1", "deleted_ts": "1700000000.0001"}
    assert slack.events(gone)[0].kind is Kind.DELETE
    assert slack.events({"type": "member_left_channel", "user": "U1", "channel": "C1"})[0].here is False
    assert slack.events({**said, "channel": "C2"}) == []
    assert slack.events({"type": "message", "channel": "C1"}) == []


def test_slack_says_and_looks_up_names() -> None:
    """The library's own client, with a server that answers as Slack's interface does."""
    aiohttp_web = pytest.importorskip("aiohttp.web")
    pytest.importorskip("slack_bolt", reason="the extra slack is not installed")
    posted: list[dict[str, Any]] = []

    async def answer(request: Any) -> Any:
        method = request.match_info["method"]
        if method == "auth.test":
            ok = request.headers.get("Authorization") == "Bearer xoxb-secret-4711"
            return aiohttp_web.json_response(
                {"ok": True, "user_id": "UBOT"} if ok else {"ok": False, "error": "invalid_auth"}
            )
        if method == "apps.connections.open":
            return aiohttp_web.json_response({"ok": True, "url": f"ws://127.0.0.1:{port}/socket"})
        if method == "users.info":
            return aiohttp_web.json_response({"ok": True, "user": {"profile": {"display_name": "Ada"}}})
        posted.append(
            dict(await request.json())
            if request.content_type == "application/json"
            else dict(await request.post())
        )
        return aiohttp_web.json_response({"ok": True, "ts": "1700000009.0001"})

    async def socket(request: Any) -> Any:
        stream = aiohttp_web.WebSocketResponse()
        await stream.prepare(request)
        await stream.send_json({"type": "hello"})
        event = {"type": "message", "channel": "C1", "user": "U1", "text": "hi", "ts": "1700000000.0001"}
        payload = {
            "type": "event_callback",
            "event": event,
            "team_id": "T1",
            "event_id": "Ev1",
            "api_app_id": "A1",
        }
        await stream.send_json({"type": "events_api", "envelope_id": "e1", "payload": payload})
        async for _ in stream:
            pass
        return stream

    port = free_port()

    async def work() -> None:
        app = aiohttp_web.Application()
        app.router.add_get("/socket", socket)
        app.router.add_route("*", "/api/{method}", answer)
        runner = aiohttp_web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        await aiohttp_web.TCPSite(runner, "127.0.0.1", port).start()
        secrets = {"token": "xoxb-secret-4711", "app-token": "xapp-secret-4711"}
        try:
            slack = connect("slack:///C1", secrets=secrets, write=True)
            slack.api = f"http://127.0.0.1:{port}/api/"  # type: ignore[attr-defined]
            async with slack:
                assert slack.me == "UBOT"
                heard = await next_message(slack)
                assert (heard.text, heard.name) == ("hi", "Ada")
                assert await slack.send("C1", "hello", heard.id) == "1700000009.0001"
            wrong = connect("slack:///C1", secrets={**secrets, "token": "xoxb-wrong-4712"})
            wrong.api = slack.api  # type: ignore[attr-defined]
            with pytest.raises(RoomError, match="invalid_auth") as error:
                await wrong.__aenter__()
            assert "4712" not in str(error.value)
        finally:
            await runner.cleanup()

    asyncio.run(work())
    assert posted[0]["thread_ts"] == "1700000000.0001"


def test_discord() -> None:
    pytest.importorskip("discord", reason="the extra discord is not installed")
    author = {"id": "17", "username": "ada", "global_name": "Ada L", "discriminator": "0", "avatar": None}
    said = {
        "id": "1001", "channel_id": "5", "author": author, "content": "is it up, <@23>?", "type": 0,
        "timestamp": "2024-05-31T10:00:00+00:00", "edited_timestamp": None, "tts": False, "pinned": False,
        "mention_everyone": False, "mention_roles": [], "attachments": [], "embeds": [],
        "mentions": [{"id": "23", "username": "robo", "discriminator": "0", "avatar": None, "bot": True}],
    }  # fmt: skip
    reply = {**said, "id": "1002", "type": 19, "content": "yes", "mentions": [],
        "message_reference": {"message_id": "1001", "channel_id": "5"}}  # fmt: skip
    edit = {**said, "content": "is it down?", "edited_timestamp": "2024-05-31T10:01:00+00:00"}
    joined = {**said, "id": "1003", "type": 7, "content": ""}
    bots = {
        **said,
        "id": "1004",
        "author": {**author, "id": "99", "bot": True},
        "content": "beep",
        "mentions": [],
    }

    async def work() -> list[Any]:
        room = made("discord:///5")
        client = room.client()
        await client._async_setup_hook()
        parsers = client._connection.parsers
        for event in (said, reply, joined, bots, {**said, "channel_id": "6", "id": "9"}):
            parsers["MESSAGE_CREATE"](event)
            await asyncio.sleep(0.01)  # as between two frames of the gateway
        parsers["MESSAGE_UPDATE"](edit)
        parsers["MESSAGE_DELETE"]({"id": "1002", "channel_id": "5"})
        await asyncio.sleep(0.1)
        return [event for event, _ in room._events]

    messages = asyncio.run(work())
    assert [(message.kind, message.text) for message in messages] == [
        (Kind.MESSAGE, "is it up, @robo?"),
        (Kind.MESSAGE, "yes"),
        (Kind.MESSAGE, "beep"),
        (Kind.EDIT, "is it down?"),
        (Kind.DELETE, ""),
    ]
    first, answer, beep, edited, deleted = messages
    assert (first.speaker, first.name, first.id, first.channel) == ("17", "Ada L", "1001", "5")
    assert first.mentions == ("23",)
    assert (answer.reply_to, edited.id, deleted.id, beep.bot) == ("1001", "1001", "1002", True)


def test_telegram() -> None:
    telegram = pytest.importorskip("telegram", reason="the extra telegram is not installed")
    room = made("telegram:///-5")
    chat, ada = (
        {"id": -5, "type": "supergroup", "title": "Tea"},
        {"id": 17, "is_bot": False, "first_name": "Ada"},
    )
    said = {"message_id": 7, "date": 1700000000, "chat": chat, "from": ada, "text": "is it up?"}

    def events(**update: Any) -> list[Any]:
        found: list[Any] = room.events(telegram.Update.de_json({"update_id": 1, **update}, None))
        return found

    (message,) = events(message=said)
    assert (message.speaker, message.name, message.id, message.channel) == ("17", "Ada", "7", "-5")
    (reply,) = events(message={**said, "message_id": 8, "reply_to_message": said})
    assert reply.reply_to == "7"
    (edit,) = events(edited_message={**said, "text": "is it?", "edit_date": 1700000001})
    assert (edit.kind, edit.id, edit.text) == (Kind.EDIT, "7", "is it?")
    (came,) = events(message={**said, "text": None, "new_chat_members": [{**ada, "username": "ada_l"}]})
    assert came == Presence("17", "-5", name="Ada", aliases=("ada_l",))
    assert events(message={**said, "chat": {**chat, "id": -6}}) == []


def test_telegram_goes_on_where_it_was(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The library's own client, with a server that answers as the Bot API does.

    `telegram-test-api` of npm describes bots without `is_bot`, which the library does not take.
    """
    aiohttp_web = pytest.importorskip("aiohttp.web")
    pytest.importorskip("telegram", reason="the extra telegram is not installed")
    bot = {"id": 4711, "is_bot": True, "first_name": "Robo", "username": "robo_bot"}
    chat = {"id": -5, "type": "group", "title": "Tea"}
    updates: list[dict[str, Any]] = []
    sent: list[dict[str, str]] = []

    def user_says(text: str) -> None:
        ada, number = {"id": 17, "is_bot": False, "first_name": "Ada"}, len(updates) + 1
        said = {"message_id": number, "date": 1700000000, "chat": chat, "from": ada, "text": text}
        updates.append({"update_id": number, "message": said})

    async def answer(request: Any) -> Any:
        method, asked = request.match_info["method"].lower(), dict(await request.post())
        if request.match_info["token"] != "4711:token":
            return aiohttp_web.json_response(
                {"ok": False, "error_code": 401, "description": "Unauthorized"}, status=401
            )
        result: Any = bot
        if method == "getupdates":
            offset = int(asked.get("offset", 0))
            result = updates[-1:] if offset < 0 else [each for each in updates if each["update_id"] >= offset]
            await asyncio.sleep(0 if result else 0.1)
        if method == "sendmessage":
            sent.append(asked)
            result = {"message_id": 99, "date": 1700000009, "chat": chat, "from": bot, "text": asked["text"]}
        return aiohttp_web.json_response({"ok": True, "result": result})

    async def work() -> None:
        app = aiohttp_web.Application()
        app.router.add_route("*", "/bot{token}/{method}", answer)
        runner = aiohttp_web.AppRunner(app, shutdown_timeout=1, access_log=None)
        await runner.setup()
        port = free_port()
        await aiohttp_web.TCPSite(runner, "127.0.0.1", port).start()

        def telegram(token: str = "4711:token", **more: Any) -> Any:
            connector: Any = connect(
                "telegram://", secrets={"token": token}, state=tmp_path / "state", **more
            )
            connector.api = f"http://127.0.0.1:{port}/bot"
            return connector

        user_says("before all")
        async with telegram(write=True) as room:
            user_says("hello robo")
            heard = await next_message(room)
            assert (heard.speaker, heard.name, heard.text, room.me) == ("17", "Ada", "hello robo", "4711")
            assert await room.send("-5", "hello", heard.id) == "99"
            assert (await next_message(room)).speaker == room.me
        user_says("while you were away")
        async with telegram() as room:
            assert (await next_message(room)).text == "while you were away"
        with pytest.raises(RoomError, match="cannot connect") as error:
            await telegram("4712:wrong-token").__aenter__()
        assert "wrong-token" not in str(error.value)
        await runner.cleanup()

    with caplog.at_level(logging.DEBUG):
        asyncio.run(work())
    assert json.loads(sent[0]["reply_parameters"])["message_id"] == 2
    # The library logs the addresses of its requests, which have the token in them.
    assert "/bot…/getMe" in caplog.text
    assert "4711:token" not in caplog.text
    assert "wrong-token" not in caplog.text
    assert not logging.getLogger("httpx").filters


def test_zulip() -> None:
    zulip = made("zulip://robo-bot%40example.org@example.org/general")
    message = {
        "id": 42, "type": "stream", "display_recipient": "general", "subject": "lunch",
        "timestamp": 1700000000,
        "sender_id": 17, "sender_full_name": "Ada L", "sender_email": "ada@example.org",
        "content": "@**Robo|23** is it up?",
    }  # fmt: skip
    (said,) = zulip.events({"type": "message", "message": message})
    assert (said.speaker, said.name, said.text, said.mentions) == ("17", "Ada L", "@Robo is it up?", ("23",))
    assert (said.channel, said.id, said.bot) == ("general/lunch", "42", False)
    quote = (
        "@_**Ada L|17** [said](https://example.org/#narrow/channel/1-general/topic/lunch/near/42):\n"
        "```quote\nis it up?\n```\nsince noon"
    )
    (reply,) = zulip.events({"type": "message", "message": {**message, "id": 43, "content": quote}})
    assert (reply.reply_to, reply.text) == ("42", "since noon")
    assert zulip.events({"type": "message", "message": {**message, "type": "private"}}) == []
    assert zulip.events({"type": "message", "message": {**message, "display_recipient": "other"}}) == []
    assert zulip.events({"type": "heartbeat", "id": 1}) == []


def test_mattermost() -> None:
    mattermost = made("mattermost://chat.example.org/c1")
    post = {
        "id": "p1",
        "channel_id": "c1",
        "user_id": "u1",
        "message": "is it up?",
        "create_at": 1700000000000,
    }
    data = {
        "post": json.dumps(post),
        "sender_name": "@ada",
        "mentions": json.dumps(["u2"]),
        "channel_type": "O",
    }
    (said,) = mattermost.events({"event": "posted", "data": data, "broadcast": {"channel_id": "c1"}})
    assert (said.speaker, said.name, said.text, said.mentions) == ("u1", "ada", "is it up?", ("u2",))
    changed = {**data, "post": json.dumps({**post, "message": "is it?"})}
    assert mattermost.events({"event": "post_edited", "data": changed})[0].kind is Kind.EDIT
    assert mattermost.events({"event": "post_deleted", "data": data})[0].kind is Kind.DELETE
    added = {"event": "user_added", "data": {"user_id": "u3"}, "broadcast": {"channel_id": "c1"}}
    assert mattermost.events(added) == [Presence("u3", "c1")]
    assert mattermost.events({"event": "typing", "data": {}}) == []
    assert mattermost.events({"event": "posted", "data": {"post": "no json"}}) == []


@pytest.mark.parametrize("scheme", ["slack", "telegram", "discord", "zulip", "mattermost"])
def test_without_a_token(scheme: str) -> None:
    async def work() -> None:
        async with connect(f"{scheme}://robo@example.org/", secrets={}):
            pass

    with pytest.raises(RoomError, match=f"TOWHOM_{scheme.upper()}_TOKEN"):
        asyncio.run(work())
