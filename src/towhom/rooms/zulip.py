"""Zulip: topics of an organization's channels, with Zulip's own package."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from towhom.chat import Kind, Message
from towhom.errors import RoomError
from towhom.extras import require
from towhom.readers.links import Recent
from towhom.rooms.base import Advance, Connector, Event, log, pauses

_PAGE = 1000
"""Messages that are requested at a time."""
_QUOTED = re.compile(
    r"\A@_\*\*[^*]+\*\* \[[^\]]*\]\([^)]*/near/([0-9]+)[^)]*\):\s*(`{3,})quote\n.*?\n\2\s*", re.DOTALL
)
"""A reply as Zulip's own clients write it: a link to the message, and a quotation."""
_MENTION = re.compile(r"@_?\*\*([^*|]+)(?:\|([0-9]+))?\*\*")


class Zulip(Connector):
    """Topics: `zulip://bot-email@organization.example.org`, and channels if only some are wanted.

    A room is a channel and a topic, `channel/topic`. Needs the account's key (the secret `token`). With a
    state file, missed messages are fetched.
    """

    title = "Zulip"
    secret_names = ("token",)

    async def start(self) -> None:
        """Log in, and continue where the last run ended."""
        zulip = require("zulip", extra="zulip", purpose="Zulip")
        self.address.allow("tls")
        token = self.secret("token")
        if not self.address.host or not self.address.user:
            raise RoomError(
                "an address of Zulip looks like zulip://robo-bot%40example.org@example.zulipchat.com"
            )
        if not token:
            raise RoomError("Zulip: no key; set TOWHOM_ZULIP_TOKEN or name a file with --token-file")
        self._rooms = Recent()
        scheme = "https" if self.address.flag("tls", default=True) else "http"
        port = "" if self.address.port is None else f":{self.address.port}"
        site = f"{scheme}://{self.address.host}{port}"
        self._client = await asyncio.to_thread(self._made, zulip, site, token)
        profile = await self._asked(self._client.get_profile)
        self.me = str(profile["user_id"])
        await self._register()
        if "last" not in self.position:
            self.position["last"] = self._newest
            await self._save()
        self.spawn(self._run())

    def _made(self, zulip: Any, site: str, token: str) -> Any:
        try:
            return zulip.Client(email=self.address.user, api_key=token, site=site, retry_on_errors=False)
        except Exception as error:  # the package may raise anything
            raise RoomError(f"{self.address.server}: cannot connect: {self.hide(error)}") from None

    async def stop(self) -> None:
        """Do nothing: the event queue on the server expires by itself."""

    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send a message to a topic."""
        channel, _, topic = room.partition("/")
        request = {"type": "stream", "to": channel, "topic": topic or "(no topic)", "content": text}
        answer = await self._asked(self._client.send_message, request)
        return str(answer["id"])

    async def _asked(self, ask: Any, *arguments: Any, **more: Any) -> Mapping[str, Any]:
        """Make a request in a thread, because the package blocks."""
        try:
            answer: Mapping[str, Any] = await asyncio.to_thread(ask, *arguments, **more)
        except Exception as error:  # the package may raise anything
            raise RoomError(f"{self.address.server}: cannot connect: {self.hide(error)}") from None
        if answer.get("result") != "success":
            raise RoomError(f"{self.address.server}: {self.hide(answer.get('msg'))}")
        return answer

    async def _register(self) -> None:
        kinds = ["message", "update_message", "delete_message"]
        queue = await self._asked(self._client.register, event_types=kinds, apply_markdown=False)
        self._queue, self._event = queue["queue_id"], queue["last_event_id"]
        self._newest = queue["max_message_id"]

    async def _run(self) -> None:
        waits = iter(pauses())
        fetched = False
        while True:
            try:
                if not fetched:
                    await self._missed()
                    fetched = True
                answer = await self._asked(
                    self._client.get_events, queue_id=self._queue, last_event_id=self._event
                )
                waits = iter(pauses())
            except RoomError as error:
                pause = next(waits)
                log.warning("%s; again in %.0f s", error, pause)
                await asyncio.sleep(pause)
                try:
                    await self._register()
                    fetched = False
                except RoomError as again:
                    log.warning("%s", again)
                continue
            for event in answer["events"]:
                self._event = max(self._event, event["id"])
                self._take(self.events(event))

    async def _missed(self) -> None:
        """Fetch the messages since the last processed one."""
        while True:
            request = {
                "anchor": self.reached.get("last", self.position["last"]),
                "include_anchor": False,
                "num_before": 0,
                "num_after": _PAGE,
                "apply_markdown": False,
            }
            page = await self._asked(self._client.get_messages, request)
            for message in page["messages"]:
                self._take(self.events({"type": "message", "message": message}))
            if page.get("found_newest", True) or not page["messages"]:
                return

    def _take(self, events: list[Event]) -> None:
        for event in events:
            said = isinstance(event, Message) and event.kind not in (Kind.EDIT, Kind.DELETE)
            number = int(event.id) if said and isinstance(event, Message) and event.id else None
            if number is not None and number <= self.reached.get("last", 0):
                continue
            self.put(event, None if number is None else _reached(number))

    def events(self, event: Mapping[str, Any]) -> list[Event]:
        """Convert an event of Zulip; an empty list if it is not relevant."""
        kind = event.get("type")
        if kind == "message":
            message = event["message"]
            if message.get("type") not in ("stream", "channel") or not self._wanted(
                message["display_recipient"]
            ):
                return []
            return [self._message(message)]
        rooms: Recent = getattr(self, "_rooms", Recent())
        if kind == "update_message" and "content" in event:
            identifier = str(event["message_id"])
            room = rooms.get(identifier)
            edit = Message(
                str(event.get("user_id")),
                _text(event["content"]),
                id=identifier,
                kind=Kind.EDIT,
                channel=room,
            )
            return [edit] if room else []
        if kind == "delete_message":
            gone = [str(each) for each in event.get("message_ids", [event.get("message_id")])]
            return [
                Message("", "", id=each, kind=Kind.DELETE, channel=rooms.get(each))
                for each in gone
                if rooms.get(each)
            ]
        return []

    def _wanted(self, channel: str) -> bool:
        return not self.address.rooms or channel in self.address.rooms

    def _message(self, message: Mapping[str, Any]) -> Message:
        room, identifier = f"{message['display_recipient']}/{message['subject']}", str(message["id"])
        if hasattr(self, "_rooms"):
            self._rooms.put(identifier, room)
        content = str(message["content"])
        quoted = _QUOTED.match(content)
        action = content.startswith("/me ")
        return Message(
            str(message["sender_id"]),
            _text(content[quoted.end() :] if quoted else content[4:] if action else content),
            time=datetime.fromtimestamp(message["timestamp"], UTC),
            id=identifier,
            reply_to=quoted[1] if quoted else None,
            kind=Kind.ACTION if action else Kind.MESSAGE,
            channel=room,
            name=message["sender_full_name"],
            mentions=tuple(match[2] for match in _MENTION.finditer(content) if match[2]),
            bot=str(message.get("sender_email", "")).split("@")[0].endswith("-bot"),
        )


def _text(content: str) -> str:
    """A text as people see it: `@**Ada|17**` becomes `@Ada`."""
    return _MENTION.sub(lambda match: f"@{match[1]}", content)


def _reached(identifier: int) -> Advance:
    def advance(position: dict[str, Any]) -> None:
        position["last"] = max(identifier, position.get("last", 0))

    return advance
