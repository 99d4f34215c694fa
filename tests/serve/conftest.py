"""A real server in a process group of its own, and clients for it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest

from tests.serve.databases import Postgres

JSON = dict[str, Any]


class Server:
    """A running server.

    Args:
        folder: For its data and its log; a server that is started there again finds what the last one left.
        flags: Besides the address and the folder.
        environment: Besides that of the tests.
    """

    def __init__(self, folder: Path, *flags: str, **environment: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log_file = folder / "log.txt"
        with self.log_file.open("a") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "--port", "0", "--data", str(folder / "data"), *flags],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
            )
        assert self.process.stdout is not None
        found = re.match(r"towhom serves at (http://\S+/) ", self.process.stdout.readline())
        assert found, self.log
        self.address = found[1].rstrip("/")
        self.client = httpx.Client(base_url=found[1], timeout=60)

    @property
    def log(self) -> str:
        return self.log_file.read_text("utf-8")

    @property
    def workers(self) -> list[int]:
        """The ids of its worker processes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(child) for child in children.split()]

    def halt(self, number: int) -> int:
        """Stop one of the workers as if it computed for ever; those for questions come last."""
        worker = self.workers[number]
        os.kill(worker, signal.SIGSTOP)
        return worker

    def stop(self) -> int:
        """Ask it to end; returns its exit code."""
        self.process.terminate()
        return self._ended()

    def kill(self) -> None:
        """End it and its workers at once, as a crash does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self._ended()

    def end(self) -> None:
        """Clean up, whatever state it is in."""
        if self.process.poll() is None:
            self.kill()
        else:
            self._ended()

    def _ended(self) -> int:
        code = self.process.wait(60)
        self.client.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


COMMAND = [sys.executable, "-m", "towhom", "serve"]


class Start(Protocol):
    """Starts a server with some flags, in a folder."""

    def __call__(self, *flags: str, folder: str = ..., **environment: str) -> Server: ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Server] = []

    def begin(*flags: str, folder: str = "server", **environment: str) -> Server:
        started.append(Server(tmp_path / folder, "--workers", "1", *flags, **environment))
        return started[-1]

    yield begin
    for server in started:
        server.end()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests that only talk to it, each in channels of its own."""
    server = Server(tmp_path_factory.mktemp("server"), "--workers", "2", "--rate", "0")
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL for all tests, each with a database of its own."""
    pytest.importorskip("psycopg", reason="there is no psycopg")
    running = Postgres()
    yield running
    running.end()


@pytest.fixture
def database(postgres: Postgres) -> str:
    """The address of an empty database, with its password."""
    return postgres.emptied()


@pytest.fixture
def client(server: Server) -> httpx.Client:
    return server.client


@pytest.fixture
def channel(request: pytest.FixtureRequest) -> str:
    """The path of a channel that no other test uses."""
    name = re.sub(r"[^A-Za-z0-9._~-]", "-", request.node.nodeid.rpartition("/")[2])
    return f"/v1/channels/{name[-128:]}"


def message(speaker: str | int, text: str, **rest: Any) -> JSON:
    return {"speaker": speaker, "text": text, **rest}


def talk(*lines: str) -> list[JSON]:
    """Messages of lines like `ada> hello`."""
    return [message(*line.split("> ", 1)) for line in lines]


CHAT = talk(
    "noor> my wifi is gone since the upgrade",
    "tobias> which kernel comes with 10.04?",
    "wren> noor: which card is it?",
    "noor> a broadcom, lspci says",
    "mira> tobias: 2.6.32 I think",
    "tobias> thanks!",
)


def answer(response: httpx.Response, status: int = 200) -> JSON:
    """The JSON of an answer, which has to have a status."""
    assert response.status_code == status, response.text
    found: JSON = response.json()
    return found


def error(response: httpx.Response, status: int, code: str, where: str | None = None) -> str:
    """The sentence of an error, which has to be the one that is expected."""
    found = answer(response, status)
    assert found.keys() == {"error"}
    assert found["error"].keys() == {"code", "message", "where"}
    assert (found["error"]["code"], found["error"]["where"]) == (code, where)
    sentence: str = found["error"]["message"]
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    return sentence


def texts(client: httpx.Client, channel: str) -> list[str]:
    """What was said in a channel, checked to be in order."""
    found: list[JSON] = []
    after: int | None = -1
    while after is not None:
        page = answer(client.get(f"{channel}/messages", params={"after": after, "limit": 1000}))
        found += page["observations"]
        after = page["next"]
    assert [each["number"] for each in found] == list(range(len(found)))
    return [each["message"]["text"] for each in found]


def said(client: httpx.Client, channel: str, messages: Sequence[JSON], **headers: str) -> list[JSON]:
    """Say something in a channel."""
    response = client.post(f"{channel}/messages", json={"messages": list(messages)}, headers=headers)
    found: list[JSON] = answer(response, 201)["observations"]
    return found


def same(ours: Any, theirs: Any) -> bool:
    """Whether two answers are the same, up to rounding."""
    if isinstance(ours, float):
        return bool(ours == pytest.approx(theirs, abs=1e-5))
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs)


def counted(client: httpx.Client, name: str) -> float:
    """A figure of /metrics."""
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.split("{")[0].split(" ")[0] == name)


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
