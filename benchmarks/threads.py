"""What each signal is worth for pulling conversations apart, those of selectors in particular.

    python benchmarks/threads.py TRAIN DEV RECORD [--epochs 4] [--folds 3] [--seeds 1]
        [--selector NAME=FOLDER ...] [--variant NAME ...]

TRAIN and DEV are folders of logs with reply links. Each variant leaves signals out (they are 0 in training
and running) or adds one: how likely a selector's session thinks that a message is for who said the other. All
are trained and measured in one run, on the same messages. "cross-validated" is the F1 of links on TRAIN, each
chat by networks that have not seen it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from math import log
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import towhom
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs
from towhom.evaluation.threads import exact_matches, link_scores, overlap
from towhom.hearing.utterance import REACH, SPOKEN
from towhom.live import Model
from towhom.records import circumstances, describe_data, write_record
from towhom.threads.signals import MESSAGE, MESSAGE_TIME, TIME, TURNS, WHO, WORDS, pair_names
from towhom.training.threads import (
    Examples,
    ThreadsConfig,
    collect,
    cross_fitted,
    fit,
    predict,
    with_structure,
)

NAMES = (*WHO[1:], "its speaker was named since", "the last that names the speaker",
         "by who named the speaker last", "names somebody",
         *(name for name in TURNS if "names its speaker" in name))  # fmt: skip
MESSAGE_NAMES = ("names somebody", "names a stranger", "mentions somebody", "since the speaker was named",
                 "spoke since named", "their last names somebody")  # fmt: skip

LEFT_OUT: dict[str, Callable[[str], bool]] = {
    "whole": lambda name: False,
    "no names": lambda name: name in NAMES,
    "no turns": lambda name: name in TURNS,
    "no times": lambda name: name in TIME,
    "no common words": lambda name: name in WORDS,
    "no likeness": lambda name: name.startswith("likeness"),
    "no content": lambda name: False,
}
"""Which signals of pairs a variant does not see; those of messages follow."""


def without(examples: Examples, variant: str) -> Examples:
    """The examples as a variant sees them."""
    pairs, messages = examples.signals.pairs.copy(), examples.signals.messages.copy()
    names = pair_names(pairs.shape[2] - len(pair_names(0)))
    gone = [place for place, name in enumerate(names) if LEFT_OUT.get(variant, LEFT_OUT["whole"])(name)]
    pairs[..., gone] = 0
    known = (*MESSAGE, *MESSAGE_TIME)
    if variant == "no names":
        messages[:, [MESSAGE.index(name) for name in MESSAGE_NAMES]] = 0
    if variant == "no times":
        messages[:, len(MESSAGE) : len(known)] = 0
    if variant == "no content":
        messages[:, len(known) :] = 0
    return replace(examples, signals=examples.signals._replace(pairs=pairs, messages=messages))


def addressed(model: Model, logs: Sequence[LinkedLog], examples: Examples) -> NDArray[np.float16]:
    """(R, `REACH`, 1) How likely a session thinks that each message is for who said each before it."""
    found = []
    for log_, (heard, first) in zip(logs, examples.heard, strict=True):
        session, speakers, rows = model.session(), list[str](), list[dict[str | None, float]]()
        for message in log_.lines:
            if message.kind in SPOKEN and message.line is not None:
                if len(speakers) >= first - REACH:  # what was before is forgotten by then
                    answer = session.observe(message)
                    rows.append({each.name: each.probability for each in answer.addressees})
                speakers.append(message.speaker)
        rows = rows[-(len(heard) - first) :]
        values = np.zeros((len(rows), REACH, 1), np.float16)
        for row, likely in enumerate(rows):
            for back in range(1, min(REACH, first + row) + 1):
                likelihood = likely.get(speakers[first + row - back], 0.0)
                values[row, back - 1, 0] = max(log(max(likelihood, 1e-9)), -8.0) / 4
        found.append(values)
    return np.concatenate(found)


def measure(logs: Sequence[LinkedLog], examples: Examples, likely: NDArray[np.float32]) -> dict[str, float]:
    """The measures of annotated lines."""
    said = []
    for chat, log_ in enumerate(logs):
        lines = [m.line for m in log_.lines if m.kind in SPOKEN and m.line is not None]
        first = examples.heard[chat][1]
        best = likely[examples.chat == chat].argmax(axis=1).tolist()
        links = {line: frozenset({line}) for line in log_.links}
        for row, column in enumerate(best):
            line = lines[first + row]
            if line in links and column < REACH:
                links[line] = frozenset({lines[first + row - 1 - column]})
        said.append(links)
    true = [log_.links for log_ in logs]
    together, links_, exact = overlap(true, said), link_scores(true, said), exact_matches(true, said)
    return {
        "links_precision": links_.precision, "links_recall": links_.recall, "links_f1": links_.f1,
        "variation_of_information": together.variation, "one_to_one": together.one_to_one,
        "exact_match_f1": exact.f1, "adjusted_rand_index": together.rand,
    }  # fmt: skip


def run(
    logs: Mapping[str, list[LinkedLog]], examples: Mapping[str, Examples], config: ThreadsConfig
) -> dict[str, Any]:
    """Train both stages on one part and measure them on the other."""
    start = perf_counter()
    train, dev = examples["train"], examples["dev"]
    every, rows = np.ones(len(train.chat), bool), np.arange(len(dev.chat))
    crossed = cross_fitted(train, config)
    first = predict(fit(train, every, config), dev.signals, rows)
    weights = fit(with_structure(train, crossed), every, config)
    second = predict(weights, with_structure(dev, first).signals, rows)
    return {
        "seconds": round(perf_counter() - start, 1),
        "cross_validated_links_f1": link_f1(logs["train"], train, crossed),
        "first_stage": measure(logs["dev"], dev, first),
        "both_stages": measure(logs["dev"], dev, second),
    }


def link_f1(logs: Sequence[LinkedLog], examples: Examples, likely: NDArray[np.float32]) -> float:
    """Only that."""
    return measure(logs, examples, likely)["links_f1"]


def main() -> None:
    """Run what is asked for, show the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("train", "dev", "record"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--selector", nargs="*", default=[])
    parser.add_argument("--variant", nargs="*", choices=list(LEFT_OUT), default=list(LEFT_OUT))
    options = parser.parse_args()
    selectors = dict(each.split("=", 1) for each in options.selector)
    config = ThreadsConfig(epochs=options.epochs, folds=options.folds)
    logs = {part: list(read_linked_logs(getattr(options, part))) for part in ("train", "dev")}
    model = towhom.load()
    examples = {part: collect(model, each) for part, each in logs.items()}
    record = {
        **circumstances(),
        "data": describe_data([options.train, options.dev]),
        "config": asdict(config),
        "variants": {},
    }
    for variant in (*options.variant, *(f"with {name}" for name in selectors)):
        seen = {part: without(each, variant) for part, each in examples.items()}
        name = variant.removeprefix("with ")
        if name in selectors:
            selector = towhom.load(selectors[name])
            for part, each in seen.items():
                more = addressed(selector, logs[part], each)
                pairs = np.concatenate([each.signals.pairs, more], axis=2)
                seen[part] = replace(each, signals=each.signals._replace(pairs=pairs))
        results = [run(logs, seen, replace(config, seed=seed)) for seed in range(options.seeds)]
        record["variants"][variant] = results
        print(variant, json.dumps(results[0]["both_stages"]), flush=True)
        write_record(options.record, record)


if __name__ == "__main__":
    main()
