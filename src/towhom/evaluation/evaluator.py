"""One pass over the samples of a split, for any system; what came out, sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Answers, Questions
from towhom.corpus import Corpus, Split
from towhom.errors import CorpusError
from towhom.evaluation.metrics import METRICS, Outcomes
from towhom.models.base import Selector
from towhom.selection import Rule, choose

_BATCH = 512
_STRETCH = 16 * _BATCH
"""Samples that are measured in one go where several processes share the work."""


def evaluate(
    selector: Selector,
    corpus: Corpus,
    split: Split | None,
    *,
    context: int,
    candidates: int,
    rule: Rule | None = None,
    words: NDArray[np.int32] | None = None,
    every: int = 1,
    stretch: slice = slice(None),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Outcomes:
    """What a system does with every sample of a split, by the protocol.

    Args:
        selector: The system; it is given questions, never answers.
        corpus: Where the samples are.
        split: Which of them; None for all.
        context: T, how many messages it sees.
        candidates: C, how many responses it chooses from.
        rule: How it chooses, if not in its own way.
        words: The system's id for every word of the corpus, if it has words of its own.
        every: Of so many samples one is taken.
        stretch: Which of those, by their order; one of `stretches`.
        progress: Called with the samples done and all of them.

    Raises:
        CorpusError: The corpus has no such candidates, or the split no samples.
    """
    samples = samples_to_measure(corpus, split, candidates)[::every][stretch]
    batcher = selector.batcher(corpus, context=context, candidates=candidates, words=words)
    parts = []
    for start in range(0, len(samples), _BATCH):
        chosen = samples[start : start + _BATCH]
        parts.append(_outcomes(selector, batcher.questions(chosen), batcher.answers(chosen), rule))
        progress(min(start + _BATCH, len(samples)), len(samples))
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    document = np.searchsorted(corpus.documents.samples, samples, side="right") - 1
    distance = corpus.samples.distance[samples].astype(np.int64)
    return Outcomes(**columns, document=document, distance=distance)


def stretches(samples: int) -> list[slice]:
    """So many samples, cut where batches are: what is found in each, together, is what is found in all."""
    return [slice(start, start + _STRETCH) for start in range(0, samples, _STRETCH)]


def together(parts: Sequence[Outcomes]) -> Outcomes:
    """The outcomes of stretches that follow each other, as one."""
    names = [field.name for field in fields(Outcomes)]
    return Outcomes(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def samples_to_measure(corpus: Corpus, split: Split | None, candidates: int) -> NDArray[np.int64]:
    """The samples of a split, or all, that have so many candidates.

    Raises:
        CorpusError: The corpus has no such candidates, or the split no samples.
    """
    samples = corpus.samples_of(split)
    if not len(samples):
        raise CorpusError(f"{corpus.name}: there are no samples in {split.value if split else 'it'}")
    corpus.require_candidates(candidates)
    return samples


def _outcomes(
    selector: Selector, questions: Questions, answers: Answers, rule: Rule | None
) -> dict[str, NDArray[Any]]:
    scores = selector.score_many(questions)
    rule = rule or selector.rule
    speakers = questions.participants.astype(np.int64)
    # A response is as good as the best pair it is in; with nobody to address, as good as by itself.
    by_response = np.where(
        np.isnan(scores.addressee).all(axis=1, keepdims=True) | (rule is Rule.SEPARATE),
        scores.response,
        scores.pairs(rule).max(axis=1),
    )
    true = np.take_along_axis(by_response, answers.response[:, None].astype(np.int64), axis=1)
    # Ties go against the system: a constant score must not look like knowledge.
    rank = (by_response >= true).sum(axis=1)
    if not selector.decides:
        addressee = 1.0 / questions.speakers_so_far
        response = np.full(len(questions), 1.0 / scores.response.shape[1])
        both = addressee * response
    else:
        choice = choose(scores, rule)
        addressee = ((choice.addressee == answers.addressee) & (answers.addressee > 0)).astype(np.float64)
        response = (choice.response == answers.response).astype(np.float64)
        both = addressee * response
    return {"addressee": addressee, "response": response, "both": both, "rank": rank, "speakers": speakers}


def summary(outcomes: Outcomes) -> dict[str, Any]:
    """All metrics, and how many samples they are of."""
    return {"samples": len(outcomes.both), **{metric.name: round(metric(outcomes), 4) for metric in METRICS}}
