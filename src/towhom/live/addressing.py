"""Who a message is for: what the model makes of it, and what the message says outright."""

from __future__ import annotations

from towhom.hearing.manners import SURE, Manner
from towhom.hearing.utterance import CALLED, Utterance

People = dict[str | None, float]
"""How likely a message is for whom; None is nobody in particular."""

_ROOM_OF_TWO = 0.8
"""How likely a message is for the only other one who is known to be there."""
_AT_MOST = {Manner.ABOUT: SURE[Manner.ABOUT], Manner.INSIDE: 0.4}
"""How likely somebody is meant, at most, who is named and not called."""


def believed(people: People, said: Utterance, only_other: str | None) -> People:
    """How likely a message is for whom, once it is heard whom it calls.

    Whoever is called is believed as surely as calls are right, whoever else is likely; several may be.

    Args:
        people: What the model makes of it.
        said: The message.
        only_other: Whoever is in a room of two with the speaker.
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
    """Somebody is at most so likely; the others share what they lose."""
    likely = people.get(who, 0.0)
    if likely <= most:
        return
    rest = sum(people.values()) - likely
    for other in people:
        people[other] = people[other] * (1.0 - most) / rest if rest > 0 else 0.0
    if rest <= 0:
        people[None] = 1.0 - most
    people[who] = most
