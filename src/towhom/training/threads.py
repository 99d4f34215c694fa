"""Trains what pulls conversations apart, on chats in which people have drawn reply links.

The second stage sees the conversations that the first has found. So that it learns from such as it will meet,
the first stage is trained on some chats to find those of the others, in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import dropout, relu

from towhom.chat import Kind
from towhom.errors import TrainingError
from towhom.evaluation.reply_links import LinkedLog
from towhom.hearing.ear import Ear
from towhom.hearing.utterance import REACH, SPOKEN, Utterance
from towhom.live import Model
from towhom.persistence import SavedModel
from towhom.threads.network import Network
from towhom.threads.signals import (
    MESSAGE,
    MESSAGE_TIME,
    TIME,
    Likeness,
    Sight,
    Signals,
    columns_of,
    compare,
    pair_names,
    structure,
    with_threads,
)
from towhom.training.addressees import foreign
from towhom.training.dressing import small_rooms
from towhom.training.named import NamedWeights

_WARM_UP = 2 * REACH
"""Messages before the first annotated one that are gone through as well."""
_TIMES = slice(pair_names(0).index(TIME[0]), pair_names(0).index(TIME[0]) + len(TIME))
_MESSAGE_TIMES = slice(len(MESSAGE), len(MESSAGE) + len(MESSAGE_TIME))
"""Signals that need times."""
_CONVERSATIONS = 6
"""Of a small room, at most: so many that it still matters where one starts."""
_AT_ONCE = 1024
_HALF = np.float16
"""Signals are kept in 16 bits: there are millions."""


@dataclass(frozen=True, kw_only=True)
class ThreadsConfig:
    """How the networks are trained; docs/threads.md says how this was chosen.

    Args:
        hidden: Units of the first layer.
        second: Units of the layer after it.
        epochs: How often the messages are gone through.
        folds: Into how many parts the chats are divided, for the second stage.
        batch: Messages of a batch.
        learning_rate: Of Adam, at its highest.
        weight_decay: L2.
        dropout: Share of the first layer that is left out in training.
        untimed: Share of batches in which no times are known, as in logs that have none.
        seed: For weights and order.
    """

    hidden: int = 64
    second: int = 32
    epochs: int = 6
    folds: int = 5
    batch: int = 128
    learning_rate: float = 0.003
    weight_decay: float = 1e-4
    dropout: float = 0.1
    untimed: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class Examples:
    """The messages of some chats from the warm-up on, and what they answer."""

    signals: Signals
    """Of R messages, in 16 bits."""
    answers: NDArray[np.bool_]
    """(R, `REACH` + 1) What they answer; the last is that they start a conversation. None if unknown."""
    chat: NDArray[np.int64]
    """(R,) Which chat each is of."""
    heard: tuple[tuple[tuple[Utterance, ...], int], ...]
    """Of each chat: all its messages, and where those begin that are among the examples."""

    def joined(self, other: Examples) -> Examples:
        """These, and others after them."""
        both = zip(self.signals, other.signals, strict=True)
        return Examples(
            Signals(*(np.concatenate(parts) for parts in both)),
            np.concatenate([self.answers, other.answers]),
            np.concatenate([self.chat, other.chat + len(self.heard)]),
            (*self.heard, *other.heard),
        )


def collect(
    model: Model, logs: Sequence[LinkedLog], *, progress: Callable[[str], None] = lambda name: None
) -> Examples:
    """What is known of the annotated messages of some chats, and of those shortly before them."""
    parts, answers, counts, heard = [], [], [], []
    for log in logs:
        messages, lines = _heard(model, log)
        annotated = [place for place, line in enumerate(lines) if line in log.links]
        if not annotated:
            continue
        first = max(annotated[0] - _WARM_UP, 0)
        tokens = [each.tokens for each in messages]
        encoded = model.runtime.encode_utterances(np.concatenate(tokens), np.cumsum([0, *map(len, tokens)]))
        sides, replies = model.runtime.sides(encoded)
        alike = Likeness(sides, replies[first:], model.runtime.embedding(encoded[first:]))
        found = compare(columns_of(messages), alike, first)
        parts.append(Signals(found.pairs.astype(_HALF), found.messages.astype(_HALF), found.there))
        answers.append(_answers(log, lines, first))
        counts.append(len(lines) - first)
        heard.append((tuple(messages), first))
        progress(log.name)
    if not parts:
        raise TrainingError("no chat has reply links to learn from")
    return Examples(
        Signals(
            np.concatenate([part.pairs for part in parts]),
            np.concatenate([part.messages for part in parts]),
            np.concatenate([part.there for part in parts]),
        ),
        np.concatenate(answers),
        np.repeat(np.arange(len(counts)), counts),
        tuple(heard),
    )


def _heard(model: Model, log: LinkedLog) -> tuple[list[Utterance], list[int]]:
    """All messages of a chat, with their lines."""
    ear, messages = Ear(model.lexicon), list[Utterance]()
    lines: list[int] = []
    for message in log.lines:
        if message.kind is Kind.RENAME:
            ear.rename(message.speaker, message.text)
        elif message.kind in SPOKEN and message.line is not None:
            messages.append(ear.hear(message))
            lines.append(message.line)
    return messages, lines


def _answers(log: LinkedLog, lines: list[int], first: int) -> NDArray[np.bool_]:
    places = {line: place for place, line in enumerate(lines)}
    answers = np.zeros((len(lines) - first, REACH + 1), bool)
    for row, line in enumerate(lines[first:]):
        for parent in log.links.get(line, ()):
            back = first + row - places.get(parent, -REACH - 1)
            if parent == line:
                answers[row, REACH] = True
            elif 0 < back <= REACH:
                answers[row, back - 1] = True
    return answers


def with_structure(examples: Examples, likely: NDArray[np.float32]) -> Examples:
    """The examples as the second stage sees them, given what the first says of them."""
    found = []
    for chat, (messages, first) in enumerate(examples.heard):
        mine = likely[examples.chat == chat]
        # Messages before the first each start a conversation, as far as is known.
        sights = [Sight(thread=at) for at in range(len(messages))]
        for row, column in enumerate(mine.argmax(axis=1).tolist()):
            at = first + row
            if column < REACH:
                back = column + 1
                sights[at].answers(sights[at - back], messages[at - back].speaker, back)
        columns = with_threads(columns_of(messages), sights)
        found.append(structure(columns, first, mine).astype(_HALF))
    pairs = np.concatenate([examples.signals.pairs, np.concatenate(found)], axis=2)
    return replace(examples, signals=examples.signals._replace(pairs=pairs))


class _Trained(NamedWeights):
    """`towhom.threads.network.Network`, to be trained."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], share: float, generator: torch.Generator) -> None:
        super().__init__(shapes, generator)
        self.share = share

    def forward(self, pairs: Tensor, messages: Tensor, there: Tensor) -> Tensor:
        """(R, `REACH` + 1) Logarithms of probabilities."""
        w = self.weights
        hidden = relu(pairs @ w["pair_w"] + (messages @ w["message_w"] + w["pair_b"])[:, None])
        hidden = dropout(hidden, self.share, self.training)
        scores = relu(hidden @ w["second_w"] + w["second_b"]) @ w["out"]
        known = torch.cat([messages, pairs.amax(dim=1)], dim=1)
        start = relu(known @ w["start_w"] + w["start_b"]) @ w["start_out"]
        return torch.cat([scores.masked_fill(~there, -torch.inf), start[:, None]], dim=1).log_softmax(dim=1)


Weights = dict[str, NDArray[np.float32]]


def fit(examples: Examples, chosen: NDArray[np.bool_], config: ThreadsConfig) -> Weights:
    """The weights of a network that makes likely what is answered.

    Args:
        examples: What there is.
        chosen: (R,) Which of it to learn from; what is not annotated is left out.
        config: How.
    """
    rows = np.flatnonzero(chosen & examples.answers.any(axis=1))
    if not len(rows):
        raise TrainingError("there is no annotated message to learn from: what they answer is not near")
    pairs, messages = examples.signals.pairs.shape[2], examples.signals.messages.shape[1]
    shapes = Network.shapes(pairs, messages, config.hidden, config.second)
    generator = torch.Generator().manual_seed(config.seed)
    torch.manual_seed(config.seed)
    network = _Trained(shapes, config.dropout, generator)
    adam = torch.optim.AdamW(network.parameters(), config.learning_rate, weight_decay=config.weight_decay)
    steps = config.epochs * -(-len(rows) // config.batch)
    # Not quite a tenth: of ten steps the warm-up would have none, by which the schedule divides.
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        adam, config.learning_rate, total_steps=steps, pct_start=0.100001
    )
    random = np.random.default_rng(config.seed)
    network.train()
    for batch in _batches(rows, config, random):
        pair, message, there = _tensors(examples.signals, batch)
        if random.random() < config.untimed:
            pair[..., _TIMES], message[:, _MESSAGE_TIMES] = 0.0, 0.0
        true = torch.from_numpy(examples.answers[batch])
        loss = -network(pair, message, there).masked_fill(~true, -torch.inf).logsumexp(dim=1).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    return network.arrays()


def _batches(
    rows: NDArray[np.int64], config: ThreadsConfig, random: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    for _ in range(config.epochs):
        order = random.permutation(rows)
        for start in range(0, len(order), config.batch):
            yield np.sort(order[start : start + config.batch])


def _tensors(signals: Signals, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
    pair, message, there = (torch.from_numpy(each[rows]) for each in signals)
    return pair.float(), message.float(), there


def predict(weights: Weights, signals: Signals, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """(rows, `REACH` + 1) What a network says of some of the signals."""
    network, found = Network(weights), []
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        pairs, messages = (each[part].astype(np.float32) for each in (signals.pairs, signals.messages))
        found.append(network(Signals(pairs, messages, signals.there[part])))
    return np.concatenate(found)


def cross_fitted(examples: Examples, config: ThreadsConfig) -> NDArray[np.float32]:
    """(R, `REACH` + 1) What networks say of chats that they have not learned from."""
    likely = np.zeros(examples.answers.shape, np.float32)
    part = examples.chat % min(config.folds, len(examples.heard))
    for fold in np.unique(part):
        others = part != fold
        # With a single chat there are no others to learn from.
        weights = fit(examples, others if others.any() else ~others, config)
        mine = np.flatnonzero(part == fold)
        likely[mine] = predict(weights, examples.signals, mine)
    return likely


def train_threads(
    saved: SavedModel,
    logs: Sequence[LinkedLog],
    config: ThreadsConfig,
    *,
    progress: Callable[[str], None] = lambda name: None,
) -> SavedModel:
    """A model that knows how to pull conversations apart.

    Args:
        saved: The model.
        logs: Chats with reply links.
        config: How.
        progress: Called with what has been done.
    """
    model = Model(saved)
    rooms = [room for log in logs for room in small_rooms(log, most=_CONVERSATIONS)]
    # Every other room, and every third chat, is one whose language the model does not know.
    own = collect(model, [*logs, *rooms[::2]])
    examples = own.joined(collect(foreign(model), [*logs[::3], *rooms[1::2]]))
    progress("collected the messages")
    every = np.ones(len(examples.chat), bool)
    first = fit(examples, every, config)
    progress("trained the first stage")
    second = fit(with_structure(examples, cross_fitted(examples, config)), every, config)
    progress("trained the second stage")
    return replace(saved, thread_weights={"first": first, "second": second})
