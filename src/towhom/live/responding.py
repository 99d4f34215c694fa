"""Responses from a bank that somebody could say next: found by index, ranked by the model with addressees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.bank.ranking import INPUTS, looked_at, ranking, says
from towhom.bank.search import Query, search
from towhom.bank.slots import filled
from towhom.bank.store import Bank, Response
from towhom.bank.tables import FLAGS
from towhom.chat import Message
from towhom.crosstalk.mind import ROWS
from towhom.hearing.utterance import REACH, Bearing, Utterance
from towhom.live.channel import Channel, Turn
from towhom.live.drafts import bounded, leads

if TYPE_CHECKING:
    from towhom.live.model import Model

FOUND, WEIGHED = 500, 64
"""Number of responses that are found, and how many of them the whole model weighs."""
LEAST = 0.3
"""The least probability of being useful at which a response is proposed."""
_QUERIES = 3
"""The largest number of questions that are searched for."""
_WORTH = 0.1
"""How likely a question must be to be searched for, as a share of the likeliest one."""
_LINES = 4
"""The largest number of messages of one speaker that count as one question."""
_TELLING = 3
"""A message with at least so many informative words is more than a greeting."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A response from a bank, its addressee, and its source.

    Args:
        addressee: Who the response is for.
        response: The text, with names filled in.
        probability: How likely it is useful; see `towhom.bank.ranking`.
        answers: The text of the message that it would answer.
        source: The entry in the bank: what it answered, and where.
        id: The addressee's identifier, or their name if the chat has no identifiers.
    """

    addressee: str | None
    response: str
    probability: float
    answers: str
    source: Response
    id: str | None = None

    def record(self) -> dict[str, Any]:
        """The proposal as a JSON value."""
        return {
            "addressee": self.addressee,
            "id": self.id,
            "response": self.response,
            "probability": round(self.probability, 4),
            "answers": self.answers,
            "source": self.source.record(),
        }


class Asked(NamedTuple):
    """A question that could be answered next."""

    query: Query
    columns: frozenset[int]
    """How many messages back its messages are, counted from 0."""


class Ranked(NamedTuple):
    """A response of a bank, ranked in a room."""

    number: int
    to: str | None
    answers: int
    """How many messages back the message is that it answers, counted from 0."""
    likely: float
    """How likely it is useful."""
    why: dict[str, float]
    """What that was computed from; see `Ranking.likely`."""


class Candidates(NamedTuple):
    """N responses that were found for Q questions."""

    numbers: NDArray[np.int64]
    looks: NDArray[np.float64]
    """(N, Q, `ranking.INPUTS`)"""

    def at(self, places: NDArray[np.int64]) -> Candidates:
        """Some of the candidates."""
        return Candidates(self.numbers[places], self.looks[places])

    def helpful(self) -> Candidates:
        """Those that answered a question, do not ask back, and do not send people away."""
        asks, asked, no_help = (
            self.looks[:, 0, INPUTS.index(name)] for name in ("asks", "question_asks", "no_help")
        )
        return self.at(np.flatnonzero((asked > asks) & (no_help == 0)))

    def promising(self, weights: NDArray[np.float64]) -> Candidates:
        """Those that are worth weighing, in the order of their numbers."""
        best = np.argsort(-(self.looks @ weights).max(axis=1), kind="stable")[:WEIGHED]
        return self.at(best[np.argsort(self.numbers[best])])


def rank(channel: Channel, model: Model, responder: str, bank: Bank, *, whole: bool = False) -> list[Ranked]:
    """The responses of a bank that somebody could say next, the best first.

    Args:
        channel: The room.
        model: The model of the room and of the bank.
        responder: The identifier of the person who speaks next.
        bank: The bank to search.
        whole: Whether all messages together are one question. Then only responses to questions count that
            neither ask back nor send people away.
    """
    bank.require_model(model.fingerprint)
    people = leads(channel.turns, responder)
    if not len(bank) or not people:
        return []
    neutral = channel.ear.imagine(Message(responder, ""))
    asked = questions(channel, model, neutral, np.concatenate([*people.values()]), whole=whole)
    with bank.reading():
        found = candidates(bank, asked, channel)
        found = (found.helpful() if whole else found).promising(ranking().first)
        if not len(found.numbers):
            return []
        energies = bounded(weigh(channel, bank, found.numbers.tolist(), neutral))
    piece_weights = channel.ear.lexicon.piece_weights
    telling = np.array([says(bank, each.query, piece_weights) for each in asked])
    return _ranked(people, asked, found, energies, telling, len(bank))


def candidates(bank: Bank, asked: Sequence[Asked], channel: Channel) -> Candidates:
    """The responses that are found for some questions."""
    queries = [each.query for each in asked]
    found = search(bank, queries, FOUND)
    looks = looked_at(bank, found, queries, channel.ear.lexicon.piece_weights)
    return Candidates(np.array(found.numbers, np.int64), looks)


def _ranked(
    people: dict[str, NDArray[np.int64]],
    asked: Sequence[Asked],
    found: Candidates,
    energies: NDArray[np.float64],
    telling: NDArray[np.float64],
    responses: int,
) -> list[Ranked]:
    """The responses with their addressees, the best first; `telling` is how much each question says."""
    weights, names = ranking(), list(people)
    belongs = np.zeros((energies.shape[1], len(names)))
    for place, columns in enumerate(people.values()):
        belongs[columns, place] = 1.0
    within = np.where(belongs.any(axis=1), energies, -np.inf)
    most = within.max(axis=1, keepdims=True)
    shares = np.exp(within - most) @ belongs
    to = shares.argmax(axis=1)
    answers = np.where(belongs[:, to].T > 0, within, -np.inf).argmax(axis=1)
    # The message that it answers may not belong to any question searched for; then the likeliest one counts.
    question = {column: place for place, each in reversed([*enumerate(asked)]) for column in each.columns}
    which = [question.get(column, 0) for column in answers.tolist()]
    energy = np.log(shares.sum(axis=1)) + most[:, 0]
    scores = np.column_stack([found.looks[np.arange(len(which)), which], energy]) @ weights.second
    told, best = telling[which], float(energy[scores.argmax()])
    order = np.lexsort((found.numbers, -scores, -weights.likely(scores, told, best, responses)))
    # No response is called likelier than one that ranks before it.
    likely = np.minimum.accumulate(weights.likely(scores, told, energy, responses)[order])
    return [
        Ranked(
            int(found.numbers[row]), names[to[row]], int(answers[row]), chance,
            {"score": float(scores[row]), "says": float(told[row]), "energy": float(energy[row])},
        )
        for row, chance in zip(order.tolist(), likely.tolist(), strict=True)
    ]  # fmt: skip


def questions(
    channel: Channel, model: Model, neutral: Utterance, columns: NDArray[np.int64], *, whole: bool = False
) -> list[Asked]:
    """The questions that somebody is likely to answer next, whatever they say, the likeliest first.

    Args:
        channel: The room.
        model: The model of the room.
        neutral: An empty message of the responder.
        columns: How many messages back the messages are that may be answered.
        whole: Whether all of them are one question.
    """
    energies = bounded(channel.room.weigh([neutral]))[0]
    turns = channel.turns[-REACH:][::-1]
    others = [column for column in columns.tolist() if turns[column].utterance.speaker != neutral.speaker]
    chosen: list[frozenset[int]] = []
    likely = sorted(others, key=lambda column: (-energies[column], column))
    for column in likely:
        if len(chosen) == _QUERIES or energies[column] < energies[likely[0]] + np.log(_WORTH):
            break
        if not any(column in each for each in chosen):
            chosen.append(_telling(turns, others) if whole else _on_end(turns, column))
    asked = [[turns[column].utterance for column in sorted(each, reverse=True)] for each in chosen]
    tokens = [np.concatenate([each.tokens for each in said]) for said in asked]
    vectors = model.head.heard(model.mind.read([Utterance("", "", tokens=each) for each in tokens]).state)
    return [
        Asked(_query(said, vector), columns)
        for said, vector, columns in zip(asked, vectors, chosen, strict=True)
    ]


def _on_end(turns: Sequence[Turn], column: int) -> frozenset[int]:
    """A message and its neighbours of the same speaker and conversation, with nobody else in between."""
    found = {column}
    for step in (1, -1):
        place = column + step
        while 0 <= place < len(turns) and len(found) < _LINES:
            turn = turns[place]
            if turn.thread == turns[column].thread:
                if turn.utterance.speaker != turns[column].utterance.speaker or turn.utterance.gone:
                    break
                found.add(place)
            place += step
    return frozenset(found)


def _telling(turns: Sequence[Turn], columns: Sequence[int]) -> frozenset[int]:
    """The messages that are more than a greeting; all of them if none is."""
    found = frozenset(column for column in columns if turns[column].utterance.telling >= _TELLING)
    return found or frozenset(columns)


def _query(said: Sequence[Utterance], vector: NDArray[np.float32]) -> Query:
    pieces = np.unique(np.concatenate([each.pieces for each in said]))
    return Query(" ".join(each.text for each in said), vector, pieces)


def weigh(channel: Channel, bank: Bank, numbers: Sequence[int], neutral: Utterance) -> NDArray[np.float32]:
    """(R, `REACH` + 1) The energies of a bank's responses in a room; see `Room.weigh`.

    Args:
        channel: The room.
        bank: The bank that has the responses.
        numbers: The numbers of the responses.
        neutral: An empty message of the responder.
    """
    drafts = _drafts(bank, numbers, neutral, channel.ear.lexicon.piece_weights)
    parts = [channel.room.weigh(drafts[start : start + ROWS]) for start in range(0, len(drafts), ROWS)]
    return np.concatenate([np.empty((0, REACH + 1), np.float32), *parts])


def _drafts(
    bank: Bank, numbers: Sequence[int], neutral: Utterance, weights: NDArray[np.float32]
) -> list[Utterance]:
    """The responses as utterances. The bank stores their tokens, so no text is analysed again."""
    drafts = [neutral] * len(numbers)
    for places, rows, table in bank.at(numbers):
        tokens, token_at = table.lists("tokens", rows)
        pieces, piece_at = table.lists("pieces", rows)
        tells = weights[pieces & np.uint32(len(weights) - 1)]
        flags = (table["flags"][rows][:, None] >> np.arange(len(FLAGS)) & 1).astype(bool).tolist()
        bounds = (pairwise(each.tolist()) for each in (token_at, piece_at))
        for place, bits, (first, last), (start, stop) in zip(places.tolist(), flags, *bounds, strict=True):
            asks, _, *bearing, everybody = bits[:7]
            drafts[place] = Utterance(
                neutral.speaker, neutral.text, time=neutral.time, kind=neutral.kind, own=neutral.own,
                called=neutral.called, asks=asks, bearing=Bearing(*bearing), everybody=everybody,
                tokens=tokens[first:last], pieces=pieces[start:stop], weights=tells[start:stop],
            )  # fmt: skip
    return drafts


def propose(
    channel: Channel,
    model: Model,
    responder: str,
    bank: Bank,
    k: int,
    *,
    least: float = LEAST,
    whole: bool = False,
) -> list[Proposal]:
    """The best responses of a bank that are likely enough to be useful; see `Session.respond`.

    Args:
        channel: The room.
        model: The model of the room and of the bank.
        responder: The identifier of the person who speaks next.
        bank: The bank to search.
        k: The largest number of responses.
        least: The least probability that a response is useful.
        whole: See `rank`.
    """
    ranked = rank(channel, model, responder, bank, whole=whole)
    name_of = channel.people.name_of
    result = []
    for each in ranked[:k]:
        if each.likely < least:
            continue
        source = bank[each.number]
        addressee = None if each.to is None else name_of(each.to)
        text = filled(source.text, addressee=addressee, responder=name_of(responder))
        answered = channel.turns[-1 - each.answers].utterance.text
        result.append(Proposal(addressee, text, each.likely, answered, source, each.to))
    return result
