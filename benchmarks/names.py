"""Measures the share of words lost by hiding speakers' names: by our rule, and if every name were hidden.

python benchmarks/names.py CORPUS... --json results/names.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from towhom.corpus import Corpus
from towhom.hearing.spelling import name_parts
from towhom.records import circumstances, write_record
from towhom.text.vocabulary import NAME


def measure(corpus: Corpus) -> dict[str, float]:
    """Shares of hidden words among the words of the training documents."""
    words = list(corpus.vocabulary.words)
    counts = dict(zip(words, corpus.vocabulary.counts.tolist(), strict=True))
    names = set().union(*(name_parts(name) for name in corpus.speaker_names))
    kept = names & set(words)
    total = sum(counts.values())
    return {
        "names": len(names),
        "names_that_stay_words": len(kept),
        "share_hidden": round(counts[NAME] / total, 4),
        "share_if_all_were_hidden": round((counts[NAME] + sum(counts[name] for name in kept)) / total, 4),
    }


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description="What hiding names costs.")
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {}
    for folder in options.corpora:
        corpus = Corpus(folder)
        results[folder.name] = {"hash": corpus.manifest["hash"], **measure(corpus)}
        print(folder.name, results[folder.name])
    if options.json:
        write_record(options.json, {**circumstances(), "corpora": results})


if __name__ == "__main__":
    main()
