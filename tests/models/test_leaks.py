"""What no system must see: what comes later, where a candidate stands, who said it, the truth.

A change takes a document and the place of a sample; it gives a document in which the sample has the same
context, and where it stands now.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.models.rooms import LATER, PEOPLE, places, room, room_text, rooms, write_rooms
from tests.models.systems import NEURAL, assert_same_questions, batcher, in_numpy, selector
from towhom.batching import Questions
from towhom.corpus import Corpus, Split
from towhom.models.registry import SYSTEMS
from towhom.testing.chats import Line
from towhom.text.vocabulary import ModelVocabulary

CONTEXT = 5
CANDIDATES = 3

Document = list[Line]
Change = Callable[[Random, Document, int], tuple[Document, int]]


def other_lines(random: Random, count: int, people: list[str]) -> Document:
    lines = room(random, lines=count, people=3, candidates=CANDIDATES)
    return [said._replace(sender=random.choice(people), text=room_text(random)) for said in lines]


def another_future(random: Random, document: Document, place: int) -> tuple[Document, int]:
    """Other people say other things afterwards; some were named before they came."""
    newcomers = random.sample((*PEOPLE, *LATER), 6)
    return [*document[: place + 1], *other_lines(random, random.randint(10, 30), newcomers)], place


def no_future(random: Random, document: Document, place: int) -> tuple[Document, int]:
    """The sample is the last that is said."""
    return document[: place + 1], place


def another_past(random: Random, document: Document, place: int) -> tuple[Document, int]:
    """What was said before the context is different, but the same people have spoken."""
    start = max(0, place - CONTEXT)
    people = [said.sender for said in document[:start]]
    random.shuffle(people)
    past = [line for name in people for line in other_lines(random, random.randint(1, 2), [name])]
    return [*past, *document[start:]], len(past) + place - start


def another_truth(random: Random, document: Document, place: int) -> tuple[Document, int]:
    """Another candidate is the true one, and is meant for somebody else."""
    said = document[place]
    label = (said.label + random.randint(1, CANDIDATES - 1)) % CANDIDATES
    others = list(said.candidates)
    text = others.pop(label)
    present = sorted({other.sender for other in document[:place]} - {said.addressee})
    addressee = random.choice([*present, "somebody-absent"])
    changed = Line(said.sender, addressee, text, tuple(others), label)
    return [*document[:place], changed, *document[place + 1 :]], place


def candidates_said_by_others(
    random: Random, document: Document, place: int, *, before: bool, after: bool
) -> tuple[Document, int]:
    """Other people say what the candidates say, to others, before the context or when the sample is over."""
    start = max(0, place - CONTEXT)
    known = [said.sender for said in document[:start]]

    def copies(people: list[str]) -> Document:
        texts = random.sample(document[place].candidates, CANDIDATES)
        return [Line(random.choice(people), random.choice(PEOPLE), text) for text in texts if people]

    first = copies(known) if before else []
    last = copies(list(PEOPLE)) if after else []
    return [*document[:start], *first, *document[start:], *last], place + len(first)


CHANGES: dict[str, Change] = {
    "no future": no_future,
    "another future": another_future,
    "another past": another_past,
    "another truth": another_truth,
    "candidates said before": partial(candidates_said_by_others, before=True, after=False),
    "candidates said after": partial(candidates_said_by_others, before=False, after=True),
}


class Asked:
    """Samples of some documents, each in a document of its own."""

    def __init__(self, corpus: Corpus, samples: NDArray[np.int64]) -> None:
        self.corpus, self.samples = corpus, samples

    @classmethod
    def of(cls, folder: Path, documents: list[tuple[Document, int]], *, split: Split = Split.TEST) -> Asked:
        corpus = write_rooms(folder, [document for document, _ in documents], split=split)
        number = {where: sample for sample, where in enumerate(places([each for each, _ in documents]))}
        wanted = [number[document, place] for document, (_, place) in enumerate(documents)]
        return cls(corpus, corpus.samples_of(split)[wanted])

    def questions(
        self,
        system: str,
        vocabulary: ModelVocabulary,
        *,
        distinct: bool,
        candidates: NDArray[np.uint32] | None = None,
    ) -> Questions:
        ask = batcher(
            system, self.corpus, vocabulary, context=CONTEXT, candidates=CANDIDATES, distinct=distinct
        )
        return ask.questions(self.samples, candidates=candidates)


def assert_same_answer(
    system: str,
    vocabulary: ModelVocabulary,
    ours: Asked,
    theirs: Asked,
    candidates: NDArray[np.uint32] | None = None,
) -> None:
    """The same questions, to the letter, and the same scores, in torch and without.

    Where an utterance that occurs again is given each time, numbers of utterances tell nothing of where they
    stand, and everything is equal. Where it is given once they are sorted by place: scores must not show it.
    """
    for distinct in (False, True):
        one = ours.questions(system, vocabulary, distinct=distinct)
        other = theirs.questions(system, vocabulary, distinct=distinct, candidates=candidates)
        if not distinct:
            assert_same_questions(other, one)
        systems = [(selector(system, ours.corpus, vocabulary), selector(system, theirs.corpus, vocabulary))]
        if system in NEURAL:
            systems.append((in_numpy(system, vocabulary), in_numpy(system, vocabulary)))
        for first, second in systems:
            expected, found = first.score_many(one), second.score_many(other)
            for name, values in vars(expected).items():
                if values is None:
                    assert getattr(found, name) is None
                else:
                    tolerance = 1e-6 if distinct else 0
                    assert_allclose(getattr(found, name), values, rtol=0, atol=tolerance, err_msg=name)


@pytest.fixture(scope="module")
def chosen() -> list[tuple[Document, int]]:
    """Samples from the beginning, the middle and the end of documents, with few people and with many."""
    documents = rooms(candidates=CANDIDATES)
    every = places(documents)
    return [(documents[document], place) for document, place in Random(4).sample(every, 40)]


@pytest.fixture(scope="module")
def as_it_was(tmp_path_factory: pytest.TempPathFactory, chosen: list[tuple[Document, int]]) -> Asked:
    return Asked.of(tmp_path_factory.mktemp("before"), chosen)


@pytest.fixture(scope="module")
def changed(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[tuple[Document, int]]
) -> Callable[[str], Asked]:
    """The same samples in changed documents, by the name of the change."""
    done: dict[str, Asked] = {}

    def change(name: str) -> Asked:
        if name not in done:
            random = Random(9)
            documents = [CHANGES[name](random, document, place) for document, place in chosen]
            done[name] = Asked.of(tmp_path_factory.mktemp("after"), documents)
        return done[name]

    return change


EVERY = tuple(SYSTEMS)


@pytest.mark.parametrize("system", EVERY)
class TestWhatMustNotMatter:
    @pytest.mark.parametrize("change", CHANGES)
    def test_documents(
        self,
        system: str,
        change: str,
        as_it_was: Asked,
        changed: Callable[[str], Asked],
        vocabulary: ModelVocabulary,
    ) -> None:
        assert_same_answer(system, vocabulary, as_it_was, changed(change))

    def test_the_order_and_the_names_of_documents(
        self,
        system: str,
        chosen: list[tuple[Document, int]],
        as_it_was: Asked,
        tmp_path: Path,
        vocabulary: ModelVocabulary,
    ) -> None:
        order = np.random.default_rng(1).permutation(len(chosen))
        shuffled = Asked.of(tmp_path, [chosen[number] for number in order], split=Split.DEV)
        back = Asked(shuffled.corpus, shuffled.samples[np.argsort(order)])
        names = [
            {each.corpus.documents.names[number] for number in each.corpus.documents_of(split).tolist()}
            for each, split in ((as_it_was, Split.TEST), (back, Split.DEV))
        ]
        assert not names[0] & names[1]
        assert_same_answer(system, vocabulary, as_it_was, back)

    def test_where_a_candidate_stands(
        self,
        system: str,
        as_it_was: Asked,
        tmp_path: Path,
        chosen: list[tuple[Document, int]],
        vocabulary: ModelVocabulary,
    ) -> None:
        """Whichever of the messages is taken that say the same: the true one need not be the sample's own."""
        random = Random(6)
        copied = [
            candidates_said_by_others(random, document, place, before=True, after=True)
            for document, place in chosen
        ]
        copies = Asked.of(tmp_path, copied)
        for which in (0, -1, None):
            candidates, moved = elsewhere(copies, which)
            assert moved > 0.2
            assert_same_answer(system, vocabulary, as_it_was, copies, candidates)


def elsewhere(asked: Asked, which: int | None) -> tuple[NDArray[np.uint32], float]:
    """Other utterances for the candidates, with the same texts: the first of the document, the last, or any.

    Also the share of candidates that have become another utterance.
    """
    corpus, random = asked.corpus, Random(1)
    old = corpus.samples.candidates[CANDIDATES][asked.samples]
    new = old.copy()
    starts = corpus.documents.messages
    for row, sample in enumerate(asked.samples):
        document = np.searchsorted(corpus.documents.samples, sample, side="right") - 1
        said = range(starts[document], starts[document + 1])
        for place, utterance in enumerate(old[row].tolist()):
            same = [
                other for other in said if corpus.utterances.text[other] == corpus.utterances.text[utterance]
            ]
            new[row, place] = random.choice(same) if which is None else same[which]
    return new, float((new != old).mean())


def test_the_samples_of_these_tests(
    as_it_was: Asked, changed: Callable[[str], Asked], vocabulary: ModelVocabulary
) -> None:
    """All that may matter is there, and the changes change something."""
    ours = as_it_was.corpus
    messages = int(ours.documents.messages[-1])
    candidates = ours.samples.candidates[CANDIDATES][as_it_was.samples]
    assert 0.2 < (candidates < messages).mean() < 0.8  # said by somebody, or by nobody
    for name in CHANGES:
        theirs = changed(name)
        assert list(theirs.corpus.vocabulary.words) == list(ours.vocabulary.words)
        assert theirs.corpus.manifest["hash"] != ours.manifest["hash"]
    truths = [
        batcher("sirnn", each.corpus, vocabulary, context=CONTEXT, candidates=CANDIDATES).answers(
            each.samples
        )
        for each in (as_it_was, changed("another truth"))
    ]
    assert (truths[0].response != truths[1].response).all()
    assert (truths[0].addressee != truths[1].addressee).mean() > 0.5
