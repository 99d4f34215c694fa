"""Crosstalk: for every message, which of those before it it answers, and whether it starts something.

Everything else that anybody asks is a sum or a maximum over these probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk import network, words
from towhom.crosstalk.columns import NOBODY, Array, Columns, Flags, Numbers, Whole, columns_of
from towhom.crosstalk.signals import Signals, compare, places_before
from towhom.crosstalk.structure import Second, Sights, look_again, parents
from towhom.hearing.states import text_of, whole_of
from towhom.hearing.utterance import REACH, Utterance

_quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")
"""Some libraries for matrices complain about numbers that they do not use."""
_PEOPLE = 500
"""When more have come up than this, those who have left are forgotten."""


class Texts(NamedTuple):
    """What N messages say."""

    state: Array
    answers: Array
    heard: Array
    as_answer: Array
    as_heard: Array

    def after(self, others: Texts) -> Texts:
        """These, after others."""
        return Texts(*(np.concatenate(parts) for parts in zip(others, self, strict=True)))

    def at(self, places: Whole) -> Texts:
        """Some of them."""
        return Texts(*(part[places] for part in self))

    def put(self, places: Whole, others: Texts) -> Texts:
        """These, but for others at some places."""
        parts = [part.copy() for part in self]
        for part, other in zip(parts, others, strict=True):
            part[places] = other
        return Texts(*parts)

    def last(self, count: int) -> Texts:
        """So many of them; copies, since a view would keep the others alive."""
        return Texts(*(part[len(part) - count :].copy() for part in self))


class FirstLook(NamedTuple):
    """What is made of R messages, each compared with those before it."""

    seen: Signals
    fits: Array
    """(R, `REACH`, `TOWERS`)"""
    cells: Array
    """(R, `REACH`, cells) All that is known of each two."""
    energies: Array
    """(R, `REACH` + 1) The last is of a start."""


class Mind:
    """What a model knows. It does not change, and can be shared by any number of threads.

    Args:
        weights: By the names in `words.shapes` and `network.shapes`.
    """

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        self._w = {name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()}

    @_quiet
    def read(self, messages: Sequence[Utterance]) -> Texts:
        """What messages say."""
        tokens = [message.tokens for message in messages]
        offsets = np.cumsum([0, *map(len, tokens)])
        return self.texts(*words.encode(self._w, np.concatenate([np.empty(0, np.int32), *tokens]), offsets))

    def texts(self, state: Array, answers: Array, heard: Array) -> Texts:
        """What messages say, given how they were encoded."""
        return Texts(state, answers, heard, *network.says(self._w, state))

    @_quiet
    def first_look(
        self,
        past: Columns,
        new: Columns,
        at: Whole,
        said: Texts,
        drafts: Texts,
        *,
        reach: Whole | None = None,
        timed: Flags | None = None,
        weigh: bool = False,
    ) -> FirstLook:
        """What is seen of some messages.

        Args:
            past: See `signals.compare`.
            new: See there.
            at: See there.
            said: What the messages of the past say.
            drafts: What the new ones say.
            reach: See `signals.compare`.
            timed: See there.
            weigh: Whether they are drafts, which are weighed against each other.
        """
        seen = compare(past, new, at, reach=reach, timed=timed)
        places, _ = places_before(at)
        fits = fits_of(drafts.answers, said.heard, places) * seen.there[..., None]
        cells = network.cells_of(self._w, seen.pairs, fits)
        found = network.first_look(self._w, cells, seen.messages, drafts.as_answer, said.as_heard, places)
        energies = np.concatenate([np.where(seen.there, found.cells, -np.inf), found.start[:, None]], axis=1)
        if weigh:
            says, there = (drafts.state, drafts.as_answer), seen.there.astype(np.float32)
            energies += network.draft_energies(self._w, found.units, there, seen.messages, says)[:, None]
        return FirstLook(seen, fits, cells, energies)

    @_quiet
    def second_look(
        self,
        past: Columns,
        new: Columns,
        at: Whole,
        sights: Sights,
        first: FirstLook,
        *,
        number: int,
    ) -> Array:
        """(R, `REACH` + 1) Energies, knowing the conversations; minus infinity where it did not look."""
        found, cells, messages = seen_again(past, new, at, sights, first, number=number)
        likeliest, start = network.second_look(self._w, cells, messages, found.there.astype(np.float32))
        result = np.full(first.energies.shape, -np.inf, np.float32)
        rows = np.arange(len(at))[:, None]
        result[rows, found.likeliest] = np.where(found.there, likeliest, -np.inf)
        result[:, REACH] = start
        return result


def seen_again(
    past: Columns, new: Columns, at: Whole, sights: Sights, first: FirstLook, *, number: int = 0
) -> tuple[Second, Array, Array]:
    """What the second look sees; (R, K, cells and `STRUCTURE`), (R, `ALONE` and `ALONE_AFTER`) all of it."""
    seen, fits, cells, energies = first
    found = look_again(
        past, new, at, sights, energies[:, :REACH], softmax(energies), seen.pairs, fits, number=number
    )
    rows = np.arange(len(at))[:, None]
    return (
        found,
        np.concatenate([cells[rows, found.likeliest], found.pairs], axis=2),
        np.concatenate([seen.messages, found.messages], axis=1),
    )


def softmax(energies: Array) -> Array:
    """(R, D) Probabilities."""
    odds = np.exp(energies - energies.max(axis=1, keepdims=True))
    result: Array = odds / odds.sum(axis=1, keepdims=True)
    return result


def fits_of(answers: Array, heard: Array, places: Whole) -> Array:
    """(R, `REACH`, `TOWERS`) How well each message is answered."""
    first = int(places.min(initial=len(heard)))
    heard = heard[first : int(places.max(initial=0)) + 1]
    products = np.matmul(answers.transpose(1, 0, 2), heard.transpose(1, 2, 0))  # (K, R, N)
    found = np.take_along_axis(products, (places - first)[None], axis=2)
    return found.transpose(1, 2, 0)


class Known(NamedTuple):
    """What the platform says that a message answers."""

    back: int
    """How many messages before it that was."""
    thread: int
    """Its conversation at first sight; it may be out of reach."""


class Heard(NamedTuple):
    """What is made of R messages."""

    likely: Array
    """(R, `REACH` + 1) How likely each answers those before it, the latest first; last, none of them."""
    threads: list[int]
    """Their conversations at first sight."""


class Room:
    """The last messages of one channel, as far as those to come are compared with them.

    Args:
        mind: What looks at them.
    """

    def __init__(self, mind: Mind) -> None:
        self._mind = mind
        self.messages: list[Utterance] = []
        self._numbers = Numbers()
        self._columns = columns_of([], self._numbers)
        self._texts = mind.read([])
        self._parent: list[int] = []
        self._thread: list[int] = []
        self._answered: list[str | None] = []
        self.number = 0
        """That of the next message."""

    def hear(self, new: Sequence[Utterance], known: Sequence[Known | None] | None = None) -> Heard:
        """Take the next messages; each is compared with those before it, as if later ones were not there.

        Args:
            new: The messages.
            known: Of each, what the platform says that it answers, if it does.
        """
        if not new:
            return Heard(np.empty((0, REACH + 1), np.float32), [])
        mind, first = self._mind, len(self.messages)
        drafts = mind.read(new)
        said = drafts.after(self._texts)
        self.messages += new
        past = self._past(new)
        at = np.arange(first, past.size)
        own = past.part(first)
        looked = mind.first_look(past, own, at, said, drafts)
        self._decide(looked.energies, known or [None] * len(new), first)
        threads = self._thread[first:]
        energies = mind.second_look(past, own, at, self._sights, looked, number=self.number - first)
        self.number += len(new)
        del self.messages[:-REACH], self._parent[:-REACH], self._thread[:-REACH], self._answered[:-REACH]
        self._texts = said.last(len(self.messages))
        self._columns = past.part(past.size - len(self.messages))
        return Heard(softmax(energies), threads)

    def imagine(self, message: Utterance, at: int | None = None) -> Array:
        """(`REACH` + 1,) What a message would answer if it were said next, or at some place instead."""
        if not self.messages:
            return np.append(np.zeros(REACH, np.float32), np.float32(1.0))
        place = np.array([len(self.messages) if at is None else at])
        past, new, looked = self._first_look([message], place)
        number = self.number - len(self.messages)
        energies = self._mind.second_look(past, new, place, self._sights, looked, number=number)
        result: Array = softmax(energies)[0]
        return result

    def weigh(self, drafts: Sequence[Utterance]) -> Array:
        """(R, `REACH` + 1) Energies of drafts and what each would answer; P(r, j) is their softmax."""
        if not self.messages:
            return np.zeros((len(drafts), REACH + 1), np.float32)
        at = np.full(len(drafts), len(self.messages))
        return self._first_look(drafts, at, weigh=True)[2].energies

    def refresh(self, changed: Sequence[Utterance]) -> None:
        """Look again at messages that were changed or taken back, as far as they are remembered."""
        self._numbers = Numbers()
        self._columns = columns_of(self.messages, self._numbers)
        places = {id(message): place for place, message in enumerate(self.messages)}
        near = [message for message in changed if id(message) in places]
        which = np.array([places[id(message)] for message in near], np.int64)
        self._texts = self._texts.put(which, self._mind.read(near))

    def state(self) -> dict[str, Any]:
        """What is known besides the messages, as JSON can hold it."""
        return {
            "number": self.number,
            "sights": list(zip(self._parent, self._thread, self._answered, strict=True)),
        }

    def resume(self, state: Mapping[str, Any], messages: Sequence[Utterance]) -> None:
        """Go on where `state` was.

        Raises:
            LookupError, TypeError, ValueError: It was no such state, or that of other messages.
        """
        self.number = whole_of(state["number"])
        self.messages = list(messages)
        for parent, thread, answered in state["sights"]:
            self._parent.append(whole_of(parent, below=REACH + 1))
            self._thread.append(whole_of(thread, below=max(self.number, 1)))
            self._answered.append(None if answered is None else text_of(answered))
        if not len(self._parent) == len(self.messages) <= min(self.number, REACH):
            raise ValueError("messages and conversations differ")
        self._numbers = Numbers()
        self._columns = columns_of(self.messages, self._numbers)
        self._texts = self._mind.read(self.messages)

    def _first_look(
        self, new: Sequence[Utterance], at: Whole, *, weigh: bool = False
    ) -> tuple[Columns, Columns, FirstLook]:
        """What there is to see of messages that are not to be remembered."""
        past, columns, drafts = self._columns, columns_of(new, self._numbers), self._mind.read(new)
        return past, columns, self._mind.first_look(past, columns, at, self._texts, drafts, weigh=weigh)

    @property
    def _sights(self) -> Sights:
        answered = [NOBODY if who is None else self._numbers.get(who, NOBODY) for who in self._answered]
        return Sights(np.array(self._parent), np.array(self._thread), np.array(answered))

    def _past(self, new: Sequence[Utterance]) -> Columns:
        """All messages, those that are new among them."""
        if len(self._numbers) > _PEOPLE:
            self._numbers = Numbers()
            return columns_of(self.messages, self._numbers)
        return columns_of(new, self._numbers).after(self._columns)

    def _decide(self, energies: Array, known: Sequence[Known | None], first: int) -> None:
        """Conversations at first sight."""
        for row, (likeliest, given) in enumerate(zip(parents(energies).tolist(), known, strict=True)):
            at = first + row
            back = likeliest if given is None else given.back
            if 0 < back <= min(REACH, at):
                self._parent.append(back)
                self._thread.append(self._thread[at - back])
                self._answered.append(self.messages[at - back].speaker)
            else:
                self._parent.append(0)
                own = self.number + row if given is None else given.thread
                self._thread.append(own if given is None or back > at else self._thread[at - back])
                self._answered.append(None)
