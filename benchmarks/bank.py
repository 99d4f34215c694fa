"""How often a bank finds an answer again by how its asker had put the question before.

    python benchmarks/bank.py BANK OTHER... --queries 500 --json RECORD
    python benchmarks/bank.py BANK OTHER... --of 100000 --minilm FOLDER --sirnn FOLDER --json RECORD

The responses of OTHER, banks of other days, are put into a copy of BANK, each with the message that it
answered. If the person who asked had begun the conversation with something else, that is the query: the same
problem in other words (`towhom.training.bank_queries`). Other responses of the same conversation are left out
of all lists. With `--left-out`, the bank is made to be without a room, for questions of a room that it does
not know. With `--of`, the bank is cut down to so many responses, drawn at random, so that others can be
measured beside it in less time: the sentence encoder MiniLM (of a whole bank, over questions alone), and the
response head of SI-RNN.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from time import process_time

import numpy as np
from minilm import MiniLM
from numpy.typing import NDArray
from sirnn import ResponseHead

from towhom import load
from towhom.bank import Bank
from towhom.bank.heads import SHARE
from towhom.bank.search import Query, by_words, merged, nearest, search
from towhom.bank.tables import ASKED, VECTORS
from towhom.bank.writing import write_manifest, write_segment
from towhom.blas import one_thread
from towhom.live import Model
from towhom.live.banking import index_bank
from towhom.live.responding import FOUND, WEIGHED, rank
from towhom.records import circumstances, write_record
from towhom.training.bank_queries import RESPONDER, Placed, Target, ask, describe, place

_AT = (1, 10, 100)
_QUESTIONS, _ANSWERS, _BOTH = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.5)
_MOST = FOUND + 100
"""Length of lists, of which responses of the same conversation are then left out."""
Way = Callable[[], Sequence[int]]


def main() -> None:
    """Measure, and write a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("others", type=Path, nargs="+")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--of", type=int)
    parser.add_argument(
        "--left-out", action="append", default=[], help="rooms that the bank is to be without"
    )
    parser.add_argument("--index", action="store_true", help="make an index, as for a large bank")
    parser.add_argument("--minilm", type=Path)
    parser.add_argument("--sirnn", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    circumstanced, model, whole = circumstances(), load(), Bank(options.bank)
    ranks: dict[str, list[int | None]] = {}
    spent: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=options.bank.parent) as folder, one_thread():
        partial = options.of or options.left_out
        source = _cut(whole, Path(folder) / "cut", options) if partial else whole
        placed = place(
            Path(folder) / "bank", source, options.others, model, count=options.queries, seed=options.seed,
            helpful=True,
        )  # fmt: skip
        if options.index:
            index_bank(placed.bank, model)
            placed = Placed(Bank(placed.bank.folder), placed.targets)
        others = _others(placed, options)
        for number, target in enumerate(placed.targets):
            for name, way in _ways(placed.bank, model, target, others, number).items():
                start = process_time()
                found = way()
                spent[name] = spent.get(name, 0.0) + process_time() - start
                own = [each for each in found if each not in target.siblings]
                ranks.setdefault(name, []).append(own.index(target.number) if target.number in own else None)
        responses = len(placed.bank)
    recall = {name: _recall(found) for name, found in ranks.items()}
    milliseconds = {name: round(1000 * seconds / len(placed.targets), 1) for name, seconds in spent.items()}
    for name, shares in recall.items():
        print(
            f"{name:40}", *(f"{at}: {share:.3f}" for at, share in shares.items()), f"{milliseconds[name]} ms"
        )
    rooms = sorted({target.room for target in placed.targets})
    by_room = {
        room: {
            "queries": sum(target.room == room for target in placed.targets),
            **{
                name: _recall([r for r, t in zip(found, placed.targets, strict=True) if t.room == room])
                for name, found in ranks.items()
            },
        }
        for room in rooms
    }
    if options.json:
        record = {
            **circumstanced, "seed": options.seed, "model": model.fingerprint, "responses": responses,
            "queries": len(placed.targets), "left_out": options.left_out, "found": FOUND, "weighed": WEIGHED,
            "recall": recall, "processor_milliseconds": milliseconds, "rooms": by_room,
            "bank": describe(whole),
            "others": {path.name: describe(Bank(path)) for path in options.others},
        }  # fmt: skip
        write_record(options.json, record)


def _recall(found: Sequence[int | None]) -> dict[str, float]:
    return {str(at): round(sum(r is not None and r < at for r in found) / len(found), 4) for at in _AT}


def _cut(source: Bank, folder: Path, options: argparse.Namespace) -> Bank:
    """A bank with some responses of another one."""
    rooms = tuple(options.left_out)
    numbers = [
        number for number, document in enumerate(_texts(source, "document")) if not document.startswith(rooms)
    ]
    if options.of:
        numbers = sorted(Random(options.seed).sample(numbers, options.of))
    tables = [table.at(rows) for _, rows, table in source.at(numbers)]
    folder.mkdir()
    segment = write_segment(folder / "segment-0000", tables, source.segments[0].table[VECTORS].shape[1])
    write_manifest(folder, {**source.manifest, "segments": [segment]})
    return Bank(folder)


class _Others:
    """Vectors of other systems: of the queries, and of all responses of the bank; by name."""

    def __init__(self) -> None:
        self.queries: dict[str, NDArray[np.float32]] = {}
        self.responses: dict[str, NDArray[np.float32]] = {}

    def found(self, name: str, number: int) -> list[int]:
        return _first(self.responses[name] @ self.queries[name][number])


def _others(placed: Placed, options: argparse.Namespace) -> _Others:
    others, bank = _Others(), placed.bank
    asked = [target.query for target in placed.targets]
    questions, answers = ([*_texts(bank, name)] for name in ("question", "response"))
    if options.minilm:
        encoder = MiniLM(options.minilm)
        both = {"MiniLM over questions": questions, "MiniLM over answers": answers}
        for name in [*both][: 1 + (options.of is not None)]:
            others.queries[name] = encoder.encode(asked)
            others.responses[name] = encoder.encode(both[name])
    if options.sirnn:
        head = ResponseHead(options.sirnn)
        encoded = head.responses(answers)
        for name, given in (("SI-RNN, P(r|C)", False), ("SI-RNN, P(r|C,a)", True)):
            others.queries[name] = head.queries(asked, given_addressee=given)
            others.responses[name] = encoded
    return others


def _texts(bank: Bank, name: str) -> Iterator[str]:
    for segment in bank.segments:
        yield from segment.table.texts(name)


def _ways(bank: Bank, model: Model, target: Target, others: _Others, number: int) -> dict[str, Way]:
    """The ways to search for an answer; each returns numbers of responses, the best first."""
    asked = target.query
    channel, question = ask(model, asked)
    query = question.query
    ways: dict[str, Way] = {
        "BM25 over questions": lambda: [*by_words(bank, asked, _MOST, weights=_QUESTIONS)],
        "BM25 over answers": lambda: [*by_words(bank, asked, _MOST, weights=_ANSWERS)],
        "BM25 over both": lambda: [*by_words(bank, asked, _MOST, weights=_BOTH)],
        "BM25 over both, only helpful ones": lambda: _helpful(
            bank, [*by_words(bank, asked, 2 * _MOST, weights=_BOTH)]
        ),
        "vectors of questions": lambda: _by_vectors(bank, query, (0.0, 1.0)),
        "vectors of answers": lambda: _by_vectors(bank, query, (1.0, -SHARE)),
        "vectors of both": lambda: nearest(bank, query.vector, _MOST),
        "BM25 and vectors": lambda: search(bank, [query], _MOST).numbers,
        "BM25 and vectors, ranked": lambda: [
            each.number for each in rank(channel, model, RESPONDER, bank, whole=True)
        ],
    }
    for name in others.queries:
        ways[name] = lambda name=name: others.found(name, number)  # type: ignore[misc]
    if "MiniLM over questions" in others.queries:
        ways["BM25 and MiniLM over questions"] = lambda: merged(
            [
                (1.0, [*by_words(bank, asked, _MOST, weights=_BOTH)]),
                (1.0, others.found("MiniLM over questions", number)),
            ]
        )
    return ways


def _helpful(bank: Bank, numbers: Sequence[int]) -> list[int]:
    """Those that answered a question, do not ask back, and do not send people away."""
    wanted = np.zeros(len(numbers), bool)
    for places, rows, table in bank.at(numbers):
        for at, row in zip(places.tolist(), rows.tolist(), strict=True):
            asks, no_help = (table.has(row, flag) for flag in ("asks", "no help"))
            wanted[at] = table.has(row, "question asks") and not asks and not no_help
    return [number for number, each in zip(numbers, wanted.tolist(), strict=True) if each]


def _by_vectors(bank: Bank, query: Query, weights: tuple[float, float]) -> list[int]:
    """Exact search by a weighted sum of a bank's two vectors, block by block."""
    return _first(np.concatenate([*_scores(bank, query, weights)]))


def _scores(bank: Bank, query: Query, weights: tuple[float, float]) -> Iterator[NDArray[np.float32]]:
    for segment in bank.segments:
        table = segment.table
        for first in range(0, len(table), 1 << 14):
            rows = slice(first, first + (1 << 14))
            yield sum(
                weight * (table[name][rows].astype(np.float32) @ query.vector) * table[scale][rows]
                for weight, name, scale in zip(
                    weights, (VECTORS, ASKED), ("scale", "asked_scale"), strict=True
                )
                if weight
            )


def _first(scores: NDArray[np.float32]) -> list[int]:
    some = np.argpartition(-scores, _MOST)[:_MOST]
    found: list[int] = some[np.argsort(-scores[some], kind="stable")].tolist()
    return found


if __name__ == "__main__":
    main()
