"""Who a message is for: combines the model's probabilities with the calls in the message."""

from __future__ import annotations

from towhom.hearing.manners import SURE, Manner
from towhom.hearing.utterance import CALLED, Utterance

People = dict[str | None, float]
"""The probability of each addressee; None is nobody in particular."""

_ROOM_OF_TWO = 0.8
"""How likely a message is for the only other person known to be in the room."""
_AT_MOST = {Manner.ABOUT: SURE[Manner.ABOUT], Manner.INSIDE: 0.4}
"""The largest probability of somebody who is named but not called."""


def believed(people: People, said: Utterance, only_other: str | None) -> People:
    """The probability of each addressee, given the calls in the message.

    Somebody who is called gets the probability of that manner of calling; several people may be called.

    Args:
        people: The probabilities by the model alone.
        said: The message.
        only_other: The only other person, in a room of two.
    """
    result = {who: likely for who, likely in people.items() if who != said.speaker}
    result.setdefault(None, 0.0)
    for call in said.calls:
        if call.manner in _AT_MOST:
            _cap(result, call.who, _AT_MOST[call.manner])
    sure: People = {call.who: call.sure for call in said.calls if call.sure >= CALLED}
    if not sure and only_other is not None and not (said.mentions or said.everybody or said.stranger):
        sure = {only_other: _ROOM_OF_TWO}
    if not sure:
        return result
    rest = {who: likely for who, likely in result.items() if who not in sure}
    total = sum(rest.values())
    if not total:
        rest[None], total = 1.0, 1.0
    left = 1.0 - max(sure.values())
    return {**{who: likely * left / total for who, likely in rest.items()}, **sure}


def _cap(people: People, who: str, most: float) -> None:
    """Cap somebody's probability; the others share the difference."""
    likely = people.get(who, 0.0)
    if likely <= most:
        return
    rest = sum(people.values()) - likely
    for other in people:
        people[other] = people[other] * (1.0 - most) / rest if rest > 0 else 0.0
    if rest <= 0:
        people[None] = 1.0 - most
    people[who] = most
