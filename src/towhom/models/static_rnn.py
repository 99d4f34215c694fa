"""Static-RNN (Ouchi and Tsuboi, EMNLP 2016): one GRU over all words; speakers are known by their order.

Each utterance is preceded by a learned embedding of its sender's position: 0 the responder, then by recency.
The candidate addressees are those same embeddings.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import pad

from towhom.models.configs import StaticRNNConfig
from towhom.models.recurrent import Inputs, RecurrentSelector
from towhom.nn.gru import GRU


class StaticRNN(RecurrentSelector):
    """Reads the whole context as one sequence of words."""

    name = "static-rnn"

    def __init__(self, config: StaticRNNConfig, vectors: NDArray[np.float32], *, plain: bool = False) -> None:
        super().__init__(config, vectors, conditional=False, plain=plain)
        self.positions = nn.Parameter(torch.empty(config.positions, config.hidden))
        self.context = GRU(config.dimensions, config.hidden)
        self.w_position = nn.Parameter(torch.empty(config.hidden, 3 * config.hidden))

    def encode(self, inputs: Inputs, utterances: Tensor) -> tuple[Tensor, Tensor]:
        """Take the last state of the GRU as the context's embedding."""
        vectors: Tensor = self.vectors  # type: ignore[assignment]
        index, offsets = one_sequence(inputs, len(self.positions))
        context = self.context.last_states(
            index,
            offsets,
            (vectors[inputs.words], self.context.w),
            (self.positions, self.w_position),
            plain=self.plain,
        )
        return by_position(self.positions, inputs), context


def by_position(positions: Tensor, inputs: Inputs) -> Tensor:
    """(B, P, H) The embeddings of the participants' positions, the same for every sample."""
    batch, participants = inputs.present.shape
    places = torch.arange(participants, device=positions.device).clamp(max=len(positions) - 1)
    return positions[places].expand(batch, -1, -1)


def one_sequence(inputs: Inputs, positions: int) -> tuple[Tensor, Tensor]:
    """Make one sequence of tokens from each context: a position, its words, the next position, and so on.

    Returns:
        (tokens,) Indices of distinct words, then of positions; (B + 1,) where each context begins.
    """
    said = inputs.sender.reshape(-1) >= 0
    utterance = inputs.context.reshape(-1)[said].long()
    sender = inputs.sender.reshape(-1)[said].long().clamp(max=positions - 1)
    lengths = inputs.offsets.diff()[utterance] + 1  # including the position
    begins = pad(lengths.cumsum(0), (1, 0))
    # The source of each word: indices count up from its utterance's first token, minus one.
    source = torch.arange(int(begins[-1])) - torch.repeat_interleave(
        begins[:-1] + 1 - inputs.offsets[:-1][utterance], lengths
    )
    is_position = torch.zeros(len(source), dtype=torch.bool)
    is_position[begins[:-1]] = True
    words = inputs.tokens[torch.where(is_position, 0, source)] if len(inputs.tokens) else source * 0
    index = words.masked_scatter(is_position, len(inputs.words) + sender)
    messages = said.reshape(inputs.sender.shape).sum(1)
    return index, begins[pad(messages.cumsum(0), (1, 0))]
