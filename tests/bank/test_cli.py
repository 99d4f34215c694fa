"""Banks on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bank.conftest import REPAIR
from tests.cli.conftest import Run, run, run_apart  # noqa: F401


def test_build_info_and_forget(run: Run, tmp_path: Path) -> None:  # noqa: F811
    bank = tmp_path / "bank"
    told = run("bank", "build", bank, REPAIR, "--opt-out", "bo")
    assert "responses of 31 messages" in told.output
    assert "opted out" in told.output
    info = json.loads(run("bank", "info", bank, "--json", "--check").output)
    assert info["checked"]
    assert info["sources"] == ["repair.txt"]
    shown = run("bank", "info", bank).output
    assert str(info["responses"]) in shown
    assert "link       none" in shown
    assert "would be removed" in run("bank", "forget", bank, "--speaker", "oskar", "--dry-run").output
    assert "were removed" in run("bank", "forget", bank, "--speaker", "oskar").output
    assert json.loads(run("bank", "info", bank, "--json").output)["responses"] < info["responses"]


def test_respond(run: Run, built: Path, asking: Path) -> None:  # noqa: F811
    found = json.loads(run("respond", asking, "--as", "pia", "--bank", built, "--json").output)
    assert found[0]["addressee"] in ("kurt", "lena")
    assert found[0]["source"]["question"]
    assert 0 < found[0]["probability"] <= 1
    shown = run("respond", asking, "--as", "pia", "--bank", built).output
    assert "answered:" in shown
    assert "repair.txt 20240603, line" in shown


def test_null_where_nothing_fits(run: Run, built: Path, tmp_path: Path) -> None:  # noqa: F811
    log = tmp_path / "chess.txt"
    log.write_text(
        "# 20240101\n[10:00] <kurt> who won the chess tournament in Reykjavik last year?\n", "utf-8"
    )
    assert json.loads(run("respond", log, "--as", "pia", "--new", "--bank", built, "--json").output) == []
    assert "null" in run("respond", log, "--as", "pia", "--new", "--bank", built).output


def test_answered(run: Run, built: Path, asking: Path, tmp_path: Path) -> None:  # noqa: F811
    run("answered", asking, "--bank", built, "--least", "0.01", "--json", "-o", tmp_path / "open.jsonl")
    found = [json.loads(line) for line in (tmp_path / "open.jsonl").read_text("utf-8").splitlines()]
    assert [each["speaker"] for each in found] == ["kurt", "lena"]
    assert "cannot drain" in found[0]["answers"][0]["response"]
    assert "hair dryer" in found[1]["answers"][0]["response"]
    assert "to: my washing machine" in run("answered", asking, "--bank", built).output


def test_names_are_checked(run: Run, built: Path, asking: Path) -> None:  # noqa: F811
    assert "did you mean pia" in run("respond", asking, "--as", "Pia_", "--bank", built, code=1).output


@pytest.mark.parametrize("command", [("respond", "--as", "pia"), ("answered",)])
def test_bad_banks(run: Run, asking: Path, tmp_path: Path, command: tuple[str, ...]) -> None:  # noqa: F811
    name, *options = command
    told = run(name, asking, *options, "--bank", tmp_path / "none", code=1).output
    assert "there is no such bank" in told
    assert "not a response bank" in run(name, asking, *options, "--bank", tmp_path, code=1).output


def test_bad_arguments(run: Run, built: Path, tmp_path: Path) -> None:  # noqa: F811
    assert "forget what?" in run("bank", "forget", built, code=2).output
    assert "not from standard input" in run("bank", "build", tmp_path / "b", "-", code=1).output
    told = run("bank", "build", tmp_path / "b", REPAIR, "--without", "(", code=1).output
    assert "not a regular expression" in told
    told = run("bank", "build", tmp_path / "b", REPAIR, "--link", "{nobody}", code=1).output
    assert "nothing is known of {nobody}" in told
    assert not (tmp_path / "b").exists()


def test_control_characters_are_written_out(run: Run, tmp_path: Path) -> None:  # noqa: F811
    log = tmp_path / "evil.jsonl"
    log.write_text(
        json.dumps({"speaker": "ada", "text": "how do I clean the nozzle of the printer?", "id": "1"})
        + "\n"
        + json.dumps(
            {
                "speaker": "bob",
                "text": "heat the nozzle [red]and[/] pull\x1b[31m cold filament out",
                "id": "2",
                "reply_to": "1",
            }
        )
        + "\n",
        "utf-8",
    )
    run("bank", "build", tmp_path / "b", log)
    asking = tmp_path / "asking.txt"
    asking.write_text("# 20240101\n[10:00] <cyd> how do I clean the nozzle of my printer?\n", "utf-8")
    shown = run_apart(
        "respond", asking, "--as", "dee", "--new", "--bank", tmp_path / "b", "--least", "0"
    ).stdout
    assert "\x1b[31m" not in shown
    assert "[red]and[/] pull\\x1b[31m cold" in shown
