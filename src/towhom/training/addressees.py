"""Trains what ranks addressees in a session, on chats in which people have drawn reply links.

Some features are what the ranker itself said of earlier messages. So it is trained in rounds: the first sees
what the bare model says of them, each later one what the ranker of the round before says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import relu

from towhom.errors import TrainingError
from towhom.evaluation.reply_links import LinkedLog
from towhom.live import Model, Session
from towhom.live.addressees import CANDIDATE_FEATURES, MESSAGE_FEATURES, AddresseeRanker, Features, Turn
from towhom.persistence import SavedModel
from towhom.training.dressing import small_rooms
from towhom.training.named import NamedWeights

_BATCH = 256
_FOREIGN = 3
"""One in so many chats is also learned from as if it were in another language."""


@dataclass(frozen=True, kw_only=True)
class RankerConfig:
    """How the ranker is trained; docs/log.md says how this was chosen.

    Args:
        hidden: Units of the hidden layers.
        rounds: How often the messages are gone through.
        epochs: Of each round.
        learning_rate: Of Adam, at its highest.
        weight_decay: L2.
        seed: For weights and order.
    """

    hidden: int = 32
    rounds: int = 3
    epochs: int = 20
    learning_rate: float = 0.004
    weight_decay: float = 1e-5
    seed: int = 0


@dataclass(frozen=True)
class Example:
    """An annotated message: what is known of it, and who is meant."""

    features: Features
    state: NDArray[np.float32]
    """(H,) Its embedding."""
    meant: NDArray[np.bool_]
    """(N + 1,) Which of the candidates; the last is nobody in particular."""


class _Watched(Session):
    """A session that keeps what it knew of the last message."""

    seen: tuple[Features, Turn]

    def _addressees(self, turn: Turn, past: list[Turn]) -> tuple[Features, NDArray[np.float64]]:
        found, probabilities = super()._addressees(turn, past)
        self.seen = found, turn
        return found, probabilities


def collect(
    model: Model, logs: Iterable[LinkedLog], *, progress: Callable[[str], None] = lambda name: None
) -> list[Example]:
    """The annotated messages of some chats, as a model's sessions see them.

    Left out are those of which nobody who is meant is within reach: nothing can be learned from them.
    """
    examples = []
    for log in logs:
        session = _Watched(model)
        for line, message in log.messages():
            session.observe(message)
            found, turn = session.seen
            truth = log.truth.get(line, frozenset())
            meant = np.array([name in truth for name in (*found.names, None)])
            if meant.any() and turn.embedding is not None:
                state = session.model.runtime.embedding(turn.embedding)
                examples.append(Example(found, state, meant))
        progress(log.name)
    return examples


class _Network(NamedWeights):
    """The ranker, to be trained; `AddresseeRanker` runs it."""

    def __init__(self, hidden: int, embedding: int, generator: torch.Generator) -> None:
        super().__init__(AddresseeRanker.shapes(hidden, embedding), generator)

    def forward(self, candidates: Tensor, message: Tensor, state: Tensor, there: Tensor) -> Tensor:
        """(B, N, F), (B, G), (B, H), (B, N) -> (B, N + 1) logarithms of probabilities."""
        w = self.weights
        split = candidates.shape[2]
        own = candidates @ w["candidate_w"][:split]
        hidden = own + (message @ w["candidate_w"][split:] + w["candidate_b"])[:, None]
        scores = (relu(hidden) @ w["candidate_out"]).masked_fill(~there, -torch.inf)
        alone = torch.cat([message, state], dim=1) @ w["nobody_w"] + w["nobody_b"]
        nobody = relu(alone) @ w["nobody_out"]
        return torch.cat([scores, nobody[:, None]], dim=1).log_softmax(dim=1)


def fit(examples: list[Example], config: RankerConfig) -> dict[str, NDArray[np.float32]]:
    """The weights of a ranker that makes those who are meant likely.

    Raises:
        TrainingError: There are no examples.
    """
    if not examples:
        raise TrainingError("there is no annotated message to learn from: nobody whom they address is near")
    generator = torch.Generator().manual_seed(config.seed)
    network = _Network(config.hidden, len(examples[0].state), generator)
    # Messages with about as many candidates share a batch, so that little is padded.
    by_size = sorted(range(len(examples)), key=lambda place: len(examples[place].meant))
    batches = [
        _padded([examples[place] for place in by_size[start : start + _BATCH]])
        for start in range(0, len(examples), _BATCH)
    ]
    adam = torch.optim.AdamW(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        adam, config.learning_rate, total_steps=config.epochs * len(batches)
    )
    for _ in range(config.epochs):
        for place in torch.randperm(len(batches), generator=generator).tolist():
            *inputs, meant = batches[place]
            loss = -network(*inputs).masked_fill(~meant, -torch.inf).logsumexp(dim=1).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
            schedule.step()
    return network.arrays()


def _padded(examples: list[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Candidates, messages, embeddings; who is there; who is meant."""
    most = max(len(each.features.names) for each in examples)
    candidates = np.zeros((len(examples), most, len(CANDIDATE_FEATURES)), np.float32)
    message = np.zeros((len(examples), len(MESSAGE_FEATURES)), np.float32)
    there = np.zeros((len(examples), most), bool)
    meant = np.zeros((len(examples), most + 1), bool)
    for row, each in enumerate(examples):
        count = len(each.features.names)
        candidates[row, :count], message[row] = each.features.candidates, each.features.message
        there[row, :count] = True
        meant[row, :count], meant[row, most] = each.meant[:-1], each.meant[-1]
    states = np.stack([each.state for each in examples])
    candidates_, message_, states_, there_, meant_ = map(
        torch.from_numpy, (candidates, message, states, there, meant)
    )
    return candidates_, message_, states_, there_, meant_


def train_ranker(
    saved: SavedModel,
    logs: list[LinkedLog],
    config: RankerConfig,
    *,
    progress: Callable[[str], None] = lambda name: None,
) -> SavedModel:
    """A model that knows how to rank addressees.

    Args:
        saved: The model; if it has a ranker already, that is the first round's.
        logs: Chats with reply links.
        config: How.
        progress: Called with the name of each chat, in each round.
    """
    for number in range(config.rounds):
        model = Model(saved)
        examples = collect(model, logs, progress=progress)
        for place, log in enumerate(logs):
            rooms = list(small_rooms(log, seed=number))
            # Every other room is one whose language the model does not know.
            examples += collect(model, rooms[::2])
            examples += collect(foreign(model), rooms[1::2])
            if place % _FOREIGN == number % _FOREIGN:
                examples += collect(foreign(model), [log])
        saved = replace(saved, live_weights=fit(examples, config))
    return saved


def foreign(model: Model) -> Model:
    """The model, as it is in a room of whose language it knows no word."""
    other = copy(model)
    other.lexicon = model.lexicon.foreign()
    return other
