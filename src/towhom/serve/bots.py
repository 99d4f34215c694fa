"""Tells bots, for every message of their rooms, whether they should speak; each room is a channel."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from towhom.bots.platforms import read_event
from towhom.client import channel_of
from towhom.errors import TowhomError
from towhom.serve import schemas
from towhom.serve.channels import Channels
from towhom.serve.limits import Limits
from towhom.serve.problems import Problem
from towhom.wire import to_json

_LINE: TypeAdapter[schemas.Line] = TypeAdapter(schemas.Line)
_BODY: TypeAdapter[Any] = TypeAdapter(schemas.GateBody)

Record = dict[str, Any]


class Bots:
    """Answers bots.

    Args:
        channels: The channels in which rooms are stored.
        limits: The limits for requests.
    """

    def __init__(self, channels: Channels, limits: Limits) -> None:
        self._channels = channels
        self._limits = limits
        self._heard: set[tuple[str, str]] = set()
        """Rooms and ids of the messages that are being processed now."""

    async def hear(self, body: schemas.GateEvent | schemas.GateMessage, key: str | None) -> Record:
        """Add a message to its room; returns whether the bot should speak.

        Without a key, a message whose id is known is neither added nor answered again: platforms send events
        twice when an answer takes long. With a key, the same question gets the same answer.

        Raises:
            Problem: The event cannot be read, or something is too long.
        """
        room, message, direct = _received(body)
        if message is None:
            return _silent(room, "the event is not a message")
        self._limits.message(message, "body.message")
        record: Record = message.model_dump(mode="json", exclude_defaults=True)
        if key is not None or message.id is None or message.kind not in ("message", "action", "notice"):
            return await self._verdict(room, record, body, direct, key)
        taken = room, message.id
        if taken in self._heard:
            return _silent(room, "it was heard before")
        self._heard.add(taken)
        try:
            if await self._channels.remembers(room, message.id):
                return _silent(room, "it was heard before")
            return await self._verdict(room, record, body, direct, None)
        finally:
            self._heard.discard(taken)

    async def _verdict(
        self,
        room: str,
        record: Record,
        body: schemas.GateEvent | schemas.GateMessage,
        direct: bool,
        key: str | None,
    ) -> Record:
        if key is None and "time" not in record:  # follow-ups have a time already
            record["time"] = datetime.now(UTC).isoformat()
        await self._introduce(room, body)
        (observed,) = await self._channels.observe(room, [record], key)
        question = {
            "bot": body.bot.id,
            "policy": body.policy.model_dump(),
            "direct": direct,
            "max_tokens": body.max_tokens,
        }
        return {"room": room, **await self._channels.gate(room, observed, record, question)}

    async def _introduce(self, room: str, body: schemas.GateEvent | schemas.GateMessage) -> None:
        """Register the bots with a room, besides the people who are registered already."""
        try:
            people = await self._channels.people(room)
        except Problem as problem:
            if problem.code != "no-such-channel":
                raise
            people = []
        bots = [{**body.bot.model_dump(mode="json"), "bot": True}]
        bots += [{"id": id, "name": None, "aliases": [], "bot": True} for id in body.bots]
        wanted = {person["id"]: person for person in people}
        for bot in bots:
            known = wanted.get(bot["id"], {"aliases": [], "name": None})
            aliases = list(dict.fromkeys([*known["aliases"], *bot["aliases"]]))
            wanted[bot["id"]] = {**bot, "aliases": aliases, "name": bot["name"] or known["name"]}
        if list(wanted.values()) != people:
            known_people = [schemas.Person(**person) for person in wanted.values()]
            self._limits.people(known_people, "body.bot")
            await self._channels.introduce(room, [person.model_dump(mode="json") for person in known_people])


def room_of(content: bytes) -> str | None:
    """The room that the body of a request names; None if it has none, or is not a valid gate request."""
    try:
        body: schemas.GateEvent | schemas.GateMessage = _BODY.validate_json(content)
        return _received(body)[0] or None
    except (Problem, ValidationError):
        return None


def _received(
    body: schemas.GateEvent | schemas.GateMessage,
) -> tuple[str, schemas.Message | schemas.Rename | schemas.Edit | schemas.Deletion | None, bool]:
    """The room of a request, its message, and whether only the bot and the speaker are in the room."""
    if isinstance(body, schemas.GateMessage):
        return body.room, body.message, body.direct
    try:
        received = read_event(body.event, body.platform)
        if received is None:
            return "", None, False
        if not received.message.channel:
            raise Problem(422, "unknown-event", "The room of the event has no name.", "body.event")
        room = channel_of(received.message.channel)
        message = TypeAdapter(dict[str, Any]).validate_json(to_json(received.message))
        message.pop("channel", None)
        if not message["speaker"]:  # platforms do not say who deletes a message
            message["speaker"] = body.bot.id
        return room, _LINE.validate_python(message), received.direct
    except (TowhomError, ValidationError, ValueError, TypeError) as error:
        sentence = str(error) if isinstance(error, TowhomError) else "the event cannot be read"
        raise Problem(422, "unknown-event", f"{sentence[:1].upper()}{sentence[1:]}.", "body.event") from error


def _silent(room: str, reason: str) -> Record:
    return {
        "speak": False, "probability": 0.0, "reason": reason, "room": room or None, "called": False,
        "everybody": False, "reply_to": None, "thread": None, "context": [], "tokens": 0, "steps": [],
    }  # fmt: skip
