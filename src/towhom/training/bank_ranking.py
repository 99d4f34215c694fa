"""Learns the weights by which a bank's responses are ranked.

    python -m towhom.training.bank_ranking BANK OTHER... --out RANKING.json --json RECORD

OTHER are banks of other days, one for each room. `towhom.training.bank_queries` makes queries from them whose
response is known. The weights are those at which that response is likeliest among all that are found with it
(a conditional logit). For the record, each room is also ranked by weights learned from the other rooms. The
curve of usefulness in RANKING.json is kept, if there is one; `benchmarks/bank_read.py` fits it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom import Message, load
from towhom.bank import Bank
from towhom.bank.ranking import INPUTS
from towhom.blas import one_thread
from towhom.documents import read_json
from towhom.files import atomic_file
from towhom.live import Model
from towhom.live.drafts import bounded
from towhom.live.responding import WEIGHED, candidates, weigh
from towhom.records import circumstances, write_record
from towhom.training.bank_queries import RESPONDER, Target, ask, describe, place

Array = NDArray[np.float64]
_SHRINK = 1.0
"""Strength of the regularization of weights, for inputs with a spread of 1."""
_AT = (1, 10, 100)
_STEPS = 20
"""Steps of Newton's method, and how often each is halved."""
_CONSTANT = 1e-6
"""Inputs with a smaller spread get no weight."""
_ALONE = ("bm25", "words", "sense")
"""Inputs that are also measured alone."""
_USEFUL = {"base": 0.0, "slope": 1.0, "says": 0.0, "energy": 0.0, "read_of": 1_000_000}
"""The curve of usefulness before anybody has read anything."""


class Example(NamedTuple):
    """What is found for a query."""

    target: Target
    numbers: NDArray[np.int64]
    """(N,) Numbers of the candidates."""
    looks: Array
    """(N, F) Their inputs."""

    @property
    def true(self) -> int:
        """The place of the true response among the candidates; -1 if it was not found."""
        found: list[int] = np.flatnonzero(self.numbers == self.target.number).tolist()
        return found[0] if found else -1


def found_for(bank: Bank, targets: Sequence[Target], model: Model) -> list[Example]:
    """The candidates for each query, without those of the same conversation."""
    found = []
    for target in targets:
        channel, asked = ask(model, target.query)
        some = candidates(bank, [asked], channel)
        some = some.at(np.flatnonzero(~np.isin(some.numbers, [*target.siblings])))
        found.append(Example(target, some.numbers, some.looks[:, 0]))
    return found


def weighed(bank: Bank, model: Model, example: Example, first: Array) -> Example:
    """The most promising candidates, with the energies of the whole model as another input."""
    best = np.argsort(-(example.looks @ first), kind="stable")[:WEIGHED]
    numbers = example.numbers[best]
    channel, _ = ask(model, example.target.query)
    neutral = channel.ear.imagine(Message(RESPONDER, ""))
    energies = bounded(weigh(channel, bank, numbers.tolist(), neutral))
    energy = np.logaddexp.reduce(energies[:, : len(channel.turns)], axis=1)
    return Example(example.target, numbers, np.column_stack([example.looks[best], energy]))


def fitted(some: Sequence[Example]) -> Array:
    """The weights at which the true responses are likeliest among all candidates, by Newton's method."""
    learned = [each for each in some if each.true >= 0]
    every = np.concatenate([each.looks for each in learned])
    spread = every.std(axis=0)
    spread[spread < _CONSTANT] = np.inf
    bounds = np.cumsum([0, *(len(each.numbers) for each in learned)])
    starts, true = bounds[:-1], bounds[:-1] + [each.true for each in learned]
    query = np.repeat(np.arange(len(learned)), np.diff(bounds))
    inputs = (every - every.mean(axis=0)) / spread

    def shares_of(weights: Array) -> tuple[Array, float]:
        """How likely each candidate is, and the logarithm of how likely all of the truth is."""
        scores = inputs @ weights
        odds = np.exp(scores - np.maximum.reduceat(scores, starts)[query])
        shares = odds / np.add.reduceat(odds, starts)[query]
        return shares, float(np.log(shares[true] + 1e-300).sum() - 0.5 * _SHRINK * weights @ weights)

    weights = np.zeros(inputs.shape[1])
    shares, likely = shares_of(weights)
    for _ in range(_STEPS):
        weighted = inputs * shares[:, None]
        means = np.add.reduceat(weighted, starts, axis=0)
        slope = inputs[true].sum(axis=0) - means.sum(axis=0) - _SHRINK * weights
        curve = inputs.T @ weighted - means.T @ means + _SHRINK * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        for _ in range(_STEPS):
            shares, new = shares_of(weights + step)
            if new >= likely:
                break
            step /= 2
        weights, likely = weights + step, new
    result: Array = weights / spread
    return result


def places(some: Sequence[Example], weights: Array) -> list[int | None]:
    """The place of each true response in the order of the scores; None if it was not found."""
    result: list[int | None] = []
    for each in some:
        scores = each.looks @ weights
        result.append(int((scores > scores[each.true]).sum()) if each.true >= 0 else None)
    return result


def recall(found: Sequence[int | None]) -> dict[str, float]:
    """The shares of true responses among the first few."""
    return {str(at): round(sum(r is not None and r < at for r in found) / len(found), 4) for at in _AT}


def _alone(name: str, weights: Array) -> Array:
    """Weights, as many as the given ones, by which a single input decides."""
    alone = np.zeros_like(weights)
    alone[INPUTS.index(name)] = 1.0
    return alone


def main() -> None:
    """Learn weights, write them, and write a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("others", type=Path, nargs="+")
    parser.add_argument("--queries", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    circumstanced, model, bank = circumstances(), load(), Bank(options.bank)
    with tempfile.TemporaryDirectory(dir=options.bank.parent) as folder, one_thread():
        placed = place(
            Path(folder) / "bank", bank, options.others, model, count=options.queries, seed=options.seed
        )
        before = found_for(placed.bank, placed.targets, model)
        first = fitted(before)
        after = [weighed(placed.bank, model, each, first) for each in before]
        responses = len(placed.bank)
    second = fitted(after)
    rooms = sorted({each.target.room for each in after})
    left_out = {}
    for room in rooms:
        own, others = (
            [each for each in after if (each.target.room == room) is mine] for mine in (True, False)
        )
        left_out[room] = {
            "queries": len(own),
            **{name: recall(places(own, _alone(name, second))) for name in _ALONE},
            "learned from all rooms": recall(places(own, second)),
            "learned from the other rooms": recall(places(own, fitted(others))) if others else None,
        }
    old = read_json(options.out)["useful"] if options.out.exists() else _USEFUL
    written = {
        "first": dict(zip(INPUTS, first.round(4).tolist(), strict=True)),
        "second": dict(zip((*INPUTS, "energy"), second.round(4).tolist(), strict=True)),
        "useful": old,
    }
    with atomic_file(options.out, "w") as file:
        file.write(json.dumps(written, indent=1) + "\n")
    record = {
        **circumstanced, "seed": options.seed, "model": model.fingerprint, "responses": responses,
        "bank": describe(bank), "others": {path.name: describe(Bank(path)) for path in options.others},
        "queries": len(before),
        "found": sum(each.true >= 0 for each in before),
        "recall": {
            **{name: recall(places(before, _alone(name, first))) for name in _ALONE},
            "first": recall(places(before, first)), "second": recall(places(after, second)),
        },
        "rooms": left_out, "weights": written,
    }  # fmt: skip
    sys.stderr.write(
        json.dumps({name: record[name] for name in ("queries", "found", "recall", "rooms")}) + "\n"
    )
    if options.json:
        write_record(options.json, record)


if __name__ == "__main__":
    main()
