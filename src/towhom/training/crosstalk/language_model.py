"""Reads a language model from a GGUF file: the weights of its layers, and its tokenizer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk.reader import HEAD, SHARED, SLOWEST, TINY
from towhom.errors import ConfigError
from towhom.extras import require

FEWEST = 10
"""Minimum number of first names that must be one token each."""
_FAMILY, _TOKENIZER, _SPLIT = "llama", "gpt2", "smollm"
_CLOSE = 1e-3
Array = NDArray[np.float32]


@dataclass(frozen=True)
class Origin:
    """What a file says of its language model.

    Args:
        file: The name of the file.
        sha256: The hash of its content.
        name: The name of the language model.
        licence: Its licence; "none stated" if there is none.
        layers: The number of its layers.
    """

    file: str
    sha256: str
    name: str
    licence: str
    layers: int

    def record(self) -> dict[str, Any]:
        """As values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class LanguageModel:
    """The lower layers of a language model.

    Args:
        origin: Where it comes from.
        weights: The vectors of tokens, and the weights of layers, by their names in `reader.shapes`.
        tokenizer: The tokenizer, in the format of the package tokenizers.
        names: First names, each of which is one token.
    """

    origin: Origin
    weights: dict[str, Array]
    tokenizer: dict[str, Any]
    names: tuple[str, ...]


def read_language_model(path: Path, layers: int) -> LanguageModel:
    """Read the lower layers of a language model from a file.

    Args:
        path: A GGUF file with a model of the llama architecture.
        layers: The number of layers.

    Raises:
        ConfigError: The file cannot be read, or holds a model of another kind.
        MissingExtraError: A package is not installed.
    """
    gguf = require("gguf", extra="train", purpose="reading a language model")
    try:
        file = gguf.GGUFReader(path)
        about = {name: _value(field, gguf.GGUFValueType) for name, field in file.fields.items()}
    except (OSError, ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
        raise ConfigError(f"{path}: this is not a language model in a GGUF file ({error})") from error
    _check(path, about, layers)
    stored = {tensor.name: tensor for tensor in file.tensors}

    def taken(name: str) -> Array:
        if f"{name}.weight" not in stored:
            raise ConfigError(f"{path}: the language model has no {name}.weight")
        tensor = stored[f"{name}.weight"]
        try:
            found = gguf.dequantize(tensor.data, tensor.tensor_type)
        except (NotImplementedError, ValueError) as error:
            raise ConfigError(f"{path}: {name}.weight cannot be unpacked ({error})") from error
        return np.ascontiguousarray(found, np.float32)

    weights = {"reader.tokens": taken("token_embd")}
    for layer in range(layers):
        block, name = f"blk.{layer}", f"reader.{layer}"
        heads = [_halved(taken(f"{block}.attn_{part}")) for part in "qk"]
        weights |= {
            f"{name}.before": taken(f"{block}.attn_norm"),
            f"{name}.heads": np.concatenate([*heads, taken(f"{block}.attn_v")]),
            f"{name}.mix": taken(f"{block}.attn_output"),
            f"{name}.between": taken(f"{block}.ffn_norm"),
            f"{name}.inner": np.concatenate([taken(f"{block}.ffn_{part}") for part in ("gate", "up")]),
            f"{name}.outer": taken(f"{block}.ffn_down"),
        }
    with path.open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    origin = Origin(
        path.name, digest, str(about.get("general.name", path.stem)),
        str(about.get("general.license", "none stated")), int(about["llama.block_count"]),
    )  # fmt: skip
    tokenizer = _tokenizer(path, about)
    return LanguageModel(origin, weights, json.loads(tokenizer.to_str()), _single(path, tokenizer))


def _value(field: Any, kinds: Any) -> Any:
    """The value of a field: a text, a number, or a list of these."""
    parts = [field.parts[place] for place in field.data]
    text = bool(field.types) and field.types[-1] == kinds.STRING
    values = [bytes(part).decode("utf-8") if text else part.tolist()[0] for part in parts]
    return values if field.types and field.types[0] == kinds.ARRAY else values[0]


def _check(path: Path, about: dict[str, Any], layers: int) -> None:
    """Make sure that a model is one that the reader's formulas are for.

    Raises:
        ConfigError: It is not.
    """
    family = about.get("general.architecture")
    if family != _FAMILY:
        raise ConfigError(
            f"{path}: this is a language model of the architecture {family}; expected {_FAMILY}"
        )
    if not isinstance(given := about.get("llama.block_count"), int) or given < layers:
        raise ConfigError(f"{path}: the language model has {given} layers; expected {layers} or more")
    try:
        width, heads, keys = (
            int(about[f"llama.{name}"])
            for name in ("embedding_length", "attention.head_count", "attention.head_count_kv")
        )
        period = float(about["llama.rope.freq_base"])
        least = float(about["llama.attention.layer_norm_rms_epsilon"])
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: the description of the language model is damaged ({error!r})") from error
    wanted = (
        ("the length of a head", width / max(heads, 1), HEAD),
        ("the number of heads that share a key", heads / max(keys, 1), SHARED),
        ("the longest period of rotations", period, SLOWEST),
        ("what is added to mean squares", least, TINY),
    )
    for what, found, expected in wanted:
        if abs(found - expected) > _CLOSE * expected:
            raise ConfigError(f"{path}: {what} is {found:g}; expected {expected:g}")


def _halved(heads: Array) -> Array:
    """Query or key heads whose numbers are rotated in halves; in a GGUF file, neighbours are."""
    pairs = heads.reshape(-1, HEAD // 2, 2, heads.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(heads.shape))


def _tokenizer(path: Path, about: dict[str, Any]) -> Any:
    """The tokenizer of a model."""
    tokenizers = require("tokenizers", extra="train", purpose="reading a language model")
    kind, split = (about.get(f"tokenizer.ggml.{name}") for name in ("model", "pre"))
    if (kind, split) != (_TOKENIZER, _SPLIT):
        raise ConfigError(
            f"{path}: the tokenizer of this language model is {kind} with {split}; "
            f"expected {_TOKENIZER} with {_SPLIT}"
        )
    try:
        tokens, merges = (about[f"tokenizer.ggml.{name}"] for name in ("tokens", "merges"))
        pairs = [tuple(merge.split(" ")) for merge in merges]
        numbers = {token: number for number, token in enumerate(tokens)}
        found = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=numbers, merges=pairs))
    except Exception as error:  # the package raises nothing more special
        raise ConfigError(f"{path}: the tokenizer of this language model is damaged ({error})") from error
    found.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    found.decoder = tokenizers.decoders.ByteLevel()
    return found


def _single(path: Path, tokenizer: Any) -> tuple[str, ...]:
    """The first names that are one token each, in front and within a line."""

    def single(text: str) -> bool:
        return len(tokenizer.encode(text).ids) == 1

    found = tuple(name for name in FIRST_NAMES if single(name) and single(f" {name}"))
    if len(found) < FEWEST or not (single(":") and single("\n")):
        raise ConfigError(
            f"{path}: {len(found)} first names are one token of this language model; "
            f"expected {FEWEST} or more, and that the colon and the end of a line are one token"
        )
    return found


FIRST_NAMES: Sequence[str] = tuple("""
James John Robert Michael William David Richard Joseph Thomas Charles Daniel Matthew Anthony Mark Steven
Paul Andrew Kevin Brian George Edward Ronald Timothy Jason Jeffrey Ryan Jacob Gary Eric Jonathan Stephen
Larry Justin Scott Brandon Benjamin Samuel Frank Gregory Raymond Alexander Patrick Jack Dennis Jerry Tyler
Aaron Henry Douglas Peter Adam Zachary Nathan Walter Kyle Harold Carl Jeremy Keith Roger Gerald Ethan
Arthur Terry Christian Sean Lawrence Austin Joe Noah Jesse Albert Bryan Billy Bruce Willie Jordan Dylan
Alan Ralph Gabriel Roy Juan Wayne Eugene Logan Randy Louis Russell Vincent Philip Bobby Johnny Bradley
Mary Linda Barbara Elizabeth Jennifer Maria Susan Margaret Dorothy Lisa Nancy Karen Betty Helen Sandra
Donna Carol Ruth Sharon Michelle Laura Sarah Kimberly Deborah Jessica Emily Amanda Melissa Anna Emma
Olivia Sophia Julia Kate Alice Jane Rose Grace Lily Lucy Ella Amy Claire Alex Ben Max Bob Tim Sam Dan Don
Luc Ann Tom Jeff Luke Lee Ray Ash Ali Hen Mel Bill Jones Johnson Smith Brown Jim Tony Harry Rob Ron Ken
Oscar Leo Ian Chris Matt Mike Nick Steve Dave Greg Josh Fred Ted Victor Simon Felix Hugo Oliver Lewis Rich
Pat Kim Sue Eve Ada Meg Lou Leon Ivan Omar Ahmed Abdul Hassan Pierre Hans Klaus Karl Marco Pedro Carlos
Jose Luis Diego Pablo Paris London Berlin Madrid Rome Oxford Chicago Boston Texas Florida Canada China
Japan India Russia Egypt Brazil Spain Italy Germany France Israel Iran Africa Asia Europe America Mars
Jupiter Venus Saturn Apollo Zeus Odin Thor Atlas Eagle Tiger Lion Wolf Bear Fox Fish Bird Horse Snake
River Stone Wood Forest Ocean Storm Rain Snow Star Sun Moon Sky Gold Silver Iron Diamond Crystal Amber Red
Blue Green Black White Gray Orange Purple Cherry Apple Lemon Pepper Ginger Coffee Tea Sugar Salt
""".split())  # fmt: skip  # noqa: SIM905 - a word a line would be 250 lines
"""Common first names, and words that can serve as names, for people in transcripts."""
