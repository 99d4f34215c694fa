"""How often a bank gives back what was really said, among all that it holds.

    towhom bank build BANK TRAIN...
    towhom bank add BANK HELD...
    python benchmarks/bank.py BANK HELD... --queries 300 --json RECORD

Of each response of the logs HELD that were added last, the room is followed to just before it was said, and
the bank is asked what its speaker could say. What the response answered is stored beside it and would give it
away, so that only what responses themselves say is searched, and similar questions count nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from time import process_time

import numpy as np

from towhom import Message, load
from towhom.bank import Bank
from towhom.bank.search import Query, by_words, nearest, search
from towhom.blas import one_thread
from towhom.live import Model
from towhom.live.channel import Channel
from towhom.live.drafts import bounded, leads
from towhom.live.following import follow_together
from towhom.live.responding import FOUND, queries_of, weigh
from towhom.readers import Report, find_logs
from towhom.records import circumstances, describe_data, write_record

_AT = (1, 10, 100)
_ONLY_RESPONSES = (0.0, 0.0, 1.0)


def main() -> None:
    """Measure, and write a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("held", type=Path, nargs="+")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    bank, model = Bank(options.bank), load()
    ranks: dict[str, list[int | None]] = {}
    spent: dict[str, float] = {}
    with one_thread():
        for channel, responder, answered, true in _situations(bank, model, options):
            for name, seconds, numbers in _answers(bank, model, channel, responder, answered):
                ranks.setdefault(name, []).append(numbers.index(true) if true in numbers else None)
                spent[name] = spent.get(name, 0.0) + seconds
    count = len(ranks["words"])
    recall = {
        name: {str(at): round(sum(r is not None and r < at for r in found) / count, 4) for at in _AT}
        for name, found in ranks.items()
    }
    for name, found in recall.items():
        milliseconds = 1000 * spent[name] / count
        print(f"{name:40}", *(f"{at}: {share:.3f}" for at, share in found.items()), f"{milliseconds:.0f} ms")
    if options.json:
        record = {
            **circumstances(), "seed": options.seed, "responses": len(bank), "queries": count,
            "sources": bank.manifest["sources"], "held": describe_data(options.held), "ranked": FOUND,
            "recall": recall,
            "processor_milliseconds": {name: round(1000 * each / count, 1) for name, each in spent.items()},
        }  # fmt: skip
        write_record(options.json, record)


def _answers(
    bank: Bank, model: Model, channel: Channel, responder: str, answered: Query
) -> Iterator[tuple[str, float, list[int]]]:
    """What is found in each way, the best first, with the seconds that it took."""
    start = process_time()
    neutral = channel.ear.imagine(Message(responder, ""))
    people = leads(channel.turns, responder)
    columns = np.concatenate([*people.values()])
    guessed = queries_of(channel, model, neutral, columns)

    def ranked(numbers: Sequence[int]) -> list[int]:
        energies = bounded(weigh(channel, bank, numbers, neutral))[:, columns]
        order = np.argsort(-np.logaddexp.reduce(energies, axis=1), kind="stable")
        return [numbers[place] for place in order]

    ways: dict[str, Callable[[], list[int]]] = {
        "words": lambda: by_words(bank, answered.text, FOUND, weights=_ONLY_RESPONSES),
        "BM25 over all words": lambda: by_words(
            bank, answered.text, FOUND, weights=_ONLY_RESPONSES, rare=False
        ),
        "vectors": lambda: nearest(bank, answered.vector, FOUND),
        "both": lambda: search(bank, [answered], FOUND, weights=_ONLY_RESPONSES),
        "both, ranked": lambda: ranked(search(bank, [answered], FOUND, weights=_ONLY_RESPONSES)),
        "nothing given: both": lambda: search(bank, guessed, FOUND, weights=_ONLY_RESPONSES),
        "nothing given: both, ranked": lambda: ranked(search(bank, guessed, FOUND, weights=_ONLY_RESPONSES)),
    }
    for name, way in ways.items():
        start = process_time()
        found = way()
        yield name, process_time() - start, found


def _situations(
    bank: Bank, model: Model, options: argparse.Namespace
) -> Iterator[tuple[Channel, str, Query, int]]:
    """Rooms as they were before a response was said, by whom, what it answered, and its number."""
    table, first = bank.segments[-1].table, int(bank.starts[-2])
    numbers = Random(options.seed).sample(range(len(table)), min(options.queries, len(table)))
    documents = table.texts("document")
    wanted = {(documents[row], int(table["line"][row])): row for row in numbers}
    head = model.head
    for log in find_logs(*options.held, report=Report()):
        for document in log.documents(Report()):
            channels: dict[str | None, Channel] = {}
            waiting: dict[str | None, list[Message]] = {}
            for message in document.messages(Report()):
                row = wanted.get((document.name, -1 if message.line is None else message.line))
                room = message.channel
                if row is not None and waiting.get(room):
                    channel = channels.setdefault(room, Channel(model.mind, model.lexicon))
                    follow_together([channel.follow(waiting.pop(room), lambda line: None)])
                    asked = int(table["asked"][row])
                    turn = next((each for each in channel.turns if each.line == asked), None)
                    responder = channel.people.id_of(message.speaker)
                    if turn is not None and leads(channel.turns, responder):
                        vector = head.heard(model.mind.read([turn.utterance]).state)[0]
                        yield channel, responder, Query(turn.utterance.text, vector), first + row
                waiting.setdefault(room, []).append(message)


if __name__ == "__main__":
    main()
