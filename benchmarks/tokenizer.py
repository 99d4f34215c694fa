r"""Measures the speed of the tokenizer, and how often its tokens are exactly those of NLTK.

Run it from the project's root::

    python benchmarks/tokenizer.py ../shared/data/ubuntu-irc/train ../shared/data/web-irc --limit 300000 \
        --json results/tokenizer.json

The three tokenizers take turns, a few thousand messages each, so that other work on the machine slows all of
them alike. Ours starts with an empty cache. Each gets the messages as they were written, and its time
includes lower-casing.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path

import nltk
from nltk.tokenize import NLTKWordTokenizer, TreebankWordTokenizer

import towhom
from towhom.records import circumstances, describe_data, write_record
from towhom.text.tokenizer import tokenize

_BATCH = 5000
_QUOTES = {"``": '"', "''": '"'}


def main() -> None:
    """Read the logs, run the three tokenizers on them, and show and write the results."""
    parser = argparse.ArgumentParser(description="Speed of the tokenizer, and agreement with NLTK's.")
    parser.add_argument("logs", nargs="+", metavar="LOG", help="a log, or a folder of logs")
    parser.add_argument("--limit", type=int, help="at most so many messages from each LOG")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the record here")
    options = parser.parse_args()

    data = []
    texts: list[str] = []
    for log in options.logs:
        said = (message.text for conversation in towhom.read(log) for message in conversation)
        before = len(texts)
        texts.extend(islice(said, options.limit))
        data.append({**describe_data([log])[0], "messages": len(texts) - before})

    seconds, different = _measure(texts)
    rates = {name: round(len(texts) / spent) for name, spent in seconds.items()}
    treebank = rates["nltk TreebankWordTokenizer"]
    agreement = 1 - len(different) / len(texts)

    print(f"{len(texts):,} messages; exactly NLTK's Treebank tokens (quotes apart): {agreement:.4%}")
    for text in different[:10]:
        print(f"  not the same: {text!r}")
    print(f"{'':28}{'messages/s':>12}{'times as fast':>15}")
    for name, rate in rates.items():
        print(f"{name:28}{rate:>12,}{rate / treebank:>15.1f}")

    if options.json:
        record = {
            **circumstances(),
            "nltk": nltk.__version__,
            "data": data,
            "messages": len(texts),
            "different": len(different),
            "agreement": agreement,
            "messages_per_second": rates,
            "ratio": round(rates["towhom tokenize"] / treebank, 1),
        }
        write_record(options.json, record)


def _measure(texts: list[str]) -> tuple[dict[str, float], list[str]]:
    """Seconds spent by each tokenizer, and the messages that ours splits differently."""
    treebank, words = TreebankWordTokenizer(), NLTKWordTokenizer()
    spent = [0.0, 0.0, 0.0]
    different = []
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        times = [time.perf_counter()]
        ours = [tokenize(text) for text in batch]
        times.append(time.perf_counter())
        theirs = [treebank.tokenize(text.lower()) for text in batch]
        times.append(time.perf_counter())
        for text in batch:
            words.tokenize(text.lower())
        times.append(time.perf_counter())
        spent = [total + times[i + 1] - times[i] for i, total in enumerate(spent)]
        for text, mine, other in zip(batch, ours, theirs, strict=True):
            if mine != [_QUOTES.get(token, token) for token in other]:
                different.append(text)
    names = ("towhom tokenize", "nltk TreebankWordTokenizer", "nltk NLTKWordTokenizer")
    return dict(zip(names, spent, strict=True)), different


if __name__ == "__main__":
    main()
