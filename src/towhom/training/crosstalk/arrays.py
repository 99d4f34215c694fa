"""The array operations of Crosstalk's formulas in torch, for training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import dropout, embedding, embedding_bag, rms_norm, silu


class Torch:
    """Implements `towhom.crosstalk.arrays.Arrays`.

    Args:
        share: Share of the numbers that `thin` drops.
    """

    def __init__(self, share: float = 0.0) -> None:
        self.share = share

    def relu(self, x: Tensor) -> Tensor:
        """Replace negative numbers by 0."""
        return x.relu()

    def tanh(self, x: Tensor) -> Tensor:
        """The hyperbolic tangent."""
        return x.tanh()

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Concatenate along the last dimension."""
        return torch.cat(list(parts), dim=-1)

    def norm(self, x: Tensor) -> Tensor:
        """The Euclidean norm along the last dimension; its gradient at 0 is 0."""
        return (x * x).sum(dim=-1, keepdim=True).clamp(min=1e-12).sqrt()

    def most(self, x: Tensor) -> Tensor:
        """The maximum along the second dimension."""
        return x.amax(dim=1)

    def bags(self, vectors: Tensor, weights: Tensor, tokens: NDArray[Any], offsets: NDArray[Any]) -> Tensor:
        """The weighted sum of each utterance's vectors."""
        flat, starts = (torch.from_numpy(np.ascontiguousarray(each, np.int64)) for each in (tokens, offsets))
        each = embedding(flat, weights[:, None])[:, 0]
        return embedding_bag(
            flat, vectors, starts, mode="sum", include_last_offset=True, per_sample_weights=each
        )

    def take(self, x: Tensor, places: NDArray[Any]) -> Tensor:
        """The rows of x at the given indices."""
        return embedding(torch.from_numpy(np.ascontiguousarray(places, np.int64)), x)

    def pick(self, x: Tensor, places: NDArray[Any]) -> Tensor:
        """In each row, the numbers at the given indices."""
        return torch.take_along_dim(x, torch.from_numpy(np.ascontiguousarray(places, np.int64))[None], dim=2)

    def like(self, x: NDArray[Any], other: Tensor) -> Tensor:
        """Convert an array to a tensor of another's type."""
        return torch.from_numpy(np.ascontiguousarray(x)).to(other)

    def where(self, flags: NDArray[np.bool_], x: Tensor, y: Tensor) -> Tensor:
        """The numbers of x where a flag is set, those of y elsewhere."""
        return torch.where(torch.from_numpy(flags), x, y)

    def stack(self, parts: Sequence[Tensor]) -> Tensor:
        """Concatenate along the first dimension."""
        return parts[0] if len(parts) == 1 else torch.cat(list(parts))

    def softmax(self, x: Tensor) -> Tensor:
        """Probabilities along the last dimension."""
        return x.softmax(dim=-1)

    def silu(self, x: Tensor) -> Tensor:
        """The sigmoid linear unit."""
        return silu(x)

    def rms(self, x: Tensor, least: float) -> Tensor:
        """Divide by the square root of the mean square along the last dimension; `least` is added to it."""
        return rms_norm(x, x.shape[-1:], eps=least)

    def thin(self, x: Tensor) -> Tensor:
        """Apply dropout; with three dimensions, the same along the second, which is faster."""
        if x.ndim == 3 and self.share > 0:
            return x * dropout(torch.ones(x.shape[0], 1, x.shape[2]), self.share)
        return dropout(x, self.share, training=self.share > 0)
