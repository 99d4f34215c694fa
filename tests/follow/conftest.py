"""A real NATS server with JetStream, and a real `towhom serve`."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import start

__all__ = ["start"]

_PATIENCE = 60
JSON = dict[str, Any]


class Broker:
    """A NATS server with one stream, CHAT, of all subjects below `chat`."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("nats-server")
        if program is None:
            pytest.skip("nats-server is not installed (apt install nats-server)")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"nats://127.0.0.1:{self.port}/CHAT"
        self._command = [program, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(folder)]
        self.begin()
        self.publish([])

    def begin(self) -> None:
        """Start it, or start it again with what it kept."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)

    def publish(self, messages: Iterable[tuple[str, JSON | bytes]]) -> None:
        """Put messages into the stream, in order, each under a subject."""
        nats = pytest.importorskip("nats")

        async def send() -> None:
            client = await nats.connect(f"nats://127.0.0.1:{self.port}")
            stream = client.jetstream()
            await stream.add_stream(name="CHAT", subjects=["chat.>"])
            for subject, content in messages:
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                await stream.publish(subject, data)
            await client.close()

        asyncio.run(send())

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "nats")
    yield broker
    broker.end()


def address(server: Any) -> str:
    return re.sub(r"/$", "", str(server.client.base_url))


def wait_until(condition: Any) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
