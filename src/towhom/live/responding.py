"""What somebody could say next, from a bank: found by index, ranked by the whole model with addressees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.bank.search import Query, search
from towhom.bank.slots import filled
from towhom.bank.store import Bank, Response
from towhom.bank.tables import FLAGS, Table
from towhom.chat import Message
from towhom.crosstalk.mind import ROWS
from towhom.hearing.utterance import REACH, Bearing, Utterance
from towhom.live.channel import Channel
from towhom.live.drafts import bounded, leads

if TYPE_CHECKING:
    from towhom.live.model import Model

FOUND = 300
"""Responses that are ranked by the whole model."""
LEAST = 0.2
"""How likely a response must fit to be proposed."""
_FITS = (-4.2, 0.26, 4.8)
"""A base, and how much energy and the similarity of questions count: fitted to 100 examples that were read,
benchmarks/results/bank-judged.json."""
_QUERIES = 3
"""Messages that may be answered for which responses are looked for."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something to say, to whom, and where it comes from.

    Args:
        addressee: Whom it is for.
        response: What to say, with names in the place of slots.
        probability: How likely it is of use, as 100 such responses were judged.
        answers: The text of the message that it would answer.
        source: What the bank knows of it: what it answered there, and where.
        id: The addressee's identifier, which is the name where the chat has no others.
    """

    addressee: str | None
    response: str
    probability: float
    answers: str
    source: Response
    id: str | None = None

    def record(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "addressee": self.addressee,
            "id": self.id,
            "response": self.response,
            "probability": round(self.probability, 4),
            "answers": self.answers,
            "source": self.source.record(),
        }


class Ranked(NamedTuple):
    """A response of a bank, as the model ranks it in a room."""

    number: int
    energy: float
    """How well it fits, whomever it is for."""
    to: str | None
    answers: int
    """How many messages back what it answers is, from 0 on."""
    similar: float
    """How much what it answered has in common with what it would answer now, from 0 to 1."""

    @property
    def likely(self) -> float:
        """How likely it fits."""
        base, energy, similar = _FITS
        return 1.0 / (1.0 + exp(-(base + energy * self.energy + similar * self.similar)))


def rank(channel: Channel, model: Model, responder: str, bank: Bank, *, found: int = FOUND) -> list[Ranked]:
    """Responses of a bank that somebody could say next, the best first.

    Args:
        channel: The room.
        model: That of the room, and of the bank.
        responder: Who speaks next, as an identifier.
        bank: Where to look.
        found: How many are ranked by the whole model.
    """
    bank.require_model(model.fingerprint)
    people = leads(channel.turns, responder)
    if not len(bank) or not people:
        return []
    neutral = channel.ear.imagine(Message(responder, ""))
    queries = queries_of(channel, model, neutral, np.concatenate([*people.values()]))
    with bank.reading():
        numbers = search(bank, queries, found)
        energies = bounded(weigh(channel, bank, numbers, neutral))
        return _ranked(channel, bank, people, numbers, energies)


def _ranked(
    channel: Channel,
    bank: Bank,
    people: dict[str, NDArray[np.int64]],
    numbers: Sequence[int],
    energies: NDArray[np.float64],
) -> list[Ranked]:
    """Responses, the likeliest first, each with whom it is for."""
    weights = channel.ear.lexicon.piece_weights
    ranked = []
    for number, row in zip(numbers, energies, strict=True):
        to, columns = max(people.items(), key=lambda lead: float(np.logaddexp.reduce(row[lead[1]])))
        energy = float(np.logaddexp.reduce(row[np.concatenate([*people.values()])]))
        answers = int(columns[np.argmax(row[columns])])
        similar = _similar(channel.turns[-1 - answers].utterance, *_asked(bank, number, weights))
        ranked.append(Ranked(number, energy, to, answers, similar))
    return sorted(ranked, key=lambda each: (-each.likely, each.number))


def _asked(
    bank: Bank, number: int, weights: NDArray[np.float32]
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """What the question of a response is made of, and how much each part tells."""
    segment, row = bank.place(number)
    pieces = bank.segments[segment].table.numbers("asked_pieces", row)
    return pieces, weights[pieces & np.uint32(len(weights) - 1)]


def _similar(said: Utterance, pieces: NDArray[np.uint32], weights: NDArray[np.float32]) -> float:
    """How much two messages have in common, as a share of the one that says more; rare words count more."""
    both = float((said.weights[np.isin(said.pieces, pieces)] ** 2).sum())
    mine, theirs = float((said.weights**2).sum()), float((weights**2).sum())
    return both / max(mine, theirs, 1.0)


def queries_of(channel: Channel, model: Model, neutral: Utterance, columns: NDArray[np.int64]) -> list[Query]:
    """The messages that somebody would answer next, whatever they say, the likeliest first."""
    energies = bounded(channel.room.weigh([neutral]))[0]
    turns = channel.turns[-REACH:]
    others = [int(column) for column in columns if turns[-1 - column].utterance.speaker != neutral.speaker]
    chosen = sorted(others, key=lambda column: (-energies[column], column))[:_QUERIES]
    said = [turns[-1 - column].utterance for column in chosen]
    vectors = model.head.heard(model.mind.read(said).state)
    return [Query(each.text, vector) for each, vector in zip(said, vectors, strict=True)]


def weigh(channel: Channel, bank: Bank, numbers: Sequence[int], neutral: Utterance) -> NDArray[np.float32]:
    """(R, `REACH` + 1) Energies of responses of a bank in a room; see `Room.weigh`.

    Args:
        channel: The room.
        bank: Where they are.
        numbers: Which.
        neutral: A message of whoever would say them.
    """
    weights = channel.ear.lexicon.piece_weights
    drafts = [_draft(bank, number, neutral, weights) for number in numbers]
    parts = [channel.room.weigh(drafts[start : start + ROWS]) for start in range(0, len(drafts), ROWS)]
    return np.concatenate([np.empty((0, REACH + 1), np.float32), *parts])


def _draft(bank: Bank, number: int, neutral: Utterance, weights: NDArray[np.float32]) -> Utterance:
    """A response as it would be heard: a bank has its words, so that nothing is to be read again."""
    segment, row = bank.place(number)
    table: Table = bank.segments[segment].table
    bits = int(table["flags"][row])
    flags = {name: bool(bits >> place & 1) for place, name in enumerate(FLAGS)}
    pieces = table.numbers("pieces", row)
    return replace(
        neutral,
        asks=flags["asks"],
        bearing=Bearing(flags["anybody"], flags["greets"], flags["answers"], flags["you"]),
        everybody=flags["everybody"],
        tokens=table.numbers("tokens", row),
        pieces=pieces,
        weights=weights[pieces & np.uint32(len(weights) - 1)],
    )


def propose(
    channel: Channel,
    model: Model,
    responder: str,
    bank: Bank,
    k: int,
    *,
    least: float = LEAST,
    tells: bool = False,
) -> list[Proposal]:
    """The best responses of a bank that are likely enough to fit; see `Session.respond`.

    Args:
        channel: The room.
        model: That of the room, and of the bank.
        responder: Who speaks next, as an identifier.
        bank: Where to look.
        k: How many at most.
        least: How likely one must fit.
        tells: Whether only those are wanted that answered a question, and ask nothing back.
    """
    ranked = rank(channel, model, responder, bank)
    if tells:
        ranked = [each for each in ranked if _tells(bank, each.number)]
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


def _tells(bank: Bank, number: int) -> bool:
    segment, row = bank.place(number)
    bits = int(bank.segments[segment].table["flags"][row])
    return bool(bits >> FLAGS.index("question asks") & 1) and not bits >> FLAGS.index("asks") & 1
