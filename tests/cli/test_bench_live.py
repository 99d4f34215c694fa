"""`towhom bench live`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.live.conftest import saved_model
from tests.nn.conftest import one_thread as one_thread
from towhom.chat import Message
from towhom.crosstalk.folder import write_crosstalk
from towhom.live import Observation, Session

SHORT = ("--rounds", "5", "--channels", "2")


def test_numbers_and_a_record(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    result = json.loads(run("bench", "live", *SHORT, "--out", out).stdout)
    for key in ("observe_ms", "select_ms"):
        assert 0 < result[key]["median"] <= result[key]["p99"]
    assert (result["channels"], result["candidates"]) == (2, 10)
    assert result["kilobytes_per_channel"] > 1
    assert len(result["seconds_to_first_answer"]) == 3
    assert min(result["seconds_to_first_answer"]) > 0
    record = json.loads(out.read_text("utf-8"))
    assert record.items() >= result.items()
    assert record.keys() >= {"command", "date", "versions"}
    assert record["log"] == "the sample chat"


def test_another_model_and_chat(
    run: Run, chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chat that is given is the one that is followed."""
    said: set[str] = set()
    observe = Session.observe

    def listening(session: Session, message: Message) -> Observation:
        said.add(message.speaker)
        return observe(session, message)

    monkeypatch.setattr(Session, "observe", listening)
    write_crosstalk(tmp_path / "model", saved_model(), card="")
    out = tmp_path / "record.json"
    options = ("--model", tmp_path / "model", "--log", chat, "--out", out)
    result = json.loads(run("bench", "live", *SHORT, *options).stdout)
    assert result["candidates"] == 10
    assert {name.rstrip("01") for name in said} == {"ada", "bob", "cyd"}
    assert json.loads(out.read_text("utf-8"))["log"] == str(chat)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file or folder"),
        ("=== ada has joined #room\n=== bob has left #room\n", "no message was found in it"),
    ],
    ids=["nothing", "quiet"],
)
def test_no_chat(content: str | None, message: str, run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    if content is not None:
        log.write_text(content)
    assert run("bench", "live", "--log", log, code=1).stderr.startswith(f"Error: {log}: {message}")
