"""Messages and what a model says of them, as the JSON of the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from towhom.chat import Message
from towhom.live import Model, Observation, Session
from towhom.threads import Placed

_SHOWN = 10
_DIGITS = 6
"""Of probabilities: more would be noise, and a third of every answer."""


def message_of(record: dict[str, Any]) -> Message:
    """A message that came as JSON; the API has checked it."""
    time = record["time"]
    return Message(
        record["speaker"],
        record["text"],
        record["addressee"],
        None if time is None else datetime.fromisoformat(time),
        record["id"],
    )


def record_of(message: Message) -> dict[str, Any]:
    """A message as JSON."""
    return {
        "speaker": message.speaker,
        "text": message.text,
        "addressee": message.addressee,
        "time": _iso(message.time),
        "id": message.id,
    }


def observation(seen: Observation, place: Placed) -> dict[str, Any]:
    """To whom a message is, and what it answers."""
    return {
        "number": place.line,
        "message": record_of(seen.message),
        "addressees": [
            {"name": each.name, "probability": round(each.probability, _DIGITS)}
            for each in seen.addressees[:_SHOWN]
        ],
        "how": seen.how.value,
        "reason": seen.reason,
        "replies_to": place.replies_to,
        "thread": place.thread,
        "thread_probability": round(place.probability, _DIGITS),
    }


def selections(session: Session, responder: str, candidates: Sequence[str]) -> list[dict[str, Any]]:
    """All pairs of addressee and response, the likeliest first."""
    return [
        {
            "addressee": selected.addressee,
            "response": selected.response,
            "candidate": selected.candidate,
            "probability": round(selected.probability, _DIGITS),
        }
        for selected in session.select(responder, candidates)
    ]


def placed(model: Model, messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """A chat with its conversations, message by message; numbers count what is given."""
    numbered = (replace(message, line=number) for number, message in enumerate(messages))
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
    return {
        "number": number,
        "speaker": message.speaker,
        "text": message.text,
        "addressee": message.addressee,
        "time": _iso(message.time),
        "kind": message.kind.value,
    }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
