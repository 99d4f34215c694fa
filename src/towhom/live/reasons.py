"""Why a message is taken to be for somebody, in words."""

from __future__ import annotations

from collections.abc import Callable

from towhom.hearing.manners import REASONS
from towhom.hearing.utterance import CALLED, Utterance
from towhom.live.addressees import CANDIDATE_FEATURES, Features
from towhom.live.answers import Addressee

_PLACES = {name: place for place, name in enumerate(CANDIDATE_FEATURES)}


def reason_for(said: Utterance, chosen: Addressee, found: Features, name_of: Callable[[str], str]) -> str:
    """The plainest thing that speaks for whoever was chosen."""
    me, who = name_of(said.speaker), chosen.name
    if who is None or chosen.id is None:
        if said.everybody:
            return f"{me} speaks to everybody"
        if not found.names:
            return "nobody else is there"
        return f"{me} asks the room" if said.asks else f"nothing ties it to anybody {me} talks with"
    call = next((call for call in said.calls if call.who == chosen.id and call.sure >= CALLED), None)
    if call is not None:
        return REASONS[call.manner].format(me=me, who=who)
    row = found.candidates[found.names.index(chosen.id)]

    def has(name: str, least: float = 0.5) -> bool:
        return bool(row[_PLACES[name]] >= least)

    reasons = (
        (has("mentioned") and not has("talked about"), f"{me} mentions {who}"),
        (has("last message names me"), f"{who} had just addressed {me}"),
        (has("my last message names them"), f"{me} goes on: the message before was to {who}"),
        (has("my last message meant them"), f"{me} goes on: the message before seemed to be to {who}"),
        (has("last message meant me"), f"{who} seemed to talk to {me}"),
        (has("named me"), f"{who} has addressed {me}"),
        (has("in common", 0.4), f"it has words in common with what {who} said"),
        (has("last message asks"), f"{who} has asked something"),
        (has("previous speaker"), f"{who} spoke just before"),
        (len(found.names) == 1, f"{who} is the only other one there"),
    )
    return next((text for holds, text in reasons if holds), f"it fits best what {who} said")
