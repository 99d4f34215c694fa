"""The order in which training sees its samples: short runs of consecutive ones, from everywhere, shuffled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from towhom.batching import NOBODY
from towhom.corpus import Corpus, Split
from towhom.training.config import TrainingConfig

Made = TypeVar("Made")


def training_samples(corpus: Corpus, context: int) -> NDArray[np.int64]:
    """The samples whose context is all there and whose addressee can be chosen.

    A published file may have somebody address themselves: there is nobody to be told from others then.
    """
    samples = corpus.samples_of(Split.TRAIN, context=context)
    message = corpus.samples.message[samples]
    to_others: NDArray[np.bool_] = corpus.messages.speaker[message] != corpus.messages.addressee[message]
    return samples[to_others]


def unaddressed_messages(corpus: Corpus, context: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Messages of the training documents that name nobody, and how far back the nearest of another person is.

    Only those whose context is all there, and has another person in it.
    """
    messages, distances = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    bounds = corpus.documents.messages
    for document in corpus.documents_of(Split.TRAIN).tolist():
        start, stop = int(bounds[document]), int(bounds[document + 1])
        speaker, addressee = corpus.messages.speaker[start:stop], corpus.messages.addressee[start:stop]
        place = np.arange(stop - start)
        changes = np.diff(speaker, prepend=speaker[:1]) != 0
        distance = place - np.maximum.accumulate(np.where(changes, place, 0)) + 1
        wanted = (addressee == NOBODY) & (place >= context) & (distance <= context)
        messages.append(start + place[wanted])
        distances.append(distance[wanted])
    return np.concatenate(messages), np.concatenate(distances)


class TrainingSamples:
    """The samples that training uses, epoch by epoch. What is random depends on seed and epoch alone.

    Messages that name nobody, if they are wanted, are numbered after the corpus's samples.

    Args:
        corpus: Where they are.
        config: How many of them are in a batch, how many consecutive ones stay together, and which false
            candidates they have.
    """

    def __init__(self, corpus: Corpus, config: TrainingConfig) -> None:
        self._corpus = corpus
        self._config = config
        none = np.empty(0, np.int64)
        found = unaddressed_messages(corpus, config.context) if config.unaddressed else (none, none)
        self.unaddressed, distance = found
        """Messages that name nobody, any of which training may ask about."""
        own = len(corpus.samples.message)
        samples = training_samples(corpus, config.context)
        samples = np.concatenate([samples, own + np.arange(len(self.unaddressed))])
        self._message = np.append(corpus.samples.message, self.unaddressed)
        self._distance: NDArray[np.int64] = np.append(corpus.samples.distance, distance)
        self._samples = samples[np.argsort(self._message[samples], kind="stable")]
        self._document = np.searchsorted(corpus.documents.messages, self._message, side="right") - 1

    def __len__(self) -> int:
        return len(self._samples)

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """The samples of each batch of an epoch."""
        generator = np.random.default_rng([self._config.seed, epoch, 0])
        samples = self._seen_in(epoch)
        document = self._document[samples]
        documents, first = np.unique(document, return_index=True)
        # Runs begin somewhere else in each epoch, so that their borders fall elsewhere.
        size = self._config.run
        shift = generator.integers(0, size, size=len(documents))
        which = np.searchsorted(documents, document)
        run = (np.arange(len(samples)) - first[which] + shift[which]) // size
        changes = np.flatnonzero((np.diff(which) != 0) | (np.diff(run) != 0)) + 1
        runs = np.split(samples, changes)
        order = generator.permutation(len(runs))
        together = self._config.batch // size
        return [
            np.concatenate([runs[i] for i in order[start : start + together]])
            for start in range(0, len(order), together)
        ]

    def candidates(self, epoch: int) -> Callable[[NDArray[np.int64]], NDArray[np.uint32]]:
        """For samples of an epoch, the true response and false ones, (B, 1 + false), in this order."""
        if self._config.drawn == "document":
            return self._from_documents(epoch)
        size, false = self._config.candidates, self._config.false
        generator = np.random.default_rng([self._config.seed, epoch, 1])
        count = len(self._corpus.samples.message)
        drawn = generator.integers(1, size, size=count, dtype=np.uint8)
        table, labels = self._corpus.samples.candidates[size], self._corpus.samples.labels[size]

        def choose(samples: NDArray[np.int64]) -> NDArray[np.uint32]:
            true = labels[samples].astype(np.int64)[:, None]
            # The one that was drawn, and those after it, the true one left out.
            ahead = (drawn[samples][:, None] - 1 + np.arange(false)) % (size - 1) + 1
            places = np.concatenate([true, (true + ahead) % size], axis=1)
            return np.take_along_axis(table[samples], places, axis=1)

        return choose

    def seen(self, epoch: int, number: int, samples: NDArray[np.int64]) -> tuple[int, NDArray[np.bool_]]:
        """How much of the context a batch sees, and which of its samples have their addressee in it."""
        generator = np.random.default_rng([self._config.seed, epoch, 2, number])
        distance = self._distance[samples]
        context = self._config.context
        if context > 1 and generator.random() < self._config.short:
            shorter = int(generator.integers(1, context))
            if (distance <= shorter).any():
                context = shorter
        return context, distance <= context

    def _seen_in(self, epoch: int) -> NDArray[np.int64]:
        """All samples, and as many of the messages that name nobody as are wanted, others in each epoch."""
        if not len(self.unaddressed):
            return self._samples
        generator = np.random.default_rng([self._config.seed, epoch, 3])
        drawn = generator.random(len(self._samples)) < self._config.unaddressed
        return self._samples[drawn | (self._samples < len(self._corpus.samples.message))]

    def _from_documents(self, epoch: int) -> Callable[[NDArray[np.int64]], NDArray[np.uint32]]:
        documents, messages, document = self._corpus.documents, self._message, self._document

        def choose(samples: NDArray[np.int64]) -> NDArray[np.uint32]:
            # By the sample, not by the order in which batches are asked for: a resumed run draws the same.
            generator = np.random.default_rng([self._config.seed, epoch, 1, int(samples[0])])
            true = messages[samples].astype(np.int64)[:, None]
            first, end = documents.messages[document[samples]], documents.messages[document[samples] + 1]
            share = generator.random((len(samples), self._config.false))
            false = first[:, None] + (share * (end - first - 1)[:, None]).astype(np.int64)
            false += false >= true  # any message of the document but the true one
            return np.concatenate([true, false], axis=1).astype(np.uint32)

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
