"""What a question shows beyond words, against a loop over the chats themselves."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from tests.models.chats import WORDS, Said, word_vectors, write_corpus
from tests.models.rooms import KNOWN_WORD, PEOPLE, places, room, write_rooms
from towhom.batching import ELSEWHERE, NOBODY, Batcher, Letters, Questions
from towhom.corpus import Corpus, Split
from towhom.hearing.lexicon import COMMON_WORDS
from towhom.text.pieces import pieces
from towhom.text.vocabulary import ModelVocabulary

CANDIDATES = 3
MODEL_WORDS = WORDS[:-3]


@pytest.fixture(scope="module")
def documents() -> list[list[Said]]:
    random = Random(5)
    sizes = ((1, 1), (12, 1), (30, 2), (50, 5), (60, len(PEOPLE)))
    return [room(random, lines=lines, people=people, candidates=CANDIDATES) for lines, people in sizes]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, documents: list[list[Said]]) -> Corpus:
    return write_rooms(tmp_path_factory.mktemp("rooms"), documents, candidates=CANDIDATES)


@pytest.fixture(scope="module")
def words(corpus: Corpus) -> NDArray[np.int32]:
    """The ids of a model that does not know all words."""
    vocabulary = ModelVocabulary.of(word_vectors(2, known=MODEL_WORDS), WORDS)
    return vocabulary.ids(list(corpus.vocabulary.words))


def letters(questions: Questions) -> Letters:
    assert questions.letters is not None
    return questions.letters


def pieces_of_text(text: str, corpus: Corpus, max_words: int | None) -> set[int]:
    """Of the words that are not hidden."""
    known = set(corpus.vocabulary.words)
    seen = text.lower().split()[:max_words]
    return {piece for word in seen if word in known for piece in pieces(word)}


def named(text: str, document: list[Said], place: int, context: int, common: tuple[str, ...]) -> list[int]:
    """The first two who are named and have spoken by now, as the sample numbers them."""
    so_far = list(dict.fromkeys(said.sender for said in document[: place + 1]))
    spoken = {name.lower(): name for name in so_far if len(name) > 2 and name not in common}
    people = [document[place].sender]
    for said in reversed(document[max(0, place - context) : place]):
        if said.sender not in people:
            people.append(said.sender)
    who = [spoken[word] for word in dict.fromkeys(text.lower().split()) if word in spoken]
    numbers = [people.index(name) if name in people else ELSEWHERE for name in who]
    return [*numbers, NOBODY, NOBODY][:2]


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("context", [1, 5, 15])
@pytest.mark.parametrize("max_words", [20, 2])
def test_against_a_loop(
    corpus: Corpus,
    documents: list[list[Said]],
    words: NDArray[np.int32],
    context: int,
    distinct: bool,
    max_words: int,
) -> None:
    samples = np.random.default_rng(context).permutation(corpus.samples_of(Split.TEST))
    where = places(documents)
    first = int(corpus.samples_of(Split.TEST)[0])
    questions = Batcher(
        corpus,
        context=context,
        candidates=CANDIDATES,
        max_words=max_words,
        words=words,
        distinct=distinct,
        letters=True,
    ).questions(samples)
    found = letters(questions)
    assert found.mentions.shape == (len(samples), context + CANDIDATES, 2)
    assert len(found.offsets) == len(questions.offsets)
    kinds: set[int] = set()
    for row, sample in enumerate(samples.tolist()):
        number, place = where[sample - first]
        document = documents[number]
        before = [said.text for said in document[max(0, place - context) : place]]
        missing = context - len(before)
        assert (found.mentions[row, :missing] == NOBODY).all()
        texts = [*before, *document[place].candidates]
        wanted = [named(text, document, place, context, (KNOWN_WORD,)) for text in texts]
        assert found.mentions[row, missing:].tolist() == wanted
        kinds.update(*wanted)
        utterances = [*questions.context[row, missing:], *questions.candidates[row]]
        for utterance, text in zip(utterances, texts, strict=True):
            start, stop = found.offsets[utterance : utterance + 2]
            spelled = found.pieces[start:stop].tolist()
            assert len(spelled) == len(set(spelled))
            assert set(spelled) == pieces_of_text(text, corpus, max_words)
    assert {ELSEWHERE, NOBODY, 0, 1} <= kinds


@pytest.mark.parametrize("distinct", [True, False])
def test_the_rest_is_the_same(corpus: Corpus, distinct: bool) -> None:
    every = np.arange(len(corpus.samples.message))
    with_letters, without = (
        Batcher(corpus, context=5, candidates=CANDIDATES, distinct=distinct, letters=asked)
        for asked in (True, False)
    )
    ours, theirs = with_letters.questions(every), without.questions(every)
    assert theirs.letters is None
    for field in fields(Questions):
        if field.name != "letters":
            assert_array_equal(getattr(ours, field.name), getattr(theirs, field.name))
    for ours_too, theirs_too in zip(
        vars(with_letters.answers(every)).values(), vars(without.answers(every)).values(), strict=True
    ):
        assert_array_equal(ours_too, theirs_too)


def test_one_by_one(corpus: Corpus) -> None:
    """Which documents have been looked up before does not matter."""
    every = np.arange(len(corpus.samples.message))
    together = letters(Batcher(corpus, context=5, candidates=CANDIDATES, letters=True).questions(every))
    batcher = Batcher(corpus, context=5, candidates=CANDIDATES, letters=True)
    for sample in np.random.default_rng(0).permutation(every):
        alone = letters(batcher.questions(np.array([sample])))
        assert_array_equal(alone.mentions[0], together.mentions[sample])


def test_no_samples(corpus: Corpus) -> None:
    batcher = Batcher(corpus, context=5, candidates=CANDIDATES, letters=True)
    found = letters(batcher.questions(np.array([], np.int64)))
    assert found.mentions.shape == (0, 5 + CANDIDATES, 2)
    assert found.pieces.size == 0
    assert found.offsets.tolist() == [0]


CHAT = [
    Said("ann", None, "dan fay eve ?"),  # two of them have not spoken yet
    Said("ben", None, "hello"),
    Said("cat", "ann", "eve ann cat ben"),
    Said("dan", None, ""),
    Said("ben", "dan", "ok dan", ("cat or ann", "ben"), 0),
    Said("eve", "dan", "dan", ("eve", "eve fay ann cat"), 1),
    Said("fay", None, "hello"),
]


def test_a_chat_by_hand(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, [CHAT], candidates=3)
    found = letters(Batcher(corpus, context=3, candidates=3, letters=True).questions(np.arange(2)))
    nobody = [NOBODY, NOBODY]
    # Ben speaks next: he is 0, dan 1, cat 2; ann is not in the context any more, eve and fay not there yet.
    assert found.mentions[0].tolist() == [
        nobody,
        [ELSEWHERE, 2],
        nobody,
        [1, NOBODY],
        [2, ELSEWHERE],
        [0, NOBODY],
    ]
    # Eve speaks next, for the first time: she is 0, ben 1, dan 2, cat 3.
    assert found.mentions[1].tolist() == [
        [0, ELSEWHERE],
        nobody,
        [2, NOBODY],
        [0, NOBODY],
        [2, NOBODY],
        [0, ELSEWHERE],
    ]


def test_nobody_who_comes_later_is_in_the_way(tmp_path: Path) -> None:
    """However many are named who have not spoken yet, the first two who have are found."""
    later = [f"later{number}" for number in range(6)]
    chat = [
        Said("ann", None, "hello"),
        Said("ben", None, f"{' '.join(later)} ben ann"),
        Said("cat", "ann", f"{' '.join(later)} ann cat ben", ("no",)),
        *(Said(name, None, "hello") for name in later),
    ]
    corpus = write_corpus(tmp_path, [chat])
    found = letters(Batcher(corpus, context=2, candidates=2, letters=True).questions(np.arange(1)))
    assert found.mentions[0].tolist() == [[NOBODY, NOBODY], [1, 2], [2, 0], [NOBODY, NOBODY]]


@pytest.mark.parametrize(
    ("rank", "known"), [(0, True), (1, False), (COMMON_WORDS, False), (COMMON_WORDS + 1, True)]
)
def test_common_words_are_no_names(tmp_path: Path, rank: int, known: bool) -> None:
    """A name that is a word is taken as a name if the model hardly uses the word, or does not know it."""
    chats = [[Said("ann", None, "so pond so")] for _ in range(100)]
    chat = [Said("pond", None, "hello"), Said("ben", "pond", "thanks pond", ("hi pond",))]
    corpus = write_corpus(tmp_path, [*chats, chat])
    words = list(corpus.vocabulary.words)
    ids = np.zeros(len(words), np.int32)
    ids[words.index("pond")] = rank
    found = letters(Batcher(corpus, context=1, candidates=2, words=ids, letters=True).questions(np.arange(1)))
    assert found.mentions[0, 1:].tolist() == [[1 if known else NOBODY, NOBODY]] * 2


def test_names_are_not_spelled(tmp_path: Path) -> None:
    """What is hidden from the words is hidden here as well."""
    chat = [Said("postfix", None, "hello"), Said("ben", "postfix", "postfix grove", ("postfix",))]
    corpus = write_corpus(tmp_path, [chat])
    questions = Batcher(corpus, context=1, candidates=2, letters=True).questions(np.arange(1))
    found = letters(questions)
    first, second = questions.candidates[0]
    assert found.pieces[found.offsets[first] : found.offsets[first + 1]].tolist() == [pieces("grove")[0]]
    assert found.offsets[second] == found.offsets[second + 1]
    assert found.mentions[0, 1:].tolist() == [[1, NOBODY]] * 2
