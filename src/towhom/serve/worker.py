"""The program of a worker process: `python -m towhom.serve.worker DEADLINE [MODEL]`.

Jobs arrive as lines of JSON on standard input, `{"job": 7, "do": "read", "with": {...}}`, and are answered on
standard output, `{"job": 7, "answer": ...}`. A job that takes more seconds than the deadline is given up:
`{"job": 7, "late": true}`. While it works, the process sends heartbeats: `{"job": 0}`. It ends when its
input ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, process_time
from typing import IO, Any

from towhom.blas import one_thread
from towhom.crosstalk.mind import Heard, Question, hear
from towhom.errors import TowhomError
from towhom.loading import load
from towhom.serve.failures import described
from towhom.serve.jobs import Job, Jobs
from towhom.serve.logs import UnreadableLogError

_SIGN_OF_LIFE = 0.2
"""Seconds between heartbeats of a process that is working."""


def main() -> None:
    """Load the model, report that it is ready, and answer jobs until the input ends."""
    for each in (signal.SIGINT, signal.SIGTERM):
        # Signals are for the server, which closes the input when all accepted requests are answered.
        signal.signal(each, signal.SIG_IGN)
    with _own_output() as out:
        try:
            model = load(sys.argv[2] if len(sys.argv) > 2 else None)
        except TowhomError as error:
            _say(out, {"refused": str(error)})
            return
        _say(out, {"ready": True})
        try:
            _answer_all(Jobs(model), sys.stdin.buffer, out, float(sys.argv[1]))
        except Exception as error:  # a traceback would have paths in it, and may quote a chat
            sys.exit(f"worker: {described(error)}")


@dataclass
class _Running:
    """A job that has begun."""

    number: int
    job: Job
    question: Question | None = None
    """Its last question to the model."""
    heard: Heard | None = None
    """The answer to that question."""
    failure: Exception | None = None
    """Why there is no answer."""
    taken: float = 0.0
    """Seconds of processor time that it took so far."""


def _answer_all(jobs: Jobs, source: IO[bytes], out: IO[bytes], deadline: float) -> None:
    waiting = SimpleQueue[bytes]()
    Thread(target=_listen, args=(source, waiting), daemon=True).start()
    running: list[_Running] = []
    last = monotonic()
    while True:
        with suppress(Empty):  # take what has arrived; if no job is running, wait for one
            while line := waiting.get(block=not running):
                told = json.loads(line)
                running.append(_Running(told["job"], jobs.start(told["do"], told["with"])))
            return
        # Every job has a turn; then all questions to the model are answered.
        for current in running.copy():
            with _timed([current]):
                answer = _step(current)
            if answer is None and current.taken > deadline:
                current.job.close()
                answer = {"late": True}
            if answer is not None:
                running.remove(current)
                _say(out, {"job": current.number, **answer})
                last = monotonic()
            elif monotonic() - last > _SIGN_OF_LIFE:
                _say(out, {"job": 0})
                last = monotonic()
        asking = [each for each in running if each.question is not None]
        if asking:
            with _timed(asking):
                _hear(asking)


@contextmanager
def _timed(running: Sequence[_Running]) -> Iterator[None]:
    """Measure the processor time of a block, and divide it among some jobs."""
    start = process_time()
    yield
    for each in running:
        each.taken += (process_time() - start) / len(running)


def _hear(asking: Sequence[_Running]) -> None:
    """Answer the questions of jobs in one pass of the model."""
    try:
        with one_thread():
            answers = hear([each.question for each in asking if each.question is not None])
    except Exception as error:  # which job caused it is unknown
        for each in asking:
            each.failure = error
        return
    for each, heard in zip(asking, answers, strict=True):
        each.heard = heard


def _step(running: _Running) -> dict[str, Any] | None:
    """Run one step of a job; returns its answer if it has ended, else None."""
    heard, failure = running.heard, running.failure
    running.question = running.heard = running.failure = None
    try:
        running.question = running.job.send(heard) if failure is None else running.job.throw(failure)
    except StopIteration as stop:
        return {"answer": stop.value}
    except UnreadableLogError as error:
        return {"unreadable": str(error)}
    except Exception as error:  # after any error, the other jobs go on
        return {"failed": described(error)}
    return None


def _listen(source: IO[bytes], waiting: SimpleQueue[bytes]) -> None:
    for line in source:
        waiting.put(line)
    waiting.put(b"")


def _own_output() -> IO[bytes]:
    """Standard output, reserved for answers: everything else that is printed goes to standard error."""
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "wb")


def _say(out: IO[bytes], what: dict[str, Any]) -> None:
    out.write(json.dumps(what, ensure_ascii=False).encode() + b"\n")
    out.flush()


if __name__ == "__main__":
    main()
