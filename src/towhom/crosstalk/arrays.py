"""The few array operations of Crosstalk's formulas, so that one code serves both NumPy and torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Weights = Mapping[str, Any]
"""Weights by name: NumPy arrays for inference, torch tensors for training."""


class Arrays(Protocol):
    """The functions that an array library must provide; the rest are operators."""

    def relu(self, x: Any) -> Any:
        """Replace negative numbers by 0; x may be overwritten."""

    def tanh(self, x: Any) -> Any:
        """The hyperbolic tangent."""

    def join(self, parts: Sequence[Any]) -> Any:
        """Concatenate along the last dimension."""

    def norm(self, x: Any) -> Any:
        """The Euclidean norm along the last dimension, which is kept with size 1."""

    def most(self, x: Any) -> Any:
        """(R, D, H) -> (R, H) The maximum along the second dimension."""

    def bags(self, vectors: Any, weights: Any, tokens: Any, offsets: Any) -> Any:
        """(U, D) The weighted sum of each utterance's vectors."""

    def take(self, x: Any, places: Any) -> Any:
        """The rows of x at the given indices."""

    def pick(self, x: Any, places: Any) -> Any:
        """(K, R, N), (R, C) -> (K, R, C) In each row, the numbers at the given indices."""

    def like(self, x: NDArray[Any], other: Any) -> Any:
        """Convert numbers or flags to the type of another array."""

    def where(self, flags: NDArray[np.bool_], x: Any, y: Any) -> Any:
        """The numbers of x where a flag is set, those of y elsewhere."""

    def stack(self, parts: Sequence[Any]) -> Any:
        """Concatenate along the first dimension."""

    def softmax(self, x: Any) -> Any:
        """Probabilities along the last dimension; x may be overwritten."""

    def silu(self, x: Any) -> Any:
        """The sigmoid linear unit."""

    def rms(self, x: Any, least: float) -> Any:
        """Divide by the square root of the mean square along the last dimension; `least` is added to it."""

    def thin(self, x: Any) -> Any:
        """Apply dropout in training; otherwise return x unchanged."""


class _NumPy:
    """The operations in NumPy, for inference."""

    def relu(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        # Compare with a row of zeros: with a scalar zero, NumPy takes more than twice as long.
        return np.maximum(x, np.zeros(x.shape[-1], x.dtype), out=x)

    def tanh(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.tanh(x)

    def join(self, parts: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        return np.concatenate(parts, axis=-1)

    def norm(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        result: NDArray[np.float32] = np.sqrt((x * x).sum(axis=-1, keepdims=True))
        return result

    def most(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        result: NDArray[np.float32] = x.max(axis=1)
        return result

    def bags(
        self,
        vectors: NDArray[np.float32],
        weights: NDArray[np.float32],
        tokens: NDArray[np.integer[Any]],
        offsets: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        result = np.zeros((len(offsets) - 1, vectors.shape[1]), np.float32)
        some = np.flatnonzero(np.diff(offsets))
        if len(some):
            weighed = vectors[tokens] * weights[tokens][:, None]
            result[some] = np.add.reduceat(weighed, offsets[:-1][some], axis=0)
        return result

    def take(self, x: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float32]:
        return x[places]

    def pick(self, x: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.take_along_axis(x, places[None], axis=2)

    def like(self, x: NDArray[Any], other: NDArray[np.float32]) -> NDArray[np.float32]:
        return x.astype(other.dtype, copy=False)

    def where(
        self, flags: NDArray[np.bool_], x: NDArray[np.float32], y: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        return np.where(flags, x, y)

    def stack(self, parts: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def softmax(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        x -= x.max(axis=-1, keepdims=True)
        np.exp(x, out=x)
        x /= x.sum(axis=-1, keepdims=True)
        return x

    def silu(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        result: NDArray[np.float32] = x / (1 + np.exp(-x))
        return result

    def rms(self, x: NDArray[np.float32], least: float) -> NDArray[np.float32]:
        mean = np.einsum("ti,ti->t", x, x)[:, None] / np.float32(x.shape[-1])
        result: NDArray[np.float32] = x / np.sqrt(mean + np.float32(least))
        return result

    def thin(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        return x


NUMPY: Arrays = _NumPy()
