"""Trains the reader of the large model: the upper layers of a language model, and how messages are compared.

It learns from the same kinds of examples as the two looks, with the same loss, and without knowing what they
found. What it is worth beside them is fitted afterwards, on documents that nothing was learned from, since
the looks know those that they have learned from too well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from towhom.crosstalk import reader
from towhom.crosstalk.arrays import NUMPY, Arrays
from towhom.crosstalk.reader import BLOCK, MIX, Cache, compared, parts_of, read_on, scores_of, spans_of
from towhom.errors import ConfigError, TrainingError
from towhom.training.crosstalk.arrays import Torch
from towhom.training.crosstalk.descent import descend, loss_of
from towhom.training.crosstalk.examples import Kind
from towhom.training.crosstalk.looks import Weights, shares_of
from towhom.training.crosstalk.reader_examples import Drawn, LineLesson, sizes_of
from towhom.training.named import NamedWeights

_WARM_UP, _KEEP_EVERY, _STEEPEST = 40, 100, 1.0
_USUAL = 60
"""The loss of a sequence is divided by this number, so that sequences with more examples count more."""
_TRIES = 1000
_HEAD = ("answer.w", "answer.b", "answered.w", "answered.b", "start.w", "start.b", "far", "back")
"""What says how messages are compared."""
_NOT = -1e9
Array = NDArray[np.float32]


@dataclass(frozen=True)
class ReaderConfig:
    """Settings for training the reader.

    Args:
        layers: Number of layers of the language model.
        frozen: Number of layers among them, the lowest, that stay as they are.
        compared: Length of the vectors by which messages are compared.
        steps: Training steps; each reads one sequence.
        tokens: Maximum number of tokens of a sequence.
        links: Share of the sequences with human links.
        meant: Share of the sequences with annotated addressees.
        hide: How often a name is hidden where people annotated links.
        learning_rate: The maximum learning rate of the layers.
        faster: How many times faster it is learned how messages are compared.
        weight_decay: Weight decay.
        seed: Seed of everything random.
    """

    layers: int = 15
    frozen: int = 7
    compared: int = 128
    steps: int = 2500
    tokens: int = 2048
    links: float = 0.65
    meant: float = 0.03
    hide: float = 0.35
    learning_rate: float = 2e-4
    faster: float = 8.0
    weight_decay: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if self.layers < 1 or not 0 <= self.frozen <= self.layers:
            raise ConfigError(
                f"{self.frozen} of {self.layers} layers cannot stay as they are; "
                "expected one layer or more, and at most as many that stay"
            )


class ReaderWeights(NamedWeights):
    """The weights of a reader for training. The lowest layers and the vectors of tokens stay as they are.

    Args:
        given: The weights of the language model; see `towhom.training.crosstalk.language_model`.
        config: The settings.
        generator: Draws the weights of the heads.
    """

    def __init__(self, given: Mapping[str, Array], config: ReaderConfig, generator: torch.Generator) -> None:
        width = given["reader.tokens"].shape[1]
        above = {name: array.shape for name, array in given.items() if _layer_of(name) >= config.frozen}
        head = _head_shapes(width, config.compared)
        super().__init__(
            {
                **above,
                "reader.norm": (width,),
                **{f"reader.{name}": shape for name, shape in head.items()},
            },
            generator,
        )
        self.take({name: given[name] for name in above})
        with torch.no_grad():
            for name in ("reader.far", "reader.back"):
                self.by_name[name].zero_()
            self.by_name["reader.norm"].fill_(1.0)
        self._layers, self._frozen = config.layers, config.frozen
        self._given = {
            name: torch.from_numpy(np.array(array)) for name, array in given.items() if name not in above
        }

    @property
    def groups(self) -> tuple[list[Tensor], list[Tensor]]:
        """The weights of the layers, and those by which messages are compared."""
        layers: list[Tensor] = []
        head: list[Tensor] = []
        for name, value in self.by_name.items():
            (layers if _layer_of(name) >= 0 or name == "reader.norm" else head).append(value)
        return layers, head

    def scores(self, drawn: Drawn, xp: Torch) -> Tensor:
        """(R, `REACH` + 1) What the reader finds."""
        w = {**self._given, **self.by_name}
        # Whole blocks, since torch prepares products anew for each number of tokens; nothing sees the rest.
        tokens = np.resize(drawn.tokens, -(-len(drawn.tokens) // BLOCK) * BLOCK)
        spans = spans_of(0, len(tokens))
        with torch.autocast("cpu", torch.bfloat16):
            x = self._given["reader.tokens"][torch.from_numpy(tokens)]
            if self._frozen:
                with torch.no_grad():
                    x = read_on(w, x, spans, Cache(), xp, layers=range(self._frozen))
            if self._frozen < self._layers:
                x = read_on(w, x, spans, Cache(), xp, layers=range(self._frozen, self._layers))
        found: Tensor = head_of(w, x[torch.from_numpy(drawn.ends)].float(), drawn.at, xp)
        return found


def head_of(w: Mapping[str, Any], x: Any, at: NDArray[np.int64], xp: Arrays) -> Any:
    """What is found for the messages at some places, from what the layers made of all."""
    answer, answered, start = compared(w, x, xp)
    places = at if isinstance(x, np.ndarray) else torch.from_numpy(at)
    return scores_of(w, answer[places], answered, start[places], at, xp)


def _layer_of(name: str) -> int:
    """The layer that a weight belongs to; -1 if it belongs to none."""
    part = name.split(".")[1]
    return int(part) if part.isdigit() else -1


def _head_shapes(width: int, length: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights by which messages are compared."""
    every = reader.shapes(1, width=width, inner=1, layers=0, keys=1, compared=length)
    return {name: every[f"reader.{name}"] for name in _HEAD}


def train_reader(
    lessons: Sequence[LineLesson],
    given: Mapping[str, Array],
    config: ReaderConfig,
    *,
    checkpoint: Path | None = None,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> Weights:
    """Train the reader; returns the weights that were trained, see `ReaderWeights`.

    Args:
        lessons: The lessons to train on.
        given: The weights of the language model.
        config: The settings.
        checkpoint: A file to continue from, written from time to time.
        progress: Called after each step, with its loss.
    """
    if not lessons:
        raise TrainingError("the rooms teach nothing: nobody names, quotes or is linked with anybody")
    torch.manual_seed(config.seed)
    weights = ReaderWeights(given, config, torch.Generator().manual_seed(config.seed))
    layers, head = weights.groups
    groups: list[dict[str, Any]] = [
        {"params": layers},
        {"params": head, "lr": config.learning_rate * config.faster},
    ]
    optimizer = torch.optim.AdamW(
        groups, config.learning_rate, betas=(0.9, 0.98), weight_decay=config.weight_decay, fused=True,
    )  # fmt: skip
    xp, shares = Torch(), _shares(lessons, config)

    def loss_at(random: np.random.Generator) -> Tensor:
        for _ in range(_TRIES):
            lesson = lessons[random.choice(len(lessons), p=shares)]
            drawn = lesson.draw(random, tokens=config.tokens, hide=config.hide)
            cells = lesson.cells(drawn.rows)
            right, closed = torch.from_numpy(cells.right), torch.from_numpy(cells.closed)
            if right.any():
                return loss_of(weights.scores(drawn, xp)[:, None], right, closed).sum() / _USUAL
        raise TrainingError("the rooms teach nothing: the looks exclude all that is right")

    descend(
        weights, optimizer, loss_at, steps=config.steps, warm_up=_WARM_UP, seed=config.seed,
        identity={**asdict(config), "lessons": sizes_of(lessons)}, checkpoint=checkpoint, progress=progress,
        keep_every=_KEEP_EVERY, steepest=_STEEPEST,
    )  # fmt: skip
    return weights.arrays()


def _shares(lessons: Sequence[LineLesson], config: ReaderConfig) -> NDArray[np.float64]:
    sizes = [len(lesson.examples.at) * lesson.room.source.weight**2 for lesson in lessons]
    kinds = [lesson.kind for lesson in lessons]
    return shares_of(kinds, sizes, {Kind.LINKS: config.links, Kind.MEANT: config.meant})


Mix = NDArray[np.float64]
"""(2, parts) What the parts of the large model are worth; see `towhom.crosstalk.reader.MIX`."""


class Judged(NamedTuple):
    """Examples of documents that nothing was learned from, and what the parts of the model make of them."""

    document: NDArray[np.int64]
    """(R,)"""
    scores: NDArray[np.float32]
    prior: NDArray[np.float32]
    right: NDArray[np.bool_]
    closed: NDArray[np.bool_]
    own: NDArray[np.bool_]
    """(R, `REACH`) Whether the speaker said the earlier message, too."""
    named: NDArray[np.bool_]
    """(R,) Whether the message calls somebody."""

    def some(self, which: NDArray[np.bool_]) -> Judged:
        """The given examples."""
        parts: list[NDArray[Any]] = [each[which] for each in self]
        return Judged(*parts)

    @property
    def parts(self) -> NDArray[np.float64]:
        """(R, `REACH` + 1, parts) What the mix weighs."""
        return parts_of(self.prior, self.scores, self.own, self.closed).astype(np.float64)

    def energies(self, mix: Mix) -> NDArray[np.float64]:
        """(R, `REACH` + 1) The energies of the whole model."""
        found = np.einsum("rcp,rp->rc", self.parts, mix[self.named.astype(np.int64)])
        return np.where(self.closed, _NOT, found)

    def loss(self, mix: Mix) -> NDArray[np.float64]:
        """(R,) The loss of each example; 0 where nothing that is right is possible."""
        return _loss(self.energies(mix), self.right)

    def hits(self, mix: Mix) -> NDArray[np.bool_]:
        """(R,) Whether the likeliest cell of each example is right."""
        energies = self.energies(mix)
        found: NDArray[np.bool_] = self.right[np.arange(len(energies)), energies.argmax(axis=1)]
        return found


def _loss(energies: NDArray[np.float64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    good = np.logaddexp.reduce(np.where(right, energies, _NOT), axis=1)
    result: NDArray[np.float64] = np.logaddexp.reduce(energies, axis=1) - good
    return result * right.any(axis=1)


LOOKS_ALONE: Mix = np.tile(np.eye(1, len(MIX)), (2, 1))
_PENALTY = 1e-3
"""Of the squares of the numbers, in the loss that they minimize."""


def judge(weights: Mapping[str, Array], lesson: LineLesson) -> Judged:
    """Let the reader read documents, page by page, just as the finished model does.

    Args:
        weights: All weights but the mix.
        lesson: The documents; their numbers are their places among the segments of the part.
    """
    found: list[tuple[NDArray[Any], ...]] = []
    for segment, document in enumerate(lesson.documents):
        for page in lesson.pages(segment):
            x = weights["reader.tokens"][page.tokens]
            x = read_on(weights, x, spans_of(0, len(page.tokens)), Cache())
            scores = head_of(weights, x[page.ends], page.at, NUMPY)
            found.append((np.full(len(page.at), document), scores, *lesson.cells(page.rows)))
    every: list[NDArray[Any]] = [np.concatenate(each) for each in zip(*found, strict=True)]
    numbers, scores, *cells = every
    return Judged(numbers, scores, *cells)


def fit_mix(judged: Judged) -> Mix:
    """The numbers with which examples are likeliest; of the looks alone where there are no examples."""
    mix = LOOKS_ALONE.copy()
    for group in (0, 1):
        some = judged.some((judged.named == group) & judged.right.any(axis=1))
        if len(some.named):
            mix[group] = _fitted(some.parts, some.right, some.closed)
    return mix


def _fitted(
    parts: NDArray[np.float64], right: NDArray[np.bool_], closed: NDArray[np.bool_]
) -> NDArray[np.float64]:
    from scipy.optimize import minimize
    from scipy.special import softmax

    def loss(numbers: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        energies = np.where(closed, _NOT, parts @ numbers)
        more = softmax(energies, axis=1) - softmax(np.where(right, energies, _NOT), axis=1)
        slope = np.einsum("rc,rcp->p", more, parts) / len(parts) + 2 * _PENALTY * numbers
        return float(_loss(energies, right).mean() + _PENALTY * (numbers**2).sum()), slope

    found: NDArray[np.float64] = minimize(loss, LOOKS_ALONE[0], jac=True, method="L-BFGS-B").x
    return found


def fit_apart(judged: Judged) -> dict[int, Mix]:
    """For each document, the numbers that are fitted on all others.

    Raises:
        TrainingError: There is one document only.
    """
    documents = np.unique(judged.document).tolist()
    if len(documents) < 2:
        raise TrainingError(
            "the development parts with reply links have one document only; two are needed, since what is "
            "fitted on one is measured on another"
        )
    return {each: fit_mix(judged.some(judged.document != each)) for each in documents}


def describe_mix(judged: Judged, apart: Mapping[int, Mix]) -> dict[str, Any]:
    """How good the looks are alone, and with the reader; each document by numbers fitted on the others."""
    losses, hits = np.zeros(len(judged.document)), np.zeros(len(judged.document), bool)
    for document, mix in apart.items():
        which = judged.document == document
        losses[which], hits[which] = judged.some(which).loss(mix), judged.some(which).hits(mix)
    return {
        "messages": len(hits),
        "documents": len(apart),
        "right": {"looks": _percent(judged.hits(LOOKS_ALONE)), "with_reader": _percent(hits)},
        "loss": {
            "looks": round(float(judged.loss(LOOKS_ALONE).mean()), 4),
            "with_reader": round(float(losses.mean()), 4),
        },
    }


def _percent(flags: NDArray[np.bool_]) -> float:
    return round(100 * float(flags.mean()), 4)
