"""Worker processes, seen from the server: asked jobs, replaced when they die."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from towhom.errors import TowhomError
from towhom.serve.failures import JobError
from towhom.serve.problems import Problem

log = logging.getLogger("towhom.serve")

_LONGEST_LINE = 1 << 30
_PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before a worker that died again and again is replaced."""
_HOPELESS = 4
"""Deaths in a row after which nobody is kept waiting."""
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class RefusedError(TowhomError):
    """The model cannot be served."""


class WorkerProcess:
    """One process, and what it has been asked.

    Args:
        model: A model folder; None for the one that comes with towhom.
        lost: Called when the process has died and all that it had in memory is gone.
    """

    def __init__(self, model: Path | None, lost: Callable[[], None]) -> None:
        self._model = [] if model is None else [str(model)]
        self._lost = lost
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._outbox: list[bytes] = []
        self._asked = 0
        self._deaths = 0
        self._process: Process | None = None
        self._care: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()

    @property
    def ready(self) -> bool:
        """Whether the process runs and has loaded the model."""
        return self._ready.is_set()

    @property
    def busy(self) -> int:
        """How many jobs wait for it."""
        return len(self._answers)

    @property
    def pid(self) -> int | None:
        """The process, if it runs."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process and wait until it has loaded the model.

        Raises:
            RefusedError: It cannot.
        """
        self._process = await self._spawned()
        await self._welcome(self._process)
        self._care = asyncio.create_task(self._keep_up(self._process))

    async def ask(self, job: str, **arguments: Any) -> Any:
        """The answer to a job. What is asked in the same moment is sent together.

        Raises:
            Problem: The job cannot be done, or the process died before it was.
            JobError: There is an error in our code.
        """
        if self._deaths >= _HOPELESS:
            sentence = "The process that would work on it does not come up; look at the server's log."
            raise Problem(503, "not-ready", sentence, headers={"Retry-After": "10"})
        self._asked += 1
        told = {"job": self._asked, "do": job, "with": arguments}
        answer = self._answers[self._asked] = asyncio.get_running_loop().create_future()
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._send)
        self._outbox.append(json.dumps(told, ensure_ascii=False).encode() + b"\n")
        return await answer

    async def stop(self) -> None:
        """End the process, which has nothing left to do."""
        if self._care is not None:
            self._care.cancel()
        process, self._process = self._process, None
        self._ready.clear()
        if process is not None and process.stdin is not None:
            process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), 5)
            except TimeoutError:
                process.kill()
                await process.wait()

    # -- inside

    async def _spawned(self) -> Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-W", "ignore", "-m", "towhom.serve.worker", *self._model,
            stdin=PIPE, stdout=PIPE, limit=_LONGEST_LINE, env=os.environ | _ONE_THREAD,
        )  # fmt: skip

    async def _welcome(self, process: Process) -> None:
        """Wait for the first line of a process."""
        assert process.stdout is not None  # noqa: S101
        line = await process.stdout.readline()
        told = json.loads(line) if line else {"refused": "a worker process ended before it was ready"}
        if "refused" in told:
            await process.wait()
            raise RefusedError(told["refused"])
        self._ready.set()
        self._send()

    async def _keep_up(self, process: Process) -> None:
        """Take answers; when the process dies, start another."""
        while True:
            try:
                await self._listen(process)
            except ValueError:  # what it says makes no sense
                process.kill()
            await process.wait()
            log.error("a worker process ended with code %s; starting another", process.returncode)
            self._ready.clear()
            self._outbox.clear()
            self._fail_all()
            self._lost()
            while not self._ready.is_set():
                await asyncio.sleep(_PAUSES[min(self._deaths, len(_PAUSES) - 1)])
                self._deaths += 1
                with suppress(RefusedError, OSError):
                    self._process = process = await self._spawned()
                    await self._welcome(process)

    async def _listen(self, process: Process) -> None:
        assert process.stdout is not None  # noqa: S101
        while line := await process.stdout.readline():
            told = json.loads(line)
            answer = self._answers.pop(told["job"], None)
            self._deaths = 0
            if answer is not None and not answer.done():
                if "answer" in told:
                    answer.set_result(told["answer"])
                else:
                    answer.set_exception(_error(told))

    def _fail_all(self) -> None:
        for answer in self._answers.values():
            if not answer.done():
                sentence = "The process that worked on it ended, and nothing was saved; send it again."
                answer.set_exception(Problem(503, "worker-lost", sentence, headers={"Retry-After": "1"}))
        self._answers.clear()

    def _send(self) -> None:
        # Before the process is there, it waits; _welcome sends it.
        if self._process is not None and self._process.stdin is not None and self._ready.is_set():
            self._process.stdin.write(b"".join(self._outbox))
            self._outbox.clear()


def _error(told: dict[str, Any]) -> Exception:
    if "unreadable" in told:
        return Problem(422, "unreadable-log", told["unreadable"], "body.log")
    return JobError(told["failed"])


class Workers:
    """All of them.

    Args:
        count: How many.
        model: A model folder; None for the one that comes with towhom.
        lost: Called with a worker's number when it has died.
    """

    def __init__(self, count: int, model: Path | None, lost: Callable[[int], None]) -> None:
        self.all = [WorkerProcess(model, partial(lost, number)) for number in range(count)]

    async def start(self) -> None:
        """Start all at the same time.

        Raises:
            RefusedError: The model cannot be served.
        """
        failed = await asyncio.gather(*(each.start() for each in self.all), return_exceptions=True)
        for error in failed:
            if error is not None:
                raise error

    async def stop(self) -> None:
        """End all."""
        await asyncio.gather(*(each.stop() for each in self.all))

    @property
    def ready(self) -> int:
        """How many are."""
        return sum(each.ready for each in self.all)

    @property
    def busy(self) -> int:
        """How many jobs wait for them."""
        return sum(each.busy for each in self.all)

    def shard(self, channel: str) -> int:
        """The number of the worker that a channel belongs to; the same in every run."""
        return crc32(channel.encode()) % len(self.all)

    def idlest(self) -> WorkerProcess:
        """The one with the fewest jobs."""
        return min(self.all, key=lambda each: (not each.ready, each.busy))
