"""How often a bank finds an answer again by how its asker had put the question before.

    python benchmarks/bank.py BANK HELD... --queries 300 --json RECORD
    python benchmarks/bank.py BANK HELD... --of 20000 --minilm FOLDER --json RECORD

The answers of the logs HELD, which are not in the bank, are put into a copy of it, each with the message
that it answered. Where its asker had begun the conversation with something else, that is asked: the same
trouble in other words. Nothing of the bank repeats it. With `--of`, the bank is cut down to so many
responses, drawn at random, so that others can be measured beside it: a sentence encoder that was made for
this.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from minilm import MiniLM
from numpy.typing import NDArray

from towhom import Message, load
from towhom.bank import Bank
from towhom.bank.heads import ASKED as SHARE
from towhom.bank.search import Query, by_words, merged, nearest, search
from towhom.bank.store import MANIFEST
from towhom.bank.tables import ASKED, VECTORS
from towhom.bank.writing import write_manifest, write_segment
from towhom.blas import one_thread
from towhom.live import Model
from towhom.live.banking import Rules, add_to_bank, build_bank
from towhom.live.channel import Channel
from towhom.live.drafts import leads
from towhom.live.following import follow_together
from towhom.live.responding import FOUND, WEIGHED, questions, rank
from towhom.records import circumstances, describe_data, write_record

_AT = (1, 10, 100)
_LEAST = 5
"""The least number of words of a question."""
_QUESTIONS, _ANSWERS, _BOTH = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.5)
_HELPER = " helper"
Way = Callable[[], list[int]]


class Target(NamedTuple):
    """A question, and the number of the answer that its other wording got."""

    asked: str
    number: int


def main() -> None:
    """Measure, and write a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("held", type=Path, nargs="+")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--of", type=int)
    parser.add_argument("--minilm", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    circumstanced, model = circumstances(), load()
    ranks: dict[str, list[int | None]] = {}
    spent: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=options.bank.parent) as folder, one_thread():
        bank, targets = _prepared(Path(folder), options)
        others = _others(bank, targets, options)
        for place, target in enumerate(targets):
            for name, way in _ways(bank, model, target.asked, others, place).items():
                start = process_time()
                numbers = way()
                spent[name] = spent.get(name, 0.0) + process_time() - start
                found = numbers.index(target.number) if target.number in numbers else None
                ranks.setdefault(name, []).append(found)
        responses = len(bank)
    recall = {
        name: {str(at): round(sum(r is not None and r < at for r in found) / len(found), 4) for at in _AT}
        for name, found in ranks.items()
    }
    for name, shares in recall.items():
        milliseconds = 1000 * spent[name] / len(targets)
        print(f"{name:44}", *(f"{at}: {share:.3f}" for at, share in shares.items()), f"{milliseconds:.1f} ms")
    if options.json:
        record = {
            **circumstanced, "seed": options.seed, "responses": responses, "queries": len(targets),
            "held": describe_data(options.held), "found": FOUND, "weighed": WEIGHED, "recall": recall,
            "processor_milliseconds": {
                name: round(1000 * seconds / len(targets), 1) for name, seconds in spent.items()
            },
        }  # fmt: skip
        write_record(options.json, record)


def _prepared(folder: Path, options: argparse.Namespace) -> tuple[Bank, list[Target]]:
    """A copy of the bank with the held answers in it, and the questions."""
    build_bank(folder / "openings", options.held)
    openings = Bank(folder / "openings")
    whole = folder / "bank"
    source = Bank(options.bank)
    whole.mkdir()
    if options.of:
        _cut(source, whole, options)
    else:
        (whole / MANIFEST).write_bytes((options.bank / MANIFEST).read_bytes())
        for segment in source.segments:
            (whole / segment.folder.name).symlink_to(segment.folder.resolve(), target_is_directory=True)
    before = len(Bank(whole))
    add_to_bank(whole, options.held, rules=Rules(openings=False))
    bank = Bank(whole)
    added = {(bank[n].document, bank[n].channel, bank[n].line): n for n in range(before, len(bank))}
    targets = []
    for each in map(openings.__getitem__, range(len(openings))):
        number = added.get((each.document, each.channel, each.line))
        asked = each.opening or ""
        if number is None or len(asked.split()) < _LEAST or each.question in asked or asked in each.question:
            continue
        if openings.segments[0].table.has(each.number, "question asks"):
            targets.append(Target(asked, number))
    return bank, Random(options.seed).sample(targets, min(options.queries, len(targets)))


def _cut(source: Bank, folder: Path, options: argparse.Namespace) -> None:
    """Write a bank with some responses of another one."""
    numbers = sorted(Random(options.seed).sample(range(len(source)), options.of))
    tables = [table.at(rows) for _, rows, table in source.at(numbers)]
    width = source.segments[0].table[VECTORS].shape[1]
    segment = write_segment(folder / "segment-0000", tables, width)
    write_manifest(folder, {**source.manifest, "segments": [segment]})


def _others(
    bank: Bank, targets: Sequence[Target], options: argparse.Namespace
) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Vectors of other encoders: of the questions, and of the bank."""
    if not options.minilm:
        return {}
    encoder = MiniLM(options.minilm)
    asked = encoder.encode([each.asked for each in targets])
    return {
        f"MiniLM over {name}s": (asked, encoder.encode([getattr(bank[n], field) for n in range(len(bank))]))
        for name, field in (("question", "question"), ("answer", "text"))
    }


def _ways(bank: Bank, model: Model, asked: str, others: dict[str, Any], place: int) -> dict[str, Way]:
    """The ways to search for an answer; each returns numbers of responses, the best first."""
    channel = Channel(model.mind, model.lexicon)
    follow_together([channel.follow([Message("asker", asked)], lambda line: None)])
    neutral = channel.ear.imagine(Message(_HELPER, ""))
    columns = np.concatenate([*leads(channel.turns, _HELPER).values()])
    query = questions(channel, model, neutral, columns, whole=True)[0].query
    ways: dict[str, Way] = {
        "BM25 over questions": lambda: by_words(bank, asked, FOUND, weights=_QUESTIONS),
        "BM25 over answers": lambda: by_words(bank, asked, FOUND, weights=_ANSWERS),
        "BM25 over both": lambda: by_words(bank, asked, FOUND, weights=_BOTH),
        "vectors of questions": lambda: _by_vectors(bank, query, (0.0, 1.0)),
        "vectors of answers": lambda: _by_vectors(bank, query, (1.0, -SHARE)),
        "vectors of both": lambda: nearest(bank, query.vector, FOUND),
        "BM25 and vectors": lambda: search(bank, [query], FOUND),
        "BM25 and vectors, ranked": lambda: [
            each.number for each in rank(channel, model, _HELPER, bank, whole=True)
        ],
    }
    for name, (of_queries, of_bank) in others.items():
        ways[name] = lambda q=of_queries[place], every=of_bank: _first(every @ q)  # type: ignore[misc]
    if others:
        of_queries, of_bank = others["MiniLM over questions"]
        ways["BM25 and MiniLM over questions"] = lambda: merged(
            [(1.0, by_words(bank, asked, FOUND, weights=_BOTH)), (1.0, _first(of_bank @ of_queries[place]))]
        )[:FOUND]
    return ways


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
    some = np.argpartition(-scores, FOUND)[:FOUND]
    found: list[int] = some[np.argsort(-scores[some], kind="stable")].tolist()
    return found


if __name__ == "__main__":
    main()
