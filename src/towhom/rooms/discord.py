"""Discord: channels of servers that a bot has joined, with discord.py."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from towhom.chat import Kind, Message, Presence
from towhom.errors import RoomError
from towhom.extras import require
from towhom.rooms.base import Advance, Connector, Event, ended_quietly, log

if TYPE_CHECKING:
    import discord

_PATIENCE = 60.0
"""Seconds that the gateway may take to let us in."""
_MENTION = re.compile(r"<@!?([0-9]+)>")


class Discord(Connector):
    """Channels that the bot can read: `discord://` and, if only some are wanted, their numbers.

    Needs the bot's token (the secret `token`) and the privileged intents for message content and members.
    With a state file, missed messages in the channels of the address are fetched.
    """

    title = "Discord"
    secret_names = ("token",)

    async def start(self) -> None:
        """Log in."""
        self._discord = require("discord", extra="discord", purpose="Discord")
        self.address.allow()
        token = self.secret("token")
        if not token:
            raise RoomError("Discord: no token; set TOWHOM_DISCORD_TOKEN or name a file with --token-file")
        self._client = self.client()
        try:
            await self._client.login(token)
        except (self._discord.DiscordException, OSError) as error:
            raise RoomError(f"Discord: cannot connect: {self.hide(error)}") from None
        self.spawn(self._client.connect())
        ready = asyncio.create_task(self._client.wait_until_ready())
        try:
            await asyncio.wait({ready, self._ready}, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if self._ready.done():
                self._ready.result()
            if not ready.done():
                raise RoomError("Discord: the gateway does not answer")
        except self._discord.DiscordException as error:
            raise RoomError(f"Discord: cannot connect: {self.hide(error)}") from None
        finally:
            ready.cancel()
        self.me = str(self._client.user.id) if self._client.user else None
        await self._missed()

    async def stop(self) -> None:
        """Disconnect."""
        if getattr(self, "_client", None) is not None:
            await ended_quietly(self._client.close(), 5)

    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send a message."""
        channel: Any = self._client.get_partial_messageable(int(room))
        reference = None
        if reply_to is not None:
            reference = self._discord.MessageReference(
                message_id=int(reply_to), channel_id=int(room), fail_if_not_exists=False
            )
        nonce = None if key is None else key[-25:]
        try:
            message = await channel.send(text, reference=reference, **({"nonce": nonce} if nonce else {}))
        except (self._discord.DiscordException, OSError) as error:
            raise RoomError(f"Discord: cannot speak in {room}: {self.hide(error)}") from None
        return str(message.id)

    async def _missed(self) -> None:
        """Fetch the messages since the last run in the channels of the address."""
        known: dict[str, str] = self.position.get("rooms", {})
        for room in self.address.rooms:
            if room not in known:
                continue
            try:
                channel: Any = await self._client.fetch_channel(int(room))
                after = self._discord.Object(int(known[room]))
                async for message in channel.history(after=after, limit=None, oldest_first=True):
                    self._take(self.message(message))
            except (self._discord.DiscordException, OSError, ValueError) as error:
                log.warning("Discord: missed messages in %s cannot be fetched: %s", room, self.hide(error))

    def client(self) -> discord.Client:
        """A discord.py client whose events are passed on as ours."""
        module = require("discord", extra="discord", purpose="Discord")
        intents = module.Intents.default()
        intents.message_content = intents.members = True
        client: discord.Client = module.Client(intents=intents)

        async def on_message(message: discord.Message) -> None:
            self._take(self.message(message))

        async def on_raw_message_edit(change: discord.RawMessageUpdateEvent) -> None:
            if change.data.get("content") is not None and change.message.edited_at is not None:
                self._take(self.message(change.message, Kind.EDIT))

        async def on_raw_message_delete(deletion: discord.RawMessageDeleteEvent) -> None:
            room = str(deletion.channel_id)
            self._take(Message("", "", id=str(deletion.message_id), kind=Kind.DELETE, channel=room))

        async def on_member_remove(member: discord.Member) -> None:
            for channel in member.guild.text_channels:
                self._take(Presence(str(member.id), str(channel.id), name=member.display_name, here=False))

        for handler in (on_message, on_raw_message_edit, on_raw_message_delete, on_member_remove):
            client.event(handler)
        return client

    def message(self, message: discord.Message, kind: Kind = Kind.MESSAGE) -> Message | None:
        """Convert a message of Discord; None for system messages and empty texts."""
        author, reference = message.author, message.reference
        names = {str(user.id): user.display_name for user in message.mentions}
        text = _MENTION.sub(lambda match: f"@{names.get(match[1], match[1])}", message.content)
        if message.is_system() or not text.strip():
            return None
        return Message(
            str(author.id),
            text,
            time=message.created_at,
            id=str(message.id),
            reply_to=str(reference.message_id) if reference is not None and reference.message_id else None,
            kind=kind,
            channel=str(message.channel.id),
            name=author.display_name,
            mentions=tuple(names),
            bot=author.bot,
        )

    def _take(self, event: Event | None) -> None:
        if event is None or (self.address.rooms and event.channel not in self.address.rooms):
            return
        said = isinstance(event, Message) and event.kind is Kind.MESSAGE and event.id
        self.put(event, _reached(str(event.channel), str(said)) if said else None)


def _reached(room: str, identifier: str) -> Advance:
    def advance(position: dict[str, Any]) -> None:
        rooms = position.setdefault("rooms", {})
        rooms[room] = max(rooms.get(room, "0"), identifier, key=int)

    return advance
