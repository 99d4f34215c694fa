"""Trains the first look of Crosstalk; the code that the second look shares is here, too.

The words were trained before. Their vectors stay fixed; the projections that say how well two messages fit
together are learned further, but not from human links, which are too few and only teach how much to trust
them. For every kind of data, the loss is the negative logarithm of the sum of the
probabilities of all right cells.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from towhom.crosstalk import network, words
from towhom.crosstalk.signals import (
    HABITS,
    IT,
    MESSAGE,
    OF_TEXT,
    PAIRS,
    PEOPLE,
    PLACE,
    STEPS,
    TIME,
    TURNS,
    WHO,
    WORDS,
)
from towhom.errors import TrainingError
from towhom.hearing.utterance import REACH
from towhom.training.crosstalk.arrays import Torch
from towhom.training.crosstalk.descent import descend, loss_of
from towhom.training.crosstalk.examples import OF_DRAFT, OTHERS, Examples, Kind
from towhom.training.crosstalk.folders import ArrayFolder, write_arrays
from towhom.training.crosstalk.rooms import HeardRoom
from towhom.training.crosstalk.vocabulary import tokens_of
from towhom.training.named import NamedWeights

_ROWS, _SPAN = 64, 350
"""Maximum number of messages of a block, and the maximum distance between its first and last."""
_NEAR = 40
WARM_UP = 100
"""Number of steps until the learning rate reaches its maximum."""
_DISTANCE, _LAST = PAIRS.index("distance"), PAIRS.index("the last")
_OF_PAIRS = {
    "who": WHO,
    "turns": TURNS,
    "it": IT,
    "place": PLACE,
    "time": TIME,
    "people": PEOPLE,
    "words": WORDS,
}
_OF_MESSAGE = {"message": MESSAGE, "habits": HABITS}
_TEXTS = "texts"
GROUPS = (*_OF_PAIRS, *_OF_MESSAGE, _TEXTS)
"""The inputs: the groups of signals of `towhom.crosstalk.signals`, and the texts of messages."""
Weights = dict[str, NDArray[np.float32]]
States = NDArray[np.float16]
"""(N, H) The encoded texts of messages; see `towhom.crosstalk.words`."""
_ANNOTATED = (Kind.LINKS, Kind.MEANT)
"""What people annotated is too little to learn words from; it teaches how much to trust them."""


@dataclass(frozen=True)
class LooksConfig:
    """Settings for training the two looks.

    Args:
        says: Length of the summary of a message's text.
        hidden: Units of the first hidden layers.
        second: Units of the second hidden layers.
        steps: Training steps of the first look.
        blocks: Number of blocks per step.
        links: Share of the blocks with human links.
        tasks: Share of the blocks with the paper's task.
        meant: Share of the blocks with annotated addressees.
        drafts: Share of the loss that also asks which draft was sent; the rest asks for the link alone.
        near: Share of the steps that see only the nearest messages, which is faster.
        foreign: Share of the blocks in which all words count as unknown, as in other languages.
        learning_rate: The maximum learning rate.
        dropout: Share of the units that are dropped.
        blind: Groups of signals (`GROUPS`) that are hidden, to measure what each contributes.
        seed: Seed of everything random.
    """

    says: int = 24
    hidden: int = 96
    second: int = 48
    steps: int = 7000
    blocks: int = 6
    links: float = 0.27
    tasks: float = 0.45
    meant: float = 0.04
    drafts: float = 0.6
    near: float = 0.7
    foreign: float = 0.25
    learning_rate: float = 0.002
    dropout: float = 0.1
    blind: tuple[str, ...] = ()
    seed: int = 0


def read_texts(weights: Weights, room: HeardRoom, vocabulary: Sequence[str], folder: Path) -> States:
    """Encode the texts of a room and write them to a folder, unless that was done before."""
    if not folder.exists():
        tokens, starts = tokens_of(room, vocabulary), room.said_at
        found: list[States] = []
        for first in range(0, len(starts) - 1, 4096):
            last = min(first + 4096, len(starts) - 1)
            offsets = starts[first : last + 1]
            here = words.encode(weights, tokens[offsets[0] : offsets[-1]], offsets - offsets[0])
            found.append(here.state.astype(np.float16))
        write_arrays(folder, {"state": np.concatenate(found)})
    states: States = ArrayFolder(folder).state
    return states


def unknown_text(weights: Weights) -> States:
    """(1, H) The encoded text of a message without any known word."""
    state: States = words.encode(weights, np.zeros(1, np.int32), np.array([0, 1])).state.astype(np.float16)
    return state


class Lesson:
    """The examples of one kind from one room.

    Args:
        room: The room's name.
        kind: The kind of examples.
        examples: The signals and labels.
        texts: The encoded texts of the room.
        weight: How often the room is drawn, relative to others of its size.
    """

    def __init__(self, room: str, kind: Kind, examples: Examples, texts: States, weight: float = 1.0) -> None:
        self.room, self.kind, self.weight = room, kind, weight
        self.examples, self.texts = examples, texts
        at, start = np.asarray(examples.at), np.asarray(examples.start)
        self.blocks: list[slice] = []
        first = 0
        for row in range(1, len(at) + 1):
            if (
                row == len(at)
                or row - first >= _ROWS
                or start[row] != start[first]
                or not 0 <= at[row] - at[first] <= _SPAN
                or at[row] < at[row - 1]
            ):
                self.blocks.append(slice(first, row))
                first = row


class Block(NamedTuple):
    """Some messages of a lesson; each has C candidate texts, the true one first."""

    pairs: Tensor
    """(R x C, D, `PAIRS`)"""
    messages: Tensor
    """(R x C, `ALONE`)"""
    state: Tensor
    """(N, H) The encoded texts of the messages around the block, and of the drafts."""
    there: Tensor
    """(R x C, D)"""
    said: NDArray[np.int64]
    """(R x C,) Index of each candidate text in `state`."""
    places: NDArray[np.int64]
    """(R x C, D) Index of each cell's earlier message in `state`."""
    right: Tensor
    """(R, D + 1) The right cells; the last is a start."""
    unknown: Tensor
    """(R, D + 1) Cells that may be right or wrong."""
    annotated: bool
    """Whether people annotated what is right."""


def block_of(lesson: Lesson, rows: slice, reach: int = REACH, unknown_as: States | None = None) -> Block:
    """Make a block from some rows of a lesson.

    Args:
        lesson: The lesson.
        rows: Its rows.
        reach: How far back each message sees.
        unknown_as: An encoded text that replaces all texts, as if no word were known.
    """
    examples, texts = lesson.examples, lesson.texts
    at = np.asarray(examples.at[rows])
    first, last = max(int(at[0]) - REACH, int(examples.start[rows.start])), int(at[-1]) + 1
    state = np.asarray(texts[first:last], np.float32)
    seen = examples.pairs[rows]
    seen_at = (seen[..., _DISTANCE] > 0) | (seen[..., _LAST] > 0)
    reach = min(reach, max(int(seen_at.any(axis=0).sum()), 1))
    there = seen_at[:, None, :reach].astype(np.float32)
    pairs = np.asarray(seen[:, None, :reach], np.float32)
    messages = np.asarray(examples.messages[rows], np.float32)[:, None]
    said = (at - first)[:, None]
    if lesson.kind in OTHERS:
        drafts = np.asarray(examples.drafts[rows])
        texts_of = 1 + drafts.shape[1]
        there, pairs = np.repeat(there, texts_of, axis=1), np.repeat(pairs, texts_of, axis=1)
        messages = np.repeat(messages, texts_of, axis=1)
        for column, name in enumerate(OF_TEXT):
            pairs[:, 1:, :, name] = examples.of_text[rows, :, :reach, column]
        messages[:, 1:][..., OF_DRAFT] = examples.of_draft[rows]
        each, which = np.unique(drafts, return_inverse=True)
        said = np.concatenate([said, last - first + which.reshape(drafts.shape)], axis=1)
        state = np.concatenate([state, np.asarray(texts[each], np.float32)])
    if unknown_as is not None:
        state = np.repeat(np.asarray(unknown_as, np.float32), len(state), axis=0)
    flat = said.ravel()
    places = np.repeat(np.maximum(at[:, None] - first - STEPS[:reach], 0), said.shape[1], axis=0)
    there = there.reshape(len(flat), reach)
    cells = np.r_[0:reach, REACH]
    right, unknown = (examples.bits(name, rows)[:, cells] for name in ("right", "unknown"))
    tensor = torch.from_numpy
    return Block(
        tensor(pairs.reshape(-1, *pairs.shape[2:])),
        tensor(messages.reshape(-1, messages.shape[2])),
        tensor(state),
        tensor(there),
        flat,
        places,
        tensor(right),
        tensor(unknown),
        lesson.kind in _ANNOTATED,
    )


def blinded(block: Block, groups: Collection[str]) -> Block:
    """A block with some groups of signals set to zero."""
    if not groups:
        return block
    pairs, messages = (
        torch.tensor([float(name not in groups) for name, signals in kinds.items() for _ in signals])
        for kinds in (_OF_PAIRS, _OF_MESSAGE)
    )
    texts = float(_TEXTS not in groups)
    return block._replace(
        pairs=block.pairs * pairs, messages=block.messages * messages,
        state=block.state * texts,
    )  # fmt: skip


class Looks(NamedWeights):
    """The weights of both looks for training, and the first look's forward pass.

    The projections of texts are learned further, together with the first look.

    Args:
        given: Weights that contain those of the words.
        config: The settings.
        generator: Draws all other weights.
    """

    def __init__(
        self, given: Mapping[str, NDArray[np.float32]], config: LooksConfig, generator: torch.Generator
    ) -> None:
        state, towers = given["words.answers.w"].shape
        projections = words.projections(state, towers // words.TOWERS)
        shapes = network.shapes(state, config.says, config.hidden, config.second)
        super().__init__({**shapes, **projections}, generator)
        with torch.no_grad():
            self.weights["fit"].fill_(0.25)
            self.weights["first_draft_state"].zero_()
        self.take({name: given[name] for name in projections})

    def first(self, block: Block, xp: Torch) -> Tensor:
        """(R, C, D + 1) The energies of the first look."""
        w = self.by_name
        answer, heard = network.says(w, block.state, xp)
        cells = network.cells_of(w, block.pairs, self._fits(block, xp), xp)
        state, answer = xp.take(block.state, block.said), xp.take(answer, block.said)
        found = network.first_look(w, cells, block.messages, answer, heard, block.places, xp)
        says = state, answer
        drafts = network.draft_energies(w, found.units, block.there, block.messages, says, xp)
        energies: Tensor = torch.cat([found.cells, found.start[:, None]], dim=1) + drafts[:, None]
        return energies.view(len(block.right), -1, energies.shape[1])

    def _fits(self, block: Block, xp: Torch) -> Tensor:
        """(R x C, D, `TOWERS`) How well the texts of each pair fit together; 0 where there is no message."""
        answers, heard = words.project(self.by_name, xp.thin(block.state), xp)
        earlier = heard[: int(block.places.max()) + 1]
        drafts = answers[torch.from_numpy(block.said)]
        fits: Tensor = words.fits(drafts, earlier, block.places, xp).permute(1, 2, 0) * block.there[..., None]
        return fits.detach() if block.annotated else fits


def train_first(
    lessons: Sequence[Lesson],
    given: Weights,
    config: LooksConfig,
    *,
    checkpoint: Path | None = None,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> Weights:
    """Train the first look, and the projections of texts; the returned weights of the second are untrained.

    Args:
        lessons: The lessons to train on; human links have their own share, see `shares_of`.
        given: The weights of the words.
        config: The settings.
        checkpoint: A file to continue from, written from time to time.
        progress: Called after each step, with its loss.
    """
    if not lessons:
        raise TrainingError("the rooms teach nothing: nobody names, quotes or is linked with anybody")
    torch.manual_seed(config.seed)
    looks, unknown = Looks(given, config, torch.Generator().manual_seed(config.seed)), unknown_text(given)
    optimizer = torch.optim.AdamW(
        looks.parameters(), config.learning_rate, betas=(0.9, 0.98), weight_decay=1e-3, fused=True
    )
    xp, shares = Torch(config.dropout), _shares(lessons, config)

    def loss_at(random: np.random.Generator) -> Tensor:
        reach = _NEAR if random.random() < config.near else REACH
        losses = []
        for place in random.choice(len(lessons), config.blocks, p=shares).tolist():
            lesson = lessons[place]
            rows = lesson.blocks[random.integers(len(lesson.blocks))]
            foreign = random.random() < config.foreign
            block = blinded(block_of(lesson, rows, reach, unknown if foreign else None), config.blind)
            losses.append(loss_of(looks.first(block, xp), block.right, block.unknown, config.drafts))
        return torch.cat(losses).mean()

    learned_from = [f"{lesson.room}, {lesson.kind.value}" for lesson in lessons]
    descend(
        looks, optimizer, loss_at, steps=config.steps, warm_up=WARM_UP, seed=config.seed,
        identity={**asdict(config), "lessons": learned_from}, checkpoint=checkpoint, progress=progress,
    )  # fmt: skip
    return looks.arrays()


def _shares(lessons: Sequence[Lesson], config: LooksConfig) -> NDArray[np.float64]:
    sizes = [len(lesson.examples.at) * lesson.weight**2 for lesson in lessons]
    kinds = [lesson.kind for lesson in lessons]
    given = {Kind.LINKS: config.links, Kind.DRAFTS: config.tasks, Kind.MEANT: config.meant}
    return shares_of(kinds, sizes, given)


def shares_of(
    kinds: Sequence[Kind], sizes: Sequence[float], given: Mapping[Kind, float]
) -> NDArray[np.float64]:
    """The probability with which each lesson is drawn, so that none dominates.

    Args:
        kinds: The kinds of the lessons.
        sizes: Their numbers of messages; a lesson that is four times as long is drawn twice as often.
        given: The shares of some kinds; all other kinds share the rest.
    """
    root = np.sqrt(sizes)
    shares = np.zeros(len(kinds))
    groups: list[tuple[float, set[Kind]]] = [(share, {kind}) for kind, share in given.items()]
    groups.append((1.0 - sum(given.values()), set(Kind) - given.keys()))
    for share, group in groups:
        which = np.array([kind in group for kind in kinds], bool)
        if which.any():
            shares[which] = share * root[which] / root[which].sum()
    result: NDArray[np.float64] = shares / shares.sum()
    return result
