"""What has been acknowledged is there: after a restart, a crash, a worker's death, a long silence."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.serve.conftest import (
    CHAT,
    Start,
    answer,
    counted,
    error,
    message,
    said,
    same,
    wait_for,
)
from tests.serve.load import Load
from towhom.serve.sqlite import SqliteStorage
from towhom.serve.storage import Keep, Snapshot

ROOM = "/v1/channels/room"
LONG = [
    message(f"p{number * number % 11}", f"p{number % 5}: number {number}" if number % 3 else f"{number}?")
    for number in range(150)
]
"""Long enough for two snapshots and what was said since."""
QUESTION = {"responder": "p1", "candidates": ["yes", "p2: no", "who?"]}


class TestRestart:
    def test_goes_on_as_if_nothing_had_been(self, start: Start, client: httpx.Client, channel: str) -> None:
        """Beside it, a channel of a server that goes on. After each part: a stop, a crash."""
        for number, part in enumerate((LONG[:70], LONG[70:90], LONG[90:])):
            server = start()
            if number:
                kept = answer(server.client.get(f"{ROOM}/messages?limit=1000"))
                assert same(kept, answer(client.get(f"{channel}/messages?limit=1000")))
                assert same(
                    answer(server.client.post(f"{ROOM}/select", json=QUESTION)),
                    answer(client.post(f"{channel}/select", json=QUESTION)),
                )
            assert same(said(server.client, ROOM, part), said(client, channel, part))
            if number % 2:
                server.kill()
            else:
                assert server.stop() == 0

    def test_another_number_of_workers(self, start: Start) -> None:
        server = start("--workers", "1")
        for number in range(6):
            said(server.client, f"{ROOM}{number}", CHAT)
        server.stop()
        server = start("--workers", "3")
        for number in range(6):
            assert said(server.client, f"{ROOM}{number}", CHAT[:1])[0]["number"] == len(CHAT)

    def test_a_snapshot_that_cannot_be_read(self, start: Start, tmp_path: Path) -> None:
        """As after a change of the model: what was said is gone through again."""
        server = start()
        said(server.client, ROOM, LONG)
        expected = answer(server.client.post(f"{ROOM}/select", json=QUESTION))
        server.stop()
        storage = SqliteStorage(tmp_path / "server" / "data")
        assert storage.snapshot("room") is not None
        storage.commit([Keep("room", Snapshot(150, json.dumps({"next": 150, "session": {}})))])
        storage.close()
        server = start()
        assert same(answer(server.client.post(f"{ROOM}/select", json=QUESTION)), expected)
        assert said(server.client, ROOM, CHAT[:1])[0]["number"] == 150


class TestCrash:
    def test_nothing_acknowledged_is_lost_or_doubled(self, start: Start) -> None:
        """Killed under load, all processes at once; clients then send what was not acknowledged again."""
        server = start("--workers", "2", "--rate", "0")
        load = Load()
        with load.on(server):
            wait_for(lambda: load.begun, 30)
            server.kill()
        load.check(start("--workers", "2", "--rate", "0"))

    def test_nor_when_workers_are_killed(self, start: Start) -> None:
        """One after the other; the server goes on."""
        server = start("--workers", "2", "--rate", "0")
        load = Load()
        with load.on(server):
            wait_for(lambda: load.begun, 30)
            for number in range(2):
                os.kill(server.workers[number], signal.SIGKILL)
                wait_for(lambda: server.client.get("/readyz").status_code == 200, 30)
        load.check(server)

    def test_a_worker_that_dies_is_replaced(self, start: Start, client: httpx.Client, channel: str) -> None:
        server = start()
        said(server.client, ROOM, LONG[:80])
        said(client, channel, LONG[:80])
        worker = server.halt(0)  # so that it does not answer before it is killed
        with ThreadPoolExecutor(1) as pool:
            lost = pool.submit(server.client.post, f"{ROOM}/messages", json={"messages": LONG * 10})
            wait_for(lambda: counted(server.client, "towhom_jobs") == 1)
            os.kill(worker, signal.SIGKILL)
            sentence = error(lost.result(), 503, "worker-lost")
            assert sentence.endswith("send it again.")
            assert lost.result().headers["Retry-After"] == "1"
        # It waits for the new one, which takes the channel from disk.
        assert same(said(server.client, ROOM, LONG[80:]), said(client, channel, LONG[80:]))
        assert counted(server.client, "towhom_workers_lost_total") == 1
        assert answer(server.client.get("/readyz")) == {"status": "ready"}

    def test_not_ready_while_a_worker_is_away(self, start: Start) -> None:
        server = start()
        os.kill(server.workers[0], signal.SIGKILL)
        wait_for(lambda: server.client.get("/readyz").status_code == 503)
        error(server.client.get("/readyz"), 503, "not-ready")
        assert answer(server.client.get("/healthz")) == {"status": "alive"}
        wait_for(lambda: server.client.get("/readyz").status_code == 200)


class TestMemory:
    def test_quiet_channels_leave_and_come_back(
        self, start: Start, client: httpx.Client, channel: str
    ) -> None:
        server = start("--idle", "0.3")
        assert same(said(server.client, ROOM, LONG[:80]), said(client, channel, LONG[:80]))
        wait_for(lambda: counted(server.client, "towhom_channels_live") == 0)
        assert same(said(server.client, ROOM, LONG[80:]), said(client, channel, LONG[80:]))
        assert counted(server.client, "towhom_channels_opened_total") == 2

    def test_only_so_many_at_a_time(self, start: Start, client: httpx.Client, channel: str) -> None:
        server = start("--max-live", "2")
        for turn in range(0, 8, 2):
            for number in range(5):
                part = LONG[turn : turn + 2]
                ours = said(server.client, f"{ROOM}{number}", part)
                if number == 0:
                    assert same(ours, said(client, channel, part))
                assert counted(server.client, "towhom_channels_live") <= 2
        assert counted(server.client, "towhom_channels_evicted_total") >= 15

    def test_storage_that_cannot_be_written(self, start: Start, tmp_path: Path) -> None:
        """Nothing is acknowledged; when it can be written again, the channel goes on where it was saved."""
        server = start()
        said(server.client, ROOM, CHAT[:2])
        blocker = sqlite3.connect(tmp_path / "server" / "data" / "channels.sqlite", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")  # held for longer than the server waits for it
        try:
            response = server.client.post(f"{ROOM}/messages", json={"messages": CHAT[2:3]})
            error(response, 503, "storage-failed")
            assert server.client.get("/readyz").status_code == 503
        finally:
            blocker.execute("ROLLBACK")
            blocker.close()
        assert [each["number"] for each in said(server.client, ROOM, CHAT[2:])] == [2, 3, 4, 5]
        whole = answer(server.client.post("/v1/addressees", json={"messages": CHAT}))
        assert same(answer(server.client.get(f"{ROOM}/messages"))["observations"], whole["observations"])
