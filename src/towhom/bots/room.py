"""A bot in one room: its session, the messages it has promised to answer, and their files on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from towhom.bots.context import RelatedMessages
from towhom.bots.decision import decide
from towhom.bots.journal import Journal, Record
from towhom.bots.policy import Policy
from towhom.bots.verdict import GateVerdict, ReplyTo
from towhom.chat import Kind, Message, Presence
from towhom.errors import TowhomError
from towhom.hearing.utterance import SPOKEN
from towhom.live import Model, Observation, Session
from towhom.live.channel import Turn
from towhom.wire import message_from, to_json

Event = Message | Presence

_SNAPSHOT_EVERY = 64
"""Events between snapshots: at most this many are replayed when a room is restored."""
_PROMISES = 100
"""Maximum number of messages to be answered that are remembered."""
_MOST_PEOPLE = 1000
"""Number of known people from which on silent people are no longer added."""


@dataclass(frozen=True, slots=True)
class Bot:
    """The bot of a gate.

    Args:
        id: The bot's name, or its identifier on the platform.
        name: The name that people see, if `id` is an identifier.
        aliases: Other names of the bot.
        bots: Names or identifiers of other bots.
    """

    id: str
    name: str | None = None
    aliases: tuple[str, ...] = ()
    bots: tuple[str, ...] = ()

    def enter(self, session: Session) -> None:
        """Register the bot and other bots with a session; only the platform says whether they are present.

        If it does not, a message of the only other person is not automatically for the bot.
        """
        for id, name, aliases in (
            (self.id, self.name, self.aliases),
            *((each, None, ()) for each in self.bots),
        ):
            person = session.people.get(id)
            here = person is not None and person.here
            session.introduce(id, *aliases, name=name, bot=True, here=here)


class BotRoom:
    """A bot in one room. Not thread-safe.

    Args:
        bot: The bot.
        name: The room's identifier.
        model: The model.
        folder: Folder for the room's files; None to store nothing.
        run: Identifier of this run of the program.
    """

    def __init__(self, bot: Bot, name: str | None, model: Model, folder: Path | None, run: str) -> None:
        self._bot, self.name, self._run = bot, name, run
        self._journal = None if folder is None else Journal(folder, name or "")
        self.session = model.session()
        self._number = self._saved = 0
        self._promises: dict[str, Record] = {}
        """Message id -> data of a message that the bot was told to answer and has not answered yet."""
        self._nameless: int | None = None
        """Order of the last such message that has no identifier."""
        bot.enter(self.session)
        if self._journal is not None:
            self._restore(self._journal)

    def judge(
        self, event: Event, policy: Policy, *, silent: str | None = None, goes_on: GateVerdict | None = None
    ) -> GateVerdict:
        """The verdict on the next event.

        Args:
            event: A message, or somebody's presence.
            policy: When the bot speaks.
            silent: The reason why the bot must stay silent in any case; None if it need not.
            goes_on: The verdict on the previous message of the same burst, if the bot is about to answer it.
        """
        if isinstance(event, Message) and event.kind in SPOKEN and event.id is not None:
            if event.id in self._promises and self._promises[event.id]["run"] != self._run:
                return self._again(event)
            if self.session.remembers(event.id):
                return _quiet(event, "it was heard before")
        promised = isinstance(event, Message) and event.kind is Kind.EDIT and event.id in self._promises
        verdict = self._take(event, policy)
        if verdict and promised and goes_on is None:
            verdict = replace(verdict, yes=False, reason="it is to be answered already, as it was before")
        if goes_on is not None and isinstance(event, Message):
            verdict = self._joined(verdict, goes_on)
        if verdict and silent is not None:
            verdict = replace(verdict, yes=False, reason=silent)
        self._promise(verdict, goes_on)
        self._write(event, verdict)
        return verdict

    def judge_all(self, messages: Sequence[Message], policy: Policy) -> list[GateVerdict]:
        """The verdicts on the next messages: the same as from `judge` one by one, only faster."""
        ids = [message.id for message in messages if message.id is not None]
        plain = all(message.kind in SPOKEN for message in messages) and len(set(ids)) == len(ids)
        if not plain or any(id in self._promises or self.session.remembers(id) for id in ids):
            return [self.judge(message, policy) for message in messages]
        verdicts = []
        for message, observation in zip(messages, self.session.observe_all(messages), strict=True):
            verdict = self._decided(message, observation, policy)
            self._promise(verdict, None)
            self._write(message, verdict)
            verdicts.append(verdict)
        return verdicts

    def at_hand(self, id: str | None = None) -> Turn | None:
        """The message to answer; None if there is none.

        Args:
            id: Id of the message; None for the last one that the bot was told to answer and has not answered.
        """
        turns = [turn for turn in self.session.turns if not turn.utterance.gone]
        if id is not None:
            return next((turn for turn in reversed(turns) if turn.utterance.id == id), None)
        waiting = (
            turn for turn in reversed(turns)
            if turn.utterance.id in self._promises or turn.order == self._nameless
        )  # fmt: skip
        return next(waiting, None)

    def unanswered(self, turn: Turn) -> list[Turn]:
        """A message and its speaker's earlier messages since the bot last spoke, the latest first."""
        found = []
        for earlier in reversed(self.session.turns):
            if earlier.utterance.speaker == self._bot.id and earlier.order < turn.order:
                break
            if earlier.utterance.speaker == turn.utterance.speaker and earlier.order <= turn.order:
                found.append(earlier)
        return found

    def settle(self, turn: Turn) -> None:
        """Note that a message need not be answered any more: the bot has chosen to stay silent."""
        self._nameless = None if turn.order == self._nameless else self._nameless
        if self._promises.pop(turn.utterance.id or "", None) is not None:
            self._append({"settled": turn.utterance.id})

    def save(self) -> None:
        """Write a snapshot, so that the room is restored quickly."""
        if self._journal is not None and self._number > self._saved:
            state = {"room": self.name, "number": self._number, "promises": self._promises}
            self._journal.save({**state, "session": self.session.state()})
            self._saved = self._number

    # -- internals

    def _take(self, event: Event, policy: Policy) -> GateVerdict:
        if isinstance(event, Presence):
            return _quiet(event, self._meet(event))
        observation = self.session.observe(event)
        if event.kind is Kind.DELETE and event.id is not None:
            self._promises.pop(event.id, None)
        return self._decided(event, observation, policy)

    def _decided(self, message: Message, observation: Observation, policy: Policy) -> GateVerdict:
        turn = self.session.turn_of(observation)
        return decide(self.session, self._bot.id, policy, message, observation, turn)

    def _meet(self, presence: Presence) -> str:
        """Apply somebody's arrival or departure; returns a sentence about it."""
        people, who = self.session.people, presence.name or presence.speaker
        mine = people.id_of(presence.speaker) == self._bot.id
        if not presence.here:
            if mine:
                self.session.introduce(self._bot.id, here=False)
            else:
                self.session.leave(presence.speaker)
            return f"{who} is not there any more"
        if people.get(presence.speaker) is None and len(people) >= _MOST_PEOPLE:
            return f"{who} is there, as are more people than are remembered"
        self.session.introduce(
            presence.speaker, *presence.aliases, name=presence.name, bot=mine or presence.bot
        )
        return f"{who} is there"

    def _joined(self, verdict: GateVerdict, before: GateVerdict) -> GateVerdict:
        """The verdict on a message of a burst: it is for the bot, unless it calls somebody else."""
        message = verdict.message
        if not verdict and message is not None and message.kind in SPOKEN and not verdict.everybody:
            said = self.session.turns[-1].utterance
            if not said.addressees and not said.stranger:
                likely = max(verdict.probability, before.probability)
                reason = f"{self.session.people.name_of(said.speaker)} goes on"
                verdict = replace(verdict, yes=True, probability=likely, reason=reason)
        return replace(verdict, burst=(*before.burst, *verdict.burst)) if verdict else verdict

    def _again(self, event: Message) -> GateVerdict:
        """The verdict on a message that an earlier run was told to answer, but did not."""
        promise = self._promises[event.id or ""]
        promise["run"] = self._run
        turn = next((turn for turn in self.session.turns if turn.utterance.id == event.id), None)
        if turn is None:
            return _quiet(event, "it was said too long ago to be answered now")
        speaker, people = turn.utterance.speaker, self.session.people
        self._append({"promise": promise, "id": event.id})
        return GateVerdict(
            True, promise["probability"], f"{promise['reason']}; it was not answered before the restart",
            room=event.channel, message=event, called=promise["called"],
            reply_to=ReplyTo(speaker, people.name_of(speaker), event.id), thread=turn.thread, burst=(event,),
            related=RelatedMessages(self.session, turn, self._bot.id),
        )  # fmt: skip

    def _promise(self, verdict: GateVerdict, goes_on: GateVerdict | None) -> None:
        """Remember that a message is to be answered, until the bot speaks."""
        message = verdict.message
        if message is None:
            return
        if self.session.people.id_of(message.speaker) == self._bot.id and message.kind in SPOKEN:
            self._answered(message, None if verdict.related is None else verdict.related.turn)
        if verdict and message.id is not None:
            for earlier in () if goes_on is None else goes_on.burst:
                self._promises.pop(earlier.id or "", None)
            self._promises[message.id] = {
                "run": self._run, "probability": verdict.probability, "reason": verdict.reason,
                "called": verdict.called,
            }  # fmt: skip
            if len(self._promises) > _PROMISES:
                del self._promises[next(iter(self._promises))]

        elif verdict and verdict.related is not None:
            self._nameless = verdict.related.turn.order

    def _answered(self, message: Message, turn: Turn | None) -> None:
        """Remove promises after the bot has spoken: for its addressees, or else for everybody."""
        self._nameless = None
        if message.reply_to in self._promises:
            del self._promises[message.reply_to]
            return
        called = () if turn is None else turn.utterance.addressees
        speakers = {each.utterance.id: each.utterance.speaker for each in self.session.turns}
        left = {id: promise for id, promise in self._promises.items() if speakers.get(id) not in called}
        self._promises = left if len(left) < len(self._promises) else {}

    def _write(self, event: Event, verdict: GateVerdict) -> None:
        """Store an event, and the promise to answer it."""
        if self._journal is None:
            return
        record: Record = {"message": json.loads(to_json(event))} if isinstance(event, Message) else {}
        if isinstance(event, Presence):
            record = {"presence": asdict(event)}
        if verdict and isinstance(event, Message) and event.id in self._promises:
            record |= {"promise": self._promises[event.id], "id": event.id, "open": list(self._promises)}
        self._append(record)
        if self._number - self._saved >= _SNAPSHOT_EVERY:
            self.save()

    def _append(self, record: Record) -> None:
        self._number += 1
        if self._journal is not None:
            self._journal.append({"number": self._number, **record})

    def _restore(self, journal: Journal) -> None:
        kept = journal.read()
        if kept.state is not None:
            try:
                self.session.resume(kept.state["session"])
                self._promises = {id: dict(promise) for id, promise in kept.state["promises"].items()}
            except (TowhomError, LookupError, TypeError, ValueError, AttributeError) as error:
                journal.put_aside(error)
        self._bot.enter(self.session)
        for record in kept.records:
            with suppress(LookupError, TypeError, ValueError):  # skip unreadable lines
                self._replay(record)
        self._number = kept.number
        self._saved = kept.number - len(kept.records)

    def _replay(self, record: Record) -> None:
        """Apply an event of the journal."""
        if "presence" in record:
            told = record["presence"]
            self._meet(Presence(**{**told, "aliases": tuple(told["aliases"])}))
        elif "message" in record:
            message = message_from(record["message"])
            observation = self.session.observe(message)
            if self.session.people.id_of(message.speaker) == self._bot.id and message.kind in SPOKEN:
                self._answered(message, self.session.turn_of(observation))
        if "promise" in record:
            self._promises[record["id"]] = record["promise"]
            kept = record.get("open", self._promises)
            self._promises = {id: promise for id, promise in self._promises.items() if id in kept}
        self._promises.pop(record.get("settled", ""), None)


def _quiet(event: Event, reason: str) -> GateVerdict:
    """A verdict for an event that is not to be answered."""
    message = event if isinstance(event, Message) else None
    return GateVerdict(False, 0.0, reason, room=event.channel, message=message)
