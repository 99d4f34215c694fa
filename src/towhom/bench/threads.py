"""Measures the speed of finding threads for logs of several lengths, and the memory."""

from __future__ import annotations

import gc
import tempfile
import tracemalloc
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import Any

from towhom.bench.live import quantiles
from towhom.chat import Message
from towhom.live import Model
from towhom.readers import read_messages

_TIMES = (1, 2, 4)
"""Factors by which the log is lengthened."""


def bench_threads(model: Model, messages: Sequence[Message], *, count: int) -> dict[str, Any]:
    """Measure messages per second and megabytes for logs of several lengths, and the time of `observe`.

    Args:
        model: The model.
        messages: A chat, which is repeated until the log is long enough.
        count: Number of messages in the shortest log.
    """
    with tempfile.TemporaryDirectory() as folder:
        logs = [_write(Path(folder) / f"{times}.txt", messages, times * count) for times in _TIMES]
        _seconds(model, logs[0])  # to warm up
        speeds = [times * count / _seconds(model, log) for times, log in zip(_TIMES, logs, strict=True)]
        peaks = [_peak(model, log) for log in logs]
    session, spent = model.session(), []
    for message in islice(cycle(messages), 1000):
        start = perf_counter()
        session.observe(message)
        spent.append(perf_counter() - start)
    return {
        "messages": [times * count for times in _TIMES],
        "messages_per_second": [round(speed) for speed in speeds],
        "peak_megabytes": [round(peak / 1e6, 1) for peak in peaks],
        "observe_ms": quantiles(spent),
    }


def _write(path: Path, messages: Sequence[Message], count: int) -> Path:
    """Write a log with one message per second."""
    start = datetime(2024, 5, 31)
    with path.open("w", encoding="utf-8") as file:
        for second, message in enumerate(islice(cycle(messages), count)):
            time = start + timedelta(seconds=second)
            name = f"{message.addressee}: " if message.addressee else ""
            text = f"{name}{message.text}".encode("utf-8", "replace").decode()
            file.write(f"[{time:%Y-%m-%d %H:%M:%S}] <{message.speaker}> {' '.join(text.split())}\n")
    return path


def _seconds(model: Model, log: Path) -> float:
    start = perf_counter()
    for _ in model.threads(read_messages(log)):
        pass
    return perf_counter() - start


def _peak(model: Model, log: Path) -> int:
    """Peak memory in bytes, without the model."""
    gc.collect()
    tracemalloc.start()
    _seconds(model, log)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
