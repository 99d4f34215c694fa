"""Messages as lines of a transcript, in the tokens of a language model: `Anna: Tom, did that help?`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from towhom.hearing.utterance import Utterance

LONGEST = 44
"""Maximum number of tokens of a message that are read."""
_CHARACTERS = 400

_WORD = re.compile(r"[^\s,:;!?()<>\"'@]+")
_ADDED = re.compile(r"^[\W_]+|[\W_\d]+$")

Encode = Callable[[str], Sequence[int]]


class Transcript:
    """Writes messages as tokens. People have common first names instead of their own.

    Args:
        encode: Turns text into tokens.
        names: First names, each of which is one token, in front and within a line.
    """

    def __init__(self, encode: Encode, names: Sequence[str]) -> None:
        self._encode = encode
        self._front = np.array([_one(encode(name)) for name in names], np.int64)
        self._within = np.array([_one(encode(f" {name}")) for name in names], np.int64)
        self._colon, self._end = _one(encode(":")), _one(encode("\n"))

    @property
    def names(self) -> int:
        """The number of first names."""
        return len(self._front)

    def line(self, message: Utterance, names: dict[str, int]) -> NDArray[np.int64]:
        """The tokens of a message; `names` holds the numbers of people's first names, and gets new ones."""
        return self.named(self.pattern(message, names))

    def pattern(
        self, message: Utterance, people: dict[str, int], *, hidden: bool = False
    ) -> NDArray[np.int64]:
        """The tokens of a message, with people as negative numbers: -1 for the first, -2 for the second.

        Args:
            message: The message.
            people: The numbers of people, from 0; gets new ones.
            hidden: Whether the message does not tell whom it calls: that person's name is left out.
        """
        said, text = [], " ".join(message.text.split())[:_CHARACTERS]
        named = [*message.addressees, *message.mentions]
        front = _person(message.speaker, people)
        if hidden and message.addressees:
            text = _without(text, named.pop(0))
        elif message.addressees:
            said += [_person(message.addressees[0], people), self._colon]
        found = {who.casefold(): who for who in named}
        at = 0
        for word in _WORD.finditer(text) if found else ():
            who = found.get(word[0].casefold())
            if who is not None:
                said += [*self._text(text[at : word.start()], first=at == 0), _person(who, people)]
                at = word.end()
        said += self._text(text[at:], first=at == 0)
        return np.array([front, self._colon, *said[:LONGEST], self._end], np.int64)

    def named(self, tokens: NDArray[np.int64], front: int | NDArray[np.int64] = 0) -> NDArray[np.int64]:
        """The tokens of lines, with first names instead of the numbers of people.

        Args:
            tokens: See `pattern`; one line or several.
            front: The places of the tokens in front of each line.
        """
        people = (-1 - tokens) % self.names
        names = self._within[people]
        names[front] = self._front[people[front]]
        return np.where(tokens < 0, names, tokens)

    def _text(self, text: str, *, first: bool) -> list[int]:
        """The tokens of a part of a line; a name in the text brings its own space in front."""
        text = text.rstrip()
        return [*self._encode(f" {text.lstrip()}" if first else text)] if text else []


def _person(who: str, people: dict[str, int]) -> int:
    return -1 - people.setdefault(who, len(people))


def _without(text: str, name: str) -> str:
    """A text without somebody's name, however it is decorated."""
    parts, at, bare = list[str](), 0, _bare(name)
    for word in _WORD.finditer(text):
        if _bare(word[0]) == bare:
            parts.append(text[at : word.start()].rstrip(" @"))
            at = word.end()
    rest = "".join([*parts, text[at:]])
    return rest.lstrip(" ,:;") if parts and not parts[0] else rest


def _bare(name: str) -> str:
    """A name without what people add to it: `eve` of `Eve_`, and of `eve.` at the end of a sentence."""
    return _ADDED.sub("", name.casefold()) or name.casefold()


def _one(tokens: Sequence[int]) -> int:
    if len(tokens) != 1:
        raise ValueError("a name must be one token")
    return tokens[0]
