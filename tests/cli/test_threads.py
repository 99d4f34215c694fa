"""`towhom threads`."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.readers.exports import slack, slack_message, write

LOG = """\
=== kim has joined #tea
[10:00] <ada> does anybody know how to descale the kettle?
[10:00] <bob> hi all, can anyone tell me if the window is shut?
[10:01] <grace> ada: vinegar, then rinse it twice
[10:01] <hugo> bob: I shut the window an hour ago
[10:02] <ada> grace: thanks, how much vinegar?
[10:02] <grace> ada: half a cup of vinegar
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "2024-05-31.txt"
    path.write_text(LOG, "utf-8")
    return path


def records(run: Run, *arguments: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("threads", *arguments, "--json").stdout.splitlines()]


def lines(records: list[dict[str, Any]], field: str) -> list[int]:
    """The lines of what a field refers to."""
    return [int(each[field].rpartition(":")[2]) for each in records]


class TestJson:
    def test_every_line_of_the_file_has_a_record(self, run: Run, log: Path) -> None:
        assert [each["line"] for each in records(run, log)] == list(range(7))

    def test_links_and_threads_are_ids(self, run: Run, log: Path) -> None:
        found = records(run, log)
        assert [each["id"] for each in found] == [f"2024-05-31.txt:{line}" for line in range(1, 8)]
        assert lines(found, "replies_to") == [1, 2, 3, 2, 3, 4, 6]
        assert lines(found, "thread") == [1, 2, 3, 2, 3, 2, 2]

    def test_a_system_line_is_alone_and_sure(self, run: Run, log: Path) -> None:
        first = records(run, log)[0]
        assert (first["kind"], first["replies_to"], first["probability"]) == ("system", first["id"], 1.0)

    def test_texts_are_as_written(self, run: Run, log: Path) -> None:
        assert records(run, log)[3]["text"] == "ada: vinegar, then rinse it twice"

    def test_several_files_are_told_apart(self, run: Run, log: Path) -> None:
        other = log.with_name("2024-06-01.txt")
        other.write_text(LOG, "utf-8")
        found = records(run, log.parent)
        names = [str(path.relative_to(log.parents[1])) for path in (log, other)]
        assert [each["file"] for each in found] == [each for each in names for _ in range(7)]
        assert len({each["id"] for each in found}) == 14
        assert {each["room"] for each in found} == {log.parent.name}

    def test_an_answer_that_the_platform_marks(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "chat.jsonl"
        lines = [
            {"speaker": "ada", "text": "lunch?", "id": "a"},
            {"speaker": "bob", "text": "the build is red", "id": "b"},
            {"speaker": "grace", "text": "yes", "id": "c", "reply_to": "a"},
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        last = records(run, path)[-1]
        assert (last["id"], last["replies_to"], last["probability"]) == ("c", "a", 1.0)

    def test_names_edits_and_deletions(self, run: Run, tmp_path: Path) -> None:
        """Changes have records of their own, and are not shown to people."""
        path = tmp_path / "chat.jsonl"
        lines = [
            {"speaker": 17, "name": "Ada", "text": "lunch?", "id": 1},
            {"speaker": 23, "name": "Bob", "text": "yes", "reply_to": 1, "id": 2},
            {"speaker": 17, "text": "dinner?", "id": 1, "kind": "edit"},
            {"speaker": 23, "text": "", "id": 2, "kind": "delete"},
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        found = records(run, path)
        assert [each["id"] for each in found] == ["1", "2", "chat.jsonl:3", "chat.jsonl:4"]
        assert [each["replies_to"] for each in found[:2]] == ["1", "1"]
        assert [each["changes"] for each in found] == [None, None, "1", "2"]
        assert [(each["speaker"], each["name"]) for each in found[:2]] == [("17", "Ada"), ("23", "Bob")]
        shown = [line.split() for line in run("threads", path).stdout.splitlines()]
        assert shown == [["▌1", "Ada", "lunch?"], ["▌1", "Bob", "↩", "Ada", "yes"]]


class TestOtherFormats:
    def test_csv(self, run: Run, log: Path) -> None:
        rows = list(csv.DictReader(io.StringIO(run("threads", log, "--csv").stdout)))
        assert lines(rows, "replies_to") == [1, 2, 3, 2, 3, 4, 6]
        assert rows[6]["text"] == "ada: half a cup of vinegar"

    def test_text_leaves_system_lines_out(self, run: Run, log: Path) -> None:
        lines = run("threads", log).stdout.splitlines()
        assert len(lines) == 6
        assert lines[0].split(maxsplit=3) == [
            "10:00",
            "▌1",
            "ada",
            "does anybody know how to descale the kettle?",
        ]
        assert lines[3].startswith("10:01 ▌2")
        assert "↩ bob" in lines[3]

    def test_a_page(self, run: Run, log: Path, tmp_path: Path) -> None:
        run("threads", log, "--html", "-o", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text("utf-8")
        assert page.startswith("<!doctype html>")
        assert "descale the kettle" in page

    def test_a_page_of_several_days(self, run: Run, log: Path) -> None:
        log.with_name("2024-06-01.txt").write_text(LOG, "utf-8")
        page = run("threads", log.parent, "--html").stdout
        assert page.count("does anybody know how to descale the kettle?</span>") == 2

    def test_a_thread_in_slack(self, run: Run, tmp_path: Path) -> None:
        day = [
            slack_message("1717142400.000000", "U1", "is the kettle on?"),
            slack_message("1717142401.000000", "U2", "the build is red"),
            slack_message("1717142402.000000", "U3", "it is", thread_ts="1717142400.000000"),
        ]
        found = records(run, write(tmp_path / "export", slack({"general/2024-05-31": day})))
        assert [each["thread"] for each in found][::2] == ["1717142400.000000"] * 2
        assert found[2]["probability"] == 1.0


class TestStandardInput:
    def test_answers_come_with_the_lines(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-m", "towhom", "threads", "-", "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("[10:00] <ada> is it merged?\n[10:01] <grace> ada: since noon\n")
            process.stdin.flush()
            first = json.loads(process.stdout.readline())
            process.stdin.write("[10:01] <ada> grace: thanks\n")
            process.stdin.close()
            rest = [json.loads(line) for line in process.stdout]
        assert first["thread"] == first["id"]
        assert [each["replies_to"] for each in rest] == [first["id"], rest[0]["id"]]


class TestErrors:
    def test_two_formats(self, run: Run, log: Path) -> None:
        assert "not several" in run("threads", log, "--json", "--csv", code=2).stderr

    def test_no_message(self, run: Run, tmp_path: Path) -> None:
        path, out = tmp_path / "empty.txt", tmp_path / "out.jsonl"
        path.write_text("=== kim has joined #tea\n=== kim has left #tea\n", "utf-8")
        out.write_text("kept", "utf-8")
        assert "no message was found in it" in run("threads", path, "--json", "-o", out, code=1).stderr
        assert out.read_text("utf-8") == "kept"

    def test_a_malformed_line_is_named(self, run: Run, log: Path) -> None:
        log.write_text(LOG + "what is this\n", "utf-8")
        assert f"skipped {log}:8: not a line of an IRC log" in run("threads", log).stderr
        assert f"{log}:8: not a line of an IRC log" in run("threads", log, "--strict", code=1).stderr

    def test_no_such_file(self, run: Run, tmp_path: Path) -> None:
        assert "there is no such file or folder" in run("threads", tmp_path / "none.txt", code=1).stderr

    def test_a_model_of_the_paper(self, run: Run, log: Path, tmp_path: Path) -> None:
        (tmp_path / "model").mkdir()
        for name in ("config.json", "model.safetensors", "vocab.json"):
            (tmp_path / "model" / name).write_text('{"format": "towhom-model"}')
        said = run("threads", log, "--model", tmp_path / "model", code=1).stderr
        assert "this is not the configuration of a Crosstalk model" in said


@pytest.mark.parametrize("command", ["threads", "who"])
def test_an_output_that_cannot_be_written(run: Run, log: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_text("kept", "utf-8")
    said = run(command, log, "--json", "-o", tmp_path / "file" / "out.jsonl", code=1).stderr
    assert said.startswith(f"Error: {tmp_path / 'file'}")
    assert (tmp_path / "file").read_text("utf-8") == "kept"
