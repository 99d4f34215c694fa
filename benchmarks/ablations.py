"""What each kind of data and each group of signals is worth to the first look of Crosstalk.

    python benchmarks/ablations.py RECORD WORK ROOMS --data DATA [--most 100000] [--steps 1200]

The first look is trained with one of them left out at a time, on the words of the bundled model. It is
measured on the days and documents that training keeps aside: for each message, whether the likeliest cell is
right. The number of steps is always the same and smaller than that of the bundled model, so only the
differences count. The full variant is trained with three seeds, which shows the effect of chance. Differences
have intervals by document.

ROOMS is the file that `towhom train-crosstalk` takes. WORK is a folder for intermediate files; an interrupted
run continues where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from towhom.crosstalk.folder import SavedCrosstalk
from towhom.evaluation.significance import bootstrap
from towhom.live.model import bundled_lexicon, load_live
from towhom.records import circumstances, read_record, write_record
from towhom.training.crosstalk.arrays import Torch
from towhom.training.crosstalk.examples import Kind, collect
from towhom.training.crosstalk.looks import (
    GROUPS,
    Lesson,
    Looks,
    LooksConfig,
    blinded,
    block_of,
    read_texts,
    train_first,
)
from towhom.training.crosstalk.rooms import Source, hear_room, read_recipe

SEEDS = 3
_LEARNED = {
    Kind.LINKS: 1 << 40,
    Kind.NAMES: 15_000,
    Kind.DRAFTS: 6_000,
    Kind.TOPICS: 15_000,
    Kind.MEANT: 60_000,
}
_MEASURED = 3_000
"""Number of measured examples of each kind per room, for a room of weight 1."""
_SETS = {
    "reply links": Kind.LINKS, "hidden names": Kind.NAMES, "topics": Kind.TOPICS, "meetings": Kind.MEANT
}  # fmt: skip
Outcomes = dict[str, tuple[NDArray[np.float64], NDArray[np.int64]]]
"""For each set, whether the answer for each message is right, and the message's document."""


class Room:
    """The training and development examples of a room."""

    def __init__(self, source: Source, data: Path, work: Path, saved: SavedCrosstalk) -> None:
        heard = hear_room(source, data, work / "heard" / source.name, bundled_lexicon())
        texts = read_texts(saved.weights, heard, saved.vocabulary, work / "texts" / source.name)
        weights = saved.lexicon.piece_weights
        self.learned: list[Lesson] = []
        self.measured: list[Lesson] = []
        for kind in Kind:
            for part, most, lessons in (
                ("train", _LEARNED[kind], self.learned),
                ("dev", _MEASURED, self.measured),
            ):
                folder = work / "ablations" / f"{source.name}.{kind.value}.{part}"
                found = collect(heard, kind, part, weights, folder, most=int(most * source.weight))
                if found is not None:
                    lessons.append(Lesson(source.name, kind, found, texts, source.weight))


def measure(
    weights: Mapping[str, NDArray[np.float32]], rooms: Sequence[Room], config: LooksConfig
) -> Outcomes:
    """Whether the likeliest cell of each message is right, by kind of data."""
    looks = Looks(weights, config, torch.Generator())
    looks.take(weights)
    found: dict[str, list[tuple[NDArray[np.float64], NDArray[np.int64]]]] = {name: [] for name in _SETS}
    document = 0
    for name, kind in _SETS.items():
        for lesson in (each for room in rooms for each in room.measured if each.kind is kind):
            starts = np.unique(np.asarray(lesson.examples.start), return_inverse=True)[1] + document
            for rows in lesson.blocks:
                found[name].append((_right(looks, lesson, rows, config), starts[rows]))
            document = int(starts.max()) + 1
    return {
        name: (np.concatenate([right for right, _ in parts]), np.concatenate([where for _, where in parts]))
        for name, parts in found.items()
        if parts
    }


@torch.no_grad()
def _right(looks: Looks, lesson: Lesson, rows: slice, config: LooksConfig) -> NDArray[np.float64]:
    block = blinded(block_of(lesson, rows), config.blind)
    energies = looks.first(block, Torch())[:, 0].masked_fill(block.unknown, -torch.inf)
    best = energies.argmax(dim=1, keepdim=True)
    return np.asarray(block.right.gather(1, best)[:, 0], np.float64)


def variants(config: LooksConfig) -> dict[str, tuple[LooksConfig, Kind | None]]:
    """The variants to train: the configuration of each, and the kind of data that is left out."""
    whole: dict[str, tuple[LooksConfig, Kind | None]] = {
        f"all, seed {seed}": (replace(config, seed=seed), None) for seed in range(SEEDS)
    }
    data = {f"without data: {kind.value}": (config, kind) for kind in Kind}
    signals = {f"without signals: {group}": (replace(config, blind=(group,)), None) for group in GROUPS}
    return whole | data | signals


def main() -> None:
    """Train, measure, and write the record after each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("record", "work", "rooms"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--most", type=int, default=100_000, help="messages of a room that are heard")
    parser.add_argument("--steps", type=int, default=1200)
    given = parser.parse_args()
    sources = [replace(source, most=min(source.most, given.most)) for source in read_recipe(given.rooms)]
    saved = load_live().saved
    rooms = [Room(source, given.data, given.work, saved) for source in sources]
    config = LooksConfig(steps=given.steps)
    record = read_record(given.record) if given.record.exists() else {
        **circumstances(), "rooms": [asdict(source) for source in sources], "settings": asdict(config),
        "variants": {},
    }  # fmt: skip
    first: Outcomes | None = None
    for name, (each, without) in variants(config).items():
        if name in record["variants"] and first is not None:
            continue
        lessons = [lesson for room in rooms for lesson in room.learned if lesson.kind is not without]
        weights = train_first(lessons, saved.weights, each)
        found = measure(weights, rooms, each)
        first = found if first is None else first
        record["variants"][name] = _described(found, first)
        print(name, {key: value["right"] for key, value in record["variants"][name].items()}, flush=True)
        write_record(given.record, record)


def _described(found: Outcomes, first: Outcomes) -> dict[str, Any]:
    described = {}
    for name, (right, document) in found.items():
        difference = bootstrap((right - first[name][0]) * 100, document)
        described[name] = {
            "messages": len(right),
            "documents": len(np.unique(document)),
            "right": round(float(right.mean()) * 100, 2),
            "difference": [round(each, 2) for each in (difference.mean, difference.low, difference.high)],
        }
    return described


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
