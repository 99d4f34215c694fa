"""A channel as it is followed: every message is heard once, and placed once, for all who ask about it."""

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
"""Messages that are taken at once, where there are many."""
_IDS = 10_000
"""So many of the last messages can be answered by their identifier, however far back."""
_FEW = 4
"""In a room of so many people, who goes on after another has spoken talks to them."""
_KEPT = 0.001
"""Probabilities below this are not remembered."""
T = TypeVar("T")
Far = tuple[int, int, int, int, str, str | None, float, bool]
"""What is kept of a message that is out of reach: see `_far_of`."""
_LINES, _NUMBERS = 1 << 53, 1 << 64
"""More lines than any channel has, and more than any number that a log gives a line."""


@dataclass(slots=True)
class Turn:
    """A message as it was heard, and what is made of it; messages are numbers, as in `Placed`."""

    utterance: Utterance
    order: int
    """How many messages were said before it."""
    line: int
    only_other: str | None = None
    """Whoever was in a room of two with its speaker, for as long as it is one."""
    apart: str | None = None
    """Whom it would be for in any other room."""
    people: People = field(default_factory=dict)
    addressee: str | None = None
    """The likeliest; None for nobody in particular."""
    back: int = 0
    """How many messages before it that is what it answers; 0 if it starts a conversation."""
    answers: int = 0
    """The number of what it answers, or its own."""
    thread: int = 0
    likely: float = 1.0
    """How likely the link is."""
    first_thread: int = 0
    """Its conversation at first sight."""
    answered: Utterance | None = None
    """What it answers, and"""
    answered_to: str | None = None
    """whom that was for; for as long as anybody asks why."""
    known: int = 0
    """How many people were known."""

    @property
    def sure(self) -> float:
        """How likely it is for the likeliest."""
        return self.people.get(self.addressee, 0.0)


class Line(NamedTuple):
    """A line of a channel, in the order in which they came."""

    message: Message
    number: int
    turn: Turn | None
    """None if it is no message, or changes what is not remembered."""
    renamed: bool = False
    """Whether somebody is called differently from now on."""

    @property
    def placed(self) -> Placed:
        """Where it belongs; what is no message of its own stands alone."""
        if self.turn is None or self.message.kind in CHANGES:
            return Placed(self.message, self.number, (self.number,), self.number, 1.0)
        turn = self.turn
        return Placed(self.message, self.number, (turn.answers,), turn.thread, turn.likely)


class Channel:
    """Follows one channel. Memory is bounded, however long it is.

    Args:
        mind: What looks at the messages.
        lexicon: Its words.
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
        """Who is there."""
        return self.ear.people

    def follow(self, lines: Sequence[Message], see: Callable[[Line], T]) -> Following[T]:
        """Take the next lines; each is understood as if the later ones were not there.

        Args:
            lines: Any number.
            see: Called with each before anything that comes after it is known; what it returns is kept.
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
        """The message of an identifier; of one far back, no more than who said it to whom."""
        found = None if id is None else self._by_id.get(id)
        return _far_turn(*found) if isinstance(found, tuple) else found

    def imagine(self, message: Message) -> Turn:
        """A message as if it were said now. Nothing is remembered."""
        turn = Turn(self.ear.imagine(message), self.ear.count, self._lines)
        turn.only_other = self.people.only_other(turn.utterance.speaker)
        turn.known = len(self.people) + (self.people.get(turn.utterance.speaker) is None)
        self._judge(turn, self.room.imagine(turn.utterance), self.turns)
        return turn

    def state(self) -> dict[str, Any]:
        """What is known of the channel, as JSON can hold it; `resume` goes on from there."""
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
        """Go on where `state` was.

        Raises:
            LookupError, TypeError, ValueError: It was no such state.
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
        """Whether somebody has another name from now on: answers show the names of their time."""
        if message.name is None:
            return False
        known = self.people.get(message.speaker)
        return known is None or known.name != message.name

    def _meet(self, newcomer: str, waiting: list[Line], see: Callable[[Line], T]) -> Following[T]:
        """Somebody speaks for the first time: those who called them before they did addressed them."""
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
        """Who a message is for and what it answers, given how likely it answers each before it."""
        said = turn.utterance
        if turn.only_other is None:
            _open_room(before)
        reading = read(likely, said.speaker, before, few=0 < turn.known <= _FEW)
        found = reading.people
        if answered is not None and answered.utterance.speaker == said.speaker:
            found = {answered.addressee: answered.sure}  # it goes on with an own line, the platform says
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
        """What the platform says that a message answers; from now on, the message itself can be answered."""
        said = turn.utterance
        found = self.turn(said.reply_to)
        if said.id is not None:
            self._by_id.pop(said.id, None)
            self._by_id[said.id] = turn
            if len(self._by_id) > _IDS:
                del self._by_id[next(iter(self._by_id))]
        return found

    def _change(self, message: Message) -> Turn | None:
        """A message is changed or taken back: gives that message, if it is remembered."""
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
    """It is no room of two any more: what was said in it was not for the only other one as such."""
    for turn in reversed(before):
        if turn.only_other is None:
            break
        turn.addressee, turn.only_other = turn.apart, None


def _last_of(who: str, before: Sequence[Turn]) -> int:
    """How many messages ago somebody spoke, 0 if not within reach."""
    for back in range(1, min(len(before), REACH) + 1):
        said = before[-back].utterance
        if said.speaker == who and not said.gone:
            return back
    return 0


def _far_of(turn: Turn) -> Far:
    """What is kept of a message that can be answered by its identifier, however far back it is."""
    called = turn.utterance.addressee == turn.addressee is not None
    return (turn.order, turn.line, turn.thread, turn.first_thread, turn.utterance.speaker,
            turn.addressee, round(turn.sure, 6), called)  # fmt: skip


def _far_turn(
    order: object, line: object, thread: object, first_thread: object, speaker: object, addressee: object,
    sure: object, called: object,
) -> Turn:  # fmt: skip
    """What `_far_of` gave."""
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
    """The number of a message, which it must be."""
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
    """What `_state_of` gave.

    Raises:
        LookupError, TypeError, ValueError: It did not.
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
