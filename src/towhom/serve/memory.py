"""Tracks which channels are in the memory of which worker, and lets one request at a time use a channel."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from itertools import islice
from time import monotonic
from typing import Any

from towhom.serve.failures import JobError, described
from towhom.serve.journal import Journal
from towhom.serve.metrics import Metrics
from towhom.serve.problems import Problem
from towhom.serve.storage import Keep, Kept, Snapshot
from towhom.serve.workers import WorkerProcess, Workers

log = logging.getLogger("towhom.serve")

_REPLAYED = 256
"""Messages to replay without a usable snapshot: another model made it, or somebody was forgotten."""
_SWEEPS = 10
"""Searches for idle channels during one idle time."""


class Held:
    """A channel that is in memory or in use.

    Args:
        name: Name of the channel.
        worker: The worker that it belongs to.
    """

    def __init__(self, name: str, worker: WorkerProcess) -> None:
        self.name = name
        self.worker = worker
        self.lock = asyncio.Lock()
        self.users = 0
        """Number of requests that use it, or wait for it."""
        self.live = False
        """Whether the worker has it in memory."""
        self.current = False
        """Whether memory and disk agree."""
        self.claim = 0
        """The fencing number when it was loaded; if it differs now, other servers may have written."""
        self.messages = 0
        self.kept = 0
        """Number of its messages that the last snapshot covers."""
        self.used = monotonic()

    @property
    def ready(self) -> bool:
        """Whether it can be used without loading it first."""
        return self.live and self.current

    def saved(self, messages: int, snapshot: Snapshot | None) -> None:
        """Note that memory and disk agree now."""
        self.current, self.messages = True, messages
        if snapshot is not None:
            self.kept = snapshot.messages


class Memory:
    """The channels in memory. Every channel belongs to one worker, by a hash of its name.

    Args:
        workers: The workers that run the model.
        journal: The journal that channels are restored from.
        metrics: Counts the channels that are loaded and evicted.
        idle: Seconds after which an idle channel is evicted.
        most: Maximum number of channels for each worker.
    """

    def __init__(
        self, workers: Workers, journal: Journal, metrics: Metrics, *, idle: float, most: int
    ) -> None:
        self._workers = workers
        self._journal = journal
        self._metrics = metrics
        self._idle = idle
        self._most = most
        # One for each worker; the most recently used channels are at the end.
        self._shards = [OrderedDict[str, Held]() for _ in workers.all]
        self._sweeper: asyncio.Task[None] | None = None

    @property
    def live(self) -> int:
        """Number of channels in memory."""
        return sum(held.live for shard in self._shards for held in shard.values())

    def holds(self, name: str) -> bool:
        """Whether a channel is in memory or in use."""
        return name in self._shards[self._workers.shard(name)]

    def start(self) -> None:
        """Begin to evict idle channels."""
        self._sweeper = asyncio.create_task(self._sweep())

    async def spare(self, count: int) -> None:
        """Evict the `count` channels that have been unused for longest."""
        every = sorted(
            (held for shard in self._shards for held in shard.values()), key=lambda held: held.used
        )
        await self._evict([held for held in every if held.live and not held.users][:count])

    async def stop(self) -> None:
        """Evict all channels."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        await asyncio.gather(*(self._evict(list(shard.values())) for shard in self._shards))

    def lost(self, number: int) -> None:
        """Note that a worker has died: none of its channels is in memory any more."""
        for held in self._shards[number].values():
            held.live = False

    @asynccontextmanager
    async def using(self, name: str) -> AsyncIterator[Held]:
        """Exclusive use of a channel; those who wait get it in order of arrival."""
        number = self._workers.shard(name)
        shard = self._shards[number]
        held = shard.setdefault(name, Held(name, self._workers.all[number]))
        held.users += 1
        try:
            async with held.lock:
                yield held
        finally:
            held.users -= 1
            held.used = monotonic()
            if held.live or held.users:
                shard.move_to_end(name)
            else:
                del shard[name]

    async def begin(self, held: Held) -> None:
        """Replace what is in memory by an empty channel."""
        await self._put(held, None, 0, [])
        held.messages = held.kept = 0

    async def bring(self, held: Held, kept: Kept) -> None:
        """Load a channel from disk: its last snapshot, and the messages since."""
        storage, name = self._journal.storage, held.name
        snapshot = await self._journal.read(storage.snapshot, name)
        latest = max(kept.first, kept.messages - _REPLAYED)
        first = latest if snapshot is None else snapshot.messages
        messages = await self._journal.read(storage.messages, name, first)
        if not await self._put(held, None if snapshot is None else snapshot.state, first, messages):
            first = latest
            await self._put(held, None, first, await self._journal.read(storage.messages, name, first))
        held.kept = first
        held.saved(kept.messages, None)

    async def drop(self, held: Held) -> None:
        """Remove a channel from memory without a snapshot."""
        held.live = held.current = False
        with suppress(Problem, JobError):  # a worker that died has forgotten it, too
            await held.worker.ask("close", channel=held.name)

    # -- internals

    async def _put(self, held: Held, state: str | None, first: int, messages: list[str]) -> bool:
        shard = self._shards[self._workers.shard(held.name)]
        if not held.live:
            surplus = sum(each.live for each in shard.values()) + 1 - self._most
            quiet = (each for each in shard.values() if each.live and not each.users)
            await self._evict(list(islice(quiet, max(surplus, 0))))
        held.current = False
        people = await self._journal.read(self._journal.storage.people, held.name)
        arguments: dict[str, Any] = {"state": state, "first": first, "messages": messages, "people": people}
        held.live = await held.worker.ask("open", channel=held.name, **arguments)
        self._metrics.opened.inc()
        return held.live

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._idle / _SWEEPS)
            since = monotonic() - self._idle
            for shard in self._shards:
                await self._evict([held for held in shard.values() if held.live and held.used < since])

    async def _evict(self, every: Iterable[Held]) -> None:
        """Evict channels that are not in use; snapshots are written, so that they load quickly again."""
        await asyncio.gather(*(self._leave(held) for held in every))

    async def _leave(self, held: Held) -> None:
        if held.users or not held.live:
            return
        async with self.using(held.name):
            owned = self._journal.storage.claimed(held.name) == held.claim
            worth_it = owned and held.current and held.kept < held.messages
            held.live = held.current = False
            self._metrics.evicted.inc()
            try:
                state = await held.worker.ask("close", channel=held.name)
                if worth_it:
                    await self._journal.write(Keep(held.name, Snapshot(held.messages, state)))
            except (Problem, JobError) as error:  # it can be loaded without a new snapshot, too
                log.error("a channel left without a snapshot: %s", described(error))
