"""Variants of names: whole, short, without accents, with a typing error."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import regex

from towhom.text.tokenizer import tokenize

LONGEST_NAME = 200
"""Number of characters of a name that are used."""
TAIL = "_`^|-~0123456789"
"""Characters that people add to the end of a nick when it is taken, or when they are away."""
_DECORATION = "[]{}()<>^`|\\/-=_~*.:;!+"
"""Characters that people put around a nick."""
SHORTEST_LOOSE = 3
"""The least number of characters of a nick without its tail."""
_SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa"})
_RUSSIAN_NAME = regex.compile(r"\p{Cyrillic}{3,}[ая]")
_HANGUL_NAME = regex.compile(r"\p{Hangul}{3}")


def name_parts(name: str, split: Callable[[str], list[str]] = tokenize) -> set[str]:
    """The words that reveal a name: the whole name, and the words in it.

    Args:
        name: The name.
        split: Splits a text into words; by default, as the protocol does it.

    >>> sorted(name_parts("Ada Lovelace"))
    ['ada', 'ada lovelace', 'lovelace']
    """
    return {name.lower(), *(word for word in split(name) if len(word) > 1 and word.isalnum())}


def shown_name(name: str) -> str:
    """A name as people see it: shortened, and without invisible control characters.

    >>> shown_name("ada\u202e ")
    'ada'
    """
    return visible_name(name) or name[:LONGEST_NAME]


def visible_name(name: str | None) -> str:
    """The visible part of a name; empty if the name is empty or has only control characters."""
    return "".join(character for character in (name or "")[:LONGEST_NAME] if character.isprintable()).strip()


def folded(name: str) -> str:
    """A normalized name without accents and the like, as people type it in a hurry.

    >>> folded("josé"), folded("алёна"), folded("أحمد") == folded("احمد")
    ('jose', 'алена', True)
    """
    if name.isascii():
        return name
    apart = unicodedata.normalize("NFKD", name)
    return unicodedata.normalize("NFC", "".join(each for each in apart if not unicodedata.combining(each)))


def short_forms(plain: str) -> set[str]:
    """Short forms of a normalized name that people may use instead of the whole name.

    >>> short_forms("[[ada]]"), short_forms("noor_")
    ({'ada'}, {'noor'})
    """
    several = plain.split()
    found = {folded(plain), plain.translate(_SPELT_OUT)}
    trimmed = (folded(each) for each in (plain.rstrip(TAIL), plain.strip(_DECORATION)))
    found.update(each for each in trimmed if len(each) >= SHORTEST_LOOSE)
    if len(several) > 1 and len(several[0]) > 1:
        found.add(folded(several[0]))
    if _HANGUL_NAME.fullmatch(plain):
        found.add(plain[1:])  # without the family name
    if _RUSSIAN_NAME.fullmatch(plain):
        found.add(folded(plain[:-1]))  # the short vocative among friends
    return found - {plain, ""}


def one_slip(typed: str, name: str) -> bool:
    """Whether two words differ by one letter that is missing, added or replaced, or by two swapped letters.

    >>> one_slip("hermsebot", "hermesbot"), one_slip("hermsbot", "hermesbot"), one_slip("hermit", "hermes")
    (True, True, False)
    """
    if typed == name:
        return True
    start = next((at for at, (a, b) in enumerate(zip(typed, name, strict=False)) if a != b), -1)
    if start < 0:
        return abs(len(typed) - len(name)) == 1
    a, b = typed[start:], name[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
