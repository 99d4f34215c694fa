"""Chance, Recent, Direct-Recent and tf-idf, worked out by hand."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.models.systems import batcher, selector
from towhom.corpus import Corpus, Split
from towhom.models.tfidf import inverse_document_frequency
from towhom.selection import Scores, choose
from towhom.testing.chats import Document, Line, write_corpus
from towhom.text.vocabulary import ModelVocabulary

NO_WORDS = ModelVocabulary((), np.zeros((1, 2), np.float32))


def scores(system: str, corpus: Corpus, context: int = 5) -> Scores:
    """Of all samples of a corpus."""
    ask = batcher(system, corpus, NO_WORDS, context=context)
    return selector(system, corpus, NO_WORDS).score_many(
        ask.questions(np.arange(len(corpus.samples.message)))
    )


def addressee(system: str, folder: Path, chat: Document, context: int = 5) -> int:
    """Whom the last message of a chat is said to address, by number."""
    return int(choose(scores(system, write_corpus(folder, [chat]), context)).addressee[-1])


DUE = Line("ben", "ann", "tea", ("coffee",))
ADDRESSED = (Line("dan", "ben", "a"), Line("ann", "ben", "b"), Line("cat", "ann", "c"))
"""After these, ben is due; the numbers are cat 1, ann 2, dan 3."""


class TestRecent:
    def test_the_most_recent_other_speaker(self, tmp_path: Path) -> None:
        assert addressee("recent-tfidf", tmp_path / "a", [*ADDRESSED, DUE]) == 1
        assert addressee("recent-tfidf", tmp_path / "b", [*ADDRESSED, Line("ben", None, "d"), DUE]) == 1

    def test_nobody_else(self, tmp_path: Path) -> None:
        assert addressee("recent-tfidf", tmp_path, [Line("ben", None, "d"), DUE]) == -1

    def test_is_certain(self, tmp_path: Path) -> None:
        found = scores("recent-tfidf", write_corpus(tmp_path, [[*ADDRESSED, DUE]]))
        assert_allclose(found.addressee, [[np.nan, 1, 0, 0]])


class TestDirectRecent:
    def test_who_addressed_the_responder_last(self, tmp_path: Path) -> None:
        assert addressee("direct-recent-tfidf", tmp_path, [*ADDRESSED, DUE]) == 2

    def test_nobody_did(self, tmp_path: Path) -> None:
        chat = [Line("dan", "ann", "a"), Line("ann", "dan", "b"), Line("cat", None, "c"), DUE]
        assert addressee("direct-recent-tfidf", tmp_path, chat) == 1

    def test_it_was_too_long_ago(self, tmp_path: Path) -> None:
        """With two messages of context, dan's is forgotten and ann's is not; with one, both are."""
        assert addressee("direct-recent-tfidf", tmp_path / "two", [*ADDRESSED, DUE], context=2) == 2
        assert addressee("direct-recent-tfidf", tmp_path / "one", [*ADDRESSED, DUE], context=1) == 1

    def test_speaking_to_oneself_does_not_count(self, tmp_path: Path) -> None:
        chat = [*ADDRESSED, Line("ben", "ben", "hm"), DUE]
        assert addressee("direct-recent-tfidf", tmp_path, chat) == 2

    def test_no_word_in_common(self, tmp_path: Path) -> None:
        """Responses that all score zero do not make the addressee any other."""
        found = scores("direct-recent-tfidf", write_corpus(tmp_path, [[*ADDRESSED, DUE]]))
        assert_allclose(found.response, [[0, 0]])
        assert choose(found).addressee.tolist() == [2]

    def test_nobody_else(self, tmp_path: Path) -> None:
        assert addressee("direct-recent-tfidf", tmp_path, [Line("ben", "ben", "d"), DUE]) == -1


class TestTfIdf:
    @pytest.fixture
    def corpus(self, tmp_path: Path) -> Corpus:
        """Four messages; in how many of them: tea 2, milk 1, please 3, coffee 1."""
        chat = [
            Line("ann", None, "tea tea milk"),
            Line("ben", None, "please"),
            Line("cat", "ann", "tea please", ("coffee please",), 1),
            Line("ann", "cat", "coffee please", ("tea please",)),
        ]
        return write_corpus(tmp_path, [chat])

    def test_weights_of_words(self, corpus: Corpus) -> None:
        idf = dict(zip(corpus.vocabulary.words, inverse_document_frequency(corpus), strict=True))
        expected = {"tea": log(2), "milk": log(4), "please": log(4 / 3), "coffee": log(4)}
        assert {word: idf[word] for word in expected} == pytest.approx(expected)

    def test_cosine(self, corpus: Corpus) -> None:
        """The context is the sum of what was said: 2 tea, 1 milk, 1 please."""
        tea, milk, please, coffee = log(2), log(4), log(4 / 3), log(4)
        context = sqrt((2 * tea) ** 2 + milk**2 + please**2)
        with_coffee = please**2 / (context * sqrt(coffee**2 + please**2))
        with_tea = (2 * tea * tea + please**2) / (context * sqrt(tea**2 + please**2))
        found = scores("recent-tfidf", corpus)
        assert_allclose(found.response[0], [with_coffee, with_tea])
        assert choose(found).response[0] == 1

    def test_context_is_what_is_seen_of_it(self, corpus: Corpus) -> None:
        found = scores("recent-tfidf", corpus, context=1)  # "please" alone
        tea, please, coffee = log(2), log(4 / 3), log(4)
        expected = [please / sqrt(coffee**2 + please**2), please / sqrt(tea**2 + please**2)]
        assert_allclose(found.response[0], expected)

    def test_all_words_count(self, tmp_path: Path) -> None:
        """Not just the first twenty, as for the neural systems."""
        long = " ".join(f"w{number}" for number in range(25))
        chat = [Line("ann", None, long), Line("cat", None, "x"), Line("ben", "ann", "w24", ("y",))]
        assert scores("recent-tfidf", write_corpus(tmp_path, [chat])).response[0, 0] > 0

    def test_words_are_weighed_by_training_documents(self, tmp_path: Path) -> None:
        train, test = [[Line("ann", None, "tea"), Line("ben", None, "tea")], [Line("cat", None, "coffee")]]
        corpus = write_corpus(tmp_path / "split", {Split.TRAIN: [train], Split.TEST: [test]})
        idf = dict(zip(corpus.vocabulary.words, inverse_document_frequency(corpus), strict=True))
        assert idf["tea"] == 0
        assert idf["coffee"] == pytest.approx(log(2))
        corpus = write_corpus(tmp_path / "test", {Split.TEST: [train, test]})
        idf = dict(zip(corpus.vocabulary.words, inverse_document_frequency(corpus), strict=True))
        assert idf["coffee"] == pytest.approx(log(3))


def test_chance(tmp_path: Path) -> None:
    """Of three speakers so far, two are seen with one message of context."""
    chat = [Line("ann", None, "a"), Line("cat", None, "b"), Line("ben", "cat", "tea", ("coffee",))]
    found = scores("chance", write_corpus(tmp_path, [chat]), context=1)
    assert_allclose(found.addressee, [[np.nan, 1 / 3]])
    assert_allclose(found.response, [[1 / 2, 1 / 2]])
