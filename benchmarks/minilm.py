"""The sentence encoder all-MiniLM-L6-v2, run from its weights, to compare with."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load_file

from towhom.extras import require

_BATCH = 128
_MOST = 64
"""Number of word pieces of a sentence that are read."""
_WORD = re.compile(r"\w+|[^\w\s]")


class MiniLM:
    """Encodes sentences, in 16 bits: that is several times as fast on processors that compute with them.

    Args:
        folder: A folder with `config.json`, `vocab.txt` and `model.safetensors`.
    """

    def __init__(self, folder: Path) -> None:
        self._torch: Any = require("torch", extra="train", purpose="the sentence encoder")
        self._w = {
            name.removeprefix("bert."): each.to(self._torch.bfloat16)
            for name, each in load_file(folder / "model.safetensors").items()
            if each.is_floating_point()
        }
        config = json.loads((folder / "config.json").read_text("utf-8"))
        self._layers, self._heads = config["num_hidden_layers"], config["num_attention_heads"]
        self._epsilon = config["layer_norm_eps"]
        vocabulary = (folder / "vocab.txt").read_text("utf-8").splitlines()
        self._ids = {piece: place for place, piece in enumerate(vocabulary)}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(N, 384) Vectors of length 1. A text that occurs several times is encoded once."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        pieces = [self._pieces(text) for text in numbers]
        order = sorted(range(len(pieces)), key=lambda place: len(pieces[place]))
        width = self._w["embeddings.word_embeddings.weight"].shape[1]
        result = np.empty((len(pieces), width), np.float32)
        with self._torch.inference_mode():
            for _, group in groupby(order, key=lambda place: len(pieces[place])):
                same = list(group)
                for start in range(0, len(same), _BATCH):
                    some = same[start : start + _BATCH]
                    result[some] = self._run([pieces[place] for place in some]).float().numpy()
        return result[[numbers[text] for text in texts]]

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
        """The vectors of texts of the same length."""
        torch, w = self._torch, self._w
        functional = torch.nn.functional
        ids = torch.tensor(pieces)

        def linear(x: Any, name: str) -> Any:
            return functional.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

        def norm(x: Any, name: str) -> Any:
            return functional.layer_norm(
                x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], self._epsilon
            )

        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
        x = norm(x + w["embeddings.position_embeddings.weight"][: ids.shape[1]], "embeddings.LayerNorm")
        for layer in range(self._layers):
            at = f"encoder.layer.{layer}"
            q, k, v = (
                linear(x, f"{at}.attention.self.{name}").unflatten(-1, (self._heads, -1)).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            seen = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = norm(x + linear(seen, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            inner = functional.gelu(linear(x, f"{at}.intermediate.dense"))
            x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return functional.normalize(x.float().mean(1), dim=1)
