"""Queries whose answer is known: conversations of other days, whose responses are put into a bank.

A response is kept with the message that it answered. If its asker had begun the conversation with another
message, that one is the query: it describes the same problem in other words. Nobody has to read anything.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from towhom import Message
from towhom.bank import Bank
from towhom.bank.slots import without_slots
from towhom.bank.tables import VECTORS, Table, column_of
from towhom.bank.writing import first_of_each, next_segment, text_keys, write_manifest, write_segment
from towhom.hearing.words import words
from towhom.live import Model
from towhom.live.channel import Channel
from towhom.live.drafts import leads
from towhom.live.following import follow_together
from towhom.live.responding import Asked, questions
from towhom.training.bank_vectors import AT_ONCE, vectors_of

RESPONDER = " helper"
"""The name of who answers. No person's name begins with a space."""
_LEAST = 5
"""The least number of words of a query."""


class Target(NamedTuple):
    """A query, and the response that its author got to another message."""

    query: str
    number: int
    siblings: frozenset[int]
    """Other responses of the same conversation. They may be just as good, so they count neither way."""
    room: str
    """The log and the channel."""


class Placed(NamedTuple):
    """A bank with responses of other days, and queries for them."""

    bank: Bank
    targets: list[Target]


def place(
    folder: Path,
    bank: Bank,
    others: Sequence[Path],
    model: Model,
    *,
    count: int,
    seed: int,
    helpful: bool = False,
) -> Placed:
    """Make a copy of a bank with the responses of other banks, and queries for these.

    Args:
        folder: Where the copy is made; it links to the files of the bank.
        bank: The bank.
        others: Banks of other days. What they have in common with the bank is left out.
        model: The model of all these banks.
        count: The largest number of queries, drawn at random.
        seed: Of the draw.
        helpful: Whether only responses are looked for that `towhom answered` could show.
    """
    folder.mkdir()
    for segment in bank.segments:
        linked = folder / segment.folder.name
        linked.mkdir()
        for path in segment.folder.iterdir():
            (linked / path.name).symlink_to(path.resolve())
    known = [text_keys(piece) for segment in bank.segments for piece in segment.table.pieces()]
    targets: list[Target] = []

    def tables() -> Iterator[Table]:
        start = len(bank)
        for other in map(Bank, others):
            other.require_model(model.fingerprint)
            for segment in other.segments:
                keys = text_keys(segment.table)
                (fresh,) = first_of_each([keys], np.concatenate(known))
                known.append(keys)
                kept = segment.table.at(np.flatnonzero(fresh))
                targets.extend(_targets(kept, start, other.folder.name, helpful=helpful))
                start += len(kept)
                yield from (without_openings(piece, model) for piece in kept.pieces(AT_ONCE))

    width = bank.segments[0].table[VECTORS].shape[1]
    added = write_segment(folder / next_segment(bank.manifest), tables(), width)
    write_manifest(folder, {**bank.manifest, "segments": [*bank.manifest["segments"], added]})
    return Placed(Bank(folder), Random(seed).sample(targets, min(count, len(targets))))


def describe(bank: Bank) -> dict[str, Any]:
    """What a bank was made of, for the record of a run."""
    sources = bank.manifest["sources"]
    digest = hashlib.sha256(json.dumps(sources).encode()).hexdigest()
    return {"responses": len(bank), "logs": len(sources), "sha256 of their names and hashes": digest}


def _targets(table: Table, start: int, log: str, *, helpful: bool) -> Iterator[Target]:
    documents, channels = table.texts("document"), table.texts("channel")
    conversations = [(documents[row], channels[row], int(table["thread"][row])) for row in range(len(table))]
    together = defaultdict(set)
    for row, conversation in enumerate(conversations):
        together[conversation].add(start + row)
    openings, questions = table.texts("opening"), table.texts("question")
    for row, conversation in enumerate(conversations):
        query, question = without_slots(openings[row]), without_slots(questions[row])
        if len(query.split()) < _LEAST or question in query or query in question:
            continue
        helps = table.has(row, "question asks") and not (table.has(row, "asks") or table.has(row, "no help"))
        if helps or not helpful:
            siblings = frozenset(together[conversation] - {start + row})
            yield Target(query, start + row, siblings, log)


def without_openings(table: Table, model: Model) -> Table:
    """Responses as if nothing of their conversations were known but the messages that they answered."""
    found = (words(without_slots(text)) for text in table.texts("question"))
    pieces = [np.unique(model.lexicon.pieces(each, lambda word: False)) for each in found]
    columns = {**table.columns, **vectors_of(table, model, openings=False)}
    columns["asked_pieces"], columns["asked_pieces.offsets"] = column_of(pieces, np.uint32)
    columns["opening"] = np.empty(0, np.uint8)
    columns["opening.offsets"] = np.zeros(len(table) + 1, np.int64)
    return Table(columns)


def ask(model: Model, query: str) -> tuple[Channel, Asked]:
    """A room in which somebody has just asked a question, and the question as `rank` sees it."""
    channel = Channel(model.mind, model.lexicon)
    follow_together([channel.follow([Message("asker", query)], lambda line: None)])
    neutral = channel.ear.imagine(Message(RESPONDER, ""))
    columns = np.concatenate([*leads(channel.turns, RESPONDER).values()])
    return channel, questions(channel, model, neutral, columns, whole=True)[0]
