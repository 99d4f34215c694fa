"""Ranks responses that were found for a message, and says how likely each is useful.

A response has a score, a weighted sum of `INPUTS`: words in common, similarities of vectors, the energy of
the whole model, and some facts about the response. The weights are learned from conversations, without
anybody's judgement (`towhom.training.bank_ranking`). A logistic curve, fitted to answers that somebody has
read, says how likely a response is useful.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.bank.heads import SHARE
from towhom.bank.search import Found, Query
from towhom.bank.store import Bank
from towhom.bank.tables import ASKED, FLAGS, VECTORS, Table

Array = NDArray[np.float64]

INPUTS = (
    "words", "share", "rarest", "answer_words", "answer_share", "answer_rarest", "sense", "fits",
    "bm25", "question_length", "answer_length", "times", "asks", "question_asks", "thanked", "no_help",
)  # fmt: skip
"""What a score is made of, except for the energy.

`words`, `share`, `rarest`: what the message has in common with the earlier question: the overlap of their
words, from 0 to 1; the share of the message's words; the rarest word; rare words count more. `answer_words`,
`answer_share`, `answer_rarest`: the same for the response. `sense`: the cosine of the vectors of the message
and of the question. `fits`: the cosine of the message and the response as its answer. `bm25`: see
`search.Found`. `question_length`, `answer_length`: logarithms of how much the question says, and of the
number of words of the response. `times`: logarithm of how often the response was said. The others are 0 or
1: the response asks something; the earlier message asked something; its author said that the response
helped; the response sends people away, or says that its speaker does not know.
"""
_LEAST = 0.5
"""Messages that say less count as if they said so much."""


class Ranking(NamedTuple):
    """Weights of a score, and the curve from a score to a probability.

    Args:
        first: Weights of `INPUTS`, by which responses are chosen for the whole model to weigh.
        second: Weights of `INPUTS` and of the energy.
        base: Logarithm of the odds that a response is useful, if all else is 0.
        slope: By how much that grows with the score. Scores are comparable for one message only.
        says: By how much it grows with the logarithm of how much the message says; see `says`.
        energy: By how much it grows with the energy.
        read_of: Size of the bank that the responses came from to which the curve was fitted. In a bank of
            `e` times as many, as many more responses resemble a message by chance; so all scores count as if
            they were lower by 1.
    """

    first: Array
    second: Array
    base: float
    slope: float
    says: float
    energy: float
    read_of: int

    def likely(self, scores: Array, says: Array, energy: Array | float, responses: int) -> Array:
        """How likely responses are useful.

        Args:
            scores: (N,) Their scores.
            says: (N,) How much the messages say that they answer.
            energy: (N,) Their energies.
            responses: The size of the bank.
        """
        scores = scores - log(max(responses, 1) / self.read_of)
        odds = self.base + self.slope * scores + self.says * says + self.energy * energy
        result: Array = 1.0 / (1.0 + np.exp(-np.clip(odds, -700, 700)))
        return result


@cache
def ranking() -> Ranking:
    """The ranking that comes with the package."""
    found = json.loads((files("towhom.bank") / "ranking.json").read_text("utf-8"))
    first, second = found["first"], found["second"]
    return Ranking(
        np.array([first[name] for name in INPUTS]),
        np.array([second[name] for name in (*INPUTS, "energy")]),
        **found["useful"],
    )


def looked_at(
    bank: Bank, found: Found, queries: Sequence[Query], piece_weights: NDArray[np.float32]
) -> Array:
    """(N, Q, `INPUTS`) What the responses that were found have in common with each message.

    Args:
        bank: The bank.
        found: The responses.
        queries: The messages to be answered.
        piece_weights: (`PIECE_WEIGHTS`,) General weights of pieces; those rare in the bank count more.
    """
    tells = _tells(bank, piece_weights)
    result = np.zeros((len(found.numbers), len(queries), len(INPUTS)))
    for places, rows, table in bank.at(found.numbers):
        facts = _facts(table, rows, tells)
        for place, query in enumerate(queries):
            columns = (
                *_in_common(table, "asked_pieces", rows, query, tells),
                *_in_common(table, "pieces", rows, query, tells),
                *_vectors(table, rows, query),
                found.scores[places, place],
                *facts,
            )
            result[places, place] = np.stack(columns, axis=1)
    return result


def says(bank: Bank, query: Query, piece_weights: NDArray[np.float32]) -> float:
    """The logarithm of how much a message says: the number of its words, of which rare ones count more."""
    return log(_mine(query, _tells(bank, piece_weights)))


def _tells(bank: Bank, piece_weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """(`PIECE_WEIGHTS`,) How much pieces tell, by the low bits of their hashes."""
    result: NDArray[np.float32] = piece_weights**2 * bank.rarity
    return result


def _mine(query: Query, tells: NDArray[np.float32]) -> float:
    return max(float(tells[query.pieces & np.uint32(len(tells) - 1)].sum()), _LEAST)


def _in_common(
    table: Table, column: str, rows: NDArray[np.int64], query: Query, tells: NDArray[np.float32]
) -> tuple[Array, Array, Array]:
    """The overlap of the words of a column with those of a message, its share of the message, the rarest."""
    mine = _mine(query, tells)
    pieces, owner, weights = _weighed(table, column, rows, tells)
    both = weights * np.isin(pieces, query.pieces)
    theirs = np.maximum(np.bincount(owner, weights, len(rows)), _LEAST)
    common = np.bincount(owner, both, len(rows))
    rarest = np.zeros(len(rows))
    np.maximum.at(rarest, owner, both)
    return common / np.sqrt(theirs * mine), common / mine, rarest


def _weighed(
    table: Table, column: str, rows: NDArray[np.int64], tells: NDArray[np.float32]
) -> tuple[NDArray[np.uint32], NDArray[np.int64], Array]:
    """The pieces of some rows, the row of each, and how much each tells."""
    pieces, offsets = table.lists(column, rows)
    owner = np.repeat(np.arange(len(rows)), np.diff(offsets))
    return pieces, owner, tells[pieces & np.uint32(len(tells) - 1)].astype(np.float64)


def _vectors(table: Table, rows: NDArray[np.int64], query: Query) -> tuple[Array, Array]:
    """The cosines of a message with earlier questions, and with responses."""
    found, asked = (
        (np.asarray(table[name])[rows].astype(np.float32) @ query.vector) * table[scale][rows]
        for name, scale in ((VECTORS, "scale"), (ASKED, "asked_scale"))
    )
    return asked.astype(np.float64), (found - np.float32(SHARE) * asked).astype(np.float64)


def _facts(table: Table, rows: NDArray[np.int64], tells: NDArray[np.float32]) -> tuple[Array, ...]:
    """The inputs that do not depend on the message."""
    _, owner, weights = _weighed(table, "asked_pieces", rows, tells)
    says = np.bincount(owner, weights, len(rows))
    words = table["tokens.offsets"][rows + 1] - table["tokens.offsets"][rows]
    flags = table["flags"][rows].astype(np.int64)
    told = (flags >> FLAGS.index(name) & 1 for name in ("asks", "question asks", "thanked", "no help"))
    columns = (np.log1p(says), np.log1p(words), np.log(table["times"][rows].clip(1)), *told)
    return tuple(each.astype(np.float64) for each in columns)
