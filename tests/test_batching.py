"""Questions and answers against a loop over the chats themselves; labels stay out of questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from towhom.batching import NOBODY, Batcher, Questions
from towhom.corpus import Corpus
from towhom.testing.chats import Line, random_document, write_corpus

CANDIDATES = 3


@dataclass(frozen=True)
class Expected:
    """A sample, with text instead of numbers of utterances."""

    said: list[tuple[int, int, str]]
    """Sender, addressee, text."""
    participants: int
    candidates: list[str]
    speakers_so_far: int
    addressee: int
    response: int


def expected(document: list[Line], place: int, context: int) -> Expected:
    said = document[place]
    before = document[max(0, place - context) : place]
    people = [said.sender]
    for message in reversed(before):
        if message.sender not in people:
            people.append(message.sender)

    def number(name: str | None, *, but: str) -> int:
        return people.index(name) if name in people and name != but else NOBODY

    return Expected(
        said=[(people.index(m.sender), number(m.addressee, but=m.sender), m.text) for m in before],
        participants=len(people),
        candidates=list(said.candidates),
        speakers_so_far=len({message.sender for message in document[: place + 1]}),
        addressee=number(said.addressee, but=said.sender),
        response=said.label,
    )


def texts(questions: Questions, corpus: Corpus) -> Callable[[int], str]:
    """What an utterance says, by its number."""
    words = list(corpus.vocabulary.words)

    def text(utterance: int) -> str:
        start, stop = questions.offsets[utterance : utterance + 2]
        return " ".join(words[token] for token in questions.tokens[start:stop])

    return text


@pytest.fixture(scope="module")
def documents() -> list[list[Line]]:
    random = Random(3)
    sizes = ((1, 1), (5, 1), (30, 2), (50, 5), (40, 18))
    return [
        random_document(random, lines=lines, people=people, candidates=CANDIDATES) for lines, people in sizes
    ]


@pytest.fixture(scope="module")
def samples(documents: list[list[Line]]) -> list[tuple[list[Line], int]]:
    return [(document, place) for document in documents for place, said in enumerate(document) if said.false]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, documents: list[list[Line]]) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("chats"), documents, candidates=CANDIDATES)


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("context", [1, 5, 15])
def test_against_a_loop(
    corpus: Corpus, samples: list[tuple[list[Line], int]], context: int, distinct: bool
) -> None:
    batcher = Batcher(corpus, context=context, candidates=CANDIDATES, distinct=distinct)
    order = np.random.default_rng(context).permutation(len(samples))
    questions, answers = batcher.questions(order), batcher.answers(order)
    text = texts(questions, corpus)
    wanted = [expected(document, place, context) for document, place in (samples[i] for i in order)]
    assert len(questions) == len(samples)
    for row, want in enumerate(wanted):
        missing = context - len(want.said)
        assert (questions.context[row, :missing] == NOBODY).all()
        assert (questions.sender[row, :missing] == NOBODY).all()
        assert (questions.addressee[row, :missing] == NOBODY).all()
        found = zip(
            questions.sender[row, missing:].tolist(),
            questions.addressee[row, missing:].tolist(),
            map(text, questions.context[row, missing:]),
            strict=True,
        )
        assert list(found) == want.said
        assert questions.participants[row] == want.participants
        assert questions.present[row].tolist() == [
            number < want.participants for number in range(questions.present.shape[1])
        ]
        assert [text(utterance) for utterance in questions.candidates[row]] == want.candidates
        assert questions.speakers_so_far[row] == want.speakers_so_far
        assert answers.addressee[row] == want.addressee
        assert answers.response[row] == want.response
    assert {NOBODY, 1, 2} <= {want.addressee for want in wanted} or context == 1
    assert 0 not in answers.addressee


def test_what_occurs_several_times_is_given_once(corpus: Corpus) -> None:
    every = np.arange(len(corpus.samples.message))
    once, each = (
        Batcher(corpus, context=5, candidates=CANDIDATES, distinct=distinct).questions(every)
        for distinct in (True, False)
    )
    assert len(each.lengths) == every.size * (5 + CANDIDATES)
    assert len(once.lengths) < len(each.lengths) / 2
    for name in ("sender", "addressee", "participants", "speakers_so_far"):
        assert_array_equal(getattr(once, name), getattr(each, name))


@pytest.mark.parametrize("max_words", [None, 1, 20])
def test_first_words(tmp_path: Path, max_words: int | None) -> None:
    long = " ".join(f"w{number}" for number in range(30))
    chat = [Line("ann", None, long), Line("ben", "ann", "", ("w1 w2",), 1)]
    corpus = write_corpus(tmp_path, [chat])
    questions = Batcher(corpus, context=1, candidates=2, max_words=max_words).questions(np.arange(1))
    text = texts(questions, corpus)
    assert text(questions.context[0, 0]).split() == long.split()[:max_words]
    assert [text(utterance) for utterance in questions.candidates[0]] == [
        " ".join(["w1", "w2"][:max_words]),
        "",
    ]


def test_words_of_the_model(corpus: Corpus) -> None:
    every = np.arange(len(corpus.samples.message))
    ids = np.random.default_rng(0).integers(0, 5, len(corpus.vocabulary.words)).astype(np.int32)
    mapped = Batcher(corpus, context=5, candidates=CANDIDATES, words=ids).questions(every)
    as_they_are = Batcher(corpus, context=5, candidates=CANDIDATES).questions(every)
    assert_array_equal(mapped.tokens, ids[as_they_are.tokens])
    assert mapped.tokens.dtype == as_they_are.tokens.dtype == np.int32


def test_other_candidates(corpus: Corpus) -> None:
    batcher = Batcher(corpus, context=5, candidates=CANDIDATES)
    others = np.array([[4, 0], [2, 2]], np.uint32)
    questions = batcher.questions(np.array([3, 1]), candidates=others)
    text = texts(questions, corpus)
    found = [[text(utterance) for utterance in row] for row in questions.candidates]
    assert found == [[corpus.utterances.text[int(u)] for u in row] for row in others]


@pytest.mark.parametrize("context", [1, 3, 7])
def test_another_context(corpus: Corpus, context: int) -> None:
    every = np.arange(len(corpus.samples.message))
    ours = Batcher(corpus, context=5, candidates=CANDIDATES)
    theirs = Batcher(corpus, context=context, candidates=CANDIDATES)
    found, wanted = ours.questions(every, context=context), theirs.questions(every)
    for each in fields(Questions):
        assert_array_equal(getattr(found, each.name), getattr(wanted, each.name), err_msg=each.name)
    assert_array_equal(ours.answers(every, context=context).addressee, theirs.answers(every).addressee)


def test_no_samples(corpus: Corpus) -> None:
    batcher = Batcher(corpus, context=5, candidates=CANDIDATES)
    none = np.array([], np.int64)
    assert len(batcher.questions(none)) == len(batcher.answers(none).addressee) == 0


BEFORE = (Line("ann", None, "hi"), Line("cat", "ben", "well"), Line("dan", "ann", "so"))


@pytest.mark.parametrize(
    "other",
    [
        Line("ben", "dan", "yes", ("no", "never"), 1),  # another true addressee
        Line("ben", "somebody-absent", "yes", ("no", "never"), 1),
        Line("ben", "ben", "yes", ("no", "never"), 1),
        Line("ben", "ann", "no", ("yes", "never"), 0),  # the same candidates, another label
        Line("ben", "ann", "never", ("no", "yes"), 2),
    ],
)
def test_the_truth_is_not_in_the_questions(tmp_path: Path, other: Line) -> None:
    """Two chats that differ in nothing but the answer make the same question."""
    sample = Line("ben", "ann", "yes", ("no", "never"), 1)
    found = []
    for name, last in (("one", sample), ("other", other)):
        corpus = write_corpus(tmp_path / name, [[*BEFORE, last]], candidates=3)
        batcher = Batcher(corpus, context=5, candidates=3)
        found.append((corpus, batcher.questions(np.arange(1)), batcher.answers(np.arange(1))))
    (corpus, questions, answers), (other_corpus, other_questions, other_answers) = found
    assert (answers.addressee[0], answers.response[0]) != (
        other_answers.addressee[0],
        other_answers.response[0],
    )
    text, other_text = texts(questions, corpus), texts(other_questions, other_corpus)
    for field in fields(Questions):
        ours, theirs = getattr(questions, field.name), getattr(other_questions, field.name)
        if field.name in ("context", "candidates"):  # numbers of utterances, which are sorted by place
            assert ours.shape == theirs.shape
            said = [
                (text(a), other_text(b)) for a, b in zip(ours.ravel(), theirs.ravel(), strict=True) if a >= 0
            ]
            assert all(a == b for a, b in said)
        elif field.name not in ("tokens", "offsets"):
            assert_array_equal(ours, theirs)


def test_the_label_column_is_not_read_for_questions(corpus: Corpus) -> None:
    every = np.arange(len(corpus.samples.message))
    batcher = Batcher(corpus, context=5, candidates=CANDIDATES)
    before = batcher.questions(every)
    labels = corpus.samples.labels[CANDIDATES]
    corpus.samples.labels[CANDIDATES] = (labels + 1) % CANDIDATES
    try:
        other = Batcher(corpus, context=5, candidates=CANDIDATES)
    finally:
        corpus.samples.labels[CANDIDATES] = labels
    assert_array_equal(other.answers(every).response, (batcher.answers(every).response + 1) % CANDIDATES)
    after = other.questions(every)
    for field in fields(Questions):
        assert_array_equal(getattr(before, field.name), getattr(after, field.name))
