"""A gated recurrent unit without bias terms, over sequences of different lengths.

    r, z = s(x W + h U)      c = tanh(x W_c + (r h) U_c)      h' = z h + (1 - z) c

This is the unit of Cho et al. (2014), as used in the paper: the reset gate acts before the product with U_c,
not after it as in `torch.nn.GRU`. Gates are in the order r, z, c.

Sequences are given as distinct inputs, an index into them for each token, and the offsets of sequences. So an
input that occurs several times is projected once, and no padding is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from towhom.nn.kernels import Kernels, cuts, load_kernels, pointer
from towhom.nn.matrix import project, sum_groups, sum_products


class GRU(nn.Module):
    """The unit's parameters and its implementations.

    Args:
        inputs: Size of x.
        hidden: Size of h.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.w = nn.Parameter(torch.empty(inputs, 3 * hidden))
        self.u = nn.Parameter(torch.empty(hidden, 3 * hidden))

    def step(self, projected: Tensor, state: Tensor) -> Tensor:
        """One step: (..., 3H), (..., H) -> (..., H)."""
        hidden = self.hidden
        x, x_c = projected[..., : 2 * hidden], projected[..., 2 * hidden :]
        r, z = torch.sigmoid(x + state @ self.u[:, : 2 * hidden]).chunk(2, dim=-1)
        c = torch.tanh(x_c + (r * state) @ self.u[:, 2 * hidden :])
        return z * state + (1 - z) * c

    def last_states(
        self, index: Tensor, offsets: Tensor, *inputs: tuple[Tensor, Tensor], plain: bool = False
    ) -> Tensor:
        """The state after the last token of each sequence; zero for an empty one.

        Args:
            index: (tokens,) Index of each token's input.
            offsets: (S + 1,) Where each sequence begins.
            inputs: Distinct inputs, (N, D), with their weights, (D, 3H); the index continues from one pair to
                the next.
            plain: Whether to use the simple implementation, which pads all sequences to the longest.
        """
        rows = inputs[0][0]
        fits = rows.device.type == "cpu" and rows.dtype == torch.float32
        if fits and not plain and (kernels := load_kernels(self.hidden)) is not None:
            return self.with_kernels(kernels, index, offsets, inputs)
        projected = torch.cat([rows @ weights for rows, weights in inputs])
        return (self._padded if plain else self.packed)(projected, index, offsets)

    def _padded(self, projected: Tensor, index: Tensor, offsets: Tensor) -> Tensor:
        lengths = offsets.diff()
        state = projected.new_zeros(len(lengths), self.hidden)
        for place in range(int(lengths.max()) if len(lengths) else 0):
            there = lengths > place
            token = index[torch.where(there, offsets[:-1] + place, 0)]
            state = torch.where(there[:, None], self.step(projected[token], state), state)
        return state

    def packed(self, projected: Tensor, index: Tensor, offsets: Tensor) -> Tensor:
        """Implements `last_states` in torch, without padding."""
        lengths = offsets.diff()
        order = torch.argsort(lengths, descending=True, stable=True)
        starts, sizes = offsets[:-1][order], lengths[order]
        state = projected.new_zeros(len(lengths), self.hidden)
        finished = []
        for place in range(int(lengths.max()) if len(lengths) else 0):
            active = int((sizes > place).sum())
            finished.append(state[active:])
            state = self.step(projected[index[starts[:active] + place]], state[:active])
        # Sequences that ended first are last in the order.
        states = torch.cat([state, *reversed(finished)])
        return states[torch.argsort(order)]

    def with_kernels(
        self, kernels: Kernels, index: Tensor, offsets: Tensor, inputs: Sequence[tuple[Tensor, Tensor]]
    ) -> Tensor:
        """Implements `last_states` with the kernels."""
        hidden, width = self.hidden, kernels.width

        def widen(weights: Tensor, gates: int) -> Tensor:
            blocks = weights.reshape(-1, gates, hidden)
            return pad(blocks, (0, width - hidden)).reshape(-1, gates * width)

        projected = [project(kernels, rows, widen(weights, 3)) for rows, weights in inputs]
        lengths = offsets.diff()
        order = torch.argsort(lengths, descending=True, stable=True)
        sizes = lengths[order]
        sorted_offsets = pad(sizes.cumsum(0), (1, 0))
        places = torch.arange(int(sorted_offsets[-1])) + torch.repeat_interleave(
            offsets[:-1][order] - sorted_offsets[:-1], sizes
        )
        tokens = index[places].to(torch.int32)
        last: Tensor = _GRUFunction.apply(
            kernels, _joined(projected), widen(self.u, 3), tokens, sorted_offsets
        )  # type: ignore[no-untyped-call]
        return last[torch.argsort(order), :hidden]


class _GRUFunction(torch.autograd.Function):
    """The kernel, with its gradient. All rows are padded; the longest sequence comes first."""

    @staticmethod
    def forward(
        ctx: Any,
        kernels: Kernels,
        projected: Tensor,
        weights: Tensor,
        index: Tensor,
        offsets: Tensor,
    ) -> Tensor:
        width, sequences, tokens = kernels.width, len(offsets) - 1, int(offsets[-1])
        u, u_c = weights[:, : 2 * width].contiguous(), weights[:, 2 * width :].contiguous()
        saved = torch.empty(tokens, 4 * width)
        last = torch.empty(sequences, width)
        parts = cuts(offsets.diff())
        tensors = (parts, projected, index, offsets, u, u_c, saved, last)
        kernels.code.gru_forward(len(parts) - 1, *map(pointer, tensors))
        ctx.save_for_backward(weights, index, offsets, saved)
        ctx.kernels, ctx.inputs = kernels, len(projected)
        return last

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        weights, index, offsets, saved = ctx.saved_tensors
        hidden, width = len(weights), ctx.kernels.width
        turned = transposed(weights, width)
        u_t, u_c_t = turned[:2], turned[2:]
        d_last = grads[0].contiguous()
        d_inputs = torch.empty(len(saved), 3 * width)
        reset = torch.empty(len(saved), width)
        parts = cuts(offsets.diff())
        tensors = (parts, offsets, u_t, u_c_t, saved, d_last, d_inputs, reset)
        ctx.kernels.code.gru_backward(len(parts) - 1, *map(pointer, tensors))
        d_projected = sum_groups(ctx.kernels, d_inputs, index, ctx.inputs)
        d_weights = torch.empty_like(weights)
        for read, gates in ((saved, slice(2 * width)), (reset, slice(2 * width, None))):
            sum_products(ctx.kernels, read[:, :hidden], d_inputs[:, gates], out=d_weights[:, gates])
        return None, d_projected, d_weights, None, None


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along the first dimension; a single one is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat([*parts])


def transposed(weights: Tensor, width: int) -> Tensor:
    """(H, gates * P) -> (gates, P, P), each gate's matrix transposed and padded."""
    hidden = len(weights)
    blocks = weights.reshape(hidden, -1, width).permute(1, 2, 0)
    return pad(blocks, (0, width - hidden)).contiguous()
