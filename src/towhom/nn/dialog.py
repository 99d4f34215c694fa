"""The dialog encoder's kernel: each message updates every participant's state according to their role.

`dialog.c` has the formulas. The models prepare the weights: a unit whose input is the sender's state joined
with the utterance has a matrix for each; matrices for the same state are added.
"""

from __future__ import annotations

import ctypes
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from towhom.nn.gru import transposed
from towhom.nn.kernels import Kernels, cuts, load_kernels, pointer
from towhom.nn.matrix import multiply, multiply_back, sum_groups, sum_products

_PARTS = (4, 4, 4, 1, 1) * 2 + (3, 2, 3, 1)
"""Number of gates in each matrix of the three units."""
_SAID = (0, 5, 10)
"""Indices of the matrices for utterances, which come first in each unit."""
_ENDS = (0, *accumulate(_PARTS))
_GATES = _ENDS[-1]


class Interacting(NamedTuple):
    """A unit whose state is updated from another's: the sender's from the addressee's, and vice versa."""

    said: Tensor
    """(H, 4H) From the utterance to r, p, z and c."""
    self: Tensor
    """(H, 4H) From the unit's own state to the same."""
    other: Tensor
    """(H, 4H) From the other's state to the same."""
    u: Tensor
    """(H, H) From r * self to c."""
    v: Tensor
    """(H, H) From p * other to c."""


class Observing(NamedTuple):
    """The observers' unit."""

    said: Tensor
    """(H, 3H) From the utterance to r, z and c."""
    self: Tensor
    """(H, 2H) From the unit's own state to r and z."""
    sender: Tensor
    """(H, 3H) From the sender's state to r, z and c."""
    u: Tensor
    """(H, H) From r * self to c."""


class Steps(NamedTuple):
    """The roles of participants at each step, as 32-bit integers."""

    sender: Tensor
    """(B, T) The sender; -1 where there is no message."""
    addressee: Tensor
    """(B, T) The addressee; -1 for nobody."""
    message: Tensor
    """(B, T) Index of the utterance."""
    present: Tensor
    """(B,) Number of participants."""

    @classmethod
    def of(cls, sender: Tensor, addressee: Tensor, message: Tensor, present: Tensor) -> Steps:
        """Make steps from a batch's tensors; `present`, (B, P), says which participants exist."""
        return cls(sender, addressee, message.to(torch.int32), present.sum(1).to(torch.int32))


def available(utterances: Tensor) -> bool:
    """Whether the kernel can run on utterance embeddings, (U, H), like these."""
    fits = utterances.device.type == "cpu" and utterances.dtype == torch.float32
    return fits and load_kernels(utterances.shape[1]) is not None


def final_states(
    utterances: Tensor,
    sender: Interacting,
    addressee: Interacting,
    observer: Observing,
    steps: Steps,
    participants: int,
) -> Tensor:
    """(B, P, H) The participants' states after the last step; zeros for participants that do not exist.

    Args:
        utterances: (U, H) Utterance embeddings.
        sender: The unit for the sender.
        addressee: The unit for the addressee.
        observer: The unit for everybody else.
        steps: The roles at each step.
        participants: P, the maximum number of participants.
    """
    hidden = len(sender.u)
    kernels = load_kernels(hidden)
    assert kernels is not None  # noqa: S101 - the caller has looked
    # All are joined in one matrix, so that it is padded once: (H, gates, H) -> (H, gates, P).
    weights = torch.cat([matrix for unit in (sender, addressee, observer) for matrix in unit], dim=1)
    blocks = pad(weights.reshape(hidden, _GATES, hidden), (0, kernels.width - hidden))
    states: Tensor = _DialogFunction.apply(kernels, steps, participants, utterances, blocks)  # type: ignore[no-untyped-call]
    return states[..., :hidden]


class _Dialogs(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("samples", "steps", "participants", "unused")),
        *((name, ctypes.c_void_p) for name in ("sender", "addressee", "message", "present")),
        *((name, ctypes.c_void_p) for name in ("addressed", "observed")),
    )


class _DialogFunction(torch.autograd.Function):
    """The kernel, with its gradient. Rows are padded to whole vectors."""

    @staticmethod
    def forward(
        ctx: Any, kernels: Kernels, steps: Steps, participants: int, utterances: Tensor, blocks: Tensor
    ) -> Tensor:
        width = kernels.width
        samples, length = steps.sender.shape
        dialogs = _Dialogs(samples, length, participants, 0, *map(pointer, steps))
        counts = torch.empty(2, samples, dtype=torch.int64)
        kernels.code.dialog_count(ctypes.byref(dialogs), pointer(counts[0]), pointer(counts[1]))
        ends = pad(counts.cumsum(1), (1, 0))
        addressed, observed = ends[0].contiguous(), ends[1].contiguous()
        dialogs.addressed, dialogs.observed = pointer(addressed), pointer(observed)
        utterances, weights = utterances.contiguous(), blocks.flatten(1)
        said = [multiply(kernels, utterances, weights[:, _columns(part, width)]) for part in _SAID]
        units, keep = _units(weights, width)
        saved = (
            torch.empty(samples * length, 6 * width),
            torch.empty(int(addressed[-1]), 6 * width),
            torch.empty(int(observed[-1]), 4 * width),
        )
        rows_a = torch.empty(int(addressed[-1]), dtype=torch.int64)
        states = torch.empty(samples, participants, width)
        parts = cuts(counts.sum(0) + length)
        kernels.code.dialog_forward(
            len(parts) - 1,
            pointer(parts),
            ctypes.byref(dialogs),
            *map(ctypes.byref, units),
            *map(pointer, (*said, *saved, rows_a, states)),
        )
        ctx.save_for_backward(*saved, utterances, weights, rows_a, addressed, observed, parts, *steps)
        ctx.kernels, ctx.spent = kernels, False
        ctx.units, ctx.keep, ctx.participants = units, keep, participants
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.spent:
            raise RuntimeError("the dialog kernel goes backward once: it reuses what it saved")
        ctx.spent = True
        saved_s, saved_a, saved_o, utterances, weights, rows_a, addressed, observed, parts, *rest = (
            ctx.saved_tensors
        )
        steps, kernels = Steps(*rest), ctx.kernels
        hidden, width = len(weights), kernels.width
        samples, length = steps.sender.shape
        dialogs = _Dialogs(samples, length, ctx.participants, 0, *map(pointer, (*steps, addressed, observed)))
        d_states = grads[0].contiguous()
        d_s, d_a = torch.empty(len(saved_s), 4 * width), torch.empty(len(saved_a), 4 * width)
        d_o, d_common = torch.empty(len(saved_o), 3 * width), torch.empty(len(saved_s), 3 * width)
        kernels.code.dialog_backward(
            len(parts) - 1,
            pointer(parts),
            ctypes.byref(dialogs),
            *map(ctypes.byref, ctx.units),
            *map(pointer, (saved_s, saved_a, saved_o, d_states, d_s, d_a, d_o, d_common)),
        )
        message = steps.message.reshape(-1).clamp(min=0)
        by_utterance = [
            sum_groups(kernels, gradient, said, len(utterances))
            for gradient, said in ((d_s, message), (d_a, message[rows_a]), (d_common, message))
        ]

        def interacting(read: Tensor, said: Tensor, gradient: Tensor) -> list[tuple[Tensor, Tensor]]:
            # The kernel stores r * self and p * other in the third and fourth place.
            me, other, r_me, p_other = (read[:, i * width : i * width + hidden] for i in range(4))
            d_c = gradient[:, 3 * width :]
            return [(utterances, said), (me, gradient), (other, gradient), (r_me, d_c), (p_other, d_c)]

        d_weights = torch.empty_like(weights)
        products = [
            *interacting(saved_s, by_utterance[0], d_s),
            *interacting(saved_a, by_utterance[1], d_a),
            (utterances, by_utterance[2]),
            (saved_o[:, :hidden], d_o[:, : 2 * width]),
            (saved_s[:, :hidden], d_common),
            (saved_o[:, width : width + hidden], d_o[:, 2 * width :]),
        ]
        for part, (read, gradient) in enumerate(products):
            sum_products(kernels, read, gradient, out=d_weights[:, _columns(part, width)])
        d_utterances = torch.zeros_like(utterances)
        for part, gradient in zip(_SAID, by_utterance, strict=True):
            d_utterances += multiply_back(kernels, gradient, weights[:, _columns(part, width)])
        return None, None, None, d_utterances, d_weights.reshape(hidden, _GATES, width)


class _Weights(ctypes.Structure):
    """Pointers to a unit's matrices, followed by those to the transposed ones."""

    _fields_ = tuple((f"matrix{i}", ctypes.c_void_p) for i in range(8))


def _units(weights: Tensor, width: int) -> tuple[list[_Weights], list[Tensor]]:
    """The three units in the kernel's format, and the tensors that must not be freed before it has run."""
    blocks = transposed(weights, width)
    units, keep = [], [blocks]
    for start, stop in pairwise((*_SAID, len(_PARTS))):
        parts = range(start + 1, stop)
        matrices = [weights[:, _columns(part, width)].contiguous() for part in parts]
        turned = [blocks[_ENDS[part] : _ENDS[part + 1]] for part in parts]
        units.append(_Weights(*map(pointer, (*matrices, *turned))))
        keep += matrices
    return units, keep


def _columns(part: int, width: int) -> slice:
    """The columns of one matrix of the units, where all are side by side."""
    return slice(_ENDS[part] * width, _ENDS[part + 1] * width)
