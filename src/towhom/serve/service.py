"""The parts of a server, put together."""

from __future__ import annotations

import asyncio

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
        self.workers = Workers(settings.workers, settings.model, self._lost)
        self._journal = Journal(storage, self.metrics)
        self._memory = Memory(
            self.workers, self._journal, self.metrics, idle=settings.idle, most=settings.max_live
        )
        self.channels = Channels(self._memory, self._journal, self.followers, most=settings.max_channels)
        self.metrics.watch("towhom_channels_live", "Channels in memory.", lambda: self._memory.live)
        self.metrics.watch("towhom_workers_ready", "Worker processes.", lambda: self.workers.ready)
        self.metrics.watch("towhom_jobs", "Jobs that wait for a worker.", lambda: self.workers.busy)
        self.metrics.watch("towhom_streams", "Clients that follow a channel.", lambda: self.followers.count)

    async def start(self) -> None:
        """Load models and begin.

        Raises:
            RefusedError: The model cannot be served.
        """
        await self.workers.start()
        await self.channels.start()
        self._memory.start()

    async def stop(self) -> None:
        """Put everything away; no request may be under way."""
        await self._memory.stop()
        await self.workers.stop()
        await self._journal.close()

    async def check(self) -> None:
        """Whether requests can be answered.

        Raises:
            Problem: They cannot.
        """
        if self.workers.ready < len(self.workers.all):
            raise Problem(503, "not-ready", "A worker process is not up; wait.", headers={"Retry-After": "1"})
        try:
            await asyncio.wait_for(self._journal.check(), _PATIENCE)
        except TimeoutError as error:
            raise Problem(503, "not-ready", "The storage does not answer; look at its disk.") from error

    def _lost(self, number: int) -> None:
        self.metrics.lost.inc()
        self._memory.lost(number)
