"""Weights that are trained in torch and run in NumPy, under the same names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn


class NamedWeights(nn.Module):
    """A module whose weights have the names and shapes of its NumPy counterpart.

    Args:
        shapes: Names and shapes; biases, whose names end in ".b", start at 0.
        generator: Draws all other weights.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], generator: torch.Generator) -> None:
        super().__init__()
        self.weights = nn.ParameterDict()
        """The weights, with an underscore for each dot, which torch does not allow in a name."""
        self._names = list(shapes)
        for name, shape in shapes.items():
            bound = 0.0 if name.endswith(".b") else shape[0] ** -0.5
            values = torch.empty(shape).uniform_(-bound, bound, generator=generator)
            self.weights[name.replace(".", "_")] = nn.Parameter(values)

    @property
    def by_name(self) -> dict[str, nn.Parameter]:
        """The trainable weights, by their original names."""
        return {name: self.weights[name.replace(".", "_")] for name in self._names}

    def take(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        """Copy weights, by their own names; those that are not given stay as they are."""
        weights = self.by_name
        with torch.no_grad():
            for name, array in arrays.items():
                weights[name].copy_(torch.from_numpy(np.array(array)))

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """The current weights, by their original names."""
        return {name: value.detach().numpy() for name, value in self.by_name.items()}
