"""Statistics of a corpus as in the paper's Table 2, for each split and in total."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from towhom.corpus.splits import SPLITS
from towhom.corpus.store import Corpus

TOTAL = "total"
CONTEXTS = (5, 10, 15)
"""The context lengths of the paper."""

PUBLISHED: dict[str, dict[str, float]] = {
    TOTAL: {
        "documents": 7355,
        "messages": 2.4e6,
        "speakers_per_document": 26.8,
        "messages_per_document": 326.3,
        "words_per_message": 11.1,
    },
    "train": {
        "documents": 6606,
        "messages": 2.1e6,
        "samples": 665.6e3,
        "addressed_share": 0.32,
        "speakers_per_document": 26.3,
        "messages_per_document": 317.9,
        "words_per_message": 11.1,
    },
    "dev": {
        "documents": 367,
        "messages": 132.4e3,
        "samples": 45.1e3,
        "addressed_share": 0.34,
        "speakers_per_document": 30.7,
        "messages_per_document": 360.8,
        "words_per_message": 11.2,
    },
    "test": {
        "documents": 382,
        "messages": 151.3e3,
        "samples": 51.9e3,
        "addressed_share": 0.34,
        "speakers_per_document": 32.1,
        "messages_per_document": 396.1,
        "words_per_message": 11.3,
    },
}
"""The paper's Table 2, for the Ubuntu Multiparty Conversation Corpus."""


def split_statistics(corpus: Corpus) -> dict[str, dict[str, Any]]:
    """Counts and means for each split that has documents, and for all of them.

    `training_samples` are the samples that training with a context of 5, 10 or 15 messages would use.
    """
    documents = corpus.documents
    messages = np.diff(documents.messages)
    speakers = np.diff(documents.speakers)
    samples = np.diff(documents.samples)
    addressed = np.array(
        [
            np.count_nonzero(corpus.messages.addressee[start:stop] >= 0)
            for start, stop in pairwise(documents.messages.tolist())
        ],
        np.int64,
    )
    words = np.diff(corpus.utterances.offsets[documents.messages])
    result = {}
    for split in (*SPLITS, None):
        chosen = corpus.documents_of(split)
        count, total = len(chosen), int(messages[chosen].sum())
        if not count:
            continue
        result[TOTAL if split is None else split.value] = {
            "documents": count,
            "messages": total,
            "addressed": int(addressed[chosen].sum()),
            "samples": int(samples[chosen].sum()),
            "training_samples": {
                str(context): len(corpus.samples_of(split, context=context)) for context in CONTEXTS
            },
            "addressed_share": round(float(addressed[chosen].sum() / total), 4),
            "speakers_per_document": round(float(speakers[chosen].mean()), 2),
            "messages_per_document": round(total / count, 2),
            "words_per_message": round(float(words[chosen].sum() / total), 2),
        }
    return result


_ROWS = {
    "documents": "documents",
    "messages": "messages",
    "addressed": "addressed messages",
    "samples": "samples",
    "addressed_share": "share addressed",
    "speakers_per_document": "speakers / document",
    "messages_per_document": "messages / document",
    "words_per_message": "words / message",
}


def statistics_table(statistics: dict[str, Any], *, paper: bool) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of statistics; with `paper`, the published column after each of ours."""
    header = [""]
    for split in statistics:
        header += [split, "paper"] if paper else [split]
    rows = []
    for key, title in _ROWS.items():
        cells = [title]
        for split, values in statistics.items():
            cells.append(_shown(key, values[key]))
            if paper:
                published = PUBLISHED[split].get(key)
                cells.append("–" if published is None else _shown(key, published))
        rows.append(cells)
    for context in statistics[TOTAL]["training_samples"]:
        cells = [f"for training, T = {context}"]
        for values in statistics.values():
            cells += [f"{values['training_samples'][context]:,}"] + (["–"] if paper else [])
        rows.append(cells)
    return header, rows


def _shown(key: str, value: float) -> str:
    decimals = 2 if key.endswith("_share") else 1 if "_per_" in key else 0
    return f"{value:,.{decimals}f}"
