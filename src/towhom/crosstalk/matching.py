"""How well two messages fit together word by word.

The vectors of `towhom.crosstalk.words` say what a whole message is about. Here, each of the rarest words of
one message is compared with those of the other, and the best fit counts, as of `dns` and `resolve`. Every
word has a vector as part of an answer, one as part of a message to be answered, and a weight for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk.arrays import NUMPY, Arrays, Weights
from towhom.crosstalk.columns import Whole

MATCHES = 2
"""How well the answer's words are matched in the earlier message, and the earlier message's in the answer."""
TELLING = 8
"""Maximum number of words of a message that are compared."""
ANSWERS, HEARD = "match.answers", "match.heard"
_LEAST = 0.5
"""Added to the sum of weights, so that few and common words say less."""


def shapes(words: int, width: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights; none if the width is 0."""
    if not width:
        return {}
    return {
        ANSWERS: (words, width),
        HEARD: (words, width),
        "match.answers.weight": (words,),
        "match.heard.weight": (words,),
        "match.scale": (MATCHES,),
    }


def telling(w: Weights, tokens: NDArray[np.int32], offsets: Whole) -> NDArray[np.int32]:
    """(U, `TELLING`) The rarest known words of each message, in order; 0 where there are fewer.

    Args:
        w: The weights of `towhom.crosstalk.words`.
        tokens: (N,) Words of all messages, one message after the other; 0 is an unknown word.
        offsets: (U + 1,) Where the words of each message begin.
    """
    count = len(offsets) - 1
    owner = np.repeat(np.arange(count), np.diff(offsets))
    known = tokens > 0
    tokens, owner = tokens[known], owner[known]
    order = np.lexsort((-w["words.weight"][tokens], owner))
    firsts = np.searchsorted(owner, np.arange(count))
    rank = np.empty(len(tokens), np.int64)
    rank[order] = np.arange(len(tokens)) - firsts[owner[order]]
    chosen = rank < TELLING
    tokens, owner = tokens[chosen], owner[chosen]
    found = np.zeros((count, TELLING), np.int32)
    found[owner, np.arange(len(tokens)) - np.searchsorted(owner, np.arange(count))[owner]] = tokens
    return found


def match(w: Weights, answers: NDArray[Any], heard: NDArray[Any], xp: Arrays = NUMPY) -> Any:
    """(B, R, N, `MATCHES`) How well the words of R messages match those of N others, in each of B groups.

    Args:
        w: The weights.
        answers: (B, R, `TELLING`) Words of the messages that may be answers; see `telling`.
        heard: (B, N, `TELLING`) Words of the messages that may be answered.
        xp: The library of the weights' arrays.
    """
    parts = [
        _best(w, (HEARD, heard), (ANSWERS, answers), xp).swapaxes(1, 2),
        _best(w, (ANSWERS, answers), (HEARD, heard), xp),
    ]
    return xp.join([part[..., None] for part in parts]) * w["match.scale"]


def _best(w: Weights, among: tuple[str, Any], of: tuple[str, Any], xp: Arrays) -> Any:
    """(B, N, R) How well the words of R messages find their like among those of N others."""
    (there, others), (here, mine) = among, of
    groups, count, _ = others.shape
    rows = mine.shape[1]
    vectors = xp.take(w[there], others.swapaxes(1, 2)).reshape(groups, TELLING * count, -1)
    wanted = xp.take(w[here], mine).reshape(groups, rows * TELLING, -1)
    products = vectors @ wanted.swapaxes(1, 2)
    best = xp.relu(xp.most(products.reshape(groups, TELLING, count * rows * TELLING)))
    weight = xp.take(w[f"{here}.weight"][:, None], mine)[..., 0] * xp.like(mine > 0, w[here])
    weight = weight / (weight.sum(-1)[..., None] + _LEAST)
    return (best.reshape(groups, count, rows, TELLING) * weight[:, None]).sum(-1)
