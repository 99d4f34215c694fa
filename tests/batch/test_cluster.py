"""Dask with real processes, which are killed: whatever happens, the same command ends with the same bytes."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.batch.chats import content, rows, write_room
from tests.cli.conftest import command
from towhom import clusters
from towhom.errors import TowhomError

pytest.importorskip("distributed")

_PATIENCE = 120
"""Seconds that a busy machine may take for anything."""
LONG = 3000
"""Messages of the long room: ten parts, so that it is not done before something is killed."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A long room and short ones."""
    folder = tmp_path_factory.mktemp("logs")
    write_room(folder / "long.txt", LONG)
    for number in range(2):
        write_room(folder / f"{number}" / "short.txt", 400, seed=number)
    return folder


@pytest.fixture(scope="module")
def alone(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one process makes of them."""
    out = tmp_path_factory.mktemp("alone") / "out"
    subprocess.run(threads(logs, out), check=True, capture_output=True)
    assert len(rows(out)) == LONG + LONG // 50 + 2 * 408
    return content(out)


def threads(logs: Path, out: Path, *options: str) -> list[str]:
    return command("threads", logs, "--into", out, "--json", "--part", "300", *options)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def parts(out: Path) -> int:
    return len(list(out.glob("part-*")))


class Cluster:
    """A scheduler and a worker, each a process."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self.start_scheduler()
        self.worker = self.start_worker()

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        where = ("--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show")
        return self._start("distributed.cli.dask_scheduler", *where)

    def start_worker(self) -> subprocess.Popen[bytes]:
        options = (
            "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--death-timeout",
            "60",
            "--host",
            "127.0.0.1",
        )
        return self._start("distributed.cli.dask_worker", self.address, *options)

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(stack)


def test_a_client_is_killed(logs: Path, alone: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    client = subprocess.Popen(threads(logs, out, "--cluster", "local:2"), stderr=subprocess.DEVNULL)
    wait_for(lambda: parts(out) >= 2)
    client.send_signal(signal.SIGKILL)
    client.wait()
    assert content(out) != alone
    done = subprocess.run(threads(logs, out, "--cluster", "local:2"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "dashboard http://127.0.0.1:" in done.stderr
    assert content(out) == alone


def test_a_worker_and_the_scheduler_are_killed(
    logs: Path, alone: dict[str, str], tmp_path: Path, cluster: Cluster
) -> None:
    out = tmp_path / "out"
    again = threads(logs, out, "--cluster", cluster.address)
    with subprocess.Popen(again, stderr=subprocess.PIPE, text=True) as client:
        wait_for(lambda: parts(out) >= 1)
        cluster.worker.send_signal(signal.SIGKILL)  # the run goes on as soon as there is another
        cluster.start_worker()
        before = parts(out)
        wait_for(lambda: parts(out) > before)
        cluster.scheduler.send_signal(signal.SIGKILL)
        _, told = client.communicate(timeout=_PATIENCE)
    assert client.returncode == 1
    assert "run the same command again to continue" in told
    cluster.scheduler.wait()
    cluster.scheduler = cluster.start_scheduler()
    cluster.start_worker()
    done = subprocess.run(again, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert content(out) == alone


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_CONNECT", 0.5)
    with (
        pytest.raises(TowhomError, match="no Dask scheduler answers there"),
        clusters.open_pool("tcp://127.0.0.1:1"),
    ):
        pass


def test_a_corpus_its_conversations_and_a_system(logs: Path, tmp_path: Path, cluster: Cluster) -> None:
    made = {}
    for name, options in (("one", ()), ("many", ("--cluster", cluster.address))):
        corpus, out = tmp_path / name, tmp_path / f"{name}.jsonl"
        for arguments in (
            ("build", corpus, logs, "--min-addressed", "1"),
            ("disentangle", corpus, out),
        ):
            done = subprocess.run(
                command("corpus", *arguments, *options), capture_output=True, text=True, cwd=tmp_path
            )
            assert done.returncode == 0, done.stderr
        measure = command("evaluate", "direct-recent-tfidf", "--data", corpus, "--json", *options)
        told = subprocess.run(measure, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
        made[name] = content(corpus), out.read_bytes(), told
    assert made["one"] == made["many"]
