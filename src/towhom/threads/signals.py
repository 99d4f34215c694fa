"""A message compared with each of those before it, many messages at once.

Row r of every array is a message, column d the message d + 1 places before it. Nothing is learned here, so
training and running share it. Whatever a row sees was said before it: a channel gives the same numbers
message by message as all at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Kind
from towhom.hearing.utterance import REACH, Utterance

NOBODY = -1
STRANGER = -2
"""Somebody is named who is not known."""
MENTIONS = 3
"""People named in a text, besides who is called first, who count."""

Array = NDArray[np.float32]
Whole = NDArray[np.int64]

_NEVER = 1 << 40
_NONE = np.empty(0, np.int64)
_OLDER = 3
"""How many of the speaker's own messages are looked at."""
_PACE = 10
"""The time that the last so many messages took says how busy the channel is."""

WHO = ("same speaker", "names its speaker", "names another", "mentions its speaker", "is named by it",
       "is mentioned by it", "both name the same", "it names another",
       "it mentions whom this names")  # fmt: skip
TURNS = (
    "its speaker's last", "its speaker's last but one", "its speaker was named since", "continued at once",
    *(f"the speaker spoke since, {n}" for n in range(1, _OLDER + 1)),
    *(f"the speaker's last but {n} names its speaker" for n in range(_OLDER)),
    "the last that names the speaker", "by who named the speaker last",
)  # fmt: skip
IT = ("asks", "command", "action", "length", "names somebody", "since its speaker spoke",
      "first of its speaker", "asks anybody", "greets")  # fmt: skip
PLACE = ("distance",)
TIME = ("gap", "a gap", "gap known")
WORDS = ("common weight", "cosine of pieces", "rarest common piece", "common pieces")
MESSAGE = ("asks", "command", "action", "length", "names somebody", "names a stranger", "mentions somebody",
           "first within reach", "since the speaker spoke", "since the speaker was named",
           "spoke since named", "their last names somebody", "asks anybody", "greets",
           "begins like an answer", "says you", "calls everybody")  # fmt: skip
MESSAGE_TIME = ("gap since the speaker spoke", "pace", "pace known")
STRUCTURE = ("the speaker's last is in it", "the speaker's last but one is in it", "latest of it",
             "latest but one of it", "its speaker's last in it", "answered", "answers the speaker",
             "answers whom this names", "starts it", "likely altogether", "likeliest of it", "messages",
             "the speaker's", "of whom this names", "distance of the latest", "likely",
             "start likely")  # fmt: skip


@dataclass(slots=True)
class Sight:
    """Where a message belongs, at first sight."""

    parent: int = 0
    """How many messages ago what it answers was said; 0 if it starts a conversation."""
    thread: int = -1
    """The number of its conversation."""
    answered: str | None = None
    """Who said what it answers."""

    def answers(self, parent: Sight, speaker: str, back: int) -> None:
        """It answers a message of somebody, that was said `back` messages ago."""
        self.parent, self.thread, self.answered = back, parent.thread, speaker

    def starts(self, thread: int) -> None:
        """It starts a conversation, which gets a number."""
        self.parent, self.thread, self.answered = 0, thread, None


class Columns(NamedTuple):
    """Messages as columns, the earliest first. People are numbers that mean nothing elsewhere."""

    numbers: dict[str, int]
    """Of people."""
    speaker: Whole
    named: Whole
    """Who is called; `NOBODY`, `STRANGER`."""
    mentions: Whole
    """(N, `MENTIONS`) Others who are named."""
    time: NDArray[np.float64]
    own: Whole
    called: Whole
    question: NDArray[np.bool_]
    command: NDArray[np.bool_]
    action: NDArray[np.bool_]
    bearing: NDArray[np.bool_]
    """(N, 4) See `Bearing`."""
    everybody: NDArray[np.bool_]
    gone: NDArray[np.bool_]
    """Whether they were taken back, so that nothing answers them."""
    length: Array
    pieces: NDArray[np.uint32]
    """(L,) Of all messages, one after the other."""
    weights: Array
    """(L,) How much each tells."""
    offsets: Whole
    """(N + 1,) Where those of each begin."""
    parent: Whole
    thread: Whole
    answered: Whole
    """The last three are empty until conversations are known: see `with_threads`."""


def columns_of(messages: Sequence[Utterance]) -> Columns:
    """Columns of some messages."""
    numbers: dict[str, int] = {}

    def number(who: str) -> int:
        return numbers.setdefault(who, len(numbers))

    named, mentions = [], []
    for each in messages:
        to = each.addressee
        named.append(STRANGER if each.stranger else NOBODY if to is None else number(to))
        others = [number(who) for who in (*each.addressees[1:], *each.mentions)[:MENTIONS]]
        mentions.append(others + [NOBODY] * (MENTIONS - len(others)))
    return Columns(
        numbers=numbers,
        speaker=np.array([number(each.speaker) for each in messages]),
        named=np.array(named),
        mentions=np.array(mentions),
        time=np.array([np.nan if each.time is None else each.time for each in messages], np.float64),
        own=np.array([each.own for each in messages]),
        called=np.array([each.called for each in messages]),
        question=np.array([each.asks for each in messages]),
        command=np.array([each.command for each in messages]),
        action=np.array([each.kind is not Kind.MESSAGE for each in messages]),
        bearing=np.array([each.bearing for each in messages]),
        everybody=np.array([each.everybody for each in messages]),
        gone=np.array([each.gone for each in messages]),
        length=(np.log1p([len(each.tokens) for each in messages]) / 3).astype(np.float32),
        pieces=np.concatenate([each.pieces for each in messages]),
        weights=np.concatenate([each.weights for each in messages]),
        offsets=np.cumsum([0, *(len(each.pieces) for each in messages)]),
        parent=_NONE,
        thread=_NONE,
        answered=_NONE,
    )


def with_threads(columns: Columns, sights: Sequence[Sight]) -> Columns:
    """The columns, with what is known of conversations by now."""
    numbers = columns.numbers
    return columns._replace(
        parent=np.array([each.parent for each in sights]),
        thread=np.array([each.thread for each in sights]),
        answered=np.array(
            [NOBODY if each.answered is None else numbers.get(each.answered, STRANGER) for each in sights]
        ),
    )


class Signals(NamedTuple):
    """Of R messages."""

    pairs: Array
    """(R, `REACH`, F) Of a message and each before it."""
    messages: Array
    """(R, G) Of a message alone."""
    there: NDArray[np.bool_]
    """(R, `REACH`) Whether there is such a message."""


class Likeness(NamedTuple):
    """What a selector makes of N messages, of which the last R are compared with those before them."""

    heard: Array
    """(N, K, D) Messages as something that is answered, and"""
    answers: Array
    """(R, K, D) as an answer: K products say how well they fit."""
    content: Array
    """(R, H) What they say."""


def pair_names(likeness: int) -> tuple[str, ...]:
    """What the last dimension of `Signals.pairs` is, given K."""
    return *WHO, *TURNS, *IT, *PLACE, *TIME, *WORDS, *(f"likeness {k + 1}" for k in range(likeness))


def compare(messages: Columns, likeness: Likeness, first: int) -> Signals:
    """The signals of all messages from the place `first` on.

    Args:
        messages: At least `REACH` before the first, if there are so many.
        likeness: Of the same messages.
        first: See above.
    """
    m = messages
    rows, i, j, there = _grid(len(m.speaker), first)
    there &= ~m.gone[j]
    older = _own_messages(m, rows)
    last_call = np.where(m.called[rows] > 0, rows - m.called[rows], -1)
    columns = [
        *_who(m, i, j),
        *_turns(m, i, j, older, last_call),
        m.question[j], m.command[j], m.action[j], m.length[j], m.named[j] != NOBODY,
        np.log1p(m.own[j]) / 5, m.own[j] == 0, m.bearing[j, 0], m.bearing[j, 1],
        np.broadcast_to(np.log(np.arange(1, REACH + 1)) / 4, j.shape),
        *_gaps(m, i, j),
        *_common(m, rows),
    ]  # fmt: skip
    pairs = np.empty((*j.shape, len(columns) + likeness.heard.shape[1]), np.float32)
    for place, column in enumerate(columns):
        pairs[..., place] = column
    pairs[..., len(columns) :] = _fits(likeness, first)
    pairs *= there[..., None]
    return Signals(pairs, _alone(m, rows, older, last_call, likeness.content), there)


def structure(messages: Columns, first: int, likely: NDArray[np.float32]) -> Array:
    """(R, `REACH`, S) What is known of the conversations that messages are in, at first sight.

    Args:
        messages: As in `compare`, with threads.
        first: See `compare`.
        likely: (R, `REACH` + 1) How likely each is answered at first sight; last, that it is a start.
    """
    m, count = messages, len(messages.speaker)
    rows, i, j, there = _grid(count, first)
    there &= ~m.gone[j]
    thread = m.thread[j]
    later = _next(m.thread.tolist())
    later_twice = _follow(later)
    by_speaker = _next(zip(m.thread.tolist(), m.speaker.tolist(), strict=True))
    everybody = np.arange(count)
    parents = np.where((m.parent > 0) & (m.parent <= everybody), everybody - m.parent, -1)
    child = np.full(count, _NEVER)
    with_parent = np.flatnonzero(parents >= 0)[::-1]
    child[parents[with_parent]] = with_parent  # the earliest stays, since it is written last
    answered = m.answered[j]
    older = _own_messages(m, rows)
    # Sums over the messages of a conversation within reach, by row.
    _, group = np.unique(np.where(there, np.arange(len(rows))[:, None] * _NEVER + thread, -1),
                         return_inverse=True)  # fmt: skip
    group = group.reshape(j.shape)
    likely_pairs = likely[:, :REACH] * there
    columns = [
        *((own >= 0)[:, None] & (m.thread[own][:, None] == thread) for own in older[:2]),
        later[j] >= i,
        (later[j] < i) & (later_twice[j] >= i),
        by_speaker[j] >= i,
        child[j] < i,
        (answered == m.speaker[i]) & (m.speaker[j] != m.speaker[i]),
        (answered == m.named[i]) & (answered >= 0),
        m.parent[j] == 0,
        _summed(group, likely_pairs),
        _largest(group, likely_pairs),
        np.log1p(_summed(group, there)) / 3,
        np.log1p(_summed(group, (m.speaker[j] == m.speaker[i]) & there)),
        np.log1p(_summed(group, (m.speaker[j] == m.named[i]) & there)),
        np.log(REACH + 1 - _largest(group, (REACH + 1 - (i - j)) * there)) / 4,
        _logarithms(likely[:, :REACH]),
        np.broadcast_to(_logarithms(likely[:, REACH:]), j.shape),
    ]
    result = np.empty((*j.shape, len(columns)), np.float32)
    for place, column in enumerate(columns):
        result[..., place] = column
    result *= there[..., None]
    return result


def _grid(count: int, first: int) -> tuple[Whole, Whole, Whole, NDArray[np.bool_]]:
    """(R,), (R, 1) places of the rows; (R, `REACH`) of the messages before them, and whether there is one."""
    rows = np.arange(first, count)
    places = rows[:, None] - np.arange(1, REACH + 1)
    return rows, rows[:, None], np.maximum(places, 0), places >= 0


def _own_messages(m: Columns, rows: Whole) -> list[Whole]:
    """(R,) each: where the speaker's own earlier messages are, the latest first; -1 if not within reach."""
    found, at = [], rows
    for _ in range(_OLDER):
        back = m.own[at]
        at = np.where((at >= 0) & (back > 0), at - back, -1)
        at = np.where(rows - at <= REACH, at, -1)
        found.append(at)
    return found


def _who(m: Columns, i: Whole, j: Whole) -> list[NDArray[np.bool_]]:
    me, it, to, it_to = m.speaker[i], m.speaker[j], m.named[i], m.named[j]
    names_it, names_me, same_name = to == it, it_to == me, (to >= 0) & (to == it_to)
    it_mentions = m.mentions[j]
    return [
        me == it,
        names_it,
        (to != NOBODY) & ~names_it,
        (m.mentions[i] == it[..., None]).any(axis=2),
        names_me,
        (it_mentions == me[..., None]).any(axis=2),
        same_name,
        (it_to != NOBODY) & ~names_me & ~same_name,
        (it_mentions == to[..., None]).any(axis=2) & (to >= 0),
    ]


def _turns(m: Columns, i: Whole, j: Whole, older: list[Whole], last_call: Whole) -> list[NDArray[np.bool_]]:
    later = _next(m.speaker.tolist())
    last = later[j] >= i
    its, call = m.speaker[j], last_call[:, None]
    return [
        last,
        ~last & (_follow(later)[j] >= i),
        _next_call(m)[j] < i,
        (later[j] == j + 1) & (later[j] < i),
        *(own[:, None] > j for own in older),
        *((own >= 0)[:, None] & (m.named[own][:, None] == its) for own in older),
        (call == j) & (call >= 0),
        (call >= 0) & (m.speaker[call] == its),
    ]


def _gaps(m: Columns, i: Whole, j: Whole) -> list[NDArray[np.float64]]:
    gap = (m.time[i] - m.time[j]) / 60
    known = ~np.isnan(gap)
    gap = np.where(known, np.maximum(gap, 0.0), 0.0)
    return [np.log1p(gap) / 3, (gap >= 1).astype(np.float64), known.astype(np.float64)]


def _alone(m: Columns, rows: Whole, older: list[Whole], last_call: Whole, content: Array) -> Array:
    own, named = older[0], m.named[rows]
    since_call = np.where(last_call >= 0, rows - last_call, 4 * REACH)
    since_own = np.where(own >= 0, rows - own, 2 * REACH)
    gap = np.where(own >= 0, (m.time[rows] - m.time[own]) / 60, 600.0)
    pace = np.where(rows >= _PACE, (m.time[rows] - m.time[np.maximum(rows - _PACE, 0)]) / 60, np.nan)
    known = ~np.isnan(m.time[rows])
    columns = [
        m.question[rows], m.command[rows], m.action[rows], m.length[rows],
        named >= 0, named < NOBODY, (m.mentions[rows] >= 0).any(axis=1),
        own < 0, np.log1p(since_own) / 4, np.log1p(since_call) / 4,
        own > last_call, (own >= 0) & (m.named[own] >= 0), *m.bearing[rows].T, m.everybody[rows],
        np.log1p(np.maximum(np.where(known, np.nan_to_num(gap), 0.0), 0.0)) / 4,
        np.log1p(np.maximum(np.nan_to_num(pace), 0.0)) / 3, ~np.isnan(pace),
    ]  # fmt: skip
    return np.column_stack([*(np.asarray(each, np.float32) for each in columns), content])


def _common(m: Columns, rows: Whole) -> list[NDArray[np.float64]]:
    """What a message has in common with each before it: weight, cosine, rarest piece, how many."""
    count, first = len(m.speaker), int(rows[0])
    weight = m.weights.astype(np.float64)
    owner = np.repeat(np.arange(count), np.diff(m.offsets))
    # From each piece to where it occurred before, and again before, as long as that is within reach.
    order = np.lexsort((owner, m.pieces))
    again = m.pieces[order][1:] == m.pieces[order][:-1]
    before = np.full(len(m.pieces), -1)
    before[order[1:][again]] = order[:-1][again]
    piece = np.arange(m.offsets[first], len(m.pieces))
    at, where, which = before[piece], [], []
    while True:
        near = at >= 0
        piece, at = piece[near], at[near]
        distance = owner[piece] - owner[at]
        near = distance <= REACH
        piece, at, distance = piece[near], at[near], distance[near]
        if not len(piece):
            break
        where.append((owner[piece] - first) * REACH + distance - 1)
        which.append(weight[piece])
        at = before[at]
    size = len(rows) * REACH
    cells = np.concatenate([np.empty(0, np.int64), *where])
    values = np.concatenate([np.empty(0), *which])
    shape = len(rows), REACH
    common = np.bincount(cells, values, size).reshape(shape)
    rarest = np.zeros(size)
    np.maximum.at(rarest, cells, values)
    total = np.bincount(owner, weight, count)
    j = np.maximum(rows[:, None] - np.arange(1, REACH + 1), 0)
    cosine = common / np.sqrt(np.maximum(total[rows, None] * total[j], 0.1))
    number = np.bincount(cells, minlength=size).reshape(shape)
    return [np.log1p(common), cosine, rarest.reshape(shape), np.log1p(number)]


def _fits(likeness: Likeness, first: int) -> Array:
    """(R, `REACH`, K) How well each message is answered."""
    answers = likeness.answers.transpose(1, 0, 2)
    size = answers.shape[1]
    before = max(REACH - first, 0)  # messages that are not there, so that every row has as many
    heard = likeness.heard[max(first - REACH, 0) :].transpose(1, 2, 0)
    products = np.zeros((len(answers), size, before + heard.shape[2]), np.float32)
    np.matmul(answers, heard, out=products[:, :, before:])
    # Row r wants columns r + REACH - 1 down to r: a diagonal band.
    kinds, steps = products.shape[0], products.strides
    band = np.lib.stride_tricks.as_strided(
        products[:, :, REACH - 1 :],
        (kinds, size, REACH),
        (steps[0], steps[1] + steps[2], -steps[2]),
        writeable=False,
    )
    return band.transpose(1, 2, 0)


def _next(keys: Iterable[Hashable]) -> Whole:
    """(N,) Where each key comes up again."""
    seen: dict[Hashable, int] = {}
    listed = list(keys)
    result = np.full(len(listed), _NEVER)
    for place in range(len(listed) - 1, -1, -1):
        result[place] = seen.get(listed[place], _NEVER)
        seen[listed[place]] = place
    return result


def _next_call(m: Columns) -> Whole:
    """(N,) Where each message's speaker is named next."""
    seen: dict[int, int] = {}
    speaker, named = m.speaker.tolist(), m.named.tolist()
    result = np.full(len(speaker), _NEVER)
    for place in range(len(speaker) - 1, -1, -1):
        result[place] = seen.get(speaker[place], _NEVER)
        seen[named[place]] = place
    return result


def _follow(later: Whole) -> Whole:
    """(N,) The next but one."""
    return np.where(later < _NEVER, later[np.minimum(later, len(later) - 1)], _NEVER)


def _summed(group: Whole, values: NDArray[np.generic]) -> NDArray[np.float64]:
    return np.bincount(group.ravel(), values.ravel().astype(np.float64))[group].astype(np.float64)


def _largest(group: Whole, values: NDArray[np.generic]) -> NDArray[np.float64]:
    largest = np.zeros(int(group.max()) + 1)
    np.maximum.at(largest, group.ravel(), values.ravel())
    return largest[group]


def _logarithms(likely: Array) -> Array:
    return (np.maximum(np.log(np.maximum(likely, 1e-9)), -12.0) / 6).astype(np.float32)
