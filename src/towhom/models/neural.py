"""What every system is that learns: weights, scores, a loss. The training loop knows no more of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from towhom.batching import Questions
from towhom.corpus import Corpus
from towhom.models.base import Selector
from towhom.models.configs import FalseAddressee


class NeuralSelector(Selector, nn.Module):
    """A system with weights. Called with `inputs(questions)`, it gives the scores that `loss` reads.

    Its word vectors, (V, dimensions) by word id, are `vectors`: a buffer if they stay as they are, a
    parameter if they are trained.
    """

    config: Any
    needs_addressee: bool = True
    """Whether a sample teaches it nothing unless its addressee is known."""
    plain: bool
    """Whether to compute as one would at first: everything padded, nothing shared."""

    @abstractmethod
    def init_weights(self, generator: torch.Generator) -> None:
        """Draw all weights anew."""

    def count(self, corpus: Corpus, words: NDArray[np.int32]) -> None:
        """Take from a corpus what training needs and does not learn, such as how rare words are.

        Args:
            corpus: What the system will be trained on.
            words: (V,) The system's id for every word of the corpus.
        """

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
            addressee: (B,) The true addressee, from 1 on; `NOBODY` where nobody knows it.
            response: (B,) The true response.
            false: Which other participants the true addressee is told from, if the system can be told so.
        """

    def reads_inputs_of(self, other: NeuralSelector) -> bool:
        """Whether inputs that another system made, of the same words, are what this one would make."""
        del other
        return False

    def imitation(self, scores: Any, others: Sequence[Any]) -> Tensor:
        """The mean loss of a batch for saying something else than others say for the same inputs.

        Args:
            scores: What the system gives.
            others: What each of the others gives.
        """
        raise NotImplementedError(f"{self.name} learns from the truth only")

    def groups(self, learning_rate: float) -> list[dict[str, Any]]:
        """The parameters, with the learning rate of each group."""
        return [{"params": list(self.parameters()), "lr": learning_rate}]
