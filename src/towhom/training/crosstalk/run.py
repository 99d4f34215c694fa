"""All of it, one stage after the other; what is done is not done again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from towhom.crosstalk.mind import Mind
from towhom.crosstalk.words import LIMIT
from towhom.files import atomic_file
from towhom.hearing.lexicon import Lexicon
from towhom.text.vocabulary import ModelVocabulary
from towhom.training.crosstalk.encoder import Encoder
from towhom.training.crosstalk.examples import Kind, collect
from towhom.training.crosstalk.looks import Lesson, LooksConfig, Weights, read_texts, train_first
from towhom.training.crosstalk.rooms import HeardRoom, Source, hear_room
from towhom.training.crosstalk.second import collect_second, train_second
from towhom.training.crosstalk.text import TextConfig, train_text
from towhom.training.crosstalk.vocabulary import choose_words

_MOST = 60_000
"""Messages of a room that teach in one way."""
_SECOND = 12_000
"""The same, of the second look."""


@dataclass(frozen=True)
class Settings:
    """How Crosstalk is trained.

    Args:
        text: How words are learned.
        looks: How the looks are learned.
        without: Rooms that are left out, to be measured on.
    """

    text: TextConfig = field(default_factory=TextConfig)
    looks: LooksConfig = field(default_factory=LooksConfig)
    without: tuple[str, ...] = ()


Progress = Callable[[str, int, int, float], None]


def train(
    sources: Sequence[Source],
    data: Path,
    work: Path,
    settings: Settings,
    *,
    lexicon: Lexicon,
    encoder: Path | None = None,
    progress: Progress = lambda stage, step, steps, loss: None,
) -> dict[str, Any]:
    """Train Crosstalk on rooms; returns the record. The weights are in `work`.

    Args:
        sources: The rooms.
        data: The folder that their paths are in.
        work: Where everything is written; another run with it goes on from there. Rooms are heard into the
            folder `heard` beside it, for all runs.
        settings: How.
        lexicon: By which names are told from words as the rooms are heard.
        encoder: A published sentence encoder, for the vectors of words to begin with.
        progress: Called with the stage, the step, how many there are, and the loss.
    """
    work.mkdir(parents=True, exist_ok=True)
    began = perf_counter()
    heard = [hear_room(source, data, work.parent / "heard" / source.name, lexicon) for source in sources]
    rooms = [room for room in heard if room.name not in settings.without]
    seconds = {"hearing": perf_counter() - began}
    words = _words(rooms, work, settings)
    text = _text(rooms, words, work, settings, encoder, progress)
    seconds["text"] = perf_counter() - began - sum(seconds.values())
    weights = lexicon_of(words).piece_weights
    looks = _first(rooms, words, text, weights, work, settings, progress)
    seconds["first look"] = perf_counter() - began - sum(seconds.values())
    _second(rooms, words, {**text, **looks}, weights, work, settings, progress)
    seconds["second look"] = perf_counter() - began - sum(seconds.values())
    return {
        "settings": asdict(settings),
        "words": len(words),
        "rooms": [asdict(room.source) for room in rooms],
        "seconds": {stage: round(time, 1) for stage, time in seconds.items()},
    }


def lexicon_of(words: Sequence[str]) -> Lexicon:
    """What a model that knows these words makes of a text."""
    return Lexicon(ModelVocabulary(tuple(words), np.zeros((len(words) + 1, 0), np.float32)), LIMIT)


def load_weights(work: Path) -> tuple[list[str], Weights]:
    """The words and weights that a run has ended with."""
    words: list[str] = json.loads((work / "words.json").read_text("utf-8"))
    return words, {**load_file(work / "text.safetensors"), **load_file(work / "looks.safetensors")}


def _words(rooms: Sequence[HeardRoom], work: Path, settings: Settings) -> list[str]:
    path = work / "words.json"
    if not path.exists():
        with atomic_file(path, "w") as file:
            json.dump(choose_words(rooms, settings.text.words), file, ensure_ascii=False)
    found: list[str] = json.loads(path.read_text("utf-8"))
    return found


def _text(
    rooms: Sequence[HeardRoom],
    words: list[str],
    work: Path,
    settings: Settings,
    encoder: Path | None,
    progress: Progress,
) -> Weights:
    path = work / "text.safetensors"
    config = TextConfig(**{**asdict(settings.text), "words": len(words)})
    if not path.exists():
        vectors = None if encoder is None else Encoder(encoder).vectors(words, config.dimensions)
        found = train_text(
            rooms, words, config, vectors=vectors, checkpoint=work / "text.checkpoint",
            progress=lambda step, loss: progress("text", step, config.steps, loss),
        )  # fmt: skip
        _write(path, found)
    return load_file(path)


def _first(
    rooms: Sequence[HeardRoom],
    words: list[str],
    text: Weights,
    weights: NDArray[np.float32],
    work: Path,
    settings: Settings,
    progress: Progress,
) -> Weights:
    path = work / "first.safetensors"
    if not path.exists():
        lessons = []
        for room in rooms:
            texts = read_texts(text, room, words, work / "texts" / room.name)
            for kind in Kind:
                folder = work / "examples" / f"{room.name}.{kind.value}"
                found = collect(
                    room, kind, "train", weights, folder,
                    most=1 << 40 if kind is Kind.LINKS else _MOST, seed=settings.looks.seed,
                )  # fmt: skip
                if found is not None:
                    lessons.append(Lesson(room.name, kind, found, texts))
        _write(
            path,
            train_first(
                lessons, settings.looks, checkpoint=work / "first.checkpoint",
                progress=lambda step, loss: progress("first look", step, settings.looks.steps, loss),
            ),
        )  # fmt: skip
    return load_file(path)


def _second(
    rooms: Sequence[HeardRoom],
    words: list[str],
    found: Weights,
    weights: NDArray[np.float32],
    work: Path,
    settings: Settings,
    progress: Progress,
) -> None:
    path = work / "looks.safetensors"
    if path.exists():
        return
    mind, lessons = Mind(found), []
    for room in rooms:
        texts = read_texts(found, room, words, work / "texts" / room.name)
        for kind in Kind:
            size = len(room.speaker) if kind is not Kind.LINKS else 1
            taught = collect_second(
                mind, room, texts, kind, "train", weights, work / "second" / f"{room.name}.{kind.value}",
                share=min(1.0, _SECOND * 3 / size), seed=settings.looks.seed,
            )  # fmt: skip
            if taught is not None and np.asarray(taught.right).any():
                lessons.append((kind, taught))
    first = {name: value for name, value in found.items() if not name.startswith("words.")}
    _write(
        path,
        train_second(
            first, lessons, settings.looks, progress=lambda step, loss: progress("second look", step, 0, loss)
        ),
    )


def _write(path: Path, weights: Weights) -> None:
    with atomic_file(path) as file:
        file.write(save({name: np.ascontiguousarray(value) for name, value in weights.items()}))
