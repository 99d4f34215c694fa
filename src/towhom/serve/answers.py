"""Converts messages and the model's answers to the JSON of the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from towhom.bots.context import Context
from towhom.bots.verdict import GateVerdict
from towhom.chat import Message
from towhom.hearing.words import asks
from towhom.live import Model, Observation, Session
from towhom.wire import message_record

_SHOWN = 10
_DIGITS = 6
"""Decimal places of probabilities; more would be noise, and a third of every answer."""


def observation(seen: Observation) -> dict[str, Any]:
    """The record of an observation: who a message is for, and what it replies to."""
    place = seen.placed
    # The message as it was sent; an edit has a record of its own.
    shown = replace(place.message, text=seen.message.text, addressee=seen.message.addressee)
    return {
        "number": place.line,
        "message": message_record(shown),
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


def verdict_of(verdict: GateVerdict, max_tokens: int) -> dict[str, Any]:
    """The record of a verdict: whether the bot speaks and, if it does, the context that it should read."""
    context = verdict.context(max_tokens) if verdict else Context((), 0)
    to = verdict.reply_to
    return {
        "speak": bool(verdict),
        "probability": round(verdict.probability, _DIGITS),
        "reason": verdict.reason,
        "called": verdict.called,
        "everybody": verdict.everybody,
        "reply_to": None if to is None else {"id": to.id, "name": to.name, "message": to.message},
        "thread": verdict.thread,
        "context": [
            {
                "speaker": message.speaker,
                "addressee": message.addressee,
                "text": message.text,
                "time": None if message.time is None else message.time.isoformat(),
                "id": message.id,
            }
            for message in context
        ],
        "tokens": context.tokens,
        "steps": list(verdict.steps),
    }


def introduce(session: Session, people: Sequence[dict[str, Any]]) -> None:
    """Register people with a session, even if they have not spoken yet."""
    for person in people:
        session.introduce(person["id"], *person["aliases"], name=person["name"], bot=person["bot"])


def selections(session: Session, responder: str, candidates: Sequence[str], top: int) -> list[dict[str, Any]]:
    """The `top` likeliest pairs of addressee and response, best first."""
    return [
        {
            "addressee": selected.addressee,
            "response": selected.response,
            "candidate": selected.candidate,
            "probability": round(selected.probability, _DIGITS),
        }
        for selected in session.select(responder, candidates)[:top]
    ]


def placed(model: Model, messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """Yields a record with its thread for each message; messages are numbered from 0."""
    numbered = (replace(message, line=number) for number, message in enumerate(messages))
    for message, place in zip(messages, model.threads(numbered), strict=True):
        yield {
            "number": place.line,
            "message": message_record(message),
            "kind": message.kind.value,
            "replies_to": place.replies_to,
            "thread": place.thread,
            "probability": round(place.probability, _DIGITS),
        }
