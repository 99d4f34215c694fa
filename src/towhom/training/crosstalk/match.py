"""Trains the weights that compare messages word by word, beside those of the text stage, which stay fixed.

The data and the two tasks are those of the text stage: to pick the message that a message answers out of the
earlier ones, and to pick the answer to a message. What the text stage says already is added, so that only
what it cannot say is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from towhom.crosstalk import matching, words
from towhom.errors import TrainingError
from towhom.training.crosstalk.arrays import Torch
from towhom.training.crosstalk.descent import descend, loss_of
from towhom.training.crosstalk.rooms import HeardRoom
from towhom.training.crosstalk.text import CONTEXT, FAR, Answers
from towhom.training.named import NamedWeights

WINDOW = 128
"""Number of messages that are compared with each other."""
_MOST = 48
"""Maximum number of answers that are used from one window."""
_WARM_UP = 100
_SHORT = 0.1
"""Vectors shorter than about this stay shorter than others."""
_ANSWER, _TOPIC = 0, 2
"""The towers for how well a message answers another, and how well it fits the topic."""
Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class MatchConfig:
    """Settings for training the comparison of words.

    Args:
        width: Length of the vectors that are compared; 0 leaves the comparison out.
        steps: Number of training steps.
        windows: Number of windows per step.
        learning_rate: The maximum learning rate.
        word_dropout: Share of the words that are dropped.
        seed: Seed of everything random.
    """

    width: int = 48
    steps: int = 2500
    windows: int = 4
    learning_rate: float = 0.001
    word_dropout: float = 0.1
    seed: int = 0


class _Window(NamedTuple):
    """Some messages of a room, in order; indices count from the first."""

    telling: NDArray[np.integer]
    encoded: words.Encoded
    rows: NDArray[np.int64]
    """(R,) The messages whose answered message is known."""
    answered: NDArray[np.int64]
    """(R,) The message that each answers."""
    cells: NDArray[np.int64]
    """(R, `FAR`) The messages before it by others; negative where there is none."""
    right: NDArray[np.bool_]
    """(R, `FAR`) Those of them that it may answer."""


def window_of(
    answers: Answers, text: Weights, random: np.random.Generator, *, word_dropout: float = 0.0
) -> _Window | None:
    """A random window of a room; None if nothing is known about its messages.

    Args:
        answers: The room.
        text: The weights of the text stage.
        random: The random generator.
        word_dropout: Share of the words that are dropped.
    """
    first, last = answers.segments[random.integers(len(answers.segments))]
    first += int(random.integers(max(last - first - WINDOW, 0) + 1))
    last = min(first + WINDOW, last)
    rows = np.flatnonzero(answers.answered[first + CONTEXT : last] >= first) + first + CONTEXT
    if not len(rows):
        return None
    if len(rows) > _MOST:
        rows = np.sort(random.choice(rows, _MOST, replace=False))
    start, stop = answers.starts[[first, last]]
    tokens = answers.tokens[start:stop]
    tokens = np.where(random.random(len(tokens)) < word_dropout, 0, tokens).astype(np.int32)
    offsets = answers.starts[first : last + 1] - start
    speaker, answered = answers.speaker[first:last], answers.answered[rows] - first
    rows = rows - first
    cells = rows[:, None] - np.arange(1, FAR + 1)
    theirs = (cells >= 0) & (speaker[np.maximum(cells, 0)] != speaker[rows][:, None])
    whose = speaker[np.maximum(cells, 0)] == speaker[answered][:, None]
    right = (cells == answered[:, None]) if answers.single else whose
    return _Window(
        matching.telling(text, tokens, offsets), words.encode(text, tokens, offsets), rows, answered,
        np.where(theirs, cells, -1), right & theirs,
    )  # fmt: skip


class _Matcher(NamedWeights):
    """The weights to be trained, from which those of `towhom.crosstalk.matching` are made.

    The vectors of words stay fixed: trained by comparisons of single words, those of rare words become noise.
    """

    def __init__(self, text: Weights, width: int, generator: torch.Generator) -> None:
        count, dimensions = text["words.vectors"].shape
        shapes = {
            "inner.w": (dimensions, dimensions), "inner.b": (dimensions,),
            "answers": (2 * dimensions, width), "heard": (2 * dimensions, width),
            "answers.weight": (count,), "heard.weight": (count,), "scale": (matching.MATCHES,),
            "drafts": (matching.MATCHES,), "near": (FAR,), "mix": (2,),
            "state": (text["words.state.w"].shape[1],),
        }  # fmt: skip
        super().__init__(shapes, generator)
        vectors = torch.from_numpy(np.array(text["words.vectors"]))
        self.vectors = vectors / (vectors.norm(dim=1, keepdim=True) + _SHORT)
        start = torch.zeros(2 * dimensions, width)
        torch.nn.init.orthogonal_(start[:dimensions], generator=generator)
        weight = torch.from_numpy(text["words.weight"]).clamp(min=0.02).log()
        with torch.no_grad():
            w = self.by_name
            for side in ("answers", "heard"):
                w[side].copy_(start)
                w[f"{side}.weight"].copy_(weight)
            w["scale"].fill_(4.0)
            w["drafts"].fill_(0.5)
            w["mix"].copy_(torch.tensor([1.0, 0.5]))
            w["near"].copy_(-torch.log(torch.arange(1.0, FAR + 1)))
            w["state"].zero_()

    def of_words(self, ids: NDArray[np.integer]) -> dict[str, Tensor]:
        """The weights of `towhom.crosstalk.matching` for some words."""
        w, xp = self.by_name, Torch()
        weights: dict[str, Tensor] = {"match.scale": w["scale"]}
        vectors = self.vectors[torch.from_numpy(ids)]
        vectors = torch.cat([vectors, torch.relu(vectors @ w["inner.w"] + w["inner.b"])], dim=1)
        for side, name in (("answers", matching.ANSWERS), ("heard", matching.HEARD)):
            weights[name] = vectors @ w[side]
            weights[f"{name}.weight"] = xp.take(w[f"{side}.weight"][:, None], ids)[:, 0].exp()
        return weights

    def forward(self, windows: Sequence[_Window]) -> Tensor:
        """The loss of some windows."""
        telling = np.concatenate([window.telling for window in windows])
        ids, numbers = np.unique(np.append(telling, 0), return_inverse=True)  # an unknown word stays 0
        of_words, numbers = self.of_words(ids), numbers[:-1].reshape(telling.shape)
        ends = np.cumsum([len(window.telling) for window in windows])
        parts = zip(windows, np.split(numbers, ends[:-1]), strict=True)
        return torch.stack(
            [self._loss(window._replace(telling=part), of_words) for window, part in parts]
        ).mean()

    def _loss(self, window: _Window, of_words: dict[str, Tensor]) -> Tensor:
        w, xp = self.by_name, Torch()
        telling, rows, answered = window.telling, window.rows, window.answered
        state, answers, heard = (torch.from_numpy(each) for each in window.encoded)
        fits = answers[:, _ANSWER] @ heard[:, _ANSWER].T  # (an answer, a message that is answered)
        whom = matching.match(of_words, telling[rows][None], telling[None], xp)[0].sum(2) + fits[rows]
        cells, right = torch.from_numpy(window.cells), torch.from_numpy(window.right)
        energies = torch.take_along_dim(whom, cells.clamp(min=0), 1) + w["near"]
        known = right.any(dim=1).sum().clamp(min=1)
        loss = loss_of(energies[:, None], right, cells < 0).sum() / known
        context = np.zeros((len(rows), len(telling)), np.float32)
        np.put_along_axis(context, rows[:, None] - np.arange(1, CONTEXT + 1), 0.25, axis=1)
        topic = torch.from_numpy(context) @ heard[:, _TOPIC] @ answers[:, _TOPIC].T
        what = matching.match(of_words, telling[None], telling[answered][None], xp)[0] @ w["drafts"]
        what = what.T + fits.T[answered] * w["mix"][0] + topic * w["mix"][1] + state @ w["state"]
        return loss + cross_entropy(what, torch.from_numpy(rows))


def train_match(
    rooms: Sequence[HeardRoom],
    vocabulary: Sequence[str],
    text: Weights,
    config: MatchConfig,
    *,
    checkpoint: Path | None = None,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> Weights:
    """Train the weights of `towhom.crosstalk.matching`.

    Args:
        rooms: The rooms to learn from, drawn with equal probability.
        vocabulary: The words of the text stage.
        text: The weights of the text stage.
        config: The settings.
        checkpoint: A file to continue from, written from time to time.
        progress: Called after each step, with its loss.

    Raises:
        TrainingError: The rooms have no known answers.
    """
    if not config.width:
        return {}
    torch.manual_seed(config.seed)
    every = [answers for room in rooms if (answers := Answers(room, vocabulary)).segments]
    every = [answers for answers in every if (answers.answered >= 0).any()]
    if not every:
        raise TrainingError("nobody in the rooms names or quotes whom they answer")
    matcher = _Matcher(text, config.width, torch.Generator().manual_seed(config.seed))
    optimizer = torch.optim.AdamW(
        matcher.parameters(), config.learning_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )

    def loss_at(random: np.random.Generator) -> Tensor:
        windows: list[_Window] = []
        while len(windows) < config.windows:
            answers = every[int(random.integers(len(every)))]
            window = window_of(answers, text, random, word_dropout=config.word_dropout)
            windows += [] if window is None else [window]
        loss: Tensor = matcher(windows)
        return loss

    names = [answers.room.name for answers in every]
    descend(
        matcher, optimizer, loss_at, steps=config.steps, warm_up=_WARM_UP, seed=config.seed,
        identity={**asdict(config), "rooms": names, "words": len(vocabulary)}, checkpoint=checkpoint,
        progress=progress,
    )  # fmt: skip
    every_word = np.arange(len(text["words.vectors"]))
    return {name: value.detach().numpy() for name, value in matcher.of_words(every_word).items()}
