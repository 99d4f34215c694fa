"""Worker processes that hang, make no sense, or do not end: others go on, and they are replaced."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.serve.conftest import CHAT, Start, answer, counted, error, message, said, texts, wait_for

ROOM = "/v1/channels/room"
QUESTION = {"messages": CHAT}


def tell_server(worker: int, line: bytes) -> None:
    """Say something to the server in a worker's name."""
    for each in Path(f"/proc/{worker}/fd").iterdir():
        if each.name != "0" and str(each.readlink()).startswith("pipe:"):  # 0 is its input
            with each.open("wb") as pipe:
                pipe.write(line)
            return
    raise AssertionError("it has no pipe")


# Deadlines are long enough for another process to come up on a busy machine.


class TestDeadline:
    def test_a_question_that_hangs(self, start: Start) -> None:
        """Channels go on meanwhile; whoever asked hears of it; the next question is answered."""
        server = start("--deadline", "8")
        worker = server.halt(-1)
        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(server.client.post, "/v1/addressees", json=QUESTION) for _ in range(2)]
            wait_for(lambda: counted(server.client, "towhom_jobs") == 2)
            said(server.client, ROOM, CHAT)
            assert not any(job.done() for job in jobs)
            for job in jobs:
                assert "longer than 8 seconds" in error(job.result(), 504, "took-too-long")
        answer(server.client.post("/v1/addressees", json=QUESTION))
        assert worker not in server.workers
        assert "was silent for 8 seconds" in server.log

    def test_a_channel_that_hangs(self, start: Start) -> None:
        """Nothing of what was given up is saved; the channel goes on from disk."""
        server = start("--deadline", "8")
        said(server.client, ROOM, CHAT[:3])
        server.halt(0)
        response = server.client.post(f"{ROOM}/messages", json={"messages": CHAT[3:4]})
        error(response, 504, "took-too-long")
        assert [each["number"] for each in said(server.client, ROOM, CHAT[3:])] == [3, 4, 5]

    def test_one_that_takes_turns_but_does_not_end(self, start: Start) -> None:
        """It is given up alone: its process works on, for others."""
        server = start("--deadline", "3", "--max-body", "10000000", "--max-messages", "50000")
        workers = server.workers
        chat = [message(f"p{number % 9}", f"p{number % 7}: {number}?") for number in range(50_000)]
        with ThreadPoolExecutor(1) as pool:
            job = pool.submit(server.client.post, "/v1/threads", json={"messages": chat})
            answer(server.client.post("/v1/addressees", json=QUESTION))
            error(job.result(), 504, "took-too-long")
        assert server.workers == workers

    def test_one_that_nobody_asks(self, start: Start) -> None:
        server = start("--deadline", "1")
        worker = server.halt(0)
        wait_for(lambda: worker not in server.workers, 30)
        wait_for(lambda: server.client.get("/readyz").status_code == 200)


class TestNonsense:
    @pytest.mark.parametrize("line", [b"[]\n", b"{\n", b'{"no": 1}\n'])
    def test_is_the_end_of_a_worker_not_of_its_keeper(self, line: bytes, start: Start) -> None:
        server = start()
        said(server.client, ROOM, CHAT[:3])
        worker = server.workers[0]
        tell_server(worker, line)
        wait_for(lambda: worker not in server.workers and len(server.workers) == 2)
        assert [each["number"] for each in said(server.client, ROOM, CHAT[3:])] == [3, 4, 5]
        assert counted(server.client, "towhom_workers_lost_total") == 1
        assert "a worker process is replaced: " in server.log
        assert server.stop() == 0


class TestReady:
    @pytest.mark.parametrize("number", [0, -1])
    def test_not_while_a_worker_hangs(self, number: int, start: Start) -> None:
        server = start()
        worker = server.halt(number)
        error(server.client.get("/readyz"), 503, "not-ready")
        os.kill(worker, signal.SIGCONT)
        wait_for(lambda: server.client.get("/readyz").status_code == 200)

    def test_many_who_ask_share_an_answer(self, start: Start) -> None:
        server = start()
        server.halt(0)
        begin = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: server.client.get("/readyz").status_code, range(8)))
        assert found == [503] * 8
        assert time.monotonic() - begin < 8 * 2


class TestStop:
    def test_although_workers_hang(self, start: Start) -> None:
        """With a request on its way, and channels in memory that cannot be asked for a snapshot."""
        server = start("--stop", "1", "--deadline", "600")
        said(server.client, ROOM, CHAT)
        workers = [server.halt(0), server.halt(-1)]
        with ThreadPoolExecutor(1) as pool:
            job = pool.submit(server.client.post, f"{ROOM}/messages", json={"message": message("ada", "hi")})
            wait_for(lambda: counted(server.client, "towhom_jobs") == 1)
            server.process.terminate()
            error(job.result(), 503, "stopping")
        assert server.process.wait(20) == 0
        server.stop()
        assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
        assert len(texts(start().client, ROOM)) == len(CHAT)
