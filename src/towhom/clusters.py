"""Pools for work: this process, processes of this machine, or a Dask cluster."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, ParamSpec, TypeVar

from towhom.errors import TowhomError
from towhom.extras import require

_LOCAL = re.compile(r"local(?::(\d+))?")
_REMOTE = re.compile(r"(?:tcp|tls|ucx|ws|wss)://\S+")
_HERE = "127.0.0.1"
_CONNECT = 15
"""Seconds to wait for a scheduler's answer."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class InProcess(Executor):
    """An executor that runs everything at once, in this process."""

    def submit(
        self, function: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Call a function now; the future has its result or its exception."""
        future = Future[Result]()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Pool:
    """Workers, in this process or elsewhere.

    Args:
        executor: Runs the work.
        places: Gives the number of tasks that can run at the same time now.
        where: Text for people: addresses of the scheduler and its dashboard; empty without a cluster.
        processes: Whether the work is done in other processes.
    """

    executor: Executor
    places: Callable[[], int]
    where: str = ""
    processes: bool = True


def check_cluster(cluster: str) -> None:
    """Refuse a text that names no cluster, before any work is done.

    Raises:
        TowhomError: It is neither `local`, `local:N` nor the address of a scheduler.
    """
    local = _LOCAL.fullmatch(cluster)
    if (local is None or (local[1] is not None and int(local[1]) < 1)) and not _REMOTE.fullmatch(cluster):
        raise TowhomError(
            f"--cluster {cluster}: expected local, local:N with N processes, or the address of a Dask "
            "scheduler like tcp://10.0.0.1:8786"
        )


@contextmanager
def open_pool(cluster: str | None) -> Iterator[Pool]:
    """Open a pool for the duration of a `with` block.

    Args:
        cluster: None for this process; `local`, a process a core of this machine; `local:N`, N processes;
            or the address of a Dask scheduler.

    Raises:
        TowhomError: There is no such cluster, or it does not answer.
        MissingExtraError: Dask is not installed.
    """
    if cluster is None:
        yield Pool(InProcess(), lambda: 1, processes=False)
        return
    check_cluster(cluster)
    distributed = require("distributed", extra="cluster", purpose="--cluster")
    with _client(distributed, cluster) as client, client.get_executor(pure=False) as executor:
        dashboard = client.dashboard_link
        where = f"scheduler {client.scheduler.address}, dashboard {dashboard or 'none'}"
        try:
            yield Pool(executor, lambda: _places(client), where)
        except CancelledError as error:  # futures raise it when the scheduler is gone
            reason = "the scheduler is gone, or has dropped the work; run the same command again to continue"
            raise TowhomError(f"{cluster}: {reason}") from error


@contextmanager
def open_processes(workers: int, cluster: str | None) -> Iterator[Pool]:
    """Open a pool: on a cluster if one is named, else in processes of this machine, or in this process.

    Raises:
        TowhomError: As `open_pool`.
    """
    if cluster is not None or workers <= 1:
        with open_pool(cluster) as pool:
            yield pool
        return
    # Processes are spawned, not forked: this one may have threads, which a fork would not have.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        try:
            yield Pool(executor, lambda: workers)
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise


def _places(client: Any) -> int:
    """Number of threads of all workers of a cluster; it may grow.

    Raises:
        CancelledError: The scheduler does not answer any more.
    """
    try:
        threads: dict[str, int] = client.nthreads()
        return max(1, sum(threads.values()))
    except (OSError, RuntimeError, ValueError) as error:
        raise CancelledError from error


@contextmanager
def _client(distributed: Any, cluster: str) -> Iterator[Any]:
    local = _LOCAL.fullmatch(cluster)
    if local is None:
        try:
            client = distributed.Client(cluster, timeout=_CONNECT, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise TowhomError(
                f"{cluster}: no Dask scheduler answers there ({error}); start one with: dask scheduler"
            ) from error
        with client:
            yield client
        return
    # One thread per process, since the work is computation. Loopback only, so that nobody else can use it.
    with (
        distributed.LocalCluster(
            n_workers=int(local[1]) if local[1] else None,
            threads_per_worker=1,
            host=_HERE,
            dashboard_address=f"{_HERE}:0",
            memory_limit=0,
            silence_logs=logging.ERROR,
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client
