"""Every neural system without torch, against the same system in torch."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.models.systems import NEURAL, assert_same_questions, neural, reordered, weights_of
from tests.nn.conftest import one_thread as one_thread
from towhom.batching import NOBODY, Questions
from towhom.models.neural import NeuralSelector
from towhom.persistence import SavedModel
from towhom.runtime import NumpySelector, runtime_class
from towhom.selection import Rule, Scores, choose
from towhom.testing.chats import WORDS, word_vectors
from towhom.text.vocabulary import UNKNOWN_ID, ModelVocabulary

VOCABULARY = ModelVocabulary.of(word_vectors(), WORDS)
CLOSE = 1e-5


@cache
def both(system: str, **settings: Any) -> tuple[NumpySelector, NeuralSelector]:
    """A system with random weights, twice."""
    model = neural(system, VOCABULARY, **settings)
    weights = weights_of(model)
    saved = SavedModel(system, model.config, weights, VOCABULARY, 15, model.rule, model.max_words)
    return saved.runtime, model


def random_questions(
    seed: int, *, batch: int = 6, context: int = 15, people: int = 16, candidates: int = 3, empty: float = 0.2
) -> Questions:
    """Anybody says anything to anybody or to nobody; nothing is said twice.

    The first context is as long as can be, the others have any length.
    """
    random = np.random.default_rng(seed)
    shape = (batch, context)
    sender, addressee = np.full(shape, NOBODY), np.full(shape, NOBODY)
    participants = np.ones(batch, np.int32)
    for row in range(batch):
        length = int(random.integers(0, context + 1))
        names = random.integers(0, people, length)  # 0 is the responder
        # Numbered as a batcher does it: the responder, then the most recent first.
        numbers = {name: place for place, name in enumerate(dict.fromkeys((0, *names[::-1].tolist())))}
        participants[row] = len(numbers)
        if length:
            sender[row, -length:] = [numbers[name] for name in names.tolist()]
            addressee[row, -length:] = random.integers(NOBODY, len(numbers), length)
    addressee[addressee == sender] = NOBODY
    utterances = batch * (context + candidates)
    lengths = random.integers(1, 8, utterances) * (random.random(utterances) >= empty)
    numbered = random.permutation(utterances).astype(np.int32)
    return Questions(
        tokens=random.integers(UNKNOWN_ID, len(VOCABULARY.matrix), lengths.sum()).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        context=np.where(sender == NOBODY, NOBODY, numbered[: batch * context].reshape(shape)),
        sender=sender.astype(np.int32),
        addressee=addressee.astype(np.int32),
        participants=participants,
        candidates=numbered[batch * context :].reshape(batch, candidates),
        speakers_so_far=participants,
    )


any_questions = st.builds(
    random_questions,
    st.integers(0, 2**32 - 1),
    batch=st.integers(1, 5),
    context=st.integers(1, 15),
    people=st.integers(1, 16),
    candidates=st.sampled_from((1, 2, 10)),
    empty=st.sampled_from((0.0, 0.2, 1.0)),
)


def parts(scores: Scores, questions: Questions) -> dict[str, NDArray[np.float64]]:
    """What is known of those who are there; of the others there is nothing to know."""
    here = questions.present
    result = {"addressee": scores.addressee[here], "response": scores.response}
    if scores.addressee_given is not None and scores.response_given is not None:
        result["addressee_given"] = scores.addressee_given.transpose(0, 2, 1)[here]
        result["response_given"] = scores.response_given[here]
    return result


def assert_same(ours: Scores, theirs: Scores, questions: Questions, tolerance: float = CLOSE) -> None:
    assert_array_equal(np.isnan(ours.addressee), np.isnan(theirs.addressee))
    found, expected = parts(ours, questions), parts(theirs, questions)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert_allclose(found[name], values, rtol=0, atol=tolerance, err_msg=name)


def test_the_questions_of_these_tests() -> None:
    """All that may come up does."""
    several = [random_questions(seed) for seed in range(10)]

    def values(of: Iterable[NDArray[Any]]) -> set[int]:
        return set(np.concatenate([each.ravel() for each in of]).tolist())

    assert {0, 1, 14, 15} <= values((q.context != NOBODY).sum(axis=1) for q in several)
    assert 1 in values(q.participants for q in several)
    assert max(values(q.participants for q in several)) > 8
    assert 0 in values(q.lengths[q.context[q.context != NOBODY]] for q in several)
    assert 0 in values(q.lengths[q.candidates] for q in several)
    assert UNKNOWN_ID in values(q.tokens for q in several)
    assert {NOBODY, 0, 1} <= values(q.addressee[q.sender != NOBODY] for q in several)


@pytest.mark.parametrize("system", NEURAL)
class TestEverySystem:
    @settings(max_examples=60, deadline=None)
    @given(questions=any_questions)
    def test_as_in_torch(self, system: str, questions: Questions) -> None:
        runtime, model = both(system)
        assert_same(runtime.score_many(questions), model.score_many(questions), questions)

    def test_everybody_says_something(self, system: str) -> None:
        """Sixteen participants, the most that fifteen messages can have."""
        questions = random_questions(0, batch=1, context=15, candidates=10)
        latest_first = np.arange(15, 0, -1, dtype=np.int32)[None]
        full = replace(
            questions,
            context=np.arange(15, dtype=np.int32)[None],
            sender=latest_first,
            addressee=latest_first - 1,
            participants=np.array([16], np.int32),
        )
        runtime, model = both(system)
        assert_same(runtime.score_many(full), model.score_many(full), full)

    def test_the_same_is_chosen(self, system: str) -> None:
        runtime, model = both(system)
        assert runtime.rule is model.rule
        chosen: list[tuple[int, int]] = []
        for seed in range(10):
            questions = random_questions(seed, candidates=4, empty=0.0)
            ours, theirs = runtime.score_many(questions), model.score_many(questions)
            found, expected = choose(ours, runtime.rule), choose(theirs, model.rule)
            clear = lead(theirs, model.rule) > 1e-4
            assert_array_equal(found.addressee[clear], expected.addressee[clear])
            assert_array_equal(found.response[clear], expected.response[clear])
            chosen += zip(found.addressee[clear].tolist(), found.response[clear].tolist(), strict=True)
        assert len(chosen) > 30  # of 60
        assert len(set(chosen)) > 10

    def test_with_utterances_that_are_known_already(self, system: str) -> None:
        """Each embedded for itself."""
        runtime, _ = both(system)
        questions = random_questions(3)
        tokens = np.split(questions.tokens, questions.offsets[1:-1])
        utterances = [runtime.encode_utterances(each, np.array([0, len(each)])) for each in tokens]
        found = runtime.score_encoded(questions, np.concatenate(utterances))
        assert_same(found, runtime.score_many(questions), questions, 1e-6)

    def test_candidates_in_another_order(self, system: str) -> None:
        runtime, _ = both(system)
        questions = random_questions(4, candidates=10)
        order = np.random.default_rng(0).permutation(10)
        scores = runtime.score_many(questions)
        other = runtime.score_many(reordered(questions, order))
        expected = Scores(
            scores.addressee,
            scores.response[:, order],
            None if scores.addressee_given is None else scores.addressee_given[:, order],
            None if scores.response_given is None else scores.response_given[:, :, order],
        )
        assert np.ptp(scores.response, axis=1).min() > 1e-3  # the order matters
        assert_same(other, expected, questions, 1e-6)

    def test_nothing_is_changed(self, system: str) -> None:
        runtime, _ = both(system)
        questions = random_questions(5)
        utterances = runtime.encode_utterances(questions.tokens, questions.offsets)
        before, states = copy.deepcopy(questions), utterances.copy()
        scores = runtime.score_encoded(questions, utterances)
        assert_array_equal(utterances, states)
        assert_same_questions(questions, before)
        assert_same(runtime.score_encoded(questions, utterances), scores, questions, 0)

    @pytest.mark.parametrize("hidden", [3, 7])
    def test_shapes_of_the_weights(self, system: str, hidden: int) -> None:
        model = neural(system, VOCABULARY, hidden=hidden)
        expected = {name: value.shape for name, value in weights_of(model).items()}
        assert runtime_class(system).shapes(model.config) == expected


@pytest.mark.parametrize("system", NEURAL)
@pytest.mark.parametrize("length", [0, 1, 4])
def test_all_contexts_are_shorter(system: str, length: int) -> None:
    """There are places in which nobody of the batch says anything."""
    runtime, model = both(system)
    questions = random_questions(7, context=5)
    sender, context, addressee = (
        each.copy() for each in (questions.sender, questions.context, questions.addressee)
    )
    for array in (sender, context, addressee):
        array[:, : 5 - length] = NOBODY
    shorter = replace(questions, sender=sender, context=context, addressee=addressee)
    assert_same(runtime.score_many(shorter), model.score_many(shorter), shorter)


@pytest.mark.parametrize("system", ["static-rnn", "static-hier-rnn"])
@pytest.mark.parametrize("positions", [1, 3])
def test_positions_that_are_too_far(system: str, positions: int) -> None:
    """They share the last one."""
    runtime, model = both(system, positions=positions)
    questions = random_questions(6)
    assert questions.participants.max() > positions
    assert_same(runtime.score_many(questions), model.score_many(questions), questions)
    assert runtime_class(system).shapes(model.config)["positions"][0] == positions


def lead(scores: Scores, rule: Rule) -> NDArray[np.float64]:
    """(B,) How far the best is ahead; of the best response, where nobody is there to address."""
    pairs = scores.pairs(rule)
    alone = np.isnan(scores.addressee).all(axis=1)
    pairs[alone, 0] = scores.response[alone]
    ranked = np.sort(pairs.reshape(len(pairs), -1), axis=1)
    result: NDArray[np.float64] = ranked[:, -1] - ranked[:, -2]
    return result
