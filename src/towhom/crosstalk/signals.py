"""Signals: compares messages with each of those before them, many messages at once.

Row r of every array is a message, column d the message d + 1 places before it. Nothing is learned here, so
training and inference share this code. A row depends only on earlier messages: a channel gives the same
numbers message by message as all at once, and a draft gets the numbers that it would get if it were sent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk.columns import NOBODY, Array, Columns, Flags, Whole
from towhom.hearing.utterance import REACH

_MOST = 1 << 24
"""An upper bound on the number of messages that are compared at a time."""
NEVER = 1 << 40
"""The place of a key that does not occur again."""
_OWN = 3
"""Number of the speaker's own earlier messages that are looked at."""
_PACES = (10, 50)
"""Numbers of messages; the time that so many took says how busy the channel is."""
_HABITS = 50
"""Number of messages by which the habits of a room are judged."""
_FADING = 30.0
"""The weight of earlier calls decays exponentially over this many messages."""
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
"""Names along the last dimension of `Signals.pairs`."""
OF_TEXT = (PAIRS.index("mentions its speaker"), *range(PAIRS.index(WORDS[0]), len(PAIRS)))
"""The signals that would differ if the same speaker sent another text."""

MESSAGE = ("asks", "command", "action", "length", "names somebody", "names a stranger", "mentions somebody",
           "first within reach", "since the speaker spoke", "since the speaker was named",
           "spoke since named", "their last names somebody", "asks anybody", "greets",
           "begins like an answer", "says you", "calls everybody", "gap since the speaker spoke",
           "short gap since the speaker spoke", "pace", "pace known")  # fmt: skip
HABITS = ("messages that name somebody", "who is named spoke last", "speakers of late", "speakers",
          "messages that go on", "messages that ask", "length of messages", "pace over long",
          "messages there are")  # fmt: skip
ALONE = (*MESSAGE, *HABITS)
"""Names along the last dimension of `Signals.messages`: of a message, and of its room."""

STEPS = np.arange(1, REACH + 1)
"""How far back each column is."""
_DISTANCES = np.stack([np.log(STEPS) / 4, *(np.equal(STEPS, n) for n in (1, 2, 3))]).astype(np.float32)
_SINCE = (np.log1p(np.arange(REACH + 1)) / 5).astype(np.float32)
_NEARNESS = np.exp(-STEPS / _FADING)
_WORDS_NEARNESS = np.exp(-STEPS / _WORDS_FADING).astype(np.float32)


class Signals(NamedTuple):
    """The signals of R messages."""

    pairs: Array
    """(R, `REACH`, `PAIRS`) Signals of a message and each one before it."""
    messages: Array
    """(R, `ALONE`) Signals of a message alone."""
    there: Flags
    """(R, `REACH`) Whether there is such a message."""


class _Sight(NamedTuple):
    """The input of all groups of signals: R rows and the messages before them."""

    past: Columns
    new: Columns
    at: Whole
    """(R,) Places of the rows, or the places that drafts would have."""
    reach: Whole
    """(R,) How far back each row sees."""
    me: Whole
    """(R, 1) The speaker of each row."""
    time: NDArray[np.float64]
    """(R,) The time of each row; NaN if unknown."""
    j: Whole
    """(R, `REACH`) Places of the messages before each row."""
    there: Flags
    speaker: Whole
    """(R, `REACH`) Their speakers."""
    named: Whole
    """(R, `REACH`) The people they call."""
    next: Whole
    """(N,) Where the speaker of each past message speaks next."""
    later: Whole
    """(R, `REACH`) The same for the messages before each row."""
    own: Whole
    """(`_OWN`, R) Places of the speaker's own earlier messages, the latest first; -1 if out of reach."""
    call: Whole
    """(R,) Where the speaker was last called; -1 if out of reach."""
    group: Whole
    """(R, `REACH`) A number for each speaker in each row."""
    groups: int

    def of_drafts(self, new: Columns) -> _Sight:
        """The same for several drafts, all at the place of the only row."""
        count, most = new.size, self.groups
        shared: dict[str, Any] = {
            name: np.broadcast_to(getattr(self, name), (count, *getattr(self, name).shape[1:]))
            for name in ("at", "reach", "me", "time", "j", "there", "speaker", "named", "later", "call")
        }
        own = np.broadcast_to(self.own, (_OWN, count))
        group = np.arange(count)[:, None] * most + self.speaker
        return self._replace(new=new, own=own, group=group, groups=count * most, **shared)


def compare(
    past: Columns,
    new: Columns,
    at: Whole,
    *,
    reach: Whole | None = None,
    timed: Flags | None = None,
    together: bool = False,
) -> Signals:
    """Compute the signals of some messages.

    Args:
        past: The earlier messages: at least `REACH` before each new one, if there are so many. The new
            ones may be among them: each sees only those before it.
        new: The messages. People must have the same numbers as in `past`.
        at: (R,) Their places among the past messages.
        reach: (R,) How far back each sees; `REACH` by default.
        timed: (R,) Whether the time of each is known; all are by default.
        together: Whether they are drafts for one place, by one speaker, so that only their texts differ.
    """
    past = past if past.size else new  # nothing precedes its first message
    reach = np.full(len(at), REACH) if reach is None else reach
    time = new.time if timed is None else np.where(timed, new.time, np.nan)
    rows = slice(1) if together else slice(None)
    shared = _look(past, new, at[rows], reach[rows], time[rows])
    see = shared.of_drafts(new) if together else shared
    pairs = np.empty((len(PAIRS), *see.j.shape), np.float32)
    # Stored signal by signal, in the order of computation; matrix products take either layout.
    made = (
        (see, _who), (shared, _turns), (shared, _it), (shared, _place), (shared, _gaps), (shared, _people),
        (see, _words),
    )  # fmt: skip
    for place, column in enumerate(column for sight, group in made for column in group(sight)):
        pairs[place] = column
    if not see.there.all():
        pairs *= see.there
    messages = np.empty((len(at), len(ALONE)), np.float32)
    for place, values in enumerate((*_alone(see), *_habits(shared))):
        messages[:, place] = values
    return Signals(pairs.transpose(1, 2, 0), messages, see.there)


def places_before(at: Whole) -> tuple[Whole, Flags]:
    """(R, `REACH`) Places of the messages before the given places, and whether there is such a message."""
    places = at[:, None] - STEPS
    return np.maximum(places, 0), places >= 0


def _look(past: Columns, new: Columns, at: Whole, reach: Whole, time: NDArray[np.float64]) -> _Sight:
    """Prepare the input for the first `len(at)` of the new messages."""
    me, called = new.speaker[: len(at)], new.called[: len(at)]
    j, there = places_before(at)
    there &= reach[:, None] >= STEPS
    there &= ~past.gone[j]
    own, back, total = np.empty((_OWN, len(at)), np.int64), new.own[: len(at)], np.zeros(len(at), np.int64)
    for place in own:
        total = np.where(back > 0, total + back, NEVER)
        total[total > reach] = NEVER
        np.subtract(at, total, out=place)
        back = past.own[np.maximum(place, -1)]
    np.maximum(own, -1, out=own)
    call = np.where((called > 0) & (called <= reach), at - called, -1)
    speaker = past.speaker[j]
    most = int(max(past.speaker.max(initial=0), past.named.max(initial=0), me.max(initial=0))) + 1
    group = np.arange(len(at))[:, None] * most + speaker
    following = next_of(past.speaker)
    return _Sight(
        past, new, at, reach, me[:, None], time, j, there, speaker, past.named[j], following,
        following[j], own, call, group, len(at) * most,
    )  # fmt: skip


def next_of(keys: Whole) -> Whole:
    """(N,) Where each key occurs next."""
    order = np.argsort(keys, kind="stable")
    inorder = keys[order]
    same = inorder[1:] == inorder[:-1]
    result = np.full(len(keys), NEVER)
    result[order[:-1][same]] = order[1:][same]
    return result


def next_but_one(following: Whole, later: Whole) -> Whole:
    """Where the keys at some places occur next.

    Args:
        following: (N,) See `next_of`.
        later: Some values of `following`.
    """
    return np.where(later < NEVER, following[np.minimum(later, len(following) - 1)], NEVER)


def _next_call(see: _Sight) -> Whole:
    """(R, `REACH`) Where the speaker of each message is next called."""
    named = see.past.named
    calls = np.append(named * _MOST + np.arange(len(named)), NEVER)
    calls.sort()
    first = see.speaker * _MOST
    place = calls[np.searchsorted(calls, first + see.j, side="right")] - first
    return np.where(place < _MOST, place, NEVER)


def _named_in(mentions: Whole, who: Whole) -> Flags:
    """Whether a person is among those mentioned; checked column by column."""
    found: Flags = mentions[..., 0] == who
    for column in range(1, mentions.shape[-1]):
        found |= mentions[..., column] == who
    return found


def _who(see: _Sight) -> list[Flags]:
    new, me, it, it_to = see.new, see.me, see.speaker, see.named
    to, it_mentions = new.named[:, None], see.past.mentions[see.j]
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
    past, i, j, later, its = see.past, see.at[:, None], see.j, see.later, see.speaker
    call, own = see.call[:, None], see.own[:, :, None]
    last = later >= i
    return [
        last,
        ~last & (next_but_one(see.next, later) >= i),
        _next_call(see) < i,
        (later == j + 1) & ~last,
        *(own > j),
        *((own >= 0) & (past.named[own] == its)),
        (call == j) & (call >= 0),
        (call >= 0) & (past.speaker[call] == its),
    ]


def _it(see: _Sight) -> list[NDArray[np.generic]]:
    past, j = see.past, see.j
    own = past.own[j]
    own = np.where(own > see.reach[:, None] - STEPS, 0, own)
    bearing = past.bearing[j]
    return [
        past.asks[j], past.command[j], past.action[j], past.length[j], see.named != NOBODY,
        _SINCE[own], own == 0, *(bearing[..., n] for n in range(bearing.shape[2])),
    ]  # fmt: skip


def _place(see: _Sight) -> Array:
    return _DISTANCES


def _gaps(see: _Sight) -> list[NDArray[np.generic]]:
    gap = ((see.time[:, None] - see.past.time[see.j]) / 60).astype(np.float32)
    known = ~np.isnan(gap)
    gap = np.where(known, np.maximum(gap, 0.0), 0.0)
    return [np.log1p(gap) / 3, np.log1p(60 * gap) / 8, gap >= 1, known]


def _people(see: _Sight) -> list[NDArray[np.generic]]:
    me, it, it_to, there = see.me, see.speaker, see.named, see.there
    own = (me == it) & there
    last_of_other = (see.later >= see.at[:, None]) & ~own & there
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
    """(R, `REACH`) The sum of the values with each key, looked up for the speaker of each message."""
    return _summed(keys.ravel(), values.ravel(), see.groups)[see.group]


def _words(see: _Sight) -> list[NDArray[np.generic]]:
    """Pieces in common with each earlier message: their weight, cosine, the rarest, and their number."""
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
    """(size,) The sum of the values with each key."""
    return np.bincount(keys, values, size).astype(np.float64, copy=False)


def _same_pieces(see: _Sight) -> tuple[Whole, Array, Whole]:
    """For each piece that a row shares with an earlier message: row, weight, and distance minus one."""
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


def _alone(see: _Sight) -> list[NDArray[np.generic]]:
    past, new, at = see.past, see.new, see.at
    own, call, named = see.own[0], see.call, new.named
    known = own >= 0
    since_call = np.where(call >= 0, at - call, 4 * REACH)
    since_own = np.where(known, at - own, 2 * REACH)
    # An unknown gap counts as 0.
    gap = np.fmax(
        np.where(known, (see.time - past.time[own]) / 60, np.where(np.isnan(see.time), 0, 600.0)), 0.0
    )
    pace = _pace(see, _PACES[0])
    return [
        new.asks, new.command, new.action, new.length,
        named >= 0, named < NOBODY, (new.mentions >= 0).any(axis=1),
        own < 0, np.log1p(since_own) / 4, np.log1p(since_call) / 4,
        own > call, known & (past.named[own] >= 0), *new.bearing.T, new.everybody,
        np.log1p(gap) / 4, np.log1p(60 * gap) / 8,
        np.log1p(np.fmax(pace, 0.0)) / 3, ~np.isnan(pace),
    ]  # fmt: skip


def _pace(see: _Sight, messages: int) -> NDArray[np.float64]:
    """(R,) Minutes that this many last messages took; NaN if unknown."""
    first = np.maximum(see.at - messages, 0)
    known = (see.at >= messages) & (see.reach >= messages)
    return np.where(known, np.maximum(see.time - see.past.time[first], 0.0) / 60, np.nan)


def _habits(see: _Sight) -> list[NDArray[np.generic]]:
    """The habits of a room: how often people name somebody, how many there are, how busy it is, and so on."""
    past, there, named = see.past, see.there, see.named
    late, near = there[:, :_HABITS], see.j[:, :_HABITS]
    count = np.maximum(late.sum(axis=1), 1)
    calls = (named >= 0) & there
    last = (see.later >= see.at[:, None]) & there
    speaker, previous = see.speaker[:, :-1], see.speaker[:, 1:]
    followed = there[:, 1:]
    return [
        calls[:, :_HABITS].sum(axis=1) / count,
        (calls[:, :-1] & (named[:, :-1] == previous) & followed).sum(axis=1)
        / np.maximum(calls.sum(axis=1), 3),
        np.log1p(last[:, :20].sum(axis=1)) / 2,
        np.log1p(last.sum(axis=1)) / 3,
        ((speaker == previous) & followed)[:, :_HABITS].sum(axis=1) / count,
        (past.asks[near] & late).sum(axis=1) / count,
        (past.length[near] * late).sum(axis=1) / count,
        np.log1p(np.fmax(_pace(see, _PACES[1]), 0.0)) / 4,
        np.log1p(np.minimum(see.at, see.reach)) / 5,
    ]
