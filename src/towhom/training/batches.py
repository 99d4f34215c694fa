"""The order of training samples: short runs of consecutive samples, shuffled over the whole corpus."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from towhom.corpus import Corpus, Split
from towhom.training.config import TrainingConfig

Made = TypeVar("Made")


def training_samples(corpus: Corpus, context: int) -> NDArray[np.int64]:
    """The training samples with a complete context and an addressee who can be chosen.

    Samples whose speaker addresses themselves, as in some published files, are left out.
    """
    samples = corpus.samples_of(Split.TRAIN, context=context)
    message = corpus.samples.message[samples]
    to_others: NDArray[np.bool_] = corpus.messages.speaker[message] != corpus.messages.addressee[message]
    return samples[to_others]


class TrainingSamples:
    """The samples that training uses, epoch by epoch. Random choices depend only on seed, epoch and batch.

    Args:
        corpus: The corpus with the samples.
        config: The sizes of batches and runs, and the number of candidates.
    """

    def __init__(self, corpus: Corpus, config: TrainingConfig) -> None:
        self._corpus = corpus
        self._config = config
        self._samples = training_samples(corpus, config.context)
        message = corpus.samples.message[self._samples]
        self._document = np.searchsorted(corpus.documents.messages, message, side="right") - 1

    def __len__(self) -> int:
        return len(self._samples)

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """The samples of each batch of an epoch."""
        generator = np.random.default_rng([self._config.seed, epoch, 0])
        documents, first = np.unique(self._document, return_index=True)
        # Runs start at other samples in each epoch, so that their borders vary.
        size = self._config.run
        shift = generator.integers(0, size, size=len(documents))
        which = np.searchsorted(documents, self._document)
        run = (np.arange(len(self._samples)) - first[which] + shift[which]) // size
        changes = np.flatnonzero((np.diff(which) != 0) | (np.diff(run) != 0)) + 1
        runs = np.split(self._samples, changes)
        order = generator.permutation(len(runs))
        together = self._config.batch // size
        return [
            np.concatenate([runs[i] for i in order[start : start + together]])
            for start in range(0, len(order), together)
        ]

    def candidates(self, epoch: int) -> Callable[[NDArray[np.int64]], NDArray[np.uint32]]:
        """A function that gives the candidates of samples, (B, 2): the true response and a false one."""
        size = self._config.candidates
        generator = np.random.default_rng([self._config.seed, epoch, 1])
        count = len(self._corpus.samples.message)
        drawn = generator.integers(1, size, size=count, dtype=np.uint8)
        table, labels = self._corpus.samples.candidates[size], self._corpus.samples.labels[size]

        def choose(samples: NDArray[np.int64]) -> NDArray[np.uint32]:
            true = labels[samples].astype(np.int64)
            places = np.stack([true, (true + drawn[samples]) % size], axis=1)
            return np.take_along_axis(table[samples], places, axis=1)

        return choose

    def seen(self, epoch: int, number: int, samples: NDArray[np.int64]) -> tuple[int, NDArray[np.bool_]]:
        """The length of the context that a batch sees, and which samples have their addressee in it."""
        generator = np.random.default_rng([self._config.seed, epoch, 2, number])
        distance = self._corpus.samples.distance[samples]
        context = self._config.context
        if context > 1 and generator.random() < self._config.short:
            shorter = int(generator.integers(1, context))
            if (distance <= shorter).any():
                context = shorter
        return context, distance <= context


def ahead(make: Callable[[int], Made], first: int, count: int, *, by: int = 3) -> Iterator[Made]:
    """Results of `make` for first, ... count - 1; up to `by` are computed in advance, in another thread."""
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
