"""Trains Crosstalk, one stage after the other; completed stages are not repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from towhom.crosstalk.folder import SavedCrosstalk, lexicon_of
from towhom.crosstalk.mind import Mind
from towhom.files import atomic_file
from towhom.hearing.lexicon import Lexicon
from towhom.training.crosstalk.encoder import Encoder
from towhom.training.crosstalk.examples import Kind, collect
from towhom.training.crosstalk.folders import read_stored
from towhom.training.crosstalk.looks import (
    Lesson,
    LooksConfig,
    States,
    Weights,
    read_texts,
    train_first,
    unknown_text,
)
from towhom.training.crosstalk.rooms import HeardRoom, Source, hear_room
from towhom.training.crosstalk.second import collect_second, train_second
from towhom.training.crosstalk.text import TextConfig, train_text
from towhom.training.crosstalk.vocabulary import choose_words

_TEXT, _FIRST, _LOOKS = "text.safetensors", "first.safetensors", "looks.safetensors"
_SECONDS = "seconds.json"
_MOST = {Kind.LINKS: 1 << 40, Kind.NAMES: 60_000, Kind.DRAFTS: 110_000, Kind.TOPICS: 60_000,
         Kind.MEANT: 60_000}  # fmt: skip
"""Maximum number of examples of each kind from one room."""
_SECOND = 12_000
"""The same for the second look."""


@dataclass(frozen=True)
class Settings:
    """How Crosstalk is trained.

    Args:
        text: Settings of the text stage.
        looks: Settings of the two looks.
        without: Names of rooms that are left out, so that the model can be evaluated on them.
    """

    text: TextConfig = field(default_factory=TextConfig)
    looks: LooksConfig = field(default_factory=LooksConfig)
    without: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        text_steps: int | None = None,
        looks_steps: int | None = None,
        without: tuple[str, ...] = (),
        seed: int = 0,
    ) -> Settings:
        """The default settings, except those given."""
        text, looks = TextConfig(seed=seed), LooksConfig(seed=seed)
        return cls(
            text if text_steps is None else replace(text, steps=text_steps),
            looks if looks_steps is None else replace(looks, steps=looks_steps),
            without,
        )


Progress = Callable[[str, int, int, float], None]


def train(
    sources: Sequence[Source],
    data: Path,
    work: Path,
    settings: Settings,
    *,
    lexicon: Lexicon,
    encoder: Path | None = None,
    words_of: SavedCrosstalk | None = None,
    progress: Progress = lambda stage, step, steps, loss: None,
) -> dict[str, Any]:
    """Train Crosstalk on rooms and return the record; the weights are written to `work`.

    Args:
        sources: The rooms.
        data: The folder that contains their paths.
        work: The folder for all results; another run with the same folder continues there. Analysed rooms
            are written to the folder `heard` beside it, which all runs share.
        settings: The training settings.
        lexicon: Tells names from words when the rooms are analysed.
        encoder: A published sentence encoder, for the initial word vectors.
        words_of: A model whose vocabulary and weights of the text stage are taken; that stage is left out.
        progress: Called with the stage, the step, the number of steps, and the loss.
    """
    work.mkdir(parents=True, exist_ok=True)
    heard = [hear_room(source, data, work.parent / "heard" / source.name, lexicon) for source in sources]
    rooms = [room for room in heard if room.name not in settings.without]
    words = _words(rooms, work, settings, words_of)
    run = _Run(rooms, words, work, settings, progress)
    stages: dict[str, tuple[str, Callable[[], Weights]]] = {
        "text": (_TEXT, lambda: run.text(encoder) if words_of is None else _text_of(words_of)),
        "first look": (_FIRST, run.first),
        "second look": (_LOOKS, run.second),
    }
    for stage, (name, learn) in stages.items():
        if (work / name).exists():
            continue
        began = perf_counter()
        _write(work / name, learn())
        _add_seconds(work, stage, perf_counter() - began)
    return {
        "settings": asdict(settings),
        "words": len(words),
        "rooms": [asdict(room.source) for room in rooms],
        "seconds": {stage: round(time, 1) for stage, time in _seconds(work).items()},
    }


def _seconds(work: Path) -> dict[str, float]:
    """Seconds that each completed stage of a run took."""
    path = work / _SECONDS
    found: dict[str, float] = read_stored(path) if path.exists() else {}
    return found


def _add_seconds(work: Path, stage: str, seconds: float) -> None:
    known = _seconds(work)
    with atomic_file(work / _SECONDS, "w") as file:
        json.dump({**known, stage: known.get(stage, 0.0) + seconds}, file)


def load_weights(work: Path) -> tuple[list[str], Weights]:
    """The final words and weights of a run."""
    words: list[str] = read_stored(work / "words.json")
    return words, {**load_file(work / _TEXT), **load_file(work / _LOOKS)}


def _text_of(saved: SavedCrosstalk) -> Weights:
    return {name: array for name, array in saved.weights.items() if name.startswith("words.")}


def _words(
    rooms: Sequence[HeardRoom], work: Path, settings: Settings, words_of: SavedCrosstalk | None
) -> list[str]:
    path = work / "words.json"
    if not path.exists():
        chosen = choose_words(rooms, settings.text.words) if words_of is None else words_of.vocabulary
        with atomic_file(path, "w") as file:
            json.dump(chosen, file, ensure_ascii=False)
    found: list[str] = read_stored(path)
    return found


@dataclass(frozen=True)
class _Run:
    """The stages of a run; each reads the files of the earlier ones."""

    rooms: Sequence[HeardRoom]
    words: list[str]
    work: Path
    settings: Settings
    progress: Progress

    def text(self, encoder: Path | None) -> Weights:
        config = replace(self.settings.text, words=len(self.words))
        vectors = None if encoder is None else Encoder(encoder).vectors(self.words, config.dimensions)
        return train_text(
            self.rooms, self.words, config, vectors=vectors, checkpoint=self.work / "text.checkpoint",
            progress=lambda step, loss: self.progress("text", step, config.steps, loss),
        )  # fmt: skip

    def first(self) -> Weights:
        config = self.settings.looks
        text, lessons = load_file(self.work / _TEXT), []
        for room in self.rooms:
            texts = self._texts(text, room)
            for kind in Kind:
                folder = self.work / "examples" / f"{room.name}.{kind.value}"
                most = int(_MOST[kind] * room.source.weight)
                found = collect(room, kind, "train", self._weights, folder, most=most, seed=config.seed)
                if found is not None:
                    lessons.append(Lesson(room.name, kind, found, texts, room.source.weight))
        return train_first(
            lessons, text, config, checkpoint=self.work / "first.checkpoint",
            progress=lambda step, loss: self.progress("first look", step, config.steps, loss),
        )  # fmt: skip

    def second(self) -> Weights:
        config = self.settings.looks
        text, first = (load_file(self.work / name) for name in (_TEXT, _FIRST))
        mind, lessons = Mind({**text, **first}), []
        for room in self.rooms:
            texts = self._texts(text, room)
            for kind in (Kind.LINKS, Kind.NAMES, Kind.TOPICS, Kind.MEANT):
                folder = self.work / "second" / f"{room.name}.{kind.value}"
                share = 1.0 if kind is Kind.LINKS else min(1.0, _SECOND * 3 / len(room.speaker))
                taught = collect_second(
                    mind, room, texts, kind, "train", self._weights, folder, unknown=unknown_text(text),
                    share=share, foreign=config.foreign, seed=config.seed,
                )  # fmt: skip
                if taught is not None and np.asarray(taught.right).any():
                    lessons.append((kind, taught))
        return train_second(
            first, lessons, config, progress=lambda step, loss: self.progress("second look", step, 0, loss)
        )

    def _texts(self, text: Weights, room: HeardRoom) -> States:
        return read_texts(text, room, self.words, self.work / "texts" / room.name)

    @cached_property
    def _weights(self) -> NDArray[np.float32]:
        return lexicon_of(tuple(self.words)).piece_weights


def _write(path: Path, weights: Weights) -> None:
    with atomic_file(path) as file:
        file.write(save({name: np.ascontiguousarray(value) for name, value in weights.items()}))
