"""Reads a room word by word, with a small language model, and says which messages answer each other.

The two looks know a text by the sum of its words. The reader takes the words in their order, and each in the
light of all before it, as one transcript: `Anna: Tom, did that help?`. What it finds is added to the energies
of the cells. It costs far more than the looks, so only the large model has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.crosstalk.arrays import NUMPY, Arrays, Weights
from towhom.crosstalk.columns import Array, Flags, Whole
from towhom.crosstalk.transcript import Transcript
from towhom.hearing.utterance import REACH, Utterance

BLOCK, BLOCKS = 256, 3
"""A token attends to those of its own block of tokens, and of the two blocks before it."""
PAGE, TURN = 100, 70
"""Maximum number of messages on a page, and how many are new; those just before them come first."""
HEAD = 64
"""Length of the vectors of an attention head."""
SHARED = 3
"""Number of query heads that share a key head."""
SLOWEST = 100_000.0
"""The longest period of the rotations that tell places apart, as in the published model."""
TINY = 1e-5
"""What is added to mean squares, as in the published model."""
_LOWEST = -1e9
MIX = ("the looks", "others", "own lines", "starts", "own line", "start")
"""What is weighed: the logarithms of probabilities by the looks; those by the reader, for messages of others,
the speaker's own lines and starts; and two constants. Messages that call nobody have other weights than those
that do."""
_LEAST = -15.0
"""No logarithm of a probability by the reader is lower."""
FORKS = 16
"""Maximum number of drafts that are read; only the likeliest are."""
FLOOR = -13.5
"""Cells with a lower logarithm of their probability stay impossible."""


class Span(NamedTuple):
    """Consecutive tokens that attend to the same earlier ones, and causally to each other."""

    first: int
    """The first of them, among the tokens that are read now."""
    last: int
    """The end."""
    place: int
    """The place of the first on the page."""
    since: int
    """The first place that they attend to."""


def shapes(
    tokens: int, *, width: int, inner: int, layers: int, keys: int, compared: int
) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights.

    Args:
        tokens: Number of tokens of the language model.
        width: Length of the vector of a token.
        inner: Units of a layer.
        layers: Number of layers.
        keys: Length of what all key heads of a layer make of a token.
        compared: Length of the vectors by which two messages are compared.
    """
    found: dict[str, tuple[int, ...]] = {
        "reader.tokens": (tokens, width),
        "reader.norm": (width,),
        "reader.answer.w": (width, compared),
        "reader.answer.b": (compared,),
        "reader.answered.w": (width, compared),
        "reader.answered.b": (compared,),
        "reader.start.w": (width,),
        "reader.start.b": (1,),
        "reader.back": (REACH,),
        "reader.far": (1,),
        "reader.parts": (2, len(MIX)),
    }
    for layer in range(layers):
        name = f"reader.{layer}"
        found |= {
            f"{name}.before": (width,),
            f"{name}.heads": (width + 2 * keys, width),
            f"{name}.mix": (width, width),
            f"{name}.between": (width,),
            f"{name}.inner": (2 * inner, width),
            f"{name}.outer": (width, inner),
        }
    return found


def _since(place: int) -> int:
    """The first place that the token at a place attends to."""
    return max(place // BLOCK + 1 - BLOCKS, 0) * BLOCK


def spans_of(first: int, count: int) -> list[Span]:
    """The spans of tokens that follow each other, from a place of the page on."""
    found, place = [], first
    while place < first + count:
        block = place // BLOCK
        end = min((block + 1) * BLOCK, first + count)
        found.append(Span(place - first, end - first, place, _since(place)))
        place = end
    return found


def rotations(places: Whole) -> tuple[Array, Array]:
    """(T, 1, 32) Cosines and sines that tell places apart."""
    half = HEAD // 2
    pace = SLOWEST ** (-np.arange(half, dtype=np.float32) / half)
    angles = places[:, None].astype(np.float32) * pace
    return np.cos(angles)[:, None], np.sin(angles)[:, None]


def _turned(x: Any, cosines: Any, sines: Any, xp: Arrays) -> Any:
    """Heads (T, H, 64), rotated by their places."""
    one, other = x[..., : HEAD // 2], x[..., HEAD // 2 :]
    return xp.join([one * cosines - other * sines, one * sines + other * cosines])


def _attended(query: Any, key: Any, value: Any, mask: Any, xp: Arrays) -> Any:
    """(n, width) What n tokens find in m, the last of which they are: (n, H, 64), (m, K, 64), (m, K, 64)."""
    n, keys = query.shape[0], key.shape[1]
    # Query heads that share a key head are taken together.
    asks = query.reshape(n, keys, SHARED, HEAD).swapaxes(0, 1).swapaxes(1, 2).reshape(keys, SHARED * n, HEAD)
    weights = asks @ key.swapaxes(0, 1).swapaxes(1, 2)
    shares = xp.softmax(weights.reshape(keys, SHARED, n, -1) * HEAD**-0.5 + mask)
    found = shares.reshape(keys, SHARED * n, -1) @ value.swapaxes(0, 1)
    return found.reshape(keys, SHARED, n, HEAD).swapaxes(1, 2).swapaxes(0, 1).reshape(n, -1)


class Cache:
    """The keys and values of a page's tokens in each layer, as far back as coming ones attend to them."""

    def __init__(self) -> None:
        self.since = 0
        """The place of the first token that is kept."""
        self.kept: dict[int, tuple[Any, Any]] = {}

    def before(self, layer: int, since: int, place: int) -> list[tuple[Any, Any]]:
        """Keys and values from a place on, up to another."""
        if layer not in self.kept or since >= place:
            return []
        key, value = self.kept[layer]
        return [
            (key[since - self.since : place - self.since], value[since - self.since : place - self.since])
        ]

    def keep(self, layer: int, key: Any, value: Any, xp: Arrays) -> None:
        """Add those of the next tokens."""
        if layer in self.kept:
            old_key, old_value = self.kept[layer]
            key, value = xp.stack([old_key, key]), xp.stack([old_value, value])
        self.kept[layer] = key, value

    def forget(self, place: int) -> None:
        """Forget what tokens from a place on do not attend to."""
        since = _since(place)
        if since > self.since:
            drop = since - self.since
            self.kept = {
                each: (key[drop:].copy(), value[drop:].copy()) for each, (key, value) in self.kept.items()
            }
            self.since = since


def layers_of(w: Weights) -> int:
    """The number of layers."""
    return sum(name.endswith(".mix") for name in w)


def read_on(
    w: Weights,
    x: Any,
    spans: Sequence[Span],
    cache: Cache,
    xp: Arrays = NUMPY,
    *,
    keep: bool = True,
    layers: range | None = None,
) -> Any:
    """(T, width) What the layers make of the next tokens.

    Args:
        w: The weights.
        x: (T, width) The vectors of the tokens.
        spans: Where they are.
        cache: What was read before.
        xp: The array operations.
        keep: Whether the tokens stay on the page; otherwise each span is a continuation of its own.
        layers: The layers; all of them by default.
    """
    places = np.concatenate([np.arange(span.place, span.place + span.last - span.first) for span in spans])
    cosines, sines = (xp.like(each, x) for each in rotations(places))
    masks = [xp.like(_mask(span), x) for span in spans]
    for layer in range(layers_of(w)) if layers is None else layers:
        name = f"reader.{layer}"
        width = x.shape[1]
        both = xp.rms(x, TINY) * w[f"{name}.before"] @ w[f"{name}.heads"].T
        keys = (both.shape[1] - width) // 2
        query = _turned(both[:, :width].reshape(len(places), -1, HEAD), cosines, sines, xp)
        key = _turned(both[:, width : width + keys].reshape(len(places), -1, HEAD), cosines, sines, xp)
        value = both[:, width + keys :].reshape(len(places), -1, HEAD)
        if keep:
            cache.keep(layer, key, value, xp)
        found = []
        for span, mask in zip(spans, masks, strict=True):
            rows = slice(span.first, span.last)
            if keep:
                ((seen_key, seen_value),) = cache.before(
                    layer, span.since, span.place + span.last - span.first
                )
            else:
                parts = [*cache.before(layer, span.since, span.place), (key[rows], value[rows])]
                seen_key, seen_value = (xp.stack([part[n] for part in parts]) for n in (0, 1))
            found.append(_attended(query[rows], seen_key, seen_value, mask, xp))
        x = x + xp.stack(found) @ w[f"{name}.mix"].T
        both = xp.rms(x, TINY) * w[f"{name}.between"] @ w[f"{name}.inner"].T
        inner = both.shape[1] // 2
        x = x + (xp.silu(both[:, :inner]) * both[:, inner:]) @ w[f"{name}.outer"].T
    return x


def _mask(span: Span) -> Array:
    """(n, m) Nothing where a token may attend to another, and the lowest number elsewhere."""
    end = span.place + span.last - span.first
    place, other = np.arange(span.place, end)[:, None], np.arange(span.since, end)
    # A continuation may cross the end of a block; then its last tokens attend from one block later on.
    since = (place // BLOCK + 1 - BLOCKS) * BLOCK
    return np.where((since <= other) & (other <= place), np.float32(0), np.float32(_LOWEST))


def compared(w: Weights, x: Any, xp: Arrays = NUMPY) -> tuple[Any, Any, Any]:
    """What M messages are as answers, as messages to be answered, and as starts: (M, C), (M, C), (M,)."""
    x = xp.rms(x, TINY) * w["reader.norm"]
    answer = x @ w["reader.answer.w"] + w["reader.answer.b"]
    answered = x @ w["reader.answered.w"] + w["reader.answered.b"]
    return (
        answer * w["reader.answer.w"].shape[1] ** -0.5,
        answered,
        x @ w["reader.start.w"] + w["reader.start.b"],
    )


def scores_of(w: Weights, answer: Any, answered: Any, start: Any, at: Whole, xp: Arrays = NUMPY) -> Any:
    """(R, `REACH` + 1) How well messages of a page answer the earlier ones, or start something.

    Args:
        w: The weights.
        answer: (R, C) What they are as answers.
        answered: (M, C) What all messages of the page are as messages to be answered.
        start: (R,) What they are as starts.
        at: (R,) Their places.
        xp: The array operations.
    """
    j = at[:, None] - 1 - np.arange(REACH)
    found = xp.like(np.zeros(j.shape, np.float32), start) + w["reader.far"]
    if len(answered):
        near = xp.pick((answer @ answered.T)[None], np.maximum(j, 0))[0]
        found = xp.where(j >= 0, near, found)
    return xp.join([found + w["reader.back"], start[:, None]])


def parts_of(prior: Array, scores: Array, own: Flags, closed: Flags) -> Array:
    """(R, `REACH` + 1, parts) What `MIX` weighs; nothing where a cell is closed.

    Args:
        prior: (R, `REACH` + 1) Logarithms of the probabilities by the two looks.
        scores: (R, `REACH` + 1) What the reader found.
        own: (R, `REACH`) Whether the speaker said the earlier message, too.
        closed: (R, `REACH` + 1) The cells that are impossible.
    """
    found = np.where(closed, _LOWEST, scores)
    found = np.maximum(found - np.logaddexp.reduce(found, axis=1)[:, None], _LEAST)
    start = np.zeros(closed.shape, bool)
    start[:, REACH] = True
    own = np.concatenate([own, np.zeros((len(own), 1), bool)], axis=1)
    parts = np.stack([prior, found * ~(own | start), found * own, found * start, own, start], axis=2)
    return np.where(closed[..., None], np.float32(0), parts)


class Reader:
    """A language model that reads rooms. It is immutable, so any number of processor threads can share it.

    Args:
        weights: Arrays by the names in `shapes`.
        transcript: Turns messages into its tokens.
    """

    def __init__(self, weights: Mapping[str, NDArray[np.float32]], transcript: Transcript) -> None:
        self._w = weights
        self.transcript = transcript

    def page(self, first: int) -> Page:
        """A page that begins with the message of a number."""
        return Page(self._w, self.transcript, first)

    def judged(self, likely: Array, scores: Array, own: Flags, named: Flags) -> Array:
        """(R, `REACH` + 1) Energies, from the probabilities so far and what the reader found.

        Args:
            likely: (R, `REACH` + 1) The probabilities.
            scores: (R, `REACH` + 1) What the reader found.
            own: (R, `REACH`) Whether the speaker said the earlier message, too.
            named: (R,) Whether the message calls somebody.
        """
        with np.errstate(divide="ignore"):
            prior = np.log(likely)
        closed = prior <= FLOOR
        mix = self._w["reader.parts"][named.astype(np.int64)]
        energies = np.einsum("rcp,rp->rc", parts_of(prior, scores, own, closed), mix)
        return np.where(closed, -np.inf, energies).astype(np.float32)


class Page:
    """Consecutive messages of a room as they were read. Make it with `Reader.page`."""

    def __init__(
        self, weights: Mapping[str, NDArray[np.float32]], transcript: Transcript, first: int
    ) -> None:
        self._w, self._transcript = weights, transcript
        self.first = first
        """The number of its first message."""
        self._cache = Cache()
        self._length = 0
        self._names: dict[str, int] = {}
        self._answered = np.zeros((0, weights["reader.answered.b"].shape[0]), np.float32)

    @property
    def next(self) -> int:
        """The number of the message that comes next."""
        return self.first + len(self._answered)

    def read(self, messages: Sequence[Utterance]) -> Array:
        """(R, `REACH` + 1) Read the next messages: how well each answers earlier ones, or is a start."""
        lines = [self._transcript.line(message, self._names) for message in messages]
        tokens = np.concatenate(lines)
        x = read_on(
            self._w, self._w["reader.tokens"][tokens], spans_of(self._length, len(tokens)), self._cache
        )
        ends = np.cumsum([*map(len, lines)]) - 1
        self._length += len(tokens)
        self._cache.forget(self._length)
        answer, answered, start = compared(self._w, x[ends])
        before = len(self._answered)
        self._answered = np.concatenate([self._answered, answered])
        return self._scores(answer, start, np.arange(before, before + len(messages)))

    def fork(self, messages: Sequence[Utterance]) -> Array:
        """(R, `REACH` + 1) The same for messages each of which might come next; none of them stays."""
        lines = [self._transcript.line(message, dict(self._names)) for message in messages]
        ends = np.cumsum([*map(len, lines)])
        since = _since(self._length)
        spans = [
            Span(end - len(line), end, self._length, since)
            for end, line in zip(ends.tolist(), lines, strict=True)
        ]
        vectors = self._w["reader.tokens"][np.concatenate(lines)]
        x = read_on(self._w, vectors, spans, self._cache, keep=False)
        answer, _, start = compared(self._w, x[ends - 1])
        return self._scores(answer, start, np.full(len(messages), len(self._answered)))

    def _scores(self, answer: Array, start: Array, at: Whole) -> Array:
        """Scores of messages at some places of the page."""
        result: Array = scores_of(self._w, answer, self._answered, start, at)
        return result
