"""Messages as columns of numbers, with which new messages are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Kind
from towhom.hearing.utterance import Utterance

NOBODY = -1
STRANGER = -2
"""The message calls somebody who is unknown."""
MENTIONS = 3
"""Maximum number of people per message that are stored as mentioned, besides the first one called."""

Array = NDArray[np.float32]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Columns(NamedTuple):
    """N messages, the earliest first. People are represented by numbers that are valid only here."""

    speaker: Whole
    named: Whole
    """The person called; or `NOBODY`, `STRANGER`."""
    mentions: Whole
    """(N, `MENTIONS`) Other people who are named."""
    time: NDArray[np.float64]
    """Seconds; NaN if unknown."""
    own: Whole
    """How many messages ago the speaker last spoke; 0 if that is out of reach."""
    called: Whole
    """How many messages ago the speaker was last called; 0 if that is out of reach."""
    asks: Flags
    command: Flags
    action: Flags
    bearing: Flags
    """(N, 4) See `Bearing`."""
    everybody: Flags
    gone: Flags
    """Whether the message was deleted, so that nothing can answer it."""
    length: Array
    """Length of the text, on a logarithmic scale."""
    pieces: NDArray[np.uint32]
    """(L,) The pieces of all messages, one message after the other."""
    weights: Array
    """(L,) How informative each piece is."""
    offsets: Whole
    """(N + 1,) Where the pieces of each message begin."""

    @property
    def size(self) -> int:
        """Number of messages."""
        return len(self.speaker)

    def part(self, first: int) -> Columns:
        """The messages from index `first` on; a negative index counts from the end."""
        first = first if first >= 0 else self.size + first
        start = self.offsets[first]
        return Columns(
            **{name: getattr(self, name)[first:] for name in OF_MESSAGES},
            pieces=self.pieces[start:],
            weights=self.weights[start:],
            offsets=self.offsets[first:] - start,
        )

    def at(self, places: Whole) -> Columns:
        """The messages at the given indices, in any order."""
        lengths = np.diff(self.offsets)[places]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        pieces = np.repeat(self.offsets[places] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Columns(
            **{name: getattr(self, name)[places] for name in OF_MESSAGES},
            pieces=self.pieces[pieces],
            weights=self.weights[pieces],
            offsets=offsets,
        )


OF_MESSAGES = tuple(name for name in Columns._fields if name not in ("pieces", "weights", "offsets"))
"""The columns that have a row for each message."""


OF_TEXT = ("mentions", "asks", "command", "action", "bearing", "everybody", "length", "pieces", "weights",
           "offsets")  # fmt: skip
"""The columns that would differ if the same speaker sent another text."""


def joined(parts: Sequence[Columns]) -> Columns:
    """Concatenate messages. All parts must number people alike, unless they are never compared."""
    if len(parts) == 1:
        return parts[0]
    both = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Columns._fields
        if name != "offsets"
    }
    lengths = [np.diff(part.offsets) for part in parts]
    return Columns(**both, offsets=np.cumsum(np.concatenate([[0], *lengths])))


class Numbers(dict[str, int]):
    """The number of each person, in order of first appearance."""

    def __missing__(self, who: str) -> int:
        number = self[who] = len(self)
        return number


def columns_of(messages: Sequence[Utterance], numbers: Numbers) -> Columns:
    """Columns of some messages; adds people who have no number yet."""
    named, mentions = [], []
    for message in messages:
        to = message.addressee
        named.append(STRANGER if message.stranger else NOBODY if to is None else numbers[to])
        others = [numbers[who] for who in (*message.addressees[1:], *message.mentions)[:MENTIONS]]
        mentions.append(others + [NOBODY] * (MENTIONS - len(others)))
    lengths = [len(message.tokens) for message in messages]
    return Columns(
        speaker=np.array([numbers[message.speaker] for message in messages], np.int64),
        named=np.array(named, np.int64),
        mentions=np.array(mentions, np.int64).reshape(-1, MENTIONS),
        time=np.array([np.nan if message.time is None else message.time for message in messages], np.float64),
        own=np.array([message.own for message in messages], np.int64),
        called=np.array([message.called for message in messages], np.int64),
        asks=np.array([message.asks for message in messages], bool),
        command=np.array([message.command for message in messages], bool),
        action=np.array([message.kind is not Kind.MESSAGE for message in messages], bool),
        bearing=np.array([message.bearing for message in messages], bool).reshape(-1, 4),
        everybody=np.array([message.everybody for message in messages], bool),
        gone=np.array([message.gone for message in messages], bool),
        length=(np.log1p(lengths) / 3).astype(np.float32),
        pieces=np.concatenate([np.empty(0, np.uint32), *(message.pieces for message in messages)]),
        weights=np.concatenate([np.empty(0, np.float32), *(message.weights for message in messages)]),
        offsets=np.cumsum([0, *(len(message.pieces) for message in messages)]),
    )
