"""Crosstalk: how it behaves. What it must not see is in `test_leaks`, with all other systems."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.models.chats import Said, write_corpus
from tests.models.rooms import rooms, write_rooms
from tests.models.systems import (
    batcher,
    in_numpy,
    neural,
    reordered,
)
from towhom.batching import NOBODY, Answers, Questions
from towhom.corpus import Corpus, Split
from towhom.models.crosstalk import Crosstalk
from towhom.models.evidence import ADDRESSEE_FEATURES
from towhom.selection import Rule, Scores, choose
from towhom.text.vocabulary import ModelVocabulary

CONTEXT = 5
CANDIDATES = 3


def crosstalk(vocabulary: ModelVocabulary, **settings: Any) -> Crosstalk:
    """With random weights."""
    model = neural("crosstalk", vocabulary, **settings)
    assert isinstance(model, Crosstalk)
    return model


@pytest.fixture(scope="module")
def rooms_corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_rooms(tmp_path_factory.mktemp("rooms"), rooms(candidates=CANDIDATES), candidates=CANDIDATES)


@pytest.fixture(scope="module")
def questions(rooms_corpus: Corpus, vocabulary: ModelVocabulary) -> Questions:
    ask = batcher("crosstalk", rooms_corpus, vocabulary, context=CONTEXT, candidates=CANDIDATES)
    return ask.questions(rooms_corpus.samples_of(Split.TEST))


@pytest.fixture(scope="module")
def answers(rooms_corpus: Corpus, vocabulary: ModelVocabulary) -> Answers:
    ask = batcher("crosstalk", rooms_corpus, vocabulary, context=CONTEXT, candidates=CANDIDATES)
    return ask.answers(rooms_corpus.samples_of(Split.TEST))


def pair_scores(model: Crosstalk, questions: Questions) -> NDArray[np.float64]:
    with torch.no_grad():
        return np.asarray(model(model.inputs(questions)).numpy(), np.float64)


class TestScores:
    def test_only_others_can_be_addressed(self, vocabulary: ModelVocabulary, questions: Questions) -> None:
        found = pair_scores(crosstalk(vocabulary), questions)
        assert found.shape == (*questions.present.shape, CANDIDATES)
        for row, participants in enumerate(questions.participants.tolist()):
            allowed = [0] if participants == 1 else list(range(1, participants))
            finite = np.isfinite(found[row])
            assert np.flatnonzero(finite.all(axis=1)).tolist() == allowed
            assert np.isneginf(found[row][~finite]).all()
            assert finite.sum() == len(allowed) * CANDIDATES

    def test_all_of_it_matters(self, vocabulary: ModelVocabulary, questions: Questions) -> None:
        """The scores of pairs are not those of addressees and responses, put together."""
        found = pair_scores(crosstalk(vocabulary), questions)[questions.participants > 2][:, 1:3]
        together = found[:, 0, 0] + found[:, 1, 1] - found[:, 0, 1] - found[:, 1, 0]
        assert (np.abs(together) > 1e-3).mean() > 0.9

    @pytest.mark.parametrize("numpy", [False, True])
    def test_nobody_to_address(self, vocabulary: ModelVocabulary, questions: Questions, numpy: bool) -> None:
        """A response is chosen all the same, by all that was said."""
        model = crosstalk(vocabulary)
        system = in_numpy("crosstalk", vocabulary, model) if numpy else model
        scores = system.score_many(questions)
        chosen = choose(scores, system.rule)
        alone = np.flatnonzero(questions.participants == 1)
        assert {0, CONTEXT} <= set((questions.context[alone] != NOBODY).sum(axis=1).tolist())
        assert_array_equal(chosen.addressee[alone], NOBODY)
        assert_allclose(scores.response[alone].sum(axis=1), 1)
        expected = pair_scores(model, questions)[alone, 0].argmax(axis=1)
        assert_array_equal(chosen.response[alone], expected)
        assert len(set(expected.tolist())) > 1

    def test_candidates_in_another_order(self, vocabulary: ModelVocabulary, questions: Questions) -> None:
        model = crosstalk(vocabulary)
        order = np.array([1, 2, 0])
        scores, other = model.score_many(questions), model.score_many(reordered(questions, order))
        assert scores.joint is not None
        assert other.joint is not None
        assert_allclose(other.joint, scores.joint[:, :, order], atol=1e-6)
        assert np.abs(other.joint - scores.joint).max() > 1e-2

    @pytest.mark.parametrize("numpy", [False, True])
    def test_people_in_another_order(
        self, vocabulary: ModelVocabulary, questions: Questions, numpy: bool
    ) -> None:
        """Whoever has which number gets the same score, if the number itself is not looked at."""
        model = crosstalk(vocabulary)
        with torch.no_grad():
            numbers = -len(ADDRESSEE_FEATURES) - model.config.content
            model.pair[numbers + ADDRESSEE_FEATURES.index("order")] = 0.0
        system = in_numpy("crosstalk", vocabulary, model) if numpy else model
        most = questions.present.shape[1]
        several = np.flatnonzero(questions.participants == most)[:5]
        assert most > 4
        assert len(several)
        some = taken(questions, several)
        order = np.array([0, *np.random.default_rng(0).permutation(np.arange(1, most))])
        assert not np.array_equal(order, np.arange(most))
        scores, other = system.score_many(some), system.score_many(renumbered(some, order))
        assert scores.joint is not None
        assert other.joint is not None
        assert_allclose(other.joint[:, order], scores.joint, atol=1e-6)
        assert np.abs(other.joint - scores.joint).max() > 1e-2

    def test_a_longer_context_than_positions(self, rooms_corpus: Corpus, vocabulary: ModelVocabulary) -> None:
        """What is farther away is like the last of them."""
        ask = batcher("crosstalk", rooms_corpus, vocabulary, context=9, candidates=CANDIDATES)
        asked = ask.questions(rooms_corpus.samples_of(Split.TEST))
        short, long = (crosstalk(vocabulary, positions=positions) for positions in (3, 9))
        state = dict(short.state_dict())
        state["roles"] = torch.cat([short.roles, short.roles[:, -1:].expand(-1, 6, -1)], dim=1)
        long.load_state_dict(state)
        assert_allclose(pair_scores(short, asked), pair_scores(long, asked), rtol=1e-5, atol=1e-5)
        state["roles"][:, 5] += 1.0
        long.load_state_dict(state)
        there = np.isfinite(pair_scores(short, asked))
        assert np.abs(pair_scores(short, asked)[there] - pair_scores(long, asked)[there]).max() > 1e-2

    @pytest.mark.parametrize("numpy", [False, True])
    def test_nothing_is_said(self, tmp_path: Path, vocabulary: ModelVocabulary, numpy: bool) -> None:
        chats = [
            [Said("ann", None, ""), Said("ben", "ann", "", ("", ""))],
            [Said("ann", None, ""), Said("ben", "ann", "", ("amber", ""))],
        ]
        corpus = write_corpus(tmp_path, chats, candidates=3)
        asked = batcher("crosstalk", corpus, vocabulary, context=3, candidates=3).questions(np.arange(2))
        system = in_numpy("crosstalk", vocabulary) if numpy else crosstalk(vocabulary)
        scores = system.score_many(asked)
        assert_allclose(scores.response[0], 1 / 3, rtol=1e-6)
        assert np.isfinite(scores.response).all()
        assert scores.response[1, 0] == pytest.approx(scores.response[1, 2])
        assert scores.response[1, 0] != pytest.approx(scores.response[1, 1])

    def test_without_similarity(self, vocabulary: ModelVocabulary, questions: Questions) -> None:
        """Neither towers nor temperature matter then."""
        model = crosstalk(vocabulary, similarity=False)
        before = pair_scores(model, questions)
        with torch.no_grad():
            model.towers.mul_(-3.0)
            model.temperature.mul_(-3.0)
        assert_array_equal(pair_scores(model, questions), before)


def taken(questions: Questions, rows: NDArray[np.int64]) -> Questions:
    """Some of the questions; their utterances are left as they are."""
    letters = questions.letters
    assert letters is not None
    return replace(
        questions,
        context=questions.context[rows],
        sender=questions.sender[rows],
        addressee=questions.addressee[rows],
        participants=questions.participants[rows],
        candidates=questions.candidates[rows],
        speakers_so_far=questions.speakers_so_far[rows],
        letters=replace(letters, mentions=letters.mentions[rows]),
    )


def renumbered(questions: Questions, numbers: NDArray[np.int64]) -> Questions:
    """Participant i is participant numbers[i] from now on."""
    letters = questions.letters
    assert letters is not None

    def number(people: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(people >= 0, numbers[people], people).astype(np.int32)

    return replace(
        questions,
        sender=number(questions.sender),
        addressee=number(questions.addressee),
        letters=replace(letters, mentions=number(letters.mentions)),
    )


class TestTraining:
    def usable(self, questions: Questions, answers: Answers) -> tuple[Questions, torch.Tensor, torch.Tensor]:
        """Questions whose addressee can be chosen, with the answers."""
        rows = np.flatnonzero(answers.addressee > 0)
        addressee, response = (
            torch.from_numpy(truth[rows].astype(np.int64)) for truth in (answers.addressee, answers.response)
        )
        return taken(questions, rows), addressee, response

    @pytest.mark.parametrize("false", ["all", "hardest"])
    def test_the_loss(
        self, vocabulary: ModelVocabulary, questions: Questions, answers: Answers, false: str
    ) -> None:
        """Minus the logarithm of the share of the true pair; it is always told from all others."""
        asked, addressee, response = self.usable(questions, answers)
        model = crosstalk(vocabulary)
        inputs = model.inputs(asked)
        scores = model(inputs)
        loss = model.loss(scores, inputs, addressee, response, false=false)  # type: ignore[arg-type]
        expected = []
        for row in range(len(asked)):
            every = [value for value in scores[row].flatten().tolist() if value > -np.inf]
            true = scores[row, addressee[row], response[row]].item()
            expected.append(-np.log(np.exp(true) / np.exp(every).sum()))
        assert loss.item() == pytest.approx(np.mean(expected), rel=1e-5)
        joint = model.score_many(asked).joint
        assert joint is not None
        probability = joint[np.arange(len(asked)), addressee.numpy(), response.numpy()]
        assert loss.item() == pytest.approx(-np.log(probability).mean(), rel=1e-5)

    def test_the_loss_where_nobody_knows_the_addressee(
        self, vocabulary: ModelVocabulary, questions: Questions, answers: Answers
    ) -> None:
        """Minus the logarithm of the share of the true response, whoever it is for."""
        asked, addressee, response = self.usable(questions, answers)
        model = crosstalk(vocabulary)
        inputs = model.inputs(asked)
        joint = model.score_many(asked).joint
        assert joint is not None
        known = np.arange(len(asked)) % 2 == 0
        rows = joint[np.arange(len(asked)), :, response.numpy()]
        true = rows[np.arange(len(asked)), addressee.numpy()]
        expected = -np.log(np.where(known, true, np.nansum(rows, axis=1)))
        addressee[~torch.from_numpy(known)] = NOBODY
        loss = model.loss(model(inputs), inputs, addressee, response, false="all")
        assert loss.item() == pytest.approx(expected.mean(), rel=1e-5)
        loss.backward()  # type: ignore[no-untyped-call]
        assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())

    def test_gradients(self, vocabulary: ModelVocabulary, questions: Questions, answers: Answers) -> None:
        """All weights have one, and of the word vectors those of words that are there."""
        asked, addressee, response = self.usable(questions, answers)
        some = taken(asked, np.arange(5))
        model = crosstalk(vocabulary)
        inputs = model.inputs(some)
        model.loss(model(inputs), inputs, addressee[:5], response[:5], false="all").backward()  # type: ignore[no-untyped-call]
        for name, weight in model.named_parameters():
            assert weight.grad is not None
            assert weight.grad.isfinite().all()
            assert weight.grad.any(), name
        utterances = np.concatenate([some.context[some.context >= 0], some.candidates.ravel()])
        spans = [range(*some.offsets[utterance : utterance + 2]) for utterance in utterances]
        words = {int(some.tokens[place]) for span in spans for place in span}
        assert model.vectors.grad is not None
        moved = set(model.vectors.grad.any(dim=1).nonzero().flatten().tolist())
        assert moved == words
        assert len(words) < len(vocabulary.matrix)

    def test_it_learns_what_it_has_seen(
        self, vocabulary: ModelVocabulary, questions: Questions, answers: Answers
    ) -> None:
        asked, addressee, response = self.usable(questions, answers)
        model = crosstalk(vocabulary, hidden=32, evidence=16)
        before = choose(model.score_many(asked), model.rule)
        optimizer = torch.optim.Adam(model.groups(0.02))
        inputs = model.inputs(asked)
        for _ in range(150):
            optimizer.zero_grad()
            model.loss(model(inputs), inputs, addressee, response, false="all").backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        after = choose(model.score_many(asked), model.rule)
        right = [
            ((choice.addressee == addressee.numpy()) & (choice.response == response.numpy())).mean()
            for choice in (before, after)
        ]
        assert len(asked) > 15
        assert right[0] < 0.5
        assert right[1] > 0.95

    def test_words_are_left_out_in_training_alone(
        self, vocabulary: ModelVocabulary, questions: Questions
    ) -> None:
        model = crosstalk(vocabulary)
        inputs = model.inputs(questions)
        assert_array_equal(pair_scores(model, questions), pair_scores(model, questions))
        model.train()
        with torch.no_grad():
            assert not torch.equal(model(inputs), model(inputs))


class TestPairs:
    def test_by_hand(self) -> None:
        odds = np.array([[[0, 0], [1, 2], [3, 4]], [[1, 3], [0, 0], [0, 0]]], float)
        with np.errstate(divide="ignore"):
            found = Scores.of_pairs(np.log(odds) + np.array([100.0, -1000.0])[:, None, None])
        assert found.joint is not None
        assert_allclose(found.joint[0], [[0.0, 0.0], [0.1, 0.2], [0.3, 0.4]])
        assert_allclose(found.addressee[0], [np.nan, 0.3, 0.7])
        assert_allclose(found.response, [[0.4, 0.6], [0.25, 0.75]])
        assert np.isnan(found.addressee[1]).all()  # nobody to address: only the response is chosen
        assert found.addressee_given is None
        assert found.response_given is None
        chosen = choose(found, Rule.JOINT)
        assert chosen.addressee.tolist() == [2, NOBODY]
        assert chosen.response.tolist() == [1, 1]

    def test_sums(self, vocabulary: ModelVocabulary, questions: Questions) -> None:
        found = crosstalk(vocabulary).score_many(questions)
        assert found.joint is not None
        assert_allclose(found.joint.sum(axis=(1, 2)), 1, rtol=1e-12)
        assert_allclose(found.response, found.joint.sum(axis=1), rtol=1e-12)
        some = questions.participants > 1
        assert_allclose(np.nansum(found.addressee[some], axis=1), 1, rtol=1e-12)
        absent = np.isnan(found.addressee)
        assert_array_equal(absent[:, 1:], ~questions.present[:, 1:])
        assert absent[:, 0].all()
        assert not found.joint[some][absent[some]].any()

    def test_the_best_of_the_pairs(self) -> None:
        """Not the pair of the best."""
        odds = np.array([[[0, 0, 0], [5, 0, 4], [0, 6, 0.1], [4, 0, 0]]], float)
        with np.errstate(divide="ignore"):
            found = Scores.of_pairs(np.log(odds))
        joint, separate = choose(found, Rule.JOINT), choose(found, Rule.SEPARATE)
        assert (joint.addressee[0], joint.response[0]) == (2, 1)
        assert (separate.addressee[0], separate.response[0]) == (1, 0)
        in_logarithms = choose(found, Rule.JOINT_LOG)
        assert (in_logarithms.addressee[0], in_logarithms.response[0]) == (2, 1)
