"""The tests of systems: a subclass names the system, or makes one, and inherits them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from towhom.batching import NOBODY, Batcher, Questions
from towhom.corpus import Corpus
from towhom.models.base import Selector
from towhom.models.registry import baseline
from towhom.selection import Scores, choose
from towhom.testing.chats import PEOPLE, Line, varied_documents, write_corpus

PARTS = tuple(field.name for field in fields(Scores))
_CONTEXT, _CANDIDATES = 5, 3


class SystemContract:
    """The tests."""

    system: str
    """The name of the system, as it is registered, or `module:Class`."""

    def selector(self, corpus: Corpus) -> Selector:
        """The system, for a corpus; a system with weights has to be made here."""
        return baseline(self.system, corpus)

    def words(self, corpus: Corpus) -> NDArray[np.int32] | None:
        """The ids that the system has for the words of a corpus; None for those of the corpus."""
        return None

    def batcher(self, corpus: Corpus) -> Batcher:
        """Makes questions of a corpus as the system wants them."""
        words = self.words(corpus)
        return self.selector(corpus).batcher(corpus, context=_CONTEXT, candidates=_CANDIDATES, words=words)

    @pytest.fixture
    def corpus(self, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
        """Chats of one, three and sixteen people."""
        return _corpus(tmp_path_factory.getbasetemp())

    @pytest.fixture
    def questions(self, corpus: Corpus) -> Questions:
        """All samples there are."""
        return self.batcher(corpus).questions(np.arange(len(corpus.samples.message)))

    def test_scores_have_their_shapes(self, corpus: Corpus, questions: Questions) -> None:
        """Scores are probabilities, and nobody scores who cannot be addressed."""
        scores = self.selector(corpus).score_many(questions)
        samples, people = questions.present.shape
        assert scores.addressee.shape == (samples, people)
        assert scores.response.shape == (samples, 3)
        allowed = questions.present.copy()
        allowed[:, 0] = False
        assert_array_equal(~np.isnan(scores.addressee), allowed)
        for name in PARTS:
            values = _part(scores, name)
            if values is not None:
                known = values[~np.isnan(values)]
                assert ((known >= 0) & (known <= 1 + 1e-12)).all()
        assert (scores.addressee_given is None) == (scores.response_given is None)
        if scores.joint is not None:
            assert scores.joint.shape == (samples, people, 3)
        if scores.addressee_given is not None and scores.response_given is not None:
            assert scores.addressee_given.shape == (samples, 3, people)
            assert scores.response_given.shape == (samples, people, 3)

    def test_an_empty_context_and_a_room_of_one(self, corpus: Corpus, questions: Questions) -> None:
        """A chat that has just begun, or in which only one person speaks, causes no error."""
        found = self.selector(corpus)
        choice = choose(found.score_many(questions), found.rule)
        alone = questions.participants == 1
        empty = (questions.context == NOBODY).all(axis=1)
        assert empty.any()
        assert (alone & ~empty).any()
        assert (choice.addressee[alone] == NOBODY).all()
        assert (choice.addressee[~alone] > 0).all()
        assert ((choice.response >= 0) & (choice.response < 3)).all()

    def test_a_batch_of_empty_contexts(self, tmp_path: Path) -> None:
        """A batch may consist of chats that have just begun."""
        first = Line("ann", "ben", "amber", ("birch", ""))
        corpus = write_corpus(tmp_path, [[first], [first]], candidates=3)
        questions = self.batcher(corpus).questions(np.arange(2))
        scores = self.selector(corpus).score_many(questions)
        assert scores.addressee.shape == (2, 1)
        assert_array_equal(choose(scores).addressee, [NOBODY, NOBODY])
        assert np.isfinite(scores.response).all()

    def test_words_that_nobody_knows(self, tmp_path: Path) -> None:
        """Unknown words cause no error."""
        chat = [Line("ann", None, "qwx zzyx"), Line("ben", "ann", "vvrr", ("", "qwx"), 1)]
        corpus = write_corpus(tmp_path, [chat], candidates=3)
        questions = self.batcher(corpus).questions(np.arange(1))
        scores = self.selector(corpus).score_many(questions)
        assert np.isfinite(scores.response).all()
        assert_array_equal(choose(scores).addressee, [1])

    def test_questions_are_not_changed(self, corpus: Corpus, questions: Questions) -> None:
        """Scoring changes nothing, and gives the same scores again."""
        before = copy.deepcopy(questions)
        found = self.selector(corpus)
        scores = found.score_many(questions)
        _assert_unchanged(questions, before)
        assert_same_scores(found.score_many(questions), scores)

    def test_a_batch_is_its_samples_one_by_one(self, corpus: Corpus, questions: Questions) -> None:
        """Scores do not depend on the other samples in a batch."""
        found = self.selector(corpus)
        ask = self.batcher(corpus)
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

    def test_candidates_in_another_order(self, corpus: Corpus, questions: Questions) -> None:
        """The order of candidates makes no difference."""
        found = self.selector(corpus)
        order = np.array([2, 0, 1])
        scores = found.score_many(questions)
        other = found.score_many(replace(questions, candidates=questions.candidates[:, order]))
        assert_allclose(other.addressee, scores.addressee, rtol=0, atol=1e-6)
        assert_allclose(other.response, scores.response[:, order], rtol=0, atol=1e-6)
        if scores.addressee_given is not None and other.addressee_given is not None:
            assert_allclose(other.addressee_given, scores.addressee_given[:, order], rtol=0, atol=1e-6)
        if scores.response_given is not None and other.response_given is not None:
            assert_allclose(other.response_given, scores.response_given[:, :, order], rtol=0, atol=1e-6)
        if scores.joint is not None and other.joint is not None:
            assert_allclose(other.joint, scores.joint[:, :, order], rtol=0, atol=1e-6)

    def test_what_people_are_called_does_not_matter(
        self, corpus: Corpus, questions: Questions, tmp_path: Path
    ) -> None:
        """People with other names get the same scores."""
        for number, rename in enumerate((str.upper, lambda name: f"guest{21 - int(name[5:])}")):
            self._check_renamed(rename, corpus, questions, tmp_path / str(number))

    def _check_renamed(
        self, rename: Callable[[str], str], corpus: Corpus, questions: Questions, folder: Path
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
            for document in varied_documents()
        ]
        other = write_corpus(folder, renamed, candidates=3)
        every = np.arange(len(other.samples.message))
        theirs = self.batcher(other).questions(every)
        assert_array_equal(theirs.sender, questions.sender)
        scores = self.selector(corpus).score_many(questions)
        assert_same_scores(self.selector(other).score_many(theirs), scores, 1e-6)


@cache
def _corpus(folder: Path) -> Corpus:
    """Made once: for every test anew, it would take longer than the tests."""
    return write_corpus(folder / "towhom-chats", varied_documents(), candidates=_CANDIDATES)


def assert_same_scores(ours: Scores, theirs: Scores, tolerance: float = 0) -> None:
    """Make sure that two systems score alike."""
    for name in PARTS:
        one, other = _part(ours, name), _part(theirs, name)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert_allclose(one, other, rtol=0, atol=tolerance, err_msg=name)


def _part(scores: Scores, name: str) -> NDArray[np.float64] | None:
    found: NDArray[np.float64] | None = getattr(scores, name)
    return found


def _assert_unchanged(ours: Questions, theirs: Questions) -> None:
    for name, values in vars(ours).items():
        assert_array_equal(values, getattr(theirs, name), err_msg=name)
