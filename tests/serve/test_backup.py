"""`towhom serve backup`."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from pathlib import Path

import httpx

from tests.serve.conftest import COMMAND, Server, Start, message, said, texts

ROOM = "/v1/channels/room"


def back_up(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "backup", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | environment)


def test_while_messages_come(start: Start, tmp_path: Path) -> None:
    """All that was acknowledged before is in the copy; a server goes on from it."""
    server = start("--rate", "0")
    said(server.client, ROOM, [message("ada", f"{number}") for number in range(1000)])
    enough, acknowledged = threading.Event(), 0

    def speak() -> None:
        nonlocal acknowledged
        with httpx.Client(base_url=server.client.base_url, timeout=30) as client:
            while not enough.is_set():
                said(client, ROOM, [message("bob", "more")] * 5)
                acknowledged += 5

    speaker = threading.Thread(target=speak)
    speaker.start()
    counts = []
    for number in range(3):
        before = acknowledged
        done = back_up(tmp_path / f"{number}.sqlite", "--data", tmp_path / "server" / "data")
        assert (done.returncode, done.stdout) == (0, f"{tmp_path / f'{number}.sqlite'}: 1 channels\n")
        counts.append((before, acknowledged))
    enough.set()
    speaker.join()
    assert acknowledged > counts[0][0], "nothing was said meanwhile"
    assert {path.name for path in tmp_path.iterdir()} == {"server", "0.sqlite", "1.sqlite", "2.sqlite"}
    for number, (least, _) in enumerate(counts):
        copy = tmp_path / f"{number}.sqlite"
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        data = tmp_path / f"restored{number}" / "data"
        data.mkdir(parents=True)
        copy.rename(data / "channels.sqlite")
        restored: Server = start(folder=f"restored{number}")
        assert len(texts(restored.client, ROOM)) >= 1000 + least
        restored.stop()


def test_nothing_of_what_was_deleted(start: Start, tmp_path: Path) -> None:
    server = start()
    said(server.client, ROOM, [message("ada", "the secret of the old tower")] * 50)
    said(server.client, "/v1/channels/other", [message("ada", "hello")])
    server.client.delete(ROOM)
    assert back_up(tmp_path / "copy", TOWHOM_SERVE_DATA=str(tmp_path / "server" / "data")).returncode == 0
    assert b"old tower" not in (tmp_path / "copy").read_bytes()


def test_refused(tmp_path: Path) -> None:
    for arguments, reason in (
        (("copy", "--data", tmp_path), f"data: there are no channels in {tmp_path}; "),
        ((tmp_path / "a" / "copy", "--data", tmp_path / "b"), "data: there are no channels in "),
    ):
        done = back_up(*arguments)
        assert done.returncode == 1
        assert done.stderr.startswith(f"Error: {reason}")
    (tmp_path / "channels.sqlite").write_bytes(b"no database" * 1000)
    done = back_up(tmp_path / "copy", "--data", tmp_path)
    assert (done.returncode, done.stderr.startswith(f"Error: {tmp_path / 'copy'}: ")) == (1, True)
    done = back_up(tmp_path / "channels.sqlite", "--data", tmp_path)
    assert "this file already exists; give the copy another name" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["channels.sqlite"]
