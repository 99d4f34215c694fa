"""Which samples training sees, in which order, with which false candidates; and made ahead of time."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from towhom.batching import Batcher
from towhom.corpus import Corpus, Split
from towhom.testing.chats import Line, random_document, write_corpus
from towhom.training.batches import TrainingSamples, ahead, training_samples
from towhom.training.config import TrainingConfig

CONTEXT = 4


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    random = Random(2)
    documents = {
        Split.TRAIN: [
            random_document(random, lines=lines, people=4, candidates=10, empty=0)
            for lines in (90, 12, 60, 120)
        ],
        Split.DEV: [random_document(random, lines=50, people=4, candidates=10)],
    }
    return write_corpus(tmp_path_factory.mktemp("chats"), documents, candidates=10)


def training(corpus: Corpus, *, batch: int = 12, run: int = 4, **settings: Any) -> TrainingSamples:
    config = TrainingConfig(context=CONTEXT, candidates=10, batch=batch, run=run, **settings)
    return TrainingSamples(corpus, config)


def true_and_false(
    corpus: Corpus, samples: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """(B, 10) What samples can choose from, and (B,) which it is."""
    return corpus.samples.candidates[10][samples], corpus.samples.labels[10][samples].astype(np.int64)


def test_samples_with_all_of_their_context_and_an_addressee_to_choose(corpus: Corpus) -> None:
    every = np.arange(len(corpus.samples.message))
    batcher = Batcher(corpus, context=CONTEXT, candidates=10)
    full = (batcher.questions(every).context >= 0).all(axis=1)
    known = batcher.answers(every).addressee > 0
    expected = np.flatnonzero(full & known & np.isin(every, corpus.samples_of(Split.TRAIN)))
    assert_array_equal(training_samples(corpus, CONTEXT), expected)
    assert len(training(corpus)) == len(expected) > 40


def test_speaking_to_oneself_is_left_out(tmp_path: Path) -> None:
    chat = [
        Line("ann", None, "a"),
        Line("ben", None, "b"),
        Line("ann", "ann", "c", ("d",)),
        Line("ann", "ben", "c", ("d",)),
    ]
    corpus = write_corpus(tmp_path, [chat])
    assert corpus.samples_of(Split.TRAIN, context=2).tolist() == [0, 1]
    assert training_samples(corpus, 2).tolist() == [1]


@pytest.mark.parametrize(("batch", "run"), [(12, 4), (8, 8), (5, 1), (1000, 10)])
def test_an_epoch_is_every_sample_once(corpus: Corpus, batch: int, run: int) -> None:
    samples = training(corpus, batch=batch, run=run)
    for epoch in range(3):
        batches = samples.batches(epoch)
        assert all(0 < len(each) <= batch for each in batches)
        assert sorted(np.concatenate(batches).tolist()) == training_samples(corpus, CONTEXT).tolist()


def test_batches_are_made_of_runs(corpus: Corpus) -> None:
    usable = training_samples(corpus, CONTEXT).tolist()
    document = np.searchsorted(corpus.documents.samples, usable, side="right").tolist()
    rank = {sample: place for place, sample in enumerate(usable)}
    for each in training(corpus, batch=12, run=4).batches(0):
        places = [rank[sample] for sample in each.tolist()]
        breaks = [
            place
            for place, (one, next_one) in enumerate(pairwise(places), 1)
            if next_one != one + 1 or document[one] != document[next_one]
        ]
        assert len(breaks) <= 2  # three runs of four
        runs = np.split(np.array(places), breaks)
        assert all(len({document[place] for place in run}) == 1 for run in runs)


def test_borders_of_runs_fall_elsewhere_in_each_epoch(corpus: Corpus) -> None:
    samples = training(corpus, batch=4, run=4)
    firsts = {frozenset(int(each[0]) for each in samples.batches(epoch)) for epoch in range(6)}
    assert len(firsts) > 1


def test_order_depends_on_seed_and_epoch_alone(corpus: Corpus) -> None:
    def order(seed: int, epoch: int) -> list[int]:
        found: list[int] = np.concatenate(training(corpus, seed=seed).batches(epoch)).tolist()
        return found

    assert order(0, 3) == order(0, 3)
    assert order(0, 3) != order(0, 4)
    assert order(0, 3) != order(1, 3)


class TestFalseCandidate:
    def test_anew_in_each_epoch(self, corpus: Corpus) -> None:
        samples = training(corpus)
        every = training_samples(corpus, CONTEXT)
        table, labels = true_and_false(corpus, every)
        rows = np.arange(len(every))
        drawn = []
        for epoch in range(100):
            pairs = samples.candidates(epoch)(every)
            assert pairs.shape == (len(every), 2)
            assert_array_equal(pairs, samples.candidates(epoch)(every))
            assert_array_equal(pairs[:, 0], table[rows, labels])
            place = (table == pairs[:, 1:]) & (np.arange(10) != labels[:, None])
            assert place.any(axis=1).all()  # one of the false ones
            drawn.append(pairs[:, 1])
        assert len({tuple(each) for each in drawn}) == 100
        for row, seen in enumerate(np.array(drawn).T):
            assert set(seen.tolist()) == set(np.delete(table[row], labels[row]).tolist())

    def test_does_not_depend_on_the_batch(self, corpus: Corpus) -> None:
        every = training_samples(corpus, CONTEXT)
        samples = training(corpus)
        whole, part = samples.candidates(1)(every), samples.candidates(1)(every[5:9])
        assert_array_equal(whole[5:9], part)
        other = training(corpus, seed=1).candidates(1)(every)
        assert (whole != other).any()


class TestAhead:
    @pytest.mark.parametrize("by", [1, 3, 100])
    def test_in_order(self, by: int) -> None:
        assert list(ahead(lambda number: number * number, 2, 9, by=by)) == [4, 9, 16, 25, 36, 49, 64]
        assert list(ahead(lambda number: number, 5, 5, by=by)) == []

    def test_in_another_thread_and_not_too_far(self) -> None:
        made: list[tuple[int, str]] = []

        def make(number: int) -> int:
            made.append((number, threading.current_thread().name))
            return number

        stream = ahead(make, 0, 100, by=2)
        assert next(stream) == 0
        assert next(stream) == 1
        stream.close()  # type: ignore[attr-defined]
        assert len(made) <= 4
        assert all(name.startswith("towhom-batches") for _, name in made)

    def test_an_exception_comes_in_its_place(self) -> None:
        def make(number: int) -> int:
            if number == 3:
                raise LookupError("no such batch")
            return number

        stream = ahead(make, 0, 10)
        assert [next(stream) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(LookupError, match="no such batch"):
            next(stream)

    def test_no_thread_is_left(self) -> None:
        before = set(threading.enumerate())
        stream = ahead(lambda number: number, 0, 50)
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert set(threading.enumerate()) <= before


class TestShort:
    """How much of the context a batch sees."""

    def test_all_of_it(self, corpus: Corpus) -> None:
        samples = training(corpus)
        for number, batch in enumerate(samples.batches(0)):
            context, some = samples.seen(0, number, batch)
            assert context == CONTEXT
            assert some.all()

    @pytest.mark.parametrize("share", [0.5, 1.0])
    def test_some_see_less(self, share: float, corpus: Corpus) -> None:
        samples = training(corpus, short=share)
        seen = []
        for epoch in range(25):
            for number, batch in enumerate(samples.batches(epoch)):
                context, some = samples.seen(epoch, number, batch)
                assert some.any()
                assert_array_equal(some, corpus.samples.distance[batch] <= context)
                answers = Batcher(corpus, context=context, candidates=10).answers(batch[some])
                assert (answers.addressee > 0).all()
                seen.append(context)
        assert {1, 2, 3} <= set(seen)
        assert np.mean(np.array(seen) < CONTEXT) == pytest.approx(share, abs=0.15)

    def test_depends_on_seed_epoch_and_number_alone(self, corpus: Corpus) -> None:
        def seen(seed: int, epoch: int) -> list[int]:
            samples = training(corpus, short=1.0, seed=seed)
            every = corpus.samples_of(Split.TRAIN, context=CONTEXT)
            return [samples.seen(epoch, number, every)[0] for number in range(20)]

        assert seen(0, 0) == seen(0, 0)
        assert seen(0, 0) != seen(0, 1)
        assert seen(0, 0) != seen(1, 0)

    def test_none_left(self, corpus: Corpus) -> None:
        """A batch whose addressees are all further back sees all of the context."""
        samples = training(corpus, short=1.0)
        far = np.flatnonzero(corpus.samples.distance == CONTEXT)[:3]
        assert len(far) == 3
        for number in range(9):
            context, some = samples.seen(0, number, far)
            assert context == CONTEXT
            assert some.all()

    def test_there_is_nothing_shorter(self, corpus: Corpus) -> None:
        config = TrainingConfig(context=1, candidates=10, short=1.0)
        samples = TrainingSamples(corpus, config)
        assert samples.seen(0, 0, samples.batches(0)[0])[0] == 1
