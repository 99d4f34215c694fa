"""The base class of systems with weights, which is all that the training loop knows of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from towhom.batching import Questions
from towhom.models.base import Selector
from towhom.models.configs import FalseAddressee


class NeuralSelector(Selector, nn.Module):
    """A system with weights. Called with `inputs(questions)`, it returns the scores that `loss` takes.

    Its word vectors, (V, dimensions) by word id, are in the buffer `vectors` and are not trained.
    """

    config: Any
    plain: bool
    """Whether to use the simple implementation, with padding and without sharing."""

    @abstractmethod
    def init_weights(self, generator: torch.Generator) -> None:
        """Initialize all weights randomly."""

    @abstractmethod
    def inputs(self, questions: Questions) -> Any:
        """Convert questions to tensors."""

    @abstractmethod
    def loss(
        self, scores: Any, inputs: Any, addressee: Tensor, response: Tensor, *, false: FalseAddressee
    ) -> Tensor:
        """The mean loss of a batch.

        Args:
            scores: The system's scores for the inputs.
            inputs: The inputs.
            addressee: (B,) The true addressee, from 1 on.
            response: (B,) The true response.
            false: Which other participants count as false addressees.
        """
