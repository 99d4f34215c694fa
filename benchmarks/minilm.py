"""The sentence encoder all-MiniLM-L6-v2, run from its weights, to compare with."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load_file

from towhom.extras import require

_BATCH = 64
_MOST = 64
"""Number of word pieces of a sentence that are read."""
_WORD = re.compile(r"\w+|[^\w\s]")


class MiniLM:
    """Encodes sentences.

    Args:
        folder: A folder with `config.json`, `vocab.txt` and `model.safetensors`.
    """

    def __init__(self, folder: Path) -> None:
        self._torch: Any = require("torch", extra="train", purpose="the sentence encoder")
        self._w = {
            name.removeprefix("bert."): each for name, each in load_file(folder / "model.safetensors").items()
        }
        config = json.loads((folder / "config.json").read_text("utf-8"))
        self._layers, self._heads = config["num_hidden_layers"], config["num_attention_heads"]
        self._epsilon = config["layer_norm_eps"]
        vocabulary = (folder / "vocab.txt").read_text("utf-8").splitlines()
        self._ids = {piece: place for place, piece in enumerate(vocabulary)}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(N, 384) Vectors of length 1."""
        pieces = [self._pieces(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda place: len(pieces[place]))
        result = np.empty((len(texts), self._w["embeddings.word_embeddings.weight"].shape[1]), np.float32)
        with self._torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                some = order[start : start + _BATCH]
                result[some] = self._run([pieces[place] for place in some]).numpy()
        return result

    def _pieces(self, text: str) -> list[int]:
        plain = "".join(
            c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn"
        )
        found = [self._ids["[CLS]"]]
        for word in _WORD.findall(plain):
            found += self._word(word)
        return [*found[: _MOST - 1], self._ids["[SEP]"]]

    def _word(self, word: str) -> list[int]:
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = word[start:end] if start == 0 else f"##{word[start:end]}"
                if piece in self._ids:
                    found.append(self._ids[piece])
                    start = end
                    break
            else:
                return [self._ids["[UNK]"]]
        return found

    def _run(self, pieces: Sequence[Sequence[int]]) -> Any:
        torch, w = self._torch, self._w
        functional = torch.nn.functional
        longest = max(map(len, pieces))
        ids = torch.zeros(len(pieces), longest, dtype=torch.long)
        there = torch.zeros(len(pieces), longest)
        for row, each in enumerate(pieces):
            ids[row, : len(each)] = torch.tensor(each)
            there[row, : len(each)] = 1.0

        def linear(x: Any, name: str) -> Any:
            return functional.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

        def norm(x: Any, name: str) -> Any:
            return functional.layer_norm(
                x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], self._epsilon
            )

        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
        x = norm(x + w["embeddings.position_embeddings.weight"][:longest], "embeddings.LayerNorm")
        mask = (there[:, None, None] - 1.0) * 1e9
        for layer in range(self._layers):
            at = f"encoder.layer.{layer}"
            q, k, v = (
                linear(x, f"{at}.attention.self.{name}").unflatten(-1, (self._heads, -1)).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
            x = norm(x + linear(seen, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            inner = functional.gelu(linear(x, f"{at}.intermediate.dense"))
            x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = (x * there[..., None]).sum(1) / there.sum(1, keepdim=True)
        return functional.normalize(mean, dim=1)
