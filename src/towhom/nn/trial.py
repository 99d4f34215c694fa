"""A trial of some milliseconds that decides between the kernels and torch on this processor."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import torch
from torch import Tensor

from towhom.nn.gru import GRU
from towhom.nn.kernels import Kernels

_LENGTHS = tuple(range(1, 13)) * 4
"""Numbers of words per utterance, as in chats."""
_ROUNDS = 6
_OURS = 4
"""How often the kernels run per round: enough to distinguish vector widths of similar speed."""


def compare(kernels: Kernels, hidden: int) -> tuple[float, float]:
    """Seconds for a GRU forward and backward on one thread: with the kernels, and with torch.

    Each is the best processor time of several rounds, so that other load on the machine does not decide.
    """
    generator = torch.Generator().manual_seed(0)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator) * 0.2 - 0.1

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(False), torch.enable_grad():
            gru = GRU(hidden, hidden)
            with torch.no_grad():
                gru.w.copy_(uniform(*gru.w.shape))
                gru.u.copy_(uniform(*gru.u.shape))
            rows = uniform(64, hidden)
            offsets = torch.tensor((0, *_LENGTHS)).cumsum(0)
            index = torch.randint(len(rows), (int(offsets[-1]),), generator=generator)

            def ours() -> Tensor:
                return gru.with_kernels(kernels, index, offsets, [(rows, gru.w)])

            def theirs() -> Tensor:
                return gru.packed(rows @ gru.w, index, offsets)

            seconds = [
                (min(_seconds(ours, gru) for _ in range(_OURS)), _seconds(theirs, gru))
                for _ in range(_ROUNDS)
            ]
    finally:
        torch.set_num_threads(threads)
    return min(ours for ours, _ in seconds), min(theirs for _, theirs in seconds)


def _seconds(states: Callable[[], Tensor], gru: GRU) -> float:
    begin = thread_time()
    torch.autograd.grad(states().sum(), (gru.w, gru.u))
    return thread_time() - begin
