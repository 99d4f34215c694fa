"""How useful the answers of a bank are, as somebody who reads them judges.

    python benchmarks/bank_read.py ask BANK DEV... --half 0 --examples 450 --best 80 --out EXAMPLES
    python benchmarks/bank_read.py ask BANK DEV... --half 1 --examples 100 --out EXAMPLES
    python benchmarks/bank_read.py judge EXAMPLES VERDICTS EXAMPLES VERDICTS --ranking JSON --json RECORD

`ask` draws questions that start a conversation in logs outside the bank, and writes the best answer to each,
if any, with its score. Whoever reads EXAMPLES writes VERDICTS: a line each with `useful`, `off` or `harmful`,
or `null` where the bank gave nothing. `judge` fits the curve of usefulness (`towhom.bank.ranking`) to the
first of two such readings, writes it to the ranking, and finds the threshold of silence there; on the second,
it counts what towhom says with this curve and its default threshold. The record has no texts.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from towhom import Message, load
from towhom.bank import Bank
from towhom.bank.filters import is_bot
from towhom.blas import one_thread
from towhom.chat import Kind
from towhom.documents import read_json
from towhom.files import atomic_file
from towhom.hearing.words import asks
from towhom.live import Model
from towhom.live.channel import Channel
from towhom.live.following import follow_together
from towhom.live.responding import LEAST, rank
from towhom.readers import Report, find_logs
from towhom.records import circumstances, describe_data, write_record
from towhom.threads.talks import gather
from towhom.training.bank_queries import describe

_NAMES = ("base", "slope", "says", "energy")
_INPUTS = ("score", "says", "energy")
"""Fields of `Ranking`, and the inputs of those but the first."""
_SHRINK, _PRIOR = 3.0, np.array([1.0, 0.0, 0.0])
"""Strength of the regularization, for inputs with a spread of 1, and where it draws to: a score is the
logarithm of odds among candidates."""
_WANTED = 0.5
"""The share of shown answers that must be useful, on the half that sets the threshold."""


def main() -> None:
    """Ask, or judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    ask = commands.add_parser("ask")
    ask.add_argument("bank", type=Path)
    ask.add_argument("logs", type=Path, nargs="+")
    ask.add_argument("--half", type=int, choices=(0, 1), default=1, help="every other question")
    ask.add_argument("--examples", type=int, default=100)
    ask.add_argument("--best", type=int, help="only so many, those with the likeliest answers")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--out", type=Path, required=True)
    judge = commands.add_parser("judge")
    for name in ("fit", "fit_verdicts", "report", "report_verdicts"):
        judge.add_argument(name, type=Path)
    judge.add_argument("--ranking", type=Path, required=True, help="the file to write the curve to")
    judge.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.command == "ask":
        _ask(options)
    else:
        _judge(options)


def _ask(options: argparse.Namespace) -> None:
    bank, model = Bank(options.bank), load()
    random = Random(options.seed)
    asked = []
    share = -(-options.examples // len(options.logs))
    for path in options.logs:
        found = list(_questions(model, path))[options.half :: 2]
        asked += [(path.name, said) for said in random.sample(found, min(share, len(found)))]
    random.shuffle(asked)
    examples = []
    with options.out.open("w", encoding="utf-8") as file, one_thread():
        head = {
            **circumstances(), "seed": options.seed, "data": describe_data(options.logs),
            "bank": describe(bank),
        }  # fmt: skip
        file.write(json.dumps(head) + "\n")
        for where, said in asked[: options.examples]:
            channel = Channel(model.mind, model.lexicon)
            follow_together([channel.follow(said, lambda line: None)])
            best = next(iter(rank(channel, model, " helper", bank, whole=True)), None)
            example: dict[str, Any] = {"where": where, "question": " / ".join(each.text for each in said)}
            if best is not None:
                source = bank[best.number]
                example |= {
                    "earlier": f"{source.opening or ''} / {source.question}", "answer": source.text,
                    "why": best.why, "likely": best.likely,
                }  # fmt: skip
            examples.append(example)
        if options.best:
            examples.sort(key=lambda each: -each["why"]["score"] if "why" in each else np.inf)
        for example in examples[: options.best]:
            file.write(json.dumps(example, ensure_ascii=False) + "\n")


def _questions(model: Model, path: Path) -> Iterator[list[Message]]:
    """The messages with which people began conversations, if they asked something."""
    for log in find_logs(path, report=Report()):
        for talk in gather(model.threads(log.messages(Report()))):
            first = talk.first
            if not first.placed.starts or first.message.kind is not Kind.MESSAGE or is_bot(first.message):
                continue
            said = []
            for each in talk.said[:4]:
                if each.who is not first.who:
                    break
                said.append(each.message)
            if any(asks(each.text) for each in said):
                yield said


def _judge(options: argparse.Namespace) -> None:
    fit_head, fit = _read(options.fit, options.fit_verdicts)
    head, report = _read(options.report, options.report_verdicts)
    ranking = read_json(options.ranking)
    useful = _fitted([each for each in fit if "why" in each])
    ranking["useful"] = {**useful, "read_of": fit_head["bank"]["responses"]}
    with atomic_file(options.ranking, "w") as file:
        file.write(json.dumps(ranking, indent=1) + "\n")
    for each in (*fit, *report):
        each["likely"] = round(_likely(useful, each["why"]), 4) if "why" in each else 0.0
    least = _threshold(fit)
    counts = {"fit_counts": _counted(fit, least), "report_counts": _counted(report, LEAST)}
    record = {
        **circumstances(), "seed": [fit_head["seed"], head["seed"]], "data": head["data"],
        "fit_asked": fit_head, "report_asked": head, "useful": ranking["useful"], "least": least,
        "default_least": LEAST, **counts, "fit": fit, "report": report,
    }  # fmt: skip
    print(json.dumps({"useful": useful, "least": least, **counts}, indent=1))
    if options.json:
        write_record(options.json, record)


def _read(examples: Path, verdicts: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How the examples were drawn, and the examples with their verdicts."""
    head, *found = (json.loads(line) for line in examples.read_text("utf-8").splitlines())
    return head, [
        {"verdict": verdict, **{name: each[name] for name in ("where", "why") if name in each}}
        for each, verdict in zip(found, verdicts.read_text("utf-8").split(), strict=True)
    ]


def _fitted(examples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The curve by logistic regression, with Newton's method, drawn towards `_PRIOR`."""
    x = np.array([[each["why"][name] for name in _INPUTS] for each in examples])
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    design = np.column_stack([np.ones(len(x)), (x - mean) / spread])
    y = np.array([each["verdict"] == "useful" for each in examples], float)
    shrink = np.diag([0.0, *[_SHRINK] * len(_INPUTS)])
    prior = np.array([0.0, *(_PRIOR * spread)])
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ weights))
        slope = design.T @ (y - p) - shrink @ (weights - prior)
        weights += np.linalg.solve((design.T * (p * (1 - p))) @ design + shrink, slope)
    own = weights[1:] / spread
    found = [weights[0] - own @ mean, *own]
    return dict(zip(_NAMES, np.round(found, 4).tolist(), strict=True))


def _likely(useful: dict[str, float], why: dict[str, float]) -> float:
    odds = sum(useful[name] * why.get(given, 1.0) for name, given in zip(_NAMES, ("", *_INPUTS), strict=True))
    return float(1 / (1 + np.exp(-odds)))


def _threshold(examples: Sequence[dict[str, Any]]) -> float:
    """The lowest threshold at which enough of the shown answers are useful."""
    for least in np.arange(0.05, 0.95, 0.05):
        shown = [each for each in examples if each["likely"] >= least]
        if shown and sum(each["verdict"] == "useful" for each in shown) >= _WANTED * len(shown):
            return round(float(least), 2)
    return 0.95


def _counted(examples: Sequence[dict[str, Any]], least: float) -> dict[str, dict[str, int]]:
    """Counts of verdicts without a threshold, and with it; answers that are not shown count as null."""
    shown = ["null" if each.get("likely", 0.0) < least else each["verdict"] for each in examples]
    return {
        "everything shown": dict(Counter(each["verdict"] for each in examples)),
        "with the threshold": dict(Counter(shown)),
    }


if __name__ == "__main__":
    main()
