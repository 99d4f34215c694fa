"""Evaluates any system in one pass over the samples of a split; the outcome is kept for each sample."""

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
"""Number of samples in one part of the work, where several processes share it."""


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
    """Evaluate a system on the samples of a split, by the protocol.

    Args:
        selector: The system; it is given questions, never answers.
        corpus: The corpus with the samples.
        split: The split; None for all samples.
        context: T, the number of context messages that the system sees.
        candidates: C, the number of responses that it chooses from.
        rule: How it chooses, if not by its own rule.
        words: The system's id for every word of the corpus, if it has its own vocabulary.
        every: Use only every n-th sample.
        stretch: The part of these samples to evaluate; one of `stretches`.
        progress: Called with the number of samples done and the total.

    Raises:
        CorpusError: The corpus lacks this number of candidates, or the split has no samples.
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
    """Cut a number of samples at borders of batches, so that all parts together give the same outcomes."""
    return [slice(start, start + _STRETCH) for start in range(0, samples, _STRETCH)]


def together(parts: Sequence[Outcomes]) -> Outcomes:
    """Concatenate the outcomes of consecutive stretches."""
    names = [field.name for field in fields(Outcomes)]
    return Outcomes(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def samples_to_measure(corpus: Corpus, split: Split | None, candidates: int) -> NDArray[np.int64]:
    """The samples of a split, or all; checks that the corpus has this number of candidates.

    Raises:
        CorpusError: The corpus lacks this number of candidates, or the split has no samples.
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
    # A response scores as its best pair; if there is nobody to address, by its own score.
    by_response = np.where(
        np.isnan(scores.addressee).all(axis=1, keepdims=True) | (rule is Rule.SEPARATE),
        scores.response,
        scores.pairs(rule).max(axis=1),
    )
    true = np.take_along_axis(by_response, answers.response[:, None].astype(np.int64), axis=1)
    # Ties count against the system, so that constant scores do not look good.
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
    """All metrics, and the number of samples."""
    return {"samples": len(outcomes.both), **{metric.name: round(metric(outcomes), 4) for metric in METRICS}}
