"""The parts that the paper's neural systems share: the utterance encoder, and the heads that compare.

A system adds its dialog encoder, which turns utterances into embeddings of participants and of the context.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from towhom.batching import Questions
from towhom.models.configs import FalseAddressee, RecurrentConfig
from towhom.models.losses import Logits, selection_loss
from towhom.models.neural import NeuralSelector
from towhom.nn.gru import GRU
from towhom.selection import Rule, Scores


class Inputs(NamedTuple):
    """Questions as tensors."""

    words: Tensor
    """(distinct words,) Word ids."""
    tokens: Tensor
    """(N,) Index of each token's word in `words`."""
    offsets: Tensor
    """(U + 1,) Where each utterance begins."""
    context: Tensor
    """(B, T) Utterances; 0 where there is none."""
    sender: Tensor
    """(B, T) Participants; -1 where there is no message."""
    addressee: Tensor
    """(B, T) Participants; -1 for nobody."""
    present: Tensor
    """(B, P) Which participants exist."""
    candidates: Tensor
    """(B, C) Utterances."""


class RecurrentSelector(NeuralSelector):
    """A system with word vectors, an utterance encoder and heads.

    Args:
        config: The sizes.
        vectors: (V, dimensions) Word vectors by word id; not trained.
        conditional: Whether there are heads for P(a|C,r) and P(r|C,a) as well.
        plain: Whether to use the simple implementation, with padding and without sharing.
    """

    def __init__(
        self, config: RecurrentConfig, vectors: NDArray[np.float32], *, conditional: bool, plain: bool = False
    ) -> None:
        nn.Module.__init__(self)
        if vectors.shape[1] != config.dimensions:
            raise ValueError(
                f"vectors have {vectors.shape[1]} dimensions, the model wants {config.dimensions}"
            )
        self.config = config
        self.plain = plain
        self.register_buffer("vectors", torch.as_tensor(vectors), persistent=False)
        hidden = config.hidden
        self.utterance = GRU(config.dimensions, hidden)
        self.w_a = nn.Parameter(torch.empty(2 * hidden, hidden))
        self.w_r = nn.Parameter(torch.empty(2 * hidden, hidden))
        self.w_ar = nn.Parameter(torch.empty(3 * hidden, hidden)) if conditional else None
        self.w_ra = nn.Parameter(torch.empty(3 * hidden, hidden)) if conditional else None
        self.rule = Rule.JOINT if conditional else Rule.SEPARATE

    def init_weights(self, generator: torch.Generator) -> None:
        """Draw all weights from one uniform distribution, as in the paper."""
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-self.config.init, self.config.init, generator=generator)

    @abstractmethod
    def encode(self, inputs: Inputs, utterances: Tensor) -> tuple[Tensor, Tensor]:
        """(B, P, H) Embeddings of the participants and (B, H) of the context, from (U, H) of utterances."""

    def forward(self, inputs: Inputs) -> Logits:
        """Compute all scores of a batch."""
        vectors: Tensor = self.vectors  # type: ignore[assignment]
        words = (vectors[inputs.words], self.utterance.w)
        utterances = self.utterance.last_states(inputs.tokens, inputs.offsets, words, plain=self.plain)
        speakers, context = self.encode(inputs, utterances)
        return self.compare(speakers, context, utterances[inputs.candidates])

    def compare(self, speakers: Tensor, context: Tensor, responses: Tensor) -> Logits:
        """Compute scores by similarity: Eq. 2 and 3, and with the conditional heads, Eq. 4 and 5.

        Args:
            speakers: (B, P, H), the responder first.
            context: (B, H)
            responses: (B, C, H)
        """
        seen = torch.cat([speakers[:, 0], context], dim=1)  # [a_res; h_C]
        addressee = _similarity(seen @ self.w_a, speakers)  # Eq. 2
        response = _similarity(seen @ self.w_r, responses)  # Eq. 3
        if self.w_ar is None or self.w_ra is None:
            return Logits(addressee, response, None, None)
        # [a_res; h_C; r] W = [a_res; h_C] W' + r W'', for every r.
        split = seen.shape[1]
        with_response = (seen @ self.w_ar[:split])[:, None] + responses @ self.w_ar[split:]
        with_addressee = (seen @ self.w_ra[:split])[:, None] + speakers @ self.w_ra[split:]
        return Logits(
            addressee,
            response,
            with_response @ speakers.transpose(1, 2),  # Eq. 4
            with_addressee @ responses.transpose(1, 2),  # Eq. 5
        )

    def inputs(self, questions: Questions) -> Inputs:
        """Questions as tensors."""
        words, tokens = np.unique(questions.tokens, return_inverse=True)
        device = self.w_a.device

        def tensor(array: NDArray[Any]) -> Tensor:
            return torch.as_tensor(np.ascontiguousarray(array), device=device)

        return Inputs(
            tensor(words.astype(np.int64)),
            tensor(tokens),
            tensor(questions.offsets),
            tensor(np.maximum(questions.context, 0)),
            tensor(questions.sender),
            tensor(questions.addressee),
            tensor(questions.present),
            tensor(questions.candidates.astype(np.int64)),
        )

    def loss(
        self, scores: Logits, inputs: Inputs, addressee: Tensor, response: Tensor, *, false: FalseAddressee
    ) -> Tensor:
        """The paper's loss; see `selection_loss`."""
        return selection_loss(scores, inputs.present, addressee, response, false=false)

    @torch.no_grad()
    def score_many(self, questions: Questions) -> Scores:
        """Probabilities for a batch of questions."""
        inputs = self.inputs(questions)
        logits = self(inputs)
        candidates = inputs.present.clone()
        candidates[:, 0] = False
        addressee = torch.where(candidates, torch.sigmoid(logits.addressee.double()), torch.nan)

        def probabilities(values: Tensor | None) -> NDArray[np.float64] | None:
            return None if values is None else torch.sigmoid(values.double()).numpy()

        return Scores(
            addressee.numpy(),
            torch.sigmoid(logits.response.double()).numpy(),
            probabilities(logits.addressee_given),
            probabilities(logits.response_given),
        )


def _similarity(left: Tensor, right: Tensor) -> Tensor:
    """(B, H), (B, N, H) -> (B, N)."""
    return (right @ left[:, :, None]).squeeze(2)


def max_pool(speakers: Tensor, present: Tensor) -> Tensor:
    """The context's embedding: the element-wise maximum over all speakers that exist (Eq. 1)."""
    return torch.where(present[:, :, None], speakers, -torch.inf).amax(dim=1)
