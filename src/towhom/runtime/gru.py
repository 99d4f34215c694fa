"""The gated recurrent unit of `towhom.nn.gru`, forward only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class GRU:
    """A unit without bias terms; gates are in the order r, z, c.

    Since s(x) = (1 + tanh(x / 2)) / 2, the factors of 1/2 are put into the weights: this saves calls, which
    cost more than the computation.

    Args:
        w: (D, 3H) Weights of the input.
        u: (H, 3H) Weights of the state.
    """

    def __init__(self, w: Array, u: Array) -> None:
        self.hidden = len(u)
        half = np.repeat(np.array([0.5, 1.0], np.float32), [2 * self.hidden, self.hidden])
        self._w = w * half
        self._gates = np.ascontiguousarray(u[:, : 2 * self.hidden]) * np.float32(0.5)
        self._proposal = np.ascontiguousarray(u[:, 2 * self.hidden :]) * np.float32(0.5)

    def project(self, inputs: Array) -> Array:
        """(N, D) -> (N, 3H) The contribution of inputs to a step."""
        result: Array = inputs.dot(self._w)
        return result

    def step(self, projected: Array, state: Array) -> Array:
        """(..., 3H), (..., H) -> (..., H)."""
        hidden = self.hidden
        gates: Array = state.dot(self._gates)
        gates += projected[..., : 2 * hidden]
        np.tanh(gates, out=gates)
        gates += 1.0
        c: Array = (gates[..., :hidden] * state).dot(self._proposal)
        c += projected[..., 2 * hidden :]
        np.tanh(c, out=c)
        return mixed(state, c, gates[..., hidden:])

    def last_states(self, projected: Array, offsets: NDArray[np.int64]) -> Array:
        """(S, H) The state after the last token of each sequence; zero for an empty one.

        Args:
            projected: (tokens, 3H) The tokens' contributions, see `project`.
            offsets: (S + 1,) Where each sequence begins.
        """
        result = np.zeros((len(offsets) - 1, self.hidden), np.float32)
        if len(offsets) == 2:  # a single new message
            state = result[0]
            for row in projected[offsets[0] : offsets[1]]:
                state = self.step(row, state)
            result[0] = state
            return result
        lengths = np.diff(offsets)
        order = np.argsort(-lengths, kind="stable")
        starts, sizes = offsets[:-1][order], lengths[order]
        # Number of sequences longer than 0, 1, 2, ...; sequences that end drop out at the end of the order.
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


def mixed(old: Array, new: Array, twice_z: Array) -> Array:
    """Mix the old state and the proposal: z a + (1 - z) c, given 2 z."""
    result = old - new
    result *= twice_z
    result *= 0.5
    result += new
    return result
