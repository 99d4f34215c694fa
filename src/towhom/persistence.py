"""Models on disk: a folder with the weights, the words, and what they are.

config.json         format, system, its settings, how it was asked to choose, context
model.safetensors   weights, word vectors included
vocab.json          the words, in the order of their vectors
training.json       how it was trained and how good it is; for people, not needed to load it
README.md           a card, for people
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from towhom import __version__
from towhom.errors import ConfigError, ModelFormatError
from towhom.extras import require
from towhom.files import atomic_file, atomic_folder
from towhom.models.registry import SYSTEMS, system_class, system_config
from towhom.selection import Rule
from towhom.text.vocabulary import ModelVocabulary

if TYPE_CHECKING:
    from towhom.models.neural import NeuralSelector

FORMAT = "towhom-model"
VERSION = 1
CONFIG, WEIGHTS, WORDS, TRAINING, CARD = (
    "config.json", "model.safetensors", "vocab.json", "training.json", "README.md",
)  # fmt: skip


@dataclass(frozen=True)
class SavedModel:
    """A model with its words, and the context that it was trained with."""

    model: NeuralSelector
    vocabulary: ModelVocabulary
    context: int
    training: dict[str, Any]


def save_model(
    folder: str | Path,
    model: NeuralSelector,
    vocabulary: ModelVocabulary,
    *,
    system: str,
    context: int,
    training: dict[str, Any],
) -> None:
    """Write a model folder; an older one at this place is replaced when the new one is complete."""
    folder = Path(folder)
    config = {
        "format": FORMAT,
        "version": VERSION,
        "towhom": __version__,
        "system": system,
        "settings": {
            key: value for key, value in asdict(model.config).items() if key not in SYSTEMS[system].settings
        },
        "context": context,
        "max_words": model.max_words,
        "rule": model.rule.value,
    }
    weights = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    with atomic_folder(folder) as temporary:
        _write_json(temporary / CONFIG, config)
        _write_json(temporary / WORDS, list(vocabulary.words))
        _write_json(temporary / TRAINING, training)
        with atomic_file(temporary / WEIGHTS) as file:
            file.write(save({**weights, "vectors": np.ascontiguousarray(vocabulary.matrix)}))
        (temporary / CARD).write_text(_card(config, training), "utf-8")


def load_model(folder: str | Path) -> SavedModel:
    """Read a model folder.

    Raises:
        ModelFormatError: It is none, it is of another version, or a part is missing or damaged.
    """
    require("torch", extra="train", purpose="running a trained model")
    import torch

    folder = Path(folder)
    if not folder.is_dir():
        raise ModelFormatError(f"{folder}: there is no such folder")
    missing = [name for name in (CONFIG, WEIGHTS, WORDS) if not (folder / name).is_file()]
    if missing:
        raise ModelFormatError(f"{folder}: this is no model: it has no {', no '.join(missing)}")
    config = _read_json(folder / CONFIG)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelFormatError(f"{folder / CONFIG}: this is not the configuration of a towhom model")
    if config.get("version") != VERSION:
        raise ModelFormatError(
            f"{folder}: the model has format version {config.get('version')}, this towhom ({__version__}) "
            f"reads version {VERSION}"
        )
    try:
        weights = load_file(folder / WEIGHTS)
    except (SafetensorError, OSError) as error:
        raise ModelFormatError(f"{folder / WEIGHTS}: the weights cannot be read ({error})") from error
    words = _read_json(folder / WORDS)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ModelFormatError(f"{folder / WORDS}: expected a list of words")
    if "vectors" not in weights or weights["vectors"].ndim != 2:
        raise ModelFormatError(f"{folder / WEIGHTS}: there is no matrix of word vectors in it")
    vocabulary = ModelVocabulary(tuple(words), weights.pop("vectors"))
    if len(vocabulary.matrix) != len(vocabulary.words) + 1:
        raise ModelFormatError(
            f"{folder}: there are {len(vocabulary.words)} words and {len(vocabulary.matrix)} vectors; "
            "expected one more vector than words"
        )
    training = read_training(folder)
    try:
        model, context = _build(config, vocabulary), int(config["context"])
    except KeyError as error:
        raise ModelFormatError(f"{folder / CONFIG}: there is no {error} in it") from error
    except (ConfigError, ValueError, TypeError, AttributeError) as error:
        raise ModelFormatError(f"{folder / CONFIG}: {error}") from error
    try:
        model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    except RuntimeError as error:
        raise ModelFormatError(
            f"{folder / WEIGHTS}: the weights do not fit the configuration: {error}"
        ) from error
    return SavedModel(model, vocabulary, context, training)


def read_training(folder: Path) -> dict[str, Any]:
    """How the model of a folder was trained, as far as it says so."""
    found = _read_json(folder / TRAINING) if (folder / TRAINING).is_file() else {}
    return found if isinstance(found, dict) else {}


def _build(config: dict[str, Any], vocabulary: ModelVocabulary) -> NeuralSelector:
    """The model that a configuration describes, without its weights."""
    system = config["system"]
    model: NeuralSelector = system_class(system)(system_config(system, config["settings"]), vocabulary.matrix)
    model.rule = Rule(config["rule"])
    model.max_words = config["max_words"]
    return model.eval()


def _card(config: dict[str, Any], training: dict[str, Any]) -> str:
    """A page about the model, for people."""
    dev = training.get("dev", {})
    lines = [
        f"# {SYSTEMS[config['system']].title}",
        "",
        f"Trained with towhom {config['towhom']}; selects an addressee and a response for the next message",
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


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFormatError(f"{path}: cannot be read ({error})") from error
