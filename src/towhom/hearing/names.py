"""Where names of people stand in a text: whole, in part, with a typing error, attached to other words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import regex

from towhom.hearing.languages import fillers, ordinary_words
from towhom.hearing.people import People
from towhom.hearing.words import NO_SPACES

COMMON = 0.7
"""A word that tells less is a name only where it is plainly called."""
AND = ("و", "ו")
"""What joins two words in Arabic and Hebrew is attached to the second."""
SET_OFF = regex.compile(r"(?:[,;:(|>]|\s-+|\.{2,})\s*$")
"""What sets a name off from the words before it."""
_SHORTEST_GUESS = 4
_LONGEST_LEAD = 24
_CHUNK = regex.compile(r"[^\s,;:!?()<>\"|/&+\\]+")
# The same, for texts with scripts that have no spaces: also split where scripts meet.
_MIXED = regex.compile(rf"[{NO_SPACES}\p{{Hangul}}]+|[^\s,;:!?()<>\"|/&+\\{NO_SPACES}\p{{Hangul}}]+")
_FIRST_WORD = regex.compile(r"[^\s,;:!?]+")
_REST = regex.compile(r"[\s\p{P}\p{S}]*$")
_OPENING = "@*_~'[{(<\"#"
_CLOSING = ".'*~-]})>\"_…"


@dataclass(slots=True)
class Place:
    """Where a name stands in a normalized text."""

    start: int
    end: int
    who: tuple[str, ...]
    word: str
    at: bool
    """Whether an @ stands before it."""
    loosely: bool = False
    """Whether it is a prefix, or has a typing error: believed only where a name is expected."""


def names_in(plain: str, people: People, weight: Callable[[str], float]) -> Iterator[Place]:
    """Where names stand, in order, none within another."""
    taken = 0
    attached = _attached_names(plain, people) if not plain.isascii() else {}
    pattern = _CHUNK if plain.isascii() else _MIXED
    chunks = {found.start(): found for found in pattern.finditer(plain)}
    front = len(plain) - len(plain.lstrip())
    for start in sorted({front, *chunks, *attached}):
        if start < taken:
            continue
        if start not in chunks and start not in attached:
            place = _long_or(plain, start, people)  # a name that begins with a sign
            if place is not None:
                yield place
                taken = place.end
            continue
        if start in attached:
            name = attached[start]
            at = plain[start - 1 : start] == "@"
            yield Place(start, start + len(name), people.called(name), name, at)
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
) -> Place | None:
    text, start = chunk[0], chunk.start()
    if start > _LONGEST_LEAD and text.isalpha() and not people.knows(text) and plain[start - 1] == " ":
        return None  # most words: plainly nobody's name
    who = people.called(text)
    if who:
        return _long_or(plain, start, people) or Place(start, start + len(text), who, text, _at(plain, start))
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
                return Place(start, start + len(word), who, word, at)
    word = bare.rstrip(_CLOSING)
    if word[:1] in AND and people.called(word[1:]):
        return Place(start + 1, start + len(word), people.called(word[1:]), word[1:], at)
    if len(word) < _SHORTEST_GUESS or not (at or _is_expected(plain, start, start + len(word))):
        return None
    # A prefix or a typing error is looked for only where a name is likely.
    set_off = at or plain[start + len(word) : start + len(word) + 1] in (":", ",")
    if word in ordinary_words() or (weight(word) <= COMMON and not set_off):
        return None
    who = people.meant(word, slips=set_off)
    return Place(start, start + len(word), who, word, at, loosely=True) if who else None


def _at(plain: str, start: int) -> bool:
    return plain[start - 1 : start] == "@" or (plain[start - 2 : start] in ("<@", "(@"))


def _is_expected(plain: str, start: int, end: int) -> bool:
    """Whether a name is likely there: in front with something after it, or at the end after a comma."""
    before, after = plain[:start].strip(), plain[end : end + 1]
    if SET_OFF.search(plain, 0, start) and _REST.match(plain, end):
        return True
    return len(before) < _LONGEST_LEAD and (
        not before or before.rstrip(",! ") in fillers() or after in (":", ",")
    )


def _long_or(plain: str, start: int, people: People) -> Place | None:
    """A name of several words that begins there."""
    if not people.has_long_names:
        return None
    first = _FIRST_WORD.match(plain, start)
    if first is None:
        return None
    for name in people.long_names(first[0]):
        end = start + len(name)
        if plain.startswith(name, start) and not plain[end : end + 1].isalnum():
            return Place(start, end, people.called(name), name, _at(plain, start))
    return None
