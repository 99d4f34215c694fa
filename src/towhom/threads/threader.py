"""Places messages in conversations, one at a time or many at once; the answers are the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import islice
from typing import Any, Protocol

import numpy as np

from towhom.chat import Kind, Message
from towhom.errors import SessionError
from towhom.hearing.ear import Ear
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.utterance import NO_PIECES, NO_TOKENS, NO_WEIGHTS, REACH, SPOKEN, Utterance
from towhom.runtime import NumpySelector
from towhom.threads.network import Network
from towhom.threads.signals import Array, Likeness, Sight, columns_of, compare, structure, with_threads

FORMAT, VERSION = "towhom-threads", 2
CHUNK = 256
"""Messages that are placed at once, where there are many."""
_CHANGES = frozenset({Kind.EDIT, Kind.DELETE})
_IDS = 10_000
"""So many of the last messages can be answered by their identifier, however far back."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A message and where it belongs. Messages are numbers: their line in the log, or else their order.

    Args:
        message: What was said.
        line: Its own number.
        replies_to: What it answers; its own number if it starts a conversation.
        thread: The number of the message that started the conversation.
        probability: How likely that is: of the answer, or of the start.
    """

    message: Message
    line: int
    replies_to: tuple[int, ...]
    thread: int
    probability: float

    @property
    def starts(self) -> bool:
        """Whether it starts a conversation."""
        return self.replies_to == (self.line,)


class Knows(Protocol):
    """What a model must know to follow threads."""

    lexicon: Lexicon
    runtime: NumpySelector


@dataclass(slots=True)
class _Place:
    """Where a message is, for those that answer it."""

    order: int
    line: int
    thread: int = -1
    first_thread: int = -1
    """Its conversation at first sight."""


class Threader:
    """Follows one channel. Memory is bounded, however long it is.

    Args:
        model: Whose words and similarities are used.
        networks: By stage; see `STAGES`.
    """

    def __init__(self, model: Knows, networks: Mapping[str, Network]) -> None:
        self._model = model
        self._networks = networks
        self._ear = Ear(model.lexicon)
        self._utterances: list[Utterance] = []
        self._sights: list[Sight] = []
        self._places: list[_Place] = []
        self._sides: Array | None = None
        self._by_id: dict[str, _Place] = {}
        self._lines = 0

    def introduce(
        self, id: str | int, *aliases: str, name: str | None = None, bot: bool = False, here: bool = True
    ) -> None:
        """Make somebody known who may not have spoken yet, as `Session.introduce` does."""
        self._ear.people.introduce(str(id), name=name, aliases=aliases, bot=bot, here=here)

    def place(self, message: Message) -> Placed:
        """Where the next message belongs."""
        return self.place_all([message])[0]

    def place_all(self, messages: Sequence[Message]) -> list[Placed]:
        """Where the next messages belong, each as if the later ones were not there."""
        chunks = (messages[start : start + CHUNK] for start in range(0, len(messages), CHUNK))
        return [placed for chunk in chunks for placed in self._place(chunk)]

    def state(self) -> dict[str, Any]:
        """What is known of the channel, as JSON can hold it; `resume` goes on from there."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "vocabulary": self._model.lexicon.fingerprint,
            "lines": self._lines,
            "ear": self._ear.state(),
            "utterances": [_without_text(utterance) for utterance in self._utterances],
            "sights": [astuple(sight) for sight in self._sights],
            "places": [astuple(place) for place in self._places],
            "by_id": {name: astuple(place) for name, place in self._by_id.items()},
        }

    def resume(self, state: Any) -> None:
        """Go on where `state` was; what the threader knew is replaced.

        Raises:
            SessionError: It is not what `state` gave, or that of a model with other words.
        """
        if not isinstance(state, dict) or (state.get("format"), state.get("version")) != (FORMAT, VERSION):
            raise SessionError(f"this is not the state of a threader, of format version {VERSION}")
        if state.get("vocabulary") != self._model.lexicon.fingerprint:
            raise SessionError("the state is of a model that knows other words; start the channel anew")
        fresh = Threader(self._model, self._networks)
        try:
            fresh._restore(state)
        except (LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
            raise SessionError(f"the state cannot be read ({error!r})") from error
        self.__dict__ = fresh.__dict__

    def _restore(self, state: dict[str, Any]) -> None:
        self._lines = int(state["lines"])
        self._ear.resume(state["ear"])
        self._utterances = [Utterance.of(each) for each in state["utterances"]]
        self._sights = [_sight(*each) for each in state["sights"]]
        self._places = [_Place(*map(int, each)) for each in state["places"]]
        places = {place.order: place for place in self._places}
        for name, each in state["by_id"].items():
            self._by_id[name] = places.get(each[0]) or _Place(*map(int, each))
        first = self._ear.count - len(self._utterances)
        if list(places) != list(range(first, self._ear.count)) or len(self._sights) != len(places):
            raise ValueError("messages and places differ")
        if any(
            not (place.order < first or place is places.get(place.order)) for place in self._by_id.values()
        ):
            raise ValueError("there is an identifier of no message")
        if self._utterances:
            self._compared(0)

    def _place(self, messages: Sequence[Message]) -> Iterator[Placed]:
        waiting: list[tuple[Message, int, Utterance | None]] = []
        for message in messages:
            line = self._lines if message.line is None else message.line
            self._lines += 1
            if message.kind in _CHANGES:  # what it changes must be placed by then
                yield from self._place_waiting(waiting)
                waiting = []
            heard = self._ear.hear(message) if message.kind in SPOKEN else None
            if heard is None:
                self._change(message)
            waiting.append((message, line, heard))
        yield from self._place_waiting(waiting)

    def _place_waiting(self, waiting: list[tuple[Message, int, Utterance | None]]) -> Iterator[Placed]:
        spoken = [(message, line, heard) for message, line, heard in waiting if heard is not None]
        placed = iter(self._place_heard(spoken))
        for message, line, heard in waiting:
            yield Placed(message, line, (line,), line, 1.0) if heard is None else next(placed)

    def _change(self, message: Message) -> None:
        """Take a line that is no message: somebody is renamed, a message is changed or taken back."""
        if message.kind is Kind.RENAME:
            self._ear.rename(message.speaker, message.text)
        place = self._by_id.get(message.id) if message.id is not None else None
        if message.kind is Kind.DELETE and message.id is not None:
            self._by_id.pop(message.id, None)
        first = self._ear.count - len(self._utterances)
        if place is None or place.order < first or message.kind not in _CHANGES:
            return
        utterance = self._utterances[place.order - first]
        if message.kind is Kind.EDIT:
            self._ear.rehear(utterance, message.text, message.mentions)
        else:
            utterance.gone, utterance.tokens = True, NO_TOKENS
            utterance.pieces, utterance.weights = NO_PIECES, NO_WEIGHTS
        self._sides = None
        self._compared(0)

    def _place_heard(self, new: list[tuple[Message, int, Utterance]]) -> list[Placed]:
        if not new:
            return []
        first = len(self._utterances)
        self._utterances += [utterance for _, _, utterance in new]
        self._sights += [Sight() for _ in new]
        orders = range(self._ear.count - len(new), self._ear.count)
        self._places += [_Place(order, line) for order, (_, line, _) in zip(orders, new, strict=True)]
        answered = [
            self._answered(message, place)
            for (message, _, _), place in zip(new, self._places[first:], strict=True)
        ]
        alike = self._compared(first)
        columns = columns_of(self._utterances)
        signals = compare(columns, alike, first)
        likely = self._networks["first"](signals)
        self._first_sight(likely, answered, first)
        more = structure(with_threads(columns, self._sights), first, likely)
        pairs = np.concatenate([signals.pairs, more], axis=2)
        likely = self._networks["second"](signals._replace(pairs=pairs))
        result = []
        for row, ((message, line, _), known) in enumerate(zip(new, answered, strict=True)):
            place, best = self._places[first + row], int(likely[row].argmax())
            parent = known or (self._places[first + row - 1 - best] if best < REACH else place)
            place.thread = line if parent is place else parent.thread
            probability = 1.0 if known else float(likely[row, best])
            result.append(Placed(message, line, (parent.line,), place.thread, probability))
        del self._utterances[:-REACH], self._sights[:-REACH], self._places[:-REACH]
        return result

    def _compared(self, first: int) -> Likeness:
        """What the selector makes of the new messages, beside those within reach."""
        runtime = self._model.runtime
        tokens = [utterance.tokens for utterance in self._utterances[first:]]
        encoded = runtime.encode_utterances(np.concatenate(tokens), np.cumsum([0, *map(len, tokens)]))
        heard, answers = runtime.sides(encoded)
        if self._sides is not None:
            heard = np.concatenate([self._sides, heard])
        # A copy, since a view would keep all the others alive.
        self._sides = heard[-REACH:].copy()
        return Likeness(heard, answers, runtime.embedding(encoded))

    def _answered(self, message: Message, place: _Place) -> _Place | None:
        """What the platform says that a message answers; from now on, the message itself can be answered."""
        found = None if message.reply_to is None else self._by_id.get(message.reply_to)
        if message.id is not None:
            self._by_id.pop(message.id, None)
            self._by_id[message.id] = place
            if len(self._by_id) > _IDS:
                del self._by_id[next(iter(self._by_id))]
        return found

    def _first_sight(self, likely: Array, answered: list[_Place | None], first: int) -> None:
        """Conversations as the first stage sees them."""
        for row, (column, known) in enumerate(zip(likely.argmax(axis=1).tolist(), answered, strict=True)):
            at = first + row
            sight, place = self._sights[at], self._places[at]
            back = column + 1 if known is None else place.order - known.order
            if back <= REACH:
                sight.answers(self._sights[at - back], self._utterances[at - back].speaker, back)
            else:
                sight.starts(place.order if known is None else known.first_thread)
            place.first_thread = sight.thread


def _without_text(utterance: Utterance) -> dict[str, Any]:
    """What is known of a message, but not what it says: only whether it is a command."""
    return {**utterance.state(), "text": "!" if utterance.command else "", "names": []}


def _sight(parent: object, thread: object, answered: object) -> Sight:
    if type(parent) is not int or not 0 <= parent <= REACH or type(thread) is not int:
        raise ValueError("there is a message that is out of reach")
    if not isinstance(answered, str | None):
        raise TypeError(f"expected a text, found {answered!r}")
    return Sight(parent, thread, answered)


def place_channels(
    start: Callable[[], Threader], messages: Iterable[Message], *, at_once: int = CHUNK
) -> Iterator[Placed]:
    """Where messages belong, in their order; each channel among them is followed for itself.

    Args:
        start: Makes a threader for a channel.
        messages: Any number of them.
        at_once: How many are taken at a time; the answers are the same.
    """
    threaders = defaultdict[str | None, Threader](start)
    source = (
        replace(message, line=order) if message.line is None else message
        for order, message in enumerate(messages)
    )
    while chunk := list(islice(source, at_once)):
        by_channel: dict[str | None, list[Message]] = {}
        for message in chunk:
            by_channel.setdefault(message.channel, []).append(message)
        found = {name: iter(threaders[name].place_all(said)) for name, said in by_channel.items()}
        for message in chunk:
            yield next(found[message.channel])
