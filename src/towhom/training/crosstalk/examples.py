"""Training examples of Crosstalk: the signals of messages whose possible links are known.

All kinds of data are used in the same way: they say which cells are right, and which are undecided.
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
    """How the links of messages are known."""

    LINKS = "links"
    """People annotated reply links."""
    NAMES = "names"
    """The message names its addressee; the name is hidden."""
    DRAFTS = "drafts"
    """The same, as in the paper's task: with a context of fifteen messages, and nine more drafts."""
    TOPICS = "topics"
    """The message was written in a topic, or quotes a message."""
    MEANT = "meant"
    """The addressee is annotated."""


OTHERS = {Kind.NAMES: 2, Kind.DRAFTS: 9}
"""Number of other messages of the same segment that serve as false drafts."""
_WARM_UP = 150
"""Number of messages at the start of a segment that are not used as examples."""
_NEAR, _REACHES, _SHARES = 15, (30, REACH), (0.25, 0.75)
"""How far back examples with hidden names see: the paper's context; or a longer one or all, with shares."""
_TIMED = 0.8
_BEGINNINGS = {Kind.LINKS: 0.4, Kind.TOPICS: 0.05, Kind.MEANT: 0.4}
"""Share of the messages that small rooms are made of."""
_DRAFTED = ("asks", "command", "action", "length", "mentions somebody", "asks anybody", "greets",
            "begins like an answer", "says you", "calls everybody")  # fmt: skip
OF_DRAFT = tuple(ALONE.index(name) for name in _DRAFTED)
"""The signals of a message alone that would differ if the same speaker sent another text."""


class Rows(NamedTuple):
    """Examples from a segment, by their places in it."""

    at: NDArray[np.int64]
    named: NDArray[np.int64]
    """The people they name, unless hidden."""
    mentions: NDArray[np.int64]
    right: NDArray[np.bool_]
    """(R, `REACH` + 1) The right cells; the last is a start."""
    unknown: NDArray[np.bool_]
    """(R, `REACH` + 1) Cells that may be right or wrong."""

    def some(self, which: slice | NDArray[np.int64]) -> Rows:
        """The given rows."""
        return Rows(
            self.at[which], self.named[which], self.mentions[which], self.right[which], self.unknown[which]
        )


def rows_of(
    room: HeardRoom, kind: Kind, first: int, last: int, *, hidden: bool, random: np.random.Generator
) -> Rows | None:
    """Find the examples in a segment of a room; None if there are none.

    Args:
        room: The room.
        kind: The kind of examples.
        first: Start of the segment.
        last: End of the segment.
        hidden: Whether to hide some names that need not be hidden, so that links without names are learned.
        random: The random generator.
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
    """(R, `REACH`) Places before, and whether they exist; (R, `REACH` + 1) cells, none of them right."""
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
    # If nobody else speaks, there is nothing to learn.
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
    if not whole:  # the message that it continues may precede the small room
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
    """The examples of a room, on disk."""

    def bits(self, name: str, rows: slice) -> NDArray[np.bool_]:
        """(R, `REACH` + 1) The flags called `name`: "right" or "unknown"."""
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
    """Write a room's examples of one kind, unless that was done before; None if it has none.

    Args:
        room: The room.
        kind: The kind of examples.
        part: The part of the room: train, dev or test.
        weights: The weights of pieces.
        folder: The folder to write.
        most: Approximate maximum number of messages, drawn at random.
        seed: Seed of the random choices.
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
    """The segments of a part of a room; for train, small rooms cut from them as well."""
    if part != "train":
        return room.segments(part)
    return room.segments(part) + room.beginnings(part, _BEGINNINGS.get(kind, 0.0), random)


def written(folder: Path, parts: Sequence[Mapping[str, NDArray[Any]]]) -> Examples:
    """Write examples that were collected part by part, and open them from disk."""
    write_arrays(folder, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    return Examples(folder)


def _seen(
    past: Columns, rows: Rows, first: int, kind: Kind, random: np.random.Generator
) -> Iterator[dict[str, NDArray[Any]]]:
    """The signals and labels of some rows, up to 400 at a time."""
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
    """The signals that would differ if the speaker sent another text, computed for that text."""
    other = past.at(draft)
    new = new._replace(**{name: getattr(other, name) for name in columns.OF_TEXT})
    seen = compare(past, new, at, reach=reach, timed=timed)
    return seen.pairs[..., OF_TEXT].astype(np.float16), seen.messages[:, OF_DRAFT].astype(np.float16)
