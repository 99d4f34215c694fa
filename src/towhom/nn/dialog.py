"""The dialog encoder's kernel: every participant's state, updated by each message according to their role.

`dialog.c` says what is computed. The models prepare the weights: a unit that reads the concatenation of
the sender's state and the utterance has a matrix for each; those that read the same state are added up.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from towhom.nn.gru import transposed
from towhom.nn.kernels import Kernels, cuts, load_kernels, pointer


class Interacting(NamedTuple):
    """A unit whose state is updated from another's: the sender's from the addressee's, and vice versa."""

    rows: Tensor
    """(U, 4H) What each utterance contributes to r, p, z and c."""
    self: Tensor
    """(H, 4H) What the state itself contributes."""
    other: Tensor
    """(H, 4H) What the other's state contributes."""
    u: Tensor
    """(H, H) From r * self to c."""
    v: Tensor
    """(H, H) From p * other to c."""


class Observing(NamedTuple):
    """The observers' unit."""

    rows: Tensor
    """(U, 3H) What each utterance contributes to r, z and c."""
    self: Tensor
    """(H, 2H) What the state itself contributes to r and z."""
    sender: Tensor
    """(H, 3H) What the sender's state contributes to r, z and c."""
    u: Tensor
    """(H, H) From r * self to c."""


class Steps(NamedTuple):
    """Who does what at each step, as 32-bit integers."""

    sender: Tensor
    """(B, T) -1 where there is no message."""
    addressee: Tensor
    """(B, T) -1 for nobody."""
    message: Tensor
    """(B, T) Which utterance is said."""
    present: Tensor
    """(B,) How many participants there are."""

    @classmethod
    def of(cls, sender: Tensor, addressee: Tensor, message: Tensor, present: Tensor) -> Steps:
        """From a batch's tensors; `present`, (B, P), says of each participant whether they are there."""
        return cls(sender, addressee, message.to(torch.int32), present.sum(1).to(torch.int32))


def available(utterances: Tensor) -> bool:
    """Whether the kernel can run on utterance embeddings, (U, H), like these."""
    fits = utterances.device.type == "cpu" and utterances.dtype == torch.float32
    return fits and load_kernels(utterances.shape[1]) is not None


def final_states(
    sender: Interacting, addressee: Interacting, observer: Observing, steps: Steps, participants: int
) -> Tensor:
    """(B, P, H) Everybody's state after the last step, zeros for those who are not there."""
    hidden = len(sender.u)
    kernels = load_kernels(hidden)
    assert kernels is not None  # noqa: S101 - the caller has looked
    width = kernels.width

    def widen(weights: Tensor) -> Tensor:
        blocks = weights.reshape(len(weights), -1, hidden)
        return pad(blocks, (0, width - hidden)).reshape(len(weights), -1)

    tensors = [widen(weights) for unit in (sender, addressee, observer) for weights in unit]
    states: Tensor = _DialogFunction.apply(kernels, steps, participants, *tensors)  # type: ignore[no-untyped-call]
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
    def forward(ctx: Any, kernels: Kernels, steps: Steps, participants: int, *tensors: Tensor) -> Tensor:
        hidden, width = len(tensors[3]), kernels.width
        samples, length = steps.sender.shape
        dialogs = _Dialogs(samples, length, participants, 0, *map(pointer, steps))
        counts = torch.empty(2, samples, dtype=torch.int64)
        kernels.code.dialog_count(ctypes.byref(dialogs), pointer(counts[0]), pointer(counts[1]))
        ends = pad(counts.cumsum(1), (1, 0))
        addressed, observed = ends[0].contiguous(), ends[1].contiguous()
        dialogs.addressed, dialogs.observed = pointer(addressed), pointer(observed)
        units, keep = _units(tensors, width)
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
            *(pointer(tensors[i]) for i in (0, 5, 10)),
            *map(pointer, (*saved, rows_a, states)),
        )
        ctx.save_for_backward(*tensors, *saved, rows_a, addressed, observed, parts, *steps)
        ctx.kernels, ctx.spent = kernels, False
        ctx.units, ctx.keep, ctx.hidden, ctx.participants = units, keep, hidden, participants
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.spent:
            raise RuntimeError("the dialog kernel goes backward once: it reuses what it saved")
        ctx.spent = True
        everything = ctx.saved_tensors
        tensors, saved = everything[:14], everything[14:17]
        rows_a, addressed, observed, parts = everything[17:21]
        steps = Steps(*everything[21:])
        hidden, width = ctx.hidden, ctx.kernels.width
        samples, length = steps.sender.shape
        dialogs = _Dialogs(samples, length, ctx.participants, 0, *map(pointer, (*steps, addressed, observed)))
        saved_s, saved_a, saved_o = saved
        d_states = grads[0].contiguous()
        d_s, d_a = torch.empty(len(saved_s), 4 * width), torch.empty(len(saved_a), 4 * width)
        d_o, d_common = torch.empty(len(saved_o), 3 * width), torch.empty(len(saved_s), 3 * width)
        ctx.kernels.code.dialog_backward(
            len(parts) - 1,
            pointer(parts),
            ctypes.byref(dialogs),
            *map(ctypes.byref, ctx.units),
            *map(pointer, (*saved, d_states, d_s, d_a, d_o, d_common)),
        )
        message = steps.message.reshape(-1).clamp(min=0)

        def to_utterances(rows: Tensor, gradient: Tensor, said: Tensor) -> Tensor:
            return torch.zeros_like(rows).index_add_(0, said, gradient)

        def interacting(save: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
            # The kernel has left r * self and p * other in the third and fourth place.
            me, other, r_me, p_other = (save[:, i * width : i * width + hidden] for i in range(4))
            d_c = gradient[:, 3 * width :]
            return me.T @ gradient, other.T @ gradient, r_me.T @ d_c, p_other.T @ d_c

        me, r_me = saved_o[:, :hidden], saved_o[:, width : width + hidden]
        return (
            None,
            None,
            None,
            to_utterances(tensors[0], d_s, message),
            *interacting(saved_s, d_s),
            to_utterances(tensors[5], d_a, message[rows_a]),
            *interacting(saved_a, d_a),
            to_utterances(tensors[10], d_common, message),
            me.T @ d_o[:, : 2 * width],
            saved_s[:, :hidden].T @ d_common,
            r_me.T @ d_o[:, 2 * width :],
        )


class _Weights(ctypes.Structure):
    """Pointers to a unit's matrices, then to the same transposed."""

    _fields_ = tuple((f"matrix{i}", ctypes.c_void_p) for i in range(8))


def _units(tensors: tuple[Tensor, ...], width: int) -> tuple[list[_Weights], list[Tensor]]:
    """The three units as the kernel wants them, and what must not be freed before it has run."""
    units, keep = [], []
    for start, stop in ((1, 5), (6, 10), (11, 14)):
        matrices = [matrix.contiguous() for matrix in tensors[start:stop]]
        turned = [transposed(matrix, width) for matrix in matrices]
        units.append(_Weights(*map(pointer, (*matrices, *turned))))
        keep += matrices + turned
    return units, keep
