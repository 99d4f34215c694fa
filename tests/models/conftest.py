"""What the tests of the models start from."""

from __future__ import annotations

import pytest

from tests.nn.conftest import one_thread as one_thread
from towhom.corpus import Corpus
from towhom.testing.chats import WORDS, Line, varied_documents, word_vectors, write_corpus
from towhom.text.vocabulary import ModelVocabulary


@pytest.fixture(scope="session")
def vocabulary() -> ModelVocabulary:
    """Most of the words; the others are unknown."""
    return ModelVocabulary.of(word_vectors(known=WORDS[:-3]), WORDS)


@pytest.fixture(scope="session")
def documents() -> list[list[Line]]:
    return varied_documents()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory, documents: list[list[Line]]) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("chats"), documents, candidates=3)
