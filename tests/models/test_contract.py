"""What every system of the registry has to do, baselines included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.models.systems import (
    NEURAL,
    batcher,
    neural,
    selector,
)
from towhom.batching import Questions
from towhom.corpus import Corpus
from towhom.corpus.vocabulary import NAME_ID
from towhom.models.base import Selector
from towhom.models.registry import SYSTEMS
from towhom.persistence import load_model, save_model
from towhom.testing.chats import DIMENSIONS, WORDS
from towhom.testing.systems import SystemContract, assert_same_scores
from towhom.text.vocabulary import ModelVocabulary

EVERY = tuple(SYSTEMS)


@pytest.fixture
def questions(system: str, corpus: Corpus, vocabulary: ModelVocabulary) -> Questions:
    """All samples there are."""
    every = np.arange(len(corpus.samples.message))
    return batcher(system, corpus, vocabulary, context=5, candidates=3).questions(every)


class TestEverySystem(SystemContract):
    """Those with weights, too, small ones."""

    vocabulary: ModelVocabulary

    @pytest.fixture(autouse=True, params=EVERY)
    def _system(self, request: pytest.FixtureRequest, vocabulary: ModelVocabulary) -> None:
        self.system, self.vocabulary = request.param, vocabulary

    def selector(self, corpus: Corpus) -> Selector:
        return selector(self.system, corpus, self.vocabulary)

    def words(self, corpus: Corpus) -> NDArray[np.int32] | None:
        return self.vocabulary.ids(list(corpus.vocabulary.words)) if self.system in NEURAL else None


@pytest.mark.parametrize("system", NEURAL)
class TestNeuralSystems:
    def test_saved_and_loaded(
        self, system: str, vocabulary: ModelVocabulary, questions: Questions, tmp_path: Path
    ) -> None:
        model = neural(system, vocabulary)
        save_model(tmp_path / "model", model, vocabulary, system=system, context=5, training={})
        loaded = load_model(tmp_path / "model")
        assert loaded.model.rule is model.rule
        assert loaded.model.config == model.config
        assert loaded.vocabulary.words == vocabulary.words
        assert_same_scores(loaded.model.score_many(questions), model.score_many(questions))

    def test_fast_is_plain(self, system: str, corpus: Corpus, vocabulary: ModelVocabulary) -> None:
        """The same loss and the same gradients, computed as one would at first."""
        fast = batcher(system, corpus, vocabulary, context=10, candidates=3)
        answers = fast.answers(np.arange(len(corpus.samples.message)))
        usable = np.flatnonzero(answers.addressee > 0)
        slow = batcher(system, corpus, vocabulary, context=10, candidates=3, distinct=False)
        models = neural(system, vocabulary), neural(system, vocabulary, plain=True)
        losses = []
        for model, ask in zip(models, (fast, slow), strict=True):
            inputs = model.inputs(ask.questions(usable))
            addressee = torch.from_numpy(answers.addressee[usable].astype(np.int64))
            response = torch.from_numpy(answers.response[usable].astype(np.int64))
            loss = model.loss(model(inputs), inputs, addressee, response, false="hardest")
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(loss.item())
        assert losses[0] == pytest.approx(losses[1], abs=1e-5)
        for (name, ours), theirs in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
            assert ours.grad is not None
            assert theirs.grad is not None
            assert theirs.grad.any(), name
            assert_allclose(ours.grad, theirs.grad, rtol=1e-3, atol=2e-5, err_msg=name)

    def test_vectors_of_another_size(self, system: str, vocabulary: ModelVocabulary) -> None:
        with pytest.raises(ValueError, match=f"vectors have {DIMENSIONS} dimensions, the model wants 9"):
            neural(system, vocabulary, dimensions=9)

    def test_the_seed_decides(self, system: str, vocabulary: ModelVocabulary) -> None:
        one, same, other = (neural(system, vocabulary, seed=seed) for seed in (3, 3, 4))
        pairs = zip(one.parameters(), same.parameters(), strict=True)
        assert all(torch.equal(ours, theirs) for ours, theirs in pairs)
        for (name, ours), theirs in zip(one.named_parameters(), other.parameters(), strict=True):
            assert not torch.equal(ours, theirs), name


@pytest.mark.parametrize("system", NEURAL)
def test_weights_are_drawn_as_in_the_paper(system: str, vocabulary: ModelVocabulary) -> None:
    model = neural(system, vocabulary, hidden=20, init=0.01)
    values = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    assert 0.0099 < values.max() <= 0.01
    assert -0.01 <= values.min() < -0.0099
    assert abs(float(values.mean())) < 3e-4
    assert not any(name.endswith("bias") for name, _ in model.named_parameters())
    assert "vectors" not in model.state_dict()


def test_the_words_of_the_tests_are_known_and_unknown(vocabulary: ModelVocabulary) -> None:
    assert 0 < len(vocabulary.words) < len(WORDS)


def test_the_people_of_the_tests_are_named(corpus: Corpus) -> None:
    """Their names are hidden in what is said, and in what could be."""
    words = corpus.utterances.tokens == NAME_ID
    said = int(corpus.utterances.offsets[corpus.documents.messages[-1]])
    assert words[:said].any()
    assert words[said:].any()
