"""Examples for the reader: rooms as lines of transcripts, with labels and the probabilities of the two looks.

People are numbers in the lines, so that each sequence of lines can give them other first names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk.mind import Mind, Texts, softmax
from towhom.crosstalk.reader import FLOOR, PAGE, TURN
from towhom.crosstalk.signals import places_before
from towhom.crosstalk.transcript import Transcript
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.utterance import REACH
from towhom.training.crosstalk.examples import Examples, Kind, Rows, rows_of, written
from towhom.training.crosstalk.looks import States
from towhom.training.crosstalk.rooms import SEGMENT, HeardRoom, Kept, Segment, Source, reopened, segments
from towhom.training.crosstalk.second import first_sights

KINDS = (Kind.LINKS, Kind.NAMES, Kind.TOPICS, Kind.MEANT)
"""The kinds of examples that the reader learns from."""
MOST = 45 * SEGMENT
"""Maximum number of messages of a room, besides the annotated segments."""
_CHUNK = 256
_LEAST = 1e-6
"""Lower probabilities of the looks are stored as this; `FLOOR` excludes them."""
_NEW = 12
"""Messages nearer to the begin of a sequence are no examples, unless the room begins there."""
_BEFORE, _AFTER = 40, 60
"""A sequence begins at most so many messages before the first example, and so many before the last."""
_HIDDEN = 0.75
"""How often the name in a message is hidden that is no example otherwise."""


def hear_lines(
    source: Source,
    data: Path,
    out: Path,
    lexicon: Lexicon,
    transcript: Transcript,
    *,
    most: int = MOST,
    seed: int = 0,
) -> HeardRoom:
    """Analyse some segments of a room, and write them with their lines, unless that was done before.

    Args:
        source: The room's source.
        data: The folder that contains its path.
        out: The folder to write.
        lexicon: The lexicon of the model.
        transcript: Writes the lines.
        most: Maximum number of messages, besides the annotated segments.
        seed: Seed of the random choice of segments.
    """
    if out.exists():
        return reopened(out, source)
    kept = Kept(source)
    lines: list[NDArray[np.int64]] = []
    hidden: list[NDArray[np.int64]] = []
    for segment in _some_of(source, data, most, np.random.default_rng(seed)):
        people: dict[str, int] = {}
        for message in kept.hear(segment, lexicon):
            lines.append(transcript.pattern(message, people))
            bare = transcript.pattern(message, people, hidden=True) if message.addressees else lines[-1][:0]
            hidden.append(bare)
    arrays: dict[str, NDArray[Any]] = {}
    for name, each in (("line", lines), ("hidden", hidden)):
        arrays[name] = np.concatenate([np.empty(0, np.int64), *each]).astype(np.int32)
        arrays[f"{name}_at"] = np.cumsum([0, *map(len, each)])
    return kept.write(out, **arrays)


def _some_of(source: Source, data: Path, most: int, random: np.random.Generator) -> list[Segment]:
    """The annotated segments of a room, and as many of the others as may be read, drawn at random."""
    linked = source.dev is not None
    found = [
        each for each in segments(source, data) if each.part == "train" or (each.part == "dev" and linked)
    ]
    chosen = {place for place, each in enumerate(found) if each.part == "dev" or _annotated(each)}
    for place in random.permutation(len(found)).tolist():
        if most <= 0:
            break
        if place not in chosen:
            chosen.add(place)
            most -= len(found[place].messages)
    return [found[place] for place in sorted(chosen)]


def _annotated(segment: Segment) -> bool:
    return bool(segment.links) or any(each.addressees is not None for each in segment.messages)


def collect_lines(
    mind: Mind,
    room: HeardRoom,
    texts: States,
    kind: Kind,
    part: str,
    weights: NDArray[np.float32],
    folder: Path,
    *,
    seed: int = 0,
) -> Examples | None:
    """Write a room's examples of one kind for the reader, unless that was done before; None if it has none.

    Args:
        mind: The model whose two looks say how likely each cell is.
        room: The room, from `hear_lines`.
        texts: Its encoded texts.
        kind: The kind of examples.
        part: The part of the room: train or dev.
        weights: The weights of pieces.
        folder: The folder to write.
        seed: Seed of the random choices.
    """
    if folder.exists():
        return Examples(folder)
    random = np.random.default_rng(seed)
    found: list[dict[str, NDArray[Any]]] = []
    for first, last in room.segments(part):
        rows = rows_of(room, kind, first, last, hidden=part == "train", random=random)
        if rows is not None and len(rows.at):
            said = mind.texts(np.asarray(texts[first:last], np.float32))
            found += _judged(mind, room, said, rows, first, last, weights)
    return written(folder, found) if found else None


def _judged(
    mind: Mind,
    room: HeardRoom,
    texts: Texts,
    rows: Rows,
    first: int,
    last: int,
    weights: NDArray[np.float32],
) -> Iterator[dict[str, NDArray[Any]]]:
    past = room.columns(first, last, weights)
    sights = first_sights(mind, past, texts)
    for start in range(0, len(rows.at), _CHUNK):
        some = rows.some(slice(start, start + _CHUNK))
        new = past.at(some.at)._replace(named=some.named, mentions=some.mentions)
        looked = mind.first_look(past, new, some.at, texts.said, texts.at(some.at))
        likely = softmax(mind.second_look(past, new, some.at, sights, looked))
        yield {
            "at": some.at + first,
            "start": np.full(len(some.at), first),
            "hidden": (past.named[some.at] >= 0) & (some.named < 0),
            "prior": np.log(np.maximum(likely, _LEAST)).astype(np.float16),
            "right": np.packbits(some.right, axis=1),
            "unknown": np.packbits(some.unknown, axis=1),
        }


class Drawn(NamedTuple):
    """Consecutive messages of a room as tokens, and the examples among them."""

    tokens: NDArray[np.int64]
    ends: NDArray[np.int64]
    """(M,) The last token of each message."""
    at: NDArray[np.int64]
    """(R,) The places of the examples among the messages."""
    rows: NDArray[np.int64]
    """(R,) Their rows in the lesson's examples."""


class Cells(NamedTuple):
    """What is known of R examples and of their cells, (R, `REACH` + 1)."""

    prior: NDArray[np.float32]
    """The logarithms of the probabilities by the two looks."""
    right: NDArray[np.bool_]
    closed: NDArray[np.bool_]
    """Cells that are impossible, or may be right or wrong."""
    own: NDArray[np.bool_]
    """(R, `REACH`) Whether the speaker said the earlier message, too."""
    named: NDArray[np.bool_]
    """(R,) Whether the message calls somebody."""


class LineLesson:
    """The examples of one kind from one room.

    Args:
        room: The room, from `hear_lines`.
        kind: The kind of examples.
        part: The part of the room.
        examples: The examples, from `collect_lines`.
        transcript: Gives people their first names.
    """

    def __init__(
        self, room: HeardRoom, kind: Kind, part: str, examples: Examples, transcript: Transcript
    ) -> None:
        self.room, self.kind, self.examples, self._transcript = room, kind, examples, transcript
        at, hidden = np.asarray(examples.at), np.asarray(examples.hidden)
        self._rows = np.full((2, len(room.speaker)), -1)
        for number, which in enumerate((~hidden, hidden)):
            self._rows[number, at[which]] = np.flatnonzero(which)
        every = [(first, last, at[(at >= first) & (at < last)]) for first, last in room.segments(part)]
        self.segments = [
            (first, last, int(near.min()), int(near.max())) for first, last, near in every if len(near)
        ]
        """Start and end of each segment with examples, and its first and last example."""
        self.documents = [place for place, (*_, near) in enumerate(every) if len(near)]
        """The place of each among the segments of the part."""
        spans = np.array([most - least + 1 for *_, least, most in self.segments], np.float64)
        self._shares = spans / spans.sum()

    def draw(self, random: np.random.Generator, *, tokens: int, hide: float) -> Drawn:
        """A sequence of messages from anywhere in the lesson.

        Args:
            random: The random generator.
            tokens: Maximum number of tokens.
            hide: How often a name is hidden where there are examples with and without it.
        """
        start, last, least, most = self.segments[random.choice(len(self.segments), p=self._shares)]
        lowest = least - _BEFORE
        first = max(int(random.integers(lowest, max(most - _AFTER, lowest + 1))), start)
        names = random.permutation(self._transcript.names)
        chances = random.random(last - first)
        plain, bare = self._rows[:, first:last]
        hidden = (bare >= 0) & (chances < np.where(plain >= 0, hide, _HIDDEN))
        found = self._written(first, hidden, names, tokens)
        good = found.at >= (_NEW if first > start else 0)
        return found._replace(at=found.at[good], rows=found.rows[good])

    def pages(self, segment: int) -> Iterator[Drawn]:
        """The pages of a segment on which there are examples, as `towhom.crosstalk.reader` reads them."""
        start, last, *_ = self.segments[segment]
        names = np.arange(self._transcript.names)
        for turn in range(start, last, TURN):
            stop = min(turn + TURN, last)
            if (self._rows[0, turn:stop] >= 0).any():
                first = max(turn + TURN - PAGE, start)
                found = self._written(first, np.zeros(stop - first, bool), names, 1 << 40)
                good = found.at >= turn - first
                yield found._replace(at=found.at[good], rows=found.rows[good])

    def cells(self, rows: NDArray[np.int64]) -> Cells:
        """What is known of the cells of some examples."""
        right, unknown = (
            np.unpackbits(np.asarray(getattr(self.examples, name)[rows]), axis=1)[:, : REACH + 1].astype(bool)
            for name in ("right", "unknown")
        )
        prior = np.asarray(self.examples.prior[rows], np.float32)
        closed = unknown | (prior <= FLOOR)
        at, hidden = np.asarray(self.examples.at[rows]), np.asarray(self.examples.hidden[rows])
        speaker, named = np.asarray(self.room.speaker), np.asarray(self.room.named)
        places, there = places_before(at)
        own = there & (speaker[places] == speaker[at][:, None])
        return Cells(prior, right & ~closed, closed, own, (named[at] >= 0) & ~hidden)

    def _written(self, first: int, hidden: NDArray[np.bool_], names: NDArray[np.int64], tokens: int) -> Drawn:
        """The messages from one on, as many as fit.

        Args:
            first: The first message.
            hidden: Of each message, whether the name in it is hidden.
            names: The first names in the order in which people get them.
            tokens: Maximum number of tokens.
        """
        lines: list[NDArray[np.int64]] = []
        count = 0
        for place, bare in enumerate(hidden.tolist(), first):
            name = "hidden" if bare else "line"
            start, stop = getattr(self.room, f"{name}_at")[place : place + 2]
            count += int(stop - start)
            if count > tokens:
                break
            lines.append(np.asarray(getattr(self.room, name)[start:stop], np.int64))
        starts = np.cumsum([0, *map(len, lines)])
        every = np.concatenate([np.empty(0, np.int64), *lines])
        filled = self._transcript.named(_renamed(every, names), starts[:-1])
        rows = np.where(hidden, *self._rows[::-1, first : first + len(hidden)])[: len(lines)]
        at = np.flatnonzero(rows >= 0)
        return Drawn(filled, starts[1:] - 1, at, rows[at])


def _renamed(tokens: NDArray[np.int64], names: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lines in which people have other numbers: the first who occurs has the first of these, and so on."""
    places = np.flatnonzero(tokens < 0)
    _, first, which = np.unique(tokens[places], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    result = tokens.copy()
    result[places] = -1 - names[rank[which] % len(names)]
    return result


def sizes_of(lessons: Sequence[LineLesson]) -> list[dict[str, Any]]:
    """The room, the kind and the number of examples of lessons, for records."""
    return [
        {"room": each.room.name, "kind": each.kind.value, "examples": len(each.examples.at)}
        for each in lessons
    ]
