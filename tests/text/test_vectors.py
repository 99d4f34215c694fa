"""Sets of word vectors: lookup, folders, two side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from towhom.errors import VectorsError
from towhom.text.vectors import WordVectors, concatenate


@pytest.fixture
def vectors() -> WordVectors:
    matrix = np.array([[1, 2], [3, 4], [5, 9]], dtype=np.float32)
    return WordVectors(("yes", "no", "größe"), matrix, {"name": "by hand"})


def test_lookup_gives_unknown_words_the_mean(vectors: WordVectors) -> None:
    found = vectors.lookup(["no", "never", "yes", "no", "nowhere"])
    assert found.dtype == np.float32
    assert found.tolist() == [[3, 4], [3, 5], [1, 2], [3, 4], [3, 5]]
    assert vectors.lookup([]).shape == (0, 2)


def test_lookup_is_a_copy(vectors: WordVectors) -> None:
    vectors.lookup(["yes"])[:] = 7
    assert vectors.lookup(["yes"]).tolist() == [[1, 2]]


def test_coverage(vectors: WordVectors) -> None:
    assert vectors.coverage(["no", "never", "yes", "no"]) == 0.75
    assert vectors.coverage([]) == 0
    assert "yes" in vectors
    assert "never" not in vectors
    assert (len(vectors), vectors.dimensions) == (3, 2)


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (("a",), np.zeros((2, 3), np.float32), "1 words, but 2 vectors"),
        (("a", "a"), np.zeros((2, 3), np.float32), "1 of the words are there more than once"),
        ((), np.zeros((0, 3), np.float32), "no words"),
        (("a",), np.zeros((1, 3)), "found float64"),
        (("a",), np.zeros(3, np.float32), r"shape \(3,\)"),
        (("a",), np.zeros((1, 0), np.float32), r"shape \(1, 0\)"),
    ],
)
def test_words_and_matrix_must_fit(words: tuple[str, ...], matrix: NDArray[Any], message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        WordVectors(words, matrix)


def test_folder(vectors: WordVectors, tmp_path: Path) -> None:
    for _ in range(2):
        vectors.save(tmp_path / "deep" / "vectors")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["vectors"]
    again = WordVectors.load(tmp_path / "deep" / "vectors")
    assert again.words == vectors.words
    assert again.source == vectors.source
    assert again.matrix.dtype == np.float32
    assert np.array_equal(again.matrix, vectors.matrix)


def test_folder_keeps_rows_of_a_view(vectors: WordVectors, tmp_path: Path) -> None:
    WordVectors(vectors.words, np.asfortranarray(vectors.matrix)).save(tmp_path / "v")
    assert np.array_equal(WordVectors.load(tmp_path / "v").matrix, vectors.matrix)


def test_load_names_what_is_missing(vectors: WordVectors, tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="nowhere: there is no such folder"):
        WordVectors.load(tmp_path / "nowhere")
    with pytest.raises(VectorsError, match=r"no vectors\.json and no vectors\.safetensors in it"):
        WordVectors.load(tmp_path)
    vectors.save(tmp_path / "v")
    (tmp_path / "v" / "vectors.safetensors").unlink()
    with pytest.raises(VectorsError, match=r": no vectors\.safetensors in it"):
        WordVectors.load(tmp_path / "v")


def test_load_refuses_garbage(vectors: WordVectors, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    vectors.save(folder)
    matrix, description = folder / "vectors.safetensors", folder / "vectors.json"
    good = description.read_text()

    matrix.write_bytes(matrix.read_bytes()[:-4])
    with pytest.raises(VectorsError, match=r"vectors\.safetensors: damaged"):
        WordVectors.load(folder)
    save_file({"other": np.zeros(3)}, matrix)
    with pytest.raises(VectorsError, match=r"vectors\.safetensors: damaged, .* 'matrix'"):
        WordVectors.load(folder)
    save_file({"matrix": np.zeros((2, 2), np.float32)}, matrix)
    with pytest.raises(VectorsError, match="do not belong together: 3 words, but 2 vectors"):
        WordVectors.load(folder)
    for bad in ("", "[]", "{}", good[:-5], "null"):
        description.write_text(bad)
        with pytest.raises(VectorsError, match=r"vectors\.json: damaged"):
            WordVectors.load(folder)
    description.write_text(json.dumps(json.loads(good) | {"version": 99}))
    with pytest.raises(VectorsError, match="version 99; this towhom reads version 1"):
        WordVectors.load(folder)


def test_concatenate(vectors: WordVectors) -> None:
    other = WordVectors(("maybe", "no"), np.array([[10], [20]], dtype=np.float32), {"name": "other"})
    both = concatenate(vectors, other, ["maybe", "yes", "never", "no", "no"])
    assert both.words == ("maybe", "yes", "no")
    assert both.matrix.tolist() == [[3, 5, 10], [1, 2, 15], [3, 4, 20]]
    assert both.source == {"concatenated": [{"name": "by hand"}, {"name": "other"}]}
    with pytest.raises(VectorsError, match="none of the 1 words is in either set"):
        concatenate(vectors, other, ["never"])
