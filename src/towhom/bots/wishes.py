"""Detects what a message wants from its reader: an answer, an action, or nothing.

Uses the word lists of `towhom.hearing.languages`, since people leave out question marks.
"""

from __future__ import annotations

from collections.abc import Iterator

import regex

from towhom.hearing.judge import MARKS
from towhom.hearing.languages import Language, languages_of
from towhom.hearing.utterance import Utterance
from towhom.hearing.words import asks, normalized

_SENTENCE = regex.compile(r"(?<=[.!?;:\n])\s+")
_WORD = regex.compile(r"[\p{L}\p{M}']+")
_FEW = 6
"""Maximum words of a question that continues the one before it."""


def wants(said: Utterance) -> bool:
    """Whether a message asks a question, or makes a request.

    >>> wants(Utterance("ann", "ok, and what does it cost")), wants(Utterance("ann", "what a day"))
    (True, False)
    """
    if said.asks:
        return True
    return requests(said.text, said.language)


def requests(text: str, language: str | None = None) -> bool:
    """Whether a sentence of a text begins or ends like a question or request, with or without marks.

    Args:
        text: The text.
        language: Code of its likely language.
    """
    plain = normalized(text)
    spoken = languages_of(plain, language)
    return any(_begins(sentence, spoken) or _ends(sentence, spoken) for sentence in _sentences(plain))


def continues(said: Utterance) -> bool:
    """Whether a message continues a question that was answered: `and for windows`.

    >>> continues(Utterance("ann", "and for windows")), continues(Utterance("ann", "and i like it"))
    (True, False)
    """
    plain = normalized(said.text)
    first, _, rest = plain.strip().partition(" ")
    following = _WORD.match(rest)
    if following is None or len(rest.split()) > _FEW:
        return False
    return any(
        first in each.joins and following[0] not in each.not_asked
        for each in languages_of(plain, said.language)
    )


def objects(said: Utterance) -> bool:
    """Whether a message says that an answer was wrong, of no help, or not enough.

    >>> objects(Utterance("ann", "hm, it still doesn't work")), objects(Utterance("ann", "nice"))
    (True, False)
    """
    plain = normalized(said.text)
    return any(
        each.objects.inside(plain, _WORD.findall(plain)) for each in languages_of(plain, said.language)
    )


def only_greets(said: Utterance) -> bool:
    """Whether a message is nothing but greetings, thanks and fillers.

    >>> only_greets(Utterance("ann", "great, thank you so much!")), only_greets(Utterance("ann", "hey you"))
    (True, False)
    """
    plain = normalized(said.text)
    spoken = languages_of(plain, said.language)
    for each in spoken:
        rest, _ = _without_lead(plain, each)
        if not any(map(str.isalnum, rest)) or rest in each.filler or rest in each.greeting:
            return True
    return False


def awaits(said: Utterance) -> bool:
    """Whether a message of the bot expects a response: it asks a question, or makes a request.

    >>> awaits(Utterance("bot", "Sure. Tell me who paid.")), awaits(Utterance("bot", "It is at noon."))
    (True, False)
    """
    return asks(said.text) or requests(said.text, said.language)


def _sentences(plain: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(plain):
        if sentence.strip():
            yield sentence.strip()


def _begins(sentence: str, spoken: tuple[Language, ...]) -> bool:
    for language in spoken:
        rest, polite = _without_lead(sentence, language)
        if polite:
            return True
        first = _WORD.match(rest)
        if first is not None and first[0] in language.not_asked:
            return False
        request = language.request.starting(rest)
        if request:
            return language.remark.starting(rest) < request
        if language.remark.starting(rest):
            return False
    return False


def _ends(sentence: str, spoken: tuple[Language, ...]) -> bool:
    """Whether a sentence ends like a request or question: `the safety page as well please`, `.., right`."""
    rest = sentence.rstrip(" .!?~")
    for language in spoken:
        request = language.request.ending(rest)
        if 0 < request < len(rest) and rest[-request:] in language.filler:
            return True
        tag = language.asks.ending(rest)
        if tag and rest[:-tag].rstrip().endswith(","):
            return True
    return False


def _without_lead(sentence: str, language: Language) -> tuple[str, bool]:
    """A sentence without leading words like `ok`, `and`, `hi`, and whether `please` was among them."""
    rest, polite = sentence, False
    while True:
        marks = MARKS.match(rest)
        rest = rest[marks.end() :] if marks else rest
        step = max(language.filler.starting(rest), language.greeting.starting(rest))
        if not step or language.request.starting(rest) > step or step == len(rest):
            return rest, polite
        lead = rest[:step]
        polite = polite or (
            lead in language.filler and lead in language.request and lead not in language.remark
        )
        rest = rest[step:]
