"""`towhom read`."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tests.cli.conftest import CHAT, Run, command, run_apart
from tests.readers.exports import zipped
from towhom.readers import READERS


def _said(line: int, **others: str) -> dict[str, Any]:
    where = {"id": f"chat.txt:{line}", "room": "chat", "day": "2024-05-31", "file": "chat.txt"}
    return {**where, **others}


SAID = [
    _said(2, speaker="ada", text="is the kettle on?", time="2024-05-31T10:00:00"),
    _said(3, speaker="bob", text="since noon", addressee="ada", time="2024-05-31T10:01:00"),
    _said(5, speaker="cyd", text="who paid for it?", addressee="bob", time="2024-05-31T10:02:00"),
]


def values(lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def test_text(run: Run, chat: Path) -> None:
    result = run("read", chat)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0].startswith("chat ")
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
    again = values(run("read", out, "--json").stdout)
    assert again == [{**each, "file": "chat.jsonl"} for each in SAID]


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


def numbered(count: int) -> str:
    return "".join(f"[10:00] <ada> line {number}\n" for number in range(count))


class TestPipes:
    """What can be read only once is opened once, and read to its end."""

    LINES = 5_000

    def texts(self, *arguments: str | Path, stdin: str = "") -> list[str]:
        done = run_apart("read", *arguments, "--json", stdin=stdin)
        assert (done.returncode, done.stderr) == (0, "")
        return [value["text"] for value in values(done.stdout)]

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_a_named_pipe(self, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        content = pack(numbered(self.LINES).encode())
        writer = threading.Thread(target=lambda: pipe.write_bytes(content), daemon=True)
        writer.start()
        assert self.texts(pipe) == [f"line {number}" for number in range(self.LINES)]
        writer.join(60)
        assert not writer.is_alive()

    def test_a_pipe_that_is_written_slowly(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)

        def write() -> None:
            with pipe.open("wb", buffering=0) as file:
                for byte in numbered(2).encode():
                    file.write(bytes([byte]))
                    sleep(0.001)

        threading.Thread(target=write, daemon=True).start()
        assert self.texts(pipe) == ["line 0", "line 1"]

    @pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0"])
    def test_standard_input_by_its_names(self, name: str) -> None:
        if name != "-" and not Path(name).exists():
            pytest.skip(f"there is no {name} here")
        texts = self.texts(name, stdin=numbered(self.LINES))
        assert texts == [f"line {number}" for number in range(self.LINES)]

    def test_a_corpus_needs_files(self, tmp_path: Path) -> None:
        done = run_apart("corpus", "build", tmp_path / "out", "/dev/stdin", stdin=numbered(50))
        assert done.returncode == 1
        assert done.stderr == (
            "Error: /dev/stdin: this is not a file and can be read only once; save it to a file first\n"
        )

    def test_a_zip_archive_needs_a_file(self, tmp_path: Path) -> None:
        content = zipped({"log.txt": numbered(5).encode()})
        done = subprocess.run(command("read", "-"), input=content, capture_output=True, check=False)
        assert done.returncode == 1
        assert b"standard input: a zip archive cannot be read from a pipe" in done.stderr


def test_a_packed_log(run: Run, tmp_path: Path) -> None:
    packed = tmp_path / "chat.txt"
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


class TestTold:
    """What the user says of a format that is not known."""

    def test_columns(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "chat.csv"
        path.write_text("wer,was\nada,hi\nbob,ada: ho\n")
        failed = run("read", path, code=1)
        assert "name its columns (--columns speaker=NAME,text=NAME)" in failed.stderr
        lines = run("read", path, "--columns", "speaker=wer,text=was", "--json").stdout.splitlines()
        assert json.loads(lines[1]).items() >= {"speaker": "bob", "text": "ho", "addressee": "ada"}.items()
        assert (
            "is for the format table"
            in run("read", path, "--columns", "x=y", "--format", "irc", code=2).stderr
        )

    def test_patterns(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "chat.txt"
        path.write_text("10:00 ~ ada ~ hi, bob\n10:01 ~ bob ~ hello, ada\n10:03 ~ ada ~ what is it?\n")
        induced = run("read", path, "--json")
        assert "assumed" in induced.stderr
        assert "sure): {time} ~ {speaker} ~ {text}; its times are written as clock" in " ".join(
            induced.stderr.split()
        )
        told = run("read", path, "--json", "--pattern", "{time} ~ {speaker} ~ {text}")
        assert told.stdout == induced.stdout
        assert "assumed" not in told.stderr
