"""The parts of a server, put together."""

from __future__ import annotations

import asyncio
import logging

from towhom.serve.channels import Channels
from towhom.serve.followers import Followers
from towhom.serve.journal import Journal
from towhom.serve.limits import Limits
from towhom.serve.memory import Memory
from towhom.serve.metrics import Metrics
from towhom.serve.problems import Problem
from towhom.serve.settings import Settings
from towhom.serve.storage import Storage
from towhom.serve.workers import Workers

log = logging.getLogger("towhom.serve")

_PATIENCE = 2.0
"""Seconds that the storage has to show that it can be written."""


class Service:
    """What answers requests.

    Args:
        settings: All that can be set.
        storage: Where channels are kept.
    """

    def __init__(self, settings: Settings, storage: Storage) -> None:
        self.settings = settings
        self.limits = Limits(settings)
        self.metrics = Metrics()
        self.followers = Followers(settings.max_streams)
        self.workers = Workers(settings.workers, settings.model, settings.deadline, self._lost)
        """What follows channels; each has its own."""
        self.askers = Workers(
            settings.question_workers, settings.model, settings.deadline, lambda _: self.metrics.lost.inc()
        )
        """What answers about chats that come whole: however long that takes, no channel waits for it."""
        self._journal = Journal(storage, self.metrics)
        self._memory = Memory(
            self.workers, self._journal, self.metrics, idle=settings.idle, most=settings.max_live
        )
        self.channels = Channels(self._memory, self._journal, self.followers, most=settings.max_channels)
        self._checking: asyncio.Task[None] | None = None
        self.metrics.watch("towhom_channels_live", "Channels in memory.", lambda: self._memory.live)
        self.metrics.watch("towhom_workers_ready", "Worker processes.", lambda: self._sum("ready"))
        self.metrics.watch("towhom_jobs", "Jobs that wait for a worker.", lambda: self._sum("busy"))
        self.metrics.watch("towhom_streams", "Clients that follow a channel.", lambda: self.followers.count)

    async def start(self) -> None:
        """Load models and begin.

        Raises:
            RefusedError: The model cannot be served.
        """
        for error in await asyncio.gather(self.workers.start(), self.askers.start(), return_exceptions=True):
            if error is not None:
                raise error
        self._journal.start()
        await self.channels.start()
        self._memory.start()

    async def stop(self, seconds: float) -> None:
        """Put everything away; no request may be under way.

        Args:
            seconds: That channels have to leave memory; others come back without a snapshot.
        """
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

    async def check(self) -> None:
        """Whether requests can be answered; those who ask at the same time share an answer.

        Raises:
            Problem: They cannot.
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

    def _sum(self, what: str) -> int:
        return sum(getattr(each, what) for each in (self.workers, self.askers))

    def _lost(self, number: int) -> None:
        self.metrics.lost.inc()
        self._memory.lost(number)
