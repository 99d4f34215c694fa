"""What can be done with channels.

One channel does one thing at a time, in the order in which it was asked; channels do not wait for each other.
What is acknowledged is on disk. A channel that is not in memory comes back from there, and gives the answers
that it would have given: so whatever fails, it is enough to distrust what is in memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from towhom.serve.followers import Followers
from towhom.serve.forgetting import forgotten
from towhom.serve.journal import Journal, MovedProblem
from towhom.serve.memory import Held, Memory
from towhom.serve.problems import Problem
from towhom.serve.storage import (
    Append,
    Delete,
    Expire,
    Introduce,
    Kept,
    Keyed,
    Redact,
    Replace,
    Row,
    Snapshot,
)

SNAPSHOT_EVERY = 64
"""Messages: what has to be gone through again, at most, when a channel comes back."""
_AT_ONCE = 500
"""Messages that a follower is sent in one go."""

_NAMES = 100
"""Channels that are looked through in one go."""

Record = dict[str, Any]


class Channels:
    """Channels by their names.

    Args:
        memory: Where they are while they are used.
        journal: Where they are kept.
        followers: Who is told of news.
        most: How many there may be.
    """

    def __init__(self, memory: Memory, journal: Journal, followers: Followers, *, most: int) -> None:
        self._memory = memory
        self._journal = journal
        self._followers = followers
        self._most = most
        self._count = 0

    async def recount(self) -> None:
        """Count what there is."""
        self._count = await self._journal.read(self._journal.storage.count)

    async def observe(self, name: str, messages: Sequence[Record], key: str | None) -> list[str]:
        """Take the next messages of a channel, which is made if it is new; returns observations, as JSON.

        Args:
            name: Of the channel.
            messages: One or more.
            key: Asked again with the same key, the answer is the same, and no message is doubled.
        """
        async with self._using(name) as held:
            asked = _fingerprint(messages)
            if key is not None and (known := await self._answered(name, key, asked)) is not None:
                return known
            kept = None if held.ready else await self._kept(name)
            new = kept is None and not held.ready
            async with self._counted(new=new):
                if new:
                    await self._memory.begin(held)
                elif kept is not None:
                    await self._memory.bring(held, kept)
                first = held.messages
                rows, snapshot = await self._observed(held, messages)
                keyed = None if key is None else Keyed(key, asked, first, len(rows))
                await self._journal.write(Append(name, first, rows, snapshot, keyed))
                held.saved(first + len(rows), snapshot)
        self._followers.wake(name)
        return [observation for _, observation in rows]

    async def introduce(self, name: str, people: Sequence[Record]) -> bool:
        """Make people known to a channel, instead of those who were; returns whether the channel is new."""
        async with self._using(name) as held:
            kept, known = await self._kept(name), await self._people(name)
            if kept is not None and known == people:
                return False
            async with self._counted(new=kept is None):
                snapshot = None
                if _goes_on(known, people):
                    if kept is None:
                        await self._memory.begin(held)
                    elif not held.ready:
                        await self._memory.bring(held, kept)
                    held.current = False  # memory is ahead of the disk, until it is saved
                    state = await held.worker.ask("introduce", channel=name, people=people)
                    snapshot = Snapshot(held.messages, state)
                else:  # somebody has to be forgotten: it comes back from what was said last
                    await self._memory.drop(held)
                await self._journal.write(Introduce(name, json.dumps(people, ensure_ascii=False), snapshot))
                if snapshot is not None:
                    held.saved(held.messages, snapshot)
            return kept is None

    async def people(self, name: str) -> list[Record]:
        """Those who were made known to a channel."""
        await self._existing(name)
        return await self._people(name)

    async def replace(self, name: str, messages: Sequence[Record]) -> tuple[list[str], bool]:
        """Give a channel another history; returns observations, as JSON, and whether the channel is new."""
        async with self._using(name) as held:
            new = await self._kept(name) is None
            async with self._counted(new=new):
                await self._memory.begin(held)
                rows, snapshot = await self._observed(held, messages)
                await self._journal.write(Replace(name, rows, snapshot))
                held.saved(len(rows), snapshot)
        self._followers.wake(name)
        return [observation for _, observation in rows], new

    async def empty(self, name: str) -> None:
        """Forget the messages of a channel, which stays."""
        async with self._using(name) as held:
            await self._existing(name)
            await self._memory.drop(held)
            await self._journal.write(Replace(name, []))
        self._followers.wake(name)

    async def delete(self, name: str) -> None:
        """Forget a channel."""
        async with self._using(name) as held:
            await self._existing(name)
            await self._memory.drop(held)
            await self._journal.write(Delete(name))
            self._count -= 1
        self._followers.wake(name)

    async def forget(self, name: str, person: str) -> int | None:
        """Forget what somebody said in a channel, and who they are.

        Returns:
            How many lines were theirs; None if they were not in it.
        """
        async with self._using(name) as held:
            await self._existing(name)
            storage = self._journal.storage
            found = await self._journal.read(forgotten, storage, name, person)
            # Also if nothing is written any more, memory may know them yet.
            await self._memory.drop(held)
            if found is None:
                return None
            await self._journal.write(Redact(name, found.rows, found.people))
            return found.messages

    async def naming(self, person: str) -> AsyncIterator[str]:
        """Channels in which somebody is named, or speaks."""
        storage, after = self._journal.storage, ""
        while kept := await self._journal.read(storage.channels, after, _NAMES):
            names, after = [each.name for each in kept], kept[-1].name
            for quoted in {json.dumps(person, ensure_ascii=False), json.dumps(person)}:
                for name in await self._journal.read(storage.naming, quoted, names):
                    yield name

    async def expire(self, name: str, before: float) -> None:
        """Delete the messages of a channel that came before a time."""
        async with self._using(name) as held:
            if await self._kept(name) is not None:
                await self._memory.drop(held)
                await self._journal.write(Expire(name, before))

    async def older(self, before: float) -> AsyncIterator[str]:
        """Channels that have messages from before a time."""
        after = ""
        while names := await self._journal.read(self._journal.storage.older, before, after, _NAMES):
            after = names[-1]
            for name in names:
                yield name

    async def select(self, name: str, **question: Any) -> list[Record] | None:
        """Pairs of addressee and response, the likeliest first; None if that would be too long an answer.

        Args:
            name: Of the channel.
            **question: Who speaks next (`responder`), what they may say (`candidates`), how many pairs are
                wanted (`top`), how many characters their responses may have (`most`).
        """
        async with self._using(name) as held:
            if not held.ready:
                await self._memory.bring(held, await self._existing(name))
            found: list[Record] | None = await held.worker.ask("select-in", channel=name, **question)
            return found

    async def remembers(self, name: str, id: str) -> bool:
        """Whether the message of an identifier has been observed in a channel."""
        async with self._memory.using(name) as held:
            kept = None if held.ready else await self._kept(name)
            if kept is None and not held.ready:
                return False
            if kept is not None:
                await self._memory.bring(held, kept)
            known: bool = await held.worker.ask("remembers", channel=name, id=id)
            return known

    async def gate(self, name: str, observed: str, record: Record, question: Record) -> Record:
        """Whether a bot speaks after a message that has been observed.

        Args:
            name: Of the channel.
            observed: What `observe` answered.
            record: The message.
            question: Who the bot is, and when it speaks.
        """
        number = json.loads(observed)["number"]
        async with self._memory.using(name) as held:
            if not held.ready:
                await self._memory.bring(held, await self._existing(name))
            verdict: Record = await held.worker.ask(
                "gate", channel=name, number=number, record=record, question=question
            )
            return verdict

    async def respond(self, name: str, **question: Any) -> list[Record]:
        """What somebody could say next, of what a bank holds, the best first.

        Args:
            name: Of the channel.
            **question: Who speaks next (`responder`), the folder of the bank (`bank`), how many responses are
                wanted (`top`), how likely they must be of use (`least`).
        """
        async with self._memory.using(name) as held:
            if not held.ready:
                await self._memory.bring(held, await self._existing(name))
            found: list[Record] = await held.worker.ask("respond-in", channel=name, **question)
            return found

    async def messages(self, name: str, after: int, limit: int) -> tuple[list[str], int | None]:
        """Observations after a number, as JSON, and the number to go on after, if there are more."""
        await self._existing(name)
        found = await self._page(name, after + 1, limit + 1)
        shown = found[:limit]
        return [observation for _, observation in shown], shown[-1][0] if len(found) > limit else None

    async def all(self, after: str, limit: int) -> tuple[list[Kept], str | None]:
        """Channels after a name, and the name to go on after, if there are more."""
        found = await self._journal.read(self._journal.storage.channels, after, limit + 1)
        return found[:limit], found[limit - 1].name if len(found) > limit else None

    async def follow(self, name: str, after: int) -> AsyncIterator[tuple[int, str] | None]:
        """Observations after a number, as they come, with theirs; None at first, and when none came for long.

        If the channel gets another history, this goes on with the first message of that.
        """
        with self._followers.follow(name) as follower:
            number = after + 1 if after < (await self._existing(name)).messages else 0
            page = await self._journal.read(self._journal.storage.page, name, number, 1)
            history = None if page is None else page.history
            yield None
            while not self._followers.closed:
                follower.news.clear()
                page = await self._journal.read(self._journal.storage.page, name, number, _AT_ONCE)
                if (None if page is None else page.history) != history:
                    history, number = None if page is None else page.history, 0
                    continue
                observations = [] if page is None else page.observations
                for number, observation in observations:
                    yield number, observation
                if observations:
                    number += 1
                elif not await follower.woken():
                    yield None

    # -- inside

    @asynccontextmanager
    async def _using(self, name: str) -> AsyncIterator[Held]:
        """A channel for oneself, if this server owns it."""
        async with self._memory.using(name) as held:
            number = self._journal.storage.claimed(name)
            if number is None:
                raise MovedProblem
            if held.claim != number:
                held.claim, held.current = number, False
            yield held

    async def _page(self, name: str, first: int, limit: int) -> list[tuple[int, str]]:
        page = await self._journal.read(self._journal.storage.page, name, first, limit)
        return [] if page is None else page.observations

    async def _kept(self, name: str) -> Kept | None:
        return await self._journal.read(self._journal.storage.channel, name)

    async def _people(self, name: str) -> list[Record]:
        people: list[Record] = json.loads(await self._journal.read(self._journal.storage.people, name))
        return people

    async def _existing(self, name: str) -> Kept:
        kept = await self._kept(name)
        if kept is None:
            sentence = "There is no channel of this id; its first message makes it."
            raise Problem(404, "no-such-channel", sentence, "path.id")
        return kept

    async def _answered(self, name: str, key: str, asked: str) -> list[str] | None:
        """What was answered to the same question before."""
        known = await self._journal.read(self._journal.storage.keyed, name, key)
        if known is None:
            return None
        if known.fingerprint not in (asked, ""):
            sentence = "Other messages were sent with this key before; take a new one for each request."
            raise Problem(409, "key-reused", sentence, "header.Idempotency-Key")
        return [observation for _, observation in await self._page(name, known.first, known.count)]

    async def _observed(self, held: Held, messages: Sequence[Record]) -> tuple[list[Row], Snapshot | None]:
        """The next messages, with their observations; now and then with a snapshot."""
        count = held.messages + len(messages)
        keep = count // SNAPSHOT_EVERY > held.kept // SNAPSHOT_EVERY
        held.current = False  # memory is ahead of the disk, until it is saved
        told = await held.worker.ask("observe", channel=held.name, messages=messages, keep=keep)
        texts = (json.dumps(message, ensure_ascii=False) for message in messages)
        rows = list(zip(texts, told["observations"], strict=True))
        return rows, Snapshot(count, told["state"]) if keep else None

    @asynccontextmanager
    async def _counted(self, *, new: bool) -> AsyncIterator[None]:
        """Count a channel that is about to be made, so that there are never too many."""
        if new and self._journal.storage.shared:  # others make some, too
            await self.recount()
        if new and self._count >= self._most:
            sentence = f"There are {self._count} channels, the most that are kept; delete some first."
            raise Problem(409, "too-many-channels", sentence, "path.id")
        self._count += new
        try:
            yield
        except BaseException:
            self._count -= new
            raise


def _fingerprint(messages: Sequence[Record]) -> str:
    # With what the first version always wrote, so that a key outlives the change to this one.
    whole = [{"addressee": None, "time": None, "id": None} | message for message in messages]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _goes_on(known: Sequence[Record], people: Sequence[Record]) -> bool:
    """Whether nobody is forgotten, and no name of theirs."""
    new = {person["id"]: person for person in people}
    return all(
        person["id"] in new
        and set(person["aliases"]) <= set(new[person["id"]]["aliases"])
        and person["bot"] <= new[person["id"]]["bot"]
        and (person["name"] is None or new[person["id"]]["name"] is not None)
        for person in known
    )
