"""The settings of the neural systems. Apart from the systems, so that a model is loaded without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FalseAddressee = Literal["hardest", "all"]
"""Whom the true addressee is told from: the best-scoring other participant, or all."""


SHARES = frozenset({"word_dropout", "dropout"})
"""Settings that are a share: there may be none of it, but not all. All other numbers are positive."""


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """Sizes as in the paper.

    Args:
        dimensions: Size of the word vectors, which stay fixed.
        hidden: Size of utterance and speaker embeddings.
        init: Weights are drawn evenly from -init to init; 0.01 in the paper.
    """

    dimensions: int = 300
    hidden: int = 50
    init: float = 0.1


@dataclass(frozen=True, kw_only=True)
class StaticRNNConfig(RecurrentConfig):
    """The settings of the paper.

    Args:
        positions: How many positions have an embedding of their own; farther ones share the last.
    """

    positions: int = 16


@dataclass(frozen=True, kw_only=True)
class StaticHierRNNConfig(StaticRNNConfig):
    """The settings of the paper."""


@dataclass(frozen=True, kw_only=True)
class DynamicRNNConfig(RecurrentConfig):
    """The settings of the paper."""


@dataclass(frozen=True, kw_only=True)
class SIRNNConfig(RecurrentConfig):
    """The settings of the paper, and its two ablations.

    Args:
        shared: Whether the three units have the same parameters ("w/ shared IGRUs").
        joint: Whether addressee and response are selected jointly (else "w/o joint selection").
    """

    shared: bool = False
    joint: bool = True


@dataclass(frozen=True, kw_only=True)
class CrosstalkConfig:
    """Sizes, and which parts there are; a part that is left out shows what it is worth.

    Args:
        dimensions: Size of the word vectors, from which training starts.
        towers: Learned similarities of message and response.
        content: Numbers that stand for what an utterance says, whatever it is compared with.
        evidence: Numbers that a message contributes to a pair.
        strongest: Of these, weighed so that the strongest message counts most.
        hidden: Units of the network that scores a pair.
        prior: Units of the network that scores a response by itself.
        positions: Messages whose place counts; earlier ones are like the last of them.
        word_dropout: Share of words that are left out in training.
        dropout: Share of an utterance's embedding that is left out in training.
        words_rate: Learning rate of word vectors, compared with that of the rest.
        similarity: Whether it has towers, and compares embeddings.
        overlap: Whether it sees what messages and responses have in common to the letter.
        names: Whether it sees who is named inside texts.
        turns: Whether it sees what happened after a message: answered, continued, asked again.
        links: Whether it compares messages with each other, to find conversations that name nobody.
    """

    dimensions: int = 128
    towers: int = 3
    content: int = 16
    evidence: int = 48
    strongest: int = 8
    hidden: int = 64
    prior: int = 16
    positions: int = 30
    word_dropout: float = 0.3
    dropout: float = 0.1
    words_rate: float = 0.2
    similarity: bool = True
    overlap: bool = True
    names: bool = True
    turns: bool = True
    links: bool = True
