"""Why a message is taken to be for somebody, in words."""

from __future__ import annotations

from towhom.live.addressees import CANDIDATE_FEATURES, Features, Said
from towhom.live.answers import Addressee

_PLACES = {name: place for place, name in enumerate(CANDIDATE_FEATURES)}


def reason_for(said: Said, chosen: Addressee, found: Features) -> str:
    """The plainest thing that speaks for whoever was chosen."""
    me, who = said.speaker, chosen.name
    if who is None:
        if not found.names:
            return "nobody else is there"
        return f"{me} asks the room" if said.question else f"nothing ties it to anybody {me} talks with"
    row = found.candidates[found.names.index(who)]

    def has(name: str, least: float = 0.5) -> bool:
        return bool(row[_PLACES[name]] >= least)

    reasons = (
        (has("named"), f"{me} names {who}"),
        (has("mentioned"), f"{me} mentions {who}"),
        (has("last message names me"), f"{who} had just addressed {me}"),
        (has("my last message names them"), f"{me} goes on: the message before was to {who}"),
        (has("my last message meant them"), f"{me} goes on: the message before seemed to be to {who}"),
        (has("last message meant me"), f"{who} seemed to talk to {me}"),
        (has("named me"), f"{who} has addressed {me}"),
        (has("common words", 0.4), f"it has words in common with what {who} said"),
        (has("last message asks"), f"{who} has asked something"),
        (has("previous speaker"), f"{who} spoke just before"),
    )
    return next((text for holds, text in reasons if holds), f"it fits best what {who} said")
