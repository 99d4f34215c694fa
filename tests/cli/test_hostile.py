"""Logs and file names that are meant to do harm: nothing of them commands a terminal or a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, run_apart
from towhom.chat import Message
from towhom.wire import to_json

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egpj.exe\u2066\u200f\x08\r\x7f"
KEPT = "\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
"""A woman at a computer, and a Persian word: both have joiners."""
COMMANDS = [
    ("read",),
    ("who",),
    ("who", "--csv"),
    ("threads",),
    ("threads", "--csv"),
    ("threads", "--html"),
    ("select", "--as", "bob", "--candidate", f"yes{EVIL}", "--candidate", "no"),
]


def is_harmless(text: str) -> bool:
    hidden = {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), *"\u061c\u200e\u200f"}
    hidden |= {*map(chr, range(0x2028, 0x202F)), *map(chr, range(0x2066, 0x206A))}
    return hidden.isdisjoint(text.replace("\n", "").replace("\t", ""))


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "\x1b[31mlogs\u202e"
    folder.mkdir()
    messages = [
        Message(f"ada{EVIL}", f"is it done? {EVIL} {KEPT}"),
        Message("bob", f"ada{EVIL}: since noon {EVIL}", f"ada{EVIL}", channel=None),
        Message(f"ada{EVIL}", "\ud800 thanks"),
    ]
    path = folder / f"chat{EVIL}.jsonl"
    path.write_text("".join(to_json(message) + "\n" for message in messages) + f"what {EVIL[:8]}\n", "utf-8")
    return path


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(arguments[:2]))
def test_control_characters_of_logs_are_written_out(
    run: Run, hostile: Path, arguments: tuple[str, ...]
) -> None:
    result = run(arguments[0], hostile, *arguments[1:])
    assert is_harmless(result.stdout)
    assert is_harmless(result.stderr)
    shown = "".join(result.stdout.split())  # whatever the width that it is shown in
    assert r"\x1b[2J" in shown
    if arguments[0] != "select":
        assert "".join(KEPT.split()) in shown
        assert r"\x1b" in result.stderr


@pytest.mark.parametrize("command", ["read", "who", "threads"])
def test_json_has_them_as_they_are(run: Run, hostile: Path, command: str) -> None:
    first = json.loads(run(command, hostile, "--json").stdout.splitlines()[0])
    assert (first["speaker"], first["text"]) == (f"ada{EVIL}", f"is it done? {EVIL} {KEPT}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("read", f"nowhere{EVIL}"),
        ("who", f"nowhere{EVIL}"),
        ("who", "nowhere", "--model", f"nowhere{EVIL}"),
        ("read", "nowhere", "--format", EVIL),
        ("corpus", "stats", f"nowhere{EVIL}"),
        ("corpus", "build", f"out{EVIL}", f"nowhere{EVIL}"),
        ("evaluate", f"nowhere{EVIL}", "--data", f"nowhere{EVIL}"),
        ("select", "log", "--as", "ada", "--candidates", f"nowhere{EVIL}"),
        ("demo", "--as", EVIL),
        (EVIL,),
        (f"--{EVIL}",),
        ("read", f"--{EVIL}"),
    ],
    ids=ascii,
)
def test_errors_write_them_out(arguments: tuple[str, ...]) -> None:
    done = run_apart(*(argument.replace("\r", "") for argument in arguments))
    assert done.returncode in (1, 2)
    assert is_harmless(done.stderr)
    assert r"\x1b" in done.stderr
    assert "Traceback" not in done.stderr


def test_several_channels_are_named_safely(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(to_json(Message("ada", "hi", channel=f"{each}{EVIL}")) + "\n" for each in "ab"))
    result = run("select", path, "--as", "ada", "--candidate", "yes", code=1)
    assert is_harmless(result.stderr)


@pytest.mark.parametrize("command", ["who", "threads"])
def test_cells_are_no_formulas(run: Run, tmp_path: Path, command: str) -> None:
    texts = ["=HYPERLINK(1)", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\t=1", "＝1", "plain", "a=1"]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(to_json(Message("=ada", text)) + "\n" for text in texts), "utf-8")
    rows = list(csv.DictReader(io.StringIO(run(command, path, "--csv").stdout)))
    assert [row["text"] for row in rows] == [*(f"'{text}" for text in texts[:-2]), *texts[-2:]]
    assert {row["speaker"] for row in rows} == {"'=ada"}


@pytest.mark.parametrize("command", ["read", "who", "threads"])
def test_tabs_take_no_room(run: Run, tmp_path: Path, command: str) -> None:
    log = tmp_path / "log.txt"
    log.write_text("[10:00] <ada> is it done?\n[10:01] <bob> " + "\t" * 50_000 + "yes\n")
    assert len(run(command, log).stdout) < 200_000
