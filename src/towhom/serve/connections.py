"""Limits on connections: how many there may be, and how long one may take to send a request."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from towhom.serve.problems import Problem

log = logging.getLogger("towhom.serve")

_OTHERS = 200
"""Open files that a server needs besides connections: its own, and those of its processes."""


def possible(wanted: int) -> int:
    """The number of connections possible, at most `wanted`; raises the limit on open files if needed."""
    try:
        import resource
    except ImportError:  # a system that has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted + _OTHERS:
        soft = wanted + _OTHERS if hard == resource.RLIM_INFINITY else min(wanted + _OTHERS, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted + _OTHERS:
        return wanted
    most = max(soft - _OTHERS, soft // 2)
    log.warning("%d files may be open, so that there are at most %d connections", soft, most)
    return most


def limited(most: int, seconds: float) -> type[H11Protocol]:
    """The protocol class that uvicorn uses for every connection.

    Args:
        most: Maximum number of connections. One more replaces the connection that was idle for longest.
        seconds: Seconds that the head of a request may take; bodies are timed where they are read.
    """
    idle: dict[H11Protocol, asyncio.TimerHandle] = {}
    leaving: set[H11Protocol] = set()  # closed, with nothing left to send: they end in a moment

    class Limited(H11Protocol):
        """A connection. While no request is in progress, it is idle, and its timer runs."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) - len(leaving) > most:
                if not idle:
                    transport.write(_refusal())
                    transport.close()
                    self._sort()
                    return
                oldest = next(iter(idle))
                _end(idle, oldest)
                oldest.connections.discard(oldest)
                oldest.transport.abort()
            self._sort()

        def connection_lost(self, exc: Exception | None) -> None:
            _end(idle, self)
            leaving.discard(self)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._sort()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._sort()

        def _sort(self) -> None:
            cycle: RequestResponseCycle | None = self.cycle
            asks = cycle is not None and not cycle.response_complete
            if self.transport.is_closing() or asks:
                _end(idle, self)
                closed = self.transport.is_closing() and not self.transport.get_write_buffer_size()
                if closed and self in self.connections:  # unless it has ended already
                    leaving.add(self)
            elif self not in idle:
                idle[self] = self.loop.call_later(seconds, self.transport.abort)

    return Limited


def _end(timers: dict[H11Protocol, asyncio.TimerHandle], connection: H11Protocol) -> None:
    if (timer := timers.pop(connection, None)) is not None:
        timer.cancel()


def _refusal() -> bytes:
    sentence = "There are as many connections as there may be; try again in a moment."
    body: Any = Problem(503, "too-many-connections", sentence).response().body
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + bytes(body)
