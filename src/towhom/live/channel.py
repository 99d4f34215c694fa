"""Follows a channel: every message is analysed once and linked once, for all tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from towhom.chat import CHANGES, Kind, Message
from towhom.crosstalk.columns import Array
from towhom.crosstalk.mind import ROWS, Known, Mind, Question, Room
from towhom.crosstalk.readings import likeliest, read
from towhom.hearing.calls import Call
from towhom.hearing.ear import Ear
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.manners import SURE, Manner
from towhom.hearing.people import People as Everybody
from towhom.hearing.states import flag_of, share_of, text_of, text_or_none, whole_of
from towhom.hearing.utterance import NO_PIECES, NO_TOKENS, NO_WEIGHTS, REACH, SPOKEN, Utterance
from towhom.live.addressing import People, believed
from towhom.live.following import Following
from towhom.threads import Placed

CHUNK = ROWS
"""Number of messages that are processed together, where there are many."""
_IDS = 10_000
"""Number of latest messages that can be answered by their identifier, however far back they are."""
_FEW = 4
"""In a room of at most so many people, a speaker who continues after somebody else spoke talks to them."""
_BEGINNING = 20
"""That holds for so many messages. A few people who stay among themselves, as in a meeting, talk to all."""
_KEPT = 0.001
"""Probabilities below this are not remembered."""
T = TypeVar("T")
Far = tuple[int, int, int, int, str, str | None, float, bool]
"""The fields kept of a message that is out of reach; see `_far_of`."""
_LINES, _NUMBERS = 1 << 53, 1 << 64
"""Upper bounds: of the lines of a channel, and of the numbers that a log gives its lines."""


@dataclass(slots=True)
class Turn:
    """An analysed message with its addressees and its link. Messages are numbers, as in `Placed`."""

    utterance: Utterance
    order: int
    """Number of messages before it."""
    line: int
    only_other: str | None = None
    """The only other person in the room, for as long as it is a room of two."""
    apart: str | None = None
    """The addressee that it would have in a larger room."""
    people: People = field(default_factory=dict)
    addressee: str | None = None
    """The likeliest addressee; None for nobody in particular."""
    back: int = 0
    """How many messages back the one is that it answers; 0 if it starts a conversation."""
    answers: int = 0
    """The number of the message that it answers, or its own."""
    thread: int = 0
    likely: float = 1.0
    """How likely the link is."""
    first_thread: int = 0
    """Its conversation by the network's first look."""
    answered: Utterance | None = None
    """The message that it answers. It is not part of the saved state."""
    answered_to: str | None = None
    """The addressee of that message. It is not part of the saved state."""
    known: int = 0
    """Number of people known when it was sent."""

    @property
    def sure(self) -> float:
        """The probability of the likeliest addressee."""
        return self.people.get(self.addressee, 0.0)


class Line(NamedTuple):
    """One line of a channel: a message, or an event such as a join."""

    message: Message
    number: int
    turn: Turn | None
    """None if the line is not a message, or changes a message that is not remembered."""
    renamed: bool = False
    """Whether somebody has a new name after this line."""

    @property
    def placed(self) -> Placed:
        """The line's link and thread. A line that is not a new message stands alone."""
        if self.turn is None or self.message.kind in CHANGES:
            return Placed(self.message, self.number, (self.number,), self.number, 1.0)
        turn = self.turn
        return Placed(self.message, self.number, (turn.answers,), turn.thread, turn.likely)


class Channel:
    """Follows one channel. Memory is bounded, however long the channel is.

    Args:
        mind: The network that reads the messages.
        lexicon: The words that the network knows.
    """

    def __init__(self, mind: Mind, lexicon: Lexicon) -> None:
        self._mind, self._lexicon = mind, lexicon
        self.ear = Ear(lexicon)
        self.room = Room(mind)
        self.turns: list[Turn] = []
        """The last messages, the latest last."""
        self._by_id: dict[str, Turn | Far] = {}
        self._lines = 0

    @property
    def people(self) -> Everybody:
        """The people in the channel."""
        return self.ear.people

    def follow(self, lines: Sequence[Message], see: Callable[[Line], T]) -> Following[T]:
        """Take the next lines; each is analysed without looking at later ones.

        Args:
            lines: Any number.
            see: Called with each line before later lines have any effect; returns the result for that line.
        """
        results: list[T] = []
        waiting: list[Line] = []
        for message in lines:
            number = self._lines if message.line is None else message.line
            self._lines += 1
            if message.kind in CHANGES or self._is_new_name(message):
                results += yield from self._place(waiting, see)
                waiting = []
            if message.kind is Kind.RENAME:
                renamed = self.ear.rename(message.speaker, message.text)
                results.append(see(Line(message, number, None, renamed)))
                continue
            if message.kind in CHANGES:
                results.append(see(Line(message, number, self._change(message))))
                continue
            turn = None
            if message.kind in SPOKEN:
                known = self.people.get(message.speaker)
                turn = Turn(self.ear.hear(message), self.ear.count - 1, number)
                turn.only_other = self.people.only_other(turn.utterance.speaker)
                turn.known = len(self.people)
                if known is None or not known.spoken:
                    results += yield from self._meet(turn.utterance.speaker, waiting, see)
            waiting.append(Line(message, number, turn))
        results += yield from self._place(waiting, see)
        return results

    def turn(self, id: str | None) -> Turn | None:
        """The message with an identifier; of one far back, only its speaker, its addressee and its place."""
        found = None if id is None else self._by_id.get(id)
        return _far_turn(*found) if isinstance(found, tuple) else found

    def imagine(self, message: Message) -> Turn:
        """Analyse a message as if it were sent now. Nothing is remembered."""
        turn = Turn(self.ear.imagine(message), self.ear.count, self._lines)
        turn.only_other = self.people.only_other(turn.utterance.speaker)
        turn.known = len(self.people) + (self.people.get(turn.utterance.speaker) is None)
        self._judge(turn, self.room.imagine(turn.utterance), self.turns)
        return turn

    def state(self) -> dict[str, Any]:
        """The state of the channel as a JSON value; `resume` continues from it."""
        return {
            "vocabulary": self._lexicon.fingerprint,
            "lines": self._lines,
            "ear": self.ear.state(),
            "room": self.room.state(),
            "turns": [_state_of(turn) for turn in self.turns],
            "ids": [
                [name, *(_far_of(turn) if isinstance(turn, Turn) else turn)]
                for name, turn in self._by_id.items()
            ],
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Continue from a `state`.

        Raises:
            LookupError, TypeError, ValueError: The value does not come from `state`.
        """
        self._lines = whole_of(state["lines"], below=_LINES)
        self.ear.resume(state["ear"])
        count = self.ear.count
        self.turns = [_turn_of(each) for each in state["turns"]]
        near = {turn.order: turn for turn in self.turns}
        if list(near) != list(range(count - min(count, REACH), count)):
            raise ValueError("messages and their places differ")
        for name, *told in state["ids"]:
            far = _far_turn(*told)
            if far.first_thread >= count:
                raise ValueError("there is a conversation that has not begun")
            self._by_id[text_of(name)] = near.get(whole_of(far.order, below=count)) or _far_of(far)
        if any(max(turn.utterance.own, turn.utterance.called) > turn.order for turn in self.turns):
            raise ValueError("there is a message that comes after one that was never said")
        if any(turn.first_thread >= count for turn in self.turns):
            raise ValueError("there is a conversation that has not begun")
        if state["vocabulary"] != self._lexicon.fingerprint:
            for turn in self.turns:
                self.ear.read(turn.utterance)
        self.room.resume(state["room"], [turn.utterance for turn in self.turns])
        if self.room.number != count:
            raise ValueError("messages that were heard and those that were placed differ")

    # -- inside

    def _is_new_name(self, message: Message) -> bool:
        """Whether a message gives its speaker a new name. Observations show the names of their time."""
        if message.name is None:
            return False
        known = self.people.get(message.speaker)
        return known is None or known.name != message.name

    def _meet(self, newcomer: str, waiting: list[Line], see: Callable[[Line], T]) -> Following[T]:
        """Analyse earlier messages again that called somebody who speaks for the first time now."""
        earlier = [turn.utterance for turn in self.turns]
        earlier += [line.turn.utterance for line in waiting if line.turn is not None]
        naming = self.ear.naming(newcomer, earlier)
        if not naming:
            return []
        results = yield from self._place(waiting, see)
        waiting.clear()
        for utterance in naming:
            self.ear.rehear(utterance, utterance.text)
        self.room.refresh(naming)
        return results

    def _place(self, lines: list[Line], see: Callable[[Line], T]) -> Following[T]:
        turns = [line.turn for line in lines if line.turn is not None]
        if not turns:
            return [*map(see, lines)]
        known = [self._known(turn) for turn in turns]
        given = [
            None if answered is None else Known(turn.order - answered.order, answered.first_thread)
            for turn, answered in zip(turns, known, strict=True)
        ]
        heard = yield Question(self.room, [turn.utterance for turn in turns], given)
        for turn, answered, likely, thread in zip(turns, known, heard.likely, heard.threads, strict=True):
            turn.first_thread = thread
            self._judge(turn, likely, self.turns, answered)
            self.turns.append(turn)
        for turn in self.turns[:-REACH]:
            if turn.utterance.id is not None and self._by_id.get(turn.utterance.id) is turn:
                self._by_id[turn.utterance.id] = _far_of(turn)
        del self.turns[:-REACH]
        return [*map(see, lines)]

    def _judge(self, turn: Turn, likely: Array, before: Sequence[Turn], answered: Turn | None = None) -> None:
        """Set a message's addressee and link, given how likely it answers each earlier message."""
        said = turn.utterance
        if turn.only_other is None:
            _open_room(before)
        reading = read(likely, said.speaker, before, few=0 < turn.known <= _FEW and turn.order < _BEGINNING)
        found = reading.people
        if answered is not None and answered.utterance.speaker == said.speaker:
            found = {answered.addressee: answered.sure}  # a reply link to the speaker's own message
        people = believed(found, said, turn.only_other)
        turn.people = {who: p for who, p in people.items() if p >= _KEPT or who is None}
        turn.addressee = said.addressee if said.addressee is not None else likeliest(people)
        if turn.only_other is not None:
            alone = believed(found, said, None)
            turn.apart = said.addressee if said.addressee is not None else likeliest(alone)
        if answered is not None:
            turn.back, turn.likely = turn.order - answered.order, 1.0
        else:
            called = said.addressee is not None
            turn.back, turn.likely = reading.best_link(turn.addressee, called=called)
            if not turn.back and turn.addressee is not None:
                turn.back = _last_of(turn.addressee, before)
                turn.likely = float(likely[turn.back - 1]) if turn.back else turn.likely
            answered = before[-turn.back] if turn.back else turn
        turn.answers = answered.line
        turn.thread = turn.line if answered is turn else answered.thread
        turn.answered = None if answered is turn else answered.utterance
        turn.answered_to = answered.addressee

    def _known(self, turn: Turn) -> Turn | None:
        """The message that this one answers by its reply link. Also registers this one's identifier."""
        said = turn.utterance
        found = self.turn(said.reply_to)
        if said.id is not None:
            self._by_id.pop(said.id, None)
            self._by_id[said.id] = turn
            if len(self._by_id) > _IDS:
                del self._by_id[next(iter(self._by_id))]
        return found

    def _change(self, message: Message) -> Turn | None:
        """Edit or delete a message. Returns it, or None if it is not remembered."""
        turn = self.turn(message.id)
        if message.kind is Kind.DELETE and message.id is not None:
            self._by_id.pop(message.id, None)
        place = None if turn is None else turn.order - (self.ear.count - len(self.turns))
        if turn is None or place is None or place < 0:
            return None
        said = turn.utterance
        if message.kind is Kind.DELETE:
            said.gone, said.text, said.names, said.tokens = True, "", (), NO_TOKENS
            said.pieces, said.weights = NO_PIECES, NO_WEIGHTS
            self.room.refresh([said])
            return turn
        self.ear.rehear(said, message.text, message.mentions)
        self.room.refresh([said])
        linked = self.turn(said.reply_to)
        self._judge(turn, self.room.imagine(said, place), self.turns[:place], linked)
        return turn


def _open_room(before: Sequence[Turn]) -> None:
    """Correct the addressees of earlier messages when the room is no longer one of two."""
    for turn in reversed(before):
        if turn.only_other is None:
            break
        turn.addressee, turn.only_other = turn.apart, None


def _last_of(who: str, before: Sequence[Turn]) -> int:
    """How many messages ago somebody spoke; 0 if not within reach."""
    for back in range(1, min(len(before), REACH) + 1):
        said = before[-back].utterance
        if said.speaker == who and not said.gone:
            return back
    return 0


def _far_of(turn: Turn) -> Far:
    """The fields kept of a message, so that it can be answered by its identifier from any distance."""
    called = turn.utterance.addressee == turn.addressee is not None
    return (turn.order, turn.line, turn.thread, turn.first_thread, turn.utterance.speaker,
            turn.addressee, round(turn.sure, 6), called)  # fmt: skip


def _far_turn(
    order: object, line: object, thread: object, first_thread: object, speaker: object, addressee: object,
    sure: object, called: object,
) -> Turn:  # fmt: skip
    """Rebuild a turn from what `_far_of` returned."""
    to = text_or_none(addressee)
    calls = (Call(to, Manner.GIVEN, SURE[Manner.GIVEN]),) if flag_of(called) and to is not None else ()
    turn = Turn(Utterance(text_of(speaker), "", calls), whole_of(order), _number(line), addressee=to)
    turn.thread, turn.first_thread, turn.people = (
        _number(thread),
        whole_of(first_thread),
        {to: share_of(sure)},
    )
    return turn


def _number(value: object) -> int:
    """The value, which must be the number of a message."""
    if type(value) is not int or abs(value) >= _NUMBERS:
        raise TypeError(f"expected the number of a message, found {value!r}")
    return value


def _state_of(turn: Turn) -> dict[str, Any]:
    return {
        **turn.utterance.state(),
        "order": turn.order,
        "line": turn.line,
        "people": [[who, round(likely, 6)] for who, likely in turn.people.items()],
        "addressee": turn.addressee,
        "room": [turn.known, turn.only_other, turn.apart],
        "link": [turn.back, turn.answers, turn.thread, turn.first_thread, round(turn.likely, 6)],
    }


def _turn_of(state: dict[str, Any]) -> Turn:
    """Rebuild a turn from what `_state_of` returned.

    Raises:
        LookupError, TypeError, ValueError: The value does not come from `_state_of`.
    """
    back, answers, thread, first_thread, likely = state["link"]
    known, only_other, apart = state["room"]
    return Turn(
        Utterance.of(state),
        whole_of(state["order"]),
        _number(state["line"]),
        only_other=text_or_none(only_other),
        apart=text_or_none(apart),
        people={text_or_none(who): share_of(p) for who, p in state["people"]},
        addressee=text_or_none(state["addressee"]),
        back=whole_of(back),
        answers=_number(answers),
        thread=_number(thread),
        likely=share_of(likely),
        first_thread=whole_of(first_thread),
        known=whole_of(known),
    )
