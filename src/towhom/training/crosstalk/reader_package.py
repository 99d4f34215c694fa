"""Makes the folder of the large model: trains a reader for a Crosstalk model, and writes both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

from towhom.crosstalk.folder import SavedCrosstalk, read_crosstalk, write_crosstalk
from towhom.crosstalk.mind import Mind
from towhom.crosstalk.reader import MIX
from towhom.crosstalk.reader_folder import SavedReader, packed, unpacked
from towhom.crosstalk.transcript import Transcript
from towhom.errors import ConfigError
from towhom.extras import require
from towhom.files import atomic_file
from towhom.live import Model
from towhom.model_folder import CARD
from towhom.records import circumstances
from towhom.training.crosstalk.examples import Kind
from towhom.training.crosstalk.folders import read_stored
from towhom.training.crosstalk.language_model import LanguageModel, read_language_model
from towhom.training.crosstalk.looks import Weights, read_texts
from towhom.training.crosstalk.package import measured, scores_line
from towhom.training.crosstalk.reader import (
    Judged,
    Mix,
    ReaderConfig,
    describe_mix,
    fit_apart,
    fit_mix,
    judge,
    train_reader,
)
from towhom.training.crosstalk.reader_examples import KINDS, LineLesson, collect_lines, hear_lines, sizes_of
from towhom.training.crosstalk.rooms import HeardRoom, Source

_WEIGHTS, _SECONDS = "reader.safetensors", "seconds.json"
_FITTED = (
    "Six numbers for messages that call somebody, and six for others, say what the looks and the reader are "
    "worth (`towhom.crosstalk.reader.MIX`). They are fitted on the development parts of "
    "{rooms}. The scores under dev are by cross-validation: each document is judged with numbers that were "
    "fitted on the other documents."
)
_CARD = """
## The reader

This is the large model. Besides the two looks, it reads a room word by word, with the lowest {layers} of the
{all} layers of a language model, {name} ({licence}), trained further with towhom {version} on {rooms} rooms:

{list}
{measured}
{fitted}

`training.json` has the settings and the course of the training, and under `looks` those of the two looks. The
reader needs the package tokenizers: `pip install 'towhom[large]'`.
"""

Progress = Callable[[str, int, int, float], None]


def make_large_model(
    sources: Sequence[Source],
    base: Path,
    data: Path,
    work: Path,
    out: Path,
    config: ReaderConfig,
    *,
    language_model: Path,
    without: tuple[str, ...] = (),
    progress: Progress = lambda stage, step, steps, loss: None,
) -> dict[str, Any]:
    """Train a reader for a model and write both; returns the scores on data with annotated links.

    Args:
        sources: The rooms.
        base: The folder of a Crosstalk model, whose two looks stay as they are.
        data: The folder that contains the rooms' paths.
        work: The folder for intermediate results; each run has its own subfolder, examples are shared.
        out: The folder of the large model.
        config: The training settings.
        language_model: A GGUF file.
        without: Names of rooms that are left out, so that the model can be evaluated on them.
        progress: Called with the stage, the step, the number of steps, and the loss.

    Raises:
        ConfigError: No room is left that tells what the parts of the model are worth.
    """
    sources = [source for source in sources if source.name not in without]
    if all(source.dev is None for source in sources):
        raise ConfigError(
            "none of the rooms has a development part with reply links, from which the large model learns "
            "what its parts are worth"
        )
    saved = read_crosstalk(base)
    if saved.reader is not None:
        raise ConfigError(f"{base}: this model has a reader already; choose the model that it was made from")
    model = read_language_model(language_model, config.layers)
    made = _Run(sources, replace(saved, reader=None), model, data, work, config, progress)
    weights, mix, apart, cells = made.trained, made.mix, made.apart, made.mix_record["dev"]
    layers = packed(
        {**model.weights, **{name: weights[name] for name in weights if name in model.weights}},
        finely=weights,
    )

    def finished(mix: Mix) -> SavedCrosstalk:
        rest = {name: weights[name] for name in weights if name not in model.weights}
        rest["reader.parts"] = mix.astype(np.float32)
        reader = SavedReader({**layers, **packed(rest)}, model.tokenizer, model.names)
        return replace(saved, reader=reader)

    def judging(room: str, document: int) -> Model:
        place = made.documents_before[room] + document
        progress("scores", place, made.documents, 0.0)
        return Model(finished(apart.get(place, mix)))

    def scores() -> dict[str, Any]:
        return {
            source.name: measured(data / source.dev, partial(judging, source.name))
            for source in sources
            if source.dev is not None
        }

    dev: dict[str, Any] = made.stored("scores", scores)
    training = {
        **circumstances(),
        "settings": {**asdict(config), "without": without},
        "language_model": model.origin.record(),
        "rooms": [asdict(source) for source in sources],
        "lessons": sizes_of(made.lessons("train")),
        "seconds": made.seconds,
        "mix": {
            "parts": MIX,
            "numbers": mix.round(4).tolist(),
            "told": _FITTED.format(rooms=", ".join(dev)),
            "cells": cells,
        },
        "dev": dev,
        "looks": saved.training,
    }
    card = (base / CARD).read_text("utf-8") if (base / CARD).is_file() else "# Crosstalk\n"
    write_crosstalk(out, replace(finished(mix), training=training), card=card + _card(training))
    return dev


@dataclass(frozen=True)
class _Run:
    """The stages of a run; completed ones are not repeated."""

    sources: Sequence[Source]
    base: SavedCrosstalk
    language_model: LanguageModel
    data: Path
    work: Path
    config: ReaderConfig
    progress: Progress

    @cached_property
    def examples(self) -> Path:
        """The folder for examples, which runs with other settings share."""
        told = [self.base.fingerprint, self.language_model.origin.sha256, self.config.seed]
        return self.work / f"lines-{_short(told)}"

    @cached_property
    def folder(self) -> Path:
        """The folder of this run."""
        told = [self.examples.name, asdict(self.config), [asdict(source) for source in self.sources]]
        return self.work / f"reader-{_short(told)}"

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Seconds that each completed stage took."""
        path = self.folder / _SECONDS
        return dict(read_stored(path)) if path.exists() else {}

    @cached_property
    def transcript(self) -> Transcript:
        """Writes the lines."""
        tokenizers = require("tokenizers", extra="train", purpose="training a reader")
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(self.language_model.tokenizer))
        return Transcript(lambda text: tokenizer.encode(text).ids, self.language_model.names)

    @cached_property
    def rooms(self) -> list[HeardRoom]:
        """The rooms with their lines."""
        found: list[HeardRoom] = []
        for place, source in enumerate(self.sources):
            folder = self.examples / "heard" / source.name
            found.append(
                hear_lines(
                    source, self.data, folder, self.base.lexicon, self.transcript, seed=self.config.seed
                )
            )
            self.progress("rooms", place, len(self.sources), 0.0)
        return found

    def lessons(self, part: str) -> list[LineLesson]:
        """What the train parts teach; of the dev parts, the reply links."""
        mind = Mind(self.base.weights)
        found: list[LineLesson] = []
        for place, room in enumerate(self.rooms):
            texts = read_texts(
                self.base.weights, room, self.base.vocabulary, self.examples / "texts" / room.name
            )
            for kind in KINDS if part == "train" else (Kind.LINKS,) if room.source.dev is not None else ():
                folder = self.examples / part / f"{room.name}.{kind.value}"
                examples = collect_lines(
                    mind, room, texts, kind, part, self.base.lexicon.piece_weights, folder,
                    seed=self.config.seed,
                )  # fmt: skip
                if examples is not None:
                    found.append(LineLesson(room, kind, part, examples, self.transcript))
            self.progress(f"examples, {part}", place, len(self.rooms), 0.0)
        return found

    @cached_property
    def trained(self) -> Weights:
        """The weights that were trained."""
        path = self.folder / _WEIGHTS
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            lessons, began = self.lessons("train"), perf_counter()
            weights = train_reader(
                lessons, self.language_model.weights, self.config,
                checkpoint=self.folder / "reader.checkpoint",
                progress=lambda step, loss: self.progress("reader", step, self.config.steps, loss),
            )  # fmt: skip
            with atomic_file(path) as file:
                file.write(save({name: np.ascontiguousarray(value) for name, value in weights.items()}))
            self._took("reader", perf_counter() - began)
        return load_file(path)

    @cached_property
    def documents_before(self) -> dict[str, int]:
        """By room with a development part, the number of documents of the rooms before it."""
        found, count = {}, 0
        for room in self.rooms:
            if room.source.dev is not None:
                found[room.name] = count
                count += len(room.segments("dev"))
        return found

    @property
    def documents(self) -> int:
        """The number of documents of all development parts."""
        return sum(len(room.segments("dev")) for room in self.rooms if room.source.dev is not None)

    @cached_property
    def mix_record(self) -> dict[str, Any]:
        """The numbers that say what the parts are worth, as they are stored."""
        found: dict[str, Any] = self.stored("mix", self._fitted)
        return found

    def stored(self, stage: str, make: Callable[[], Any]) -> Any:
        """What a stage found, as values of JSON; it is repeated only if nothing is stored."""
        path = self.folder / f"{stage}.json"
        if not path.exists():
            began, found = perf_counter(), make()
            with atomic_file(path, "w") as file:
                json.dump(found, file)
            self._took(stage, perf_counter() - began)
        return read_stored(path)

    @property
    def mix(self) -> Mix:
        """What the parts are worth."""
        return np.array(self.mix_record["mix"])

    @property
    def apart(self) -> dict[int, Mix]:
        """The same by document, fitted on the other documents."""
        return {document: np.array(mix) for document, mix in self.mix_record["apart"]}

    def _fitted(self) -> dict[str, Any]:
        judged = self._judged()
        apart = fit_apart(judged)
        return {
            "mix": fit_mix(judged).tolist(),
            "apart": [(document, mix.tolist()) for document, mix in apart.items()],
            "dev": describe_mix(judged, apart),
        }

    def _judged(self) -> Judged:
        """The development parts, read with weights as they are stored."""
        lessons = self.lessons("dev")
        if not lessons:
            raise ConfigError("no message of the development parts has a reply link; choose other rooms")
        stored = unpacked(packed({**self.language_model.weights, **self.trained}, finely=self.trained))
        moved: list[Judged] = []
        for place, lesson in enumerate(lessons):
            found = judge(stored, lesson)
            before = self.documents_before[lesson.room.name]
            moved.append(found._replace(document=found.document + before))
            self.progress("mix", place, len(lessons), 0.0)
        return Judged(*(np.concatenate(parts) for parts in zip(*moved, strict=True)))

    def _took(self, stage: str, seconds: float) -> None:
        self.seconds[stage] = round(self.seconds.get(stage, 0.0) + seconds, 1)
        with atomic_file(self.folder / _SECONDS, "w") as file:
            json.dump(self.seconds, file)


def _short(told: object) -> str:
    return sha256(json.dumps(told).encode()).hexdigest()[:12]


def _card(training: Mapping[str, Any]) -> str:
    model = training["language_model"]
    return _CARD.format(
        layers=training["settings"]["layers"],
        all=model["layers"],
        name=model["name"],
        licence=model["licence"],
        version=training["versions"]["towhom"],
        rooms=len(training["rooms"]),
        list="\n".join(f"- {room['name']}: {room['licence']}" for room in training["rooms"]),
        measured="".join(f"\n{scores_line(name, found)}" for name, found in training["dev"].items()),
        fitted=training["mix"]["told"],
    )
