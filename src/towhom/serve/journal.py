"""Access to the storage from the event loop; waiting changes are written together."""

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
"""Header of answers that say that another server owns the channel."""
_LOOK = 1.0
"""Seconds between checks of the storage."""
_TOGETHER = (AwayError, UnsureError)
"""Errors that concern a whole group of changes, and would occur for each of them alone."""
Found = TypeVar("Found")
Waiting = tuple[Change, asyncio.Future[None]]


class Journal:
    """A thread that writes to the storage, and threads that read from it.

    Args:
        storage: The storage.
        metrics: Counts the changes written.
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
        """The result of a method of the storage, or of a function that reads from it.

        Raises:
            Problem: The storage cannot be read.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._reader, self._found, query, *arguments
            )
        except (StorageError, sqlite3.Error, OSError) as error:
            raise _failed(error) from error

    async def claim(self, channel: str) -> Owner:
        """Become the owner of a channel, or find out which server is.

        Raises:
            Problem: The owner cannot be determined.
        """
        number = self.storage.claimed(channel)
        return await self.read(self.storage.claim, channel) if number is None else Owner(number)

    async def write(self, change: Change) -> None:
        """Write a change; returns when it is safe.

        Raises:
            Problem: The change could not be written.
        """
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((change, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        await done

    async def check(self) -> None:
        """Check that the storage can be written.

        Raises:
            Problem: It cannot.
        """
        try:
            await asyncio.get_running_loop().run_in_executor(self._writer, self.storage.check)
        except (StorageError, sqlite3.Error, OSError) as error:
            raise _failed(error) from error

    def start(self) -> None:
        """Begin to check regularly whether the storage is lost."""
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Write the waiting changes, and close the storage."""
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
        """Log when the storage is lost, even if there are no requests, and when it is back."""
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
        """Group commit: the changes that arrive while one transaction is written form the next."""
        while self._waiting:
            group, self._waiting = self._waiting, []
            error = await self._commit(group)
            if error is None or len(group) == 1 or isinstance(error, _TOGETHER):
                _tell(group, error if error is None else _failed(error))
            else:  # one by one, so that a change that cannot be written does not fail the others
                for each in group:
                    error = await self._commit([each])
                    _tell([each], error if error is None else _failed(error))

    async def _commit(self, group: list[Waiting]) -> Exception | None:
        changes = [change for change, _ in group]
        start = perf_counter()
        try:
            await asyncio.get_running_loop().run_in_executor(self._writer, self.storage.commit, changes)
        except Exception as error:  # any error has to reach those who wait
            return error
        self._metrics.committed(changes, perf_counter() - start)
        return None


def _tell(group: list[Waiting], error: Problem | None) -> None:
    """Tell those who wait for a group of changes whether it was written."""
    for _, done in group:
        if done.cancelled():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


class MovedProblem(Problem):
    """A request that another server has to answer; servers forward it there by themselves."""

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
