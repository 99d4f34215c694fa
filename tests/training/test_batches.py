"""Which samples training sees, in which order, with which false candidates; and made ahead of time."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from tests.models.chats import Said, random_document, write_corpus
from towhom.batching import NOBODY, Batcher
from towhom.corpus import Corpus, Split
from towhom.training.batches import TrainingSamples, ahead, training_samples, unaddressed_messages
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
        Said("ann", None, "a"),
        Said("ben", None, "b"),
        Said("ann", "ann", "c", ("d",)),
        Said("ann", "ben", "c", ("d",)),
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


class TestListed:
    """False candidates from those of the sample."""

    def test_one(self, corpus: Corpus) -> None:
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

    @pytest.mark.parametrize("false", [1, 4, 9])
    def test_several(self, corpus: Corpus, false: int) -> None:
        """Each at most once; the first of them is the one that would be drawn alone."""
        every = training_samples(corpus, CONTEXT)
        table, labels = true_and_false(corpus, every)
        choose = training(corpus, false=false).candidates(2)
        found, alone = choose(every), training(corpus).candidates(2)(every)
        assert found.shape == (len(every), 1 + false)
        assert_array_equal(found[:, :2], alone)
        assert_array_equal(choose(every[5:9]), found[5:9])
        for row, label in enumerate(labels.tolist()):
            wrong = Counter(np.delete(table[row], label).tolist())  # some are the same text
            drawn = Counter(found[row, 1:].tolist())
            assert drawn <= wrong
            assert (drawn == wrong) == (false == 9)

    @pytest.mark.parametrize("false", [1, 4])
    def test_anew_in_each_epoch(self, corpus: Corpus, false: int) -> None:
        samples, every = training(corpus, false=false), training_samples(corpus, CONTEXT)
        drawn = [samples.candidates(epoch)(every)[:, 1:] for epoch in range(5)]
        for one, other in combinations(drawn, 2):
            assert (np.sort(one) != np.sort(other)).any(axis=1).mean() > 0.5

    def test_do_not_depend_on_the_batch(self, corpus: Corpus) -> None:
        every = training_samples(corpus, CONTEXT)
        samples = training(corpus)
        whole, part = samples.candidates(1)(every), samples.candidates(1)(every[5:9])
        assert_array_equal(whole[5:9], part)
        other = training(corpus, seed=1).candidates(1)(every)
        assert (whole != other).any()


class TestFromTheDocument:
    """False candidates from all that is said in the sample's document."""

    FALSE = 9

    def samples(self, corpus: Corpus, *, seed: int = 0) -> TrainingSamples:
        return training(corpus, false=self.FALSE, drawn="document", seed=seed)

    def test_never_the_true_one_and_never_from_elsewhere(self, corpus: Corpus) -> None:
        samples = self.samples(corpus)
        messages = corpus.documents.messages
        seen: dict[int, set[int]] = {}
        for epoch in range(100):
            choose = samples.candidates(epoch)
            for each in samples.batches(epoch):
                found = choose(each)
                assert found.shape == (len(each), 1 + self.FALSE)
                true, false = found[:, :1], found[:, 1:]
                assert_array_equal(true[:, 0], corpus.samples.message[each])
                assert (false != true).all()
                document = np.searchsorted(corpus.documents.samples, each, side="right")[:, None] - 1
                assert (false >= messages[document]).all()
                assert (false < messages[document + 1]).all()
                for sample, some in zip(each.tolist(), false.tolist(), strict=True):
                    seen.setdefault(sample, set()).update(some)
        for sample, some in seen.items():  # of the shortest document, every message comes up
            number = int(np.searchsorted(corpus.documents.samples, sample, side="right")) - 1
            first, end = messages[number : number + 2].tolist()
            if end - first == 12:
                assert some == set(range(first, end)) - {int(corpus.samples.message[sample])}
        assert {12, 60} <= set(np.diff(messages).tolist())

    def test_the_true_one_is_that_of_the_sample(self, corpus: Corpus) -> None:
        every = training_samples(corpus, CONTEXT)
        table, labels = true_and_false(corpus, every)
        found = self.samples(corpus).candidates(0)(every)
        assert_array_equal(found[:, 0], table[np.arange(len(every)), labels])

    def test_a_resumed_epoch_draws_the_same(self, corpus: Corpus) -> None:
        """Whatever was asked for before."""
        samples = self.samples(corpus)
        batches, choose = samples.batches(3), samples.candidates(3)
        drawn = [choose(each) for each in batches]
        again = self.samples(corpus).candidates(3)
        for number in (4, 1, 3):
            assert_array_equal(again(batches[number]), drawn[number])

    def test_anew_by_epoch_and_seed(self, corpus: Corpus) -> None:
        every = training_samples(corpus, CONTEXT)
        drawn = [
            self.samples(corpus, seed=seed).candidates(epoch)(every)
            for seed, epoch in ((0, 0), (0, 1), (1, 0))
        ]
        for one, other in combinations(drawn, 2):
            assert (one[:, 1:] != other[:, 1:]).any(axis=1).mean() > 0.9

    def test_samples_of_a_batch_draw_each_for_themselves(self, corpus: Corpus) -> None:
        every = training_samples(corpus, CONTEXT)
        places = self.samples(corpus).candidates(0)(every)[:, 1:].astype(np.int64)
        assert len({tuple(row) for row in places.tolist()}) == len(every)


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


class TestUnaddressed:
    """Messages that name nobody, beside the samples."""

    def test_which(self, corpus: Corpus) -> None:
        expected = {}
        bounds = corpus.documents.messages.tolist()
        for document in corpus.documents_of(Split.TRAIN).tolist():
            speakers = corpus.messages.speaker[bounds[document] : bounds[document + 1]].tolist()
            for place in range(CONTEXT, len(speakers)):
                others = [back for back in range(1, place + 1) if speakers[place - back] != speakers[place]]
                if corpus.messages.addressee[bounds[document] + place] == NOBODY and others[0] <= CONTEXT:
                    expected[bounds[document] + place] = others[0]
        messages, distances = unaddressed_messages(corpus, CONTEXT)
        assert dict(zip(messages.tolist(), distances.tolist(), strict=True)) == expected
        assert len(expected) > 40
        assert max(expected.values()) > 1

    def test_nobody_else_is_there(self, tmp_path: Path) -> None:
        corpus = write_corpus(tmp_path, [[Said("ann", None, "a")] * 9 + [Said("ben", "ann", "b", ("c",))]])
        assert unaddressed_messages(corpus, 2)[0].tolist() == []

    @pytest.mark.parametrize("share", [0.4, 1.0])
    def test_an_epoch(self, share: float, corpus: Corpus) -> None:
        samples = training(corpus, unaddressed=share, drawn="document")
        own, more = len(corpus.samples.message), samples.unaddressed
        seen = [np.concatenate(samples.batches(epoch)) for epoch in range(25)]
        for each in seen:
            assert sorted(each[each < own].tolist()) == training_samples(corpus, CONTEXT).tolist()
            assert len(set(each.tolist())) == len(each)
        asked = [frozenset((each[each >= own] - own).tolist()) for each in seen]
        assert set().union(*asked) == set(range(len(more)))
        assert np.mean([len(each) for each in asked]) / len(more) == pytest.approx(share, abs=0.05)
        assert len(set(asked)) == (1 if share == 1 else len(asked))

    def test_batches(self, corpus: Corpus) -> None:
        """They stand among the samples as they do in the document; no candidate is from elsewhere."""
        samples = training(corpus, unaddressed=1.0, drawn="document", false=3)
        message = np.append(corpus.samples.message, samples.unaddressed).astype(np.int64)
        bounds, choose = corpus.documents.messages, samples.candidates(0)
        for number, batch in enumerate(samples.batches(0)):
            place = message[batch]
            assert (np.diff(place) > 0).sum() >= len(batch) - 3  # three runs
            document = np.searchsorted(bounds, place, side="right") - 1
            chosen = choose(batch).astype(np.int64)
            assert_array_equal(chosen[:, 0], place)
            assert (chosen[:, 1:] != place[:, None]).all()
            assert (np.searchsorted(bounds, chosen, side="right") - 1 == document[:, None]).all()
            assert samples.seen(0, number, batch)[1].all()

    def test_none(self, corpus: Corpus) -> None:
        assert len(training(corpus).unaddressed) == 0


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
