"""Reasons for an addressee, in words."""

from __future__ import annotations

from collections.abc import Callable

from towhom.hearing.manners import REASONS, Manner
from towhom.hearing.utterance import CALLED, Utterance
from towhom.live.channel import Turn

_TELLING = 0.6
"""The least weight of an informative piece; those with less are very common."""


def reason_for(turn: Turn, name_of: Callable[[str], str]) -> str:
    """The plainest reason for the chosen addressee.

    Args:
        turn: The message with its addressee and its link.
        name_of: Gives the name for an identifier.
    """
    said, chosen = turn.utterance, turn.addressee
    me = name_of(said.speaker)
    if chosen is None:
        if said.everybody:
            return f"{me} speaks to everybody"
        if turn.known == 1:
            return "nobody else is there"
        return f"{me} asks the room" if said.asks else f"nothing ties it to anybody {me} talks with"
    who = name_of(chosen)
    call = next((call for call in said.calls if call.who == chosen), None)
    if call is not None and call.sure >= CALLED:
        return REASONS[call.manner].format(me=me, who=who)
    if call is not None and call.manner is not Manner.ABOUT:
        return f"{me} mentions {who}"
    before = turn.answered
    if before is None:
        return f"{who} is the only other one there"
    if before.speaker == said.speaker:
        seemed = "was" if before.addressee == chosen else "seemed to be"
        return f"{me} goes on: the message before {seemed} to {who}"
    if before.addressee == said.speaker:
        return f"{who} had just addressed {me}"
    if _in_common(said, before):
        return f"it has words in common with what {who} said"
    if turn.answered_to == said.speaker:
        return f"{who} seemed to talk to {me}"
    if before.asks:
        return f"{who} has asked something"
    return f"{who} spoke just before" if turn.back == 1 else f"it fits best what {who} said"


def _in_common(one: Utterance, other: Utterance) -> bool:
    """Whether two messages share an informative piece of a word."""
    telling = one.pieces[one.weights >= _TELLING]
    return not set(telling.tolist()).isdisjoint(other.pieces.tolist())
