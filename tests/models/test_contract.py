"""What every system of the registry has to do, baselines included."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from tests.models.chats import DIMENSIONS, PEOPLE, WORDS, Said, write_corpus
from tests.models.systems import (
    NEURAL,
    assert_same_questions,
    batcher,
    neural,
    reordered,
    selector,
)
from towhom.batching import NOBODY, Questions
from towhom.corpus import Corpus
from towhom.corpus.vocabulary import NAME_ID
from towhom.models.registry import SYSTEMS
from towhom.persistence import load_model, save_model
from towhom.selection import Scores, choose
from towhom.text.vocabulary import ModelVocabulary

EVERY = tuple(SYSTEMS)
PARTS = tuple(field.name for field in fields(Scores))

Renamed = Callable[[str], str]


def part(scores: Scores, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    found: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = getattr(scores, name)
    return found


def assert_same(ours: Scores, theirs: Scores, tolerance: float = 0) -> None:
    for name in PARTS:
        one, other = part(ours, name), part(theirs, name)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert_allclose(one, other, rtol=0, atol=tolerance, err_msg=name)


@pytest.fixture
def questions(system: str, corpus: Corpus, vocabulary: ModelVocabulary) -> Questions:
    """All samples there are."""
    every = np.arange(len(corpus.samples.message))
    return batcher(system, corpus, vocabulary, context=5, candidates=3).questions(every)


@pytest.mark.parametrize("system", EVERY)
class TestEverySystem:
    def test_scores_have_their_shapes(
        self, system: str, corpus: Corpus, vocabulary: ModelVocabulary, questions: Questions
    ) -> None:
        scores = selector(system, corpus, vocabulary).score_many(questions)
        samples, people = questions.present.shape
        assert scores.addressee.shape == (samples, people)
        assert scores.response.shape == (samples, 3)
        allowed = questions.present.copy()
        allowed[:, 0] = False
        assert_array_equal(~np.isnan(scores.addressee), allowed)
        for name in PARTS:
            values = part(scores, name)
            if values is not None:
                known = values[~np.isnan(values)]
                assert ((known >= 0) & (known <= 1 + 1e-12)).all()
        assert (scores.addressee_given is None) == (scores.response_given is None)
        if scores.joint is not None:
            assert scores.joint.shape == (samples, people, 3)
        if scores.addressee_given is not None and scores.response_given is not None:
            assert scores.addressee_given.shape == (samples, 3, people)
            assert scores.response_given.shape == (samples, people, 3)

    def test_an_empty_context_and_a_room_of_one(
        self, system: str, corpus: Corpus, vocabulary: ModelVocabulary, questions: Questions
    ) -> None:
        found = selector(system, corpus, vocabulary)
        choice = choose(found.score_many(questions), found.rule)
        alone = questions.participants == 1
        empty = (questions.context == NOBODY).all(axis=1)
        assert empty.any()
        assert (alone & ~empty).any()
        assert (choice.addressee[alone] == NOBODY).all()
        assert (choice.addressee[~alone] > 0).all()
        assert ((choice.response >= 0) & (choice.response < 3)).all()

    def test_a_batch_of_empty_contexts(
        self, system: str, tmp_path: Path, vocabulary: ModelVocabulary
    ) -> None:
        first = Said("ann", "ben", "amber", ("birch", ""))
        corpus = write_corpus(tmp_path, [[first], [first]], candidates=3)
        questions = batcher(system, corpus, vocabulary, context=5, candidates=3).questions(np.arange(2))
        scores = selector(system, corpus, vocabulary).score_many(questions)
        assert scores.addressee.shape == (2, 1)
        assert_array_equal(choose(scores).addressee, [NOBODY, NOBODY])
        assert np.isfinite(scores.response).all()

    def test_words_that_nobody_knows(self, system: str, tmp_path: Path, vocabulary: ModelVocabulary) -> None:
        chat = [Said("ann", None, "qwx zzyx"), Said("ben", "ann", "vvrr", ("", "qwx"), 1)]
        corpus = write_corpus(tmp_path, [chat], candidates=3)
        questions = batcher(system, corpus, vocabulary, context=5, candidates=3).questions(np.arange(1))
        scores = selector(system, corpus, vocabulary).score_many(questions)
        assert np.isfinite(scores.response).all()
        assert_array_equal(choose(scores).addressee, [1])

    def test_questions_are_not_changed(
        self, system: str, corpus: Corpus, vocabulary: ModelVocabulary, questions: Questions
    ) -> None:
        before = copy.deepcopy(questions)
        found = selector(system, corpus, vocabulary)
        scores = found.score_many(questions)
        assert_same_questions(questions, before)
        assert_same(found.score_many(questions), scores)

    def test_a_batch_is_its_samples_one_by_one(
        self, system: str, corpus: Corpus, vocabulary: ModelVocabulary, questions: Questions
    ) -> None:
        found = selector(system, corpus, vocabulary)
        ask = batcher(system, corpus, vocabulary, context=5, candidates=3)
        together = found.score_many(questions)
        for row in range(0, len(questions), 3):
            alone = found.score_many(ask.questions(np.array([row])))
            people = questions.participants[row]
            assert_allclose(together.addressee[row, :people], alone.addressee[0], rtol=0, atol=1e-6)
            assert_allclose(together.response[row], alone.response[0], rtol=0, atol=1e-6)
            if together.addressee_given is not None and alone.addressee_given is not None:
                given = together.addressee_given[row, :, :people]
                assert_allclose(given, alone.addressee_given[0], rtol=0, atol=1e-6)
            if together.response_given is not None and alone.response_given is not None:
                given = together.response_given[row, :people]
                assert_allclose(given, alone.response_given[0], rtol=0, atol=1e-6)
            if together.joint is not None and alone.joint is not None:
                assert_allclose(together.joint[row, :people], alone.joint[0], rtol=0, atol=1e-6)

    def test_candidates_in_another_order(
        self, system: str, corpus: Corpus, vocabulary: ModelVocabulary, questions: Questions
    ) -> None:
        found = selector(system, corpus, vocabulary)
        order = np.array([2, 0, 1])
        scores = found.score_many(questions)
        other = found.score_many(reordered(questions, order))
        assert_allclose(other.addressee, scores.addressee, rtol=0, atol=1e-6)
        assert_allclose(other.response, scores.response[:, order], rtol=0, atol=1e-6)
        if scores.addressee_given is not None and other.addressee_given is not None:
            assert_allclose(other.addressee_given, scores.addressee_given[:, order], rtol=0, atol=1e-6)
        if scores.response_given is not None and other.response_given is not None:
            assert_allclose(other.response_given, scores.response_given[:, :, order], rtol=0, atol=1e-6)
        if scores.joint is not None and other.joint is not None:
            assert_allclose(other.joint, scores.joint[:, :, order], rtol=0, atol=1e-6)

    @pytest.mark.parametrize("rename", [str.upper, lambda name: f"guest{21 - int(name[5:])}"])
    def test_what_people_are_called_does_not_matter(
        self,
        system: str,
        rename: Renamed,
        corpus: Corpus,
        documents: list[list[Said]],
        vocabulary: ModelVocabulary,
        questions: Questions,
        tmp_path: Path,
    ) -> None:
        def new(words: str) -> str:
            return " ".join(rename(word) if word in PEOPLE else word for word in words.split())

        renamed = [
            [
                said._replace(
                    sender=new(said.sender),
                    addressee=None if said.addressee is None else new(said.addressee),
                    text=new(said.text),
                    false=tuple(map(new, said.false)),
                )
                for said in document
            ]
            for document in documents
        ]
        other = write_corpus(tmp_path, renamed, candidates=3)
        every = np.arange(len(other.samples.message))
        theirs = batcher(system, other, vocabulary, context=5, candidates=3).questions(every)
        assert_array_equal(theirs.sender, questions.sender)
        scores = selector(system, corpus, vocabulary).score_many(questions)
        assert_same(selector(system, other, vocabulary).score_many(theirs), scores, 1e-6)


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
        assert_same(loaded.model.score_many(questions), model.score_many(questions))

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
