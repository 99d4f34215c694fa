"""Stopping: what was accepted is finished."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.serve.conftest import CHAT, Start, answer, counted, error, message, said, texts, wait_for

ROOM = "/v1/channels/room"
LONG = [message(f"p{number % 7}", f"number {number}") for number in range(200)]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_finishes_what_was_accepted(sent: signal.Signals, start: Start) -> None:
    """The whole group gets the signal, as from a terminal or a service manager."""
    server = start()
    said(server.client, ROOM, CHAT)
    with ThreadPoolExecutor(2) as pool:
        halted = [server.halt(0), server.halt(-1)]  # so that nothing is finished before the signal
        jobs = [
            pool.submit(server.client.post, "/v1/addressees", json={"messages": LONG}),
            pool.submit(server.client.post, f"{ROOM}/messages", json={"messages": LONG}),
        ]
        wait_for(lambda: counted(server.client, "towhom_jobs") == 2)
        os.killpg(server.process.pid, sent)
        for worker in halted:
            os.kill(worker, signal.SIGCONT)
        for job, status in zip(jobs, (200, 201), strict=True):
            assert len(answer(job.result(), status)["observations"]) == len(LONG)
    address = server.client.base_url
    assert server.process.wait(60) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}healthz")
    assert server.stop() == 0
    assert texts(start().client, ROOM)[6:] == [each["text"] for each in LONG]


def test_not_for_ever(start: Start) -> None:
    server = start("--stop", "0")
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(server.client.post, "/v1/addressees", json={"messages": LONG * 10})
        wait_for(lambda: counted(server.client, "towhom_jobs") == 1)
        os.kill(server.process.pid, signal.SIGTERM)
        error(job.result(), 503, "stopping")  # before it could be finished
    assert server.process.wait(60) == 0
    assert server.stop() == 0
    assert "Traceback" not in server.log


def test_workers_end_with_the_server(start: Start) -> None:
    server = start("--workers", "2")
    workers = server.workers
    assert len(workers) == 3  # one for questions
    server.process.kill()  # not its workers
    wait_for(lambda: not any(running(each) for each in workers))


def running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
