"""A small language model of random numbers, in a file as they are published."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.crosstalk.chats import OTHERS, PEOPLE, WORDS
from towhom.training.crosstalk.language_model import FIRST_NAMES

NAMES = FIRST_NAMES[:20]
WIDTH, INNER, LAYERS = 192, 96, 3


@cache
def tokenizer(names: int = len(NAMES)) -> dict[str, Any]:
    """A tokenizer that has learned some first names, and the words of the tests."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    found.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    texts = [f"{name}: {name}, {name}\n" for name in NAMES[:names]]
    found.train_from_iterator([*texts, " ".join((*WORDS, *OTHERS, *PEOPLE))] * 3, trainer)
    result: dict[str, Any] = json.loads(found.to_str())
    return result


def write_language_model(
    path: Path,
    *,
    architecture: str = "llama",
    split: str = "smollm",
    layers: int = LAYERS,
    heads: int = 3,
    period: float = 100_000.0,
    names: int = len(NAMES),
    without: str = "",
    seed: int = 0,
) -> Path:
    """A language model that knows nothing."""
    random, writer = np.random.default_rng(seed), GGUFWriter(path, architecture)
    writer.add_name("Tiny")
    writer.add_license("apache-2.0")
    writer.add_block_count(layers)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(heads)
    writer.add_head_count_kv(1)
    writer.add_rope_freq_base(period)
    writer.add_layer_norm_rms_eps(1e-5)
    model = tokenizer(names)["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(split)
    writer.add_token_list(tokens)
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (len(tokens), WIDTH), "output_norm": (WIDTH,)}
    for layer in range(layers):
        parts = {
            "attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (64, WIDTH), "attn_v": (64, WIDTH),
            "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,), "ffn_gate": (INNER, WIDTH),
            "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER),
        }  # fmt: skip
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in parts.items()}
    for name, shape in shapes.items():
        drawn = random.normal(size=shape) / (np.sqrt(shape[1]) if len(shape) == 2 else 10)
        if name != without:
            writer.add_tensor(f"{name}.weight", (drawn + (len(shape) == 1)).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
