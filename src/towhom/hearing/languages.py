"""Words that tell whether a name is called or talked about, in many languages: `languages.toml`."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import regex

from towhom.hearing.words import NO_SPACES

LATIN = ("en", "de", "es", "pt", "fr", "tr")
"""Languages that share a script and are recognised by their words; the first is the default."""
_SCRIPTS = {
    "ja": r"[\p{Hiragana}\p{Katakana}]",
    "ko": r"\p{Hangul}",
    "zh": r"\p{Han}",
    "th": r"\p{Thai}",
    "ar": r"\p{Arabic}",
    "he": r"\p{Hebrew}",
    "ru": r"\p{Cyrillic}",
    "hi": r"\p{Devanagari}",
}
_SCRIPT = regex.compile("|".join(f"(?P<{language}>{script})" for language, script in _SCRIPTS.items()))
_WORD = regex.compile(r"[\p{L}\p{M}']+")
_PLAIN = 2.0
"""With at least so many of its words, a language is certain."""
_ATTACHED = regex.compile(rf"[{NO_SPACES}\p{{Hangul}}]")
_UNSPACED = frozenset({"ja", "zh", "th"})


class Phrases:
    """Phrases to find at the start or the end of a text, the longest first.

    Args:
        phrases: The phrases, normalized.
        spaced: Whether a phrase must end where a word ends.
    """

    def __init__(self, phrases: Iterable[str], *, spaced: bool) -> None:
        self.all = frozenset(phrases)
        self.several = tuple(phrase for phrase in self.all if " " in phrase)
        """The phrases of several words."""
        self.attached = tuple(phrase for phrase in self.all if _ATTACHED.search(phrase))
        """The phrases in scripts that do not separate words, or attach endings to them."""
        self._by_first = _lengths(self.all, 0)
        self._by_last = _lengths(self.all, -1)
        self._spaced = spaced

    def __contains__(self, word: str) -> bool:
        return word in self.all

    def inside(self, plain: str, words: Iterable[str]) -> bool:
        """Whether a text contains one of the phrases.

        Args:
            plain: The normalized text.
            words: The words of the text.
        """
        if not self.all.isdisjoint(words):
            return True
        for phrase in self.several:
            if phrase in plain:
                return True
        return not plain.isascii() and any(phrase in plain for phrase in self.attached)

    def ending(self, text: str) -> int:
        """Length of the phrase at the end of a text; 0 if there is none."""
        for length in self._by_last.get(text[-1:], ()):
            if text[-length:] in self.all and length <= len(text):
                before = text[-length - 1 : -length]
                if not (self._spaced and _is_letter(before) and _is_letter(text[-length])):
                    return length
        return 0

    def starting(self, text: str) -> int:
        """Length of the phrase at the start of a text; 0 if there is none."""
        for length in self._by_first.get(text[:1], ()):
            if text[:length] in self.all and length <= len(text):
                after = text[length : length + 1]
                if not (self._spaced and _is_letter(after) and _is_letter(text[length - 1])):
                    return length
        return 0


def _lengths(phrases: Iterable[str], end: int) -> dict[str, list[int]]:
    """The lengths of phrases, the longest first, by their first or last character."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for phrase in phrases:
        found[phrase[end]].add(len(phrase))
    return {character: sorted(lengths, reverse=True) for character, lengths in found.items()}


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


@dataclass(frozen=True)
class Language:
    """The phrases of one language, from `languages.toml`."""

    code: str
    spaced: bool
    """Whether words are separated by spaces."""
    greeting: Phrases
    filler: Phrases
    you: Phrases
    request: Phrases
    third: Phrases
    before: Phrases
    vocative: Phrases
    honorific: Phrases
    everybody: Phrases
    anybody: Phrases
    joins: Phrases
    inverted: Phrases
    remark: Phrases
    objects: Phrases
    about: Phrases
    asks: Phrases
    common: frozenset[str]
    who: frozenset[str]
    not_asked: frozenset[str]
    not_third: frozenset[str]


@cache
def languages() -> dict[str, Language]:
    """All languages, by their codes."""
    listed = tomllib.loads((files("towhom.hearing") / "languages.toml").read_text("utf-8"))
    return {code: _language(code, lists) for code, lists in listed.items()}


def _language(code: str, lists: dict[str, list[str]]) -> Language:
    spaced = code not in _UNSPACED
    kinds = {
        kind: Phrases(lists[kind], spaced=spaced)
        for kind in (
            "greeting", "filler", "you", "request", "third", "before", "vocative", "honorific",
            "everybody", "anybody", "about", "asks",
        )
    }  # fmt: skip
    joins, inverted, remark, objects = (
        Phrases(lists.get(kind, ()), spaced=spaced) for kind in ("and", "inverted", "remark", "objects")
    )
    common, who, not_asked, not_third = (
        frozenset(lists.get(kind, ())) for kind in ("common", "who", "not_asked", "not_third")
    )
    return Language(
        code,
        spaced,
        joins=joins,
        inverted=inverted,
        remark=remark,
        objects=objects,
        common=common,
        who=who,
        not_asked=not_asked,
        not_third=not_third,
        **kinds,
    )


@cache
def ordinary_words() -> frozenset[str]:
    """Words that may begin a message without being a name: fillers, greetings, function words."""
    return frozenset().union(
        *(each.filler.all | each.greeting.all | each.common for each in languages().values())
    )


@cache
def function_words() -> frozenset[str]:
    """Words that every text of some language has."""
    return frozenset().union(*(each.common | each.filler.all for each in languages().values()))


@cache
def fillers() -> frozenset[str]:
    """Words that may begin a message, followed by a comma, without meaning: fillers and greetings."""
    return frozenset().union(*(each.filler.all | each.greeting.all for each in languages().values()))


@cache
def _everybody() -> tuple[frozenset[str], tuple[str, ...]]:
    """First words of phrases that call everybody, and whole phrases in scripts without spaces."""
    spaced: set[str] = set()
    unspaced: list[str] = []
    for language in languages().values():
        for phrase in language.everybody.all:
            if language.spaced:
                spaced.add(phrase.split()[0])
            else:
                unspaced.append(phrase)
    return frozenset(spaced), tuple(unspaced)


def may_call_everybody(head: str) -> bool:
    """A quick test of whether the start of a normalized text may call everybody."""
    spaced, unspaced = _everybody()
    if "@" in head or any(word.strip(",.:;!?") in spaced for word in head.split()):
        return True
    return not head.isascii() and any(phrase in head for phrase in unspaced)


@cache
def _telling() -> dict[str, tuple[tuple[str, float], ...]]:
    """By word, the languages of `LATIN` that have it, and the weight of that."""
    found: dict[str, dict[str, float]] = {}
    for code in LATIN:
        language = languages()[code]
        for word in language.common:
            found.setdefault(word, {})[code] = 1.0
        for word in language.filler.all | language.greeting.all | language.request.all:
            shares = found.setdefault(word, {})
            shares[code] = shares.get(code, 0.0) + 0.5
    return {word: tuple(shares.items()) for word, shares in found.items()}


def languages_of(text: str, usual: str | None = None) -> tuple[Language, ...]:
    """The languages that a normalized text may be in, the likeliest first.

    Args:
        text: The text, without names if possible.
        usual: The language of most messages of the room, for texts that could be in several.

    >>> [each.code for each in languages_of("wer kommt mit?")]
    ['de']
    >>> [each.code for each in languages_of("帮我看看")]
    ['zh', 'en']
    """
    known = languages()
    if not text.isascii():
        scripts = {found.lastgroup for found in _SCRIPT.finditer(text)} - {None}
        if scripts:
            first = [code for code in _SCRIPTS if code in scripts]
            if "ja" in scripts:
                first = ["ja", *(code for code in first if code not in ("ja", "zh"))]
            return tuple(known[code] for code in (*first, LATIN[0]))
    counts = dict.fromkeys(LATIN, 0.0)
    telling = _telling()
    for word in _WORD.findall(text):
        for code, share in telling.get(word, ()):
            counts[code] += share
    best = max(counts.values())
    chosen = [code for code in LATIN if counts[code] >= best > 0]
    if usual in LATIN and (not chosen or counts[usual] >= best - 0.5):
        chosen = [usual, *(code for code in chosen if code != usual)]
    if not chosen or (best < _PLAIN and LATIN[0] not in chosen):
        # An advantage of half a word over English is not enough to prefer another language.
        chosen.insert(0 if best - counts[LATIN[0]] <= 0.5 and usual is None else len(chosen), LATIN[0])
    return tuple(known[code] for code in chosen)
