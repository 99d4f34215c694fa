"""Uploaded logs: each is stored only while it is processed, in a process of its own."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path, PurePosixPath
from shutil import rmtree
from tempfile import gettempdir, mkdtemp

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from towhom.serve.failures import JobError, described
from towhom.serve.problems import Problem, internal
from towhom.serve.settings import Settings
from towhom.serve.workers import RefusedError, WorkerProcess

log = logging.getLogger("towhom.serve")

_PREFIX = "towhom-log-"
_NAMELESS = "log"
_LONGEST_NAME = 200
"""Maximum bytes of a file name; file systems allow few more."""
_BUFFER = 1 << 20
"""Bytes that are written at a time."""
_STALLED = 60.0
"""Seconds after which a client that receives nothing is given up."""


class Uploads:
    """All logs that are being processed.

    Args:
        settings: Settings, with the limits on number and size of logs.
        lost: Called when a process has died.
    """

    def __init__(self, settings: Settings, lost: Callable[[], None]) -> None:
        self._settings = settings
        self._lost = lost
        self._processes: set[WorkerProcess] = set()
        self._stopping = asyncio.Event()
        self.count = 0

    def start(self) -> None:
        """Remove the folders that a killed server has left behind."""
        for folder in Path(gettempdir()).glob(f"{_PREFIX}*"):
            with suppress(OSError, ImportError), _locked(folder):
                rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """End all logs in progress: a long log would delay the stop of the server."""
        self._stopping.set()

    def kill(self) -> None:
        """End all processes at once."""
        for process in self._processes:
            process.kill()

    @asynccontextmanager
    async def keep(self, name: str, body: AsyncIterator[bytes]) -> AsyncIterator[Path]:
        """Store a body as a file, for as long as it is needed.

        Raises:
            Problem: There are too many logs, or the disk is full.
        """
        most = self._settings.max_logs
        if self.count >= most:
            sentence = f"There are {most} logs that are looked at, which are the most; try again later."
            raise Problem(503, "too-many-logs", sentence, headers={"Retry-After": "10"})
        self.count += 1
        try:
            with _folder() as folder:
                path = folder / "log" / _file_name(name)
                path.parent.mkdir()
                await _write(path, body)
                yield path
        finally:
            self.count -= 1

    async def answers(
        self, path: Path, format: str | None = None, *, report: bool = False
    ) -> AsyncIterator[list[str]]:
        """The answers about a log, as lists of JSON lines. The first list comes when the log can be read.

        Raises:
            Problem: The log cannot be read, takes too long, or the server stops.
            JobError: There is an error in our code.
        """
        process = WorkerProcess(self._settings.model, self._settings.deadline, self._lost)
        self._processes.add(process)
        try:
            await process.start()
            asked = {"most": self._settings.max_lines, "format": format, "report": report}
            await process.ask("log", path=str(path), **asked)
            following = asyncio.ensure_future(process.ask("more"))
            while lines := await self._unless_stopping(following):
                # The process prepares the next lines, and no more, while these are sent.
                following = asyncio.ensure_future(process.ask("more"))
                yield lines
        except RefusedError as error:
            raise Problem(503, "not-ready", "A process for the log did not start; try again.") from error
        finally:
            self._processes.discard(process)
            process.kill()
            await process.stop()

    async def _unless_stopping(self, lines: asyncio.Future[list[str]]) -> list[str]:
        end = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((lines, end), return_when=asyncio.FIRST_COMPLETED)
            if not lines.done():
                lines.cancel()
                raise Problem(
                    503, "stopping", "The server stops, and did not finish this; send it again later."
                )
            return lines.result()
        finally:
            end.cancel()


class LogResponse(Response):
    """Takes a log from a request, and streams the answers while the log is processed.

    Args:
        uploads: Processes the log.
        name: Name of the file.
        format: Format of the log; detected if None.
        report: Whether the answer is a report on the log instead of its messages.
    """

    media_type = "application/x-ndjson"

    def __init__(
        self, uploads: Uploads, name: str, format: str | None = None, *, report: bool = False
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["Content-Length"]
        self._uploads, self._name, self._format, self._report = uploads, name, format, report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; ends when the client disconnects, whatever is in progress."""
        with suppress(ClientDisconnect):
            async with self._uploads.keep(self._name, Request(scope, receive).stream()) as path:
                sending = asyncio.ensure_future(self._send(path, send))
                gone = asyncio.ensure_future(receive())
                try:
                    await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
                    if sending.done():
                        sending.result()
                finally:
                    gone.cancel()
                    sending.cancel()
                    await asyncio.wait((sending,))

    async def _send(self, path: Path, send: Send) -> None:
        begun = False
        answers = self._uploads.answers(path, self._format, report=self._report)
        try:
            async for lines in answers:
                if not begun:
                    await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                    begun = True
                await _pass(send, lines)
        except Problem as problem:
            if not begun:
                raise
            await _pass(send, [problem.line()])
        except JobError as error:
            if not begun:
                raise
            log.error("a log: %s", described(error))
            await _pass(send, [internal().line()])
        finally:
            await answers.aclose()  # type: ignore[attr-defined]
        await send({"type": "http.response.body", "body": b""})


async def _pass(send: Send, lines: list[str]) -> None:
    """Send lines; waits for a slow client, but not for ever."""
    body = "".join(f"{line}\n" for line in lines).encode()
    async with asyncio.timeout(_STALLED):
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _write(path: Path, body: AsyncIterator[bytes]) -> None:
    waiting = bytearray()
    try:
        with path.open("xb") as file:
            async for piece in body:
                waiting += piece
                if len(waiting) >= _BUFFER:
                    await asyncio.to_thread(file.write, bytes(waiting))
                    waiting.clear()
            await asyncio.to_thread(file.write, bytes(waiting))
    except OSError as error:
        sentence = "The log cannot be kept while it is looked at; look at the disk of the server."
        raise Problem(503, "storage-failed", sentence) from error


def _file_name(name: str) -> str:
    """A safe file name, without folders; it is kept because it is shown, and some formats need its date."""
    shown = "".join(each for each in PurePosixPath(name.replace("\\", "/")).name if each.isprintable())
    cut = shown.encode("utf-8", "replace")[-_LONGEST_NAME:].decode("utf-8", "ignore")
    return _NAMELESS if cut in ("", ".", "..") else cut


@contextmanager
def _folder() -> Iterator[Path]:
    """A private folder that is removed afterwards or, if the server is killed, at its next start."""
    try:
        folder = Path(mkdtemp(prefix=_PREFIX))
    except OSError as error:
        sentence = "There is no space for the log; check the disk of the server."
        raise Problem(503, "storage-failed", sentence) from error
    with ExitStack() as lock:
        with suppress(ImportError):  # without locks, the folder of a killed server stays
            lock.enter_context(_locked(folder))
        try:
            yield folder
        finally:
            rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A lock that ends with the process.

    Raises:
        OSError: Another process holds it.
        ImportError: This system has no such locks.
    """
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
