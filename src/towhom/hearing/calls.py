"""Who is called, and how surely.

A call is a name, and what stands around it: `robo: restart it`, `@robo restart it`, `good evening robo`, `is
it up, robo?`. A name alone is none: `robo keeps crashing` and `ask robo` are about somebody. `names` finds
the names, `judge` tells from what stands around each how it is used, and `manners` says how sure that makes
it.

The protocol of the paper knows one manner, a name in front and a lone separator: `towhom.hearing.protocol`.
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
"""Names in a text that are looked at. Each is judged by all that stands around it, which takes time."""
_HEAD = 80
"""Characters in which everybody is called, if at all."""
_LATEST = 0.7
"""How likely, of several people with one name, who spoke last is meant."""
EVERYONE = frozenset({"@everyone", "@here", "@channel", "@all", "@room", "@everybody", "@group", "@team"})
"""How platforms call everybody."""
_TO_ALL = (" a ", " à ", " an ", " to ")
_FRONT_WORD = regex.compile(r"\s*@?([\w\[\]{}\\`^|-]{3,}):\s+\S")


class Call(NamedTuple):
    """Somebody who is named, and how.

    Args:
        who: Their identifier.
        manner: How.
        sure: How likely they are meant by it.
    """

    who: str
    manner: Manner
    sure: float


@dataclass(slots=True)
class Calls:
    """Everybody whom a text calls or names."""

    calls: list[Call] = field(default_factory=list)
    """Everybody who is named, each once, the surest first; those talked about as well."""
    everybody: bool = False
    """Whether everybody who is there is called."""
    rest: int = 0
    """Where the text begins after a name in front, in the normalized text."""
    stranger: bool = False
    """Whether somebody seems to be named in front who is not known."""
    language: str | None = None
    """The code of the language, where it was looked at."""


def listen(
    text: str,
    people: People,
    speaker: str,
    *,
    weight: Callable[[str], float] = lambda word: 1.0,
    marked: Sequence[str] = (),
    usual: str | None = None,
) -> Calls:
    """Who is called in a text.

    Args:
        text: What is said.
        people: Who is there.
        speaker: Who says it; nobody calls themselves.
        weight: How much a lower-cased word tells: 1 for one that no text has, 0 for one that all have.
        marked: Identifiers of those whom the platform marks as mentioned.
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
    """Who is meant by a name: if several have it, who spoke last, most likely."""
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
    """Whether a normalized text calls everybody who is there."""
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
