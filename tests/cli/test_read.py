"""`towhom read`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import CHAT, Run, run_apart
from towhom.readers import READERS

SAID = [
    {"speaker": "ada", "text": "is the kettle on?", "time": "2024-05-31T10:00:00"},
    {"speaker": "bob", "text": "since noon", "addressee": "ada", "time": "2024-05-31T10:01:00"},
    {"speaker": "cyd", "text": "who paid for it?", "addressee": "bob", "time": "2024-05-31T10:02:00"},
]


def values(lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def test_text(run: Run, chat: Path) -> None:
    result = run("read", chat)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0].startswith("chat.txt 20240531 ")
    assert lines[1:] == [
        "10:00 ada is the kettle on?",
        "10:01 bob → ada since noon",
        "10:02 cyd → bob who paid for it?",
    ]
    assert result.stderr == "besides 3 messages: 1 action lines, 1 system lines\n"


def test_json(run: Run, chat: Path) -> None:
    assert values(run("read", chat, "--json").stdout) == SAID


def test_what_is_written_can_be_read(run: Run, chat: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "chat.jsonl"
    assert run("read", chat, "--out", out).stdout == ""
    assert values(out.read_text()) == SAID
    assert values(run("read", out, "--json").stdout) == SAID


def test_a_failure_leaves_no_file(run: Run, chat: Path, tmp_path: Path) -> None:
    chat.write_text(CHAT + "gibberish\n")
    result = run("read", chat, "--out", tmp_path / "out.jsonl", "--strict", code=1)
    assert result.stderr == f"Error: {chat}:7: not a line of an IRC log\n"
    assert [path.name for path in tmp_path.iterdir()] == ["chat.txt"]


def test_malformed_lines_are_shown_and_counted(run: Run, chat: Path) -> None:
    chat.write_text(CHAT * 2 + "[gibberish]\n" * 7)
    assert run("read", chat).stderr.splitlines() == [
        *(f"skipped {chat}:{line}: not a line of an IRC log" for line in range(13, 18)),
        "skipped and 2 more like these",
        "besides 6 messages: 2 action lines, 2 system lines, 7 malformed lines",
    ]


def test_standard_input() -> None:
    done = run_apart("read", "-", "--json", stdin=CHAT)
    assert done.returncode == 0
    assert [value["text"] for value in values(done.stdout)] == [said["text"] for said in SAID]


def test_a_packed_log(run: Run, tmp_path: Path) -> None:
    packed = tmp_path / "chat"
    packed.write_bytes(gzip.compress(CHAT.encode()))
    assert values(run("read", packed, "--json").stdout) == SAID


def test_options(run: Run, chat: Path) -> None:
    chat.write_text(CHAT + "=== ada is now known as ada_\n[10:04] <ada_> BOB: me\n")

    def last(*options: str) -> tuple[str, str | None]:
        value = values(run("read", chat, "--json", *options).stdout)[-1]
        return value["speaker"], value.get("addressee")

    assert last() == ("ada_", None)
    assert last("--ignore-case") == ("ada_", "bob")
    assert last("--follow-renames", "--ignore-case") == ("ada", "bob")
    kept = values(run("read", chat, "--json", "--keep", "action").stdout)
    assert [value["text"] for value in kept if value.get("kind") == "action"] == ["whistles"]


def test_formats(run: Run) -> None:
    lines = run("read", "--formats").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(READERS)
    assert all(len(line.split()) > 2 for line in lines)


@pytest.mark.parametrize("format", ["jsonl", "nonsense"])
def test_another_format(run: Run, chat: Path, format: str) -> None:
    if format in READERS:
        assert "6 malformed lines" in run("read", chat, "--format", format, code=1).stderr
    else:
        assert "'nonsense' is not one of" in run("read", chat, "--format", format, code=2).stderr


def test_no_log(run: Run) -> None:
    assert "which log? Give a file" in run("read", code=2).stderr


def test_a_log_without_messages_is_said_and_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    log, out = tmp_path / "quiet.txt", tmp_path / "out.jsonl"
    log.write_text("=== ada has joined #room\n=== bob has left #room\n")
    out.write_text("precious\n")
    for extra in ((), ("--out", str(out))):
        result = run("read", log, *extra, code=1)
        assert f"Error: {log}: no message was found in it" in result.stderr
        assert "2 system lines" in result.stderr
    assert out.read_text() == "precious\n"
