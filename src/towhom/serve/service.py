"""Connects the parts of a server."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from math import ceil
from time import time
from typing import TYPE_CHECKING
from urllib.parse import quote

from towhom.serve.bots import Bots
from towhom.serve.channels import Channels
from towhom.serve.followers import Followers
from towhom.serve.journal import Journal
from towhom.serve.limits import Limits
from towhom.serve.memory import Memory
from towhom.serve.metrics import Metrics
from towhom.serve.problems import Problem
from towhom.serve.settings import Settings
from towhom.serve.storage import Release, Storage
from towhom.serve.uploads import Uploads
from towhom.serve.workers import Workers

if TYPE_CHECKING:
    from towhom.serve.peers import Peers

log = logging.getLogger("towhom.serve")

_UNFAIR, _FEW = 1.3, 4
"""A server gives up channels when it owns more than its fair share times `_UNFAIR`, plus `_FEW`."""
_LOOKS = 20
"""Searches for old messages during the time that messages are kept."""
_SOON, _LATE = 0.5, 3600.0
"""Minimum and maximum seconds between these searches."""
_PATIENCE = 2.0
"""Seconds within which the storage has to show that it can be written."""


class Service:
    """Answers requests.

    Args:
        settings: Settings of the server.
        storage: The storage of channels.
    """

    def __init__(self, settings: Settings, storage: Storage) -> None:
        self.settings = settings
        self.limits = Limits(settings)
        self.metrics = Metrics()
        self.followers = Followers(settings.max_streams)
        self.workers = Workers(settings.workers, settings.model, settings.deadline, self._lost)
        """Workers that follow channels; each worker has channels of its own."""
        self.askers = Workers(
            settings.question_workers, settings.model, settings.deadline, lambda _: self.metrics.lost.inc()
        )
        """Workers for requests with whole chats; however long those take, no channel waits for them."""
        self._storage = storage
        self.uploads = Uploads(settings, self.metrics.lost.inc)
        self._journal = Journal(storage, self.metrics)
        self._memory = Memory(
            self.workers, self._journal, self.metrics, idle=settings.idle, most=settings.max_live
        )
        self.channels = Channels(self._memory, self._journal, self.followers, most=settings.max_channels)
        self.bots = Bots(self.channels, self.limits)
        self._checking: asyncio.Task[None] | None = None
        self._caring: list[asyncio.Task[None]] = []
        self.peers = _peers(settings, storage, self._journal, self.metrics)
        self.metrics.watch("towhom_channels_live", "Channels in memory.", lambda: self._memory.live)
        self.metrics.watch("towhom_workers_ready", "Worker processes.", lambda: self._sum("ready"))
        self.metrics.watch("towhom_jobs", "Jobs that wait for a worker.", lambda: self._sum("busy"))
        self.metrics.watch("towhom_logs", "Logs that are looked at.", lambda: self.uploads.count)
        self.metrics.watch("towhom_streams", "Clients that follow a channel.", lambda: self.followers.count)

    async def start(self) -> None:
        """Start the workers, which load the model, and the background tasks.

        Raises:
            RefusedError: The model cannot be served.
        """
        for error in await asyncio.gather(self.workers.start(), self.askers.start(), return_exceptions=True):
            if error is not None:
                raise error
        self.uploads.start()
        self._journal.start()
        await self.channels.recount()
        self._memory.start()
        loop = asyncio.get_running_loop()
        self._storage.start(lambda names: _tell(loop, self.followers, names))
        if self._storage.shared:
            self._caring.append(asyncio.create_task(self._share()))
        if self.settings.keep_seconds is not None:
            self._caring.append(asyncio.create_task(self._expire(self.settings.keep_seconds)))

    async def stop(self, seconds: float) -> None:
        """Save the state and stop; no request may be in progress.

        Args:
            seconds: Seconds for saving snapshots of channels; the rest are restored without one.
        """
        for task in self._caring:
            task.cancel()
        try:
            await asyncio.wait_for(self._memory.stop(), seconds)
        except TimeoutError:
            log.error("channels were left without a snapshot: a worker process did not answer in time")
        await asyncio.gather(self.workers.stop(), self.askers.stop())
        await self._journal.close()

    def kill(self) -> None:
        """End all processes at once."""
        self.workers.kill()
        self.askers.kill()
        self.uploads.kill()

    async def check(self) -> None:
        """Check that requests can be answered; simultaneous calls share one check.

        Raises:
            Problem: They cannot be answered.
        """
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        await asyncio.shield(self._checking)

    async def _check(self) -> None:
        await asyncio.gather(self.workers.check(), self.askers.check())
        try:
            await asyncio.wait_for(self._journal.check(), _PATIENCE)
        except TimeoutError as error:
            raise Problem(503, "not-ready", "The storage does not answer; look at its disk.") from error

    async def forget(self, channel: str, person: str) -> tuple[int, int]:
        """Forget a person in a channel, whichever server owns it.

        Returns:
            The number of channels they occurred in, which is 0 or 1, and the number of their lines.
        """

        async def here() -> tuple[int, int]:
            try:
                lines = await self.channels.forget(channel, person)
            except Problem as problem:
                if problem.status_code != 404:  # 404: the channel was deleted meanwhile
                    raise
                lines = None
            return (0, 0) if lines is None else (1, lines)

        if self.peers is None:
            return await here()
        target = f"/v1/channels/{quote(channel, safe='')}/people/{quote(person, safe='')}"

        async def there(address: str) -> tuple[int, int] | None:
            assert self.peers is not None  # noqa: S101
            answer = await self.peers.ask(address, channel, "DELETE", target, b"", {})
            if answer is None or answer.status_code not in (200, 404):
                return None
            counts = json.loads(bytes(answer.body))
            return counts.get("channels", 0), counts.get("messages", 0)

        return await self.peers.by_owner(channel, here, there)

    async def _share(self) -> None:
        """Regularly give up channels that are not used here, so that other servers can own them."""
        while True:
            await asyncio.sleep(self.settings.lease)
            try:
                await self._balance()
                for name in self._storage.claims():
                    if not self._memory.holds(name):
                        await self._journal.write(Release(name))
                        if self.peers is not None:
                            self.peers.give_up(name)
            except Problem:
                log.warning("channels that nobody uses are not given up: the storage fails")

    async def _balance(self) -> None:
        """Evict some channels if this server owns far more than its share, as after other servers join."""
        channels, servers = await self._journal.read(self._storage.shares)
        fair, own = channels / max(servers, 1), len(self._storage.claims())
        if own > fair * _UNFAIR + _FEW:
            await self._memory.spare(ceil((own - fair) / 4))

    async def _expire(self, seconds: float) -> None:
        """Regularly delete old messages of channels that this server owns, or that no server owns."""
        while True:
            before = time() - seconds
            try:
                async for name in self.channels.older(before):
                    if (await self._journal.claim(name)).address is None:
                        await self.channels.expire(name, before)
            except Problem as problem:
                log.warning("old messages are not deleted yet: %s", problem.code)
            await asyncio.sleep(min(max(seconds / _LOOKS, _SOON), _LATE))

    def _sum(self, what: str) -> int:
        return sum(getattr(each, what) for each in (self.workers, self.askers))

    def _lost(self, number: int) -> None:
        self.metrics.lost.inc()
        self._memory.lost(number)


def _peers(settings: Settings, storage: Storage, journal: Journal, metrics: Metrics) -> Peers | None:
    """The other servers; None if the storage is not shared."""
    if not storage.shared:
        return None
    from towhom.serve.peers import Peers
    from towhom.serve.postgres import PostgresStorage

    assert isinstance(storage, PostgresStorage)  # noqa: S101
    return Peers(journal, storage, settings, metrics)


def _tell(loop: asyncio.AbstractEventLoop, followers: Followers, names: Sequence[str] | None) -> None:
    """Wake followers from another thread."""
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(followers.wake_some, names)
