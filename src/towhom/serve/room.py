"""A chat that is followed: who its messages are for, and which conversations they belong to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from towhom.live import Model
from towhom.readers.jsonl import message_from
from towhom.serve.answers import introduce, observation, selections

CHUNK = 32
"""Messages that are taken at once: many are faster, and fewer keep others waiting less."""


class Room:
    """A session, and the number of its next message.

    Args:
        model: What answers.
        first: The number of its first message.
        state: What `state` gave, to go on from there.

    Raises:
        SessionError: The state is of no use.
    """

    def __init__(self, model: Model, first: int = 0, state: dict[str, Any] | None = None) -> None:
        state = {"next": first, "session": None} if state is None else state
        self._next: int = state["next"]
        self._session = model.session(state["session"])

    def state(self) -> dict[str, Any]:
        """All that it takes to go on later, as JSON can hold it."""
        return {"next": self._next, "session": self._session.state()}

    def introduce(self, people: Sequence[dict[str, Any]]) -> None:
        """Make people known who may not have spoken."""
        introduce(self._session, people)

    def observe(self, records: Sequence[dict[str, Any]]) -> Iterator[str]:
        """Take the next messages; gives observations as texts of JSON, which they stay from here on."""
        for start in range(0, len(records), CHUNK):
            chunk = [
                message_from(record, line=line)
                for line, record in enumerate(records[start : start + CHUNK], self._next)
            ]
            self._next += len(chunk)
            # All of the chunk at once, which is far faster than one by one.
            for seen in self._session.observe_all(chunk):
                yield json.dumps(observation(seen), ensure_ascii=False, separators=(",", ":"))

    def select(self, responder: str, candidates: Sequence[str], top: int) -> list[dict[str, Any]]:
        """So many pairs of addressee and response, the likeliest first."""
        return selections(self._session, responder, candidates, top)
