"""Finds the names of people in a text: whole, in part, with a typing error, or attached to other words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import regex

from towhom.hearing.languages import fillers, ordinary_words
from towhom.hearing.people import People
from towhom.hearing.words import NO_SPACES

COMMON = 0.7
"""A word with a weight up to this counts as a name only where it is plainly called."""
AND = ("و", "ו")
"""`And` in Arabic and Hebrew, which is attached to the next word."""
SET_OFF = regex.compile(r"(?:[,;:(|>]|\s-+|\.{2,})\s*$")
"""Marks that separate a name from the words before it."""
_SETTING_OFF = tuple(",;:(|>-.")
"""The last characters of such marks."""
_SHORTEST_GUESS = 4
_LONGEST_LEAD = 24
_LONGEST_TAIL = 3
"""How many characters may be before or after a partial or mistyped name."""
_CHUNK = regex.compile(r"[^\s,;:!?()<>\"|/&+\\]+")
# The same, for texts with scripts that have no spaces: also split where scripts meet.
_MIXED = regex.compile(rf"[{NO_SPACES}\p{{Hangul}}]+|[^\s,;:!?()<>\"|/&+\\{NO_SPACES}\p{{Hangul}}]+")
_REST = regex.compile(r"[\s\p{P}\p{S}]*$")
_OPENING = "@*_~'[{(<\"#"
_CLOSING = ".'*~-]})>\"_…"


@dataclass(slots=True)
class Place:
    """The place of a name in a normalized text."""

    start: int
    end: int
    who: tuple[str, ...]
    word: str
    at: bool
    """Whether there is an @ before it."""
    loosely: bool = False
    """Whether it is a prefix or has a typing error; then it counts only where a name is expected."""


def names_in(plain: str, people: People, weight: Callable[[str], float]) -> Iterator[Place]:
    """The places of names, in order and without overlaps."""
    taken, knows, size = 0, people.knows, len(plain)
    for start, text, attached in _chunks(plain, people):
        if start < taken:
            continue
        if text.isalpha() and not attached and not knows(text):  # most words
            end = start + len(text)
            if start > _LONGEST_LEAD and size - end > _LONGEST_TAIL:
                continue
            place = _guessed(text, start, plain, people, weight)
        else:
            place = _long_name(text, plain, start, people)
            if place is None and attached:
                at = plain[start - 1 : start] == "@"
                place = Place(start, start + len(text), people.called(text), text, at)
            elif place is None and text:
                place = _name_in(text, start, plain, people, weight)
        if place is not None:
            yield place
            taken = place.end


def _chunks(plain: str, people: People) -> Iterator[tuple[int, str, bool]]:
    """Chunks between spaces and marks, in order, and names that are attached to other words."""
    front = len(plain) - len(plain.lstrip())
    if plain[front : front + 1] and not plain[front].isalnum():
        yield front, "", False  # a name may begin with a sign
    if plain.isascii():
        for found in _CHUNK.finditer(plain):
            yield found.start(), found[0], False
        return
    chunks = {found.start(): (found[0], False) for found in _MIXED.finditer(plain)}
    chunks.update((start, (name, True)) for start, name in _attached_names(plain, people).items())
    for start in sorted(chunks):
        yield start, *chunks[start]


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
    text: str, start: int, plain: str, people: People, weight: Callable[[str], float]
) -> Place | None:
    who = people.called(text)
    if who:
        return Place(start, start + len(text), who, text, _at(plain, start))
    bare = text.lstrip(_OPENING) if text[0] in _OPENING else text
    start += len(text) - len(bare)
    if bare is not text:
        long = _long_name(bare, plain, start, people)
        if long is not None:
            return long
    at = "@" in text[: len(text) - len(bare)] or _at(plain, start)
    closed = bare.rstrip(_CLOSING)
    for word in dict.fromkeys((bare, closed, bare.partition("'")[0], bare.partition("-")[0])):
        who = people.called(word) if word else ()
        if who:
            return Place(start, start + len(word), who, word, at)
    if closed[:1] in AND and people.called(closed[1:]):
        return Place(start + 1, start + len(closed), people.called(closed[1:]), closed[1:], at)
    return _guessed(closed, start, plain, people, weight, at=at)


def _guessed(
    word: str, start: int, plain: str, people: People, weight: Callable[[str], float], *, at: bool = False
) -> Place | None:
    """The place of a partial or mistyped name, if a name is likely there and somebody is meant by it."""
    if len(word) < _SHORTEST_GUESS or word in ordinary_words():
        return None
    at, end = at or _at(plain, start), start + len(word)
    if not (at or _is_expected(plain, start, end)):
        return None
    set_off = at or plain[end : end + 1] in (":", ",") or _is_set_off(plain, start)
    if weight(word) <= COMMON and not set_off:
        return None
    who = people.meant(word, slips=set_off)
    return Place(start, end, who, word, at, loosely=True) if who else None


def _at(plain: str, start: int) -> bool:
    return plain[start - 1 : start] == "@" or (plain[start - 2 : start] in ("<@", "(@"))


def _is_expected(plain: str, start: int, end: int) -> bool:
    """Whether a name is likely there: near the front, or at the end after a comma or the like."""
    before, after = plain[:start].strip(), plain[end : end + 1]
    if len(before) < _LONGEST_LEAD and (
        not before or after in (":", ",") or before.rstrip(",! ") in fillers()
    ):
        return True
    return _is_set_off(plain, start) and _REST.match(plain, end) is not None


def _is_set_off(plain: str, start: int) -> bool:
    """Whether a mark separates a name from the words before it. Usually the last character tells."""
    before = plain[:start].rstrip()
    return before[-1:] in _SETTING_OFF and SET_OFF.search(plain, 0, start) is not None


def _long_name(first: str, plain: str, start: int, people: People) -> Place | None:
    """The place of a name with several words or with signs in it, if one begins there."""
    for name in people.long_names(first):
        end = start + len(name)
        if plain.startswith(name, start) and not plain[end : end + 1].isalnum():
            return Place(start, end, people.called(name), name, _at(plain, start))
    return None
