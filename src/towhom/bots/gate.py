"""A bot in all its rooms: when it speaks, to whom, and what it should read first."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar
from uuid import uuid4

from towhom.bank import Bank
from towhom.bots.journal import file_name
from towhom.bots.policy import Policy
from towhom.bots.room import Bot, BotRoom, Event
from towhom.bots.verdict import GateVerdict, ReplyTo
from towhom.chat import Kind, Message, Presence, seconds_since_1970
from towhom.documents import read_json
from towhom.errors import ConfigError, SessionError
from towhom.files import atomic_file
from towhom.hearing.utterance import SPOKEN
from towhom.live import Model, Proposal
from towhom.live.responding import LEAST
from towhom.loading import load

log = logging.getLogger("towhom.gate")

_EXPLAINED = 5000
"""Number of latest verdicts that can be explained."""
_AT_ONCE = 32
"""Maximum number of waiting events of a room that are judged together."""
_WAITING = 256
"""Maximum number of events that `listen` hears at the same time."""
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Choice:
    """A draft and its addressee; false if the bot should stay silent.

    Args:
        draft: What to say; None for silence.
        to: To whom; None for silence.
        index: The number of the draft, counted from 0.
        probability: How likely the draft answers this message, and no other one.
        reason: The reason, in words.
    """

    draft: str | None
    to: ReplyTo | None
    index: int | None
    probability: float
    reason: str

    def __bool__(self) -> bool:
        return self.draft is not None


class _Place:
    """A room as the event loop sees it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0
        """Number of tasks that use it, or wait for it."""
        self.room: BotRoom | None = None
        """The room; None until its first use."""
        self.bursts: dict[str, _Burst] = {}
        """Speaker -> burst that is about to be answered."""
        self.waiting: list[_Waiting] = []
        """Events that have not been judged yet."""


class _Waiting(NamedTuple):
    """An event that has not been judged yet."""

    event: Event
    speak: bool
    verdict: asyncio.Future[GateVerdict]


@dataclass(slots=True)
class _Burst:
    verdict: GateVerdict
    end: asyncio.Future[GateVerdict]
    """Done when the speaker says more, or deletes the message."""


class Gate:
    """One bot in all its rooms.

    The event loop is never blocked: messages are judged in a thread that all gates of a program share, one
    after the other, so rooms keep their order. Gates share a model, too. Memory is bounded.

    Args:
        id: The bot's name, or its identifier on the platform.
        aliases: Other names of the bot.
        name: The name that people see, if `id` is an identifier.
        bots: Names or identifiers of other bots that the platform does not mark as bots.
        policy: When the bot speaks. You can also pass settings by name (`threshold=0.8`).
        folder: Where the state of rooms is stored, so that the bot can continue after a restart; None to
            store nothing. Several bots may share a folder, but each bot may run in only one process.
        model: The model to use; None for the one that comes with towhom, which all gates share.
        max_rooms: The largest number of rooms in memory. The room that was quiet for longest is moved to
            disk, or forgotten if there is no folder.
        clock: Seconds since 1970, for messages that come without a time.
        settings: Settings of the policy.

    Raises:
        ConfigError: A setting is unknown or invalid.
    """

    def __init__(
        self,
        id: str | int,
        *aliases: str,
        name: str | None = None,
        bots: Sequence[str | int] = (),
        policy: Policy | None = None,
        folder: str | Path | None = None,
        model: Model | None = None,
        max_rooms: int = 1000,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> None:
        if policy is not None and settings:
            raise ConfigError("give a policy or settings, not both")
        if not str(id).strip():
            raise ConfigError("the bot has no name; give what people call it, or its identifier")
        if max_rooms < 1:
            raise ConfigError(f"max_rooms is {max_rooms}, and must be at least 1")
        self.policy = Policy.of(settings) if policy is None else policy
        self.bot = Bot(str(id), name, aliases, tuple(map(str, bots)))
        self._folder = None if folder is None else Path(folder) / file_name(self.bot.id)
        self._model = model
        self._max_rooms = max_rooms
        self._clock = clock
        self._run = uuid4().hex
        self._places: OrderedDict[str | None, _Place] = OrderedDict()
        """The most recently used rooms are at the end."""
        self._verdicts: OrderedDict[tuple[str, str | None], GateVerdict] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers = _Answers(None if self._folder is None else self._folder / "answers.json")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def hear(self, event: Event, *, speak: bool = True) -> GateVerdict:
        """Take the next event of any room, including the bot's own messages; returns whether the bot speaks.

        With `burst`, the verdict on a message for the bot comes only when its speaker has finished, so do
        not wait for it before you pass the next event. `listen` takes care of this.

        Args:
            event: A message, or somebody's presence.
            speak: Whether the bot may speak; False for messages from before it joined.
        """
        if not isinstance(event, Message | Presence):
            raise TypeError(f"a gate hears towhom.Message and towhom.Presence, not {type(event).__name__}")
        async with self._using(event.channel) as place:
            if self.policy.burst:
                verdict, burst = await self._heard(place, event, speak)
                if burst is not None:
                    verdict = await self._end_of(burst, place)
            else:
                verdict = await self._in_turn(place, event, speak)
        self._note(verdict)
        return verdict

    def hear_now(self, event: Event, *, speak: bool = True) -> GateVerdict:
        """`hear` for programs without an event loop, and for hooks that cannot wait: it takes milliseconds.

        It does not wait for the end of a burst.
        """
        place = self._places.setdefault(event.channel, _Place())
        self._places.move_to_end(event.channel)
        verdict = _thread().submit(self._judged, place, event, speak, None).result()
        for name, quiet in list(self._places.items()):
            if len(self._places) <= self._max_rooms:
                break
            if not quiet.users and quiet is not place:
                if quiet.room is not None:
                    _thread().submit(quiet.room.save).result()
                del self._places[name]
        self._note(verdict)
        return verdict

    async def listen(self, events: AsyncIterable[Event]) -> AsyncIterator[GateVerdict]:
        """Hear all events of a connector; yields a verdict for each message that the bot should answer."""
        verdicts: asyncio.Queue[GateVerdict | BaseException | None] = asyncio.Queue()
        room = asyncio.Semaphore(_WAITING)

        async def hear(event: Event) -> None:
            try:
                verdict = await self.hear(event)
                if verdict:
                    verdicts.put_nowait(verdict)
            finally:
                room.release()

        async def hear_all() -> None:
            try:
                async with asyncio.TaskGroup() as tasks:
                    async for event in events:
                        await room.acquire()
                        tasks.create_task(hear(event))
            except BaseExceptionGroup as group:
                verdicts.put_nowait(group.exceptions[0])
            except Exception as error:
                verdicts.put_nowait(error)
            else:
                verdicts.put_nowait(None)

        listening = asyncio.create_task(hear_all())
        try:
            while (verdict := await verdicts.get()) is not None:
                if isinstance(verdict, BaseException):
                    raise verdict
                yield verdict
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def choose(
        self, room: str | None, drafts: Sequence[str], *, message: str | int | None = None, least: float = 0.2
    ) -> Choice:
        """Choose the draft that answers the message that the bot was told to answer, or silence.

        Args:
            room: The room.
            drafts: What the bot may say. A draft that calls somebody else is for them, and is not chosen.
            message: The identifier of the message; None for the last one that `hear` said to answer and that
                has not been answered yet. Pass it if several people may be waiting for an answer.
            least: The least probability that a draft answers this message, and no other one.

        Raises:
            SessionError: There are no drafts, or nothing has been heard in the room.
        """
        if isinstance(drafts, str) or not drafts:
            raise SessionError("there is no draft to choose from; give a list of one or more")
        id = None if message is None else str(message)
        async with self._using(room) as place, place.lock:
            choice = await self._run_job(lambda: self._chosen(place, room, drafts, id, least))
        log.info("%s: %s (%.2f)", room, choice.reason, choice.probability)
        return choice

    def explain(self, message_id: str | int, room: str | None = None) -> str:
        """Explain step by step why the bot spoke or stayed silent after a message.

        Args:
            message_id: The message's identifier.
            room: The room of the message; None for the latest message with this identifier in any room.
        """
        for (id, where), verdict in reversed(self._verdicts.items()):
            if id == str(message_id) and room in (None, where):
                return verdict.explain()
        return f"no message {message_id} has been heard lately; the last {_EXPLAINED} can be explained"

    async def drafts(
        self, room: str | None, bank: Bank, k: int = 3, *, least: float = LEAST
    ) -> list[Proposal]:
        """Find earlier messages that the bot could say now, the best first; see `Session.respond`.

        Args:
            room: The room.
            bank: A response bank; `towhom bank build` makes one.
            k: The largest number of responses.
            least: The least probability that a response is useful.

        Raises:
            BankError: The bank was built with another model, or is damaged.
        """
        async with self._using(room) as place, place.lock:
            return await self._run_job(
                lambda: self._room(place, room).session.respond(self.bot.id, bank, k, least=least)
            )

    async def save(self) -> None:
        """Write all rooms to the folder, if there is one; without this, the next start takes longer."""
        for name in list(self._places):
            async with self._using(name) as place, place.lock:
                if place.room is not None:
                    await self._run_job(place.room.save)

    async def close(self) -> None:
        """Save all rooms; call it before the program ends."""
        await self.save()

    @property
    def rooms(self) -> tuple[str | None, ...]:
        """The rooms in memory, the one used last at the end."""
        return tuple(self._places)

    # -- internals

    @asynccontextmanager
    async def _using(self, name: str | None) -> AsyncIterator[_Place]:
        place = self._places.setdefault(name, _Place())
        self._places.move_to_end(name)
        place.users += 1
        try:
            yield place
        finally:
            place.users -= 1
            await self._shrink()

    async def _shrink(self) -> None:
        """Move rooms to disk, or forget them, if there are too many."""
        for name, place in list(self._places.items()):
            if len(self._places) <= self._max_rooms:
                return
            if not place.users and place.room is not None:
                room = place.room
                place.users += 1
                try:
                    async with place.lock:
                        await self._run_job(room.save)
                finally:
                    place.users -= 1
                if not place.users and self._places.get(name) is place:
                    del self._places[name]
            elif not place.users:
                del self._places[name]

    async def _in_turn(self, place: _Place, event: Event, speak: bool) -> GateVerdict:
        """The verdict on an event; waiting events of the same room are judged together."""
        waiting = _Waiting(event, speak, asyncio.get_running_loop().create_future())
        place.waiting.append(waiting)
        task = asyncio.create_task(self._judge_waiting(place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await waiting.verdict

    async def _judge_waiting(self, place: _Place) -> None:
        """Judge the waiting events of a room, even if their callers were cancelled."""
        place.users += 1
        try:
            async with place.lock:
                batch, place.waiting = place.waiting[:_AT_ONCE], place.waiting[_AT_ONCE:]
                if batch:
                    await self._judge_batch(place, batch)
        finally:
            place.users -= 1

    async def _judge_batch(self, place: _Place, batch: Sequence[_Waiting]) -> None:
        try:
            verdicts = await self._run_job(lambda: self._judged_all(place, batch))
        except Exception as error:
            for waiting in batch:
                if not waiting.verdict.done():
                    waiting.verdict.set_exception(error)
            return
        for waiting, verdict in zip(batch, verdicts, strict=True):
            if not waiting.verdict.done():
                waiting.verdict.set_result(verdict)

    async def _heard(self, place: _Place, event: Event, speak: bool) -> tuple[GateVerdict, _Burst | None]:
        """The verdict on an event, and the burst whose end it waits for, if any."""
        async with place.lock:
            before = place.bursts.get(event.speaker)
            told = None if before is None else before.verdict
            verdict = await self._run_job(lambda: self._judged(place, event, speak, told))
            if before is not None and isinstance(event, Message):
                _interrupt(before, verdict, event)
            if not (verdict and self.policy.burst):
                return verdict, None
            burst = _Burst(verdict, asyncio.get_running_loop().create_future())
            place.bursts[event.speaker] = burst
            return verdict, burst

    async def _end_of(self, burst: _Burst, place: _Place) -> GateVerdict:
        """The verdict at the end of a burst: after enough silence, or when its speaker says more."""
        try:
            return await asyncio.wait_for(burst.end, self.policy.burst)
        except TimeoutError:
            return burst.verdict
        finally:
            place.bursts = {who: each for who, each in place.bursts.items() if each is not burst}

    def _note(self, verdict: GateVerdict) -> None:
        """Log a verdict, and remember it for `explain`."""
        if verdict.message is None:
            return
        what = "speaks" if verdict else "keeps quiet"
        log.info("%s: %s (%.2f): %s", verdict.room, what, verdict.probability, verdict.reason)
        if verdict.message.id is not None:
            key = verdict.message.id, verdict.room
            if key in self._verdicts and not verdict.steps:
                return  # heard twice: the first verdict explains it
            self._verdicts.pop(key, None)
            self._verdicts[key] = replace(verdict, related=None, burst=())
            if len(self._verdicts) > _EXPLAINED:
                self._verdicts.popitem(last=False)

    @staticmethod
    async def _run_job(job: Callable[[], Result]) -> Result:
        """Run a job in the thread; once begun, it is finished even if the caller is cancelled."""
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(_thread(), job))

    # -- in the thread

    def _room(self, place: _Place, name: str | None) -> BotRoom:
        if place.room is None:
            model = _bundled_model() if self._model is None else self._model
            place.room = BotRoom(self.bot, name, model, self._folder, self._run)
        return place.room

    def _judged_all(self, place: _Place, batch: Sequence[_Waiting]) -> list[GateVerdict]:
        events = [waiting.event for waiting in batch]
        messages = [self._timed(event) for event in events if isinstance(event, Message)]
        plain = len(messages) == len(batch) > 1 and all(waiting.speak for waiting in batch)
        if not plain or self.policy.daily_cap is not None:
            return [self._judged(place, each.event, each.speak, None) for each in batch]
        return self._room(place, events[0].channel).judge_all(messages, self.policy)

    def _timed(self, message: Message) -> Message:
        """A message with the current time, if it has none."""
        if message.time is not None:
            return message
        return replace(message, time=datetime.fromtimestamp(self._clock(), UTC))

    def _judged(self, place: _Place, event: Event, speak: bool, goes_on: GateVerdict | None) -> GateVerdict:
        room = self._room(place, event.channel)
        if not isinstance(event, Message):
            return room.judge(event, self.policy)
        event = self._timed(event)
        day, cap = _day(event), self.policy.daily_cap
        silent = None if speak else "it was said before the bot came"
        if silent is None and goes_on is None and cap is not None and self._answers.of(day) >= cap:
            silent = f"{self.bot.name or self.bot.id} has spoken {cap} times today, which is its cap"
        verdict = room.judge(event, self.policy, silent=silent, goes_on=goes_on)
        if verdict and goes_on is None:
            self._answers.add(day)
        return verdict

    def _chosen(
        self, place: _Place, name: str | None, drafts: Sequence[str], message: str | None, least: float
    ) -> Choice:
        room = self._room(place, name)
        if not room.session.turns:
            raise SessionError(f"nothing has been heard in room {name!r} yet, so there is nobody to answer")
        turn = room.at_hand(message)
        if turn is None:
            reason = (
                "no message here waits for an answer"
                if message is None
                else f"message {message} is not remembered, or was taken back"
            )
            return Choice(None, None, None, 0.0, reason)
        fits = room.session.fit(self.bot.id, drafts, room.unanswered(turn))
        who = ReplyTo(
            turn.utterance.speaker, room.session.people.name_of(turn.utterance.speaker), turn.utterance.id
        )
        likely = max(fit.likely for fit in fits)
        if likely < least:
            room.settle(turn)
            return Choice(None, None, None, likely, f"no draft answers {who.name}: the best has {likely:.2f}")
        best = max((fit.energy, -index) for index, fit in enumerate(fits) if fit.likely >= least)
        index = -best[1]
        return Choice(drafts[index], who, index, fits[index].likely, f"draft {index} answers {who.name} best")


class _Answers:
    """Counts how often the bot has spoken today.

    Args:
        path: File for the number; None to keep it in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._day, self._count = "", 0
        if path is not None and path.exists():
            try:
                kept = read_json(path)
                self._day, self._count = str(kept["day"]), int(kept["count"])
            except (OSError, ValueError, LookupError, TypeError) as error:
                log.error("%s cannot be read (%s); counting of the day's answers starts again", path, error)

    def of(self, day: str) -> int:
        """Number of answers on a day."""
        return self._count if day == self._day else 0

    def add(self, day: str) -> None:
        """Count an answer."""
        if day >= self._day:  # late messages of an earlier day are not counted
            self._day, self._count = day, self.of(day) + 1
        if self._path is not None:
            with atomic_file(self._path, "w", private=True) as file:
                json.dump({"day": self._day, "count": self._count}, file)


def _interrupt(burst: _Burst, verdict: GateVerdict, event: Message) -> None:
    """End a burst if its speaker says more, or deletes one of its messages."""
    if burst.end.done() or burst.verdict.message is None:
        return
    taken_back = event.kind is Kind.DELETE and any(each.id == event.id for each in burst.verdict.burst)
    if taken_back:
        burst.end.set_result(replace(burst.verdict, yes=False, reason="it was taken back"))
    elif verdict and event.kind in (*SPOKEN, Kind.EDIT):
        burst.end.set_result(
            replace(
                burst.verdict,
                yes=False,
                reason="its speaker goes on; the answer comes after the last message",
            )
        )


def _day(message: Message) -> str:
    time = message.time
    seconds = 0.0 if time is None else seconds_since_1970(time)
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


@cache
def _thread() -> ThreadPoolExecutor:
    """The thread that judges messages: one for all gates, so that little competes with the event loop."""
    return ThreadPoolExecutor(1, "towhom-gate")


@cache
def _bundled_model() -> Model:
    """The model that comes with towhom, loaded once for all gates."""
    return load()
