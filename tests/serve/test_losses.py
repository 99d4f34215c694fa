"""A disk that is full, a file that goes away: nothing is acknowledged that is not there."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from tests.serve.conftest import CHAT, Server, Start, answer, error, said, texts, wait_for

ROOM = "/v1/channels/room"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "server" / "data" / "channels.sqlite"


def all_is_refused(server: Server, code: str) -> None:
    error(server.client.post(f"{ROOM}/messages", json={"messages": CHAT[:1]}), 503, code)
    error(server.client.get("/readyz"), 503, code)


class TestFile:
    def test_deleted(self, start: Start, file: Path) -> None:
        """Within a second, it is in the log; nothing works; when it is back, all goes on."""
        server = start()
        said(server.client, ROOM, CHAT[:3])
        away = file.with_name("away")
        file.rename(away)
        wait_for(lambda: "the storage is lost" in server.log)
        all_is_refused(server, "storage-lost")
        error(server.client.get(f"{ROOM}/messages"), 503, "storage-lost")
        away.rename(file)
        wait_for(lambda: "the storage is back" in server.log)
        assert answer(server.client.get("/readyz")) == {"status": "ready"}
        assert [each["number"] for each in said(server.client, ROOM, CHAT[3:])] == [3, 4, 5]
        server.kill()
        assert len(texts(start().client, ROOM)) == 6

    def test_replaced(self, start: Start, file: Path) -> None:
        server = start()
        said(server.client, ROOM, CHAT)
        copy = file.read_bytes()
        file.unlink()
        file.write_bytes(copy)
        all_is_refused(server, "storage-lost")


def test_full_disk(start: Start, file: Path) -> None:
    """Not full, but no file may grow any more, which is the same to the server."""
    server = start()
    said(server.client, ROOM, CHAT[:3])
    size = file.with_name("channels.sqlite-wal").stat().st_size
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, hard))
    all_is_refused(server, "storage-failed")
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    assert answer(server.client.get("/readyz")) == {"status": "ready"}
    assert [each["number"] for each in said(server.client, ROOM, CHAT[3:])] == [3, 4, 5]
