"""Inside a worker process: what several jobs ask is answered in one pass."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

import towhom
from tests.serve.conftest import JSON, message
from towhom.chat import Message
from towhom.crosstalk.mind import Heard, Question, hear
from towhom.live import Model
from towhom.serve import worker
from towhom.serve.jobs import Jobs

ROOMS = 12


@pytest.fixture(scope="module")
def model() -> Model:
    return towhom.load()


def asking(model: Model) -> list[worker._Running]:
    """A job for each of some channels, as far as it goes without the model."""
    jobs = Jobs(model)
    running = []
    for number in range(ROOMS):
        channel: JSON = {"channel": str(number), "state": None, "first": 0, "messages": [], "people": "[]"}
        opening = worker._Running(0, jobs.start("open", channel))
        assert worker._step(opening) == {"answer": True}
        told = {"channel": str(number), "messages": [message("ada", f"tea {number}?")], "keep": False}
        running.append(worker._Running(number, jobs.start("observe", told)))
        assert worker._step(running[-1]) is None
    return running


def test_one_pass(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []

    def counted(questions: Sequence[Question]) -> list[Heard]:
        passes.append(len(questions))
        return hear(questions)

    monkeypatch.setattr(worker, "hear", counted)
    running = asking(model)
    worker._hear(running)
    assert passes == [ROOMS]
    for number, job in enumerate(running):
        told = worker._step(job)
        assert told is not None
        found: JSON = json.loads(told["answer"]["observations"][0])
        expected = model.session().observe(Message("ada", f"tea {number}?"))
        assert found["message"]["text"] == f"tea {number}?"
        assert found["reason"] == expected.reason


def test_a_pass_that_fails(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever, and the worker goes on."""

    def fails(questions: Sequence[Question]) -> list[Heard]:
        raise ValueError("tea")

    running = asking(model)
    with monkeypatch.context() as patched:
        patched.setattr(worker, "hear", fails)
        worker._hear(running)
    for job in running:
        told = worker._step(job)
        assert told is not None
        assert told["failed"].startswith("ValueError at ")
        assert "tea" not in told["failed"]
    running = asking(model)
    worker._hear(running)
    assert all("answer" in (worker._step(job) or {}) for job in running)
