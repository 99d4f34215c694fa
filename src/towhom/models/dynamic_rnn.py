"""Dynamic-RNN (Ouchi and Tsuboi, EMNLP 2016): each message updates all speaker embeddings.

The sender's is updated from the utterance, everybody else's from a zero input. Addressee and response are
selected separately.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from towhom.models.configs import DynamicRNNConfig
from towhom.models.recurrent import Inputs, RecurrentSelector, max_pool
from towhom.nn import dialog
from towhom.nn.gru import GRU


class DynamicRNN(RecurrentSelector):
    """The previous state of the art, which SI-RNN builds on."""

    name = "dynamic-rnn"

    def __init__(
        self, config: DynamicRNNConfig, vectors: NDArray[np.float32], *, plain: bool = False
    ) -> None:
        super().__init__(config, vectors, conditional=False, plain=plain)
        self.speaker = GRU(config.hidden, config.hidden)

    def encode(self, inputs: Inputs, utterances: Tensor) -> tuple[Tensor, Tensor]:
        """Run the GRU one step per message, for every speaker."""
        if self.plain or not dialog.available(utterances):
            speakers = self._step_by_step(inputs, utterances)
        else:
            nobody = torch.full_like(inputs.addressee, -1)
            steps = dialog.Steps.of(inputs.sender, nobody, inputs.context, inputs.present)
            speakers = dialog.final_states(utterances, *self._roles(), steps, inputs.present.shape[1])
        return speakers, max_pool(speakers, inputs.present)

    def _step_by_step(self, inputs: Inputs, utterances: Tensor) -> Tensor:
        batch, participants = inputs.present.shape
        numbers = torch.arange(participants)
        projected = utterances @ self.speaker.w
        speakers = utterances.new_zeros(batch, participants, self.config.hidden)
        for t in range(inputs.sender.shape[1]):
            is_sender = numbers == inputs.sender[:, t, None]
            heard = torch.where(is_sender[:, :, None], projected[inputs.context[:, t]][:, None], 0)
            there = (inputs.sender[:, t] >= 0)[:, None] & inputs.present
            speakers = torch.where(there[:, :, None], self.speaker.step(heard, speakers), speakers)
        return speakers

    def _roles(self) -> tuple[dialog.Interacting, dialog.Interacting, dialog.Observing]:
        """The single unit in the kernel's terms: nobody is addressed, and observers get a zero input."""
        w_r, w_z, w_c = self.speaker.w.chunk(3, dim=1)
        u_r, u_z, u_c = self.speaker.u.chunk(3, dim=1)
        zero = torch.zeros_like(u_c)
        sender = dialog.Interacting(
            torch.cat([w_r, zero, w_z, w_c], dim=1),
            torch.cat([u_r, zero, u_z, zero], dim=1),
            zero.repeat(1, 4),
            u_c,
            zero,
        )
        observer = dialog.Observing(zero.repeat(1, 3), torch.cat([u_r, u_z], dim=1), zero.repeat(1, 3), u_c)
        return sender, sender, observer
