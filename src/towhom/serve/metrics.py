"""Figures for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from towhom.serve.storage import Append, Change, Replace

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """The metrics of a server, in a registry of its own, so that two servers in one process do not mix."""

    def __init__(self) -> None:
        self._registry = into = CollectorRegistry()
        ProcessCollector(registry=into)
        by_route = ["method", "route"]
        self._requests = Counter("towhom_requests", "Requests.", [*by_route, "status"], registry=into)
        self._seconds = Histogram(
            "towhom_request_seconds", "What they took.", by_route, buckets=_SECONDS, registry=into
        )
        self._messages = Counter("towhom_messages", "Messages that were saved.", registry=into)
        self._changes = Counter("towhom_changes", "Changes that were saved.", registry=into)
        self._commits = Histogram(
            "towhom_commit_seconds", "Transactions they were saved in.", buckets=_SECONDS, registry=into
        )
        self.opened = Counter("towhom_channels_opened", "Channels that came into memory.", registry=into)
        self.evicted = Counter("towhom_channels_evicted", "Channels that left memory.", registry=into)
        self.passed_on = Counter("towhom_passed_on", "Requests that other servers answered.", registry=into)
        self.lost = Counter("towhom_workers_lost", "Worker processes that died.", registry=into)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def committed(self, changes: Sequence[Change], seconds: float) -> None:
        """Count a transaction."""
        self._commits.observe(seconds)
        self._changes.inc(len(changes))
        self._messages.inc(sum(len(each.messages) for each in changes if isinstance(each, Append | Replace)))

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is computed when it is read."""
        Gauge(name, help, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        """All metrics, in the format of Prometheus."""
        return generate_latest(self._registry)
