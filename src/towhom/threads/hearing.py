"""What is known of a message when it is heard: who says it, whom it names, what it is made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Kind, Message, seconds_since_1970
from towhom.corpus.mentions import SHORTEST
from towhom.lexicon import Lexicon
from towhom.people import NAME_LIKE, REMEMBERED, People
from towhom.text.tokenizer import tokenize

REACH = 100
"""How many messages back an answer may lie; what is farther back never happened."""
NOBODY = -1
STRANGER = -2
"""Somebody is named who has not spoken."""
MENTIONS = 3
"""People named inside a text who count."""

SPOKEN = frozenset({Kind.MESSAGE, Kind.ACTION, Kind.NOTICE})
_LONGEST = 4000
"""Characters of a message that are read."""
_SEPARATORS = ":,;>"
_LARGEST = 1 << 40
"""No channel has more messages, or people."""


@dataclass(slots=True)
class Heard:
    """A message, as far as later ones are compared with it. People are numbers."""

    speaker: int
    named: int
    """Who is named in front; `NOBODY`, `STRANGER`."""
    mentions: tuple[int, ...]
    """(`MENTIONS`,) Others who are named."""
    time: float
    """Seconds; not a number if the log does not say."""
    own: int
    """How many messages ago the speaker spoke, 0 if not within reach."""
    called: int
    """How many messages ago the speaker was named, 0 if not within reach."""
    question: bool
    command: bool
    """Whether it looks like one for a bot."""
    action: bool
    tokens: NDArray[np.int32] = field(repr=False)
    pieces: NDArray[np.uint32] = field(repr=False)
    parent: int = 0
    """How many messages ago what it answers was said, at first sight; 0 if it starts a conversation."""
    thread: int = -1
    """The number of its conversation, at first sight."""
    answered: int = NOBODY
    """Who said what it answers, at first sight."""

    def state(self) -> dict[str, Any]:
        """As JSON can hold it."""
        arrays = {"tokens": self.tokens.tolist(), "pieces": self.pieces.tolist()}
        return {**asdict(self), **arrays, "time": None if isnan(self.time) else self.time}

    @classmethod
    def of(cls, state: dict[str, Any]) -> Heard:
        """What `state` gave.

        Raises:
            LookupError, TypeError, ValueError: It did not.
        """
        numbers: dict[str, Any] = {name: _whole(state[name]) for name in _NUMBERS}
        flags: dict[str, Any] = {name: state[name] for name in _FLAGS}
        mentions = tuple(_whole(each) for each in state["mentions"])
        if not all(0 <= numbers[name] <= REACH for name in _DISTANCES) or len(mentions) != MENTIONS:
            raise ValueError("there is a message that is out of reach")
        if not all(type(flag) is bool for flag in flags.values()):
            raise TypeError("expected true or false")
        return cls(
            **numbers,
            **flags,
            mentions=mentions,
            time=float("nan") if state["time"] is None else float(state["time"]),
            tokens=np.array(list(state["tokens"]), np.int32),
            pieces=np.array(list(state["pieces"]), np.uint32),
        )

    def answers(self, parent: Heard, back: int) -> None:
        """It answers a message, that was said `back` messages ago."""
        self.parent, self.thread, self.answered = back, parent.thread, parent.speaker

    def starts(self, thread: int) -> None:
        """It starts a conversation, which gets a number."""
        self.parent, self.thread, self.answered = 0, thread, NOBODY


_DISTANCES = ("own", "called", "parent")
_NUMBERS = (*_DISTANCES, "speaker", "named", "thread", "answered")
_FLAGS = ("question", "command", "action")


def _whole(value: object) -> int:
    if type(value) is not int or abs(value) > _LARGEST:
        raise TypeError(f"expected a whole number, found {value!r}")
    return value


class Hearing:
    """Turns messages of one channel into what is known of them. Memory is bounded.

    Args:
        lexicon: The words of the model.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._people = People()
        self._numbers: dict[str, int] = {}
        self._spoke: dict[int, int] = {}
        self._called: dict[int, int] = {}
        self._next_number = 0
        self.count = 0
        """Messages heard so far."""

    def rename(self, old: str, new: str) -> None:
        """Somebody is called differently from now on."""
        if old in self._numbers and old != new:
            self._people.heard(new)
            self._numbers[new] = self._numbers[old]

    def hear(self, message: Message) -> Heard:
        """The next message that is said."""
        speaker = self._number(message.speaker)
        named, text = self._named(message, speaker)
        words = tokenize(text)
        is_name = self._people.is_name
        heard = Heard(
            speaker=speaker,
            named=named,
            mentions=self._mentions(words, {speaker, named}),
            time=float("nan") if message.time is None else seconds_since_1970(message.time),
            own=self._since(self._spoke, speaker),
            called=self._since(self._called, speaker),
            question="?" in words,
            command=text.startswith("!"),
            action=message.kind is not Kind.MESSAGE,
            tokens=self._lexicon.tokens(words, is_name),
            pieces=self._lexicon.pieces(words, is_name),
        )
        self._spoke[speaker] = self.count
        if named >= 0:
            self._called[named] = self.count
        self._people.heard(message.speaker)
        self.count += 1
        if len(self._numbers) > 2 * REMEMBERED:
            self._forget()
        return heard

    def state(self) -> dict[str, Any]:
        """What is known of people, as JSON can hold it."""
        return {
            "count": self.count,
            "next": self._next_number,
            "numbers": dict(self._numbers),
            "people": list(self._people.names),
            "spoke": list(self._spoke.items()),
            "called": list(self._called.items()),
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on where `state` was."""
        self.count, self._next_number = int(state["count"]), int(state["next"])
        self._numbers = {str(name): int(number) for name, number in state["numbers"].items()}
        for name in state["people"]:
            self._people.heard(name)
        self._spoke = {int(who): int(at) for who, at in state["spoke"]}
        self._called = {int(who): int(at) for who, at in state["called"]}

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = self._next_number
            self._next_number += 1
        return self._numbers[name]

    def _since(self, last: dict[int, int], who: int) -> int:
        distance = self.count - last.get(who, self.count)
        return distance if distance <= REACH else 0

    def _named(self, message: Message, speaker: int) -> tuple[int, str]:
        """Who is named in front, and the rest of the text."""
        text = message.text[:_LONGEST]
        if message.addressee is not None:
            return self._numbers.get(message.addressee, STRANGER), text
        found = self._people.named_in_front(text)
        if found is not None:
            return self._numbers.get(found[0], STRANGER), found[1]
        # Often the name comes without a separator, or in other letters.
        first, _, rest = text.lstrip().partition(" ")
        word = first.rstrip(_SEPARATORS).removeprefix("@").lower()
        who = self._people.spoken.get(word)
        if who is not None and (first[-1:] in _SEPARATORS or self._is_telling(word)):
            number = self._numbers.get(who, STRANGER)
            if number != speaker:
                return number, rest
        if first.endswith(":") and len(word) >= SHORTEST and rest:
            return STRANGER, text
        return NOBODY, text

    def _mentions(self, words: list[str], others: set[int]) -> tuple[int, ...]:
        found: dict[int, None] = {}
        for word in words:
            who = self._people.spoken.get(word)
            if who is not None and self._is_telling(word):
                found[self._numbers.get(who, STRANGER)] = None
        telling = [number for number in found if number not in others]
        return tuple((telling + [NOBODY] * MENTIONS)[:MENTIONS])

    def _is_telling(self, word: str) -> bool:
        """Whether a word that is a name is likely to be meant as one."""
        return len(word) >= SHORTEST and self._lexicon.weight(word) > NAME_LIKE

    def _forget(self) -> None:
        """Those who have been silent for long."""
        self._numbers = {name: n for name, n in self._numbers.items() if name in self._people.names}
        known = set(self._numbers.values())
        self._spoke = {who: at for who, at in self._spoke.items() if who in known}
        self._called = {who: at for who, at in self._called.items() if who in known}
