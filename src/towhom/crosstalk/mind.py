"""Crosstalk: for each message, how likely it answers each earlier one, or starts a thread.

All other results are sums or maxima over these probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk import network, words
from towhom.crosstalk.columns import NOBODY, Array, Columns, Flags, Numbers, Whole, columns_of, joined
from towhom.crosstalk.reader import FORKS, PAGE, TURN, Page, Reader
from towhom.crosstalk.signals import Signals, compare, places_before
from towhom.crosstalk.structure import Second, Sights, look_again, parents
from towhom.hearing.states import text_of, whole_of
from towhom.hearing.utterance import REACH, Utterance

_quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")
"""Some matrix libraries warn about numbers that they do not use."""
ROWS = 128
"""Maximum number of messages of several rooms in one pass: more do not fit into the processor's caches."""
_ROOMS = 64
"""Maximum number of rooms in one pass, for the same reason."""
_SOME = 16
"""Number of messages that may stay in memory longer than they are needed."""
_PEOPLE = 500
"""When a room has seen more people than this, those who are out of reach are forgotten."""


class Answerable(NamedTuple):
    """The texts of N messages, encoded as messages that may be answered."""

    heard: Array
    as_heard: Array

    def after(self, others: Answerable) -> Answerable:
        """Append these messages to others."""
        return Answerable(*(np.concatenate(parts) for parts in zip(others, self, strict=True)))

    def part(self, first: int, last: int | None = None) -> Answerable:
        """The messages from `first` up to `last`."""
        return Answerable(*(part[first:last] for part in self))

    def put(self, places: Whole, others: Answerable) -> Answerable:
        """Replace the messages at the given indices; returns a copy."""
        parts = [part.copy() for part in self]
        for part, other in zip(parts, others, strict=True):
            part[places] = other
        return Answerable(*parts)

    def last(self, count: int) -> Answerable:
        """The last `count` messages; copied if many precede them, since a view would keep those in memory."""
        first = len(self.heard) - count
        return Answerable(*(part[first:] if first < _SOME else part[first:].copy() for part in self))


class Texts(NamedTuple):
    """The encoded texts of N messages."""

    state: Array
    answers: Array
    as_answer: Array
    said: Answerable

    def after(self, others: Texts) -> Texts:
        """Append these messages to others."""
        return Texts(
            np.concatenate([others.state, self.state]),
            np.concatenate([others.answers, self.answers]),
            np.concatenate([others.as_answer, self.as_answer]),
            self.said.after(others.said),
        )

    def at(self, places: Whole) -> Texts:
        """The messages at the given indices."""
        said = Answerable(*(part[places] for part in self.said))
        return Texts(self.state[places], self.answers[places], self.as_answer[places], said)


class FirstLook(NamedTuple):
    """The first look at R messages, each compared with those before it."""

    seen: Signals
    fits: Array
    """(R, `REACH`, `TOWERS`) How well the texts of each pair fit together."""
    cells: Array
    """(R, `REACH`, cells) All features of each pair of messages."""
    energies: Array
    """(R, `REACH` + 1) The last column is for starting a thread."""


class Mind:
    """Computes with a model's weights. It is immutable, so any number of processor threads can share it.

    Args:
        weights: Arrays by the names in `words.shapes` and `network.shapes`.
        reader: Reads rooms word by word, if the model has one.
    """

    def __init__(self, weights: Mapping[str, NDArray[np.float32]], reader: Reader | None = None) -> None:
        self.reader = reader
        self._w = {name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()}

    @_quiet
    def read(self, messages: Sequence[Utterance]) -> Texts:
        """Encode the texts of messages."""
        tokens = [message.tokens for message in messages]
        offsets = np.cumsum([0, *map(len, tokens)])
        every = np.concatenate([np.empty(0, np.int32), *tokens])
        return self._texts(words.encode(self._w, every, offsets))

    def texts(self, state: Array) -> Texts:
        """Messages whose words were encoded before; `state` is that of `words.encode`."""
        return self._texts(words.Encoded(state, *words.project(self._w, state)))

    def _texts(self, encoded: words.Encoded) -> Texts:
        as_answer, as_heard = network.says(self._w, encoded.state)
        return Texts(encoded.state, encoded.answers, as_answer, Answerable(encoded.heard, as_heard))

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
        """Compare some messages with those before them.

        Args:
            past: See `signals.compare`.
            new: See `signals.compare`.
            at: See `signals.compare`.
            said: The encoded texts of the past messages.
            drafts: The encoded texts of the new messages.
            reach: See `signals.compare`.
            timed: See `signals.compare`.
            weigh: Whether the messages are drafts, which are weighed against each other.
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
        """(R, `REACH` + 1) Energies that take threads into account; minus infinity where it did not look."""
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
    """The second look's input: alone, and with the first's, (R, K, cells + `STRUCTURE`), (R, all `ALONE`)."""
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
    """(R, `REACH`, `TOWERS`) How well each message answers earlier ones; `places` may be one row for all."""
    if len(places) < len(answers):
        places = np.broadcast_to(places, (len(answers), places.shape[1]))
    found = np.empty((answers.shape[1], *places.shape), np.float32)
    latest = places[:, 0]
    # Rows that look at the same messages are taken together; rooms are far apart.
    ends = [*(np.flatnonzero(np.abs(np.diff(latest)) > REACH) + 1).tolist(), len(places)]
    for start, end in pairwise([0, *ends]):
        first = int(places[start:end].min(initial=len(heard)))
        near = heard[first : int(latest[start:end].max(initial=0)) + 1]
        found[:, start:end] = words.fits(answers[start:end], near, places[start:end] - first)
    return found.transpose(1, 2, 0)


class Known(NamedTuple):
    """The message that is answered according to the platform."""

    back: int
    """How many messages ago it was sent."""
    thread: int
    """Its thread as of the first look; it may be out of reach."""


class Heard(NamedTuple):
    """The links and threads of R messages."""

    likely: Array
    """(R, `REACH` + 1) How likely each answers earlier messages, the latest first; last, none of them."""
    threads: list[int]
    """Their threads as of the first look."""


class Question(NamedTuple):
    """The next messages of a room, as input of `hear`."""

    room: Room
    new: Sequence[Utterance]
    known: Sequence[Known | None]
    """For each message, what it answers according to the platform; None if the platform does not say."""


def hear(questions: Sequence[Question]) -> list[Heard]:
    """Take the next messages of several rooms of one mind; the same as room by room, only faster.

    Each message is compared with those before it in its room; later ones have no influence.

    Args:
        questions: One per room, with at least one message each.
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
    """Take the next messages of several rooms in one pass."""
    rooms, news, known = zip(*questions, strict=True)
    counts = np.array([*map(len, news)])
    mind: Mind = rooms[0].mind
    drafts = mind.read([message for new in news for message in new])
    ends = np.cumsum(counts)
    for room, new, end in zip(rooms, news, ends.tolist(), strict=True):
        room.append(new, drafts.said.part(end - len(new), end))
    sizes = np.array([len(room.messages) for room in rooms])
    # Rooms are concatenated; `reach` keeps each from seeing beyond its own first message.
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
    likely = softmax(mind.second_look(past, new, at, sights, looked, reach=reach, numbers=numbers))
    parts = [
        room.read(each, len(new))
        for room, new, each in zip(rooms, news, np.split(likely, ends[:-1]), strict=True)
    ]
    for room in rooms:
        room.forget()
    return [Heard(*each) for each in zip(parts, threads, strict=True)]


def _turn_after(number: int) -> int:
    """The number of the first message that is not on the page of another."""
    return (number // TURN + 1) * TURN


def _one_after_another(parts: Iterable[tuple[NDArray[Any], ...]]) -> Iterator[NDArray[Any]]:
    return map(np.concatenate, zip(*parts, strict=True))


class Room:
    """The last messages of one channel, as many as coming messages are compared with.

    Args:
        mind: The model.
    """

    def __init__(self, mind: Mind) -> None:
        self.mind = mind
        self.messages: list[Utterance] = []
        self.said = mind.read([]).said
        """Their encoded texts."""
        self.number = 0
        """The number of the next message."""
        self._numbers = Numbers()
        self.columns = columns_of([], self._numbers)
        self._parent: list[int] = []
        self._thread: list[int] = []
        self._answered: list[str | None] = []
        self._page: Page | None = None

    def hear(self, new: Sequence[Utterance], known: Sequence[Known | None] | None = None) -> Heard:
        """Take the next messages; `hear` does so for several rooms."""
        if not new:
            return Heard(np.empty((0, REACH + 1), np.float32), [])
        return hear([Question(self, new, known or [None] * len(new))])[0]

    def append(self, new: Sequence[Utterance], said: Answerable) -> None:
        """Store messages and their encoded texts."""
        self.messages += new
        self.number += len(new)
        self.said = said.after(self.said)
        if len(self._numbers) > _PEOPLE:
            self._numbers = Numbers()
            self.columns = columns_of(self.messages, self._numbers)
        else:
            self.columns = joined([self.columns, columns_of(new, self._numbers)])

    def decide(self, energies: Array, known: Sequence[Known | None]) -> list[int]:
        """Store what the last messages answer as of the first look, and return their threads.

        Args:
            energies: (R, `REACH` + 1) Energies of the first look.
            known: (R,) What they answer according to the platform.
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
        """Which threads the messages belong to, as of the first look."""
        answered = [NOBODY if who is None else self._numbers.get(who, NOBODY) for who in self._answered]
        return Sights(np.array(self._parent), np.array(self._thread), np.array(answered))

    @_quiet
    def read(self, likely: Array, count: int) -> Array:
        """(R, `REACH` + 1) How likely links of the last messages are, once the reader has read them.

        Args:
            likely: (R, `REACH` + 1) How likely they are by the two looks.
            count: The number of messages, R.
        """
        reader = self.mind.reader
        if reader is None:
            return likely
        found, number = [], self.number - count
        while number < self.number:
            page = self._page = self._page_for(reader, number)
            stop = min(_turn_after(number), self.number)
            found.append(page.read(self._numbered(number, stop)))
            number = stop
        at = np.arange(len(self.messages) - count, len(self.messages))
        return self._judged(reader, likely, np.concatenate(found), self.messages[-count:], at)

    def _judged(
        self, reader: Reader, likely: Array, scores: Array, messages: Sequence[Utterance], at: Whole
    ) -> Array:
        """(R, `REACH` + 1) How likely links of messages at some places are; see `Reader.judged`."""
        speakers = np.array([self._numbers.get(message.speaker, NOBODY) for message in messages])
        places, there = places_before(at)
        own = there & (self.columns.speaker[places] == speakers[:, None])
        named = np.array([bool(message.addressees) for message in messages])
        return softmax(reader.judged(likely, scores, own, named))

    def _page_for(self, reader: Reader, number: int) -> Page:
        """The page on which the message of a number comes next."""
        first = max(_turn_after(number) - PAGE, 0, self.number - len(self.messages))
        if self._page is not None and (self._page.first, self._page.next) == (first, number):
            return self._page
        page = reader.page(first)
        if first < number:
            page.read(self._numbered(first, number))
        return page

    def _numbered(self, first: int, last: int) -> list[Utterance]:
        """The messages from one number up to another."""
        oldest = self.number - len(self.messages)
        return self.messages[first - oldest : last - oldest]

    def forget(self) -> None:
        """Forget the messages that are out of reach of coming ones."""
        del self.messages[:-REACH], self._parent[:-REACH], self._thread[:-REACH], self._answered[:-REACH]
        self.said = self.said.last(len(self.messages))
        self.columns = self.columns.part(self.columns.size - len(self.messages))

    @_quiet
    def imagine(self, message: Utterance, at: int | None = None) -> Array:
        """(`REACH` + 1,) What a message would answer if it were sent next, or at the given place."""
        if not self.messages:
            return np.append(np.zeros(REACH, np.float32), np.float32(1.0))
        place = np.array([len(self.messages) if at is None else at])
        new, looked = self._first_look([message], place)
        numbers = place + self.number - len(self.messages)
        likely = softmax(
            self.mind.second_look(self.columns, new, place, self.sights, looked, numbers=numbers)
        )
        reader = self.mind.reader
        if reader is not None:
            page = self._page_for(reader, int(numbers[0]))
            if at is None:
                self._page = page
            likely = self._judged(reader, likely, page.fork([message]), [message], place)
        result: Array = likely[0]
        return result

    def weigh(self, drafts: Sequence[Utterance]) -> Array:
        """(R, `REACH` + 1) Energies of drafts with each message they may answer; P(r, j) is their softmax."""
        if not self.messages:
            return np.zeros((len(drafts), REACH + 1), np.float32)
        at = np.full(len(drafts), len(self.messages))
        together = len({(draft.speaker, draft.time, draft.own, draft.called) for draft in drafts}) == 1
        energies = self._first_look(drafts, at, weigh=True, together=together)[1].energies
        return self._reread(drafts, energies)

    @_quiet
    def _reread(self, drafts: Sequence[Utterance], energies: Array) -> Array:
        """Energies of drafts. What the likeliest answer is for the reader to say, not how likely they are."""
        reader = self.mind.reader
        if reader is None:
            return energies
        totals = np.logaddexp.reduce(energies, axis=1)
        # A bank asks about answers whose words it does not store.
        some = [place for place in np.argsort(-totals, kind="stable").tolist() if drafts[place].text][:FORKS]
        if not some:
            return energies
        page = self._page = self._page_for(reader, self.number)
        chosen = [drafts[place] for place in some]
        at = np.full(len(chosen), len(self.messages))
        likely = self._judged(reader, softmax(energies[some]), page.fork(chosen), chosen, at)
        with np.errstate(divide="ignore"):
            energies[some] = np.log(likely) + totals[some, None]
        return energies

    def refresh(self, changed: Sequence[Utterance]) -> None:
        """Read messages again that were edited or deleted, if they are still stored."""
        self._numbers = Numbers()
        self.columns = columns_of(self.messages, self._numbers)
        self._page = None
        places = {id(message): place for place, message in enumerate(self.messages)}
        near = [message for message in changed if id(message) in places]
        which = np.array([places[id(message)] for message in near], np.int64)
        self.said = self.said.put(which, self.mind.read(near).said)

    def state(self) -> dict[str, Any]:
        """The room's state except the messages, as values for JSON."""
        return {
            "number": self.number,
            "sights": list(zip(self._parent, self._thread, self._answered, strict=True)),
        }

    def resume(self, state: Mapping[str, Any], messages: Sequence[Utterance]) -> None:
        """Restore a room from the result of `state`.

        Raises:
            LookupError, TypeError, ValueError: The state is invalid, or belongs to other messages.
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
        """Take a first look at messages without storing them; see `Mind.first_look`."""
        columns, drafts = columns_of(new, self._numbers), self.mind.read(new)
        looked = self.mind.first_look(
            self.columns, columns, at, self.said, drafts, weigh=weigh, together=together
        )
        return columns, looked
