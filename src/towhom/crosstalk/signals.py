"""A message compared with each of those before it, many messages at once.

Row r of every array is a message, column d the message d + 1 places before it. Nothing is learned here, so
training and running share it. Whatever a row sees was said before it: a channel gives the same numbers
message by message as all at once, and a draft has those that it would have if it were said.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk.columns import NOBODY, Array, Columns, Flags, Whole
from towhom.hearing.utterance import REACH

NEVER = 1 << 40
"""The place of what does not come up again."""
_OWN = 3
"""How many of the speaker's own messages are looked at."""
_PACES = (10, 50)
"""The time that the last so many messages took says how busy the channel is."""
_HABITS = 50
"""Messages by which the habits of a room are judged."""
_FADING = 30.0
"""Who called whom counts less and less, by so many messages."""
_WORDS_FADING = 40.0

WHO = ("same speaker", "names its speaker", "names another", "mentions its speaker", "is named by it",
       "is mentioned by it", "both name the same", "it names another",
       "it mentions whom this names")  # fmt: skip
TURNS = (
    "its speaker's last", "its speaker's last but one", "its speaker was named since", "continued at once",
    *(f"the speaker spoke since, {n}" for n in range(1, _OWN + 1)),
    *(f"the speaker's last but {n} names its speaker" for n in range(_OWN)),
    "the last that names the speaker", "by who named the speaker last",
)  # fmt: skip
IT = ("asks", "command", "action", "length", "names somebody", "since its speaker spoke",
      "first of its speaker", "asks anybody", "greets", "begins like an answer", "says you")  # fmt: skip
PLACE = ("distance", "the last", "the last but one", "the last but two")
TIME = ("gap", "short gap", "a gap", "gap known")
PEOPLE = ("speakers since", "the last of another", "messages of others since",
          "its speaker named the speaker", "the speaker named its speaker",
          "messages of its speaker")  # fmt: skip
WORDS = ("common weight", "cosine of pieces", "rarest common piece", "common pieces",
         "cosine with its speaker", "rarest piece in common with its speaker")  # fmt: skip
PAIRS = (*WHO, *TURNS, *IT, *PLACE, *TIME, *PEOPLE, *WORDS)
"""What the last dimension of `Signals.pairs` is."""
OF_TEXT = (PAIRS.index("mentions its speaker"), *range(PAIRS.index(WORDS[0]), len(PAIRS)))
"""Those that another text by the same speaker would change."""

MESSAGE = ("asks", "command", "action", "length", "names somebody", "names a stranger", "mentions somebody",
           "first within reach", "since the speaker spoke", "since the speaker was named",
           "spoke since named", "their last names somebody", "asks anybody", "greets",
           "begins like an answer", "says you", "calls everybody", "gap since the speaker spoke",
           "short gap since the speaker spoke", "pace", "pace known")  # fmt: skip
HABITS = ("messages that name somebody", "who is named spoke last", "speakers of late", "speakers",
          "messages that go on", "messages that ask", "length of messages", "pace over long",
          "messages there are")  # fmt: skip
ALONE = (*MESSAGE, *HABITS)
"""What the last dimension of `Signals.messages` is: of a message, and of its room."""

STEPS = np.arange(1, REACH + 1)
"""How far back the columns are."""
_DISTANCES = np.stack([np.log(STEPS) / 4, *(np.equal(STEPS, n) for n in (1, 2, 3))], axis=1).astype(
    np.float32
)
_NEARNESS = np.exp(-STEPS / _FADING)
_WORDS_NEARNESS = np.exp(-STEPS / _WORDS_FADING).astype(np.float32)


class Signals(NamedTuple):
    """Of R messages."""

    pairs: Array
    """(R, `REACH`, `PAIRS`) Of a message and each before it."""
    messages: Array
    """(R, `ALONE`) Of a message alone."""
    there: Flags
    """(R, `REACH`) Whether there is such a message."""


class _Sight(NamedTuple):
    """What the groups of signals look at: R rows and the messages before them."""

    past: Columns
    new: Columns
    at: Whole
    """(R,) Where the rows are, or would be."""
    reach: Whole
    """(R,) How far back each sees."""
    j: Whole
    """(R, `REACH`) Places of the messages before."""
    there: Flags
    later: Whole
    """(N,) Where each message's speaker speaks again."""
    own: list[Whole]
    """(R,) each: where the speaker's own earlier messages are, the latest first; -1 if not within reach."""
    call: Whole
    """(R,) Where the speaker was last called; -1 if not within reach."""
    group: Whole
    """(R, `REACH`) A number for each speaker in each row."""
    groups: int


def compare(
    past: Columns, new: Columns, at: Whole, *, reach: Whole | None = None, timed: Flags | None = None
) -> Signals:
    """The signals of some messages.

    Args:
        past: What was said, at least `REACH` messages before each of the new, if there are so many. The new
            ones may be among them: each sees only those before it.
        new: The messages. Their people have the same numbers.
        at: (R,) Their places among those of the past.
        reach: (R,) How far back each sees; `REACH` by default.
        timed: (R,) Whose times are known; all, by default.
    """
    past = past if past.size else new  # of which nothing is before the first
    see = _look(past, new, at, np.full(len(at), REACH) if reach is None else reach)
    timed = np.ones(len(at), bool) if timed is None else timed
    columns: list[NDArray[np.generic]] = [
        *_who(see),
        *_turns(see),
        *_it(see),
        *np.broadcast_to(_DISTANCES, (*see.j.shape, len(PLACE))).transpose(2, 0, 1),
        *_gaps(see, timed),
        *_people(see),
        *_words(see),
    ]
    # Signal by signal in memory, as they are made; matrices are multiplied either way.
    by_signal = np.empty((len(columns), *see.j.shape), np.float32)
    for place, column in enumerate(columns):
        np.multiply(column, see.there, out=by_signal[place], casting="unsafe")
    pairs = by_signal.transpose(1, 2, 0)
    alone = [*_alone(see, timed), *_habits(see, timed)]
    messages = np.empty((len(at), len(alone)), np.float32)
    for place, values in enumerate(alone):
        messages[:, place] = values
    return Signals(pairs, messages, see.there)


def places_before(at: Whole) -> tuple[Whole, Flags]:
    """(R, `REACH`) Where the messages before some places are, and whether there is one."""
    places = at[:, None] - STEPS
    return np.maximum(places, 0), places >= 0


def _look(past: Columns, new: Columns, at: Whole, reach: Whole) -> _Sight:
    j, there = places_before(at)
    there = there & (reach[:, None] >= STEPS) & ~past.gone[j]
    own, back, place = [], new.own, at
    for _ in range(_OWN):
        place = np.where((place >= 0) & (back > 0), place - back, -1)
        place = np.where(at - place <= reach, place, -1)
        own.append(place)
        back = past.own[place]
    call = np.where((new.called > 0) & (new.called <= reach), at - new.called, -1)
    most = int(max(past.speaker.max(initial=0), past.named.max(initial=0), new.speaker.max(initial=0))) + 1
    group = np.arange(len(at))[:, None] * most + past.speaker[j]
    later = next_of(past.speaker)
    return _Sight(past, new, at, reach, j, there, later, own, call, group, len(at) * most)


def next_of(keys: Whole) -> Whole:
    """(N,) Where each key comes up again."""
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    result = np.full(len(keys), NEVER)
    result[order[:-1][same]] = order[1:][same]
    return result


def next_but_one(later: Whole) -> Whole:
    """(N,) The next but one, given the next."""
    return np.where(later < NEVER, later[np.minimum(later, len(later) - 1)], NEVER)


def _next_call(past: Columns) -> Whole:
    """(N,) Where each message's speaker is named next."""
    count = past.size
    # Calls and messages in one row: of each person, the next call after each of their messages.
    keys = np.concatenate([past.speaker, past.named])
    order = np.lexsort((np.concatenate([np.arange(count) * 2 + 1, np.arange(count) * 2]), keys))
    place = np.where(order >= count, order - count, NEVER)
    change = np.flatnonzero(keys[order][1:] != keys[order][:-1])
    ends = np.append(change, len(order) - 1)
    # The nearest call at or after each entry, within the person's entries.
    nearest = np.minimum.accumulate(np.where(order >= count, np.arange(len(order)), len(order))[::-1])[::-1]
    last = ends[np.searchsorted(ends, np.arange(len(order)))]
    found = np.where(nearest <= last, place[np.minimum(nearest, len(order) - 1)], NEVER)
    result = np.full(count, NEVER)
    spoken = order < count
    result[order[spoken]] = found[spoken]
    return result


def _named_in(mentions: Whole, who: Whole) -> Flags:
    """Whether somebody is among those mentioned, one column after the other."""
    found: Flags = mentions[..., 0] == who
    for column in range(1, mentions.shape[-1]):
        found |= mentions[..., column] == who
    return found


def _who(see: _Sight) -> list[Flags]:
    past, new, j = see.past, see.new, see.j
    me, to = new.speaker[:, None], new.named[:, None]
    it, it_to, it_mentions = past.speaker[j], past.named[j], past.mentions[j]
    names_it, names_me, same_name = to == it, it_to == me, (to >= 0) & (to == it_to)
    return [
        me == it,
        names_it,
        (to != NOBODY) & ~names_it,
        _named_in(new.mentions[:, None], it),
        names_me,
        _named_in(it_mentions, me),
        same_name,
        (it_to != NOBODY) & ~names_me & ~same_name,
        _named_in(it_mentions, to) & (to >= 0),
    ]


def _turns(see: _Sight) -> list[Flags]:
    past, i, j, later = see.past, see.at[:, None], see.j, see.later
    its, call, next_one = past.speaker[j], see.call[:, None], later[j]
    last = next_one >= i
    return [
        last,
        ~last & (next_but_one(later)[j] >= i),
        _next_call(past)[j] < i,
        (next_one == j + 1) & ~last,
        *(own[:, None] > j for own in see.own),
        *((own >= 0)[:, None] & (past.named[own][:, None] == its) for own in see.own),
        (call == j) & (call >= 0),
        (call >= 0) & (past.speaker[call] == its),
    ]


def _it(see: _Sight) -> list[NDArray[np.generic]]:
    past, j = see.past, see.j
    own = past.own[j]
    own = np.where(own > see.reach[:, None] - STEPS, 0, own)
    bearing = past.bearing[j]
    return [
        past.asks[j], past.command[j], past.action[j], past.length[j], past.named[j] != NOBODY,
        (np.log1p(np.arange(REACH + 1)) / 5).astype(np.float32)[own], own == 0,
        *(bearing[..., n] for n in range(bearing.shape[2])),
    ]  # fmt: skip


def _gaps(see: _Sight, timed: Flags) -> list[NDArray[np.generic]]:
    time = np.where(timed, see.new.time, np.nan)
    gap = ((time[:, None] - see.past.time[see.j]) / 60).astype(np.float32)
    known = ~np.isnan(gap)
    gap = np.where(known, np.maximum(gap, 0.0), 0.0)
    return [np.log1p(gap) / 3, np.log1p(60 * gap) / 8, gap >= 1, known]


def _people(see: _Sight) -> list[NDArray[np.generic]]:
    past, j, there = see.past, see.j, see.there
    me, it, it_to = see.new.speaker[:, None], past.speaker[j], past.named[j]
    own = (me == it) & there
    last_of_other = (see.later[j] >= see.at[:, None]) & ~own & there
    since = np.cumsum(last_of_other, axis=1)
    near = _NEARNESS * there
    called_me = _by_group(see, see.group, near * (it_to == me))
    named = see.group - it + np.maximum(it_to, 0)
    by_me = _by_group(see, named, near * (own & (it_to >= 0)))
    return [
        np.log1p(since) / 3,
        (since == 1) & last_of_other,
        np.log1p(np.cumsum(~own & there, axis=1)) / 4,
        np.log1p(called_me),
        np.log1p(by_me),
        np.log1p(_by_group(see, see.group, near)) / 2,
    ]


def _by_group(see: _Sight, keys: Whole, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(R, `REACH`) Values summed by their keys, for the speaker of each message."""
    return _summed(keys.ravel(), values.ravel(), see.groups)[see.group]


def _words(see: _Sight) -> list[NDArray[np.generic]]:
    """What a message has in common with each before it: weight, cosine, rarest piece, how many."""
    past, new, rows = see.past, see.new, len(see.at)
    row, weight, places = _same_pieces(see)
    size = rows * REACH
    cells = row * REACH + places
    common = _summed(cells, weight, size).reshape(rows, REACH).astype(np.float32)
    number = np.bincount(cells, minlength=size).reshape(rows, REACH)
    rarest: Array = np.zeros((rows, REACH), np.float32)
    np.maximum.at(rarest, (row, places), weight)
    mine, theirs = _totals(new)[:, None], _totals(past)[see.j]
    cosine = (common / np.sqrt(np.maximum(mine * theirs, 0.1))).astype(np.float32)
    return [
        np.log1p(common),
        cosine,
        rarest,
        np.log1p(number),
        *(_most_by_speaker(see, each) for each in (cosine * _WORDS_NEARNESS, rarest)),
    ]


def _totals(columns: Columns) -> NDArray[np.float64]:
    owner = np.repeat(np.arange(columns.size), np.diff(columns.offsets))
    return _summed(owner, columns.weights, columns.size)


def _summed(keys: Whole, values: NDArray[np.floating[Any]], size: int) -> NDArray[np.float64]:
    """(size,) Values summed by their keys."""
    return np.bincount(keys, values, size).astype(np.float64, copy=False)


def _same_pieces(see: _Sight) -> tuple[Whole, Array, Whole]:
    """Of each piece that a row has in common with a message before it: row, weight, distance less one."""
    past, new = see.past, see.new
    owner = np.repeat(np.arange(past.size), np.diff(past.offsets))
    keys = np.sort((past.pieces.astype(np.int64) << 24) | owner)
    row = np.repeat(np.arange(new.size), np.diff(new.offsets))
    piece, at = new.pieces.astype(np.int64) << 24, see.at[row]
    first = np.searchsorted(keys, piece | np.maximum(at - see.reach[row], 0))
    count = np.searchsorted(keys, piece | at) - first
    which = np.repeat(np.arange(len(row)), count)
    found = np.arange(len(which)) - np.repeat(np.cumsum(count) - count - first, count)
    return row[which], new.weights[which], at[which] - (keys[found] & 0xFFFFFF) - 1


def _most_by_speaker(see: _Sight, values: Array) -> Array:
    """(R, `REACH`) The largest value of any message within reach by the same speaker."""
    most = np.zeros(see.groups, np.float32)
    some = np.flatnonzero((values > 0) & see.there)
    np.maximum.at(most, see.group.ravel()[some], values.ravel()[some])
    result: Array = most[see.group]
    return result


def _alone(see: _Sight, timed: Flags) -> list[NDArray[np.generic]]:
    past, new, at = see.past, see.new, see.at
    own, call, named = see.own[0], see.call, new.named
    since_call = np.where(call >= 0, at - call, 4 * REACH)
    since_own = np.where(own >= 0, at - own, 2 * REACH)
    time = np.where(timed, new.time, np.nan)
    gap = np.where(own >= 0, (time - past.time[own]) / 60, np.where(np.isnan(time), np.nan, 600.0))
    gap = np.maximum(np.nan_to_num(gap), 0.0)
    pace = _pace(see, time, _PACES[0])
    return [
        new.asks, new.command, new.action, new.length,
        named >= 0, named < NOBODY, (new.mentions >= 0).any(axis=1),
        own < 0, np.log1p(since_own) / 4, np.log1p(since_call) / 4,
        own > call, (own >= 0) & (past.named[own] >= 0), *new.bearing.T, new.everybody,
        np.log1p(gap) / 4, np.log1p(60 * gap) / 8,
        np.log1p(np.nan_to_num(pace)) / 3, ~np.isnan(pace),
    ]  # fmt: skip


def _pace(see: _Sight, time: NDArray[np.float64], messages: int) -> NDArray[np.float64]:
    """(R,) Minutes that the last so many messages took; NaN if that is not known."""
    first = np.maximum(see.at - messages, 0)
    known = (see.at >= messages) & (see.reach >= messages)
    return np.where(known, np.maximum(time - see.past.time[first], 0.0) / 60, np.nan)


def _habits(see: _Sight, timed: Flags) -> list[NDArray[np.generic]]:
    """What people do in this room: how often they name somebody, how many there are, how busy it is."""
    past, j, there = see.past, see.j, see.there
    named = past.named[j]
    late = there[:, :_HABITS]
    count = np.maximum(late.sum(axis=1), 1)
    calls = (named >= 0) & there
    last = (see.later[j] >= see.at[:, None]) & there
    speaker, previous = past.speaker[j][:, :-1], past.speaker[j][:, 1:]
    followed = there[:, 1:]
    time = np.where(timed, see.new.time, np.nan)
    return [
        calls[:, :_HABITS].sum(axis=1) / count,
        (calls[:, :-1] & (named[:, :-1] == previous) & followed).sum(axis=1)
        / np.maximum(calls.sum(axis=1), 3),
        np.log1p(last[:, :20].sum(axis=1)) / 2,
        np.log1p(last.sum(axis=1)) / 3,
        ((speaker == previous) & followed)[:, :_HABITS].sum(axis=1) / count,
        (past.asks[j] & there)[:, :_HABITS].sum(axis=1) / count,
        (past.length[j] * there)[:, :_HABITS].sum(axis=1) / count,
        np.log1p(np.nan_to_num(_pace(see, time, _PACES[1]))) / 4,
        np.log1p(np.minimum(see.at, see.reach)) / 5,
    ]
