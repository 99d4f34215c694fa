"""Crosstalk, our own: a pair of addressee and response is weighed by what every message says about it.

No recurrence. A message is a bag of trained word vectors. For each message of the context, each candidate
response and each candidate addressee there is evidence: how the response goes with the message (learned
similarities, and what they have in common to the letter; see `towhom.models.evidence`), who said it to whom
as seen from the responder and the candidate, how long ago, and what has happened since. Evidence is summed
over the messages that a candidate says, that are for them, and that they have no part in, and a small network
turns the sums into a score. One softmax goes over all pairs: addressee and response are chosen jointly
because they are scored jointly.

Shapes as in `towhom.batching`; D dimensions of words, K towers, E units of evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding, embedding_bag, normalize, one_hot, relu

from towhom.batching import NOBODY, Questions
from towhom.corpus import Corpus
from towhom.models import evidence
from towhom.models.configs import CrosstalkConfig, FalseAddressee
from towhom.models.neural import NeuralSelector
from towhom.selection import Rule, Scores
from towhom.text.pieces import PIECE_WEIGHTS

_LEAST = -1e4
"""Below this, nobody has a score; infinity, times the probability that there is none, is not a number."""


class Inputs(NamedTuple):
    """Questions as tensors, and the evidence about them."""

    tokens: Tensor
    """(N,) Word ids."""
    offsets: Tensor
    """(U + 1,) Where each utterance begins."""
    context: Tensor
    """(B, T) Utterances; 0 where there is none."""
    candidates: Tensor
    """(B, C) Utterances."""
    choices: Tensor
    """(B, P) Who can be chosen; the responder, for nobody, where there is nobody else."""
    pairs: Tensor
    """From here on the evidence, see `towhom.models.evidence.Evidence`: (B, T, C, F)"""
    messages: Tensor
    """(B, T, F)"""
    roles: Tensor
    """(B, T, 3)"""
    there: Tensor
    """(B, T)"""
    by: Tensor
    """(B, P, T)"""
    to: Tensor
    """(B, P, T)"""
    addressees: Tensor
    """(B, P, C, F)"""
    responses: Tensor
    """(B, C, F)"""
    common: Tensor
    """(B, T, T, F)"""
    links: Tensor
    """(B, T, T)"""
    own: Tensor
    """(B, T)"""


class Crosstalk(NeuralSelector):
    """The network.

    Args:
        config: Sizes, and which parts there are.
        vectors: (V, D) Word vectors by word id, from which training starts.
        plain: There is one way to compute it only.
    """

    name = "crosstalk"
    letters = True
    needs_addressee = False
    config: CrosstalkConfig

    def __init__(self, config: CrosstalkConfig, vectors: NDArray[np.float32], *, plain: bool = False) -> None:
        nn.Module.__init__(self)
        if vectors.shape[1] != config.dimensions:
            raise ValueError(
                f"vectors have {vectors.shape[1]} dimensions, the model wants {config.dimensions}"
            )
        self.config, self.plain, self.rule = config, plain, Rule.JOINT
        d, e, c = config.dimensions, config.evidence, config.content
        self.vectors = nn.Parameter(torch.as_tensor(vectors).clone())
        self.towers = nn.Parameter(torch.empty(2 * config.towers, d, d))
        self.temperature = nn.Parameter(torch.empty(1))
        self.content = nn.Parameter(torch.empty(d, 2 * c))
        self.content_bias = nn.Parameter(torch.empty(2 * c))
        self.roles = nn.Parameter(torch.empty(evidence.ROLES, config.positions, e))
        sizes = evidence.sizes(config)
        self.turns = nn.Parameter(torch.empty(evidence.ROLES, sizes.turns, e))
        self.matches = nn.Parameter(torch.empty(evidence.ROLES, sizes.matches, e))
        self.says = nn.Parameter(torch.empty(2, c, e))
        self.second = nn.Parameter(torch.empty(e, e))
        self.second_bias = nn.Parameter(torch.empty(e))
        self.strongest = nn.Parameter(torch.empty(e, config.strongest))
        self.strongest_bias = nn.Parameter(torch.empty(config.strongest))
        self.pair = nn.Parameter(torch.empty(sum(sizes.sums), config.hidden))
        self.pair_bias = nn.Parameter(torch.empty(config.hidden))
        self.pair_out = nn.Parameter(torch.empty(config.hidden))
        self.prior = nn.Parameter(torch.empty(d + len(evidence.RESPONSE_FEATURES), config.prior))
        self.prior_bias = nn.Parameter(torch.empty(config.prior))
        self.prior_out = nn.Parameter(torch.empty(config.prior))
        # Counted, not learned: how much it tells to have a piece of a word in common.
        self.register_buffer("piece_weights", torch.ones(PIECE_WEIGHTS))

    def init_weights(self, generator: torch.Generator) -> None:
        """Towers begin near the identity: at first, messages go together that have the same words."""
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if name == "vectors":
                    continue
                if name.endswith("bias"):
                    weight.zero_()
                elif name == "temperature":
                    weight.fill_(5.0)
                elif name in ("roles", "matches", "turns"):
                    weight.normal_(0.0, 0.1, generator=generator)
                else:
                    bound = 1 / sqrt(weight.shape[-2] if weight.ndim > 1 else len(weight))
                    weight.uniform_(-bound, bound, generator=generator)
            self.towers.normal_(0.0, 0.05, generator=generator)
            self.towers.add_(torch.eye(self.config.dimensions))

    def count(self, corpus: Corpus, words: NDArray[np.int32]) -> None:
        """Scale the word vectors, and weigh the pieces of words: what is rare tells more."""
        weights, pieces = evidence.count(corpus, words, len(self.vectors))
        with torch.no_grad():
            vectors: Tensor = normalize(self.vectors, dim=1)
            self.vectors.copy_(vectors * torch.from_numpy(0.8 * weights)[:, None])
            self.piece_weights.copy_(torch.from_numpy(pieces))  # type: ignore[operator]

    def groups(self, learning_rate: float) -> list[dict[str, Any]]:
        """Word vectors know something already, and change more slowly."""
        others = [weight for weight in self.parameters() if weight is not self.vectors]
        return [
            {"params": others, "lr": learning_rate},
            {"params": [self.vectors], "lr": learning_rate * self.config.words_rate},
        ]

    def forward(self, inputs: Inputs) -> Tensor:
        """(B, P, C) Scores of all pairs; minus infinity where there is no such addressee."""
        e = self.utterances(inputs.tokens, inputs.offsets)
        messages, responses = torch.tanh(e @ self.content + self.content_bias).chunk(2, dim=1)
        with_responses, with_messages = self._similarities(e, inputs)
        pairs = torch.cat([with_responses, inputs.pairs], dim=-1)
        turns = torch.cat([inputs.messages, *self._linked(with_messages, inputs)], dim=-1)
        of_message = self._in_roles(turns, inputs.roles)
        of_message = of_message + embedding(inputs.context, messages @ self.says[0])[:, :, None]
        of_response = embedding(inputs.candidates, responses @ self.says[1])
        sums = self._summed(self._evidence(pairs, of_message, of_response, inputs.roles), inputs)
        said = embedding(inputs.candidates, responses)[:, None].expand(-1, inputs.by.shape[1], -1, -1)
        hidden = relu(torch.cat([*sums, inputs.addressees, said], dim=-1) @ self.pair + self.pair_bias)
        own = torch.cat([embedding(inputs.candidates, e), inputs.responses], dim=-1)
        prior = relu(own @ self.prior + self.prior_bias) @ self.prior_out
        scores = hidden @ self.pair_out + prior[:, None]
        return torch.where(inputs.choices[:, :, None], scores, -torch.inf)

    def _similarities(self, e: Tensor, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """(B, T, C, K + 1), (B, T, T, K + 1) How messages go with responses, and with each other as such.

        Each tower sees a message and a response differently; last, embeddings are compared as they are.
        """
        sides = normalize(torch.einsum("ud,kde->kue", e, self.towers), dim=-1)
        sides = torch.cat([sides, normalize(e, dim=1).expand(2, -1, -1)])
        weight = self.temperature if self.config.similarity else 0.0
        heard = [embedding(inputs.context, side) * weight for side in sides[0::2]]

        def compared(others: Tensor) -> Tensor:
            answers = (embedding(others, side).transpose(1, 2) for side in sides[1::2])
            return torch.stack([one @ other for one, other in zip(heard, answers, strict=True)], dim=-1)

        return compared(inputs.candidates), compared(inputs.context)

    def _linked(self, similar: Tensor, inputs: Inputs) -> list[Tensor]:
        """(B, T, F) each: how well a message goes with others that may answer it, or that it may answer."""
        alike = relu(torch.cat([similar, inputs.common], dim=-1)) * inputs.links[..., None]
        found = []
        for whose in (inputs.own, 1 - inputs.own):  # see `evidence.LINKS`
            found.append((alike * whose[:, None, :, None]).amax(dim=2))
            found.append((alike * whose[:, :, None, None]).amax(dim=1))
        return found

    def _in_roles(self, turns: Tensor, roles: Tensor) -> Tensor:
        """(B, T, 3, E) What messages say by themselves, their place included, in the roles that they have."""
        length = turns.shape[1]
        place = (length - 1 - torch.arange(length, device=turns.device)).clamp(max=self.config.positions - 1)
        every = torch.einsum("btf,vfe->btve", turns, self.turns) + self.roles[:, place].transpose(0, 1)
        return torch.take_along_dim(every, roles[..., None], dim=2)

    def _evidence(
        self, pairs: Tensor, of_message: Tensor, of_response: Tensor, roles: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(B, T, C, E) each: for who has no part in a message, for its sender, for whom it addresses."""
        size, length, choices, matches = pairs.shape
        found = []
        for role in range(3):
            which = one_hot(roles[:, :, role].flatten(), evidence.ROLES).to(pairs)
            weights = (which @ self.matches.flatten(1)).view(size * length, matches, -1)
            first = torch.bmm(pairs.view(size * length, choices, matches), weights)
            first = (
                first.view(size, length, choices, -1) + of_message[:, :, role, None] + of_response[:, None]
            )
            found.append(relu(relu(first) @ self.second + self.second_bias))
        return found[0], found[1], found[2]

    def _summed(self, found: tuple[Tensor, Tensor, Tensor], inputs: Inputs) -> list[Tensor]:
        """(B, P, C, ...) each: over the messages that candidates say, that are for them, and all others."""
        apart, by, to = found
        others = inputs.there[:, None] - inputs.by - inputs.to
        sums = [_over(inputs.by, by), _over(inputs.to, to), _over(others, apart) / 5]
        for whose, these in ((inputs.by, by), (inputs.to, to)):
            strength = (these @ self.strongest + self.strongest_bias).clamp(
                -evidence.LARGEST, evidence.LARGEST
            )
            sums.append(torch.log(_over(whose, torch.exp(strength)) + evidence.ADDED))
        return sums

    def utterances(self, tokens: Tensor, offsets: Tensor) -> Tensor:
        """(U, D) Embeddings of utterances: the sum of their words' vectors, of one length."""
        kept = None
        if self.training:
            kept = (torch.rand(len(tokens), device=tokens.device) >= self.config.word_dropout).to(
                self.vectors
            )
        bags = embedding_bag(
            tokens, self.vectors, offsets, mode="sum", include_last_offset=True, per_sample_weights=kept
        )
        scale = evidence.EMBEDDING_SCALE * sqrt(self.config.dimensions)
        return dropout(normalize(bags, dim=1, eps=1e-3) * scale, self.config.dropout, self.training)

    def inputs(self, questions: Questions) -> Inputs:
        """Questions as tensors, with the evidence."""
        device = self.vectors.device
        weights: NDArray[np.float32] = self.piece_weights.cpu().numpy()  # type: ignore[operator]
        found = evidence.gather(questions, weights, self.config)

        def tensor(array: NDArray[Any]) -> Tensor:
            return torch.as_tensor(np.ascontiguousarray(array), device=device)

        return Inputs(
            tensor(questions.tokens),
            tensor(questions.offsets.astype(np.int32)),
            tensor(np.maximum(questions.context, 0)),
            tensor(questions.candidates),
            tensor(evidence.choices(questions)),
            *(tensor(array) for array in found._replace(there=found.there.astype(np.float32))),
        )

    def loss(
        self, scores: Tensor, inputs: Inputs, addressee: Tensor, response: Tensor, *, false: FalseAddressee
    ) -> Tensor:
        """Cross-entropy of the true pair among all pairs; of all pairs that it may be, if nobody knows."""
        del inputs, false
        true = scores.take_along_dim(response[:, None, None], dim=2)[..., 0]  # (B, P)
        known = true.take_along_dim(addressee.clamp(min=0)[:, None], dim=1)[:, 0]
        found = torch.where(addressee == NOBODY, true.logsumexp(dim=1), known)
        return (scores.flatten(1).logsumexp(dim=1) - found).mean()

    def reads_inputs_of(self, other: NeuralSelector) -> bool:
        """If they look for the same evidence, and rare pieces weigh the same."""
        if not isinstance(other, Crosstalk) or evidence.sought(self.config) != evidence.sought(other.config):
            return False
        return torch.equal(self.get_buffer("piece_weights"), other.get_buffer("piece_weights"))

    def imitation(self, scores: Tensor, others: Sequence[Tensor]) -> Tensor:
        """Cross-entropy of the others' probabilities of all pairs, on average."""
        wanted = torch.stack([other.flatten(1).softmax(dim=1) for other in others]).mean(dim=0)
        return nn.functional.cross_entropy(scores.flatten(1).clamp(min=_LEAST), wanted)

    @torch.no_grad()
    def score_many(self, questions: Questions) -> Scores:
        """Probabilities for a batch of questions."""
        return Scores.of_pairs(self(self.inputs(questions)).double().cpu().numpy())


def _over(whose: Tensor, values: Tensor) -> Tensor:
    """(B, P, T), (B, T, C, E) -> (B, P, C, E) The sum over each candidate's messages."""
    size, people, _ = whose.shape
    return (whose @ values.flatten(2)).view(size, people, *values.shape[2:])
