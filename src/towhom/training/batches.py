"""The order in which training sees its samples: short runs of consecutive ones, from everywhere, shuffled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from towhom.corpus import Corpus, Split

Made = TypeVar("Made")


def training_samples(corpus: Corpus, context: int) -> NDArray[np.int64]:
    """The samples whose context is all there and whose addressee can be chosen.

    A published file may have somebody address themselves: there is nobody to be told from others then.
    """
    samples = corpus.samples_of(Split.TRAIN, context=context)
    message = corpus.samples.message[samples]
    to_others: NDArray[np.bool_] = corpus.messages.speaker[message] != corpus.messages.addressee[message]
    return samples[to_others]


class TrainingSamples:
    """The samples that training uses, epoch by epoch. What is random depends on seed and epoch alone.

    Args:
        corpus: Where they are.
        context: T.
        candidates: C.
        batch: Samples of a batch, at most.
        run: Consecutive samples of a document that stay together.
        seed: For the order and the false candidates.
    """

    def __init__(
        self, corpus: Corpus, *, context: int, candidates: int, batch: int, run: int, seed: int
    ) -> None:
        self._corpus = corpus
        self._samples = training_samples(corpus, context)
        self._document = np.searchsorted(corpus.documents.samples, self._samples, side="right") - 1
        self._candidates = candidates
        self._batch = batch
        self._run = run
        self._seed = seed

    def __len__(self) -> int:
        return len(self._samples)

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """The samples of each batch of an epoch."""
        generator = np.random.default_rng([self._seed, epoch, 0])
        documents, first = np.unique(self._document, return_index=True)
        # Runs begin somewhere else in each epoch, so that their borders fall elsewhere.
        shift = generator.integers(0, self._run, size=len(documents))
        which = np.searchsorted(documents, self._document)
        run = (np.arange(len(self._samples)) - first[which] + shift[which]) // self._run
        changes = np.flatnonzero((np.diff(which) != 0) | (np.diff(run) != 0)) + 1
        runs = np.split(self._samples, changes)
        order = generator.permutation(len(runs))
        together = self._batch // self._run
        return [
            np.concatenate([runs[i] for i in order[start : start + together]])
            for start in range(0, len(order), together)
        ]

    def candidates(self, epoch: int) -> Callable[[NDArray[np.int64]], NDArray[np.uint32]]:
        """For samples of an epoch, the true response and one false one, (B, 2), in this order."""
        generator = np.random.default_rng([self._seed, epoch, 1])
        count = len(self._corpus.samples.message)
        drawn = generator.integers(1, self._candidates, size=count, dtype=np.uint8)
        table = self._corpus.samples.candidates[self._candidates]
        labels = self._corpus.samples.labels[self._candidates]

        def choose(samples: NDArray[np.int64]) -> NDArray[np.uint32]:
            rows, true = table[samples], labels[samples].astype(np.int64)
            false = (true + drawn[samples]) % self._candidates
            each = np.arange(len(samples))
            return np.stack([rows[each, true], rows[each, false]], axis=1)

        return choose


def ahead(make: Callable[[int], Made], first: int, count: int, *, by: int = 3) -> Iterator[Made]:
    """What `make` gives for first, ... count - 1, made in a thread while the one before is in use."""
    with ThreadPoolExecutor(1, thread_name_prefix="towhom-batches") as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for number in range(first, count):
                waiting.append(pool.submit(make, number))
                if len(waiting) > by:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()
