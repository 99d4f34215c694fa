"""The reader of a large model on disk, beside the other files of its folder.

reader.json         the language model's tokens, and the first names that people get
reader.safetensors  weights: the vectors of tokens in 8 bits, and matrices of layers in 4 bits, as they were
                    published, or in 8 bits if they were trained further, since 4 bits would undo that
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from towhom.crosstalk import reader
from towhom.crosstalk.reader import Reader, layers_of
from towhom.crosstalk.transcript import Transcript
from towhom.documents import read_json
from towhom.errors import ModelFormatError
from towhom.extras import require
from towhom.files import atomic_file
from towhom.hearing.states import texts_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

FILE, WEIGHTS = "reader.json", "reader.safetensors"
_GROUP = 32
"""Number of weights that share a scale and a minimum."""
_FOUR, _EIGHT, _SCALE = ".in4", ".in8", ".scale"
Array = NDArray[np.float32]


@dataclass(frozen=True)
class SavedReader:
    """What the files of a reader hold.

    Args:
        packed: The arrays as they are stored.
        tokenizer: The tokenizer, in the format of the package tokenizers.
        names: First names; each is one token.
    """

    packed: dict[str, NDArray[Any]]
    tokenizer: dict[str, Any]
    names: tuple[str, ...]

    @cached_property
    def fingerprint(self) -> str:
        """A hash that differs between readers that could give different results."""
        digest = sha256(json.dumps([self.tokenizer, self.names]).encode())
        for name, array in sorted(self.packed.items()):
            digest.update(name.encode() + array.tobytes())
        return digest.hexdigest()

    def open(self) -> Reader:
        """The reader, ready to read.

        Raises:
            MissingExtraError: The package tokenizers is not installed.
            ModelFormatError: The tokens are damaged, or do not fit the weights.
        """
        tokenizers = require("tokenizers", extra="large", purpose="a model that reads word by word")
        try:
            tokenizer = tokenizers.Tokenizer.from_str(json.dumps(self.tokenizer))
            tokenizer.encode_special_tokens = True  # what people write is text
            transcript = Transcript(lambda text: tokenizer.encode(text).ids, self.names)
        except Exception as error:  # tokenizers has no class of its own for damaged files
            raise ModelFormatError(f"{FILE}: the tokens of this model are damaged ({error})") from error
        known, told = tokenizer.get_vocab_size(), len(self.packed["reader.tokens" + _EIGHT])
        if known > told:
            raise ModelFormatError(f"{FILE}: there are {known} tokens, but vectors for {told} only")
        return Reader(unpacked(self.packed), transcript)


def packed(weights: Mapping[str, Array], *, finely: Container[str] = ()) -> dict[str, NDArray[Any]]:
    """Weights as they are stored.

    Args:
        weights: Arrays by the names in `towhom.crosstalk.reader.shapes`.
        finely: Names of matrices of the layers that need 8 bits, as those do that were trained further.
    """
    found: dict[str, NDArray[Any]] = {}
    for name, array in weights.items():
        if name == "reader.tokens" or (name in finely and array.ndim == 2):
            largest = np.abs(array).max(axis=1, keepdims=True)
            scale = np.where(largest > 0, largest / 127, 1).astype(np.float32)
            found |= {name + _EIGHT: np.rint(array / scale).astype(np.int8), name + _SCALE: scale}
        elif array.ndim == 2 and array.shape[1] % _GROUP == 0 and name.split(".")[1].isdigit():
            groups = array.reshape(len(array), -1, _GROUP)
            least, most = groups.min(axis=2), groups.max(axis=2)
            scales = np.stack([least, (most - least) / 15], axis=2).astype(np.float16)
            step = np.where(scales[..., 1] > 0, scales[..., 1], 1).astype(np.float32)[..., None]
            steps = np.rint((groups - scales[..., :1].astype(np.float32)) / step).clip(0, 15).astype(np.uint8)
            flat = steps.reshape(len(array), -1)
            found |= {name + _FOUR: flat[:, ::2] | flat[:, 1::2] << 4, name + _SCALE: scales}
        else:
            found[name] = array
    return found


def unpacked(found: Mapping[str, NDArray[Any]]) -> dict[str, Array]:
    """Weights from what is stored."""
    weights: dict[str, Array] = {}
    for name, array in found.items():
        if name.endswith(_EIGHT):
            bare = name.removesuffix(_EIGHT)
            weights[bare] = array.astype(np.float32) * found[bare + _SCALE]
        elif name.endswith(_FOUR):
            bare = name.removesuffix(_FOUR)
            steps = np.empty((len(array), 2 * array.shape[1]), np.float32)
            steps[:, ::2], steps[:, 1::2] = array & 15, array >> 4
            scales = found[bare + _SCALE].astype(np.float32)
            groups = steps.reshape(len(array), -1, _GROUP)
            groups *= scales[..., 1:]
            groups += scales[..., :1]
            weights[bare] = steps
        elif not name.endswith(_SCALE):
            weights[name] = array
    return weights


def write_reader(folder: Path, saved: SavedReader) -> None:
    """Write a reader into the folder of a model."""
    with atomic_file(folder / WEIGHTS) as file:
        file.write(save({name: np.ascontiguousarray(array) for name, array in saved.packed.items()}))
    with atomic_file(folder / FILE, "w") as text:
        json.dump({"names": list(saved.names), "tokenizer": saved.tokenizer}, text, ensure_ascii=False)


def read_reader(folder: Path) -> SavedReader | None:
    """The reader in the folder of a model; None if it has none.

    Raises:
        ModelFormatError: A part is missing or damaged.
    """
    if not (folder / FILE).exists() and not (folder / WEIGHTS).exists():
        return None
    path = folder / FILE
    try:
        found = read_json(path)
        tokenizer, names = found["tokenizer"], texts_of(found["names"])
        if not isinstance(tokenizer, dict) or not names:
            raise ValueError("there is no tokenizer, or there are no names")
        path = folder / WEIGHTS
        saved = SavedReader(load_file(path), tokenizer, names)
        _check(saved)
    except (OSError, ValueError, LookupError, TypeError, SafetensorError) as error:
        raise ModelFormatError(f"{path}: the reader of this model is damaged ({error})") from error
    return saved


def _check(saved: SavedReader) -> None:
    """Make sure that the arrays fit together.

    Raises:
        LookupError, ValueError: They do not.
    """
    whole = {name.removesuffix(_FOUR).removesuffix(_EIGHT): array for name, array in saved.packed.items()}
    tokens, width = whole["reader.tokens"].shape
    expected = reader.shapes(
        tokens, width=width, inner=len(whole["reader.0.inner"]) // 2, layers=layers_of(whole),
        keys=(len(whole["reader.0.heads"]) - width) // 2, compared=len(whole["reader.answer.b"]),
    )  # fmt: skip
    stored: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {}
    for name, shape in expected.items():
        if name + _FOUR in saved.packed:
            stored[name + _FOUR] = np.uint8, (shape[0], shape[1] // 2)
            stored[name + _SCALE] = np.float16, (shape[0], shape[1] // _GROUP, 2)
        elif name + _EIGHT in saved.packed:
            stored[name + _EIGHT] = np.int8, shape
            stored[name + _SCALE] = np.float32, (shape[0], 1)
        else:
            stored[name] = np.float32, shape
    for name in sorted(stored.keys() | saved.packed.keys()):
        array = saved.packed.get(name)
        if array is None or name not in stored:
            raise ValueError(f"{'there is no' if array is None else 'nothing is known of'} {name}")
        kind, shape = stored[name]
        if array.dtype != kind or array.shape != shape:
            wanted = f"{np.dtype(kind)} {shape}"
            raise ValueError(f"{name} is {array.dtype} {array.shape}, expected {wanted}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} has numbers that are none")
