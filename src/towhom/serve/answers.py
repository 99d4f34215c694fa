"""Messages and what a model says of them, as the JSON of the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from towhom.chat import Message
from towhom.hearing.words import asks
from towhom.live import Model, Observation, Session

_SHOWN = 10
_DIGITS = 6
"""Of probabilities: more would be noise, and a third of every answer."""


def record_of(message: Message) -> dict[str, Any]:
    """A message as JSON; `towhom.readers.jsonl.message_from` reads it."""
    return {
        "speaker": message.speaker,
        "text": message.text,
        "addressee": message.addressee,
        "time": None if message.time is None else message.time.isoformat(),
        "id": message.id,
        "reply_to": message.reply_to,
        "kind": message.kind.value,
        "name": message.name,
        "mentions": list(message.mentions),
        "bot": message.bot,
    }


def observation(seen: Observation) -> dict[str, Any]:
    """Who a message is for, and what it answers."""
    place = seen.placed
    # What was sent, not what an edit changes: that has a record of its own.
    shown = replace(place.message, text=seen.message.text, addressee=seen.message.addressee)
    return {
        "number": place.line,
        "message": record_of(shown),
        "addressees": [
            {"name": each.name, "probability": round(each.probability, _DIGITS), "id": each.id}
            for each in seen.addressees[:_SHOWN]
        ],
        "how": seen.how.value,
        "reason": seen.reason,
        "audience": seen.audience.value,
        "asks": asks(seen.message.text),
        "replies_to": place.replies_to,
        "thread": place.thread,
        "thread_probability": round(place.probability, _DIGITS),
    }


def introduce(session: Session, people: Sequence[dict[str, Any]]) -> None:
    """Make people known to a session who may not have spoken."""
    for person in people:
        session.introduce(person["id"], *person["aliases"], name=person["name"], bot=person["bot"])


def selections(session: Session, responder: str, candidates: Sequence[str], top: int) -> list[dict[str, Any]]:
    """So many pairs of addressee and response, the likeliest first."""
    return [
        {
            "addressee": selected.addressee,
            "response": selected.response,
            "candidate": selected.candidate,
            "probability": round(selected.probability, _DIGITS),
        }
        for selected in session.select(responder, candidates)[:top]
    ]


def placed(model: Model, messages: Sequence[Message], longest: int | None = None) -> Iterator[dict[str, Any]]:
    """A chat with its conversations, message by message; numbers count what is given.

    Args:
        model: What answers.
        messages: The chat.
        longest: How many characters of a message are looked at.
    """
    numbered = (
        replace(message, line=number, text=message.text[:longest]) for number, message in enumerate(messages)
    )
    for message, place in zip(messages, model.threads(numbered), strict=True):
        yield {
            "number": place.line,
            "message": record_of(message),
            "kind": message.kind.value,
            "line": message.line,
            "replies_to": place.replies_to,
            "thread": place.thread,
            "probability": round(place.probability, _DIGITS),
        }


def read_line(number: int, message: Message) -> dict[str, Any]:
    """A line of a log."""
    return {"number": number, **record_of(message)}
