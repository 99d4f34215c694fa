"""Static-Hier-RNN: Static-RNN in two levels, after Zhou et al. (2016) and Serban et al. (2016).

Utterances are encoded first; a second GRU reads them, each joined with the embedding of its sender's
position.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import pad

from towhom.models.configs import StaticHierRNNConfig
from towhom.models.recurrent import Inputs, RecurrentSelector
from towhom.models.static_rnn import by_position
from towhom.nn.gru import GRU


class StaticHierRNN(RecurrentSelector):
    """A GRU over utterances."""

    name = "static-hier-rnn"

    def __init__(
        self, config: StaticHierRNNConfig, vectors: NDArray[np.float32], *, plain: bool = False
    ) -> None:
        super().__init__(config, vectors, conditional=False, plain=plain)
        self.positions = nn.Parameter(torch.empty(config.positions, config.hidden))
        self.context = GRU(2 * config.hidden, config.hidden)

    def encode(self, inputs: Inputs, utterances: Tensor) -> tuple[Tensor, Tensor]:
        """Take the last state of the second GRU as the context's embedding."""
        said = inputs.sender >= 0
        sender = inputs.sender[said].long().clamp(max=len(self.positions) - 1)
        rows = torch.cat([self.positions[sender], utterances[inputs.context[said]]], dim=1)
        offsets = pad(said.sum(1).cumsum(0), (1, 0))
        index = torch.arange(len(rows), device=rows.device)
        context = self.context.last_states(index, offsets, (rows, self.context.w), plain=self.plain)
        return by_position(self.positions, inputs), context
