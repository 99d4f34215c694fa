"""The systems of the registry, small ones, with weights large enough to matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from towhom.batching import Batcher, Questions
from towhom.corpus import Corpus
from towhom.models.base import Selector
from towhom.models.neural import NeuralSelector
from towhom.models.recurrent import RecurrentSelector
from towhom.models.registry import SYSTEMS, baseline, entry, system_class, system_config
from towhom.persistence import SavedModel
from towhom.text.vocabulary import ModelVocabulary

NEURAL = tuple(name for name, found in SYSTEMS.items() if found.neural)
HIDDEN = 7


def neural(
    name: str,
    vocabulary: ModelVocabulary,
    *,
    hidden: int = HIDDEN,
    init: float = 0.5,
    seed: int = 0,
    plain: bool = False,
    **settings: Any,
) -> RecurrentSelector:
    """A neural system with random weights, which are the larger the larger `init` is."""
    sizes = {"dimensions": vocabulary.matrix.shape[1], "hidden": hidden, "init": init, **settings}
    model = system_class(name)(system_config(name, sizes), vocabulary.matrix, plain=plain)
    model.init_weights(torch.Generator().manual_seed(seed))
    model.rule = entry(name).rule or model.rule
    return cast(RecurrentSelector, model.eval())


def weights_of(model: NeuralSelector) -> dict[str, NDArray[np.float32]]:
    """The weights as a saved model has them."""
    return {name: value.detach().numpy() for name, value in model.state_dict().items()}


def in_numpy(name: str, vocabulary: ModelVocabulary, model: NeuralSelector | None = None) -> Selector:
    """A neural system, run without torch."""
    found = neural(name, vocabulary) if model is None else model
    weights = weights_of(found)
    saved = SavedModel(name, found.config, weights, vocabulary, 5, found.rule, found.max_words)
    return saved.runtime


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


def reordered(questions: Questions, order: NDArray[np.int64]) -> Questions:
    """The same questions with their candidates in another order."""
    return replace(questions, candidates=questions.candidates[:, order])


def assert_same_questions(ours: Questions, theirs: Questions) -> None:
    """Nothing is different, to the letter."""
    for name, values in vars(ours).items():
        assert_array_equal(values, getattr(theirs, name), err_msg=name)
