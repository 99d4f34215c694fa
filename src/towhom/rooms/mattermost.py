"""Mattermost: channels of a server, with mattermostautodriver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from towhom.bots.platforms import read_event
from towhom.chat import Presence
from towhom.errors import RoomError, TowhomError
from towhom.extras import require
from towhom.rooms.base import Connector, Event, ended_quietly, log

_SAID = ("posted", "post_edited", "post_deleted")


class Mattermost(Connector):
    """Channels of the account: `mattermost://host`, and their identifiers if only some are wanted.

    Needs an access token (the secret `token`). A reply goes into the thread of the message that it answers.
    Missed messages are not fetched.
    """

    title = "Mattermost"
    secret_names = ("token",)

    async def start(self) -> None:
        """Log in, and begin to listen."""
        driver = require("mattermostautodriver", extra="mattermost", purpose="Mattermost")
        self.address.allow("tls")
        token = self.secret("token")
        if not self.address.host:
            raise RoomError("an address of Mattermost looks like mattermost://chat.example.org")
        if not token:
            raise RoomError(
                "Mattermost: no token; set TOWHOM_MATTERMOST_TOKEN or name a file with --token-file"
            )
        secure = self.address.flag("tls", default=True)
        self._driver = driver.AsyncTypedDriver(
            {
                "url": self.address.host,
                "port": self.address.port or (443 if secure else 80),
                "scheme": "https" if secure else "http",
                "token": token,
                "keepalive": True,
            }
        )
        try:
            await self._driver.login()
            self.me = (await self._driver.users.get_user("me"))["id"]
        except Exception as error:  # the package may raise anything
            raise RoomError(f"{self.address.server}: cannot connect: {self.hide(error)}") from None
        self.spawn(self._driver.init_websocket(self._received))

    async def stop(self) -> None:
        """Disconnect."""
        if getattr(self, "_driver", None) is not None:
            if self._driver.websocket is not None:
                self._driver.websocket.disconnect()
            await ended_quietly(self._driver.close(), 5)
            await asyncio.sleep(0)

    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send a message; a reply goes into the thread of the message that it answers."""
        try:
            post = await self._driver.posts.create_post(channel_id=room, message=text, root_id=reply_to or "")
        except Exception as error:  # the package may raise anything
            raise RoomError(f"{self.address.server}: cannot speak in {room}: {self.hide(error)}") from None
        return str(post["id"])

    async def _received(self, text: str) -> None:
        try:
            event = json.loads(text)
        except ValueError:
            return
        if isinstance(event, dict):
            for each in self.events(event):
                self.put(each)

    def events(self, event: Mapping[str, Any]) -> list[Event]:
        """Convert an event of Mattermost's websocket."""
        kind, data = event.get("event"), event.get("data") or {}
        place = event.get("broadcast") or {}
        if kind in ("user_added", "user_removed"):
            room = str(place.get("channel_id") or data.get("channel_id"))
            person = data.get("user_id") or place.get("user_id")
            found: list[Event] = [Presence(str(person), room, here=kind == "user_added")] if person else []
        elif kind in _SAID:
            try:
                received = read_event(event, "mattermost")
            except TowhomError as error:
                log.warning("Mattermost: %s", error)
                return []
            found = [] if received is None else [received.message]
        else:
            return []
        return [each for each in found if not self.address.rooms or each.channel in self.address.rooms]
