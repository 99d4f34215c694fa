"""Crosstalk on disk: a folder with the weights, the vocabulary and the configuration.

`towhom.model_folder` lists its files. Word vectors are stored in 8 bits, with a scale for each.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk import network, words
from towhom.crosstalk.reader_folder import SavedReader, read_reader, write_reader
from towhom.crosstalk.words import LIMIT
from towhom.errors import ModelFormatError
from towhom.hearing.lexicon import Lexicon
from towhom.model_folder import (
    CONFIG,
    check_weights,
    format_of,
    read_config,
    read_training,
    read_weights,
    read_words,
    write_folder,
)
from towhom.text.vocabulary import ModelVocabulary

FORMAT, VERSION = "towhom-crosstalk", 1
_VECTORS, _SCALES = "words.vectors", "words.vectors.scale"
Array = NDArray[np.float32]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model's layers.

    Args:
        dimensions: Length of a word vector.
        state: Length of the vector that encodes a message's text.
        tower: Length of the vector of a message as an answer, or as a message to be answered.
        says: Length of the summary of a message's text that the first look uses.
        hidden: Units of the first hidden layers.
        second: Units of the second hidden layers.
    """

    dimensions: int = 128
    state: int = 256
    tower: int = 96
    says: int = 24
    hidden: int = 96
    second: int = 48

    def shapes(self, vocabulary: int) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights, for a vocabulary of this size."""
        return {
            **words.shapes(vocabulary + 1, self.dimensions, self.state, self.tower),
            **network.shapes(self.state, self.says, self.hidden, self.second),
        }


@dataclass(frozen=True)
class SavedCrosstalk:
    """The content of a model folder.

    Args:
        sizes: Sizes of the weights.
        weights: Arrays by the names in `Sizes.shapes`.
        vocabulary: The words, the most frequent first.
        training: How the model was trained, and its scores.
        reader: What reads rooms word by word; only a large model has it.
    """

    sizes: Sizes
    weights: dict[str, Array]
    vocabulary: tuple[str, ...]
    training: dict[str, Any] = field(default_factory=dict)
    reader: SavedReader | None = None

    @property
    def fingerprint(self) -> str:
        """A hash that differs between models that could give different results."""
        digest = sha256(json.dumps([asdict(self.sizes), self.vocabulary]).encode())
        for name, array in sorted(self.weights.items()):
            digest.update(name.encode() + array.tobytes())
        if self.reader is not None:
            digest.update(self.reader.fingerprint.encode())
        return digest.hexdigest()

    @property
    def lexicon(self) -> Lexicon:
        """The lexicon of this model's vocabulary."""
        return lexicon_of(self.vocabulary)


def lexicon_of(vocabulary: tuple[str, ...]) -> Lexicon:
    """The lexicon of a model with this vocabulary."""
    return Lexicon(ModelVocabulary(vocabulary, np.zeros((len(vocabulary) + 1, 0), np.float32)), LIMIT)


def write_crosstalk(folder: str | Path, saved: SavedCrosstalk, *, card: str) -> None:
    """Write a model folder; an older one at the same path is replaced once the new one is complete."""
    arrays: dict[str, NDArray[Any]] = dict(saved.weights)
    arrays[_VECTORS], arrays[_SCALES] = _quantized(saved.weights[_VECTORS])
    config = {"format": FORMAT, "version": VERSION, "sizes": asdict(saved.sizes)}

    def also(temporary: Path) -> None:
        if saved.reader is not None:
            write_reader(temporary, saved.reader)

    write_folder(
        Path(folder), config, arrays, saved.vocabulary, training=saved.training, card=card, also=also
    )


def compacted(weights: dict[str, Array]) -> dict[str, Array]:
    """The weights as they will be after a round trip through a folder: with 8-bit word vectors."""
    return {**weights, _VECTORS: _restored(*_quantized(weights[_VECTORS]))}


def read_crosstalk(folder: str | Path) -> SavedCrosstalk:
    """Read a model folder.

    Raises:
        ModelFormatError: It is not a model folder, has another version, or a part is missing or damaged.
    """
    folder = Path(folder)
    config = read_config(folder, FORMAT, VERSION, kind="Crosstalk")
    vocabulary = read_words(folder)
    try:
        given = config["sizes"]
        sizes = Sizes(**{each.name: int(given[each.name]) for each in fields(Sizes)})
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFormatError(f"{folder / CONFIG}: the sizes are damaged ({error!r})") from error
    arrays = read_weights(folder)
    vectors, scales = arrays.get(_VECTORS), arrays.pop(_SCALES, None)
    if vectors is not None and scales is not None and scales.shape == vectors.shape[:1]:
        arrays[_VECTORS] = _restored(vectors, scales)
    check_weights(folder, arrays, sizes.shapes(len(vocabulary)))
    return SavedCrosstalk(sizes, arrays, vocabulary, read_training(folder), read_reader(folder))


def holds_crosstalk(folder: str | Path) -> bool:
    """Whether a folder looks like a Crosstalk model."""
    return format_of(Path(folder)) == FORMAT


def _quantized(matrix: Array) -> tuple[NDArray[np.int8], Array]:
    """The matrix in 8 bits, and the scale of each row."""
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    scales = (largest / 127).astype(np.float32)
    scales[scales == 0] = 1.0
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales


def _restored(matrix: NDArray[Any], scales: Array) -> Array:
    return matrix.astype(np.float32) * scales[:, None]
