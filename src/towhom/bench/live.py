"""Measures the speed of a session, the memory of a channel, and how soon the command line answers."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from time import perf_counter
from typing import Any

import numpy as np

from towhom.chat import Message
from towhom.live import Model

_WARM_UP = 100
_PER_CHANNEL = 120
"""Number of messages per channel when memory is measured: more than a session remembers."""


def bench_live(
    model: Model, messages: Sequence[Message], *, rounds: int, channels: int, candidates: int = 10
) -> dict[str, Any]:
    """Measure milliseconds of `observe` and `select`, kilobytes of a channel, seconds to the first answer.

    Args:
        model: The model.
        messages: A chat, which is repeated.
        rounds: Number of calls of `observe` and of `select`.
        channels: Number of channels at once when memory is measured.
        candidates: Number of responses to select from.
    """
    session = model.session()
    texts = [message.text for message in messages]
    chat = cycle(messages)
    for message in islice(chat, _WARM_UP):
        session.observe(message)
        session.select(message.speaker, texts[:candidates])
    observe, select = [], []
    for number, message in enumerate(islice(chat, rounds)):
        drafts = [texts[(number * 7 + place * 3) % len(texts)] for place in range(candidates)]
        select.append(_time(session.select, message.speaker, drafts))
        observe.append(_time(session.observe, message))
    result: dict[str, Any] = {
        "candidates": candidates,
        "observe_ms": quantiles(observe),
        "select_ms": quantiles(select),
    }
    result["channels"] = channels
    result["kilobytes_per_channel"] = round(_memory(model, messages, channels) / 1000, 1)
    result["seconds_to_first_answer"] = [round(_first_answer(), 2) for _ in range(3)]
    return result


def _time(call: Callable[..., object], *arguments: object) -> float:
    start = perf_counter()
    call(*arguments)
    return perf_counter() - start


def quantiles(seconds: list[float]) -> dict[str, float]:
    """The median and the 99th percentile, in milliseconds."""
    milliseconds = np.array(seconds) * 1000
    return {
        "median": round(float(np.median(milliseconds)), 3),
        "p99": round(float(np.quantile(milliseconds, 0.99)), 3),
    }


def _memory(model: Model, messages: Sequence[Message], channels: int) -> float:
    """Mean memory of a channel, in bytes."""
    chat = list(islice(cycle(messages), _PER_CHANNEL))
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    sessions = []
    for number in range(channels):
        session = model.session()
        for message in chat:
            # Texts differ between channels, since equal ones would be stored once.
            session.observe(
                Message(f"{message.speaker}{number}", f"{message.text} {number}", time=message.time)
            )
        sessions.append(session)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / len(sessions)


def _first_answer() -> float:
    """Seconds from the start of the command to its first line of output."""
    start = perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "towhom", "who", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(b"[10:00] <ada> is anybody here?\n")
        process.stdin.close()
        process.stdout.readline()
        return perf_counter() - start
