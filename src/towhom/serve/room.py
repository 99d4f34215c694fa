"""A chat that is followed: who its messages are for, and which conversations they belong to."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Any

from towhom.bank import Bank
from towhom.bots.decision import decide
from towhom.bots.policy import Policy
from towhom.chat import Kind
from towhom.crosstalk.mind import Heard, Question
from towhom.live import Model
from towhom.serve.answers import introduce, observation, selections, verdict_of
from towhom.wire import message_from

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

    def observe(self, records: Sequence[dict[str, Any]]) -> Generator[Question, Heard, list[str]]:
        """Take the next messages; gives observations as texts of JSON, which they stay from here on."""
        texts: list[str] = []
        for start in range(0, len(records), CHUNK):
            chunk = [
                message_from(record, line=line)
                for line, record in enumerate(records[start : start + CHUNK], self._next)
            ]
            self._next += len(chunk)
            # All of the chunk at once, which is far faster than one by one.
            for observed in (yield from self._session.following(chunk)):
                texts.append(json.dumps(observation(observed), ensure_ascii=False, separators=(",", ":")))
        return texts

    def remembers(self, id: str) -> bool:
        """Whether the message of an identifier has been observed."""
        return self._session.remembers(id)

    def gate(self, number: int, record: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
        """Whether a bot speaks after a message that has been observed.

        Args:
            number: The message's.
            record: The message.
            question: `bot`, `policy`, `direct` and `max_tokens`.
        """
        message = message_from(record)
        edited = message.kind is Kind.EDIT
        turns = (turn for turn in reversed(self._session.turns) if not turn.utterance.gone)
        turn = next(
            (each for each in turns if (each.utterance.id == message.id if edited else each.line == number)),
            None,
        )
        seen = None if turn is None else self._session.observation_of(turn)
        policy = Policy.of(question["policy"])
        verdict = decide(
            self._session, question["bot"], policy, message, seen, turn, direct=question["direct"]
        )
        return verdict_of(verdict, question["max_tokens"])

    def select(self, responder: str, candidates: Sequence[str], top: int) -> list[dict[str, Any]]:
        """So many pairs of addressee and response, the likeliest first."""
        return selections(self._session, responder, candidates, top)

    def respond(self, responder: str, bank: Bank, top: int, least: float) -> list[dict[str, Any]]:
        """What somebody could say next, of what a bank holds, the best first."""
        return [each.record() for each in self._session.respond(responder, bank, top, least=least)]
