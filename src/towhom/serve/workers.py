"""The server's side of worker processes: sends them jobs, and replaces them when they die."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from zlib import crc32

from towhom.errors import TowhomError
from towhom.serve.failures import JobError, described
from towhom.serve.problems import Problem

log = logging.getLogger("towhom.serve")

_LONGEST_LINE = 1 << 30
_PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before a worker is replaced, by the number of its deaths in a row."""
_HOPELESS = 4
"""Deaths in a row after which jobs fail at once instead of waiting."""
_LOADING = 120.0
"""Seconds that a process has to load the model."""
_QUIET = 5.0
"""Seconds of silence after which an idle process is pinged."""
_LOOK = 1.0
"""Seconds between checks of how long jobs wait."""
_ENDING = 2.0
"""Seconds that a process has to end by itself."""
_CLOSING = 0.5
"""The same for a process whose output has ended or is invalid."""
_ANSWERING = 2.0
"""Seconds that a process has to answer a ping."""
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class RefusedError(TowhomError):
    """The model cannot be served."""


@dataclass(frozen=True)
class _Asked:
    """A job that was sent or is about to be: its name, when it was asked, and the future of its answer."""

    name: str
    since: float
    answer: asyncio.Future[Any]


class WorkerProcess:
    """One process and its jobs.

    Args:
        model: A model folder; None for the one that comes with towhom.
        deadline: Seconds that a job may take, and that the process may be silent while it has one.
        lost: Called when the process has died and its memory is lost.
    """

    def __init__(self, model: Path | None, deadline: float, lost: Callable[[], None]) -> None:
        self._arguments = [str(deadline), *([] if model is None else [str(model)])]
        self._deadline = deadline
        self._lost = lost
        self._jobs: dict[int, _Asked] = {}
        self._outbox: dict[int, bytes] = {}
        """Jobs that are not sent yet."""
        self._asked = 0
        self._deaths = 0
        self._process: Process | None = None
        self._serving = False
        """Whether the process may have something in memory."""
        self._heard = monotonic()
        """When the last line came from the process."""
        self._care: list[asyncio.Task[None]] = []
        self._ready = asyncio.Event()

    @property
    def ready(self) -> bool:
        """Whether the process runs and has loaded the model."""
        return self._ready.is_set()

    @property
    def busy(self) -> int:
        """Number of jobs that wait for it."""
        return sum(each.name != "ping" for each in self._jobs.values())

    @property
    def pid(self) -> int | None:
        """The process id, if it runs."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process and wait until it has loaded the model.

        Raises:
            RefusedError: The process cannot load the model.
        """
        await self._begin()
        self._care = [asyncio.create_task(self._keep_up()), asyncio.create_task(self._watch())]

    async def ask(self, job: str, **arguments: Any) -> Any:
        """The answer to a job. Jobs that are asked at the same moment are sent together.

        Raises:
            Problem: The job cannot be done, took too long, or the process died before it was done.
            JobError: There is an error in our code.
        """
        if self._deaths >= _HOPELESS:
            raise _not_up()
        return await self._post(job, arguments)

    async def stop(self) -> None:
        """End the process, which must have no jobs left; if it does not end, it is killed."""
        for task in self._care:
            task.cancel()
        process, self._process = self._process, None
        self._ready.clear()
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        if not await _ended(process, _ENDING):
            log.error("a worker process did not end by itself, and was killed")

    def kill(self) -> None:
        """Kill the process; a last resort."""
        if self._process is not None:
            with suppress(OSError):
                self._process.kill()

    # -- internals

    def _post(self, job: str, arguments: dict[str, Any]) -> asyncio.Future[Any]:
        told = {"job": self._asked + 1, "do": job, "with": arguments}
        line = json.dumps(told, ensure_ascii=False).encode() + b"\n"
        self._asked += 1
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self._jobs[self._asked] = _Asked(job, monotonic(), answer)
        self._outbox[self._asked] = line
        if len(self._outbox) == 1:
            loop.call_soon(self._send)
        return answer

    async def _begin(self) -> None:
        """Start a process, and wait for its first line."""
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-W", "ignore", "-m", "towhom.serve.worker", *self._arguments,
            stdin=PIPE, stdout=PIPE, limit=_LONGEST_LINE, env=os.environ | _ONE_THREAD,
        )  # fmt: skip
        assert process.stdout is not None  # noqa: S101
        line = await asyncio.wait_for(process.stdout.readline(), _LOADING)
        told = json.loads(line) if line else {"refused": "a worker process ended before it was ready"}
        if "refused" in told:
            await process.wait()
            raise RefusedError(told["refused"])
        self._heard = monotonic()
        self._serving = True
        self._ready.set()
        self._send()

    async def _keep_up(self) -> None:
        """Receive answers; if the process dies or sends nonsense, start another. Only `stop` ends this."""
        while True:
            try:
                if self._ready.is_set():
                    await self._listen()
                await self._replace()
            except Exception as error:  # a worker that nobody listens to would be lost for good
                log.error("a worker process is replaced: %s", described(error))
                self._ready.clear()

    async def _listen(self) -> None:
        assert self._process is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        while line := await self._process.stdout.readline():
            told = json.loads(line)
            self._heard = monotonic()
            self._deaths = 0
            job = self._jobs.pop(told["job"], None)
            if job is not None and not job.answer.done():
                if "answer" in told:
                    job.answer.set_result(told["answer"])
                else:
                    job.answer.set_exception(self._error(told))

    async def _replace(self) -> None:
        """End the process if it is still there, fail its jobs, and start another."""
        self._ready.clear()
        if (
            self._serving
        ):  # must come first: jobs from now on go to the next process, which has no channels in memory
            self._serving = False
            self._lost()
        if self._process is not None:
            await _ended(self._process, _CLOSING)
            code, self._process = self._process.returncode, None
            log.error("a worker process ended with code %s; starting another", code)
        if self._deaths >= _HOPELESS:
            self._fail(self._jobs, _not_up)
        else:  # jobs that were not sent yet go to the next process
            self._fail(self._jobs.keys() - self._outbox.keys(), _lost_problem)
        await asyncio.sleep(_PAUSES[min(self._deaths, len(_PAUSES) - 1)])
        self._deaths += 1
        await self._begin()

    async def _watch(self) -> None:
        """Make sure that no job waits for ever. Only `stop` ends this."""
        pause = min(_LOOK, self._deadline / 4)
        looked = monotonic()
        while True:
            await asyncio.sleep(pause)
            # If this runs late, there may be answers that were not read yet: then wait for the next check.
            late, looked = monotonic() - looked > 2 * pause, monotonic()
            try:
                if not late:
                    self._look()
            except Exception as error:
                log.error("jobs could not be looked at: %s", described(error))

    def _look(self) -> None:
        now = monotonic()
        if not self._ready.is_set():
            self._fail([number for number in self._jobs if self._is_late(number, now)], _not_up)
        elif not self._jobs:
            if now - self._heard > _QUIET:
                # The answer is not needed; any answer shows that the process is alive.
                self._post("ping", {}).add_done_callback(lambda answer: answer.exception())
        elif now - self._heard > self._deadline:
            late = [number for number in self._jobs if self._is_late(number, now)]
            if late and self._process is not None:
                log.error("a worker process was silent for %g seconds, and is killed", self._deadline)
                self._fail(late, self._too_long)
                self._ready.clear()
                self._process.kill()

    def _is_late(self, number: int, now: float) -> bool:
        return now - self._jobs[number].since > self._deadline

    def _fail(self, numbers: Iterable[int], problem: Callable[[], Problem]) -> None:
        for number in list(numbers):
            self._outbox.pop(number, None)
            answer = self._jobs.pop(number).answer
            if not answer.done():
                answer.set_exception(problem())

    def _send(self) -> None:
        # Before the process is ready, the outbox waits; _begin sends it.
        if self._process is not None and self._process.stdin is not None and self._ready.is_set():
            lines, self._outbox = self._outbox, {}
            try:
                self._process.stdin.writelines(lines.values())
            except Exception as error:  # half a line may have been sent, which would garble what follows
                log.error("a worker process cannot be told anything: %s", described(error))
                self._ready.clear()
                self._process.kill()

    def _error(self, told: dict[str, Any]) -> Exception:
        if "unreadable" in told:
            return Problem(422, "unreadable-log", told["unreadable"], "body")
        return self._too_long() if "late" in told else JobError(told["failed"])

    def _too_long(self) -> Problem:
        sentence = f"This took longer than {self._deadline:g} seconds, and was given up; send less at once."
        return Problem(504, "took-too-long", sentence)


async def _ended(process: Process, seconds: float) -> bool:
    """Wait for a process to end, and kill it if it does not; returns whether it ended by itself.

    Waits first, because killing a process that has just ended would lose its exit code.
    """
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), seconds)
        return True
    with suppress(OSError):
        process.kill()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _ENDING)
    return False


def _away() -> Problem:
    sentence = "A worker process does not answer; wait until it does, or is replaced."
    return Problem(503, "not-ready", sentence, headers={"Retry-After": "1"})


def _not_up() -> Problem:
    sentence = "The process that would work on it does not come up; look at the server's log."
    return Problem(503, "not-ready", sentence, headers={"Retry-After": "10"})


def _lost_problem() -> Problem:
    sentence = "The process that worked on it ended, and nothing was saved; send it again."
    return Problem(503, "worker-lost", sentence, headers={"Retry-After": "1"})


class Workers:
    """A group of identical worker processes.

    Args:
        count: Number of processes.
        model: A model folder; None for the one that comes with towhom.
        deadline: Seconds that a job may take.
        lost: Called with a worker's number when it has died.
    """

    def __init__(self, count: int, model: Path | None, deadline: float, lost: Callable[[int], None]) -> None:
        self.all = [WorkerProcess(model, deadline, partial(lost, number)) for number in range(count)]

    async def start(self) -> None:
        """Start all processes at the same time.

        Raises:
            RefusedError: The model cannot be served.
        """
        failed = await asyncio.gather(*(each.start() for each in self.all), return_exceptions=True)
        for error in failed:
            if error is not None:
                raise error

    async def stop(self) -> None:
        """End all processes."""
        await asyncio.gather(*(each.stop() for each in self.all), return_exceptions=True)

    def kill(self) -> None:
        """Kill all processes."""
        for each in self.all:
            each.kill()

    async def check(self) -> None:
        """Ping every process.

        Raises:
            Problem: One does not answer.
        """
        if not all(each.ready for each in self.all):
            raise _away()
        try:
            async with asyncio.timeout(_ANSWERING):
                await asyncio.gather(*(each.ask("ping") for each in self.all))
        except (Problem, TimeoutError) as error:
            raise _away() from error

    @property
    def ready(self) -> int:
        """Number of processes that are ready."""
        return sum(each.ready for each in self.all)

    @property
    def busy(self) -> int:
        """Number of jobs that wait for the processes."""
        return sum(each.busy for each in self.all)

    def shard(self, channel: str) -> int:
        """The number of the worker that a channel belongs to; the same in every run."""
        return crc32(channel.encode()) % len(self.all)

    def idlest(self) -> WorkerProcess:
        """The process with the fewest jobs, ready ones first."""
        return min(self.all, key=lambda each: (not each.ready, each.busy))
