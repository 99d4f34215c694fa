"""Vectors to begin with, from a small BERT of random numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from safetensors.torch import save_file
from torch import Tensor, nn

from towhom.errors import ConfigError
from towhom.training.crosstalk import encoder as encoders
from towhom.training.crosstalk.encoder import Encoder

PIECES = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "tea",
    "##pot",
    "milk",
    "kettle",
    "##s",
    "door",
    "o",
    "##pen",
    "?",
)
WORDS = ("tea", "milk", "teapot", "teapots", "kettles", "door", "open", "?", "zzz", "teaz", "日本", "")
WIDTH, INNER, LAYERS = 64, 48, 2


def bert(seed: int = 0) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(PIECES), WIDTH),
        "embeddings.position_embeddings.weight": (16, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        for part, (rows, columns) in {
            **{f"attention.self.{each}": (WIDTH, WIDTH) for each in ("query", "key", "value")},
            "attention.output.dense": (WIDTH, WIDTH),
            "intermediate.dense": (INNER, WIDTH),
            "output.dense": (WIDTH, INNER),
        }.items():
            shapes |= {f"{name}.{part}.weight": (rows, columns), f"{name}.{part}.bias": (rows,)}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{name}.{part}.weight": (WIDTH,), f"{name}.{part}.bias": (WIDTH,)}
    return {name: torch.randn(shape, generator=draw) * 0.3 for name, shape in shapes.items()}


def write(folder: Path, weights: dict[str, Tensor] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    save_file(bert() if weights is None else weights, folder / "model.safetensors")
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", "utf-8")
    return folder


@pytest.fixture
def encoder(tmp_path: Path) -> Encoder:
    return Encoder(write(tmp_path / "bert"))


def test_shape(encoder: Encoder) -> None:
    found = encoder.vectors(WORDS, 8)
    assert found.shape == (len(WORDS), 8)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert_allclose(np.linalg.norm(found, axis=1), 0.1 * 8**0.5, rtol=1e-3)


def test_words_differ(encoder: Encoder) -> None:
    found = encoder.vectors(WORDS, 8)
    assert not np.allclose(found[0], found[1], atol=1e-3)
    assert not np.allclose(found[2], found[3], atol=1e-3)


def test_unknown_words_are_alike(encoder: Encoder) -> None:
    found = encoder.vectors([*WORDS, "qqq"], 8)
    assert_allclose(found[WORDS.index("zzz")], found[-1], atol=1e-5)
    assert_allclose(found[WORDS.index("日本")], found[-1], atol=1e-5)


def test_each_word_alone(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of other lengths beside it change nothing."""
    together = encoder.vectors(WORDS, 8)
    monkeypatch.setattr(encoders, "_AT_ONCE", 1)
    assert_allclose(encoder.vectors(WORDS, 8), together, atol=1e-4)


def test_longest_pieces_first(encoder: Encoder) -> None:
    def pieces(word: str) -> list[str]:
        return [PIECES[number] for number in encoder._ids(word)]

    assert pieces("teapots") == ["[CLS]", "tea", "##pot", "##s", "[SEP]"]
    assert pieces("open") == ["[CLS]", "o", "##pen", "[SEP]"]
    assert pieces("teaz") == ["[CLS]", "tea", "[UNK]", "[SEP]"]
    assert pieces("") == ["[CLS]", "[SEP]"]


def test_the_layers_of_torch(encoder: Encoder) -> None:
    """The mean of what torch's own layers make of a word."""
    w = bert()
    ids = torch.tensor(encoder._ids("teapots"))[None]
    x = (
        w["embeddings.word_embeddings.weight"][ids]
        + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
    )
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    x = nn.functional.layer_norm(
        x, (WIDTH,), w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], 1e-12
    )
    for number in range(LAYERS):
        name = f"encoder.layer.{number}"
        layer = nn.TransformerEncoderLayer(
            WIDTH, WIDTH // 32, INNER, 0.0, nn.functional.gelu, layer_norm_eps=1e-12, batch_first=True
        )
        own = {
            "self_attn.out_proj": "attention.output.dense", "linear1": "intermediate.dense",
            "linear2": "output.dense", "norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm",
        }  # fmt: skip
        state = {
            f"{ours}.{kind}": w[f"{name}.{theirs}.{kind}"]
            for ours, theirs in own.items()
            for kind in ("weight", "bias")
        }
        for kind in ("weight", "bias"):
            parts = [w[f"{name}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"self_attn.in_proj_{kind}"] = torch.cat(parts)
        layer.load_state_dict(state)
        with torch.no_grad():
            x = layer.eval()(x)
    with torch.no_grad():
        assert_allclose(encoder._encode(["teapots", "tea"])[0], x[0].mean(dim=0), atol=1e-4)


@pytest.mark.parametrize("missing", ["model.safetensors", "vocab.txt"])
def test_no_encoder(tmp_path: Path, missing: str) -> None:
    folder = write(tmp_path / "bert")
    (folder / missing).unlink()
    with pytest.raises(ConfigError, match="this is not a sentence encoder"):
        Encoder(folder)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this is not a sentence encoder"):
        Encoder(tmp_path / "bert")
