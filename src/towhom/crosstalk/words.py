"""Encodes the texts of messages as vectors, both as answers and as messages to be answered.

A message is encoded as the sum of its word vectors, in which rare words count more, joined with its first two
words and its last, which tell a question from an answer. `TOWERS` pairs of projections turn this into a
vector as an answer and one as a message to be answered; their product says how well two messages fit
together. Each pair has learned one thing: how an answer fits what it answers, how a speaker continues, and
the room's topic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk.arrays import NUMPY, Arrays, Weights
from towhom.crosstalk.columns import Whole

TOWERS = 3
LIMIT = 24
"""Maximum number of words of a message that are read."""
LENGTH, LEAST = 3.0, 0.3
"""Sums of vectors are scaled to about length `LENGTH`; sums shorter than about `LEAST` stay shorter."""


class Encoded(NamedTuple):
    """The encoded texts of U messages."""

    state: Any
    """(U, H) The text."""
    answers: Any
    """(U, `TOWERS`, D) The message as an answer."""
    heard: Any
    """(U, `TOWERS`, D) The message as one to be answered."""


def shapes(words: int, dimensions: int, state: int, tower: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights."""
    return {
        "words.vectors": (words, dimensions),
        "words.weight": (words,),
        "words.ends.w": (3 * dimensions, dimensions),
        "words.ends.b": (dimensions,),
        "words.state.w": (2 * dimensions, state),
        "words.state.b": (state,),
        **projections(state, tower),
    }


def projections(state: int, tower: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights of `project`."""
    return {
        "words.answers.w": (state, TOWERS * tower),
        "words.answers.b": (TOWERS * tower,),
        "words.heard.w": (state, TOWERS * tower),
        "words.heard.b": (TOWERS * tower,),
        "words.scale": (TOWERS, 1),
    }


def encode(w: Weights, tokens: NDArray[np.int32], offsets: Whole, xp: Arrays = NUMPY) -> Encoded:
    """Encode messages, given their words. All messages without any known word are encoded alike.

    Args:
        w: The weights.
        tokens: (N,) Words of all messages, one message after the other; 0 is an unknown word.
        offsets: (U + 1,) Where the words of each message begin.
        xp: The library of the weights' arrays.
    """
    tokens, offsets = _cut_short(tokens, offsets)
    vectors = w["words.vectors"]
    bag = xp.bags(vectors, w["words.weight"], tokens, offsets)
    bag = bag * (LENGTH / (xp.norm(bag) + LEAST))
    first, last = offsets[:-1, None], offsets[1:, None] - 1
    places = np.concatenate([first, first + 1, last], axis=1)
    known = (places >= first) & (places <= last)
    ends = xp.take(vectors, np.append(tokens, 0)[np.where(known, places, len(tokens))])
    ends = ends * xp.like(known[..., None], vectors)
    ends = xp.relu(ends.reshape(len(places), 3 * vectors.shape[1]) @ w["words.ends.w"] + w["words.ends.b"])
    state = xp.relu(xp.thin(xp.join([bag, ends])) @ w["words.state.w"] + w["words.state.b"])
    return Encoded(state, *project(w, state, xp))


def project(w: Weights, state: Any, xp: Arrays = NUMPY) -> tuple[Any, Any]:
    """(U, `TOWERS`, D), (U, `TOWERS`, D) Encoded messages as answers, and as messages to be answered."""
    answers, heard = (
        _unit(state @ w[f"words.{side}.w"] + w[f"words.{side}.b"], xp) for side in ("answers", "heard")
    )
    return answers * w["words.scale"], heard


def fits(answers: Any, heard: Any, places: Whole, xp: Arrays = NUMPY) -> Any:
    """(`TOWERS`, R, C) How well R messages fit each C others.

    Args:
        answers: (R, `TOWERS`, D) See `project`.
        heard: (N, `TOWERS`, D) See `project`.
        places: (R, C) Indices of the others.
        xp: The library of these arrays.
    """
    products = answers.swapaxes(0, 1) @ heard.swapaxes(0, 1).swapaxes(1, 2)
    return xp.pick(products, places)


def _cut_short(tokens: NDArray[np.int32], offsets: Whole) -> tuple[NDArray[np.int32], Whole]:
    """Reduce each message without any known word to its first word."""
    known = np.diff(np.concatenate([[0], np.cumsum(tokens > 0)])[offsets]) > 0
    if known.all():
        return tokens, offsets
    message = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    kept = known[message] | (np.arange(len(tokens)) == offsets[message])
    return tokens[kept], np.concatenate([[0], np.cumsum(kept)])[offsets]


def _unit(x: Any, xp: Arrays) -> Any:
    towers = x.reshape(len(x), TOWERS, x.shape[1] // TOWERS)
    return towers / (xp.norm(towers) + 1e-6)
