"""How well a message answers each of those before it, or starts something: the energy, in two looks.

The first look takes every message within reach for itself. The second takes the `LIKELIEST` of them, and
knows in which conversations the first has put them. Both give logarithms: of P(j given r) where r is said,
and of P(r, j) where r is one of several drafts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from towhom.crosstalk.arrays import NUMPY, Arrays, Weights
from towhom.crosstalk.signals import ALONE, PAIRS
from towhom.crosstalk.structure import ALONE_AFTER, STRUCTURE
from towhom.crosstalk.words import TOWERS

_SAME_SPEAKER = PAIRS.index("same speaker")
_SUMMED = 0.1
"""What sums over the messages of a room are multiplied with, to be of the order of 1."""


def shapes(state: int, says: int, hidden: int, second: int) -> dict[str, tuple[int, ...]]:
    """The weights that there are; `state` is what is known of what a message says."""
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
    """(U, S), (U, S) What matters of messages as answers, and as something that is answered."""
    both = xp.tanh(xp.thin(state) @ w["says.w"] + w["says.b"])
    half = both.shape[1] // 2
    return both[:, :half], both[:, half:]


def cells_of(w: Weights, pairs: Any, fits: Any, xp: Arrays = NUMPY) -> Any:
    """(R, D, cells) What is known of a message and each before it.

    Args:
        w: The weights.
        pairs: (R, D, `PAIRS`) What can be counted.
        fits: (R, D, `TOWERS`) How well what they say goes together, 0 where there is no message.
        xp: Whose arrays these are.
    """
    fits = fits * w["fit"]
    own = pairs[..., _SAME_SPEAKER : _SAME_SPEAKER + 1]
    mine = fits * own
    return xp.join([pairs, fits - mine, mine])


class Energies(NamedTuple):
    """What the first look makes of R messages."""

    cells: Any
    """(R, D) Of each message that may be answered."""
    start: Any
    """(R,) Of a start."""
    units: Any
    """(R, D, second) What the energies of the cells are made of."""


def first_look(
    w: Weights,
    cells: Any,
    messages: Any,
    answer: Any,
    heard: Any,
    places: Any,
    xp: Arrays = NUMPY,
) -> Energies:
    """What each message may answer.

    Args:
        w: The weights.
        cells: (R, D, cells) See `cells_of`.
        messages: (R, `ALONE`)
        answer: (R, S) What matters of what the messages say, as answers.
        heard: (N, S) What those before them say, as something that is answered.
        places: (R, D) Which of them each cell is about; or one row, if it is the same for all messages.
        xp: Whose arrays these are.
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
    """(R,) How well each message fits into the room, whatever it answers: where it is one of several drafts.

    That is for all messages of the room together to say.

    Args:
        w: The weights.
        units: (R, D, second) Of the first look.
        there: (R, D) 1 where there is such a message, else 0.
        messages: (R, `ALONE`)
        says: (R, H), (R, S) What the messages say: all of it, and what matters of it as answers.
        xp: Whose arrays these are.
    """
    state, answer = says
    units = units * there[..., None]
    known = xp.thin(xp.join([units.sum(1) * _SUMMED, xp.most(units), messages, answer]))
    fits = xp.relu(known @ w["first.draft.w"] + w["first.draft.b"]) @ w["first.draft.out"]
    return fits + state @ w["first.draft.state"]


def second_look(w: Weights, cells: Any, messages: Any, there: Any, xp: Arrays = NUMPY) -> tuple[Any, Any]:
    """(R, K), (R,) Energies of the likeliest, and of a start.

    Args:
        w: The weights.
        cells: (R, K, cells and `STRUCTURE`)
        messages: (R, `ALONE` and `ALONE_AFTER`)
        there: (R, K) 1 where there is such a message, else 0.
        xp: Whose arrays these are.
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
