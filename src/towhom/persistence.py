"""Stores the paper's systems: a folder with the weights, the words and the configuration.

`towhom.model_folder` lists its files; the word vectors are among the weights. `towhom.crosstalk.folder` has
the folders of Crosstalk.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk.folder import holds_crosstalk
from towhom.errors import ConfigError, ModelFormatError
from towhom.extras import require
from towhom.model_folder import (
    CONFIG,
    WEIGHTS,
    Arrays,
    check_weights,
    read_config,
    read_training,
    read_weights,
    read_words,
    write_folder,
)
from towhom.models.registry import entry, system_class, system_config
from towhom.runtime import NumpySelector, runtime_class
from towhom.selection import Rule
from towhom.text.vocabulary import ModelVocabulary
from towhom.version import __version__

if TYPE_CHECKING:
    from towhom.models.neural import NeuralSelector

FORMAT = "towhom-model"
VERSION = 1
_VECTORS = "vectors"


@dataclass(frozen=True)
class SavedModel:
    """The content of a model folder."""

    system: str
    """The system's name in the registry."""
    config: Any
    """The system's configuration."""
    weights: dict[str, NDArray[np.float32]]
    vocabulary: ModelVocabulary
    context: int
    """T, the number of messages of context in training."""
    rule: Rule
    max_words: int | None
    training: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The configuration without the settings that define the system."""
        own = entry(self.system).settings
        return {key: value for key, value in asdict(self.config).items() if key not in own}

    @property
    def fingerprint(self) -> str:
        """A hash that differs between models that could answer differently."""
        seen = [self.system, self.settings, self.context, self.max_words, self.rule.value]
        digest = sha256(json.dumps([*seen, self.vocabulary.words]).encode())
        for name, array in sorted(self.weights.items()):
            digest.update(name.encode() + array.tobytes())
        digest.update(self.vocabulary.matrix.tobytes())
        return digest.hexdigest()

    @cached_property
    def runtime(self) -> NumpySelector:
        """The model, for running without torch."""
        selector = runtime_class(self.system)(self.weights, self.vocabulary.matrix, self.config)
        selector.rule, selector.max_words = self.rule, self.max_words
        return selector

    @cached_property
    def model(self) -> NeuralSelector:
        """The model in torch, which is ten times faster on many samples at once."""
        torch = require("torch", extra="train", purpose="running a model in torch")
        model: NeuralSelector = system_class(self.system)(self.config, self.vocabulary.matrix)
        weights = {name: torch.from_numpy(value) for name, value in self.weights.items()}
        model.load_state_dict(weights)
        model.rule, model.max_words = self.rule, self.max_words
        return model.eval()


def save_model(
    folder: str | Path,
    model: NeuralSelector,
    vocabulary: ModelVocabulary,
    *,
    system: str,
    context: int,
    training: dict[str, Any],
) -> None:
    """Write a model folder; an existing one is replaced when the new one is complete."""
    weights = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    saved = SavedModel(
        system, model.config, weights, vocabulary, context, model.rule, model.max_words, training
    )
    config = {
        "format": FORMAT,
        "version": VERSION,
        "system": saved.system,
        "settings": saved.settings,
        "context": saved.context,
        "max_words": saved.max_words,
        "rule": saved.rule.value,
    }
    arrays = {**weights, _VECTORS: vocabulary.matrix}
    card = _card(config, training)
    write_folder(Path(folder), config, arrays, vocabulary.words, training=training, card=card)


def check_replaceable(folder: Path) -> None:
    """Make sure that writing a model there replaces nothing but a model.

    Raises:
        ConfigError: The folder exists and is not a model.
    """
    if folder.exists() and not (folder / CONFIG).exists():
        raise ConfigError(f"{folder}: already exists and is not a model; choose another folder")


def load_model(folder: str | Path) -> SavedModel:
    """Read a model folder.

    Raises:
        ModelFormatError: The folder is not a model, is a Crosstalk model, has another version, or a part is
            missing or damaged.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelFormatError(f"{folder}: there is no such folder")
    if holds_crosstalk(folder):
        raise ModelFormatError(
            f"{folder}: this is a Crosstalk model, which `towhom.load` reads; expected one of the paper's "
            "systems, which `towhom train` makes"
        )
    config = read_config(folder, FORMAT, VERSION, kind="towhom")
    arrays = read_weights(folder)
    vocabulary = _vocabulary(folder, arrays)
    try:
        saved = SavedModel(
            system=config["system"],
            config=system_config(config["system"], config["settings"]),
            weights=arrays,
            vocabulary=vocabulary,
            context=int(config["context"]),
            rule=Rule(config["rule"]),
            max_words=config["max_words"],
            training=read_training(folder),
        )
    except KeyError as error:
        raise ModelFormatError(f"{folder / CONFIG}: there is no {error} in it") from error
    except (ConfigError, ValueError, TypeError, AttributeError) as error:
        raise ModelFormatError(f"{folder / CONFIG}: {error}") from error
    if saved.context < 1 or not (saved.max_words is None or type(saved.max_words) is int):
        raise ModelFormatError(
            f"{folder / CONFIG}: context is {saved.context} and max_words {saved.max_words!r}; expected a "
            "positive number, and a number or null"
        )
    if saved.config.dimensions != vocabulary.matrix.shape[1]:
        raise ModelFormatError(
            f"{folder / CONFIG}: vectors have {vocabulary.matrix.shape[1]} dimensions, "
            f"the model wants {saved.config.dimensions}"
        )
    check_weights(folder, saved.weights, runtime_class(saved.system).shapes(saved.config))
    return saved


def _vocabulary(folder: Path, arrays: Arrays) -> ModelVocabulary:
    """The words with their vectors; removes the vectors from the arrays."""
    words = read_words(folder)
    matrix = arrays.pop(_VECTORS, None)
    if matrix is None or matrix.ndim != 2 or matrix.dtype != np.float32:
        raise ModelFormatError(f"{folder / WEIGHTS}: there is no matrix of word vectors in it, in float32")
    if len(matrix) != len(words) + 1:
        raise ModelFormatError(
            f"{folder}: there are {len(words)} words and {len(matrix)} vectors; "
            "expected one more vector than words"
        )
    return ModelVocabulary(words, matrix)


def _card(config: dict[str, Any], training: dict[str, Any]) -> str:
    """A page about the model, for people."""
    dev = training.get("dev", {})
    lines = [
        f"# {entry(config['system']).title}",
        "",
        f"Trained with towhom {__version__}; selects an addressee and a response for the next message",
        f"of a conversation with many speakers, from {config['context']} messages of context.",
        "",
    ]
    if dev:
        lines += [
            f"On {dev['samples']:,} development samples: ADR {dev['adr']:.2f}, RES {dev['res']:.2f}, "
            f"ADR-RES {dev['adr_res']:.2f}.",
            "",
        ]
    return "\n".join(
        [*lines, "`training.json` has the data, the settings and the course of the training.", ""]
    )
