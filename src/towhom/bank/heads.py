"""The inner product that finds responses for a message.

It starts as a part of Crosstalk's energy, how well a response fits as an answer: one of the pairs of
projections of `towhom.crosstalk.words`. For the model that comes with towhom, the two projections were then
trained to find a response among many (`towhom.training.bank_head`); the model itself is unchanged. All other
factors, such as the speaker and the time, are considered only when the best few hundred are ranked.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from towhom.crosstalk.words import TOWERS

Array = NDArray[np.float32]
_ANSWERS = 0
"""Index of the pair of projections for how well an answer fits what it answers."""
_SHORT = 12
"""Digits of the hash of projections."""
SHARE = 2.0
"""Weight of the similarity to what a response answered, relative to how well it fits as an answer."""


class Head(NamedTuple):
    """Projections of the content of messages."""

    answers_w: Array
    answers_b: Array
    heard_w: Array
    heard_b: Array

    def answers(self, state: Array) -> Array:
        """(N, D) Unit vectors of messages as responses."""
        return _unit(state @ self.answers_w + self.answers_b)

    def heard(self, state: Array) -> Array:
        """(N, D) Unit vectors of messages as questions to be answered."""
        return _unit(state @ self.heard_w + self.heard_b)

    @staticmethod
    def found_by(answers: Array, asked: Array) -> Array:
        """(N, D) The search vectors of responses, given the vectors of the responses and of their questions.

        Its product with a question is a sum: how well the response answers the question, and how similar the
        question is to the one that was answered.
        """
        return answers + np.float32(SHARE) * asked


def head_of(weights: dict[str, Array], fingerprint: str) -> Head:
    """The projections for a model."""
    return _trained() if fingerprint == _trained_for() else own_head(weights)


def signature(fingerprint: str) -> str:
    """Identifies comparable vectors: those of the same model, by the same projections."""
    if fingerprint != _trained_for():
        return fingerprint
    return f"{sha256(_content()).hexdigest()[:_SHORT]}-{fingerprint}"


def own_head(weights: dict[str, Array]) -> Head:
    """The projections that are part of a model."""
    parts = []
    for side in ("answers", "heard"):
        w, b = weights[f"words.{side}.w"], weights[f"words.{side}.b"]
        width = len(b) // TOWERS
        first = _ANSWERS * width
        parts += [np.ascontiguousarray(w[:, first : first + width]), b[first : first + width]]
    return Head(*parts)


@cache
def _content() -> bytes:
    return (files("towhom.bank") / "head.safetensors").read_bytes()


@cache
def _trained_for() -> str:
    """The fingerprint of the model whose projections were trained; other models use their own."""
    size = int.from_bytes(_content()[:8], "little")
    return str(json.loads(_content()[8 : 8 + size])["__metadata__"]["model"])


@cache
def _trained() -> Head:
    arrays = load(_content())
    return Head(*(arrays[name].astype(np.float32) for name in Head._fields))


def _unit(vectors: Array) -> Array:
    result: Array = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-6)
    return result
