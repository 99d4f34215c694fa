"""Trains the second look, from the threads that the first has found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from towhom.crosstalk import network
from towhom.crosstalk.columns import NOBODY, Columns
from towhom.crosstalk.mind import Mind, Texts, seen_again
from towhom.crosstalk.structure import Sights, parents
from towhom.hearing.utterance import REACH
from towhom.training.crosstalk.arrays import Torch
from towhom.training.crosstalk.descent import loss_of, rate
from towhom.training.crosstalk.examples import Examples, Kind, Rows, bounds_of, rows_of, written
from towhom.training.crosstalk.looks import WARM_UP, Looks, LooksConfig, States, Weights, shares_of
from towhom.training.crosstalk.rooms import HeardRoom

_CHUNK = 256
_BATCH = 128


def collect_second(
    mind: Mind,
    room: HeardRoom,
    texts: States,
    kind: Kind,
    part: str,
    weights: NDArray[np.float32],
    folder: Path,
    *,
    unknown: States,
    share: float = 1.0,
    foreign: float = 0.0,
    seed: int = 0,
) -> Examples | None:
    """Write a room's examples for the second look, unless that was done before.

    Args:
        mind: The model whose first look finds the threads.
        room: The room.
        texts: Its encoded texts.
        kind: The kind of examples.
        part: The part of the room: train, dev or test.
        weights: The weights of pieces.
        folder: The folder to write.
        unknown: The encoded text of a message without any known word.
        share: Share of the segments that are used.
        foreign: Share of these in which all words count as unknown.
        seed: Seed of the random choices.
    """
    if folder.exists():
        return Examples(folder)
    random = np.random.default_rng(seed)
    found: list[dict[str, NDArray[Any]]] = []
    for first, last in bounds_of(room, kind, part, random):
        if random.random() >= share:
            continue
        rows = rows_of(room, kind, first, last, hidden=part == "train", random=random)
        if rows is None:
            continue
        said = np.asarray(texts[first:last], np.float32)
        if random.random() < foreign:
            said = np.repeat(np.asarray(unknown, np.float32), last - first, axis=0)
        found += _seen(mind, room.columns(first, last, weights), mind.texts(said), rows)
    if not found:
        return None
    return written(folder, found)


def first_sights(mind: Mind, past: Columns, texts: Texts) -> Sights:
    """The links and threads of a segment, as the first look finds them."""
    parent = np.zeros(past.size, np.int64)
    for start in range(0, past.size, _CHUNK):
        at = np.arange(start, min(start + _CHUNK, past.size))
        energies = mind.first_look(past, past.at(at), at, texts.said, texts.at(at)).energies
        parent[at] = parents(energies)
    thread, answered = np.arange(past.size), np.full(past.size, NOBODY)
    for place in np.flatnonzero(parent).tolist():
        thread[place] = thread[place - parent[place]]
        answered[place] = past.speaker[place - parent[place]]
    return Sights(parent, thread, answered)


def _seen(mind: Mind, past: Columns, texts: Texts, rows: Rows) -> Iterator[dict[str, NDArray[Any]]]:
    sights = first_sights(mind, past, texts)
    for start in range(0, len(rows.at), _CHUNK):
        some = rows.some(slice(start, start + _CHUNK))
        new = past.at(some.at)._replace(named=some.named, mentions=some.mentions)
        first = mind.first_look(past, new, some.at, texts.said, texts.at(some.at))
        found, cells, messages = seen_again(past, new, some.at, sights, first)
        row = np.arange(len(some.at))[:, None]
        columns = np.concatenate([found.likeliest, np.full((len(row), 1), REACH)], axis=1)
        there = np.concatenate([found.there, np.ones((len(row), 1), bool)], axis=1)
        yield {
            "cells": cells.astype(np.float16),
            "messages": messages.astype(np.float16),
            "there": there & ~some.unknown[row, columns],
            "right": some.right[row, columns] & there & ~some.unknown[row, columns],
        }


def train_second(
    first: Weights,
    lessons: Sequence[tuple[Kind, Examples]],
    config: LooksConfig,
    *,
    epochs: float = 4.0,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> Weights:
    """Train the second look and return the weights of both.

    Args:
        first: The weights of the first look, which stay fixed.
        lessons: Examples from `collect_second`.
        config: The settings.
        epochs: How many times the human links are gone through.
        progress: Called after each step, with its loss.
    """
    torch.manual_seed(config.seed)
    looks = Looks(first, config, torch.Generator().manual_seed(config.seed))
    looks.take({name: array for name, array in first.items() if not name.startswith("second.")})
    own = [value for name, value in looks.by_name.items() if name.startswith("second.")]
    optimizer = torch.optim.AdamW(own, config.learning_rate, betas=(0.9, 0.98), weight_decay=1e-3)
    rows = [np.flatnonzero(np.asarray(examples.right).any(axis=1)) for _, examples in lessons]
    human = np.array([kind is Kind.LINKS for kind, _ in lessons])
    links = sum(len(each) for each, is_human in zip(rows, human, strict=True) if is_human)
    share = 1.0 if human.all() else 0.5
    given = {Kind.LINKS: share, Kind.MEANT: 0.0 if human.all() else config.meant}
    shares = shares_of([kind for kind, _ in lessons], [len(each) for each in rows], given)
    steps = max(int(epochs * (links or len(rows[0])) / _BATCH / share), 1)
    xp, w = Torch(1.5 * config.dropout), looks.by_name
    random = np.random.default_rng(config.seed)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * rate(step, steps, WARM_UP)
        place = int(random.choice(len(lessons), p=shares))
        examples = lessons[place][1]
        batch = np.sort(random.choice(rows[place], _BATCH))
        cells, messages = (
            torch.from_numpy(np.asarray(each[batch], np.float32))
            for each in (examples.cells, examples.messages)
        )
        there, right = (
            torch.from_numpy(np.asarray(each[batch])) for each in (examples.there, examples.right)
        )
        found, start = network.second_look(w, cells, messages, there[:, :-1].float(), xp)
        energies = torch.cat([found, start[:, None]], dim=1)
        loss = loss_of(energies[:, None], right, ~there).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        progress(step, float(loss.detach()))
    return looks.arrays()
