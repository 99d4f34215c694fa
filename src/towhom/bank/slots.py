"""Replaces names in stored texts by slots: those of the addressee, the responder and other people.

In the columns of a bank, a slot is a single character that no text contains; people see `{addressee}`.
"""

from __future__ import annotations

from collections.abc import Callable

import regex

from towhom.hearing.names import COMMON, names_in
from towhom.hearing.people import People
from towhom.hearing.words import normalized

ADDRESSEE, RESPONDER, OTHER, MAIL = "\ue000", "\ue001", "\ue002", "\ue003"
_SHOWN = {ADDRESSEE: "{addressee}", RESPONDER: "{responder}", OTHER: "{somebody}", MAIL: "{mail}"}
_SLOTS = regex.compile("[\ue000-\ue003]")
_MAIL = regex.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.\p{L}{2,}")
_CHUNK = regex.compile(r"\S+")
_LEAST = 3
"""Minimum letters of a name that is searched for in texts."""
_AROUND = "@*_~'`[{(<\"#,;:.!?)]}>"


def shown(text: str) -> str:
    """A text as people see it, with slots as words in braces.

    >>> shown(f"try it, {ADDRESSEE}")
    'try it, {addressee}'
    """
    return _SLOTS.sub(lambda found: _SHOWN[found[0]], text)


def without_slots(text: str) -> str:
    """A text without its slots.

    >>> without_slots(f"{ADDRESSEE}: try it, {RESPONDER}")
    ': try it, '
    """
    return _SLOTS.sub("", text)


def filled(text: str, *, addressee: str | None, responder: str) -> str:
    """A text with its slots filled by names, ready to be said.

    Args:
        text: A text as `shown` returns it.
        addressee: Name of the addressee; None for nobody in particular.
        responder: Name of the speaker.

    >>> filled("try it, {addressee}", addressee="noor", responder="wren")
    'try it, noor'
    """
    names = {"{addressee}": addressee or "you", "{responder}": responder, "{somebody}": "somebody"}
    for slot, name in names.items():
        text = text.replace(slot, name)
    return text


def without_names(
    text: str,
    people: People,
    weight: Callable[[str], float],
    *,
    addressee: str | None,
    responder: str,
    others: frozenset[str] = frozenset(),
) -> str:
    """A text with its names replaced by slots.

    Args:
        text: The text.
        people: The people in the room.
        weight: Returns the weight of a word; a common word is taken as a name only after an @.
        addressee: Identifier of the person whose name becomes `ADDRESSEE`.
        responder: Identifier of the person whose name becomes `RESPONDER`.
        others: Normalized names of all speakers in the same part of the log, before or after the text.
    """
    text = _MAIL.sub(MAIL, _SLOTS.sub("", text))

    def slot_of(who: tuple[str, ...]) -> str:
        return ADDRESSEE if addressee in who else RESPONDER if responder in who else OTHER

    plain = normalized(text)
    if len(plain) == len(text):
        spans = [
            (place.start, place.end, slot_of(place.who))
            for place in names_in(plain, people, weight)
            if place.at or (weight(place.word) >= COMMON and len(place.word) >= _LEAST)
        ]
        text = _replaced(text, spans)
    spans = []
    for chunk in _CHUNK.finditer(text):
        word = chunk[0].strip(_AROUND)
        name = normalized(word)
        at = chunk[0].find(word)
        if len(name) >= _LEAST and name in others and (weight(name) >= COMMON or "@" in chunk[0][:at]):
            start = chunk.start() + at
            spans.append((start, start + len(word), slot_of(people.called(name))))
    return _replaced(text, spans)


def _replaced(text: str, spans: list[tuple[int, int, str]]) -> str:
    """A text with some spans, given in order, replaced."""
    if not spans:
        return text
    ends = [0, *(end for _, end, _ in spans)]
    starts = [start for start, _, _ in spans]
    parts = [text[end:start] + slot for end, start, (_, _, slot) in zip(ends, starts, spans, strict=False)]
    return "".join(parts) + text[ends[-1] :]
