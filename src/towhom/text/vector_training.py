"""Word vectors trained on the chat itself, with gensim's word2vec.

Chat has words that published files lack: packages, commands, bots. Vectors trained on the chat include them,
and `concatenate` joins them to the published ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from towhom.errors import VectorsError
from towhom.extras import require
from towhom.text.vectors import WordVectors


def train_vectors(
    sentences: Callable[[], Iterable[Sequence[str]]],
    *,
    dimensions: int = 100,
    epochs: int = 5,
    window: int = 5,
    min_count: int = 5,
    seed: int = 0,
    workers: int = 1,
    method: Literal["skip-gram", "cbow"] = "skip-gram",
    progress: Callable[[int], None] | None = None,
) -> WordVectors:
    """Train word vectors on tokenized messages (Mikolov et al., 2013: negative sampling, five negatives).

    With one worker the result depends only on the arguments; with more, also on the order in which they
    finish.

    Args:
        sentences: Returns the messages from the start each time it is called: once to count the words, then
            once for each epoch.
        dimensions: Numbers in a vector.
        epochs: Passes over the messages.
        window: Most words on either side that count as a word's context.
        min_count: Words that occur less often get no vector.
        seed: Seed of the initial values, the negatives and the sampling.
        workers: Number of threads.
        method: Predict the context from the word ("skip-gram") or the word from its context ("cbow").
        progress: Called after each epoch with the number of epochs done.

    Raises:
        VectorsError: No word occurs `min_count` times, or an argument is invalid.
        MissingExtraError: gensim is not installed.

    >>> chat = [["sudo", "apt", "install", "vim"], ["sudo", "apt", "update"]] * 20
    >>> vectors = train_vectors(lambda: chat, dimensions=8)
    >>> sorted(vectors.words)
    ['apt', 'install', 'sudo', 'update', 'vim']
    >>> vectors.matrix.shape
    (5, 8)
    """
    numbers = {
        "dimensions": dimensions,
        "epochs": epochs,
        "window": window,
        "min_count": min_count,
        "workers": workers,
    }
    _check(numbers, method)
    gensim = require("gensim", extra="vectors", purpose="training word vectors")
    models = require("gensim.models", extra="vectors", purpose="training word vectors")
    model: Any = models.Word2Vec(
        vector_size=dimensions,
        window=window,
        min_count=min_count,
        seed=seed,
        workers=workers,
        sg=int(method == "skip-gram"),
        # Python's own hash of a string differs between processes.
        hashfxn=_stable_hash,
    )
    corpus = _Again(sentences)
    model.build_vocab(corpus)
    if not len(model.wv):
        raise VectorsError(
            f"no word is there {min_count} times in {model.corpus_count} messages "
            f"of {model.corpus_total_words} words: nothing to train vectors on"
        )
    model.train(
        corpus,
        total_examples=model.corpus_count,
        epochs=epochs,
        callbacks=[_Epochs(progress)] if progress else [],
    )
    source = {
        "name": f"word2vec, {method}",
        **numbers,
        "seed": seed,
        "messages": int(model.corpus_count),
        "tokens": int(model.corpus_total_words),
        "gensim": gensim.__version__,
    }
    return WordVectors(tuple(model.wv.index_to_key), np.array(model.wv.vectors, dtype=np.float32), source)


def _check(numbers: dict[str, int], method: str) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise VectorsError(f"{name} is {value}; it has to be at least 1")
    if method not in ("skip-gram", "cbow"):
        raise VectorsError(f"method is {method!r}; it has to be 'skip-gram' or 'cbow'")


def _stable_hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


class _Again:
    """Sentences that can be iterated over several times, as gensim requires."""

    def __init__(self, sentences: Callable[[], Iterable[Sequence[str]]]) -> None:
        self._sentences = sentences

    def __iter__(self) -> Iterator[list[str]]:
        return map(list, self._sentences())


class _Epochs:
    """Callbacks for gensim's training; without gensim's base class, since gensim may not be installed."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress = progress
        self._done = 0

    def on_train_begin(self, _: Any) -> None: ...

    def on_epoch_begin(self, _: Any) -> None: ...

    def on_epoch_end(self, _: Any) -> None:
        self._done += 1
        self._progress(self._done)

    def on_train_end(self, _: Any) -> None: ...
