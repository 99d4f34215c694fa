"""Telegram: groups that a bot has joined, with python-telegram-bot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from towhom.bots.platforms import read_event
from towhom.chat import Presence
from towhom.errors import RoomError, TowhomError
from towhom.extras import require
from towhom.rooms.base import Advance, Connector, Event, ended_quietly, log, pauses

if TYPE_CHECKING:
    from telegram import Bot, Update, User

_LONG_POLL = 25
"""Seconds that Telegram waits for something to happen."""
_UPDATES = ["message", "edited_message", "channel_post", "edited_channel_post", "chat_member"]


class Telegram(Connector):
    """Groups that the bot has joined: `telegram://` and, if only some are wanted, their numbers.

    Needs the bot's token (the secret `token`). To receive every message of a group, the bot's privacy mode
    has to be off. Telegram keeps missed messages for a day, and does not report deletions.
    """

    title = "Telegram"
    secret_names = ("token",)
    talkative = (
        "telegram.Bot",
        "telegram.ext.ExtBot",
        "httpx",
    )  # URLs of requests contain the token
    api: str | None = None
    """Another address of the Bot API, for tests or for a self-hosted server."""

    async def start(self) -> None:
        """Look up the bot's account, and continue where the last run ended."""
        self._telegram = require("telegram", extra="telegram", purpose="Telegram")
        self.address.allow()
        token = self.secret("token")
        if not token:
            raise RoomError("Telegram: no token; set TOWHOM_TELEGRAM_TOKEN or name a file with --token-file")
        more: dict[str, Any] = {"base_url": self.api} if self.api else {}
        self._bot: Bot = self._telegram.Bot(token, **more)
        try:
            await self._bot.initialize()
            self.me = str(self._bot.id)
            if "update" not in self.position:  # skip what was said before the first run
                waiting = await self._bot.get_updates(offset=-1, timeout=0)
                self.position["update"] = waiting[-1].update_id if waiting else 0
                await self._save()
        except self._telegram.error.TelegramError as error:
            raise RoomError(f"Telegram: cannot connect: {self.hide(error)}") from None
        self.spawn(self._run())

    async def stop(self) -> None:
        """Disconnect."""
        if getattr(self, "_bot", None) is not None:
            await ended_quietly(self._bot.shutdown(), 5)

    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send a message."""
        reply = None if reply_to is None else self._telegram.ReplyParameters(int(reply_to))
        try:
            message = await self._bot.send_message(room, text, reply_parameters=reply)
        except self._telegram.error.TelegramError as error:
            raise RoomError(f"Telegram: cannot speak in {room}: {self.hide(error)}") from None
        # Telegram does not send a bot its own messages.
        for event in self.events(self._telegram.Update(0, message=message)):
            self.put(event)
        return str(message.message_id)

    async def _run(self) -> None:
        last, waits = int(self.position["update"]), iter(pauses())
        while True:
            try:
                updates = await self._bot.get_updates(
                    offset=last + 1, timeout=_LONG_POLL, allowed_updates=_UPDATES
                )
            except (self._telegram.error.InvalidToken, self._telegram.error.Forbidden):
                raise RoomError("Telegram: the token is refused") from None
            except self._telegram.error.TelegramError as error:
                pause = next(waits)
                log.warning("Telegram: %s; again in %.0f s", self.hide(error), pause)
                await asyncio.sleep(pause)
                continue
            waits = iter(pauses())
            for update in updates:
                last = max(last, update.update_id)
                await self.put_all((event, _reached(update.update_id)) for event in self.events(update))

    def events(self, update: Update) -> list[Event]:
        """Convert an update of Telegram."""
        chat = update.effective_chat
        if chat is None or (self.address.rooms and str(chat.id) not in self.address.rooms):
            return []
        message, room = update.message, str(chat.id)
        events: list[Event] = []
        if message is not None:
            events += [_presence(user, room) for user in message.new_chat_members or ()]
            if message.left_chat_member is not None:
                events.append(_presence(message.left_chat_member, room, here=False))
        try:
            received = read_event(update.to_dict(), "telegram")
        except TowhomError as error:
            log.warning("Telegram: %s", error)
            return events
        return events if received is None else [*events, received.message]


def _presence(user: User, room: str, *, here: bool = True) -> Presence:
    aliases = (user.username,) if user.username else ()
    return Presence(str(user.id), room, name=user.full_name, aliases=aliases, bot=user.is_bot, here=here)


def _reached(update: int) -> Advance:
    def advance(position: dict[str, Any]) -> None:
        position["update"] = max(update, position.get("update", 0))

    return advance
