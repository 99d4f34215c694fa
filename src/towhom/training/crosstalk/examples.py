"""Messages of which it is known what they may answer, as Crosstalk sees them.

Every kind of data teaches in the same way: it says which cells would be right, and which nobody can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk import columns
from towhom.crosstalk.columns import NOBODY, Columns
from towhom.crosstalk.signals import ALONE, OF_TEXT, compare, places_before
from towhom.hearing.utterance import REACH
from towhom.training.crosstalk.folders import ArrayFolder, write_arrays
from towhom.training.crosstalk.rooms import UNKNOWN, HeardRoom


class Kind(StrEnum):
    """How it is known what a message answers."""

    LINKS = "links"
    """People have drawn reply links."""
    NAMES = "names"
    """It names whom it is for; the name is hidden."""
    DRAFTS = "drafts"
    """The same, as in the paper's task: fifteen messages are seen, and nine more drafts."""
    TOPICS = "topics"
    """It was written in a topic, or quotes a message."""
    MEANT = "meant"
    """Somebody has noted whom it was for."""


OTHERS = {Kind.NAMES: 2, Kind.DRAFTS: 9}
"""Other messages of the same hours that might have been said instead."""
_WARM_UP = 150
"""Messages at the start of a segment that are not learned from."""
_NEAR, _REACHES, _SHARES = 15, (30, REACH), (0.25, 0.75)
"""How far back is seen where names are hidden: the context of the paper's task; a longer one, and all."""
_TIMED = 0.8
_BEGINNINGS = {Kind.LINKS: 0.4, Kind.TOPICS: 0.05, Kind.MEANT: 0.4}
"""Share of the messages of which small rooms are made."""
_DRAFTED = ("asks", "command", "action", "length", "mentions somebody", "asks anybody", "greets",
            "begins like an answer", "says you", "calls everybody")  # fmt: skip
OF_DRAFT = tuple(ALONE.index(name) for name in _DRAFTED)
"""What another text by the same speaker would change, of a message alone."""


class Rows(NamedTuple):
    """Messages of a segment to learn from, by their places in it."""

    at: NDArray[np.int64]
    named: NDArray[np.int64]
    """Whom they name, as far as is not hidden."""
    mentions: NDArray[np.int64]
    right: NDArray[np.bool_]
    """(R, `REACH` + 1) Cells that would be right; the last is a start."""
    unknown: NDArray[np.bool_]
    """(R, `REACH` + 1) Cells of which nobody can tell."""

    def some(self, which: slice | NDArray[np.int64]) -> Rows:
        """Some of them."""
        return Rows(
            self.at[which], self.named[which], self.mentions[which], self.right[which], self.unknown[which]
        )


def rows_of(
    room: HeardRoom, kind: Kind, first: int, last: int, *, hidden: bool, random: np.random.Generator
) -> Rows | None:
    """What a segment of a room teaches, if anything.

    Args:
        room: Which.
        kind: What is to be learned.
        first: Where the segment begins, and
        last: where it ends.
        hidden: Whether names are hidden where they need not be, as well, so that links without are learned.
        random: Draws.
    """
    speaker, named, mentions = (
        np.asarray(getattr(room, name)[first:last]) for name in ("speaker", "named", "mentions")
    )
    find = _FINDERS[kind]
    found = find(room, first, last, speaker, named)
    if found is None or not len(found[0]):
        return None
    at, right, unknown = found
    to, others = named[at].copy(), mentions[at].copy()
    hide = np.full(len(at), kind in OTHERS)
    if kind is Kind.TOPICS and hidden:
        hide = random.random(len(at)) < 0.5
    others[hide[:, None] & (others == to[:, None])] = NOBODY
    to[hide] = NOBODY
    rows = Rows(at, to, others, right, unknown)
    if kind is Kind.LINKS and hidden:
        again = np.flatnonzero(to >= 0)
        nobody = np.where(others[again] == to[again][:, None], NOBODY, others[again])
        more = Rows(at[again], np.full(len(again), NOBODY), nobody, right[again], unknown[again])
        rows = Rows(*(np.concatenate(parts) for parts in zip(rows, more, strict=True)))
    return rows


_Found = tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]


def _grid(at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """(R, `REACH`) Places before, whether there is one; (R, `REACH` + 1) cells, none of them right."""
    return *places_before(at), np.zeros((len(at), REACH + 1), bool)


def _links(room: HeardRoom, first: int, last: int, speaker: Any, named: Any) -> _Found | None:
    links = np.asarray(room.links)
    links = links[(links[:, 0] >= first) & (links[:, 0] < last)] - first
    if not len(links):
        return None
    right = np.zeros((last - first, REACH + 1), bool)
    back = links[:, 0] - links[:, 1]
    near = (back >= 0) & (back <= REACH) & (links[:, 1] >= 0)
    right[links[near, 0], np.where(back[near] == 0, REACH, back[near] - 1)] = True
    at = np.flatnonzero(right.any(axis=1))
    return at, right[at], np.zeros((len(at), REACH + 1), bool)


def _names(room: HeardRoom, first: int, last: int, speaker: Any, named: Any) -> _Found:
    at = np.flatnonzero((named >= 0) & (named != speaker))
    at = at[at >= (_WARM_UP if last - first > 2 * _WARM_UP else 2)]
    j, there, right = _grid(at)
    to, own = named[at][:, None], (speaker[j] == speaker[at][:, None]) & there
    theirs = there & (speaker[j] == to)
    right[:, :REACH] = theirs | (own & (named[j] == to))
    unknown = np.zeros_like(right)
    unknown[:, :REACH] = own & (named[j] == NOBODY)
    unknown[:, REACH] = True
    # Where nobody else speaks there is nothing to tell.
    good = theirs.any(axis=1) & (there & ~right[:, :REACH] & ~own).any(axis=1)
    return at[good], right[good], unknown[good]


def _topics(room: HeardRoom, first: int, last: int, speaker: Any, named: Any) -> _Found | None:
    topic, reply = (np.asarray(getattr(room, name)[first:last]) for name in ("topic", "reply"))
    at = np.flatnonzero(topic >= 0)
    whole = last - first > 2 * _WARM_UP
    at = at[at >= (_WARM_UP if whole else 2)]
    if not len(at):
        return None
    j, there, right = _grid(at)
    right[:, :REACH] = there & (topic[j] == topic[at][:, None])
    right[:, REACH] = ~right[:, :REACH].any(axis=1)
    quotes = np.flatnonzero((reply[at] > 0) & (reply[at] <= REACH))
    right[quotes] = False
    right[quotes, reply[at[quotes]] - 1] = True
    right[:, :REACH] &= there
    if not whole:  # what it goes on with may have been said before
        good = right[:, :REACH].any(axis=1)
        at, right = at[good], right[good]
    return at, right, np.zeros_like(right)


def _meant(room: HeardRoom, first: int, last: int, speaker: Any, named: Any) -> _Found | None:
    meant = np.asarray(room.meant[first:last])
    at = np.flatnonzero(meant != UNKNOWN)
    at = at[at > 3]
    if not len(at):
        return None
    j, there, right = _grid(at)
    to, own = meant[at][:, None], (speaker[j] == speaker[at][:, None]) & there
    right[:, :REACH] = there & np.where(own, meant[j] == to, (speaker[j] == to) & (to >= 0))
    right[:, REACH] = meant[at] == NOBODY
    unknown = np.zeros_like(right)
    unknown[:, :REACH] = own & (meant[j] == UNKNOWN)
    good = right.any(axis=1)
    return at[good], right[good], unknown[good]


_FINDERS = {Kind.LINKS: _links, Kind.NAMES: _names, Kind.DRAFTS: _names, Kind.TOPICS: _topics,
            Kind.MEANT: _meant}  # fmt: skip


class Examples(ArrayFolder):
    """What a room teaches, on disk."""

    def bits(self, name: str, rows: slice) -> NDArray[np.bool_]:
        """(R, `REACH` + 1) Those that are right, or unknown."""
        return np.unpackbits(getattr(self, name)[rows], axis=1)[:, : REACH + 1].astype(bool)


def collect(
    room: HeardRoom,
    kind: Kind,
    part: str,
    weights: NDArray[np.float32],
    folder: Path,
    *,
    most: int = 1 << 40,
    seed: int = 0,
) -> Examples | None:
    """Write what a room teaches, unless that was done before; None if it teaches nothing of the kind.

    Args:
        room: Which.
        kind: What is to be learned.
        part: Of the room.
        weights: How much pieces tell.
        folder: Where to.
        most: About how many messages at most, evenly spread.
        seed: For what is drawn.
    """
    if folder.exists():
        return Examples(folder)
    random = np.random.default_rng(seed)
    found = [
        (first, last, rows)
        for first, last in bounds_of(room, kind, part, random)
        if (rows := rows_of(room, kind, first, last, hidden=part == "train", random=random)) is not None
    ]
    share = most / max(sum(len(rows.at) for _, _, rows in found), 1)
    parts: list[dict[str, NDArray[Any]]] = []
    for first, last, rows in found:
        if share < 1:
            rows = rows.some(np.flatnonzero(random.random(len(rows.at)) < share))
        parts += _seen(room.columns(first, last, weights), rows, first, kind, random)
    if not parts:
        return None
    return written(folder, parts)


def bounds_of(room: HeardRoom, kind: Kind, part: str, random: np.random.Generator) -> list[tuple[int, int]]:
    """The segments of a room to learn from; in training, small rooms made of them beside."""
    if part != "train":
        return room.segments(part)
    return room.segments(part) + room.beginnings(part, _BEGINNINGS.get(kind, 0.0), random)


def written(folder: Path, parts: Sequence[Mapping[str, NDArray[Any]]]) -> Examples:
    """Examples that were collected part by part, on disk from now on."""
    write_arrays(folder, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    return Examples(folder)


def _seen(
    past: Columns, rows: Rows, first: int, kind: Kind, random: np.random.Generator
) -> Iterator[dict[str, NDArray[Any]]]:
    """What there is to see, some hundred messages at a time."""
    for start in range(0, len(rows.at), 400):
        some = rows.some(slice(start, start + 400))
        at, count = some.at, len(some.at)
        reach, timed = np.full(count, REACH), np.ones(count, bool)
        if kind is Kind.DRAFTS:
            reach, timed = np.full(count, _NEAR), np.zeros(count, bool)
        elif kind is Kind.NAMES:
            reach = np.full(count, random.choice(_REACHES, p=_SHARES))
            timed = (reach == REACH) & (random.random(count) < _TIMED)
        shown = _NEAR if kind is Kind.DRAFTS else REACH
        new = past.at(at)._replace(named=some.named, mentions=some.mentions)
        seen = compare(past, new, at, reach=reach, timed=timed)
        beyond = np.concatenate([~seen.there, np.zeros((count, 1), bool)], axis=1)
        found: dict[str, NDArray[Any]] = {
            "at": at + first,
            "start": np.full(count, first),
            "pairs": seen.pairs[:, :shown].astype(np.float16),
            "messages": seen.messages.astype(np.float16),
            "right": np.packbits(some.right & ~beyond, axis=1),
            "unknown": np.packbits(some.unknown | beyond, axis=1),
        }
        if kind in OTHERS:
            drafts = random.integers(0, past.size, (count, OTHERS[kind]))
            found["drafts"] = drafts + first
            texts = [_draft(past, new, at, drafts[:, n], reach, timed) for n in range(drafts.shape[1])]
            found["of_text"] = np.stack([pairs[:, :shown] for pairs, _ in texts], axis=1)
            found["of_draft"] = np.stack([alone for _, alone in texts], axis=1)
        yield found


def _draft(
    past: Columns,
    new: Columns,
    at: NDArray[Any],
    draft: NDArray[Any],
    reach: NDArray[Any],
    timed: NDArray[Any],
) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """What would be seen if somebody said another text: of the signals, those that it changes."""
    other = past.at(draft)
    new = new._replace(**{name: getattr(other, name) for name in columns.OF_TEXT})
    seen = compare(past, new, at, reach=reach, timed=timed)
    return seen.pairs[..., OF_TEXT].astype(np.float16), seen.messages[:, OF_DRAFT].astype(np.float16)
