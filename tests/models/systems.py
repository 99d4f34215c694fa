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
RECURRENT = tuple(name for name in NEURAL if issubclass(system_class(name), RecurrentSelector))
"""Those of the paper: their weights are drawn as there, their loss is its own, they have a plain way."""
HIDDEN = 7
SIZES: dict[str, dict[str, int]] = {
    "crosstalk": {"towers": 2, "content": 3, "evidence": 6, "strongest": 2, "prior": 4}
}
"""Of systems that have more sizes than those of the paper."""


def neural(
    name: str,
    vocabulary: ModelVocabulary,
    *,
    hidden: int = HIDDEN,
    init: float = 0.5,
    seed: int = 0,
    plain: bool = False,
    **settings: Any,
) -> NeuralSelector:
    """A neural system with random weights, which are the larger the larger `init` is."""
    generator = torch.Generator().manual_seed(seed)
    sizes = {"dimensions": vocabulary.matrix.shape[1], "hidden": hidden, **SIZES.get(name, {}), **settings}
    if name in RECURRENT:
        sizes["init"] = init
    model = system_class(name)(system_config(name, sizes), vocabulary.matrix, plain=plain)
    model.init_weights(generator)
    if name not in RECURRENT:
        _stir(model, init, generator)
    model.rule = entry(name).rule or model.rule
    return cast(NeuralSelector, model.eval())


def recurrent(name: str, vocabulary: ModelVocabulary, **options: Any) -> RecurrentSelector:
    """One of the paper's."""
    model = neural(name, vocabulary, **options)
    assert isinstance(model, RecurrentSelector)
    return model


def _stir(model: NeuralSelector, by: float, generator: torch.Generator) -> None:
    """Where training starts from nothing, or from small numbers, the tests want to see a difference."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name != "vectors":
                weight.add_((torch.rand(weight.shape, generator=generator) - 0.5) * 2 * by)
        for counted in model.buffers():
            counted.copy_(torch.rand(counted.shape, generator=generator))


def weights_of(model: NeuralSelector) -> dict[str, NDArray[np.float32]]:
    """The weights as a saved model has them: word vectors, if they are trained, are with the words."""
    weights = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    weights.pop("vectors", None)
    return weights


def in_numpy(name: str, vocabulary: ModelVocabulary, model: NeuralSelector | None = None) -> Selector:
    """A neural system, run without torch."""
    found = neural(name, vocabulary) if model is None else model
    weights = weights_of(found)
    # How much context a session would give it is nothing to the runtime.
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
        letters=cls.letters,
    )


def reordered(questions: Questions, order: NDArray[np.int64]) -> Questions:
    """The same questions with their candidates in another order."""
    letters, context = questions.letters, questions.context.shape[1]
    if letters is not None:
        said, drafts = np.split(letters.mentions, [context], axis=1)
        letters = replace(letters, mentions=np.concatenate([said, drafts[:, order]], axis=1))
    return replace(questions, candidates=questions.candidates[:, order], letters=letters)


def assert_same_questions(ours: Questions, theirs: Questions) -> None:
    """Nothing is different, to the letter."""
    assert (ours.letters is None) == (theirs.letters is None)
    for one, other in ((ours, theirs), (ours.letters, theirs.letters)):
        for name, values in vars(one).items() if one is not None else ():
            if name != "letters":
                assert_array_equal(values, getattr(other, name), err_msg=name)
