"""Measures throughput and latency over many channels, with a server started for it on loopback."""

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
"""Number of messages in a channel before measuring: as many as the next one is compared with."""
_CANDIDATES = 10
_FULL, _LONG = 20, 200
"""Numbers of channels and of their messages, for measuring the memory of a full channel."""
_TOLD = re.compile(r"towhom serves at http://(\S+):(\d+)/")

Ask = Callable[[HTTPConnection, int], object]
"""Sends the request with a number and reads the answer."""


def bench_serve(
    messages: Sequence[Message],
    *,
    model: Path | None = None,
    channels: int,
    clients: int,
    seconds: float,
    workers: int | None = None,
) -> dict[str, Any]:
    """Measure requests per second and milliseconds of `observe` (posting a message) and `select`.

    Args:
        messages: A chat, whose messages are posted to all channels in turn.
        model: A model folder; None for the bundled model.
        channels: Number of channels; all are in memory.
        clients: Number of concurrent clients; each waits for its answer.
        seconds: Duration of each measurement.
        workers: Number of worker processes; None for the server's default.
    """
    flags = ["--max-live", str(channels + _FULL), "--max-channels", str(channels + _FULL)]
    flags += [] if model is None else ["--model", str(model)]
    flags += [] if workers is None else ["--workers", str(workers)]
    with _server(flags) as (process, connect):
        asked = {"observe": _observe(messages, channels), "select": _select(messages, channels)}
        _fill(connect, messages, range(channels), _BEFORE, clients)
        workers_used = _children(process)[:-1]  # the last one is for questions
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
    """Start a server with its own folder; gives its process id, and a function that connects to it."""
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
    """Post the first messages of channels."""
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
    """Send requests repeatedly for some seconds.

    Args:
        connect: Makes a connection.
        ask: Sends a request.
        clients: Number of concurrent clients.
        seconds: Duration.
        rate: Requests per second of all clients together, at fixed times; if a request is late because of the
            previous answer, the delay counts. None to send each request after the previous answer.
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
    """The ids of the worker processes; empty if the system does not tell."""
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def _computed(server: int, workers: Sequence[int]) -> dict[str, float]:
    """Processor seconds used so far by each part; the clients are this process."""
    of_workers = sum(map(_processor_time, workers))
    return {"clients": process_time(), "server": _processor_time(server), "workers": of_workers}


def _processor_time(process: int) -> float:
    """Processor seconds used by a process; 0 if the system does not tell."""
    path = Path(f"/proc/{process}/stat")
    if not path.exists():
        return 0.0
    user, system = path.read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _megabytes(process: int) -> float:
    """Megabytes of memory used by a process; 0 if the system does not tell."""
    path = Path(f"/proc/{process}/status")
    found = re.search(r"VmRSS:\s+(\d+) kB", path.read_text()) if path.exists() else None
    return 0.0 if found is None else round(int(found[1]) / 1000, 1)
