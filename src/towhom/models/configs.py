"""The settings of the neural systems, in a separate module so that models are loaded without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FalseAddressee = Literal["hardest", "all"]
"""The false addressees in the loss: the best-scoring other participant, or all others."""


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """Sizes as in the paper.

    Args:
        dimensions: Size of the word vectors, which stay fixed.
        hidden: Size of utterance and speaker embeddings.
        init: Weights are drawn uniformly from -init to init; 0.01 in the paper.
    """

    dimensions: int = 300
    hidden: int = 50
    init: float = 0.1


@dataclass(frozen=True, kw_only=True)
class StaticRNNConfig(RecurrentConfig):
    """The settings of the paper.

    Args:
        positions: Number of positions with an embedding of their own; farther ones share the last.
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
