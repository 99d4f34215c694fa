"""Initial word vectors, from a published sentence encoder (BERT, in safetensors files).

Each word is encoded alone; the results are reduced to the directions in which common words
differ most. The encoder is not needed afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, linear, normalize, scaled_dot_product_attention

from towhom.errors import ConfigError

_PREFIX = "##"
_AT_ONCE = 256
_COMMON = 8000
_SIZE = 0.1
"""Typical size of each number of a vector."""


class Encoder:
    """A small BERT.

    Args:
        folder: A folder with `model.safetensors`, `vocab.txt` and `config.json`.

    Raises:
        ConfigError: A file is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._w = load_file(folder / "model.safetensors")
            pieces = (folder / "vocab.txt").read_text("utf-8").splitlines()
        except (OSError, ValueError, SafetensorError) as error:
            raise ConfigError(f"{folder}: this is not a sentence encoder ({error})") from error
        self._pieces = {piece: number for number, piece in enumerate(pieces)}
        if not {"[CLS]", "[SEP]", "[UNK]"} <= self._pieces.keys():
            raise ConfigError(f"{folder}: the vocabulary of the encoder has no [CLS], [SEP] or [UNK]")
        self._layers = 1 + max(
            int(name.split(".")[2]) for name in self._w if name.startswith("encoder.layer.")
        )
        self.width = self._w["embeddings.LayerNorm.weight"].shape[0]
        self._heads = self.width // 32

    def vectors(self, words: Sequence[str], dimensions: int) -> NDArray[np.float32]:
        """(words, dimensions) The vectors of words, the most frequent first.

        Raises:
            ConfigError: There are more dimensions than words, or than the encoder has.
        """
        if dimensions > min(self.width, len(words)):
            raise ConfigError(
                f"{len(words)} words of an encoder of width {self.width} cannot have {dimensions} dimensions"
            )
        found = np.empty((len(words), self.width), np.float32)
        order = sorted(range(len(words)), key=lambda place: len(words[place]))
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            with torch.inference_mode():
                found[places] = normalize(self._encode([words[place] for place in places]), dim=1).numpy()
        found -= found.mean(axis=0)
        _, _, directions = np.linalg.svd(found[:_COMMON], full_matrices=False)
        reduced = found @ directions[:dimensions].T
        reduced /= np.linalg.norm(reduced, axis=1, keepdims=True) + 1e-6
        result: NDArray[np.float32] = (reduced * _SIZE * dimensions**0.5).astype(np.float32)
        return result

    def _ids(self, word: str) -> list[int]:
        """The numbers of a word's pieces; at each position the longest known piece is taken."""
        ids, start, unknown = [self._pieces["[CLS]"]], 0, self._pieces["[UNK]"]
        while start < len(word):
            for stop in range(len(word), start, -1):
                piece = self._pieces.get((_PREFIX if start else "") + word[start:stop])
                if piece is not None:
                    ids.append(piece)
                    start = stop
                    break
            else:
                ids.append(unknown)
                break
        return [*ids, self._pieces["[SEP]"]]

    def _encode(self, words: list[str]) -> Tensor:
        ids = [self._ids(word) for word in words]
        longest = max(map(len, ids))
        tokens = torch.tensor([each + [0] * (longest - len(each)) for each in ids])
        there = torch.tensor([[1.0] * len(each) + [0.0] * (longest - len(each)) for each in ids])
        x = (
            self._w["embeddings.word_embeddings.weight"][tokens]
            + self._w["embeddings.position_embeddings.weight"][:longest]
            + self._w["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._norm(x, "embeddings.LayerNorm")
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(x, f"{name}.attention.self.{part}")
                .view(*x.shape[:2], self._heads, -1)
                .transpose(1, 2)
                for part in ("query", "key", "value")
            )
            seen = scaled_dot_product_attention(query, key, value, attn_mask=there[:, None, None].bool())
            seen = self._linear(seen.transpose(1, 2).flatten(2), f"{name}.attention.output.dense")
            x = self._norm(x + seen, f"{name}.attention.output.LayerNorm")
            inner = gelu(self._linear(x, f"{name}.intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return (x * there[..., None]).sum(dim=1) / there.sum(dim=1, keepdim=True)

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return linear(x, self._w[f"{name}.weight"], self._w[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return layer_norm(x, (self.width,), self._w[f"{name}.weight"], self._w[f"{name}.bias"], 1e-12)
