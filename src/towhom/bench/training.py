"""Measures the speed of training and prediction, of the plain padded path, and of the machine itself."""

from __future__ import annotations

import resource
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from towhom.batching import Batcher, Questions
from towhom.corpus import Corpus, Split
from towhom.errors import ConfigError, CorpusError
from towhom.models.neural import NeuralSelector
from towhom.models.registry import system_class, system_config
from towhom.nn.kernels import choose_kernels, keep_memory, tiny_values_flushed
from towhom.text.vectors import WordVectors
from towhom.text.vocabulary import ModelVocabulary
from towhom.training.batches import TrainingSamples
from towhom.training.config import TrainingConfig

_PEAK_SIZE = 1024
_COUNTED = ("sirnn", "sirnn-log", "sirnn-separate")
"""The systems whose encoder's operations are counted by `_operations`."""


@dataclass(frozen=True)
class Path:
    """An implementation, with its model, batcher and optimizer."""

    model: NeuralSelector
    batcher: Batcher
    optimizer: torch.optim.Optimizer

    def step(self, samples: NDArray[np.int64], candidates: NDArray[np.uint32]) -> int:
        """Make a batch and train on it; returns the number of samples."""
        questions = self.batcher.questions(samples, candidates=candidates)
        addressee = torch.from_numpy(self.batcher.answers(samples).addressee.astype(np.int64))
        inputs = self.model.inputs(questions)
        self.model.train()
        self.optimizer.zero_grad()
        true = torch.zeros_like(addressee)
        loss = self.model.loss(self.model(inputs), inputs, addressee, true, false="hardest")
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        return len(samples)

    def predict(self, samples: NDArray[np.int64]) -> int:
        """Make a batch and score it; returns the number of samples."""
        self.model.eval()
        self.model.score_many(self.batcher.questions(samples))
        return len(samples)


@tiny_values_flushed()
def bench_training(
    corpus: Corpus,
    vectors: WordVectors,
    *,
    system: str = "sirnn",
    context: int = 15,
    candidates: int = 2,
    batch: int = 128,
    rounds: int = 10,
) -> dict[str, Any]:
    """Measure samples per second of both paths; for SI-RNN, also the fast one's share of peak matrix speed.

    Raises:
        ConfigError: Settings are wrong; all of them are named.
        CorpusError: The corpus lacks samples for training or for dev.
    """
    training = TrainingConfig(system=system, context=context, candidates=candidates, batch=batch)
    problems = training.problems() + ([] if rounds > 0 else [f"rounds must be positive, is {rounds}"])
    if problems:
        raise ConfigError("; ".join(problems))
    start = perf_counter()
    fast, plain = _paths(corpus, vectors, training)
    samples = TrainingSamples(corpus, training)
    dev = corpus.samples_of(Split.DEV)
    if not len(samples) or not len(dev):
        raise CorpusError(f"{corpus.folder}: there are no samples for training, or none for dev, in it")
    batches, choose = samples.batches(0), samples.candidates(0)
    keep_memory()
    first = batches[0]
    fast.step(first, choose(first))
    ready = perf_counter() - start
    plain.step(first, choose(first))
    rates, questions = _rates(fast, plain, batches, choose, dev, rounds)
    share = {}
    if system in _COUNTED:
        operations = float(np.mean([_operations(q, vectors.dimensions, 50) / len(q) for q in questions]))
        share["share_of_peak"] = round(rates["fast"] * operations / rates["peak"], 3)
    return {
        "system": system,
        "context": context,
        "batch": batch,
        "dimensions": vectors.dimensions,
        "threads": torch.get_num_threads(),
        "kernels": choose_kernels(fast.model.config.hidden).record(),
        "torch_vectors": torch.backends.cpu.get_cpu_capability(),
        "seconds_to_first_batch": round(ready, 2),
        "train_samples_per_second": round(rates["fast"]),
        "plain_samples_per_second": round(rates["plain"]),
        "ratio": round(rates["fast"] / rates["plain"], 1),
        "predict_samples_per_second": round(rates["predict"]),
        "matmul_gflops": round(rates["peak"] / 1e9, 1),
        **share,
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "in_a_batch": {
            "utterances": round(float(np.mean([len(q.offsets) - 1 for q in questions]))),
            "tokens": round(float(np.mean([len(q.tokens) for q in questions]))),
            "distinct_words": round(float(np.mean([len(np.unique(q.tokens)) for q in questions]))),
        },
    }


def _paths(corpus: Corpus, vectors: WordVectors, training: TrainingConfig) -> tuple[Path, Path]:
    """The fast and the plain path, with the same weights."""
    words = list(corpus.vocabulary.words)
    vocabulary = ModelVocabulary.of(vectors, words)
    ids = vocabulary.ids(words)
    config = system_config(training.system, {"dimensions": vectors.dimensions})

    def path(*, plain: bool) -> Path:
        model: NeuralSelector = system_class(training.system)(config, vocabulary.matrix, plain=plain)
        model.init_weights(torch.Generator().manual_seed(0))
        batcher = Batcher(
            corpus,
            context=training.context,
            candidates=training.candidates,
            words=ids,
            distinct=not plain,
        )
        return Path(model, batcher, torch.optim.Adam(model.parameters(), fused=True))

    return path(plain=False), path(plain=True)


def _rates(
    fast: Path,
    plain: Path,
    batches: Sequence[NDArray[np.int64]],
    choose: Callable[[NDArray[np.int64]], NDArray[np.uint32]],
    dev: NDArray[np.int64],
    rounds: int,
) -> tuple[dict[str, float], list[Questions]]:
    """Samples per second of both paths and of prediction, peak operations per second; and some batches."""
    seconds = dict.fromkeys(("fast", "plain", "predict", "peak"), 0.0)
    done = dict.fromkeys(seconds, 0)
    questions = []
    square = torch.randn(_PEAK_SIZE, _PEAK_SIZE)
    # A few batches of each in turn, so that other load on the machine slows all equally.
    for turn in range(rounds):
        for name, path, count in (("fast", fast, 8), ("plain", plain, 1)):
            chosen = [batches[(turn * 8 + i + 1) % len(batches)] for i in range(count)]
            begin = perf_counter()
            for each in chosen:
                done[name] += path.step(each, choose(each))
            seconds[name] += perf_counter() - begin
        first = batches[(turn * 8 + 1) % len(batches)]
        questions.append(fast.batcher.questions(first, candidates=choose(first)))
        begin = perf_counter()
        for i in range(4):
            done["predict"] += fast.predict(np.take(dev, range(i * 512, i * 512 + 512), mode="wrap"))
        seconds["predict"] += perf_counter() - begin
        begin = perf_counter()
        for _ in range(4):
            square @ square
        seconds["peak"] += perf_counter() - begin
        done["peak"] += 4 * 2 * _PEAK_SIZE**3
    return {name: done[name] / seconds[name] for name in seconds}, questions


def _operations(questions: Questions, dimensions: int, hidden: int) -> float:
    """Floating-point operations of SI-RNN's encoders for a batch, forward and backward, of products only.

    A product needs two more in the backward pass; with word vectors, which are fixed, only one.
    """
    square = hidden * hidden
    words, tokens = len(np.unique(questions.tokens)), len(questions.tokens)
    utterances = len(questions.offsets) - 1
    steps = int((questions.sender >= 0).sum())
    addressed = int((questions.addressee >= 0).sum())
    observers = float(
        (questions.participants[:, None] - 1 - (questions.addressee >= 0))[questions.sender >= 0].sum()
    )
    forward = (
        tokens * 3 * square
        + utterances * 11 * square  # the utterances' part in the three units
        + steps * (5 + 3) * square  # the sender's unit, and the sender's state in the observers' unit
        + addressed * (4 + 9) * square  # the addressee in the sender's unit; its unit, with the sender twice
        + observers * 3 * square
    )
    return 2 * (3 * forward + 2 * words * dimensions * 3 * hidden)
