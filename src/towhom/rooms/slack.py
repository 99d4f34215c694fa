"""Slack: channels of a workspace over Socket Mode, with slack-bolt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from towhom.bots.platforms import read_event
from towhom.chat import Presence
from towhom.errors import RoomError, TowhomError
from towhom.extras import require
from towhom.rooms.base import Connector, Event, ended_quietly, log

_EVENTS = ("message", "member_joined_channel", "member_left_channel")


class Slack(Connector):
    """Channels that the app has joined: `slack://` and, if only some are wanted, their identifiers.

    Needs a bot token (`xoxb-…`, the secret `token`) and an app token (`xapp-…`, the secret `app-token`). A
    reply goes into the thread of the message that it answers. Missed messages are not fetched.
    """

    title = "Slack"
    secret_names = ("token", "app-token")
    api: str | None = None
    """Another address of Slack's API, for tests."""

    async def start(self) -> None:
        """Connect."""
        require("slack_bolt", extra="slack", purpose="Slack")
        from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
        from slack_bolt.async_app import AsyncApp
        from slack_sdk.errors import SlackApiError
        from slack_sdk.web.async_client import AsyncWebClient

        self.address.allow()
        token, app_token = self.secret("token"), self.secret("app-token")
        if not token or not app_token:
            raise RoomError("Slack: set TOWHOM_SLACK_TOKEN (xoxb-…) and TOWHOM_SLACK_APP_TOKEN (xapp-…)")
        self._names: dict[str, str | None] = {}
        self._error = SlackApiError
        more: dict[str, Any] = {"base_url": self.api} if self.api else {}
        self._client = AsyncWebClient(token=token, **more)
        self._handler: Any = None
        try:
            self.me = (await self._client.auth_test())["user_id"]
            app = AsyncApp(client=self._client)
            for kind in _EVENTS:
                app.event(kind)(self._received)
            self._handler = AsyncSocketModeHandler(app, app_token, web_client=self._client)
            await self._handler.connect_async()
        except (SlackApiError, OSError) as error:
            raise RoomError(f"Slack: cannot connect: {self._words(error)}") from None

    async def stop(self) -> None:
        """Disconnect."""
        if getattr(self, "_handler", None) is not None:
            await ended_quietly(self._handler.close_async(), 5)

    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send a message; a reply goes into the thread of the message that it answers."""
        try:
            answer = await self._client.chat_postMessage(channel=room, text=text, thread_ts=reply_to)
        except (self._error, OSError) as error:
            raise RoomError(f"Slack: cannot speak in {room}: {self._words(error)}") from None
        return str(answer["ts"])

    async def _received(self, event: dict[str, Any]) -> None:
        speaker = (event.get("message") or event).get("user")
        if isinstance(speaker, str) and speaker not in self._names:
            self._names[speaker] = await self._name(speaker)
        for each in self.events(event):
            self.put(each)

    async def _name(self, user: str) -> str | None:
        try:
            profile = (await self._client.users_info(user=user))["user"]["profile"]
        except (self._error, OSError, KeyError):
            return None
        return profile.get("display_name") or profile.get("real_name") or None

    def events(self, event: Mapping[str, Any]) -> list[Event]:
        """Convert an event of Slack.

        >>> from towhom.rooms import Address
        >>> joined = {"type": "member_joined_channel", "user": "U1", "channel": "C1"}
        >>> Slack(Address("slack")).events(joined)
        [Presence(speaker='U1', channel='C1', name=None, aliases=(), bot=False, here=True)]
        """
        names: dict[str, str | None] = getattr(self, "_names", {})
        room = event.get("channel")
        if self.address.rooms and room not in self.address.rooms:
            return []
        kind = event.get("type")
        if kind in ("member_joined_channel", "member_left_channel"):
            user = str(event.get("user"))
            return [Presence(user, str(room), name=names.get(user), here=kind == "member_joined_channel")]
        try:
            received = read_event(event, "slack")
        except TowhomError as error:
            log.warning("Slack: %s", error)
            return []
        if received is None:
            return []
        message = received.message
        return [replace(message, name=message.name or names.get(message.speaker))]

    def _words(self, error: BaseException) -> str:
        response = getattr(error, "response", None)
        return self.hide(response.get("error") if response is not None else error)
