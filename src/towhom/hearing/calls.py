"""Finds the people whom a text calls, with a probability for each.

The text around a name makes it a call: `robo: restart it`, `@robo restart it`, `good evening robo`, `is it
up, robo?`. A name alone is no call: `robo keeps crashing` and `ask robo` are about somebody. `names` finds
the names, `judge` tells from the text around each how it is used, and `manners` has the probabilities.

The paper's protocol has only one manner, a name in front and a lone separator: `towhom.hearing.protocol`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import regex

from towhom.hearing.judge import MARKS, Judge
from towhom.hearing.languages import Language, languages_of, may_call_everybody
from towhom.hearing.manners import CALLING, SURE, Manner
from towhom.hearing.names import Place, names_in
from towhom.hearing.people import People
from towhom.hearing.words import normalized

_MOST_NAMES = 40
"""The largest number of names in a text that are judged: each takes time."""
_HEAD = 80
"""A text that calls everybody does so within so many characters."""
_LATEST = 0.7
"""How likely the latest speaker is meant, of several people with one name."""
EVERYONE = frozenset({"@everyone", "@here", "@channel", "@all", "@room", "@everybody", "@group", "@team"})
"""Words by which platforms call everybody."""
_TO_ALL = (" a ", " à ", " an ", " to ")
_FRONT_WORD = regex.compile(r"\s*@?([\w\[\]{}\\`^|-]{3,}):\s+\S")


class Call(NamedTuple):
    """Somebody who is named, and the manner.

    Args:
        who: Their identifier.
        manner: How they are named.
        sure: How likely they are the addressee.
    """

    who: str
    manner: Manner
    sure: float


@dataclass(slots=True)
class Calls:
    """The people whom a text calls or names."""

    calls: list[Call] = field(default_factory=list)
    """Everybody who is named, each once, the surest first; includes people who are only talked about."""
    everybody: bool = False
    """Whether everybody present is called."""
    rest: int = 0
    """Where the normalized text begins after a name in front."""
    stranger: bool = False
    """Whether it seems to name somebody unknown in front."""
    language: str | None = None
    """The code of the language, if it was determined."""


def listen(
    text: str,
    people: People,
    speaker: str,
    *,
    weight: Callable[[str], float] = lambda word: 1.0,
    marked: Sequence[str] = (),
    usual: str | None = None,
) -> Calls:
    """The people who are called in a text.

    Args:
        text: The text.
        people: The people in the room.
        speaker: The identifier of the speaker; nobody calls themselves.
        weight: Gives how informative a lower-cased word is: 1 if no text has it, 0 if all do.
        marked: Identifiers of the people whom the platform marks as mentioned.
        usual: The language of the room.

    >>> people = People()
    >>> robo = people.introduce("robo")
    >>> [(call.manner.value, call.sure > 0.5) for call in listen("is it up, robo?", people, "ann").calls]
    [('vocative', True)]
    >>> [(call.manner.value, call.sure > 0.5) for call in listen("robo keeps crashing", people, "ann").calls]
    [('about', False)]
    """
    plain = normalized(text)
    places = list(islice(names_in(plain, people, weight), _MOST_NAMES))
    found = Calls()
    if not places:
        if may_call_everybody(plain[:_HEAD]):
            spoken = languages_of(plain, usual)
            found.everybody, found.language = _calls_everybody(plain, spoken), spoken[0].code
        if not found.everybody:
            found.stranger = _FRONT_WORD.match(plain) is not None
        found.calls = [Call(who, Manner.MENTION, SURE[Manner.MENTION]) for who in marked if who != speaker]
        return found
    judge = Judge(plain, places, languages_of(_without(plain, places), usual), weight)
    found.language = judge.languages[0].code
    manners = judge.manners()
    found.rest = judge.rest(manners)
    found.everybody = may_call_everybody(plain[:_HEAD]) and _calls_everybody(plain, judge.languages)
    best: dict[str, Call] = {}
    for place, manner in zip(places, manners, strict=True):
        if place.loosely and manner not in CALLING:
            continue
        for call in _meant(place, manner, people, speaker):
            known = best.get(call.who)
            if known is None or call.sure > known.sure:
                best[call.who] = call
    for who in marked:
        if who != speaker and who not in best:
            best[who] = Call(who, Manner.MENTION, SURE[Manner.MENTION])
    found.calls = sorted(best.values(), key=lambda call: -call.sure)
    return found


def _without(plain: str, places: Sequence[Place]) -> str:
    parts, at = [], 0
    for place in places:
        parts.append(plain[at : place.start])
        at = place.end
    return " ".join((*parts, plain[at:]))


def _meant(place: Place, manner: Manner, people: People, speaker: str) -> Iterator[Call]:
    """The people who are meant by a name; of several with that name, most likely the latest speaker."""
    whose = [who for who in place.who if who != speaker]
    if len(whose) <= 1:
        for who in whose:
            yield Call(who, manner, SURE[manner])
        return
    latest = people.latest(whose)
    for who in whose:
        share = _LATEST if who == latest else (1 - _LATEST) / (len(whose) - 1)
        yield Call(who, manner, SURE[manner] * share)


def _calls_everybody(plain: str, languages: tuple[Language, ...]) -> bool:
    """Whether a normalized text calls everybody present."""
    if "@" in plain and any(word.rstrip(".,:;!?") in EVERYONE for word in plain.split()):
        return True
    return any(_starts_with_everybody(plain, language) for language in languages)


def _starts_with_everybody(plain: str, language: Language) -> bool:
    rest, greeted = plain, False
    while True:
        marks = MARKS.match(rest)
        rest = rest[marks.end() :] if marks else rest
        length = language.everybody.starting(rest)
        if length:
            after = rest[length:]
            following = after.lstrip()
            plainly = language.code != "en" and not language.third.starting(following)
            greets = language.greeting.starting(following) > 0
            if greeted or greets or plainly or not following or following[0] in ",:;!.-":
                return True
        greeting = language.greeting.starting(rest)
        step = max(greeting, language.filler.starting(rest))
        if not step:
            return False
        greeted = greeted or greeting == step
        rest = rest[step:]
        for particle in _TO_ALL:
            if greeted and rest.startswith(particle):
                rest = rest[len(particle) :]
