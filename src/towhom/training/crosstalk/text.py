"""Learns what words say about answers: from everybody who names or quotes whom they answer.

Out of what was said in the same minutes, the model finds what somebody said, given what it answers, what its
speaker had said before, and what the room talked about; and out of the messages before it, that which it
answers. Names are hidden. No human link is needed, and there are a million such messages.
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
"""Messages that are compared with each other."""
CONTEXT = 15
"""Messages that tell what the room talks about."""
FAR = 60
"""Answers farther back are left out."""
_MOST = 90
"""Answers of a window that are learned from at once."""
_WARM_UP = 200


@dataclass(frozen=True)
class TextConfig:
    """How words are learned.

    Args:
        words: How many there are.
        dimensions: Of vectors of words.
        state: Of a message.
        tower: Of a message as an answer, or as what is answered.
        steps: How long.
        windows: Of a step.
        learning_rate: The largest.
        words_rate: That of the vectors of words, as a share of it.
        word_dropout: Share of the words that are left out.
        dropout: Share of the units that are left out.
        seed: For all that is random.
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
        """Of the weights."""
        return words.shapes(self.words + 1, self.dimensions, self.state, self.tower)


class Answers:
    """A room, and what is known to be an answer in it.

    Args:
        room: As it was heard.
        vocabulary: The words that are known.
    """

    def __init__(self, room: HeardRoom, vocabulary: Sequence[str]) -> None:
        self.room = room
        self.tokens = tokens_of(room, vocabulary)
        self.starts = room.said_at
        self.speaker = np.asarray(room.speaker)
        self.segments = [(first, last) for first, last in room.segments("train") if last - first > 2 * FAR]

    @cached_property
    def answered(self) -> NDArray[np.int64]:
        """(N,) What each message is known to answer; -1 if that is not known, or far.

        What people have linked or quoted; else, of whom it names, what they said last; in a topic, what
        somebody else said there last.
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
        """(N,) What its speaker had said before; -1 if nothing, or far."""
        result = np.full(len(self.speaker), -1, np.int64)
        for first, last in self.segments:
            speaker = self.speaker[first:last]
            found = _last_said(speaker, speaker)
            near = (found >= 0) & (np.arange(last - first) - found <= FAR)
            result[first:last] = np.where(near, found + first, -1)
        return result

    @property
    def single(self) -> bool:
        """Whether it is known which message is answered, not only whose."""
        return bool(len(self.room.links)) or bool((np.asarray(self.room.topic) >= 0).any())


def _last_said(speaker: NDArray[Any], who: NDArray[Any]) -> NDArray[np.int64]:
    """(N,) Where somebody spoke last before each message; -1 if they did not."""
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
    """Some windows of some rooms."""

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
    """Words to be learned, and what weighs them against each other meanwhile."""

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
        """The loss."""
        tokens = np.concatenate(batch.tokens)
        tokens = np.where(random.random(len(tokens)) < config.word_dropout, 0, tokens).astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(batch.lengths))])
        found = words.encode(self.by_name, tokens, offsets, Torch(config.dropout))
        return self._what(batch, found) + self._whom(batch, found)

    def _what(self, batch: _Batch, found: words.Encoded) -> Tensor:
        """Which of all messages was said."""
        rows, heard = torch.from_numpy(batch.rows), found.heard
        answered, answers = heard[torch.from_numpy(batch.answered), 0], found.answers
        context = torch.zeros(len(rows), batch.size)
        context.scatter_(1, torch.from_numpy(batch.context), 1.0)
        before = _of(heard[:, 1], batch.before)
        known = torch.stack([answered, before, context @ heard[:, 2] / 4], dim=1) * self.weights["mix"]
        scores = known.flatten(1) @ answers.flatten(1).T + found.state @ self.weights["prior"]
        return cross_entropy(scores, rows)

    def _whom(self, batch: _Batch, found: words.Encoded) -> Tensor:
        """Which of the messages before it, it answers."""
        cells, right = torch.from_numpy(batch.cells), torch.from_numpy(batch.right)
        fits = found.answers[torch.from_numpy(batch.rows), 0] @ found.heard[:, 0].T
        scores = torch.take_along_dim(fits, cells.clamp(min=0), 1) + self.weights["near"]
        loss = loss_of(scores[:, None], right, cells < 0)
        return loss.sum() / right.any(dim=1).sum().clamp(min=1)


def _of(heard: Tensor, places: NDArray[np.int64]) -> Tensor:
    """Messages at some places, 0 where there is none."""
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
    """The weights of `towhom.crosstalk.words`.

    Args:
        rooms: To learn from; each is as likely as any other.
        vocabulary: The words, as many as the configuration says.
        config: How.
        vectors: (words, dimensions) To begin with.
        checkpoint: A file to go on from, written every now and then.
        progress: Called after each step, with its loss.

    Raises:
        TrainingError: Nothing is known to be an answer.
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
