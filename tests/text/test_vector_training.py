"""Vectors trained on tokens: the same each time, of the words that are there often enough."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest

from towhom.errors import MissingExtraError, VectorsError
from towhom.text.vector_training import train_vectors

CHAT = [["sudo", "apt", "install", "vim"], ["apt", "update", "rare"], ["thanks", ",", "that", "worked"]] * 10


def chat() -> Iterator[list[str]]:
    for number, tokens in enumerate(CHAT):
        yield [token for token in tokens if token != "rare" or number < 6]


@pytest.fixture
def _gensim() -> None:
    pytest.importorskip("gensim", exc_type=ImportError)


@pytest.mark.usefixtures("_gensim")
@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
def test_training(method: Literal["skip-gram", "cbow"]) -> None:
    done: list[int] = []
    vectors = train_vectors(
        chat, dimensions=12, epochs=3, min_count=5, seed=7, method=method, progress=done.append
    )
    assert done == [1, 2, 3]
    assert set(vectors.words) == {token for tokens in CHAT for token in tokens} - {"rare"}
    assert vectors.words[0] == "apt"
    assert vectors.matrix.shape == (len(vectors.words), 12)
    assert vectors.matrix.dtype == np.float32
    assert np.isfinite(vectors.matrix).all()
    expected = {"seed": 7, "epochs": 3, "dimensions": 12, "messages": 30, "tokens": 102, "workers": 1}
    assert vectors.source.items() >= expected.items()
    assert method in vectors.source["name"]

    again = train_vectors(chat, dimensions=12, epochs=3, min_count=5, seed=7, method=method)
    assert again.words == vectors.words
    assert np.array_equal(again.matrix, vectors.matrix)
    other = train_vectors(chat, dimensions=12, epochs=3, min_count=5, seed=8, method=method)
    assert not np.array_equal(other.matrix, vectors.matrix)


@pytest.mark.usefixtures("_gensim")
def test_same_in_every_process() -> None:
    program = (
        "from towhom.text.vector_training import train_vectors\n"
        f"vectors = train_vectors(lambda: {CHAT!r}, dimensions=6, seed=3)\n"
        "print(vectors.words, vectors.matrix.tobytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1


@pytest.mark.usefixtures("_gensim")
def test_too_little_to_train_on() -> None:
    with pytest.raises(VectorsError, match="no word is there 50 times in 30 messages of 102 words"):
        train_vectors(chat, min_count=50)
    with pytest.raises(VectorsError, match="no word is there 5 times in 0 messages"):
        train_vectors(lambda: [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dimensions": 0}, "dimensions is 0; it has to be at least 1"),
        ({"epochs": -1}, "epochs is -1"),
        ({"method": "glove"}, "method is 'glove'; it has to be 'skip-gram' or 'cbow'"),
    ],
)
def test_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        train_vectors(chat, **arguments)


def test_without_gensim(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(module: str) -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr("towhom.extras.import_module", absent)
    with pytest.raises(MissingExtraError, match=r"pip install 'towhom\[vectors\]'"):
        train_vectors(chat)
