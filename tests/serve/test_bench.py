"""`towhom bench serve`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.conftest import chat as chat
from tests.cli.conftest import run as run

SHORT = ("--channels", "5", "--clients", "3", "--seconds", "0.2", "--workers", "1")


def test_numbers_and_a_record(run: Run, chat: Path, tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    result = json.loads(run("bench", "serve", *SHORT, "--log", chat, "--out", out).stdout)
    for name in ("observe", "select", "observe_with_clients", "select_with_clients", "observe_at_half_load"):
        measured = result[name]
        assert measured["requests"] >= (3 if name.endswith(("clients", "load")) else 1)
        assert measured["requests_per_second"] > 0
        assert 0 < measured["p50_ms"] <= measured["p99_ms"]
    assert (result["channels"], result["clients"], result["workers"]) == (5, 3, 1)
    assert result["megabytes"]["server"] > 10
    assert len(result["megabytes"]["workers"]) == 1
    assert 50 < result["kilobytes_of_a_full_channel"] < 5000
    record = json.loads(out.read_text("utf-8"))
    assert record.items() >= result.items()
    assert record.keys() >= {"command", "date", "versions"}
    assert record["log"] == str(chat)


def test_what_the_server_refuses_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    found = run("bench", "serve", *SHORT, "--model", tmp_path / "model", code=1).stderr
    assert found.startswith(f"Error: {tmp_path / 'model'}")


@pytest.mark.parametrize(
    "flag", [("--channels", "0"), ("--clients", "0"), ("--workers", "0"), ("--seconds", "-1")]
)
def test_nothing_to_measure(flag: tuple[str, str], run: Run) -> None:
    assert "is not in the range" in run("bench", "serve", *flag, code=2).stderr
