"""What words are made of, so that `/etc/postfix/main.cf` meets "postfix", and "installing" meets "installed".

A word is taken apart where letters, digits and marks meet; of each part, endings are cut off, and what
remains is hashed. Two messages have a piece in common if the hashes are the same: that needs no vocabulary,
and works for package names, paths and links that nobody has seen before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from zlib import crc32

MOST = 4
"""Pieces of a word that count: a link has dozens."""

PIECE_WEIGHTS = 1 << 16
"""How much it tells to have a piece in common is kept by so many values of its hash."""

_PARTS = re.compile(r"[^\W\d_]+|\d+")
_ENDINGS = ("ing", "ed", "er")
_SHORTEST, _LONGEST = 3, 7
_EVERYWHERE = frozenset({"http", "https", "www", "com", "org", "net"})


def stem(part: str) -> str:
    """The beginning of a word, the same for most of its forms.

    >>> stem("installing"), stem("installed"), stem("drivers"), stem("drive"), stem("is")
    ('install', 'install', 'driv', 'driv', 'is')
    """
    if part.endswith("s") and len(part) - 1 >= _SHORTEST:
        part = part[:-1]
    for ending in _ENDINGS:
        if part.endswith(ending) and len(part) - len(ending) >= _SHORTEST:
            part = part.removesuffix(ending)
            break
    if part.endswith("e") and len(part) - 1 >= _SHORTEST:
        part = part[:-1]
    return part[:_LONGEST]


def parts(word: str) -> tuple[str, ...]:
    """The pieces of a lower-cased word, as text.

    >>> parts("/etc/postfix/main.cf")
    ('etc', 'postfix', 'main', 'cf')
    >>> parts("?")
    ('?',)
    """
    found = _PARTS.findall(word)
    telling = [part for part in found if len(part) > 1] or found[:1] or [word]
    return tuple(stem(part) for part in telling if part not in _EVERYWHERE)[:MOST]


@lru_cache(maxsize=1 << 16)
def pieces(word: str) -> tuple[int, ...]:
    """The pieces of a lower-cased word, as 32-bit hashes."""
    return tuple(crc32(part.encode("utf-8", "replace")) for part in parts(word))


def pieces_of(words: Iterable[str]) -> list[int]:
    """The distinct pieces of some words, in order of appearance."""
    return list(dict.fromkeys(piece for word in words for piece in pieces(word)))
