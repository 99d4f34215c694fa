"""Split words into pieces, so that `/etc/postfix/main.cf` matches "postfix", and "installing" "installed".

A word is split where letters, digits and marks meet; endings are cut off each part (for Russian, Arabic,
Hindi and some others by Snowball), and the rest is hashed. Chinese and Korean words, whose endings are not
set apart, are split into pairs of characters. Two messages have a piece in common if the hashes are equal:
this needs no vocabulary, and works for package names, paths and links never seen before.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain, repeat
from zlib import crc32

MOST = 4
"""Most pieces of a word that count: a link has dozens."""

PIECE_WEIGHTS = 1 << 16
"""Number of weights stored for pieces; the hash of a piece selects one of them."""

_PARTS = re.compile(r"[^\W\d_]+|\d+")
_ENDINGS = ("ing", "ed", "er")
_SHORTEST, _LONGEST = 3, 7
_EVERYWHERE = frozenset({"http", "https", "www", "com", "org", "net"})
_SNOWBALL = {"CYRILLIC": "russian", "ARABIC": "arabic", "DEVANAGARI": "hindi", "GREEK": "greek",
             "ARMENIAN": "armenian", "TAMIL": "tamil"}  # fmt: skip
_LATIN = {"de": "german", "es": "spanish", "pt": "portuguese", "fr": "french", "tr": "turkish"}
_PAIRED = frozenset({"CJK", "HANGUL"})


def stem(part: str) -> str:
    """The stem of a word, which is the same for most of its forms.

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


def parts(word: str, language: str = "") -> tuple[str, ...]:
    """The pieces of a lower-cased word, as text.

    Args:
        word: The word.
        language: Code of a language in Latin letters whose endings are cut off; English by default.

    >>> parts("/etc/postfix/main.cf")
    ('etc', 'postfix', 'main', 'cf')
    >>> parts("?")
    ('?',)
    >>> parts("принтером"), parts("서버를"), parts("está")
    (('принтер',), ('서버', '버를'), ('esta',))
    >>> parts("druckern", "de"), parts("impresora", "es")
    (('druck',), ('impreso',))
    """
    if language or not word.isascii():
        return _parts_of_any_script(word, language)
    found = _PARTS.findall(word)
    telling = [part for part in found if len(part) > 1] or found[:1] or [word]
    return tuple(stem(part) for part in telling if part not in _EVERYWHERE)[:MOST]


def _parts_of_any_script(word: str, language: str) -> tuple[str, ...]:
    found: list[str] = []
    letters = ""
    for character in f"{word} ":
        if unicodedata.category(character)[0] in "LM":  # vowel signs of Hindi and Thai are marks
            letters += character
            continue
        if letters:
            found += _roots(letters, language)
        letters = ""
        if character.isdigit():
            found.append(character)
    return tuple(found)[:MOST] or (word,)


def _roots(letters: str, language: str) -> Iterable[str]:
    """The pieces of a run of letters, depending on the script of the first letter."""
    script = unicodedata.name(letters[0], "").partition(" ")[0]
    if script in _PAIRED:
        return [letters[at : at + 2] for at in range(min(len(letters) - 1, MOST))] or [letters]
    if script == "LATIN" and language in _LATIN:
        return (_without_accents(_stemmer(_LATIN[language])(letters))[:_LONGEST],)
    if script == "LATIN":
        return (stem(_without_accents(letters)),)
    if script in _SNOWBALL:
        return (_stemmer(_SNOWBALL[script])(letters),)
    return (letters,)


def _without_accents(letters: str) -> str:
    apart = unicodedata.normalize("NFKD", letters)
    return "".join(character for character in apart if not unicodedata.combining(character))


def _joined(words: Iterable[str]) -> Iterator[str]:
    """Yield words, with runs of adjacent Chinese words replaced by pairs of characters."""
    run = ""
    for word in (*words, ""):
        if word and unicodedata.name(word[0], "").startswith("CJK"):
            run += word
            continue
        if len(run) == 1:
            yield run
        yield from (run[at : at + 2] for at in range(len(run) - 1))
        run = ""
        if word:
            yield word


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    # Imported only when there are endings to cut off.
    import snowballstemmer

    stem_word: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem_word


@lru_cache(maxsize=1 << 16)
def pieces(word: str, language: str = "") -> tuple[int, ...]:
    """The pieces of a lower-cased word, as 32-bit hashes."""
    return tuple(crc32(part.encode("utf-8", "replace")) for part in parts(word, language))


def pieces_of(words: Iterable[str], language: str = "") -> list[int]:
    """The distinct pieces of some words, in order of appearance.

    Adjacent Chinese words count as one: where a word ends is often a guess.
    """
    if language == "zh":
        words = _joined(words)
    return list(dict.fromkeys(chain.from_iterable(map(pieces, words, repeat(language)))))
