"""What every system is that learns: weights, scores, a loss. The training loop knows no more of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from towhom.batching import Questions
from towhom.models.base import Selector
from towhom.models.configs import FalseAddressee


class NeuralSelector(Selector, nn.Module):
    """A system with weights. Called with `inputs(questions)`, it gives the scores that `loss` reads.

    Its word vectors, (V, dimensions) by word id, are the buffer `vectors`: they stay as they are.
    """

    config: Any
    plain: bool
    """Whether to compute as one would at first: everything padded, nothing shared."""

    @abstractmethod
    def init_weights(self, generator: torch.Generator) -> None:
        """Draw all weights anew."""

    @abstractmethod
    def inputs(self, questions: Questions) -> Any:
        """Questions as tensors."""

    @abstractmethod
    def loss(
        self, scores: Any, inputs: Any, addressee: Tensor, response: Tensor, *, false: FalseAddressee
    ) -> Tensor:
        """The mean loss of a batch.

        Args:
            scores: What the system gives for the inputs.
            inputs: Those inputs.
            addressee: (B,) The true addressee, from 1 on.
            response: (B,) The true response.
            false: Which other participants the true addressee is told from.
        """
