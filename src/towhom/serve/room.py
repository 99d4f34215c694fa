"""A chat that is followed: who its messages are for, and which threads they belong to."""

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
"""Messages processed at a time: more are faster, fewer make other jobs wait less."""


class Room:
    """A session, and the number of its next message.

    Args:
        model: The model.
        first: Number of the first message.
        state: The result of `state`, to continue from there.

    Raises:
        SessionError: The state cannot be used.
    """

    def __init__(self, model: Model, first: int = 0, state: dict[str, Any] | None = None) -> None:
        state = {"next": first, "session": None} if state is None else state
        self._next: int = state["next"]
        self._session = model.session(state["session"])

    def state(self) -> dict[str, Any]:
        """Everything needed to continue later, as JSON-compatible data."""
        return {"next": self._next, "session": self._session.state()}

    def introduce(self, people: Sequence[dict[str, Any]]) -> None:
        """Register people, even if they have not spoken yet."""
        introduce(self._session, people)

    def observe(self, records: Sequence[dict[str, Any]]) -> Generator[Question, Heard, list[str]]:
        """Observe the next messages; returns the observations as JSON texts."""
        texts: list[str] = []
        for start in range(0, len(records), CHUNK):
            chunk = [
                message_from(record, line=line)
                for line, record in enumerate(records[start : start + CHUNK], self._next)
            ]
            self._next += len(chunk)
            # The whole chunk at once is far faster than message by message.
            for observed in (yield from self._session.following(chunk)):
                texts.append(json.dumps(observation(observed), ensure_ascii=False, separators=(",", ":")))
        return texts

    def remembers(self, id: str) -> bool:
        """Whether a message with this id has been observed."""
        return self._session.remembers(id)

    def gate(self, number: int, record: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
        """Whether a bot speaks after a message that has been observed.

        Args:
            number: Number of the message.
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
        """The `top` likeliest pairs of addressee and response, best first."""
        return selections(self._session, responder, candidates, top)

    def respond(self, responder: str, bank: Bank, top: int, least: float) -> list[dict[str, Any]]:
        """Responses from a bank that a person could give next, the best first."""
        return [each.record() for each in self._session.respond(responder, bank, top, least=least)]
