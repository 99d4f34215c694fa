"""SI-RNN: Speaker Interaction RNN (Zhang, Lee, Polymenakos and Radev, AAAI 2018).

Every speaker has an embedding, and each message updates all of them: the sender's by IGRU^S, the addressee's
by IGRU^A, everybody else's by GRU^O. Addressee and response are selected jointly.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from towhom.models.configs import SIRNNConfig
from towhom.models.recurrent import Inputs, RecurrentSelector, max_pool
from towhom.nn import dialog
from towhom.nn.gru import GRU


class IGRU(nn.Module):
    """A unit whose state is updated from an utterance and from another speaker's state.

    r = s(u W^r + a U^r + b V^r)        how much of the own state enters the proposal
    p = s(u W^p + a U^p + b V^p)        how much of the other's state enters it
    z = s(u W^z + a U^z + b V^z)        how much of the old state is kept
    c = tanh(u W + (r a) U + (p b) V)   the proposal
    a' = z a + (1 - z) c

    The matrices hold r, p, z and the proposal side by side; u is [sender's embedding; utterance embedding].
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.w = nn.Parameter(torch.empty(2 * hidden, 4 * hidden))
        self.u = nn.Parameter(torch.empty(hidden, 4 * hidden))
        self.v = nn.Parameter(torch.empty(hidden, 4 * hidden))

    def forward(self, own: Tensor, other: Tensor, utterance: Tensor) -> Tensor:
        """(..., H), (..., H), (..., 2H) -> (..., H)."""
        gates = 3 * self.hidden
        seen = utterance @ self.w
        r, p, z = torch.sigmoid(
            seen[..., :gates] + own @ self.u[:, :gates] + other @ self.v[:, :gates]
        ).chunk(3, dim=-1)
        c = torch.tanh(seen[..., gates:] + (r * own) @ self.u[:, gates:] + (p * other) @ self.v[:, gates:])
        return z * own + (1 - z) * c


class SIRNN(RecurrentSelector):
    """The model of the paper."""

    name = "sirnn"
    config: SIRNNConfig

    def __init__(self, config: SIRNNConfig, vectors: NDArray[np.float32], *, plain: bool = False) -> None:
        super().__init__(config, vectors, conditional=config.joint, plain=plain)
        self.sender = IGRU(config.hidden)
        self.addressee = self.sender if config.shared else IGRU(config.hidden)
        # The input of GRU^O is [sender's embedding; utterance embedding], too.
        self.observer = None if config.shared else GRU(2 * config.hidden, config.hidden)

    def encode(self, inputs: Inputs, utterances: Tensor) -> tuple[Tensor, Tensor]:
        """Run Algorithm 1, then compute the context's embedding by max-pooling (Eq. 1)."""
        if self.plain or not dialog.available(utterances):
            speakers = self._algorithm_1(inputs, utterances)
        else:
            steps = dialog.Steps.of(inputs.sender, inputs.addressee, inputs.context, inputs.present)
            speakers = dialog.final_states(utterances, *self._roles(), steps, inputs.present.shape[1])
        return speakers, max_pool(speakers, inputs.present)

    def _algorithm_1(self, inputs: Inputs, utterances: Tensor) -> Tensor:
        """The paper's algorithm, line by line, for a batch; (B, P, H)."""
        batch, participants = inputs.present.shape
        each = torch.arange(batch)
        numbers = torch.arange(participants)
        speakers = utterances.new_zeros(batch, participants, self.config.hidden)  # lines 6-9
        for t in range(inputs.sender.shape[1]):  # line 11
            said = inputs.sender[:, t] >= 0
            addressed = inputs.addressee[:, t] >= 0
            a_sdr = speakers[each, inputs.sender[:, t].clamp(min=0)]  # line 13
            a_adr = speakers[each, inputs.addressee[:, t].clamp(min=0)] * addressed[:, None]  # line 14
            u = torch.cat([a_sdr, utterances[inputs.context[:, t]]], dim=1)  # lines 17-18
            new_sdr = self.sender(a_sdr, a_adr, u)  # line 20
            new_adr = self.addressee(a_adr, a_sdr, u)  # line 22
            new_obr = self._observe(speakers, u[:, None])  # lines 24-26, everybody at once
            is_sdr = numbers == inputs.sender[:, t, None]
            is_adr = numbers == inputs.addressee[:, t, None]
            new = torch.where(is_adr[:, :, None], new_adr[:, None], new_obr)
            new = torch.where(is_sdr[:, :, None], new_sdr[:, None], new)
            speakers = torch.where((said[:, None] & inputs.present)[:, :, None], new, speakers)
        return speakers

    def _observe(self, speakers: Tensor, utterance: Tensor) -> Tensor:
        """Apply GRU^O; with shared units, the single unit without another speaker."""
        if self.observer is None:
            shared: Tensor = self.sender(speakers, torch.zeros_like(speakers), utterance)
            return shared
        return self.observer.step(utterance @ self.observer.w, speakers)

    def _roles(self) -> tuple[dialog.Interacting, dialog.Interacting, dialog.Observing]:
        """The three units in the kernel's format."""
        hidden = self.config.hidden
        gates = 3 * hidden
        s, a = self.sender, self.addressee
        zero = s.u.new_zeros(hidden, hidden)

        def proposal_apart(matrix: Tensor) -> Tensor:
            return torch.cat([matrix[:, :gates], zero], dim=1)

        sender = dialog.Interacting(
            s.w[hidden:],
            proposal_apart(s.u) + s.w[:hidden],  # the sender's state is in u as well
            proposal_apart(s.v),
            s.u[:, gates:],
            s.v[:, gates:],
        )
        addressee = dialog.Interacting(
            a.w[hidden:],
            proposal_apart(a.u),
            proposal_apart(a.v) + a.w[:hidden],
            a.u[:, gates:],
            a.v[:, gates:],
        )
        if self.observer is None:
            # r, z and the proposal of the shared unit; p is unused, as there is no other speaker.
            w, u = (torch.cat([m[:, :hidden], m[:, 2 * hidden :]], dim=1) for m in (s.w, s.u))
        else:
            w, u = self.observer.w, self.observer.u
        observer = dialog.Observing(w[hidden:], u[:, : 2 * hidden], w[:hidden], u[:, 2 * hidden :])
        return sender, addressee, observer
