"""Language models are read from files as they are published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader
from numpy.testing import assert_allclose, assert_array_equal
from tokenizers import Tokenizer

from tests.training.crosstalk.language_models import (
    INNER,
    LAYERS,
    NAMES,
    WIDTH,
    tokenizer,
    write_language_model,
)
from towhom.crosstalk import reader
from towhom.crosstalk.reader import rotations
from towhom.errors import ConfigError
from towhom.training.crosstalk.language_model import LanguageModel, read_language_model


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_language_model(tmp_path_factory.mktemp("language") / "tiny.gguf")


@pytest.fixture(scope="module")
def model(path: Path) -> LanguageModel:
    return read_language_model(path, LAYERS)


def test_its_weights(model: LanguageModel) -> None:
    tokens = len(tokenizer()["model"]["vocab"])
    shapes = reader.shapes(tokens, width=WIDTH, inner=INNER, layers=LAYERS, keys=64, compared=1)
    expected = {name: shape for name, shape in shapes.items() if name == "reader.tokens" or name[7].isdigit()}
    assert {name: array.shape for name, array in model.weights.items()} == expected
    assert all(array.dtype == np.float32 for array in model.weights.values())


def test_some_of_its_layers(path: Path, model: LanguageModel) -> None:
    found = read_language_model(path, 1).weights
    assert set(found) < set(model.weights)
    assert not any(name.startswith("reader.1.") for name in found)
    for name, array in found.items():
        assert_array_equal(array, model.weights[name], err_msg=name)


def test_heads_are_turned_as_published(path: Path, model: LanguageModel) -> None:
    """A published model turns neighbours; what a query finds in a key is the same where halves are turned."""
    published = {tensor.name: tensor.data for tensor in GGUFReader(path).tensors}
    random = np.random.default_rng(3)
    x, places = random.normal(size=(2, WIDTH)).astype(np.float32), np.array([5, 17])
    cosines, sines = (each[:, 0] for each in rotations(places))

    def neighbours(head: Any) -> Any:
        one, other = head[:, ::2], head[:, 1::2]
        return np.stack([one * cosines - other * sines, one * sines + other * cosines], axis=2).reshape(2, 64)

    def halves(head: Any) -> Any:
        one, other = head[:, :32], head[:, 32:]
        return np.concatenate([one * cosines - other * sines, one * sines + other * cosines], axis=1)

    for number in range(3):
        rows = slice(64 * number, 64 * number + 64)
        query = neighbours(x @ published["blk.1.attn_q.weight"][rows].T)
        key = neighbours(x @ published["blk.1.attn_k.weight"].T)
        ours = x @ model.weights["reader.1.heads"].T
        assert_allclose(halves(ours[:, rows]) @ halves(ours[:, WIDTH:-64]).T, query @ key.T, atol=1e-4)
    assert_allclose(ours[:, -64:], x @ published["blk.1.attn_v.weight"].T, atol=1e-5)


def test_its_tokenizer(model: LanguageModel) -> None:
    ours, theirs = (Tokenizer.from_str(json.dumps(each)) for each in (model.tokenizer, tokenizer()))
    for text in ("Anna: Tom: did that help?\n", " x11 12345", "ça va 日本 🙂", ""):
        assert ours.encode(text).ids == theirs.encode(text).ids
        assert ours.decode(ours.encode(text).ids) == text
    assert model.names == NAMES


def test_where_it_comes_from(model: LanguageModel) -> None:
    found = model.origin.record()
    assert (found["file"], found["name"], found["licence"], found["layers"]) == (
        "tiny.gguf", "Tiny", "apache-2.0", LAYERS,
    )  # fmt: skip
    assert len(found["sha256"]) == 64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"architecture": "gpt2"}, "a language model of the architecture gpt2; expected llama"),
        ({"layers": 2}, "has 2 layers; expected 3 or more"),
        ({"heads": 6}, "the length of a head is 32; expected 64"),
        ({"period": 10_000.0}, "the longest period of rotations is 10000; expected 100000"),
        ({"split": "llama-bpe"}, "is gpt2 with llama-bpe; expected gpt2 with smollm"),
        ({"names": 4}, "4 first names are one token of this language model; expected 10 or more"),
        ({"without": "blk.1.ffn_up"}, "the language model has no blk.1.ffn_up.weight"),
    ],
    ids=lambda value: "" if isinstance(value, str) else "".join(value),
)
def test_another_language_model(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = write_language_model(tmp_path / "other.gguf", **options)
    with pytest.raises(ConfigError, match=f"other.gguf: .*{message}"):
        read_language_model(path, LAYERS)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"hello " * 100, b"GGUF" + bytes(40)])
def test_no_language_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "none.gguf"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"none\.gguf: this is "):
        read_language_model(path, LAYERS)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this is not a language model in a GGUF file"):
        read_language_model(tmp_path / "none.gguf", LAYERS)
