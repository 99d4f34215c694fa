"""The energies: how well a message answers each earlier one, or starts a thread; computed in two looks.

The first look judges every message within reach by itself. The second looks at the `LIKELIEST` of them, and
knows the threads that result from the first. Energies are logarithms up to a constant: of P(j given r) if r
was sent, and of P(r, j) if r is one of several drafts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from towhom.crosstalk.arrays import NUMPY, Arrays, Weights
from towhom.crosstalk.signals import ALONE, PAIRS
from towhom.crosstalk.structure import ALONE_AFTER, STRUCTURE
from towhom.crosstalk.words import TOWERS

_SAME_SPEAKER = PAIRS.index("same speaker")
_SUMMED = 0.1
"""Factor for sums over the messages of a room, to bring them to the order of 1."""


def shapes(state: int, says: int, hidden: int, second: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights; the arguments are those of `folder.Sizes`."""
    cells, alone = len(PAIRS) + 2 * TOWERS, len(ALONE)
    after, alone_after = cells + len(STRUCTURE), alone + len(ALONE_AFTER)
    return {
        "says.w": (state, 2 * says),
        "says.b": (2 * says,),
        "fit": (TOWERS,),
        "first.cell.w": (cells, hidden),
        "first.message.w": (alone, hidden),
        "first.answer.w": (says, hidden),
        "first.heard.w": (says, hidden),
        "first.b": (hidden,),
        "first.second.w": (hidden, second),
        "first.second.b": (second,),
        "first.out": (second,),
        "first.start.w": (alone + says + cells, hidden),
        "first.start.b": (hidden,),
        "first.start.out": (hidden,),
        "first.draft.w": (2 * second + says + alone, hidden),
        "first.draft.b": (hidden,),
        "first.draft.out": (hidden,),
        "first.draft.state": (state,),
        "second.cell.w": (after, hidden),
        "second.message.w": (alone_after, hidden),
        "second.b": (hidden,),
        "second.second.w": (hidden, second),
        "second.others.w": (hidden, second),
        "second.second.b": (second,),
        "second.out": (second,),
        "second.start.w": (alone_after + hidden, hidden),
        "second.start.b": (hidden,),
        "second.start.out": (hidden,),
    }


def says(w: Weights, state: Any, xp: Arrays = NUMPY) -> tuple[Any, Any]:
    """(U, S), (U, S) Summaries of messages' texts, as answers and as messages to be answered."""
    both = xp.tanh(xp.thin(state) @ w["says.w"] + w["says.b"])
    half = both.shape[1] // 2
    return both[:, :half], both[:, half:]


def cells_of(w: Weights, pairs: Any, fits: Any, xp: Arrays = NUMPY) -> Any:
    """(R, D, cells) All features of a message and each one before it.

    Args:
        w: The weights.
        pairs: (R, D, `PAIRS`) The signals.
        fits: (R, D, `TOWERS`) How well their texts fit together, 0 where there is no message.
        xp: The library of these arrays.
    """
    fits = fits * w["fit"]
    own = pairs[..., _SAME_SPEAKER : _SAME_SPEAKER + 1]
    mine = fits * own
    return xp.join([pairs, fits - mine, mine])


class Energies(NamedTuple):
    """The energies of R messages in the first look."""

    cells: Any
    """(R, D) For each message that may be answered."""
    start: Any
    """(R,) For starting a thread."""
    units: Any
    """(R, D, second) The last hidden layer, from which the energies of the cells are computed."""


def first_look(
    w: Weights,
    cells: Any,
    messages: Any,
    answer: Any,
    heard: Any,
    places: Any,
    xp: Arrays = NUMPY,
) -> Energies:
    """Compute the energies of each message's possible links, and of starting a thread.

    Args:
        w: The weights.
        cells: (R, D, cells) See `cells_of`.
        messages: (R, `ALONE`)
        answer: (R, S) Summaries of the messages' texts, as answers.
        heard: (N, S) Summaries of the earlier messages' texts, as messages to be answered.
        places: (R, D) The earlier message of each cell; or one row, if it is the same for all messages.
        xp: The library of these arrays.
    """
    rows, reach, width = cells.shape
    hidden = (cells.reshape(-1, width) @ w["first.cell.w"]).reshape(rows, reach, -1)
    alone = messages @ w["first.message.w"] + answer @ w["first.answer.w"] + w["first.b"]
    hidden += alone[:, None]
    hidden += xp.take(heard @ w["first.heard.w"], places)
    hidden = xp.relu(hidden)
    second = xp.relu(xp.thin(hidden).reshape(rows * reach, -1) @ w["first.second.w"] + w["first.second.b"])
    energies = (second @ w["first.out"]).reshape(rows, reach)
    known = xp.join([messages, answer, xp.most(cells)])
    start = xp.relu(known @ w["first.start.w"] + w["first.start.b"]) @ w["first.start.out"]
    return Energies(energies, start, second.reshape(rows, reach, -1))


def draft_energies(
    w: Weights, units: Any, there: Any, messages: Any, says: tuple[Any, Any], xp: Arrays = NUMPY
) -> Any:
    """(R,) How well each of several drafts fits into the room, whatever it answers.

    This is judged from all messages of the room together.

    Args:
        w: The weights.
        units: (R, D, second) See `Energies.units`.
        there: (R, D) 1 where there is such a message, else 0.
        messages: (R, `ALONE`)
        says: (R, H), (R, S) The messages' texts: encoded in full, and summarized as answers.
        xp: The library of these arrays.
    """
    state, answer = says
    units = units * there[..., None]
    known = xp.thin(xp.join([units.sum(1) * _SUMMED, xp.most(units), messages, answer]))
    fits = xp.relu(known @ w["first.draft.w"] + w["first.draft.b"]) @ w["first.draft.out"]
    return fits + state @ w["first.draft.state"]


def second_look(w: Weights, cells: Any, messages: Any, there: Any, xp: Arrays = NUMPY) -> tuple[Any, Any]:
    """(R, K), (R,) Energies of the likeliest links, and of starting a thread.

    Args:
        w: The weights.
        cells: (R, K, cells and `STRUCTURE`)
        messages: (R, `ALONE` and `ALONE_AFTER`)
        there: (R, K) 1 where there is such a message, else 0.
        xp: The library of these arrays.
    """
    rows, likeliest, width = cells.shape
    hidden = (cells.reshape(-1, width) @ w["second.cell.w"]).reshape(rows, likeliest, -1)
    hidden = xp.relu(hidden + (messages @ w["second.message.w"] + w["second.b"])[:, None]) * there[..., None]
    others = xp.thin(xp.most(hidden))
    second = (xp.thin(hidden).reshape(rows * likeliest, -1) @ w["second.second.w"]).reshape(
        rows, likeliest, -1
    )
    second = xp.relu(second + (others @ w["second.others.w"] + w["second.second.b"])[:, None])
    start = xp.relu(xp.join([messages, others]) @ w["second.start.w"] + w["second.start.b"])
    return second @ w["second.out"], start @ w["second.start.out"]
