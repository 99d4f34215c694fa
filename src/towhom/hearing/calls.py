"""Who is called outright, and how surely.

A call is a name, and what stands around it: `robo: restart it`, `@robo restart it`, `good evening robo`, `is it
up, robo?`. A name alone is none: `robo keeps crashing` and `ask robo` are about somebody. What stands around
a name is looked up in the word lists of `towhom.hearing.languages`, so that the rules stand here once
for all languages. How sure each manner of calling is was measured: `SURE`.

The protocol of the paper knows one manner, a name in front and a lone separator: `resolve_addressees`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import regex

from towhom.hearing.languages import (
    LATIN,
    Language,
    Phrases,
    fillers,
    languages_of,
    may_call_everybody,
    ordinary_words,
)
from towhom.hearing.people import People
from towhom.hearing.words import EMOJI, NO_SPACES, SHORTCODE, normalized


class Manner(StrEnum):
    """How somebody is called, the surest first."""

    REPLY = "reply"
    """The platform says that the message answers one of theirs."""
    GIVEN = "given"
    """The platform, or whoever wrote the log, says that the message is for them."""
    MENTION = "mention"
    """`@robo restart it`: in front, or marked by the platform."""
    FRONT = "front"
    """`robo: restart it`: a name in front, and a separator of any script."""
    GREETING = "greeting"
    """`good evening robo`, `thanks, robo`: a greeting, thanks or a filler, and a name."""
    VOCATIVE = "vocative"
    """`is it up, robo?`: set off by a comma or a particle, at the end or in the middle."""
    MENTION_INSIDE = "mention inside"
    """`what about the logs @robo`."""
    BARE = "bare"
    """`robo restart it`: in front, nothing between."""
    END = "end"
    """`is it up robo?`: at the end, nothing between."""
    INSIDE = "inside"
    """Named somewhere, and nothing says whether as a call."""
    ABOUT = "about"
    """Not called: `robo keeps crashing`, `ask robo`."""


SURE: dict[Manner, float] = {
    Manner.REPLY: 0.97,
    Manner.GIVEN: 0.97,
    Manner.MENTION: 0.97,
    Manner.FRONT: 0.97,
    Manner.GREETING: 0.94,
    Manner.VOCATIVE: 0.92,
    Manner.MENTION_INSIDE: 0.85,
    Manner.BARE: 0.90,
    Manner.END: 0.85,
    Manner.INSIDE: 0.4,
    Manner.ABOUT: 0.2,
}
"""How often somebody who is called in a manner is meant; docs/bot.md has the table, and how it was measured."""

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
"""Each manner in words."""

CALLING = frozenset(Manner) - {Manner.INSIDE, Manner.ABOUT}
"""Manners that are calls."""

EVERYONE = frozenset({"@everyone", "@here", "@channel", "@all", "@room", "@everybody", "@group", "@team"})
"""How platforms call everybody."""


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
    """All that a text says outright."""

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


@dataclass(slots=True)
class _Place:
    """Where a name stands in a normalized text."""

    start: int
    end: int
    who: tuple[str, ...]
    word: str
    at: bool
    """Whether an @ stands before it."""
    loosely: bool = False
    """Whether it is a prefix, or has a typing error: believed only where a name is expected."""


_CHUNK = regex.compile(r"[^\s,;:!?()<>\"|/&+\\]+")
# The same, for texts with scripts that have no spaces: also split where scripts meet.
_MIXED = regex.compile(rf"[{NO_SPACES}\p{{Hangul}}]+|[^\s,;:!?()<>\"|/&+\\{NO_SPACES}\p{{Hangul}}]+")
_OPENING = "@*_~'[{(<\"#"
_CLOSING = ".'*~-]})>\"_…"
_SEPARATOR = regex.compile(r"\s*(?:->|=>|>+|[,;]|:(?![)(dp/|\]\\3*'-])|\.{2,}|!+|\?+|~+|-+(?=[\s\p{L}])|\n)\s*")
_CLEAN_SEPARATOR = regex.compile(r"\s*(?:->|=>|>+|[,;:]|\.{2,}|-+(?=\s))\s*")
"""What may be cut off behind a name in front. The rest says something: `!` and `?`."""
_MARKS = regex.compile(rf"(?:[\s\p{{P}}\p{{S}}]|{EMOJI}|{SHORTCODE}|(?<![\p{{L}}])[xX]?[:;=]-?[dp)(](?![\p{{L}}]))*")
_MARKS_BEFORE = regex.compile(rf"(?:[\s\p{{P}}\p{{S}}]|{EMOJI}|{SHORTCODE})*$", regex.REVERSE)
_SENTENCE_END = regex.compile(r"(?:[.!?;]|\n|\.{2,}|:\w+:|\p{Extended_Pictographic})[\s\"')\]]*$")
_COMMA_BEFORE = regex.compile(r"(?:[,;:(|>]|\s-+|\.{2,})\s*$")
_COMMA_AFTER = regex.compile(r"\s*(?:[,;.!?)]|-+\s|$)")
_LIST = regex.compile(r"\s*(?:[,/&+]\s*)?@?\s*")
_FRONT_WORD = regex.compile(r"\s*@?([\w\[\]{}\\`^|-]{3,}):\s+\S")
_ENGLISH_THIRD = regex.compile(r"[\p{L}]{3,}(?:s|ed)\b(?!\s+(?:me|us|my)\b)")
_LAUGHS = regex.compile(
    r"(?:k{2,}|(?:h[aeiuo]|j[aei]|ha?h|a?hah|х[аеи]|ха){2,}\p{L}?|rs(?:rs)*|5{3,}|[ㅋㅎㅠㅜ]+|w{2,}|笑+|草|x+d+|ه{2,}|ח{3,}|哈+|ฮ่า+)"
    r"(?!\p{L})"
)
_FIRST_PERSON = frozenset({"i", "i'm", "im", "my", "we", "here", "there", "sorry", "ich", "mein", "wir", "yo", "mi", "je",
                           "he", "she", "they", "it's", "that's", "this", "these", "those"})  # fmt: skip
_LONGER_THAN_WORDS = 8
_WHO = frozenset({"who", "who's", "whos", "wer", "quién", "quien", "quem", "qui", "kim", "кто", "مين", "من", "מי", "किसने",
                  "कौन"})  # fmt: skip
_NOT_THIRD = frozenset({"this", "yes", "plus", "as", "pass", "press", "address", "access", "process", "discuss",
                        "guess", "miss", "cross", "less", "focus", "https", "feed", "need", "seed", "speed",
                        "embed", "bless", "dismiss", "always", "perhaps", "besides", "thanks", "sometimes",
                        "cheers", "what's", "where's", "compress", "suppress", "express", "does", "is", "has",
                        "was", "let's", "assess", "toss", "kiss", "proceed", "exceed"})  # fmt: skip


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
    places = list(_names(plain, people, weight))
    found = Calls()
    if not places:
        if may_call_everybody(plain[:_HEAD]):
            spoken = languages_of(plain, usual)
            found.everybody, found.language = _calls_everybody(plain, spoken), spoken[0].code
        if not found.everybody:
            found.stranger = _FRONT_WORD.match(plain) is not None
        found.calls = [Call(who, Manner.MENTION, SURE[Manner.MENTION]) for who in marked if who != speaker]
        return found
    judge = _Judge(plain, places, languages_of(_without(plain, places), usual), weight)
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


_HEAD = 80
"""Characters in which everybody is called, if at all."""


def _without(plain: str, places: Sequence[_Place]) -> str:
    parts, at = [], 0
    for place in places:
        parts.append(plain[at : place.start])
        at = place.end
    return " ".join((*parts, plain[at:]))


def _meant(place: _Place, manner: Manner, people: People, speaker: str) -> Iterator[Call]:
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


COMMON = 0.7
"""A word that tells less is a name only where it is plainly called."""
_SHORTEST_NAME = 3
_LATEST = 0.7
"""How likely, of several people with one name, who spoke last is meant."""


def _names(plain: str, people: People, weight: Callable[[str], float]) -> Iterator[_Place]:
    """Where names stand, in order, none within another."""
    taken = 0
    attached = _attached_names(plain, people) if not plain.isascii() else {}
    pattern = _CHUNK if plain.isascii() else _MIXED
    chunks = {found.start(): found for found in pattern.finditer(plain)}
    for start in sorted({*chunks, *attached}):
        if start < taken:
            continue
        if start in attached:
            name = attached[start]
            at = plain[start - 1 : start] == "@"
            yield _Place(start, start + len(name), people.called(name), name, at)
            taken = start + len(name)
            continue
        place = _name_in(chunks[start], plain, people, weight)
        if place is not None:
            yield place
            taken = place.end


def _attached_names(plain: str, people: People) -> dict[int, str]:
    found: dict[int, str] = {}
    for name in people.attached:
        start = plain.find(name)
        while start >= 0:
            if len(name) > len(found.get(start, "")):
                found[start] = name
            start = plain.find(name, start + 1)
    return found


def _name_in(
    chunk: regex.Match[str], plain: str, people: People, weight: Callable[[str], float]
) -> _Place | None:
    text, start = chunk[0], chunk.start()
    who = people.called(text)
    if who:
        return _long_or(plain, start, people) or _Place(start, start + len(text), who, text, _at(plain, start))
    bare = text.lstrip(_OPENING) if text[0] in _OPENING else text
    start += len(text) - len(bare)
    long = _long_or(plain, start, people)
    if long is not None:
        return long
    at = "@" in text[: len(text) - len(bare)] or _at(plain, start)
    if bare is not text or not bare.isalnum():
        closed = bare.rstrip(_CLOSING)
        for word in dict.fromkeys((bare, closed, bare.partition("'")[0], bare.partition("-")[0])):
            who = people.called(word) if word else ()
            if who:
                return _Place(start, start + len(word), who, word, at)
    word = bare.rstrip(_CLOSING)
    if word[:1] in _AND and people.called(word[1:]):
        return _Place(start + 1, start + len(word), people.called(word[1:]), word[1:], at)
    if len(word) < _SHORTEST_GUESS or not (at or _is_expected(plain, start, start + len(word))):
        return None
    # A prefix or a typing error is looked for only where a name is likely.
    set_off = at or plain[start + len(word) : start + len(word) + 1] in (":", ",")
    if word in ordinary_words() or (weight(word) <= COMMON and not set_off):
        return None
    who = people.meant(word, slips=set_off)
    return _Place(start, start + len(word), who, word, at, loosely=True) if who else None


_SHORTEST_GUESS = 4
_AND = ("و", "ו")
"""What joins two words in Arabic and Hebrew is attached to the second."""


def _at(plain: str, start: int) -> bool:
    return plain[start - 1 : start] == "@" or (plain[start - 2 : start] in ("<@", "(@"))


def _is_expected(plain: str, start: int, end: int) -> bool:
    """Whether a name is likely there: in front with something after it, or at the end after a comma."""
    before, after = plain[:start].strip(), plain[end : end + 2]
    if _COMMA_BEFORE.search(plain, 0, start) and _MARKS.fullmatch(plain, end):
        return True
    return len(before) < _LONGEST_LEAD and (not before or before.rstrip(",! ") in fillers() or after[:1] in ":,")


_LONGEST_LEAD = 24


def _long_or(plain: str, start: int, people: People) -> _Place | None:
    """A name of several words that begins there."""
    first = regex.match(r"[^\s,;:!?]+", plain, pos=start)
    if first is None:
        return None
    for name in people.long_names(first[0]):
        end = start + len(name)
        if plain.startswith(name, start) and not plain[end : end + 1].isalnum():
            return _Place(start, end, people.called(name), name, _at(plain, start))
    return None


class _Judge:
    """Tells of each name in a text how it is used."""

    def __init__(
        self, plain: str, places: list[_Place], languages: tuple[Language, ...], weight: Callable[[str], float]
    ) -> None:
        self._plain = plain
        self._places = places
        self.languages = languages
        self._weight = weight
        self._you = any(self._has(each.you) for each in languages)
        self._ends = [self._after_honorific(place) for place in places]

    def manners(self) -> list[Manner]:
        """How each of the names is used."""
        found: list[Manner] = [Manner.ABOUT] * len(self._places)
        at = 0
        while at < len(self._places):
            last = self._last_of_list(at)
            together = self._manner(at, last) if last > at else Manner.ABOUT
            if together in CALLING and self._is_list_called(at, last, together):
                found[at : last + 1] = [together] * (last + 1 - at)
            else:
                for each in range(at, last + 1):
                    found[each] = self._manner(each, each, called_before=self._is_called_before(found, each))
            at = last + 1
        return found

    def rest(self, manners: list[Manner]) -> int:
        """Where the text begins, without the names in front and what sets them off."""
        if self._plain[: self._places[0].start].strip("@ \t\"'([*_<"):
            return 0
        last = 0
        while (
            last + 1 < len(self._places)
            and manners[last + 1] is manners[0]
            and self._joined(last, last + 1) is not None
        ):
            last += 1
        if manners[0] not in (Manner.FRONT, Manner.MENTION):
            return 0
        end = self._ends[last]
        closing = regex.match(r"[\"')\]*_>]+", self._plain, pos=end)
        end = closing.end() if closing else end
        cut = _CLEAN_SEPARATOR.match(self._plain, end)
        end = cut.end() if cut else regex.match(r"\s*", self._plain, pos=end).end()  # type: ignore[union-attr]
        has_more = any(character.isalnum() for character in self._plain[end:])
        return end if has_more else 0

    # -- inside

    def _manner(self, first: int, last: int, *, called_before: bool = False) -> Manner:
        place, plain = self._places[first], self._plain
        ordinary = any(self._is_ordinary(each) for each in self._places[first : last + 1])
        if self._is_quoted(place):
            return Manner.ABOUT
        before, after = plain[: place.start].rstrip("@"), plain[self._ends[last] :]
        after = regex.sub(r"^[\"')\]*_`>]+(?=[\s,:;!?]|$)", "", after)
        opened = before.rstrip("\"'([*_`<").rstrip()
        lead, greeted, particle, sentence = self._lead(opened, first)
        honored = self._ends[last] > self._places[last].end
        if self._possessive(after, honored=honored):
            return Manner.ABOUT
        at = place.at
        third, request = self._follows(after)
        # Where words are not set apart, a space is a separator.
        spaced_off = not self.languages[0].spaced and after[:1].isspace() and third <= request
        separated = spaced_off or _SEPARATOR.match(after) is not None
        alone = _MARKS.fullmatch(after) is not None
        in_front = not lead
        filler = not at and self._is_filler(place.word)
        if in_front:
            return self._in_front(
                place, after, at=at, separated=separated, alone=alone, greeted=greeted, particle=particle,
                honored=honored, ordinary=ordinary, filler=filler, called_before=called_before,
                several=last > first, touched=opened[-1:].isalnum(),
            )  # fmt: skip
        return self._inside(
            place.word, opened, after, at=at, greeted=greeted, particle=particle, ordinary=ordinary, filler=filler,
            honored=honored, sentence=sentence,
        )  # fmt: skip

    def _in_front(
        self, place: _Place, after: str, *, at: bool, separated: bool, alone: bool, greeted: bool,
        touched: bool, particle: bool, honored: bool, ordinary: bool, filler: bool, called_before: bool, several: bool,
    ) -> Manner:  # fmt: skip
        third, request = self._follows(after)
        if at:
            talked_about = third > request and not separated and not self._you and "?" not in after
            return Manner.ABOUT if talked_about else Manner.MENTION
        if filler and not greeted and not after.lstrip().startswith(":") and not particle:
            return Manner.ABOUT
        if alone:
            return Manner.GREETING if greeted else Manner.FRONT
        if separated and not (called_before and after.lstrip()[:1] in "!?~"):
            return Manner.GREETING if greeted else Manner.FRONT
        if particle:
            return Manner.VOCATIVE
        if greeted and (third <= request or self._you or touched):
            return Manner.GREETING
        if third > request or called_before:
            return Manner.ABOUT
        if honored:
            return Manner.FRONT
        if request:
            return Manner.ABOUT if ordinary and not self._you else Manner.BARE
        if ordinary or several:
            return Manner.BARE if self._you and not ordinary else Manner.ABOUT
        word = regex.match(r"\s*([\p{L}\p{M}']+)", after)
        if word is None:
            return Manner.BARE
        seems_third = _ENGLISH_THIRD.match(word[1]) is not None and word[1] not in _NOT_THIRD
        if seems_third and any(each.code == "en" for each in self.languages[:1]):
            return Manner.BARE if self._you and "?" in after else Manner.ABOUT
        asked = self._you or "?" in after or self._is_polite()
        return Manner.BARE if asked or self.languages[0].code == "en" else Manner.ABOUT

    def _inside(
        self, word: str, before: str, after: str, *, at: bool, greeted: bool, particle: bool, ordinary: bool,
        filler: bool, honored: bool, sentence: bool,
    ) -> Manner:  # fmt: skip
        talked_about = self._precedes(before)
        at_end = self._only_fillers(after)
        third, request = self._follows(after)
        comma = _COMMA_BEFORE.search(before) is not None
        if at:
            if comma or sentence:
                return Manner.MENTION
            return Manner.ABOUT if talked_about or (third > request and not at_end) else Manner.MENTION_INSIDE
        if filler and not (comma and at_end and "?" in after):
            return Manner.INSIDE
        if particle:
            return Manner.VOCATIVE
        if at_end and sentence:
            return Manner.VOCATIVE
        if comma and (at_end or (_COMMA_AFTER.match(after) and third <= request)):
            return Manner.VOCATIVE
        if greeted and third <= request:
            return Manner.GREETING
        if (comma or sentence) and not ordinary:
            separated = _SEPARATOR.match(after) is not None
            if separated and third <= request:
                return Manner.VOCATIVE
            if request > third and (self._you or "?" in after or request > 3):
                return Manner.BARE
            return Manner.ABOUT if third > request else Manner.INSIDE
        clause_end = regex.match(r"\s*[,.!?;)]", after) is not None
        if (at_end or clause_end) and not talked_about and not ordinary:
            if honored:
                return Manner.VOCATIVE
            spaced = self.languages[0].spaced
            set_off = spaced or self._plain[len(before) : len(before) + 1].isspace() or self._asks(before)
            # A short name may be a word: "my french is rusty".
            foreign = word.isascii() and self.languages[0].code not in LATIN
            may_be_word = self._weight(word) < 1.0 or (word.isalpha() and len(word) < _LONGER_THAN_WORDS)
            may_be_word, set_off = may_be_word and not foreign, set_off or foreign
            asked = self._you or "?" in self._plain or self._begins_with_request()
            if self._asks_who(before) and not self._you:
                return Manner.ABOUT
            return Manner.END if set_off and (asked or not may_be_word) else Manner.INSIDE
        return Manner.ABOUT if talked_about or third > request else Manner.INSIDE

    def _lead(self, before: str, first: int) -> tuple[str, bool, bool, bool]:
        """What stands before a name, without fillers and greetings.

        Also whether the name is greeted, has a particle that calls, and whether it starts a sentence.
        """
        greeted = particle = False
        rest, touching, closed = before, True, False
        while rest:
            bare = rest.rstrip()
            marks = _MARKS_BEFORE.search(bare)
            bare = bare[: marks.start()] if marks else bare
            if len(bare) < len(rest.rstrip()):
                if _SENTENCE_END.search(rest) and bare and not self._is_lead(bare):
                    return bare, greeted, particle, True
                rest = bare
                continue
            step = 0
            for language in self.languages:
                vocative = language.vocative.ending(bare) if touching else 0
                greeting = _ending(language.greeting, bare)
                step = max(vocative, greeting, _ending(language.filler, bare))
                if step:
                    greeted = greeted or (greeting == step and not closed)
                    particle = particle or (vocative == step and greeting < step)
                    break
            if not step:
                name = next((p for p in self._places[:first] if p.end == len(bare)), None)
                if name is None:
                    return bare, greeted, particle, False
                step = len(bare) - name.start
                closed = True  # what stands before another name is said to that one
            rest = bare[:-step]
            touching = False
        return "", greeted, particle, True

    def _is_lead(self, text: str) -> bool:
        """Whether a text is nothing but fillers and greetings."""
        for language in self.languages:
            rest = text
            while rest:
                rest = rest.rstrip(" ,.!?~-\n")
                step = max(language.filler.ending(rest), language.greeting.ending(rest))
                if not step:
                    break
                rest = rest[:-step]
            if not rest:
                return True
        return False

    def _follows(self, after: str) -> tuple[int, int]:
        """How long a phrase follows that talks about somebody, and how long one that asks them."""
        rest = after.lstrip(" \t")
        third = max(each.third.starting(rest) for each in self.languages)
        request = max(max(each.request.starting(rest), each.you.starting(rest)) for each in self.languages)
        return third, request

    def _precedes(self, before: str) -> bool:
        """Whether what stands before a name talks about it."""
        return any(each.before.ending(before.rstrip()) for each in self.languages)

    def _possessive(self, after: str, *, honored: bool) -> bool:
        """Whether an ending is attached to the name that makes it an object, a topic or an owner."""
        if not after or after[0].isspace():
            return False
        if after[0] == "'" and after[1:2].isalpha():
            return True
        if after[0] == "-" and after[1:2].isalpha():
            return not honored
        attached = max(
            (each.third.starting(after) for each in self.languages if each.code in ("ja", "ko")), default=0
        )
        return attached > 0 or (after[0].isalpha() and self.languages[0].code == "ko")

    def _only_fillers(self, after: str) -> bool:
        rest = after
        while True:
            marks = _MARKS.match(rest)
            rest = rest[marks.end() :] if marks else rest
            if not rest:
                return True
            laughs = _LAUGHS.match(rest)
            if laughs:
                rest = rest[laughs.end() :]
                continue
            step = max(max(each.filler.starting(rest), each.greeting.starting(rest)) for each in self.languages)
            if not step:
                return False
            rest = rest[step:]

    def _asks(self, before: str) -> bool:
        return any(each.asks.ending(before) for each in self.languages)

    def _begins_with_request(self) -> bool:
        start = self._plain.lstrip()
        first = regex.match(r"[\p{L}\p{M}']+", start)
        if first is not None and first[0] in _FIRST_PERSON:
            return False
        return any(each.request.starting(start) for each in self.languages)

    @staticmethod
    def _asks_who(before: str) -> bool:
        """Whether a text asks who did something: what follows the verb is not called."""
        return any(word in _WHO for word in regex.findall(r"[\p{L}']+", before)[:4])

    def _is_polite(self) -> bool:
        """Whether somebody is asked for something at the end: `prends du lait stp`."""
        rest = self._plain.rstrip(" .!?")
        return any(each.request.ending(rest) or each.you.ending(rest) for each in self.languages)

    def _after_honorific(self, place: _Place) -> int:
        """Where a name ends, with what honours it."""
        plain, end = self._plain, place.end
        best = end
        for language in self.languages:
            gap = 1 if plain[end : end + 1] == " " else 0
            length = language.honorific.starting(plain[end + gap :])
            if not length:
                continue
            after = plain[end + gap + length : end + gap + length + 1]
            phrase = plain[end + gap : end + gap + length]
            free = not (after.isalpha() and not _HONOUR.fullmatch(phrase)) or (
                language.code in ("ja", "ko") and language.third.starting(plain[end + gap + length :])
            )
            if free and (language.code != "en" or gap == 0 or phrase not in ("man", "san", "dear")):
                best = max(best, end + gap + length)
        return best

    def _is_ordinary(self, place: _Place) -> bool:
        word = place.word
        common = (word.isascii() and len(word) < _SHORTEST_NAME) or self._weight(word) <= COMMON
        return common or self._is_filler(word) or any(word in each.common for each in self.languages)

    def _is_filler(self, word: str) -> bool:
        return any(word in each.filler or word in each.greeting for each in self.languages)

    def _is_quoted(self, place: _Place) -> bool:
        """Whether a name is in a quotation of more than itself, in code, or in a link."""
        before, after = self._plain[: place.start], self._plain[place.end :]
        line = before.rpartition("\n")[2]
        if line.lstrip().startswith(">"):
            return True
        for mark in '"`':
            if before.count(mark) % 2 and mark in after:
                inside = before.rpartition(mark)[2] + after.partition(mark)[0]
                if inside.strip(" @"):
                    return True
        return "://" in before.rpartition(" ")[2] or (not place.at and "/" in (before[-1:], after[:1]))

    def _joined(self, one: int, other: int) -> str | None:
        """What stands between two names, if they are a list: `, `, ` and `, or nothing."""
        between = self._plain[self._ends[one] : self._places[other].start]
        if _LIST.fullmatch(between):
            return between
        word = between.strip(" ,@")
        if word in _AND:
            return between
        return between if any(word in each.joins for each in self.languages) else None

    def _last_of_list(self, first: int) -> int:
        last = first
        while last + 1 < len(self._places) and self._joined(last, last + 1) is not None:
            last += 1
        return last

    def _is_list_called(self, first: int, last: int, manner: Manner) -> bool:
        """Whether several names are called together, and not one that is told about the other."""
        if all(each.at for each in self._places[first : last + 1]):
            return True
        after = self._plain[self._ends[last] :]
        if _SEPARATOR.match(after) or _MARKS.fullmatch(after):
            return True
        if self._ends[last] > self._places[last].end and not after[:1].isalpha():
            return True  # an honorific sets them off
        if not self.languages[0].spaced and after[:1].isspace():
            return True
        third, _ = self._follows(after)
        if any(each.you.starting(after.lstrip()) for each in self.languages) and not third:
            return True
        joined = self._joined(last - 1, last) or ""
        return any(character.isalpha() for character in joined) and manner in CALLING

    @staticmethod
    def _is_called_before(found: list[Manner], at: int) -> bool:
        return any(manner in CALLING for manner in found[:at])

    def _has(self, phrases: Phrases) -> bool:
        words = regex.findall(r"[\p{L}\p{M}'-]+", self._plain)
        if any(word in phrases for word in words):
            return True
        spaced = f" {' '.join(words)} "
        return any(
            (f" {phrase} " in spaced) if " " in phrase else (not phrase.isascii() and phrase in self._plain)
            for phrase in phrases.all
            if " " in phrase or _UNSPACED_PHRASE.search(phrase)
        )


def _ending(phrases: Phrases, text: str) -> int:
    """How many characters of the end of a text are a phrase, or one with a letter drawn out: `heyyy`."""
    found = phrases.ending(text)
    if found or len(text) < 3 or not text[-1] == text[-2] == text[-3]:
        return found
    short = text.rstrip(text[-1]) + text[-1]
    found = phrases.ending(short)
    return found + len(text) - len(short) if found else 0


_UNSPACED_PHRASE = regex.compile(rf"[{NO_SPACES}\p{{Hangul}}]")
_HONOUR = regex.compile(r"さん|くん|ちゃん|様|さま|先生|님|씨|-\w+")


def _calls_everybody(plain: str, languages: tuple[Language, ...]) -> bool:
    """Whether a text calls everybody who is there."""
    if "@" in plain and any(word.rstrip(".,:;!?") in EVERYONE for word in plain.split()):
        return True
    for language in languages:
        rest, greeted = plain.lstrip(), False
        for _ in range(4):
            marks = _MARKS.match(rest)
            rest = rest[marks.end() :] if marks else rest
            length = language.everybody.starting(rest)
            if length:
                after = rest[length:]
                word = after.lstrip()
                greets = language.greeting.starting(word) > 0
                plainly = language.code != "en" and not language.third.starting(word)
                if greeted or greets or plainly or regex.match(r"\s*(?:[,:;!.-]|$)", after):
                    return True
            step = max(language.greeting.starting(rest), language.filler.starting(rest))
            if not step:
                break
            greeted = greeted or language.greeting.starting(rest) >= step
            rest = rest[step:]
            for particle in (" a ", " à ", " an ", " to ", " とも "):
                if greeted and rest.startswith(particle):
                    rest = rest[len(particle) - 1 :]
    return False
