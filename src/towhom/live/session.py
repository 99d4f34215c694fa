"""Sessions: a channel followed message by message."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from towhom.bank import Bank
from towhom.blas import one_thread
from towhom.chat import Kind, Message
from towhom.documents import read_json
from towhom.errors import SessionError
from towhom.files import atomic_file
from towhom.hearing.manners import REASONS, Manner
from towhom.hearing.people import People
from towhom.hearing.spelling import shown_name
from towhom.hearing.states import share_of, text_of, text_or_none
from towhom.hearing.utterance import CALLED, LONGEST, Utterance
from towhom.live.answers import Addressee, Audience, How, Observation, Selection, Verdict
from towhom.live.channel import CHUNK, Channel, Line, Turn
from towhom.live.drafts import Fit, fit, weigh
from towhom.live.following import Following, follow_together
from towhom.live.reasons import reason_for
from towhom.live.responding import LEAST, Proposal, propose
from towhom.threads import Placed

if TYPE_CHECKING:
    from towhom.live.model import Model

FORMAT, VERSION = "towhom-session", 3
_UNREADABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError
)  # fmt: skip
"""Errors that reading a damaged state can raise."""


class Session:
    """One channel that a model follows: its last messages and its people.

    Memory is bounded however long the channel lives. Sessions of one model may run in many threads; calls
    on one session wait for each other.

    Args:
        model: The model to use.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._channel = Channel(model.mind, model.lexicon)
        self._last: Observation | None = None
        self._lock = RLock()

    @property
    def people(self) -> People:
        """The people in the channel."""
        return self._channel.people

    @property
    def history(self) -> list[Message]:
        """The remembered messages, the latest last, with names and the likeliest addressee of each."""
        with self._lock:
            return [self.message_of(turn) for turn in self._channel.turns if not turn.utterance.gone]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The remembered messages with everything that the model needs, the latest last."""
        with self._lock:
            return tuple(self._channel.turns)

    def turn_of(self, observation: Observation) -> Turn | None:
        """The remembered message that an observation is about; None if it is about none."""
        with self._lock:
            message, line = observation.message, observation.placed.line
            if message.kind is Kind.EDIT:
                return self._channel.turn(message.id)
            return next((turn for turn in reversed(self._channel.turns) if turn.line == line), None)

    def observation_of(self, turn: Turn) -> Observation:
        """What `observe` returned for a remembered message; a long text may be shortened."""
        said = turn.utterance
        message = Message(said.speaker, said.text, said.addressee, id=said.id, reply_to=said.reply_to)
        placed = Placed(message, turn.line, (turn.answers,), turn.thread, turn.likely)
        with self._lock:
            return self._judged(message, turn, placed)

    def message_of(self, turn: Turn) -> Message:
        """A remembered message, with names."""
        said, to = turn.utterance, turn.addressee
        time = None if said.time is None else datetime.fromtimestamp(said.time, UTC)
        return Message(
            self.people.name_of(said.speaker), said.text, None if to is None else self.people.name_of(to),
            time, said.id, said.reply_to, said.kind,
        )  # fmt: skip

    def remembers(self, id: str) -> bool:
        """Whether the message with this identifier has been observed and was not deleted."""
        with self._lock:
            return self._channel.turn(id) is not None

    def introduce(
        self,
        id: str | int,
        *aliases: str,
        name: str | None = None,
        bot: bool = False,
        here: bool = True,
    ) -> None:
        """Register somebody who may not have spoken yet, such as a bot with all of its names.

        Args:
            id: Their name, or their identifier on the platform.
            aliases: Their other names.
            name: The name that people see, if `id` is an identifier.
            bot: Whether they are a bot.
            here: Whether they are known to be in the room. If only two people are, what one says is for the
                other.
        """
        with self._lock:
            self.people.introduce(str(id), name=name, aliases=aliases, bot=bot, here=here)

    def leave(self, id: str | int) -> None:
        """Record that somebody has left the room; their messages are still remembered."""
        with self._lock:
            self.people.leave(str(id))

    def observe(self, message: Message) -> Observation:
        """Take the next message, and say who it is for and what it answers.

        `Kind.RENAME`, `Kind.EDIT` and `Kind.DELETE` change what the session remembers. Other lines that are
        not messages, such as joins, change nothing and are for nobody.
        """
        return self.observe_all([message])[0]

    def observe_all(self, messages: Sequence[Message]) -> list[Observation]:
        """Take the next messages, each without looking at later ones: the same as `observe`, but faster."""
        with self._lock:
            return follow_together([self.following(messages)])[0]

    def following(self, messages: Sequence[Message]) -> Following[Observation]:
        """The generator behind `observe_all`, for following several sessions together; it takes no lock."""
        observations: list[Observation] = []
        for start in range(0, len(messages), CHUNK):
            observations += yield from self._channel.follow(messages[start : start + CHUNK], self._observed)
        return observations

    def rank_addressees(self, speaker: str, text: str) -> tuple[Addressee, ...]:
        """Say who a message would be for, the likeliest first. It is not remembered."""
        with self._lock, one_thread():
            return self._ranked(self._channel.imagine(Message(self._id(speaker), text)))

    def is_for(
        self, name: str | int, *, threshold: float = 0.5, observation: Observation | None = None
    ) -> Verdict:
        """Say whether a message is for somebody. Several people may be meant at once.

        Args:
            name: Their name or identifier. Introduce them first if they may not have spoken.
            threshold: The least probability. Probabilities are calibrated: of the messages with 0.8, about
                eight in ten are for this person.
            observation: What `observe` returned for the message; None for the last one.
        """
        with self._lock:
            last = self._last if observation is None else observation
            if last is None:
                taken_back = bool(self._channel.turns)
                reason = "the last message was taken back" if taken_back else "nothing has been said yet"
                return Verdict(False, 0.0, reason)
            person = self.people.find(str(name))
            id = str(name) if person is None else person.id
            if self.people.id_of(last.message.speaker) == id:
                return Verdict(False, 0.0, f"{self.people.name_of(id)} said it")
            probability = max((each.probability for each in last.addressees if each.id == id), default=0.0)
            everybody = last.audience is Audience.EVERYBODY
            return Verdict(probability >= threshold, probability, self._reason(id, last), everybody)

    def select(self, responder: str, candidates: Sequence[str]) -> list[Selection]:
        """Rank all pairs of addressee and response, the likeliest first.

        Args:
            responder: Who speaks next.
            candidates: What they may say. One that calls somebody is for that person.

        Raises:
            SessionError: There are no candidates.
        """
        if isinstance(candidates, str) or not candidates:
            raise SessionError("there is no candidate to select from; give a list of one or more")
        with self._lock, one_thread():
            pairs = weigh(self._channel, self._id(responder), candidates)
            names = {
                id: None if id is None else self.people.name_of(id) for id in {pair.to for pair in pairs}
            }
        # Sorted by probability; ties keep their order, so that the same question always has the same answer.
        pairs.sort(key=attrgetter("likely"), reverse=True)
        return [Selection(names[to], candidates[draft], draft, likely, to) for draft, to, likely in pairs]

    def fit(self, responder: str, candidates: Sequence[str], turns: Collection[Turn]) -> list[Fit]:
        """Say how well each candidate would answer one of the given messages.

        Args:
            responder: Who speaks next.
            candidates: What they may say. One that calls somebody answers only that person's messages.
            turns: Remembered messages; at least one.
        """
        with self._lock, one_thread():
            return fit(self._channel, self._id(responder), candidates, turns)

    def respond(self, responder: str, bank: Bank, k: int = 5, *, least: float = LEAST) -> list[Proposal]:
        """Find earlier messages of others that somebody could say next, the best first.

        Args:
            responder: Who speaks next.
            bank: The response bank to search.
            k: The largest number of responses.
            least: The least probability that a response is useful. If no response reaches it, the list is
                empty.

        Raises:
            BankError: The bank was built with another model, or is damaged.
        """
        with self._lock, one_thread():
            id = self._id(responder)
            return propose(self._channel, self.model, id, bank, k, least=least)

    def closest_names(self, name: str) -> list[str]:
        """Names in the channel that are similar to this one, for error messages."""
        with self._lock:
            known = {name.lower(): name for person in self.people for name in person.names}
        return [known[each] for each in get_close_matches(name.lower(), known, n=3, cutoff=0.5)]

    def state(self) -> dict[str, Any]:
        """The state of the session as a JSON value: the last messages, and the names."""
        with self._lock:
            return self._state()

    def save(self, path: str | Path) -> None:
        """Write the state of the session to a small file."""
        with atomic_file(Path(path), "w") as file:
            json.dump(self.state(), file)

    def restore(self, path: str | Path) -> None:
        """Continue from a file that `save` wrote; the session's own state is replaced.

        Raises:
            SessionError: The file was not written by `save`.
        """
        path = Path(path)
        try:
            state = read_json(path)
        except _UNREADABLE as error:
            raise SessionError(f"{path}: the state cannot be read ({error!r})") from error
        try:
            self.resume(state)
        except SessionError as error:
            raise SessionError(f"{path}: {error}") from error

    def resume(self, state: Any) -> None:
        """Continue from a `state`; the session's own state is replaced.

        Raises:
            SessionError: The value does not come from `state`.
        """
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise SessionError("this is not the state of a session")
        if state.get("version") != VERSION:
            raise SessionError(f"the session has format version {state.get('version')}, expected {VERSION}")
        fresh = Session(self.model)
        try:
            fresh._restore(state)
        except _UNREADABLE as error:
            raise SessionError(f"the state cannot be read ({error!r})") from error
        with self._lock:
            self._channel, self._last = fresh._channel, fresh._last

    # -- inside

    def _id(self, name: str) -> str:
        """The identifier of the person with a name; the name itself if nobody is known by it."""
        person = self.people.find(str(name))
        return str(name) if person is None else person.id

    def _reason(self, id: str, last: Observation) -> str:
        """Why a message is for somebody, or is not."""
        turn = self.turn_of(last)
        if turn is None:
            return last.reason
        said = turn.utterance
        call = next((call for call in said.calls if call.who == id), None)
        if call is not None and call.manner is not Manner.INSIDE:
            return REASONS[call.manner].format(
                me=self.people.name_of(said.speaker), who=self.people.name_of(id)
            )
        return last.reason

    def _observed(self, line: Line) -> Observation:
        """The observation of a line."""
        message, turn = line.message, line.turn
        if message.kind is Kind.RENAME:
            if not line.renamed:
                return _no_message(line, "nobody of that name is known, or the new name is none")
            old, new = shown_name(message.speaker), shown_name(message.text)
            return _no_message(line, f"{old} is called {new} from now on")
        if message.kind is Kind.DELETE:
            if turn is None:
                return _no_message(line, "the message that it takes back is not remembered")
            if turn is self._channel.turns[-1]:
                self._last = None
            return _no_message(line, "a message was taken back")
        if turn is None:
            edit = message.kind is Kind.EDIT
            reason = "the message that it changes is not remembered" if edit else "it is not a message"
            return _no_message(line, reason)
        if message.kind is Kind.EDIT:
            said = turn.utterance
            message = replace(message, speaker=said.speaker, addressee=None, reply_to=said.reply_to)
        observation = self._judged(message, turn, line.placed)
        if turn is self._channel.turns[-1]:
            self._last = observation
        return observation

    def _judged(self, message: Message, turn: Turn, placed: Placed) -> Observation:
        said, text = turn.utterance, message.text
        if text.endswith(said.text) or len(text) > len(said.text):
            # Remove the name in front, as in the utterance. A long message is stored in part, shown in full.
            text = text[max(len(text[:LONGEST]) - len(said.text), 0) :]
        to = message.addressee if said.addressee is None else said.addressee
        message = replace(message, text=text, addressee=to, name=self.people.name_of(said.speaker))
        ranked = self._ranked(turn)
        how = How.NAMED if said.addressee is not None else How.INFERRED
        reason = reason_for(turn, self.people.name_of)
        return Observation(message, ranked, how, reason, _audience(said, ranked), placed)

    def _ranked(self, turn: Turn) -> tuple[Addressee, ...]:
        """Everybody who may be meant, the likeliest first; those who are called come before all others."""
        name_of = self.people.name_of
        every = [
            Addressee(None if id is None else name_of(id), likely, id) for id, likely in turn.people.items()
        ]
        order: dict[str | None, int] = {id: place for place, id in enumerate(turn.utterance.addressees)}
        every.sort(key=lambda each: (order.get(each.id, len(order)), -each.probability))
        return tuple(every)

    def _state(self) -> dict[str, Any]:
        last = self._last
        return {
            "format": FORMAT,
            "version": VERSION,
            "channel": self._channel.state(),
            "last": None
            if last is None
            else {
                "addressees": [[each.name, each.probability, each.id] for each in last.addressees],
                "how": last.how.value,
                "reason": last.reason,
                "audience": last.audience.value,
            },
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._channel.resume(state["channel"])
        if state["last"] is not None:
            last, turn = state["last"], self._channel.turns[-1]
            said = turn.utterance
            message = Message(said.speaker, said.text, said.addressee, id=said.id, reply_to=said.reply_to)
            self._last = Observation(
                message,
                _ranked_of(last["addressees"]),
                How(last["how"]),
                text_of(last["reason"]),
                Audience(last["audience"]),
                Placed(message, turn.line, (turn.answers,), turn.thread, turn.likely),
            )


def _ranked_of(state: Any) -> tuple[Addressee, ...]:
    """The possible addressees stored in a state."""
    ranked = tuple(
        Addressee(text_or_none(name), share_of(likely), text_or_none(id)) for name, likely, id in state
    )
    if not ranked:
        raise ValueError("nobody may be meant, not even nobody in particular")
    return ranked


def _no_message(line: Line, reason: str) -> Observation:
    nobody = (Addressee(None, 1.0),)
    return Observation(line.message, nobody, How.INFERRED, reason, Audience.NOBODY, line.placed)


def _audience(said: Utterance, ranked: tuple[Addressee, ...]) -> Audience:
    if said.addressee is not None:
        return Audience.SOMEBODY
    if said.everybody:
        return Audience.EVERYBODY
    if ranked[0].probability < CALLED:
        return Audience.UNKNOWN
    return Audience.NOBODY if ranked[0].id is None else Audience.SOMEBODY
