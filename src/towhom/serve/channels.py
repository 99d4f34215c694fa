"""The operations on channels.

Each channel handles one request at a time, in order of arrival; channels do not wait for each other.
Whatever is acknowledged is on disk. A channel that is not in memory is restored from disk and gives the same
answers as before: so after any failure, it is enough to discard what is in memory.
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
"""Messages between snapshots: at most this many are replayed when a channel is restored."""
_AT_ONCE = 500
"""Messages that are sent to a follower at a time."""

_NAMES = 100
"""Channels that are searched at a time."""

Record = dict[str, Any]


class Channels:
    """The channels of the server, by name.

    Args:
        memory: Holds channels while they are used.
        journal: Reads and writes the stored channels.
        followers: Clients that are notified of changes.
        most: Maximum number of channels.
    """

    def __init__(self, memory: Memory, journal: Journal, followers: Followers, *, most: int) -> None:
        self._memory = memory
        self._journal = journal
        self._followers = followers
        self._most = most
        self._count = 0

    async def recount(self) -> None:
        """Count the stored channels."""
        self._count = await self._journal.read(self._journal.storage.count)

    async def observe(self, name: str, messages: Sequence[Record], key: str | None) -> list[str]:
        """Add the next messages to a channel, created if it is new; returns observations, as JSON.

        Args:
            name: Name of the channel.
            messages: One or more messages.
            key: Idempotency key: a repeated request gets the same answer, and no message is added twice.
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
        """Replace the registered people of a channel; returns whether the channel is new."""
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
                else:  # somebody has to be forgotten: the channel is restored from its stored messages
                    await self._memory.drop(held)
                await self._journal.write(Introduce(name, json.dumps(people, ensure_ascii=False), snapshot))
                if snapshot is not None:
                    held.saved(held.messages, snapshot)
            return kept is None

    async def people(self, name: str) -> list[Record]:
        """The registered people of a channel."""
        await self._existing(name)
        return await self._people(name)

    async def replace(self, name: str, messages: Sequence[Record]) -> tuple[list[str], bool]:
        """Replace a channel's history; returns observations, as JSON, and whether the channel is new."""
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
        """Delete the messages of a channel, but not the channel."""
        async with self._using(name) as held:
            await self._existing(name)
            await self._memory.drop(held)
            await self._journal.write(Replace(name, []))
        self._followers.wake(name)

    async def delete(self, name: str) -> None:
        """Delete a channel."""
        async with self._using(name) as held:
            await self._existing(name)
            await self._memory.drop(held)
            await self._journal.write(Delete(name))
            self._count -= 1
        self._followers.wake(name)

    async def forget(self, name: str, person: str) -> int | None:
        """Delete what a person said in a channel, and everything known about them.

        Returns:
            The number of their lines; None if they do not occur in the channel.
        """
        async with self._using(name) as held:
            await self._existing(name)
            storage = self._journal.storage
            found = await self._journal.read(forgotten, storage, name, person)
            # Even if nothing about them is stored any more, memory may still know them.
            await self._memory.drop(held)
            if found is None:
                return None
            await self._journal.write(Redact(name, found.rows, found.people))
            return found.messages

    async def naming(self, person: str) -> AsyncIterator[str]:
        """Channels in which a person speaks or is named."""
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
        """Pairs of addressee and response, the likeliest first; None if the answer would be too long.

        Args:
            name: Name of the channel.
            **question: The next speaker (`responder`), possible responses (`candidates`), the number of pairs
                wanted (`top`), and the most characters that their responses may have (`most`).
        """
        async with self._using(name) as held:
            if not held.ready:
                await self._memory.bring(held, await self._existing(name))
            found: list[Record] | None = await held.worker.ask("select-in", channel=name, **question)
            return found

    async def remembers(self, name: str, id: str) -> bool:
        """Whether a message with this id has been observed in a channel."""
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
            name: Name of the channel.
            observed: The observation that `observe` returned.
            record: The message.
            question: The bot, and its policy.
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
        """Responses from a bank that a person could give next, the best first.

        Args:
            name: Name of the channel.
            **question: The next speaker (`responder`), the folder of the bank (`bank`), the number of
                responses wanted (`top`), and the least probability that they are useful (`least`).
        """
        async with self._memory.using(name) as held:
            if not held.ready:
                await self._memory.bring(held, await self._existing(name))
            found: list[Record] = await held.worker.ask("respond-in", channel=name, **question)
            return found

    async def messages(self, name: str, after: int, limit: int) -> tuple[list[str], int | None]:
        """Observations after a number, as JSON, and the number to continue after, if there are more."""
        await self._existing(name)
        found = await self._page(name, after + 1, limit + 1)
        shown = found[:limit]
        return [observation for _, observation in shown], shown[-1][0] if len(found) > limit else None

    async def all(self, after: str, limit: int) -> tuple[list[Kept], str | None]:
        """Channels after a name, and the name to continue after, if there are more."""
        found = await self._journal.read(self._journal.storage.channels, after, limit + 1)
        return found[:limit], found[limit - 1].name if len(found) > limit else None

    async def follow(self, name: str, after: int) -> AsyncIterator[tuple[int, str] | None]:
        """Yields numbers and observations after a number as they come; None first, and as a heartbeat.

        If the history of the channel is replaced, this continues with the first message of the new one.
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

    # -- internals

    @asynccontextmanager
    async def _using(self, name: str) -> AsyncIterator[Held]:
        """Exclusive use of a channel, if this server owns it."""
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
        """The answer that was given for the same key before; None if there is none."""
        known = await self._journal.read(self._journal.storage.keyed, name, key)
        if known is None:
            return None
        if known.fingerprint not in (asked, ""):
            sentence = "Other messages were sent with this key before; take a new one for each request."
            raise Problem(409, "key-reused", sentence, "header.Idempotency-Key")
        return [observation for _, observation in await self._page(name, known.first, known.count)]

    async def _observed(self, held: Held, messages: Sequence[Record]) -> tuple[list[Row], Snapshot | None]:
        """The next messages with their observations; every so often, also a snapshot."""
        count = held.messages + len(messages)
        keep = count // SNAPSHOT_EVERY > held.kept // SNAPSHOT_EVERY
        held.current = False  # memory is ahead of the disk, until it is saved
        told = await held.worker.ask("observe", channel=held.name, messages=messages, keep=keep)
        texts = (json.dumps(message, ensure_ascii=False) for message in messages)
        rows = list(zip(texts, told["observations"], strict=True))
        return rows, Snapshot(count, told["state"]) if keep else None

    @asynccontextmanager
    async def _counted(self, *, new: bool) -> AsyncIterator[None]:
        """Count a channel that is about to be created, so that there are never too many."""
        if new and self._journal.storage.shared:  # other servers create channels, too
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
    # Includes the fields that the first version always wrote, so that its keys stay valid.
    whole = [{"addressee": None, "time": None, "id": None} | message for message in messages]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _goes_on(known: Sequence[Record], people: Sequence[Record]) -> bool:
    """Whether the new people include all known ones, with all their names."""
    new = {person["id"]: person for person in people}
    return all(
        person["id"] in new
        and set(person["aliases"]) <= set(new[person["id"]]["aliases"])
        and person["bot"] <= new[person["id"]]["bot"]
        and (person["name"] is None or new[person["id"]]["name"] is not None)
        for person in known
    )
