"""Makes a model folder from rooms: trains a model, measures it, and writes it with a card."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from towhom.crosstalk.folder import SavedCrosstalk, Sizes, compacted, write_crosstalk
from towhom.crosstalk.words import TOWERS
from towhom.evaluation.addressees import Outcome, describe_addressees, follow_logs, follow_model
from towhom.evaluation.reply_links import read_linked_logs
from towhom.evaluation.threads import describe_threads
from towhom.evaluation.threads import follow_logs as place_logs
from towhom.hearing.lexicon import Lexicon
from towhom.live import Model
from towhom.records import circumstances
from towhom.threads import Placed
from towhom.training.crosstalk.looks import Weights
from towhom.training.crosstalk.rooms import HeardRoom, Source
from towhom.training.crosstalk.run import Progress, Settings, load_weights, train
from towhom.training.crosstalk.vocabulary import names_of, no_names

_CARD = """# Crosstalk

Says who each message of a conversation with many speakers is for, which message it answers, and which of some
drafts should be said next, and to whom. Runs on NumPy; `towhom.load(FOLDER)`.

Trained with towhom {version} on {rooms} rooms:

{list}
{measured}
`training.json` has the settings, the data and the course of the training. Words that somebody in the rooms is
called by are not in the vocabulary, but for the 2,000 most common. It was trained on chats in English about
software; in other languages it goes by turns, times, names, and what texts have in common. It says who
somebody talks to, not what they are like: it is not meant to judge people.
"""


def make_model(
    sources: Sequence[Source],
    data: Path,
    work: Path,
    out: Path,
    settings: Settings,
    *,
    lexicon: Lexicon,
    encoder: Path | None = None,
    words_of: SavedCrosstalk | None = None,
    progress: Progress = lambda stage, step, steps, loss: None,
) -> dict[str, Any]:
    """Train a model and write it; returns its scores on data with annotated links.

    Args:
        sources: The rooms.
        data: The folder that contains their paths.
        work: The folder for intermediate results; each run has its own subfolder, rooms are shared.
        out: The model folder.
        settings: The training settings.
        lexicon: Tells names from words when the rooms are analysed.
        encoder: A published sentence encoder, for the initial word vectors.
        words_of: A model whose words are taken, instead of training them.
        progress: Called with the stage, the step, the number of steps, and the loss.
    """
    told = [
        asdict(settings),
        [asdict(source) for source in sources],
        None if encoder is None else encoder.name,
        None if words_of is None else words_of.fingerprint,
    ]
    run = work / sha256(json.dumps(told).encode()).hexdigest()[:12]
    record = train(
        sources, data, run, settings, lexicon=lexicon, encoder=encoder, words_of=words_of, progress=progress
    )
    words, weights = _without_names(*load_weights(run), _names(sources, work))
    looks, (state, towers) = settings.looks, weights["words.answers.w"].shape
    dimensions = weights["words.vectors"].shape[1]
    sizes = Sizes(dimensions, state, towers // TOWERS, looks.says, looks.hidden, looks.second)
    saved = SavedCrosstalk(sizes, compacted(weights), tuple(words))
    model = Model(saved)
    dev = {
        source.name: measured(data / source.dev, lambda place: model)
        for source in sources
        if source.dev is not None
    }
    training = {
        **circumstances(),
        **record,
        "words": len(words),
        "encoder": None if encoder is None else encoder.name,
        "words_of": None if words_of is None else _words_record(words_of.training),
        "dev": dev,
    }
    write_crosstalk(
        out, SavedCrosstalk(sizes, saved.weights, saved.vocabulary, training), card=_card(training)
    )
    return dev


def _words_record(training: Mapping[str, Any]) -> dict[str, Any]:
    """How the words of another model were trained."""
    told = ("command", "commit", "date", "encoder", "rooms", "seconds", "words_of")
    return {name: training[name] for name in told if name in training}


def _names(sources: Sequence[Source], work: Path) -> frozenset[str]:
    """The names of people in all rooms."""
    return frozenset[str]().union(*(names_of(HeardRoom(work / "heard" / source.name)) for source in sources))


def _without_names(words: list[str], weights: Weights, names: frozenset[str]) -> tuple[list[str], Weights]:
    """Remove the words that are somebody's name from a model."""
    stay = no_names(words, names)
    rows = np.append(True, stay)  # the first row is that of unknown words
    kept = {name: weights[name][rows] for name in ("words.vectors", "words.weight")}
    return [word for word, keep in zip(words, stay.tolist(), strict=True) if keep], {**weights, **kept}


def measured(path: Path, model_of: Callable[[int], Model]) -> dict[str, Any]:
    """The scores of a model on logs with annotated reply links.

    Args:
        path: The logs.
        model_of: The model for each of them, by its place among them.
    """
    logs = list(read_linked_logs(path))
    placed: list[dict[int, Placed]] = []
    outcomes: list[Outcome] = []
    for place, log in enumerate(logs):
        model = model_of(place)
        placed += place_logs(model.threads, [log])
        outcomes += [replace(each, document=place) for each in follow_logs(follow_model(model), [log])]
    found, people = describe_threads(logs, placed), describe_addressees(outcomes)
    return {
        "links": found["links"],
        "conversations": found["conversations"],
        "addressees": people["accuracy"],
        "addressees_where_nobody_is_named": people["names_nobody"]["accuracy"],
        "calibration": people["calibration"]["error"],
    }


def _card(training: dict[str, Any]) -> str:
    rooms = training["rooms"]
    listed = "\n".join(f"- {room['name']}: {room['licence']}" for room in rooms)
    lines = [scores_line(name, found) for name, found in training["dev"].items()]
    return _CARD.format(
        version=training["versions"]["towhom"], rooms=len(rooms), list=listed, measured="\n" + "".join(lines)
    )


def scores_line(name: str, found: Mapping[str, Any]) -> str:
    """The scores of `measured` as a line of a card."""
    return (
        f"On {name}'s development part: links F1 {found['links']['f1']:.1f}, conversations one-to-one "
        f"{found['conversations']['one_to_one']:.1f}; addressees {found['addressees']:.1f} %, "
        f"{found['addressees_where_nobody_is_named']:.1f} % where nobody is named.\n"
    )
