"""Kernels are optional: without them, torch comes to the same scores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.models.chats import Said, word_vectors, write_corpus
from tests.models.systems import NEURAL, batcher, neural
from towhom.corpus import Corpus
from towhom.nn.kernels import cuts, load_kernels, padded, pointer
from towhom.text.vocabulary import ModelVocabulary

CHAT = (
    Said("ann", None, "amber birch cedar"),
    Said("ben", "ann", "delta amber"),
    Said("cat", "ben", "cedar", ("birch birch",)),
    Said("ann", "cat", "amber delta", ("cedar",), 1),
)
ROOM = ModelVocabulary.of(word_vectors(4), ("amber", "birch", "cedar", "delta"))


def scores(corpus: Corpus) -> list[float]:
    """Everything that all systems which have kernels say about the chat."""
    found: list[float] = []
    for system in NEURAL:
        questions = batcher(system, corpus, ROOM, context=3).questions(np.arange(2))
        said = neural(system, ROOM).score_many(questions)
        arrays = (said.addressee, said.response, said.addressee_given, said.response_given)
        found += [value for array in arrays if array is not None for value in array.ravel().tolist()]
    return found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("chat"), [CHAT])


@pytest.fixture
def _fresh() -> Iterator[None]:
    """Kernels are looked for anew, and again when the test is over."""
    load_kernels.cache_clear()
    yield
    load_kernels.cache_clear()


def test_switched_off(corpus: Corpus) -> None:
    script = (
        "import sys; from towhom.corpus import Corpus; from towhom.nn.kernels import load_kernels\n"
        "from tests.nn.test_kernels import scores\n"
        "print(load_kernels(7)); print(scores(Corpus(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(corpus.folder)],
        env={**os.environ, "TOWHOM_KERNELS": "off"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    kernels, printed = done.stdout.splitlines()
    assert kernels == "None"
    found = [float(value) for value in printed.strip("[]").split(",")]
    np.testing.assert_allclose(found, scores(corpus), rtol=0, atol=1e-6)


@pytest.mark.usefixtures("_fresh")
def test_no_compiler(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = scores(corpus)
    load_kernels.cache_clear()
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert load_kernels(7) is None
    np.testing.assert_allclose(scores(corpus), expected, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("compiler", ["/no/such/compiler", "false"])
def test_a_compiler_that_does_not_work(
    compiler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert load_kernels(7) is None
    assert not list(tmp_path.rglob("*.so"))


@pytest.mark.usefixtures("_fresh")
def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert load_kernels(7) is None


@pytest.mark.usefixtures("_fresh")
def test_a_damaged_library_is_not_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if load_kernels(7) is None:
        pytest.skip("there is no compiler")
    (library,) = tmp_path.rglob("*.so")
    damaged = tmp_path / "other" / library.relative_to(tmp_path)  # what is loaded stays loaded
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"not a library")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    load_kernels.cache_clear()
    assert load_kernels(7) is None


@pytest.mark.parametrize(("size", "row"), [(1, 16), (16, 16), (17, 32), (50, 64)])
def test_rows_are_whole_vectors(size: int, row: int) -> None:
    assert padded(size) == row


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("weights", [[], [5], [0, 0], [9, 1, 1, 1, 1, 1], [1] * 10, [0, 0, 8, 0]])
def test_cuts_leave_nothing_out(threads: int, weights: list[int]) -> None:
    torch.set_num_threads(threads)
    found = cuts(torch.tensor(weights, dtype=torch.int64)).tolist()
    assert (found[0], found[-1]) == (0, len(weights))
    assert found == sorted(found)
    assert len(found) - 1 == max(1, min(threads, len(weights)))


def test_cuts_share_the_work() -> None:
    torch.set_num_threads(2)
    assert cuts(torch.tensor([4, 1, 1, 1, 1])).tolist() in ([0, 0, 5], [0, 1, 5])
    assert cuts(torch.tensor([1] * 10)).tolist() in ([0, 4, 10], [0, 5, 10])


def test_only_contiguous_tensors_have_a_pointer() -> None:
    tensor = torch.zeros(3, 4)
    assert pointer(tensor).value == tensor.data_ptr()
    with pytest.raises(ValueError, match="not contiguous"):
        pointer(tensor.T)
