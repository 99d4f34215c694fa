"""The manners of calling somebody, with the probability of each, and a reason in words."""

from __future__ import annotations

from enum import StrEnum


class Manner(StrEnum):
    """How somebody is called, the surest first."""

    REPLY = "reply"
    """The platform says that the message answers one of theirs."""
    GIVEN = "given"
    """The platform or the log says that the message is for them."""
    MENTION = "mention"
    """`@robo restart it`: in front, or marked by the platform."""
    FRONT = "front"
    """`robo: restart it`: a name in front, and a separator of any script."""
    GREETING = "greeting"
    """`good evening robo`, `thanks, robo`: a greeting, thanks or a filler, then a name."""
    VOCATIVE = "vocative"
    """`is it up, robo?`: separated by a comma or a particle, at the end or in the middle."""
    MENTION_INSIDE = "mention inside"
    """`what about the logs @robo`."""
    BARE = "bare"
    """`robo restart it`: in front, without a separator."""
    END = "end"
    """`is it up robo?`: at the end, without a separator."""
    INSIDE = "inside"
    """Named somewhere, without a sign of whether it is a call."""
    ABOUT = "about"
    """Not called: `robo keeps crashing`, `ask robo`."""


SURE: dict[Manner, float] = {
    Manner.REPLY: 0.96,
    Manner.GIVEN: 0.96,
    Manner.MENTION: 0.93,
    Manner.FRONT: 0.96,
    Manner.GREETING: 0.83,
    Manner.VOCATIVE: 0.92,
    Manner.MENTION_INSIDE: 0.9,
    Manner.BARE: 0.92,
    Manner.END: 0.9,
    Manner.INSIDE: 0.22,
    Manner.ABOUT: 0.21,
}
"""How often somebody who is named in each manner is the addressee, by human reply links of #ubuntu.

Rates of manners that are rare there are drawn towards that of a name in front. Manners that do not occur
there have the rate of a similar one: a reply link as a name in front, an @ inside as a name at the end.
results/calls.json has the counts."""

REASONS: dict[Manner, str] = {
    Manner.REPLY: "{me} replies to a message of {who}",
    Manner.GIVEN: "{me} names {who}",
    Manner.MENTION: "{me} mentions @{who}",
    Manner.FRONT: "{me} names {who}",
    Manner.GREETING: "{me} greets or thanks {who}",
    Manner.VOCATIVE: "{me} calls {who}",
    Manner.MENTION_INSIDE: "{me} mentions @{who}",
    Manner.BARE: "{me} begins with the name of {who}",
    Manner.END: "{me} ends with the name of {who}",
    Manner.INSIDE: "{me} mentions {who}",
    Manner.ABOUT: "{me} talks about {who}",
}
"""The reason for each manner in words."""

CALLING = frozenset(Manner) - {Manner.INSIDE, Manner.ABOUT}
"""Manners that are calls."""

EVERYONE = frozenset({"@everyone", "@here", "@channel", "@all", "@room", "@everybody", "@group", "@team"})
"""Words by which platforms call everybody."""
