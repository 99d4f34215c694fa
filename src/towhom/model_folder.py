"""The common part of all model folders: their files, writing, reading and checks.

config.json         format, version, tokenizer, and settings of the kind of model
model.safetensors   weights
vocab.json          the words, in the order of their vectors
training.json       how it was trained and how good it is; for people, not needed to load it
README.md           a card, for people
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from towhom.documents import read_described, read_json
from towhom.errors import ModelFormatError
from towhom.files import atomic_folder
from towhom.hearing.words import TOKENIZER
from towhom.version import __version__

CONFIG, WEIGHTS, WORDS, TRAINING, CARD = (
    "config.json", "model.safetensors", "vocab.json", "training.json", "README.md",
)  # fmt: skip
Arrays = dict[str, NDArray[Any]]


def write_folder(
    folder: Path,
    config: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    words: Sequence[str],
    *,
    training: Mapping[str, Any],
    card: str,
    also: Callable[[Path], object] = lambda folder: None,
) -> None:
    """Write a model folder; an existing one is replaced when the new one is complete.

    Args:
        folder: The folder to write.
        config: The format, the version, and what else is needed to read the model.
        arrays: The weights, by name.
        words: The words, in the order of their vectors.
        training: How it was trained and how good it is.
        card: A page for people.
        also: Writes what else belongs to the model into a folder.
    """
    config = {**config, "towhom": __version__, "tokenizer": TOKENIZER}
    with atomic_folder(folder) as temporary:
        for name, value in ((CONFIG, config), (WORDS, list(words)), (TRAINING, training)):
            text = json.dumps(value, indent=None if name == WORDS else 1, ensure_ascii=False)
            (temporary / name).write_text(text + "\n", "utf-8")
        contiguous = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
        (temporary / WEIGHTS).write_bytes(save(contiguous))
        (temporary / CARD).write_text(card, "utf-8")
        also(temporary)


def format_of(folder: Path) -> object:
    """The format in a folder's configuration; None if there is none, or it cannot be read."""
    try:
        config = read_json(folder / CONFIG)
    except (OSError, ValueError):
        return None
    return config.get("format") if isinstance(config, dict) else None


def read_config(folder: Path, format: str, version: int, *, kind: str) -> dict[str, Any]:
    """The configuration of a model.

    Args:
        folder: The folder of the model.
        format: The expected format.
        version: The expected version of the format.
        kind: The kind of model, for error messages.

    Raises:
        ModelFormatError: The folder is no such model, has another version, or a part is missing or damaged.
    """
    if not folder.is_dir():
        raise ModelFormatError(f"{folder}: there is no such folder")
    missing = [name for name in (CONFIG, WEIGHTS, WORDS) if not (folder / name).is_file()]
    if missing:
        raise ModelFormatError(f"{folder}: this is not a model: it has no {', no '.join(missing)}")
    config = read_described(
        folder / CONFIG, (format, version), what=f"{kind} model", again=None, error=ModelFormatError
    )
    if config.get("tokenizer") != TOKENIZER:
        raise ModelFormatError(
            f"{folder}: the model reads the words of the tokenizer {config.get('tokenizer')}, this towhom "
            f"({__version__}) has {TOKENIZER}; train the model again"
        )
    return config


def read_words(folder: Path) -> tuple[str, ...]:
    """The words of a model.

    Raises:
        ModelFormatError: They cannot be read.
    """
    words = _read(folder / WORDS)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ModelFormatError(f"{folder / WORDS}: expected a list of words")
    return tuple(words)


def read_weights(folder: Path) -> Arrays:
    """The weights of a model, by name.

    Raises:
        ModelFormatError: They cannot be read.
    """
    try:
        return load_file(folder / WEIGHTS)
    except (SafetensorError, OSError) as error:
        raise ModelFormatError(f"{folder / WEIGHTS}: the weights cannot be read ({error})") from error


def read_training(folder: Path) -> dict[str, Any]:
    """The record of a model's training; empty if there is none.

    Raises:
        ModelFormatError: It cannot be read.
    """
    found = _read(folder / TRAINING) if (folder / TRAINING).is_file() else {}
    return found if isinstance(found, dict) else {}


def check_weights(folder: Path, arrays: Arrays, expected: Mapping[str, tuple[int, ...]]) -> None:
    """Make sure that weights have the names and shapes that a configuration requires.

    Raises:
        ModelFormatError: They do not; the message lists every problem.
    """
    found = {name: value.shape for name, value in arrays.items()}
    problems = [f"there is no {name}" for name in expected.keys() - found.keys()]
    problems += [f"nothing is known of {name}" for name in found.keys() - expected.keys()]
    problems += [
        f"{name} is {found[name]}, expected {shape}"
        for name, shape in expected.items()
        if name in found and found[name] != shape
    ]
    for name, value in arrays.items():
        if value.dtype != np.float32:
            problems.append(f"{name} has type {value.dtype}, expected float32")
        elif not np.isfinite(value).all():
            problems.append(f"{name} has numbers that are none")
    if problems:
        raise ModelFormatError(
            f"{folder / WEIGHTS}: the weights do not fit the configuration: {'; '.join(sorted(problems))}"
        )


def _read(path: Path) -> Any:
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise ModelFormatError(f"{path}: cannot be read ({error})") from error
