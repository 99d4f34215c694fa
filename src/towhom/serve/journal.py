"""Storage, used from the event loop: what waits to be written is written together."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TypeVar

from towhom.serve.metrics import Metrics
from towhom.serve.problems import Problem
from towhom.serve.storage import (
    AwayError,
    Change,
    FencedError,
    LostError,
    Owner,
    Storage,
    StorageError,
    UnsureError,
)

log = logging.getLogger("towhom.serve")
MOVED = "X-Towhom-Moved"
"""A header of answers that say that another server has a channel."""
_LOOK = 1.0
"""Seconds between looks at the storage."""
_TOGETHER = (AwayError, UnsureError)
"""What becomes of all that is written together, and would become of each."""
Found = TypeVar("Found")
Waiting = tuple[Change, asyncio.Future[None]]


class Journal:
    """A thread that writes, and threads that read.

    Args:
        storage: Where.
        metrics: Counts what is written.
    """

    def __init__(self, storage: Storage, metrics: Metrics) -> None:
        self.storage = storage
        self._metrics = metrics
        self._writer = ThreadPoolExecutor(1, "towhom-writer")
        self._reader = ThreadPoolExecutor(storage.readers, "towhom-reader")
        self._waiting: list[Waiting] = []
        self._writing: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    async def read(self, query: Callable[..., Found], *arguments: object) -> Found:
        """What a method of the storage finds.

        Raises:
            Problem: It cannot be read.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._reader, self._found, query, *arguments
            )
        except (StorageError, sqlite3.Error, OSError) as error:
            raise _failed(error) from error

    async def claim(self, channel: str) -> Owner:
        """Own a channel, or know who does.

        Raises:
            Problem: Nobody can tell.
        """
        number = self.storage.claimed(channel)
        return await self.read(self.storage.claim, channel) if number is None else Owner(number)

    async def write(self, change: Change) -> None:
        """Returns when the change is safe.

        Raises:
            Problem: It could not be written, and nothing was.
        """
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((change, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        await done

    async def check(self) -> None:
        """Fail if nothing can be written.

        Raises:
            Problem: So it is.
        """
        try:
            await asyncio.get_running_loop().run_in_executor(self._writer, self.storage.check)
        except (StorageError, sqlite3.Error, OSError) as error:
            raise _failed(error) from error

    def start(self) -> None:
        """Begin to look whether the storage is still what it was."""
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Write what waits, and close the storage."""
        if self._watching is not None:
            self._watching.cancel()
        if self._writing is not None:
            await self._writing
        for each in (self._reader, self._writer):
            each.shutdown()
        self.storage.close()

    def _found(self, query: Callable[..., Found], *arguments: object) -> Found:
        self.storage.verify()
        return query(*arguments)

    async def _watch(self) -> None:
        """Say it if the storage is lost, also when nobody asks for anything; and if it is back."""
        lost = False
        while True:
            await asyncio.sleep(_LOOK)
            try:
                await asyncio.get_running_loop().run_in_executor(self._reader, self.storage.verify)
                if lost:
                    log.warning("the storage is back")
                lost = False
            except LostError:
                if not lost:
                    log.error("the storage is lost: its file was deleted, replaced or cut; nothing is saved")
                lost = True
            except Exception as error:
                log.error("the storage could not be looked at: %s", type(error).__name__)

    async def _write(self) -> None:
        """Group commit: what comes in while one transaction is written makes up the next."""
        while self._waiting:
            group, self._waiting = self._waiting, []
            error = await self._commit(group)
            if error is None or len(group) == 1 or isinstance(error, _TOGETHER):
                _tell(group, error if error is None else _failed(error))
            else:  # one after the other, so that one that cannot be written takes no other with it
                for each in group:
                    error = await self._commit([each])
                    _tell([each], error if error is None else _failed(error))

    async def _commit(self, group: list[Waiting]) -> Exception | None:
        changes = [change for change, _ in group]
        start = perf_counter()
        try:
            await asyncio.get_running_loop().run_in_executor(self._writer, self.storage.commit, changes)
        except Exception as error:  # whatever it is, nobody waits for ever
            return error
        self._metrics.committed(changes, perf_counter() - start)
        return None


def _tell(group: list[Waiting], error: Problem | None) -> None:
    """Those who wait for a group hear what has become of it."""
    for _, done in group:
        if done.cancelled():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


class MovedProblem(Problem):
    """A request that another server has to answer; servers send it there by themselves."""

    def __init__(self) -> None:
        sentence = "Another server has this channel now, and nothing was saved; send it again."
        super().__init__(503, "channel-moved", sentence, headers={MOVED: "1", "Retry-After": "1"})


def _failed(error: Exception) -> Problem:
    if isinstance(error, FencedError):
        return MovedProblem()
    log.error("the storage failed: %s", type(error).__name__)
    if isinstance(error, LostError):
        sentence = (
            "The server's file of channels was deleted, replaced or cut, and nothing was saved; restart it."
        )
        return Problem(503, "storage-lost", sentence)
    if isinstance(error, UnsureError):
        sentence = "The database went away while it was told to save this; send it again with the same key."
        return Problem(503, "storage-unsure", sentence, headers={"Retry-After": "5"})
    sentence = "The server cannot use its storage, and nothing was saved; look at its disk, or try later."
    return Problem(503, "storage-failed", sentence)
