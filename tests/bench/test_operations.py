"""How many operations a batch needs, counted by hand from the equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from towhom.batching import NOBODY, Questions
from towhom.bench import training

DIMENSIONS, HIDDEN = 5, 2
SQUARE = HIDDEN * HIDDEN
BACK_AND_FORTH = 2 * 3
"""A multiplication and an addition; forward, and backward to either factor."""


def array(*values: object) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.array(values, np.int32)


QUESTION = Questions(
    tokens=array(3, 4, 3),
    offsets=np.array([0, 2, 3]),
    context=array([NOBODY, 0]),
    sender=array([NOBODY, 1]),
    addressee=array([NOBODY, NOBODY]),
    participants=array(3),
    candidates=array([1, 1]),
    speakers_so_far=array(3),
)
"""Two utterances, of two words and of one; one step, which one says to nobody and two observe."""


def test_a_message_to_nobody() -> None:
    words = 2 * 2 * (2 * DIMENSIONS * 3 * HIDDEN)  # two words; forward, and backward to the weights alone
    tokens = 3 * (3 * SQUARE)
    utterances = 2 * (4 + 4 + 3) * SQUARE  # r, p, z and proposal, twice; r, z and proposal
    sender = (4 + 1) * SQUARE  # [sender; utterance] and the state itself, at once; then r times the state
    observers = 3 * SQUARE + 2 * (2 + 1) * SQUARE  # the sender once for all of them; then each
    by_hand = BACK_AND_FORTH * (tokens + utterances + sender + observers) + words
    assert training._operations(QUESTION, DIMENSIONS, HIDDEN) == by_hand


def test_an_addressee_costs_more_than_an_observer() -> None:
    addressed = replace(QUESTION, addressee=array([NOBODY, 2]))
    to_sender = 3 + 1  # gates, and p times the addressee
    # Gates of their own state and r times it; the sender's, with [sender; utterance], and p times it.
    of_addressee = (3 + 1) + (4 + 1)
    more = (to_sender + of_addressee - 3) * SQUARE
    found = [training._operations(each, DIMENSIONS, HIDDEN) for each in (QUESTION, addressed)]
    assert found[1] - found[0] == BACK_AND_FORTH * more


@pytest.mark.parametrize("double", [False, True])
def test_a_batch_of_two(double: bool) -> None:
    """Steps and observers of each count; a message that is not there costs nothing."""
    both = replace(
        QUESTION,
        context=array([NOBODY, 0], [0, 0] if double else [NOBODY, 0]),
        sender=array([NOBODY, 1], [0, 1] if double else [NOBODY, 1]),
        addressee=array([NOBODY, NOBODY], [NOBODY, NOBODY]),
        participants=array(3, 2),
    )
    step = (5 + 3 + 3) * SQUARE  # one sender, one observer
    found = [training._operations(each, DIMENSIONS, HIDDEN) for each in (QUESTION, both)]
    assert found[1] - found[0] == BACK_AND_FORTH * step * (2 if double else 1)
