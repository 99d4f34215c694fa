"""What the tests of the models start from."""

from __future__ import annotations

from random import Random

import pytest

from tests.models.chats import WORDS, Said, naming, random_document, word_vectors, write_corpus
from tests.nn.conftest import one_thread as one_thread
from towhom.corpus import Corpus
from towhom.text.vocabulary import ModelVocabulary


@pytest.fixture(scope="session")
def vocabulary() -> ModelVocabulary:
    """Most of the words; the others are unknown."""
    return ModelVocabulary.of(word_vectors(known=WORDS[:-3]), WORDS)


@pytest.fixture(scope="session")
def documents() -> list[list[Said]]:
    """Chats of one, three and sixteen people, with samples from the first messages on."""
    random = Random(7)
    first = Said("guest5", "guest2", "north pond", ("marsh", "oasis grove"), 1)
    sizes = ((6, 1), (40, 3), (60, 16))
    chats = [random_document(random, lines=lines, people=people, candidates=3) for lines, people in sizes]
    chats = [*([first, *chat] for chat in chats), random_document(random, lines=9, people=1, candidates=3)]
    return [naming(random, chat) for chat in chats]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory, documents: list[list[Said]]) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("chats"), documents, candidates=3)
