"""The systems of the registry, small ones, with weights large enough to matter."""

from __future__ import annotations

from typing import Any, cast

import torch

from towhom.batching import Batcher
from towhom.corpus import Corpus
from towhom.models.base import Selector
from towhom.models.neural import NeuralSelector
from towhom.models.registry import SYSTEMS, baseline, entry, system_class, system_config
from towhom.text.vocabulary import ModelVocabulary

NEURAL = tuple(name for name, found in SYSTEMS.items() if found.neural)
HIDDEN = 7


def neural(
    name: str,
    vocabulary: ModelVocabulary,
    *,
    hidden: int = HIDDEN,
    seed: int = 0,
    plain: bool = False,
    **settings: Any,
) -> NeuralSelector:
    """A neural system with random weights."""
    sizes = {"dimensions": vocabulary.matrix.shape[1], "hidden": hidden, "init": 0.5, **settings}
    model = system_class(name)(system_config(name, sizes), vocabulary.matrix, plain=plain)
    model.init_weights(torch.Generator().manual_seed(seed))
    model.rule = entry(name).rule or model.rule
    return cast(NeuralSelector, model)


def selector(name: str, corpus: Corpus, vocabulary: ModelVocabulary) -> Selector:
    """Any system, for a corpus."""
    if entry(name).neural:
        return neural(name, vocabulary)
    return baseline(name, corpus)


def batcher(
    name: str,
    corpus: Corpus,
    vocabulary: ModelVocabulary,
    *,
    context: int,
    candidates: int = 2,
    distinct: bool = True,
) -> Batcher:
    """Questions as a system wants them: its own words if it is neural, all words if it counts them."""
    cls = system_class(name)
    words = vocabulary.ids(list(corpus.vocabulary.words)) if entry(name).neural else None
    return Batcher(
        corpus,
        context=context,
        candidates=candidates,
        max_words=cls.max_words,
        words=words,
        distinct=distinct,
    )
