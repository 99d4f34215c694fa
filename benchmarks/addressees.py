"""What each kind of knowledge is worth in telling whom a message addresses.

    python benchmarks/addressees.py MODEL TRAIN DEV --json benchmarks/results/addressees.json

MODEL is what `towhom package` made; TRAIN and DEV are folders of logs with reply links. Each row trains the
ranker anew without some of its features, all on the same messages. The first row is repeated in five folds
over the training documents, which says how much to trust the others.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from towhom import load
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs
from towhom.live.addressees import CANDIDATE_FEATURES, MESSAGE_FEATURES, AddresseeRanker
from towhom.records import circumstances, describe_data, write_record
from towhom.training.addressees import Example, RankerConfig, collect, fit

_FOLDS = 5
_WITHOUT: dict[str, tuple[str, ...]] = {
    "all features": (),
    "without the model": (
        "in the context", "model", "model, given the text", "model, among all", "best of the model",
        "embedding",
    ),
    "without who named whom": (
        "named me", "named me, nearness", "named me last of all", "last message names me",
        "last message names another", "I named them", "I named them, nearness", "my last message names them",
        "somebody named me",
    ),
    "without its own earlier answers": (
        "my last message meant them", "last message meant me", "meant me, nearness", "my last meant nobody",
    ),
    "without common words": ("common words", "common words, last message", "most common words"),
    "without questions": ("last message asks", "last message asks the room", "asks", "my last asks"),
    "without time": ("time since", "time since my last", "the time is known"),
    "without mentions inside the text": ("mentioned", "somebody is mentioned"),
}  # fmt: skip


def masked(examples: list[Example], without: tuple[str, ...]) -> list[Example]:
    """The same examples, some features being zero."""
    own = np.array([name not in without for name in CANDIDATE_FEATURES], np.float32)
    message = np.array([name not in without for name in MESSAGE_FEATURES], np.float32)
    return [
        replace(
            each,
            features=each.features._replace(
                candidates=each.features.candidates * own, message=each.features.message * message
            ),
            state=each.state * ("embedding" not in without),
        )
        for each in examples
    ]


def accuracy(
    ranker: AddresseeRanker, examples: list[Example], out_of_reach: tuple[int, int]
) -> dict[str, Any]:
    """Percent right of all messages, and of those that name nobody; what is out of reach counts as wrong."""
    place = list(CANDIDATE_FEATURES).index("named")
    right = np.array([each.meant[ranker(each.features, each.state).argmax()] for each in examples])
    unnamed = np.array([not each.features.candidates[:, place].any() for each in examples])
    return {
        "accuracy": round(100 * right.sum() / (len(right) + out_of_reach[0]), 2),
        "names_nobody": round(100 * right[unnamed].sum() / (unnamed.sum() + out_of_reach[1]), 2),
    }


def missed(logs: list[LinkedLog], examples: list[Example]) -> tuple[int, int]:
    """How many annotated messages are not among the examples, and how many of these name nobody."""
    place = list(CANDIDATE_FEATURES).index("named")
    unnamed = sum(not each.features.candidates[:, place].any() for each in examples)
    truths = [(log, line) for log in logs for line in log.truth]
    return len(truths) - len(examples), sum(line not in log.named for log, line in truths) - unnamed


def main() -> None:
    """Train, print, record."""
    parser = argparse.ArgumentParser(description="What each kind of knowledge is worth.")
    parser.add_argument("model", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    arguments = parser.parse_args()
    model, config = load(arguments.model), RankerConfig()
    train_logs, dev_logs = (list(read_linked_logs(path)) for path in (arguments.train, arguments.dev))
    by_document = [collect(model, [log]) for log in train_logs]
    train, dev = [each for document in by_document for each in document], collect(model, dev_logs)
    out_of_reach = missed(dev_logs, dev)
    rows: dict[str, Any] = {}
    for name, without in _WITHOUT.items():
        # What names somebody must stay known to the measure.
        ranker = AddresseeRanker(fit(masked(train, without), config))
        rows[name] = accuracy(ranker, masked(dev, without), out_of_reach)
        print(name, rows[name], flush=True)
    folds = []
    for fold in range(_FOLDS):
        kept = [each for place, each in enumerate(by_document) if place % _FOLDS != fold]
        held = [place for place in range(len(by_document)) if place % _FOLDS == fold]
        ranker = AddresseeRanker(fit([each for document in kept for each in document], config))
        examples = [each for place in held for each in by_document[place]]
        folds.append(accuracy(ranker, examples, missed([train_logs[place] for place in held], examples)))
        print("fold", fold, folds[-1], flush=True)
    record = {
        **circumstances(),
        "data": describe_data([arguments.model, arguments.train, arguments.dev]),
        "messages": {"train": len(train), "dev": len(dev) + out_of_reach[0]},
        "dev": rows,
        "folds_over_train": folds,
    }
    write_record(arguments.json, record)


if __name__ == "__main__":
    main()
