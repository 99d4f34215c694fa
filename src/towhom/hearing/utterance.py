"""The analysed message that every task reads: its speaker, the people it calls, and its words."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Kind
from towhom.hearing.calls import Call
from towhom.hearing.manners import Manner
from towhom.hearing.states import flag_of, number_of, share_of, text_of, text_or_none, texts_of, whole_of

SPOKEN = frozenset({Kind.MESSAGE, Kind.ACTION, Kind.NOTICE})
"""Kinds of lines that are messages."""
REACH = 100
"""How many messages back a model looks; older ones have no effect."""
LONGEST = 4000
"""Number of characters of a message that are read, which is far more than a model uses."""
CALLED = 0.5
"""Somebody who is called with at least this probability counts as addressed."""
NO_TOKENS = np.zeros(0, np.int32)
NO_PIECES = np.zeros(0, np.uint32)
NO_WEIGHTS = np.zeros(0, np.float32)


class Bearing(NamedTuple):
    """How a message behaves, whatever its topic. Lists of words tell it for each language."""

    anybody: bool = False
    """It asks the whole room: `does anyone know`."""
    greets: bool = False
    """It begins with a greeting or thanks."""
    answers: bool = False
    """It begins like an answer: `yes`, `ok`, `no`."""
    you: bool = False
    """It has a word of the second person."""


_PLAIN = Bearing()


@dataclass(slots=True)
class Utterance:
    """An analysed message. People are given by their identifiers."""

    speaker: str
    text: str
    """The text, without a name in front that calls somebody."""
    calls: tuple[Call, ...] = ()
    """Everybody who is named, the surest call first; includes people who are only talked about."""
    everybody: bool = False
    """Whether it calls everybody."""
    stranger: bool = False
    """Whether it seems to call somebody unknown."""
    time: float | None = None
    """In seconds since 1970."""
    id: str | None = None
    reply_to: str | None = None
    kind: Kind = Kind.MESSAGE
    asks: bool = False
    bearing: Bearing = _PLAIN
    tokens: NDArray[np.int32] = field(default_factory=lambda: NO_TOKENS, repr=False)
    """The ids of its words in the model's vocabulary."""
    pieces: NDArray[np.uint32] = field(default_factory=lambda: NO_PIECES, repr=False)
    """Hashes of the pieces of its words."""
    weights: NDArray[np.float32] = field(default_factory=lambda: NO_WEIGHTS, repr=False)
    """How informative each piece is, if another message has it, too."""
    names: tuple[str, ...] = ()
    """Its words that may be names, each once."""
    telling: int = 0
    """Number of different informative words."""
    own: int = 0
    """How many messages ago the speaker spoke; 0 if not within reach."""
    called: int = 0
    """How many messages ago the speaker was called; 0 if not within reach."""
    gone: bool = False
    """Whether it was deleted."""
    language: str | None = None
    """The code of its language, if it was determined."""

    addressees: tuple[str, ...] = field(init=False, default=())
    """The people who are called, the surest first."""
    mentions: tuple[str, ...] = field(init=False, default=())
    """The people who are named but not called."""

    def __post_init__(self) -> None:
        self.hear_calls(self.calls)

    def hear_calls(self, calls: tuple[Call, ...]) -> None:
        """Set the calls, and the addressees and mentions derived from them."""
        self.calls = calls
        self.addressees = tuple(call.who for call in calls if call.sure >= CALLED)
        self.mentions = tuple(call.who for call in calls if call.sure < CALLED)

    @property
    def addressee(self) -> str | None:
        """The person who is called most surely, if anybody."""
        return self.addressees[0] if self.addressees else None

    @property
    def command(self) -> bool:
        """Whether the message looks like a command for a bot."""
        return self.text.startswith("!")

    def state(self) -> dict[str, Any]:
        """The utterance as a JSON value."""
        return {
            "speaker": self.speaker, "text": self.text, "calls": [list(call) for call in self.calls],
            "everybody": self.everybody, "stranger": self.stranger, "time": self.time, "id": self.id,
            "reply_to": self.reply_to, "kind": self.kind.value, "asks": self.asks, "own": self.own,
            "called": self.called, "gone": self.gone, "tokens": self.tokens.tolist(),
            "bearing": list(self.bearing), "pieces": self.pieces.tolist(),
            "weights": self.weights.tolist(), "names": list(self.names), "telling": self.telling,
        }  # fmt: skip

    @classmethod
    def of(cls, state: dict[str, Any]) -> Utterance:
        """Rebuild an utterance from its `state`.

        Raises:
            LookupError, TypeError, ValueError: The value does not come from `state`.
        """
        own, called = (whole_of(state[name], below=REACH + 1) for name in ("own", "called"))
        time = None if state["time"] is None else number_of(state["time"])
        if time is not None:
            datetime.fromtimestamp(time, UTC)  # raises if it is no valid time
        pieces, weights = _wholes(state["pieces"], np.uint32), _weights(state["weights"])
        if len(pieces) != len(weights):
            raise ValueError("pieces and their weights differ")
        kind = Kind(state["kind"])
        if kind not in SPOKEN:
            raise ValueError(f"nobody writes a {kind.value}")
        everybody, stranger, asks, gone = (
            flag_of(state[name]) for name in ("everybody", "stranger", "asks", "gone")
        )
        return cls(
            speaker=text_of(state["speaker"]),
            text=text_of(state["text"]),
            calls=tuple(
                Call(text_of(who), Manner(manner), share_of(sure)) for who, manner, sure in state["calls"]
            ),
            time=time,
            id=text_or_none(state["id"]),
            reply_to=text_or_none(state["reply_to"]),
            kind=kind,
            bearing=Bearing(*map(flag_of, state["bearing"])),
            tokens=_wholes(state["tokens"], np.int32),
            pieces=pieces,
            weights=weights,
            names=texts_of(state["names"]),
            telling=whole_of(state["telling"], below=LONGEST + 1),
            own=own,
            called=called,
            everybody=everybody,
            stranger=stranger,
            asks=asks,
            gone=gone,
        )


def _wholes(values: object, dtype: type[np.int32] | type[np.uint32]) -> NDArray[Any]:
    """The values, which must be a list of whole numbers from 0."""
    found = _array(values)
    if found.size and not (
        found.dtype.kind in "iu" and found.min() >= 0 and found.max() <= np.iinfo(dtype).max
    ):
        raise ValueError("expected a list of whole numbers")
    return found.astype(dtype)


def _weights(values: object) -> NDArray[np.float32]:
    """The values, which must be a list of numbers from 0 to 1."""
    found = _array(values)
    if found.size and not (found.dtype.kind in "fiu" and found.min() >= 0 and found.max() <= 1):
        raise ValueError("expected a list of weights from 0 to 1")
    return found.astype(np.float32)


def _array(values: object) -> NDArray[Any]:
    found = np.array(values)
    if not isinstance(values, list) or found.ndim != 1:
        raise TypeError("expected a list of numbers")
    return found
