"""Trains the word weights, from messages that name or quote whom they answer.

The model has two tasks: to pick a message out of all those of a batch, given the message it answers, the
speaker's previous message and the room's recent ones; and to pick the message it answers out of the
earlier ones. Names are hidden. No human links are needed, and there are a million such messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from towhom.crosstalk import words
from towhom.errors import TrainingError
from towhom.training.crosstalk.arrays import Torch
from towhom.training.crosstalk.descent import descend, loss_of
from towhom.training.crosstalk.rooms import HeardRoom
from towhom.training.crosstalk.vocabulary import tokens_of
from towhom.training.named import NamedWeights

WINDOW = 256
"""Number of messages that are compared with each other."""
CONTEXT = 15
"""Number of messages from which the room's topic is derived."""
FAR = 60
"""Links that reach farther back are ignored."""
_MOST = 90
"""Maximum number of answers that are used from one window."""
_WARM_UP = 200


@dataclass(frozen=True)
class TextConfig:
    """Settings for training the word weights.

    Args:
        words: Size of the vocabulary.
        dimensions: Length of a word vector.
        state: Length of the vector that encodes a message's text.
        tower: Length of the vector of a message as an answer, or as a message to be answered.
        steps: Number of training steps.
        windows: Number of windows per step.
        learning_rate: The maximum learning rate.
        words_rate: Learning rate of the word vectors, as a share of `learning_rate`.
        word_dropout: Share of the words that are dropped.
        dropout: Share of the units that are dropped.
        seed: Seed of everything random.
    """

    words: int = 30_000
    dimensions: int = 128
    state: int = 256
    tower: int = 96
    steps: int = 12_000
    windows: int = 8
    learning_rate: float = 0.002
    words_rate: float = 1.0
    word_dropout: float = 0.15
    dropout: float = 0.1
    seed: int = 0

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights."""
        return words.shapes(self.words + 1, self.dimensions, self.state, self.tower)


class Answers:
    """A room and its known answers.

    Args:
        room: The analysed room.
        vocabulary: The known words.
    """

    def __init__(self, room: HeardRoom, vocabulary: Sequence[str]) -> None:
        self.room = room
        self.tokens = tokens_of(room, vocabulary)
        self.starts = room.said_at
        self.speaker = np.asarray(room.speaker)
        self.segments = [(first, last) for first, last in room.segments("train") if last - first > 2 * FAR]

    @cached_property
    def answered(self) -> NDArray[np.int64]:
        """(N,) The message that each message answers; -1 if unknown or too far back.

        That is the message that people linked or that is quoted; else the last message of the person it
        names; else the last message of somebody else in the same topic.
        """
        room, speaker = self.room, self.speaker
        named, topic = np.asarray(room.named), np.asarray(room.topic)
        result = np.full(len(speaker), -1, np.int64)
        for first, last in self.segments:
            here = slice(first, last)
            in_topic = _last_of_others(topic[here], speaker[here]) if (topic[here] >= 0).any() else None
            found = _last_said(speaker[here], named[here])
            if in_topic is not None:
                found = np.where(found >= 0, found, in_topic)
            result[here] = np.where(found >= 0, found + first, -1)
        quoted = self._trained[np.asarray(room.reply)[self._trained] > 0]
        result[quoted] = quoted - np.asarray(room.reply)[quoted]
        links = np.asarray(room.links)
        links = links[(links[:, 0] > links[:, 1]) & np.isin(links[:, 0], self._trained)]
        result[links[:, 0]] = links[:, 1]
        place = np.arange(len(result))
        good = (result >= 0) & (place - result <= FAR) & (speaker[result] != speaker)
        return np.where(good, result, -1)

    @property
    def _trained(self) -> NDArray[np.int64]:
        return np.concatenate([np.arange(*segment) for segment in self.segments] or [np.empty(0, np.int64)])

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """(N,) The speaker's previous message; -1 if there is none or it is too far back."""
        result = np.full(len(self.speaker), -1, np.int64)
        for first, last in self.segments:
            speaker = self.speaker[first:last]
            found = _last_said(speaker, speaker)
            near = (found >= 0) & (np.arange(last - first) - found <= FAR)
            result[first:last] = np.where(near, found + first, -1)
        return result

    @property
    def single(self) -> bool:
        """Whether the exact message that is answered is known, not only its speaker."""
        return bool(len(self.room.links)) or bool((np.asarray(self.room.topic) >= 0).any())


def _last_said(speaker: NDArray[Any], who: NDArray[Any]) -> NDArray[np.int64]:
    """(N,) Where the person in `who` last spoke before each message; -1 if they did not."""
    count = len(speaker)
    keys = np.concatenate([speaker, who])
    order = np.lexsort((np.concatenate([2 * np.arange(count) + 1, 2 * np.arange(count)]), keys))
    spoke = np.where(order < count, np.arange(len(order)), -1)
    latest = np.maximum.accumulate(spoke)
    found = np.where((latest >= 0) & (keys[order] == keys[order[np.maximum(latest, 0)]]), order[latest], -1)
    result = np.full(count, -1, np.int64)
    asked = order >= count
    result[order[asked] - count] = found[asked]
    return np.where(who >= 0, result, -1)


def _last_of_others(topic: NDArray[Any], speaker: NDArray[Any]) -> NDArray[np.int64]:
    """(N,) The last message of the same topic by somebody else; -1 if there is none."""
    last: dict[int, tuple[int, int, int]] = {}
    result = np.full(len(topic), -1, np.int64)
    for place, (about, who) in enumerate(zip(topic.tolist(), speaker.tolist(), strict=True)):
        if about < 0:
            continue
        latest, by, other = last.get(about, (-1, -1, -1))
        result[place] = other if by == who else latest
        last[about] = place, who, other if by == who else latest
    return result


class _Batch:
    """A batch of windows from several rooms."""

    def __init__(self) -> None:
        self.tokens: list[NDArray[np.int32]] = []
        self.lengths: list[NDArray[np.int64]] = []
        self.size = 0
        self._parts: dict[str, list[NDArray[Any]]] = {
            name: [] for name in ("rows", "answered", "before", "context", "cells", "right")
        }

    def add(self, answers: Answers, random: np.random.Generator) -> None:
        first, last = answers.segments[random.integers(len(answers.segments))]
        first += int(random.integers(max(last - first - WINDOW, 0) + 1))
        last = min(first + WINDOW, last)
        rows = np.flatnonzero(answers.answered[first + CONTEXT : last] >= first) + first + CONTEXT
        if len(rows) > _MOST:
            rows = np.sort(random.choice(rows, _MOST, replace=False))
        start, stop = answers.starts[[first, last]]
        self.tokens.append(answers.tokens[start:stop])
        self.lengths.append(np.diff(answers.starts[first : last + 1]))
        here = self.size - first
        answered, before = answers.answered[rows], answers.before[rows]
        cells = rows[:, None] - np.arange(1, FAR + 1)
        speaker, who = answers.speaker, answers.speaker[rows][:, None]
        theirs = (cells >= first) & (speaker[np.maximum(cells, 0)] != who)
        whose = speaker[np.maximum(cells, 0)] == speaker[answered][:, None]
        right = (cells == answered[:, None]) if answers.single else whose
        self._parts["rows"].append(rows + here)
        self._parts["answered"].append(answered + here)
        self._parts["before"].append(np.where(before >= first, before + here, -1))
        self._parts["context"].append(rows[:, None] - np.arange(1, CONTEXT + 1) + here)
        self._parts["cells"].append(np.where(theirs, cells + here, -1))
        self._parts["right"].append(right & theirs)
        self.size += last - first

    def __getattr__(self, name: str) -> NDArray[Any]:
        try:
            return np.concatenate(self.__dict__["_parts"][name])
        except KeyError:
            raise AttributeError(name) from None


class _Reader(NamedWeights):
    """The word weights to be trained, and auxiliary weights that only training needs."""

    def __init__(self, config: TextConfig, generator: torch.Generator) -> None:
        heads = {"mix": (words.TOWERS, 1), "near": (FAR,), "prior": (config.state,)}
        super().__init__({**config.shapes, **heads}, generator)
        with torch.no_grad():
            self.weights["words_vectors"].normal_(0, 0.1, generator=generator)
            rank = torch.arange(config.words + 1.0)
            self.weights["words_weight"].copy_(0.2 + torch.log1p(rank) / np.log1p(config.words))
            self.weights["words_weight"][0] = 1.0
            self.weights["words_scale"].copy_(torch.tensor([[8.0], [5.0], [5.0]]))
            self.weights["mix"].copy_(torch.tensor([[1.0], [0.5], [0.5]]))
            self.weights["near"].copy_(-torch.log(torch.arange(1.0, FAR + 1)))

    def forward(self, batch: _Batch, config: TextConfig, random: np.random.Generator) -> Tensor:
        """The loss of a batch."""
        tokens = np.concatenate(batch.tokens)
        tokens = np.where(random.random(len(tokens)) < config.word_dropout, 0, tokens).astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(batch.lengths))])
        found = words.encode(self.by_name, tokens, offsets, Torch(config.dropout))
        return self._what(batch, found) + self._whom(batch, found)

    def _what(self, batch: _Batch, found: words.Encoded) -> Tensor:
        """The loss of picking each message out of all messages of the batch."""
        rows, heard = torch.from_numpy(batch.rows), found.heard
        answered, answers = heard[torch.from_numpy(batch.answered), 0], found.answers
        context = torch.zeros(len(rows), batch.size)
        context.scatter_(1, torch.from_numpy(batch.context), 1.0)
        before = _of(heard[:, 1], batch.before)
        known = torch.stack([answered, before, context @ heard[:, 2] / 4], dim=1) * self.weights["mix"]
        scores = known.flatten(1) @ answers.flatten(1).T + found.state @ self.weights["prior"]
        return cross_entropy(scores, rows)

    def _whom(self, batch: _Batch, found: words.Encoded) -> Tensor:
        """The loss of picking the message that each one answers out of the earlier ones."""
        cells, right = torch.from_numpy(batch.cells), torch.from_numpy(batch.right)
        fits = found.answers[torch.from_numpy(batch.rows), 0] @ found.heard[:, 0].T
        scores = torch.take_along_dim(fits, cells.clamp(min=0), 1) + self.weights["near"]
        loss = loss_of(scores[:, None], right, cells < 0)
        return loss.sum() / right.any(dim=1).sum().clamp(min=1)


def _of(heard: Tensor, places: NDArray[np.int64]) -> Tensor:
    """The messages at some places; 0 where the place is negative."""
    there = torch.from_numpy(places >= 0).to(heard)[:, None]
    return heard[torch.from_numpy(np.maximum(places, 0))] * there


def train_text(
    rooms: Sequence[HeardRoom],
    vocabulary: Sequence[str],
    config: TextConfig,
    *,
    vectors: NDArray[np.float32] | None = None,
    checkpoint: Path | None = None,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> dict[str, NDArray[np.float32]]:
    """Train the weights of `towhom.crosstalk.words`.

    Args:
        rooms: The rooms to learn from, drawn with equal probability.
        vocabulary: The words, as many as the configuration says.
        config: The settings.
        vectors: (words, dimensions) Initial word vectors.
        checkpoint: A file to continue from, written from time to time.
        progress: Called after each step, with its loss.

    Raises:
        TrainingError: The rooms have no known answers.
    """
    torch.manual_seed(config.seed)
    every = [answers for room in rooms if (answers := Answers(room, vocabulary)).segments]
    every = [answers for answers in every if (answers.answered >= 0).any()]
    if not every:
        raise TrainingError("nobody in the rooms names or quotes whom they answer")
    reader = _Reader(config, torch.Generator().manual_seed(config.seed))
    if vectors is not None:
        with torch.no_grad():
            reader.weights["words_vectors"][1:] = torch.from_numpy(vectors)
    vectors_of = [reader.weights["words_vectors"]]
    rest = [value for name, value in reader.weights.items() if name != "words_vectors"]
    groups = [
        {"params": vectors_of, "weight_decay": 0.0, "lr": config.words_rate * config.learning_rate},
        {"params": rest, "weight_decay": 1e-3, "lr": config.learning_rate},
    ]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True)

    def loss_at(random: np.random.Generator) -> Tensor:
        batch = _Batch()
        for place in random.integers(len(every), size=config.windows).tolist():
            batch.add(every[place], random)
        loss: Tensor = reader(batch, config, random)
        return loss

    rooms_of = [answers.room.name for answers in every]
    descend(
        reader, optimizer, loss_at, steps=config.steps, warm_up=_WARM_UP, seed=config.seed,
        identity={**asdict(config), "rooms": rooms_of, "words": len(vocabulary)}, checkpoint=checkpoint,
        progress=progress,
    )  # fmt: skip
    found = reader.arrays()
    return {name: found[name] for name in config.shapes}
