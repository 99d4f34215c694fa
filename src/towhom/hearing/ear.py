"""Analyses the messages of a room, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Message, seconds_since_1970
from towhom.hearing.calls import Call, Calls, listen
from towhom.hearing.languages import LATIN, languages, languages_of
from towhom.hearing.lexicon import COMMON_WORDS, SHORTEST, Lexicon
from towhom.hearing.manners import SURE, Manner
from towhom.hearing.people import People
from towhom.hearing.states import text_of, whole_of
from towhom.hearing.utterance import LONGEST, REACH, Bearing, Utterance
from towhom.hearing.words import asks, normalized, words
from towhom.text.pieces import PIECE_WEIGHTS

_TELLING = 0.4
"""Words with more weight than this are informative; others are very common."""
_IDS = 10_000
"""Number of latest messages that can be answered by their identifiers."""
_LANGUAGES = 50
"""Number of messages that determine the language of a room."""
_PIECES = 5000
"""Number of pieces of words that are counted, in rooms whose language the model does not know."""
_SAMPLED = 8
"""After those, the language of one message in so many is determined."""


class Ear:
    """Analyses the messages of one room. Memory is bounded.

    Args:
        lexicon: The words of the model.

    >>> from towhom import load
    >>> ear = Ear(load().lexicon)
    >>> robo = ear.people.introduce("robo", bot=True)
    >>> ear.hear(Message("ann", "good evening robo, is the site up?")).addressees
    ('robo',)
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self.people = People()
        self.count = 0
        """Number of messages so far."""
        self._authors: dict[str, str] = {}
        self._spoke: dict[str, int] = {}
        self._called: dict[str, int] = {}
        self._languages: Counter[str] = Counter()
        self._pieces: Counter[int] = Counter()
        self._weighed = 0
        """Number of messages whose pieces were counted."""

    @property
    def language(self) -> str | None:
        """The code of the room's language; None if it was not determined yet."""
        return max(self._languages, key=self._languages.__getitem__) if self._languages else None

    @property
    def lexicon(self) -> Lexicon:
        """The model's words, which are English; in a room of another language, an empty lexicon for it."""
        code = self.language
        return self._lexicon if code in (None, LATIN[0]) else self._lexicon.foreign(code)

    def author(self, id: str | None) -> str | None:
        """The speaker of the message with an identifier; None if it is not remembered."""
        return None if id is None else self._authors.get(id)

    def hear(self, message: Message) -> Utterance:
        """Analyse the next message. From then on, its speaker is known."""
        person = self.people.hear(message.speaker, name=message.name, bot=message.bot)
        utterance = self.imagine(message)
        if utterance.language is not None:
            self._languages[utterance.language] += 1
            if self._languages.total() > _LANGUAGES:
                self._languages = Counter({code: n // 2 for code, n in self._languages.items() if n > 1})
        if self.lexicon.knows_nothing:
            self._count_pieces(utterance.pieces)
        self._spoke[person.id] = self.count
        for who in utterance.addressees:
            self._called[who] = self.count
        if message.id is not None:
            self._authors.pop(message.id, None)
            self._authors[message.id] = person.id
            if len(self._authors) > _IDS:
                del self._authors[next(iter(self._authors))]
        self.count += 1
        if max(len(self._spoke), len(self._called)) > 2 * (len(self.people) + REACH):
            self._forget()
        return utterance

    def imagine(self, message: Message) -> Utterance:
        """Analyse a message without remembering it."""
        speaker = self.people.id_of(message.speaker)
        text = message.text[:LONGEST]
        heard = self._listen(text, speaker, message)
        calls = _with_link(heard.calls, self.author(message.reply_to), self._given(message), speaker)
        utterance = Utterance(
            speaker,
            # If the log says who it is for, the name is not in the text any more.
            _cut(text, heard.rest if message.addressee is None else 0),
            calls,
            heard.everybody,
            heard.stranger and not calls,
            None if message.time is None else seconds_since_1970(message.time),
            message.id,
            message.reply_to,
            message.kind,
            own=self._since(self._spoke, speaker),
            called=self._since(self._called, speaker),
            language=heard.language,
        )
        self.read(utterance)
        return utterance

    def rehear(self, utterance: Utterance, text: str, mentions: tuple[str, ...] = ()) -> None:
        """Analyse a message again, because it was edited or because somebody has become known.

        Args:
            utterance: The message, which is changed in place.
            text: Its text now.
            mentions: The people whom the platform marks as mentioned in it now.
        """
        message = Message(utterance.speaker, text, reply_to=utterance.reply_to, mentions=mentions)
        given = tuple(call for call in utterance.calls if call.manner is Manner.GIVEN)
        new = self.imagine(message)
        utterance.hear_calls(given or new.calls)
        for name in (
            "text",
            "everybody",
            "stranger",
            "asks",
            "bearing",
            "tokens",
            "pieces",
            "weights",
            "names",
            "telling",
        ):
            setattr(utterance, name, getattr(new, name))

    def naming(self, newcomer: str, earlier: Iterable[Utterance]) -> list[Utterance]:
        """Earlier messages that begin with the name of somebody who was not known then."""
        name = normalized(self.people.name_of(newcomer))
        return [
            utterance
            for utterance in earlier
            if utterance.addressee is None
            and normalized(utterance.text[: len(name) + 2].lstrip(" @")).startswith(name)
        ]

    def rename(self, old: str, new: str) -> bool:
        """Rename somebody; returns whether that was possible."""
        return self.people.rename(old, new)

    def state(self) -> dict[str, Any]:
        """The state of the ear as a JSON value."""
        return {
            "count": self.count,
            "people": self.people.state(),
            "authors": list(self._authors.items()),
            "spoke": list(self._spoke.items()),
            "called": list(self._called.items()),
            "languages": dict(self._languages),
            "pieces": list(self._pieces.items()),
            "weighed": self._weighed,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self.count = whole_of(state["count"])
        self.people = People()
        self.people.resume(state["people"])
        self._authors = {text_of(id): text_of(who) for id, who in state["authors"]}
        self._spoke = {text_of(who): whole_of(at, below=self.count) for who, at in state["spoke"]}
        self._called = {text_of(who): whole_of(at, below=self.count) for who, at in state["called"]}
        self._languages = Counter({text_of(code): whole_of(n) for code, n in state["languages"].items()})
        self._pieces = Counter({whole_of(piece): whole_of(n) for piece, n in state["pieces"]})
        self._weighed = whole_of(state["weighed"])
        if not self._languages.keys() <= languages().keys():
            raise ValueError("there is a language that is not known")
        if max(self._pieces.values(), default=0) > self._weighed:
            raise ValueError("there is a piece in more messages than were counted")

    # -- inside

    def _listen(self, text: str, speaker: str, message: Message) -> Calls:
        marked = [self.people.id_of(who) for who in message.mentions]
        heard = listen(
            text, self.people, speaker, weight=self._lexicon.weight, marked=marked, usual=self.language
        )
        if heard.language is None and (self.count < _LANGUAGES or self.count % _SAMPLED == 0):
            heard.language = languages_of(normalized(text), self.language)[0].code
        return heard

    def _given(self, message: Message) -> str | None:
        """The identifier of the addressee that the platform or the log gives."""
        if message.addressee is None:
            return None
        known = self.people.find(message.addressee)
        return message.addressee if known is None else known.id

    def read(self, utterance: Utterance) -> None:
        """Set what is derived from an utterance's words: tokens, pieces, names, and so on."""
        lexicon, is_name = self.lexicon, self.people.is_name
        found = words(utterance.text)
        utterance.tokens = lexicon.tokens(found, is_name)
        utterance.pieces = lexicon.pieces(found, is_name)
        utterance.weights = self._weigh(utterance.pieces, lexicon)
        different = dict.fromkeys(found)
        utterance.names = tuple(
            word
            for word in different
            if len(word) >= SHORTEST and not 0 < lexicon.ids.get(word, 0) <= COMMON_WORDS
        )
        utterance.telling = sum(lexicon.weight(word) > _TELLING for word in different)
        utterance.asks = asks(utterance.text)
        utterance.bearing = _bearing(
            utterance.text, utterance.language or self.language or LATIN[0], different
        )

    def _weigh(self, pieces: NDArray[np.uint32], lexicon: Lexicon) -> NDArray[np.float32]:
        """How informative pieces are; where the model knows no word, by how rare they are in the room."""
        weights: NDArray[np.float32] = lexicon.piece_weights[pieces & np.uint32(PIECE_WEIGHTS - 1)]
        if lexicon.knows_nothing and self._weighed:
            times = np.array([max(self._pieces[piece], 1) for piece in pieces.tolist()], np.float64)
            rarity = 1.0 - np.log(times) / log(self._weighed + 2)
            weights = np.minimum(weights, rarity).astype(np.float32)
        return weights

    def _count_pieces(self, pieces: NDArray[np.uint32]) -> None:
        self._pieces.update(pieces.tolist())
        self._weighed += 1
        if len(self._pieces) > _PIECES:
            self._pieces = Counter({piece: n // 2 for piece, n in self._pieces.items() if n > 1})
            self._weighed //= 2

    def _since(self, last: dict[str, int], who: str) -> int:
        distance = self.count - last.get(who, self.count)
        return distance if distance <= REACH else 0

    def _forget(self) -> None:
        """Forget when people spoke or were called, if that is out of reach."""
        first = self.count - REACH
        self._spoke = {who: at for who, at in self._spoke.items() if at >= first}
        self._called = {who: at for who, at in self._called.items() if at >= first}


def _with_link(
    calls: Iterable[Call], author: str | None, given: str | None, speaker: str
) -> tuple[Call, ...]:
    """The calls in a text and those that the platform states, the surest first."""
    found: dict[str, Call] = {}
    for who, manner in ((given, Manner.GIVEN), (author, Manner.REPLY)):
        if who is not None and who != speaker:
            found.setdefault(who, Call(who, manner, SURE[manner]))
    for call in calls:
        found.setdefault(call.who, call)
    return tuple(sorted(found.values(), key=lambda call: -call.sure))


def _bearing(text: str, code: str, words: Iterable[str]) -> Bearing:
    language, plain = languages()[code], normalized(text)
    start = plain.lstrip()
    return Bearing(
        language.anybody.inside(plain, words),
        language.greeting.starting(start) > 0,
        language.filler.starting(start) > 0,
        language.you.inside(plain, words),
    )


def _cut(text: str, rest: int) -> str:
    """The text after its front, whose end is given as a place in the normalized text."""
    if not rest:
        return text
    if text.isascii():
        return text[rest:]
    front = normalized(text)[:rest].rstrip()
    for place in range(1, len(text) + 1):
        if normalized(text[:place]).rstrip() == front:
            end = place
            while end < len(text) and text[end].isspace():
                end += 1
            return text[end:]
    return text
