"""The gated recurrent unit of `towhom.nn.gru`, forward only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def sigmoid(x: Array) -> Array:
    """In place: `x` is not needed any more. By tanh, which does not overflow."""
    x *= 0.5
    np.tanh(x, out=x)
    x += 1.0
    x *= 0.5
    return x


class GRU:
    """A unit without bias terms; gates are in the order r, z, c.

    Args:
        w: (D, 3H) From the input.
        u: (H, 3H) From the state.
    """

    def __init__(self, w: Array, u: Array) -> None:
        self.hidden = u.shape[0]
        self.w = w
        self._gates = np.ascontiguousarray(u[:, : 2 * self.hidden])
        self._proposal = np.ascontiguousarray(u[:, 2 * self.hidden :])

    def step(self, projected: Array, state: Array) -> Array:
        """(N, 3H), (N, H) -> (N, H)."""
        hidden = self.hidden
        gates: Array = state @ self._gates
        gates += projected[:, : 2 * hidden]
        sigmoid(gates)
        c: Array = np.matmul(gates[:, :hidden] * state, self._proposal)
        c += projected[:, 2 * hidden :]
        np.tanh(c, out=c)
        new = state - c
        new *= gates[:, hidden:]
        new += c
        return new

    def last_states(self, projected: Array, offsets: NDArray[np.int64]) -> Array:
        """(S, H) The state after the last token of each sequence; zero for an empty one.

        Args:
            projected: (tokens, 3H) The tokens' inputs, gone through `w`.
            offsets: (S + 1,) Where each sequence begins.
        """
        lengths = np.diff(offsets)
        order = np.argsort(-lengths, kind="stable")
        starts, sizes = offsets[:-1][order], lengths[order]
        result = np.zeros((len(lengths), self.hidden), np.float32)
        # How many sequences are longer than 0, 1, 2, ...: those that end drop out at the end of the order.
        longest = int(sizes[0]) if len(sizes) else 0
        active = np.searchsorted(-sizes, -np.arange(longest), side="left").tolist()
        state = result[: active[0]] if longest else result
        for place, count in enumerate(active):
            if count < len(state):
                result[order[count : len(state)]] = state[count:]
                state = state[:count]
            state = self.step(projected[starts[:count] + place], state)
        if longest:
            result[order[: len(state)]] = state
        return result
