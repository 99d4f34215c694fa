"""Crosstalk on disk: a folder with the weights, the words, and what they are.

config.json         format, tokenizer, sizes, how probabilities are calibrated
model.safetensors   weights; the vectors of words in 8 bits, with a scale for each
vocab.json          the words, in the order of their vectors
training.json       how it was trained and how good it is; for people, not needed to load it
README.md           a card, for people
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from towhom.crosstalk import network, words
from towhom.crosstalk.words import LIMIT
from towhom.errors import ModelFormatError
from towhom.files import atomic_file, atomic_folder
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.words import TOKENIZER
from towhom.text.vocabulary import ModelVocabulary
from towhom.version import __version__

FORMAT, VERSION = "towhom-crosstalk", 1
CONFIG, WEIGHTS, WORDS, TRAINING, CARD = (
    "config.json", "model.safetensors", "vocab.json", "training.json", "README.md",
)  # fmt: skip
_VECTORS, _SCALES = "words.vectors", "words.vectors.scale"
Array = NDArray[np.float32]


@dataclass(frozen=True)
class Sizes:
    """Of a model.

    Args:
        dimensions: Of vectors of words.
        state: Of what a message says.
        tower: Of a message as an answer, or as what is answered.
        says: Units for what matters of what a message says.
        hidden: Units of the first layers.
        second: Units of the second.
    """

    dimensions: int = 128
    state: int = 256
    tower: int = 96
    says: int = 24
    hidden: int = 96
    second: int = 48

    def shapes(self, vocabulary: int) -> dict[str, tuple[int, ...]]:
        """The weights of a model with so many words."""
        return {
            **words.shapes(vocabulary + 1, self.dimensions, self.state, self.tower),
            **network.shapes(self.state, self.says, self.hidden, self.second),
        }


@dataclass(frozen=True)
class SavedCrosstalk:
    """All that a folder holds.

    Args:
        sizes: Of the weights.
        weights: By the names in `Sizes.shapes`.
        vocabulary: The words, the most frequent first.
        training: How it was trained and how good it is.
    """

    sizes: Sizes
    weights: dict[str, Array]
    vocabulary: tuple[str, ...]
    training: dict[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Tells models apart that could answer differently."""
        digest = sha256(json.dumps([asdict(self.sizes), self.vocabulary]).encode())
        for name, array in sorted(self.weights.items()):
            digest.update(name.encode() + array.tobytes())
        return digest.hexdigest()

    @property
    def lexicon(self) -> Lexicon:
        """What it makes of words."""
        return lexicon_of(self.vocabulary)


def lexicon_of(vocabulary: tuple[str, ...]) -> Lexicon:
    """What a model that knows some words makes of a text."""
    return Lexicon(ModelVocabulary(vocabulary, np.zeros((len(vocabulary) + 1, 0), np.float32)), LIMIT)


def write_crosstalk(folder: str | Path, saved: SavedCrosstalk, *, card: str) -> None:
    """Write a model folder; an older one at this place is replaced when the new one is complete."""
    arrays: dict[str, NDArray[Any]] = dict(saved.weights)
    arrays[_VECTORS], arrays[_SCALES] = _quantized(saved.weights[_VECTORS])
    config = {
        "format": FORMAT,
        "version": VERSION,
        "towhom": __version__,
        "tokenizer": TOKENIZER,
        "sizes": asdict(saved.sizes),
    }
    with atomic_folder(Path(folder)) as temporary:
        for name, value in (
            (CONFIG, config),
            (WORDS, list(saved.vocabulary)),
            (TRAINING, saved.training),
        ):
            text = json.dumps(value, indent=None if name == WORDS else 1, ensure_ascii=False)
            (temporary / name).write_text(text + "\n", "utf-8")
        with atomic_file(temporary / WEIGHTS) as file:
            file.write(save({name: np.ascontiguousarray(value) for name, value in arrays.items()}))
        (temporary / CARD).write_text(card, "utf-8")


def compacted(weights: dict[str, Array]) -> dict[str, Array]:
    """Weights as they will be when they are read from a folder."""
    return {**weights, _VECTORS: _restored(*_quantized(weights[_VECTORS]))}


def read_crosstalk(folder: str | Path) -> SavedCrosstalk:
    """Read a model folder.

    Raises:
        ModelFormatError: It is none, it is of another version, or a part is missing or damaged.
    """
    folder = Path(folder)
    config = _config(folder)
    found = _read_json(folder / WORDS)
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise ModelFormatError(f"{folder / WORDS}: expected a list of words")
    try:
        given = config["sizes"]
        sizes = Sizes(**{each.name: int(given[each.name]) for each in fields(Sizes)})
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFormatError(f"{folder / CONFIG}: the sizes are damaged ({error!r})") from error
    try:
        arrays = load_file(folder / WEIGHTS)
    except (SafetensorError, OSError) as error:
        raise ModelFormatError(f"{folder / WEIGHTS}: the weights cannot be read ({error})") from error
    vectors, scales = arrays.get(_VECTORS), arrays.pop(_SCALES, None)
    if vectors is not None and scales is not None and scales.shape == vectors.shape[:1]:
        arrays[_VECTORS] = _restored(vectors, scales)
    _check(folder / WEIGHTS, arrays, sizes.shapes(len(found)))
    training = _read_json(folder / TRAINING) if (folder / TRAINING).is_file() else {}
    return SavedCrosstalk(sizes, arrays, tuple(found), training if isinstance(training, dict) else {})


def holds_crosstalk(folder: str | Path) -> bool:
    """Whether a folder looks like one of ours."""
    try:
        config = json.loads((Path(folder) / CONFIG).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


def _config(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise ModelFormatError(f"{folder}: there is no such folder")
    missing = [name for name in (CONFIG, WEIGHTS, WORDS) if not (folder / name).is_file()]
    if missing:
        raise ModelFormatError(f"{folder}: this is no model: it has no {', no '.join(missing)}")
    config = _read_json(folder / CONFIG)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelFormatError(f"{folder / CONFIG}: this is not the configuration of a Crosstalk model")
    if config.get("version") != VERSION:
        raise ModelFormatError(
            f"{folder}: the model has format version {config.get('version')}, this towhom ({__version__}) "
            f"reads version {VERSION}"
        )
    if config.get("tokenizer") != TOKENIZER:
        raise ModelFormatError(
            f"{folder}: the model reads the words of the tokenizer {config.get('tokenizer')}, this towhom "
            f"({__version__}) has {TOKENIZER}; train the model anew"
        )
    return config


def _check(path: Path, arrays: dict[str, NDArray[Any]], expected: dict[str, tuple[int, ...]]) -> None:
    found = {name: value.shape for name, value in arrays.items()}
    problems = [f"there is no {name}" for name in expected.keys() - found.keys()]
    problems += [f"nothing is known of {name}" for name in found.keys() - expected.keys()]
    problems += [
        f"{name} is {found[name]}, expected {shape}"
        for name, shape in expected.items()
        if name in found and found[name] != shape
    ]
    problems += [
        f"{name} has type {value.dtype}, expected float32"
        for name, value in arrays.items()
        if value.dtype != np.float32
    ]
    problems += [
        f"{name} has numbers that are none"
        for name, value in arrays.items()
        if value.dtype == np.float32 and not np.isfinite(value).all()
    ]
    if problems:
        raise ModelFormatError(
            f"{path}: the weights do not fit the configuration: {'; '.join(sorted(problems))}"
        )


def _quantized(matrix: Array) -> tuple[NDArray[np.int8], Array]:
    """Rows in 8 bits, and what to multiply each with."""
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    scales = (largest / 127).astype(np.float32)
    scales[scales == 0] = 1.0
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales


def _restored(matrix: NDArray[Any], scales: Array) -> Array:
    return matrix.astype(np.float32) * scales[:, None]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFormatError(f"{path}: cannot be read ({error})") from error
