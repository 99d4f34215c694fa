"""Crosstalk: for every message, which of those before it it answers, and whether it starts something.

Everything else that anybody asks is a sum or a maximum over these probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk import network, words
from towhom.crosstalk.columns import NOBODY, Array, Columns, Flags, Numbers, Whole, columns_of, joined
from towhom.crosstalk.signals import Signals, compare, places_before
from towhom.crosstalk.structure import Second, Sights, look_again, parents
from towhom.hearing.states import text_of, whole_of
from towhom.hearing.utterance import REACH, Utterance

_quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")
"""Some libraries for matrices complain about numbers that they do not use."""
ROWS = 128
"""Messages that are looked at in one pass, where there are many: more do not fit into caches."""
_ROOMS = 64
"""Rooms of one pass, for the same reason."""
_SOME = 16
"""Messages that may be kept in memory for longer than they are needed."""
_PEOPLE = 500
"""When more have come up than this, those who have left are forgotten."""


class Answerable(NamedTuple):
    """What N messages say, as something that may be answered."""

    heard: Array
    as_heard: Array

    def after(self, others: Answerable) -> Answerable:
        """These, after others."""
        return Answerable(*(np.concatenate(parts) for parts in zip(others, self, strict=True)))

    def part(self, first: int, last: int | None = None) -> Answerable:
        """Some of them, one after the other."""
        return Answerable(*(part[first:last] for part in self))

    def put(self, places: Whole, others: Answerable) -> Answerable:
        """These, but for others at some places."""
        parts = [part.copy() for part in self]
        for part, other in zip(parts, others, strict=True):
            part[places] = other
        return Answerable(*parts)

    def last(self, count: int) -> Answerable:
        """So many of them; copies if there are many others, since a view would keep those alive."""
        first = len(self.heard) - count
        return Answerable(*(part[first:] if first < _SOME else part[first:].copy() for part in self))


class Texts(NamedTuple):
    """What N messages say."""

    state: Array
    answers: Array
    as_answer: Array
    said: Answerable

    def after(self, others: Texts) -> Texts:
        """These, after others."""
        return Texts(
            np.concatenate([others.state, self.state]),
            np.concatenate([others.answers, self.answers]),
            np.concatenate([others.as_answer, self.as_answer]),
            self.said.after(others.said),
        )

    def at(self, places: Whole) -> Texts:
        """Some of them."""
        said = Answerable(*(part[places] for part in self.said))
        return Texts(self.state[places], self.answers[places], self.as_answer[places], said)


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
        as_answer, as_heard = network.says(self._w, state)
        return Texts(state, answers, as_answer, Answerable(heard, as_heard))

    @_quiet
    def first_look(
        self,
        past: Columns,
        new: Columns,
        at: Whole,
        said: Answerable,
        drafts: Texts,
        *,
        reach: Whole | None = None,
        timed: Flags | None = None,
        weigh: bool = False,
        together: bool = False,
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
            together: See `signals.compare`.
        """
        seen = compare(past, new, at, reach=reach, timed=timed, together=together)
        places, _ = places_before(at[:1] if together else at)
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
        reach: Whole | None = None,
        numbers: Whole | None = None,
    ) -> Array:
        """(R, `REACH` + 1) Energies, knowing the conversations; minus infinity where it did not look."""
        found, cells, messages = seen_again(past, new, at, sights, first, reach=reach, numbers=numbers)
        likeliest, start = network.second_look(self._w, cells, messages, found.there.astype(np.float32))
        result = np.full(first.energies.shape, -np.inf, np.float32)
        rows = np.arange(len(at))[:, None]
        result[rows, found.likeliest] = np.where(found.there, likeliest, -np.inf)
        result[:, REACH] = start
        return result


def seen_again(
    past: Columns,
    new: Columns,
    at: Whole,
    sights: Sights,
    first: FirstLook,
    *,
    reach: Whole | None = None,
    numbers: Whole | None = None,
) -> tuple[Second, Array, Array]:
    """What the second look sees; (R, K, cells and `STRUCTURE`), (R, `ALONE` and `ALONE_AFTER`) all of it."""
    seen, fits, cells, energies = first
    found = look_again(
        past, new, at, sights, energies[:, :REACH], softmax(energies), seen.pairs, fits,
        reach=reach, numbers=numbers,
    )  # fmt: skip
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
    """(R, `REACH`, `TOWERS`) How well each message is answered; places may be one row for all."""
    if len(places) < len(answers):
        places = np.broadcast_to(places, (len(answers), places.shape[1]))
    found = np.empty((answers.shape[1], *places.shape), np.float32)
    latest = places[:, 0]
    # Those that look at the same messages together; rooms are far apart.
    ends = [*(np.flatnonzero(np.abs(np.diff(latest)) > REACH) + 1).tolist(), len(places)]
    for start, end in pairwise([0, *ends]):
        first = int(places[start:end].min(initial=len(heard)))
        near = heard[first : int(latest[start:end].max(initial=0)) + 1]
        products = np.matmul(answers[start:end].transpose(1, 0, 2), near.transpose(1, 2, 0))  # (K, R, N)
        which = (places[start:end] - first)[None]
        found[:, start:end] = np.take_along_axis(products, which, axis=2)
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


class Question(NamedTuple):
    """What is made of the next messages of a room?"""

    room: Room
    new: Sequence[Utterance]
    known: Sequence[Known | None]
    """Of each, what the platform says that it answers, if it does."""


def hear(questions: Sequence[Question]) -> list[Heard]:
    """Take the next messages of some rooms of one mind: as if room by room, only faster.

    Each message is compared with those before it in its room, as if later ones were not there.

    Args:
        questions: Of rooms that differ, at least one message each.
    """
    passes: list[list[Question]] = []
    rows = ROWS
    for question in questions:
        if rows + len(question.new) > ROWS or len(passes[-1]) == _ROOMS:
            passes.append([])
            rows = 0
        passes[-1].append(question)
        rows += len(question.new)
    return [heard for some in passes for heard in _hear(some)]


def _hear(questions: Sequence[Question]) -> list[Heard]:
    """Take the next messages of some rooms in one pass."""
    rooms, news, known = zip(*questions, strict=True)
    counts = np.array([*map(len, news)])
    mind: Mind = rooms[0].mind
    drafts = mind.read([message for new in news for message in new])
    ends = np.cumsum(counts)
    for room, new, end in zip(rooms, news, ends.tolist(), strict=True):
        room.append(new, drafts.said.part(end - len(new), end))
    sizes = np.array([len(room.messages) for room in rooms])
    # One room after the other: none sees beyond its own first message.
    before = np.arange(ends[-1]) + np.repeat(sizes - ends, counts)
    at = before + np.repeat(np.cumsum(sizes) - sizes, counts)
    reach = np.minimum(before, REACH)
    past = joined([room.columns for room in rooms])
    new = joined([room.columns.part(-len(new)) for room, new in zip(rooms, news, strict=True)])
    said = rooms[0].said if len(rooms) == 1 else Answerable(*_one_after_another(room.said for room in rooms))
    looked = mind.first_look(past, new, at, said, drafts, reach=reach)
    threads = [
        room.decide(energies, given)
        for room, energies, given in zip(rooms, np.split(looked.energies, ends[:-1]), known, strict=True)
    ]
    sights = Sights(*_one_after_another(room.sights for room in rooms))
    numbers = before + np.repeat([room.number - len(room.messages) for room in rooms], counts)
    energies = mind.second_look(past, new, at, sights, looked, reach=reach, numbers=numbers)
    for room in rooms:
        room.forget()
    return [Heard(*each) for each in zip(np.split(softmax(energies), ends[:-1]), threads, strict=True)]


def _one_after_another(parts: Iterable[tuple[NDArray[Any], ...]]) -> Iterator[NDArray[Any]]:
    return map(np.concatenate, zip(*parts, strict=True))


class Room:
    """The last messages of one channel, as far as those to come are compared with them.

    Args:
        mind: What looks at them.
    """

    def __init__(self, mind: Mind) -> None:
        self.mind = mind
        self.messages: list[Utterance] = []
        self.said = mind.read([]).said
        """What they say."""
        self.number = 0
        """That of the next message."""
        self._numbers = Numbers()
        self.columns = columns_of([], self._numbers)
        self._parent: list[int] = []
        self._thread: list[int] = []
        self._answered: list[str | None] = []

    def hear(self, new: Sequence[Utterance], known: Sequence[Known | None] | None = None) -> Heard:
        """Take the next messages; see `hear`, which does so for several rooms."""
        if not new:
            return Heard(np.empty((0, REACH + 1), np.float32), [])
        return hear([Question(self, new, known or [None] * len(new))])[0]

    def append(self, new: Sequence[Utterance], said: Answerable) -> None:
        """Remember messages, given what they say."""
        self.messages += new
        self.number += len(new)
        self.said = said.after(self.said)
        if len(self._numbers) > _PEOPLE:
            self._numbers = Numbers()
            self.columns = columns_of(self.messages, self._numbers)
        else:
            self.columns = joined([self.columns, columns_of(new, self._numbers)])

    def decide(self, energies: Array, known: Sequence[Known | None]) -> list[int]:
        """The conversations of the last messages at first sight, and of those before them if they go on.

        Args:
            energies: (R, `REACH` + 1) Of the first look.
            known: (R,) What the platform says that they answer.
        """
        first = len(self._thread)
        number = self.number - len(energies)
        for row, (likeliest, given) in enumerate(zip(parents(energies).tolist(), known, strict=True)):
            at = first + row
            back = likeliest if given is None else given.back
            if 0 < back <= min(REACH, at):
                self._parent.append(back)
                self._thread.append(self._thread[at - back])
                self._answered.append(self.messages[at - back].speaker)
            else:
                self._parent.append(0)
                own = number + row if given is None else given.thread
                self._thread.append(own if given is None or back > at else self._thread[at - back])
                self._answered.append(None)
        return self._thread[first:]

    @property
    def sights(self) -> Sights:
        """Where the messages belong, at first sight."""
        answered = [NOBODY if who is None else self._numbers.get(who, NOBODY) for who in self._answered]
        return Sights(np.array(self._parent), np.array(self._thread), np.array(answered))

    def forget(self) -> None:
        """Forget what is out of reach of those to come."""
        del self.messages[:-REACH], self._parent[:-REACH], self._thread[:-REACH], self._answered[:-REACH]
        self.said = self.said.last(len(self.messages))
        self.columns = self.columns.part(self.columns.size - len(self.messages))

    def imagine(self, message: Utterance, at: int | None = None) -> Array:
        """(`REACH` + 1,) What a message would answer if it were said next, or at some place instead."""
        if not self.messages:
            return np.append(np.zeros(REACH, np.float32), np.float32(1.0))
        place = np.array([len(self.messages) if at is None else at])
        new, looked = self._first_look([message], place)
        numbers = place + self.number - len(self.messages)
        energies = self.mind.second_look(self.columns, new, place, self.sights, looked, numbers=numbers)
        result: Array = softmax(energies)[0]
        return result

    def weigh(self, drafts: Sequence[Utterance]) -> Array:
        """(R, `REACH` + 1) Energies of drafts and what each would answer; P(r, j) is their softmax."""
        if not self.messages:
            return np.zeros((len(drafts), REACH + 1), np.float32)
        at = np.full(len(drafts), len(self.messages))
        together = len({(draft.speaker, draft.time, draft.own, draft.called) for draft in drafts}) == 1
        return self._first_look(drafts, at, weigh=True, together=together)[1].energies

    def refresh(self, changed: Sequence[Utterance]) -> None:
        """Look again at messages that were changed or taken back, as far as they are remembered."""
        self._numbers = Numbers()
        self.columns = columns_of(self.messages, self._numbers)
        places = {id(message): place for place, message in enumerate(self.messages)}
        near = [message for message in changed if id(message) in places]
        which = np.array([places[id(message)] for message in near], np.int64)
        self.said = self.said.put(which, self.mind.read(near).said)

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
        self.columns = columns_of(self.messages, self._numbers)
        self.said = self.mind.read(self.messages).said

    def _first_look(
        self, new: Sequence[Utterance], at: Whole, *, weigh: bool = False, together: bool = False
    ) -> tuple[Columns, FirstLook]:
        """What there is to see of messages that are not to be remembered; see `Mind.first_look`."""
        columns, drafts = columns_of(new, self._numbers), self.mind.read(new)
        looked = self.mind.first_look(
            self.columns, columns, at, self.said, drafts, weigh=weigh, together=together
        )
        return columns, looked
