"""How many requests a server answers, and how soon, over many channels: on loopback, a server of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from itertools import count, cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from towhom.chat import Message
from towhom.errors import TowhomError

_BEFORE = 100
"""Messages of a channel before the clock starts: as many as are compared with the next."""
_CANDIDATES = 10
_FULL, _LONG = 20, 200
"""Channels, and their messages, by which the memory of one is measured that remembers all it can."""
_TOLD = re.compile(r"towhom serves at http://(\S+):(\d+)/")

Ask = Callable[[HTTPConnection, int], object]
"""Sends the request of a number, and takes the answer."""


def bench_serve(
    messages: Sequence[Message],
    *,
    model: Path | None = None,
    channels: int,
    clients: int,
    seconds: float,
    workers: int | None = None,
) -> dict[str, Any]:
    """Requests a second, and milliseconds, of `observe` (posting a message) and `select`.

    Args:
        messages: A chat, which all channels have in turns.
        model: A model folder; None for the one that comes with towhom.
        channels: How many; all are in memory.
        clients: How many ask at the same time; each waits for its answer.
        seconds: How long each is measured.
        workers: Processes of the server; None for its default.
    """
    flags = ["--max-live", str(channels + _FULL), "--max-channels", str(channels + _FULL)]
    flags += [] if model is None else ["--model", str(model)]
    flags += [] if workers is None else ["--workers", str(workers)]
    with _server(flags) as (process, connect):
        asked = {"observe": _observe(messages, channels), "select": _select(messages, channels)}
        _fill(connect, messages, range(channels), _BEFORE, clients)
        workers_used = _children(process)[:-1]  # the last is for questions
        alone = {name: _measure(connect, ask, 1, seconds) for name, ask in asked.items()}
        before = _computed(process, workers_used)
        busy = _measure(connect, asked["observe"], clients, seconds)
        after = _computed(process, workers_used)
        half = busy["requests_per_second"] / 2
        result = {
            "channels": channels,
            "messages_of_a_channel_before": _BEFORE,
            "candidates": _CANDIDATES,
            "workers": len(workers_used),
            **alone,
            "clients": clients,
            "observe_with_clients": busy,
            "computing_ms_of_a_message": {
                name: round((after[name] - before[name]) * 1000 / busy["requests"], 3) for name in after
            },
            "observe_at_half_load": _measure(connect, asked["observe"], clients, seconds, half),
            "select_with_clients": _measure(connect, asked["select"], clients, seconds),
            "megabytes": {"server": _megabytes(process), "workers": [*map(_megabytes, workers_used)]},
        }
        small = sum(map(_megabytes, workers_used))
        _fill(connect, messages, range(channels, channels + _FULL), _LONG, clients)
        grown = sum(map(_megabytes, workers_used)) - small
        return {**result, "kilobytes_of_a_full_channel": round(grown * 1000 / _FULL)}


@contextmanager
def _server(flags: Sequence[str]) -> Iterator[tuple[int, Callable[[], HTTPConnection]]]:
    """A server with a folder of its own; its process, and what makes a connection to it."""
    with TemporaryDirectory() as folder, (Path(folder) / "log.txt").open("w+") as log:
        command = [
            sys.executable,
            "-m",
            "towhom",
            "serve",
            "--port",
            "0",
            "--rate",
            "0",
            "--data",
            folder,
            *flags,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:  # noqa: S603
            try:
                assert process.stdout is not None  # noqa: S101
                told = _TOLD.match(process.stdout.readline())
                if told is None:
                    process.wait()
                    log.seek(0)
                    raise TowhomError(log.read().strip().removeprefix("Error: "))
                host, port = told[1], int(told[2])
                yield process.pid, lambda: HTTPConnection(host, port, timeout=60)
            finally:
                process.terminate()


def _observe(messages: Sequence[Message], channels: int) -> Ask:
    def ask(connection: HTTPConnection, number: int) -> object:
        message = messages[(number // channels + _BEFORE) % len(messages)]
        return _request(connection, f"{number % channels}/messages", {"message": _record(message)})

    return ask


def _select(messages: Sequence[Message], channels: int) -> Ask:
    texts = [message.text for message in messages]

    def ask(connection: HTTPConnection, number: int) -> object:
        candidates = [texts[(number * 7 + place * 3) % len(texts)] for place in range(_CANDIDATES)]
        question = {"responder": messages[number % len(messages)].speaker, "candidates": candidates}
        return _request(connection, f"{number % channels}/select", question)

    return ask


def _fill(
    connect: Callable[[], HTTPConnection],
    messages: Sequence[Message],
    channels: range,
    length: int,
    clients: int,
) -> None:
    """Give channels their first messages."""
    body = {"messages": [_record(message) for message in islice(cycle(messages), length)]}

    def fill(client: int) -> None:
        with closing(connect()) as connection:
            for number in channels[client::clients]:
                _request(connection, f"{number}/messages", body)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(fill, range(clients)))


def _measure(
    connect: Callable[[], HTTPConnection],
    ask: Ask,
    clients: int,
    seconds: float,
    rate: float | None = None,
) -> dict[str, float]:
    """Ask again and again, for some seconds.

    Args:
        connect: Makes a connection.
        ask: What is asked.
        clients: How many ask at the same time.
        seconds: How long.
        rate: Requests a second, all clients together, each at its time; what is asked late, since the answer
            before came late, has taken as long. None to ask as soon as there is an answer.
    """
    numbers = count()
    start = perf_counter()

    def client(number: int) -> list[float]:
        taken: list[float] = []
        begin = start if rate is None else start + number / rate
        with closing(connect()) as connection:
            while begin < start + seconds or not taken:
                sleep(max(0.0, begin - perf_counter()))
                ask(connection, next(numbers))
                taken.append(perf_counter() - begin)
                begin = perf_counter() if rate is None else begin + clients / rate
        return taken

    with ThreadPoolExecutor(clients) as pool:
        taken = [each for some in pool.map(client, range(clients)) for each in some]
    passed = perf_counter() - start
    p50, p99 = np.quantile(taken, (0.5, 0.99)) * 1000
    return {
        "requests": len(taken),
        "requests_per_second": round(len(taken) / passed, 1),
        "p50_ms": round(float(p50), 2),
        "p99_ms": round(float(p99), 2),
    }


def _request(connection: HTTPConnection, path: str, body: dict[str, Any]) -> object:
    headers = {"Content-Type": "application/json"}
    connection.request("POST", f"/v1/channels/{path}", json.dumps(body), headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    if response.status >= 400:
        raise TowhomError(f"the server answered with {response.status}: {answer['error']['message']}")
    return answer


def _record(message: Message) -> dict[str, str]:
    return {"speaker": message.speaker, "text": message.text}


def _children(process: int) -> list[int]:
    """The worker processes, where the system tells."""
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def _computed(server: int, workers: Sequence[int]) -> dict[str, float]:
    """Seconds that each has computed so far; the clients are this process."""
    of_workers = sum(map(_processor_time, workers))
    return {"clients": process_time(), "server": _processor_time(server), "workers": of_workers}


def _processor_time(process: int) -> float:
    """Seconds that a process has computed, where the system tells; otherwise 0."""
    path = Path(f"/proc/{process}/stat")
    if not path.exists():
        return 0.0
    user, system = path.read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _megabytes(process: int) -> float:
    """What a process takes, where the system tells; otherwise 0."""
    path = Path(f"/proc/{process}/status")
    found = re.search(r"VmRSS:\s+(\d+) kB", path.read_text()) if path.exists() else None
    return 0.0 if found is None else round(int(found[1]) / 1000, 1)
