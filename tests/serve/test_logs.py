"""Logs that are sent as files: the answers are those of the command line, and nothing is left behind."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

import towhom
from tests.conftest import irc_days
from tests.serve.conftest import JSON, Server, Start, answer, counted, error, said, talk, wait_for
from tests.serve.exports import slack_export, zipped
from tests.serve.sockets import error_of, half_open, told
from towhom.cli import main
from towhom.serve import logs
from towhom.serve.logs import LogAnswers, UnreadableLogError

FILE = {"Content-Type": "application/octet-stream"}
IRC = "".join(f"{line}\n" for line in irc_days(Random(3), days=2, lines=150))
LONG = "".join(f"[10:00] <p{number % 9}> p{number % 7}: {number}?\n" for number in range(60_000)).encode()
"""A log that takes long enough to do something meanwhile."""


def ask(client: httpx.Client, log: bytes | str, name: str = "log") -> list[JSON]:
    """All lines that are answered about a log."""
    content = log.encode() if isinstance(log, str) else log
    response = client.post("/v1/logs", params={"name": name}, content=content, headers=FILE)
    assert response.status_code == 200, response.text
    assert response.headers["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.text.splitlines()]


def of_type(lines: list[JSON], type: str) -> list[JSON]:
    return [line for line in lines if line["type"] == type]


def rooms_of(lines: list[JSON]) -> dict[str, int]:
    """Names of rooms, and how many messages were announced; as many come."""
    (told,) = of_type(lines, "rooms")
    for room in told["rooms"]:
        its = [line for line in of_type(lines, "message") if line["room"] == room["room"]]
        assert [line["number"] for line in its] == list(range(room["lines"]))
    assert lines[-1] == {"type": "complete", "lines": told["lines"]}
    return {room["name"]: room["messages"] for room in told["rooms"]}


def command(*arguments: str) -> list[JSON]:
    """What a command says, as JSON lines."""
    done = CliRunner().invoke(main, [*arguments])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


class TestAnswers:
    @pytest.mark.parametrize(
        ("name", "log"),
        [
            ("2024-05-31.txt", IRC.encode()),
            ("room.log.gz", gzip.compress(IRC.encode())),
            ("export.zip", slack_export(Random(5), 400, "general", "help")),
        ],
    )
    def test_are_those_of_the_command_line(
        self, name: str, log: bytes, client: httpx.Client, tmp_path: Path
    ) -> None:
        path = tmp_path / name
        path.write_bytes(log)
        found = [
            each for each in of_type(ask(client, log, name), "message") if each["message"]["speaker"] != ""
        ]
        kinds = ("message", "action", "notice")
        spoken = [each for each in found if each["message"]["kind"] in kinds]
        keep = ("--keep", "action", "--keep", "notice")
        who = command("who", str(path), "--json", *keep)
        assert len(who) == len(spoken) > 250
        for ours, theirs in zip(spoken, who, strict=True):
            likeliest = ours["addressees"][0]
            assert (ours["line"], ours["message"]["text"]) == (theirs["line"], theirs["text"])
            assert (likeliest["name"], ours["how"]) == (theirs["addressee"], theirs["how"])
            assert ours["reason"] == theirs["reason"]
            assert likeliest["probability"] == pytest.approx(theirs["probability"], abs=1e-4)
        every = command("threads", str(path), "--json")
        placed = [each for each in every if each["kind"] in kinds]
        line_of = {each["id"]: each["line"] for each in every}
        lines = {(each["room"], each["number"]): each["line"] for each in found}
        for ours, theirs in zip(spoken, placed, strict=True):
            answered = [lines[ours["room"], each] for each in ours["replies_to"]]
            assert answered == [line_of[theirs["replies_to"]]]
            assert lines[ours["room"], ours["thread"]] == line_of[theirs["thread"]]
            assert ours["thread_probability"] == pytest.approx(theirs["probability"], abs=1e-4)

    def test_a_report_is_that_of_the_command_line(self, client: httpx.Client, tmp_path: Path) -> None:
        log, path = slack_export(Random(5), 400, "general", "help"), tmp_path / "acme.zip"
        path.write_bytes(log)
        response = client.post(
            "/v1/logs", params={"name": "acme.zip", "report": True}, content=log, headers=FILE
        )
        lines = [json.loads(line) for line in response.text.splitlines()]
        assert lines[-1] == {"type": "complete", "lines": 400}
        page = tmp_path / "page.html"
        assert CliRunner().invoke(main, ["report", str(path), "-o", str(page)]).exit_code == 0
        assert "".join(line["page"] for line in of_type(lines, "report")) == page.read_text("utf-8")
        told = client.post("/v1/logs", params={"report": True}, content=b"nothing", headers=FILE)
        assert "none of the formats" in error(told, 422, "unreadable-log", "body")

    def test_of_many_rooms_in_little_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rooms that wait in files go on where they were."""
        path = tmp_path / "chat.jsonl"
        random = Random(1)
        speakers = random.choices(("ada", "bob", "cyd"), k=300)
        lines = [
            {"speaker": speaker, "text": f"is it {number}, or not?", "channel": f"r{number % 7}"}
            for number, speaker in enumerate(speakers)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

        def answers(number: Callable[[str], Any]) -> list[Any]:
            lines = chain.from_iterable(LogAnswers(towhom.load(), path, 1000))
            return [json.loads(line, parse_float=number) for line in lines if '"progress"' not in line]

        expected = answers(lambda number: pytest.approx(float(number), abs=1e-4))
        monkeypatch.setattr(logs, "_LIVE", 2)
        assert answers(float) == expected
        assert len([*tmp_path.glob("*.session")]) >= 5

    def test_of_rooms_one_after_the_other(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A room that has ended needs no memory, and no file."""
        monkeypatch.setattr(logs, "_LIVE", 2)
        path = tmp_path / "chat.jsonl"
        lines = [
            {"speaker": f"p{number % 3}", "text": "hm", "channel": f"r{number // 150}"}
            for number in range(750)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        found = [*chain.from_iterable(LogAnswers(towhom.load(), path, 1000))]
        assert json.loads(found[-1]) == {"type": "complete", "lines": 750}
        assert [*tmp_path.iterdir()] == [path]

    def test_progress(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(logs, "_PACE", 0)
        monkeypatch.setattr(logs, "monotonic", map(float, count()).__next__)  # a second passes each time
        path = tmp_path / "chat.txt"
        path.write_text(IRC)
        lines = [json.loads(line) for line in chain.from_iterable(LogAnswers(towhom.load(), path, 1000))]
        progress = of_type(lines, "progress")
        assert progress[0]["of"] is None
        assert progress[0]["read"] == 200
        answered = [each for each in progress if each["of"] is not None]
        assert [each["done"] for each in answered] == sorted({each["done"] for each in answered})
        assert answered[-1]["done"] == answered[-1]["of"] == lines[-1]["lines"]
        assert answered[-1]["seconds_left"] == 0
        assert answered[0]["seconds_left"] > 0


class TestRooms:
    def test_of_an_export(self, client: httpx.Client) -> None:
        found = rooms_of(ask(client, slack_export(Random(2), 90, "general", "help", "random"), "x.zip"))
        assert found.keys() == {"general", "help", "random"}
        assert sum(found.values()) == 90

    def test_files_of_one_archive(self, client: httpx.Client) -> None:
        """Chats are apart, the days of a channel are not, and what is no log is listed."""
        files: dict[str, str | bytes] = {
            "WhatsApp Chat with Ada.txt": "31/05/2024, 10:00 - Ada: hi\n31/05/2024, 10:01 - Bob: hello\n",
            "irc/#lab/2024-05-31.log": "[10:00] <cyd> is it open?\n",
            "irc/#lab/2024-06-01.log": "[10:00] <dee> cyd: it is\n",
            "irc/#den_20240601.log": "[10:00] <eve> hm\n",
            "picture.png": b"\x89PNG\0\0",
        }
        lines = ask(client, zipped(files), "all.zip")
        assert rooms_of(lines) == {"WhatsApp Chat with Ada": 2, "irc/#den": 1, "irc/#lab": 2}
        told = of_type(lines, "rooms")[0]
        assert told["left_out"] == {"lines": 0, "files": 1}
        assert told["problems"][0].startswith("all.zip/picture.png: ")
        assert {room["format"] for room in told["rooms"]} == {"whatsapp", "irc"}

    def test_of_a_single_file(self, client: httpx.Client) -> None:
        lines = ask(
            client, "[10:00] <ada> hi\nwhat is this?\n[10:01] <bob> hello\n", "C:\\logs\\2024-05-31.txt"
        )
        assert rooms_of(lines) == {"2024-05-31.txt": 2}
        assert of_type(lines, "message")[0]["message"]["time"] == "2024-05-31T10:00:00"
        assert of_type(lines, "rooms")[0]["problems"] == ["2024-05-31.txt:2: not a line of an IRC log"]

    @pytest.mark.parametrize("name", ["", "..", "/", "a/..", "\x00", "x" * 200, "日本語" * 60, "log\n.txt"])
    def test_odd_names(self, name: str, client: httpx.Client) -> None:
        lines = ask(client, "[10:00] <ada> hi\n", name)
        assert [*rooms_of(lines).values()] == [1]

    def test_half_a_surrogate_pair(self, client: httpx.Client) -> None:
        lines = ask(client, '{"speaker": "ada", "text": "\\ud83d"}\n{"speaker": "bob", "text": "hi"}\n')
        assert len(of_type(lines, "message")) == 2


class TestRefused:
    @pytest.mark.parametrize(
        "log", [b"", b" ", b"\x00", b"just some text\nand more of it\n", b"PK\x03\x04", b"\x1f\x8b\x08broken"]
    )
    def test_no_log(self, log: bytes, client: httpx.Client) -> None:
        response = client.post("/v1/logs", content=log, headers=FILE)
        error(response, 422, "unreadable-log", "body")

    def test_a_log_that_ends_early(self, client: httpx.Client) -> None:
        packed = gzip.compress(b"[10:00] <ada> hi there, how are you?\n" * 30_000, 1)
        response = client.post("/v1/logs", content=packed[: len(packed) // 2], headers=FILE)
        assert "damaged" in error(response, 422, "unreadable-log", "body")

    @pytest.mark.parametrize(
        "kind", [None, "text/plain", "multipart/form-data", "application/x-www-form-urlencoded"]
    )
    def test_what_a_page_elsewhere_could_send(self, kind: str | None, client: httpx.Client) -> None:
        headers = {} if kind is None else {"Content-Type": kind}
        response = client.post("/v1/logs", content=b"[10:00] <ada> hi\n", headers=headers)
        assert "octet-stream" in error(response, 415, "not-a-file", "header.Content-Type")

    def test_no_code_of_a_format_is_imported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """`module:Class` is for commands: who sends a log does not choose what the server runs."""
        (tmp_path / "chosen.py").write_text("class Mine: pass\n")
        monkeypatch.syspath_prepend(tmp_path)
        path = tmp_path / "log.txt"
        path.write_text(IRC)
        with pytest.raises(UnreadableLogError, match="There is no format of this name"):
            LogAnswers(towhom.load(), path, 1000, "chosen:Mine")
        assert "chosen" not in sys.modules

    @pytest.mark.parametrize("format", ["json:JSONDecoder", "chosen:Mine", "none", ":"])
    def test_an_unknown_format(self, format: str, client: httpx.Client) -> None:
        response = client.post("/v1/logs", params={"format": format}, content=IRC.encode(), headers=FILE)
        error(response, 422, "unreadable-log", "body")

    def test_too_large(self, start: Start) -> None:
        server = start("--max-log", "1000", "--max-lines", "3")
        post = server.client.post
        error(post("/v1/logs", content=b"x" * 1001, headers=FILE), 413, "body-too-large", "body")
        pieces = iter([b"[10:00] <ada> hi\n"] * 100)
        error(post("/v1/logs", content=pieces, headers=FILE), 413, "body-too-large", "body")
        lines = b"[10:00] <ada> hi\n" * 4
        assert "more than 3 lines" in error(
            post("/v1/logs", content=lines, headers=FILE), 422, "unreadable-log", "body"
        )
        ask(server.client, lines[:-17])
        response = post("/v1/logs", params={"name": "x" * 256}, content=lines, headers=FILE)
        error(response, 422, "invalid-request", "query.name")

    def test_without_the_token(self, start: Start) -> None:
        server = start("--token", "correct-horse-battery-staple")
        response = server.client.post("/v1/logs", content=b"[10:00] <ada> hi\n", headers=FILE)
        error(response, 401, "unauthorized", "header.Authorization")


@contextmanager
def long_log(server: Server) -> Iterator[Iterator[JSON]]:
    """The lines that are answered about a long log; the client goes away in the end."""
    with (
        httpx.Client(base_url=server.client.base_url, timeout=60) as client,
        client.stream("POST", "/v1/logs", content=LONG, headers=FILE) as response,
    ):
        assert response.status_code == 200
        yield (json.loads(line) for line in response.iter_lines())


def some_messages(lines: Iterator[JSON]) -> None:
    """Wait until the first answers have come."""
    next(line for line in lines if line["type"] == "message")


class TestMeanwhile:
    def test_channels_go_on_and_nothing_is_left(self, start: Start, tmp_path: Path) -> None:
        spool = tmp_path / "spool"
        spool.mkdir()
        server = start("--max-logs", "1", TMPDIR=str(spool))
        before = server.workers
        with long_log(server) as lines:
            some_messages(lines)
            assert len(said(server.client, "/v1/channels/room", talk("ada> one", "bob> two"))) == 2
            (folder,) = spool.iterdir()
            assert folder.stat().st_mode & 0o77 == 0
            response = server.client.post("/v1/logs", content=b"[10:00] <ada> hi\n", headers=FILE)
            error(response, 503, "too-many-logs")
            assert counted(server.client, "towhom_logs") == 1
            assert len(server.workers) == len(before) + 1
        wait_for(lambda: server.workers == before, 30)
        wait_for(lambda: not [*spool.iterdir()], 30)
        wait_for(lambda: counted(server.client, "towhom_logs") == 0)
        ask(server.client, "[10:00] <ada> hi\n")
        wait_for(lambda: not [*spool.iterdir()], 30)
        assert "ERROR" not in server.log

    def test_an_upload_that_ends_early_or_never(self, start: Start, tmp_path: Path) -> None:
        spool = tmp_path / "spool"
        spool.mkdir()
        server = start("--receive", "1", "--max-logs", "1", TMPDIR=str(spool))
        head = b"POST /v1/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
        begun = head + b"Content-Length: 1000\r\n\r\n[10:00] <ada> hi\n"
        with half_open(server, 1, begun):
            wait_for(lambda: counted(server.client, "towhom_logs") == 1)
        wait_for(lambda: counted(server.client, "towhom_logs") == 0)
        with half_open(server, 1, begun) as (slow,):
            assert error_of(told(slow)) == (408, "body-too-slow")
        ask(server.client, "[10:00] <ada> hi\n")
        wait_for(lambda: not [*spool.iterdir()], 30)
        assert "ERROR" not in server.log

    def test_a_process_that_hangs_or_dies(self, start: Start) -> None:
        server = start("--deadline", "8")
        for blow, code in ((signal.SIGSTOP, "took-too-long"), (signal.SIGKILL, "worker-lost")):
            with long_log(server) as lines:
                some_messages(lines)
                os.kill(server.workers[-1], blow)
                last = [*lines][-1]
                assert (last["type"], last["error"]["code"]) == ("error", code)
        answer(server.client.get("/readyz"))

    def test_the_server_stops(self, start: Start) -> None:
        server = start()
        with long_log(server) as lines, ThreadPoolExecutor(1) as pool:
            some_messages(lines)
            stopped = pool.submit(server.stop)
            assert [*lines][-1]["error"]["code"] == "stopping"
            assert stopped.result() == 0

    def test_what_a_killed_server_leaves_is_removed_by_the_next(self, start: Start, tmp_path: Path) -> None:
        spool = tmp_path / "spool"
        spool.mkdir()
        server = start(TMPDIR=str(spool))
        with long_log(server) as lines:
            some_messages(lines)
            server.kill()
        assert len([*spool.iterdir()]) == 1
        other = start(folder="other", TMPDIR=str(spool))
        assert [*spool.iterdir()] == []
        # That of a server that runs stays.
        with long_log(other) as lines:
            some_messages(lines)
            start(folder="third", TMPDIR=str(spool))
            assert len([*spool.iterdir()]) == 1
