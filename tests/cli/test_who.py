"""`towhom who`."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import pytest

from tests.cli.conftest import CHAT, Run, command, run_apart
from tests.conftest import LogWriter
from tests.live.conftest import ruled_model
from tests.readers.exports import slack, slack_message, write
from tests.readers.long import LONG
from towhom.crosstalk.folder import write_crosstalk

PATIENCE = 120
"""Seconds after which a command that does not answer is given up."""
FIELDS = [
    "id", "room", "day", "time", "file", "line", "speaker", "name", "addressee", "how", "probability",
    "audience", "reason", "replies_to", "thread", "text",
]  # fmt: skip


def records(lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def told(run: Run, *arguments: str | Path) -> list[tuple[str, str | None, str]]:
    """Who says what to whom."""
    found = records(run("who", *arguments, "--json").stdout)
    return [(each["speaker"], each["addressee"], each["text"]) for each in found]


class Put(Protocol):
    """Writes lines like `ada> hello` as JSON lines; `#room ada> hello` is said in a channel."""

    def __call__(self, *lines: str) -> Path: ...


@pytest.fixture
def put(tmp_path: Path) -> Put:
    def to_file(*lines: str) -> Path:
        path = tmp_path / "chat.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for line in lines:
                front, _, text = line.partition("> ")
                channel, _, speaker = front.rpartition(" ")
                value = {"speaker": speaker, "text": text} | ({"channel": channel} if channel else {})
                file.write(json.dumps(value) + "\n")
        return path

    return to_file


def write_lines(folder: Path, *lines: dict[str, Any]) -> Path:
    """A chat as JSON lines."""
    path = folder / "chat.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


class TestFormats:
    def test_text(self, run: Run, chat: Path) -> None:
        result = run("who", chat)
        lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
        assert lines == [
            "10:00 ada is the kettle on?",
            "10:01 bob → ada since noon",
            "10:02 cyd → bob who paid for it?",
        ]
        assert result.stderr == "besides 3 messages: 1 action lines, 1 system lines\n"

    def test_who_is_meant_without_being_named(self, run: Run, put: Put) -> None:
        log = put("ada> is the parser merged?", "grace> ada: since noon", "ada> great, thanks")
        *_, last = run("who", log).stdout.splitlines()
        arrow, name, likely, *text = last.split()[1:]
        assert (arrow, name, text) == ("⇢", "grace", ["great,", "thanks"])
        assert 50 < int(likely.removesuffix("%")) <= 100

    def test_json(self, run: Run, chat: Path) -> None:
        first, second, third = records(run("who", chat, "--json").stdout)
        assert list(second) == [*FIELDS, "addressees"]
        assert (first["addressee"], first["how"]) == (None, "inferred")
        assert (second["addressee"], second["how"], second["reason"]) == ("ada", "named", "bob names ada")
        assert (third["time"], third["text"]) == ("2024-05-31T10:02:00", "who paid for it?")
        for each in (first, second, third):
            likely = {other["name"]: other["probability"] for other in each["addressees"]}
            assert each["probability"] == likely[each["addressee"]]
            assert sum(likely.values()) == pytest.approx(1, abs=1e-3)
            assert each["speaker"] not in likely

    def test_csv(self, run: Run, put: Put) -> None:
        log = put("ada> tea, milk?", 'bob> ada: "tea",\nthen milk', "#x cyd> hello")
        found = list(csv.DictReader(io.StringIO(run("who", log, "--csv").stdout)))
        same = records(run("who", log, "--json").stdout)
        assert list(found[0]) == FIELDS
        assert found[1]["text"] == '"tea",\nthen milk'
        assert (found[0]["room"], found[2]["room"]) == ("chat", "#x")
        for row, record in zip(found, same, strict=True):
            assert row == {key: "" if record[key] is None else str(record[key]) for key in FIELDS}

    def test_names_with_brackets_stay_as_they_are(self, run: Run, put: Put) -> None:
        log = put("ada[away]> [bold]tea[/]", "bob> ada[away]: milk")
        first, second = run("who", log).stdout.splitlines()
        assert first.split() == ["ada[away]", "[bold]tea[/]"]
        assert second.split() == ["bob", "→", "ada[away]", "milk"]


class TestLogs:
    @pytest.mark.parametrize("kind", list(LONG))
    def test_every_format(self, kind: str, run: Run, tmp_path: Path) -> None:
        """Each message once, as `read` has it; whoever is named in a text, `read` finds named as well."""
        _, build = LONG[kind]
        log = write(tmp_path / "export", build(40))
        ours = records(run("who", log, "--json").stdout)
        theirs = records(run("read", log, "--json").stdout)
        assert len(ours) >= 20
        assert [each["speaker"] for each in ours] == [each["speaker"] for each in theirs]
        named = [
            (mine["addressee"], other["addressee"])
            for mine, other in zip(ours, theirs, strict=True)
            if mine["how"] == "named" and " replies to " not in mine["reason"]
        ]
        assert named or kind.startswith("discord package")  # where only one speaks
        assert all(mine == other for mine, other in named)

    def test_a_mention_in_slack(self, run: Run, tmp_path: Path) -> None:
        day = [
            slack_message("1717146000.000001", "U1", "the kettle is on"),
            slack_message("1717146060.000001", "U2", "<@U1> since when?"),
        ]
        log = write(tmp_path / "export", slack({"general/2024-05-31": day}))
        found = records(run("who", log, "--json").stdout)
        assert [(each["addressee"], each["how"]) for each in found] == [(None, "inferred"), ("ada", "named")]
        assert {each["room"] for each in found} == {"general"}

    def test_channels_do_not_hear_each_other(self, run: Run, put: Put) -> None:
        """In the garden there is no ada; in the kitchen there is, whatever was said elsewhere."""
        log = put(
            "#kitchen ada> is the kettle on?",
            "#garden bob> ada: yes",
            "#kitchen cyd> ada: in a minute",
            "#garden dee> bob: who is ada?",
        )
        found = records(run("who", log, "--json").stdout)
        assert [each["addressee"] for each in found] == [None, None, "ada", "bob"]
        assert [each["room"] for each in found] == ["#kitchen", "#garden"] * 2
        together = put("ada> is the kettle on?", "bob> ada: yes")
        assert told(run, together)[1] == ("bob", "ada", "yes")

    def test_names_are_shown_instead_of_identifiers(self, run: Run, tmp_path: Path) -> None:
        log = write_lines(
            tmp_path,
            {"speaker": 17, "name": "Ada", "text": "hi all"},
            {"speaker": 23, "name": "Bob", "text": "Ada: hello"},
            {"speaker": 17, "text": "Bob: tea?"},
        )
        lines = [" ".join(line.split()) for line in run("who", log).stdout.splitlines()]
        assert lines == ["Ada hi all", "Bob → Ada hello", "Ada → Bob tea?"]
        first, second, third = records(run("who", log, "--json").stdout)
        assert (first["addressee"], first["audience"]) == (None, "everybody")
        assert (second["speaker"], second["name"], second["addressee"]) == ("23", "Bob", "Ada")
        assert (second["audience"], second["addressees"][0]["id"]) == ("somebody", "17")
        assert (third["speaker"], third["name"]) == ("17", "Ada")
        for name in ("17", "Ada"):
            assert told(run, log, "--for", name) == [("23", "Ada", "hello")]

    def test_changes_are_heard_and_not_shown(self, run: Run, tmp_path: Path) -> None:
        """Without the rename nobody is called ada_away; without the edit, nobody had addressed dee."""
        chat: list[dict[str, Any]] = [
            {"speaker": "ada", "text": "is the kettle on?", "id": 1},
            {"speaker": "ada", "text": "ada_away", "kind": "rename"},
            {"speaker": "bob", "text": "ada_away: since noon", "id": 2},
            {"speaker": "dee", "text": "hello"},
            {"speaker": "cyd", "text": "hm", "id": 3},
            {"speaker": "cyd", "text": "dee: is the window shut?", "id": 3, "kind": "edit"},
            {"speaker": "dee", "text": "yes"},
        ]
        log = write_lines(tmp_path, *chat)
        found = records(run("who", log, "--json").stdout)
        assert [each["line"] for each in found] == [0, 2, 3, 4, 6]
        assert found[1]["addressees"][0]["id"] == "ada"
        assert found[-1]["addressee"] == "cyd"
        changed = found[-1]["probability"]
        log = write_lines(tmp_path, *(each for each in chat if each.get("kind") != "edit"))
        last = records(run("who", log, "--json").stdout)[-1]
        before = {each["name"]: each["probability"] for each in last["addressees"]}
        assert before["cyd"] < changed

    def test_a_message_that_was_taken_back(self, run: Run, tmp_path: Path) -> None:
        chat: list[dict[str, Any]] = [
            {"speaker": "dee", "text": "hello"},
            {"speaker": "cyd", "text": "dee: is the window shut?", "id": 3},
            {"speaker": "cyd", "text": "", "id": 3, "kind": "delete"},
            {"speaker": "dee", "text": "yes"},
        ]
        gone = records(run("who", write_lines(tmp_path, *chat), "--json").stdout)[-1]
        there = records(run("who", write_lines(tmp_path, *chat[:2], chat[3]), "--json").stdout)[-1]
        assert (there["addressee"], gone["addressee"]) == ("cyd", None)

    def test_options_of_the_reading(self, run: Run, chat: Path) -> None:
        kept = told(run, chat, "--keep", "action")
        assert [text for *_, text in kept] == [
            "is the kettle on?",
            "since noon",
            "who paid for it?",
            "whistles",
        ]
        chat.write_text(CHAT + "gibberish\n")
        assert f"skipped {chat}:7: not a line of an IRC log" in run("who", chat).stderr

    def test_another_model(self, run: Run, chat: Path, tmp_path: Path) -> None:
        """One that follows plain rules, by which whoever is named answers, and nobody else does."""
        write_crosstalk(tmp_path / "model", ruled_model(), card="")
        chat.write_text("[10:00] <ada> tea\n[10:01] <bob> ada: milk\n[10:02] <cyd> so?\n[10:02] <ada> ah\n")
        found = [to for _, to, _ in told(run, chat, "--model", tmp_path / "model")]
        assert found == [None, "ada", None, "bob"]


class TestForSomebody:
    LINES = (
        "ada> is the kettle on?",
        "bob> ada: yes",
        "cyd> hb: where is the milk?",
        "hb> cyd: in the fridge",
        "bob> cyd: there",
    )

    def test_by_name(self, run: Run, put: Put) -> None:
        assert told(run, put(*self.LINES), "--for", "cyd") == [
            ("hb", "cyd", "in the fridge"),
            ("bob", "cyd", "there"),
        ]

    def test_somebody_who_has_not_spoken(self, run: Run, put: Put) -> None:
        log = put(*self.LINES[:3])
        assert told(run, log, "--for", "hb") == [("cyd", "hb", "where is the milk?")]
        nothing = run("who", log, "--for", "helper", "--alias", "helperbot", "--json", code=1)
        assert nothing.stdout == ""
        found = told(run, log, "--for", "helper", "--alias", "helperbot", "--alias", "hb")
        assert found == [("cyd", "helper", "where is the milk?")]

    def test_not_what_they_say_themselves(self, run: Run, put: Put) -> None:
        log = put(*self.LINES)
        shown = told(run, log, "--for", "bob", "--alias", "hb", "--threshold", "0")
        assert {speaker for speaker, *_ in shown} == {"ada", "cyd"}

    def test_thresholds(self, run: Run, put: Put) -> None:
        log = put(*self.LINES, "bob> and the sugar?", "ada> no idea", "cyd> look in the drawer")
        shown = [
            set(told(run, log, "--for", "cyd", "--threshold", threshold)) for threshold in ("0", "0.3", "0.8")
        ]
        assert shown[0] > shown[1] >= shown[2] > set()
        assert len(shown[0]) == 6  # all that others say

    def test_nothing_for_them(self, run: Run, chat: Path) -> None:
        result = run("who", chat, "--for", "zoe", code=1)
        assert result.stdout == ""

    def test_csv_has_a_head_all_the_same(self, run: Run, chat: Path) -> None:
        found = run("who", chat, "--for", "zoe", "--csv", code=1)
        assert found.stdout == ",".join(FIELDS) + "\n"


class Talk(NamedTuple):
    """A command that runs, and both ends of it."""

    stdin: IO[str]
    stdout: IO[str]

    def say(self, line: str) -> str:
        """Write a line; returns the next one that comes back. The input stays open."""
        self.stdin.write(line + "\n")
        self.stdin.flush()
        return self.stdout.readline()


@contextmanager
def talking_to(*arguments: str) -> Iterator[Talk]:
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        command("who", "-", *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=buffered,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        give_up = threading.Timer(PATIENCE, process.kill)  # reading then ends with ""
        give_up.start()
        try:
            yield Talk(process.stdin, process.stdout)
            process.stdin.close()
            assert process.stdout.read() == ""
            assert process.wait(PATIENCE) == 0
        finally:
            give_up.cancel()
            process.kill()


class TestLive:
    def test_text(self) -> None:
        """Every answer comes before the next line is written."""
        with talking_to() as talk:
            assert talk.say("[10:00] <ada> is the kettle on?").split()[:3] == ["10:00", "ada", "is"]
            assert talk.say("[10:01] <bob> ada: yes").split() == ["10:01", "bob", "→", "ada", "yes"]
            assert talk.say("[10:02] <cyd> bob: and tea?").split()[1:4] == ["cyd", "→", "bob"]

    def test_json_lines(self) -> None:
        with talking_to("--json") as talk:
            first = json.loads(talk.say('{"speaker": "ada", "text": "is the kettle on?"}'))
            assert (first["speaker"], first["addressee"]) == ("ada", None)
            second = json.loads(talk.say('{"speaker": "bob", "text": "ada: yes"}'))
            assert (second["speaker"], second["addressee"]) == ("bob", "ada")

    def test_csv(self) -> None:
        with talking_to("--csv") as talk:
            assert talk.say("[10:00] <ada> is the kettle on?") == ",".join(FIELDS) + "\n"
            assert ",ada," in talk.stdout.readline()
            assert ",bob,bob,ada,named," in talk.say("[10:01] <bob> ada: yes")

    def test_only_what_is_for_somebody(self) -> None:
        with talking_to("--for", "helper") as talk:
            talk.stdin.write("[10:00] <ada> bob: tea?\n[10:01] <bob> ada: no thanks\n")
            answer = talk.say("[10:02] <ada> helper: what is error 47?")
            assert answer.split()[1:4] == ["ada", "→", "helper"]

    def test_all_at_once(self) -> None:
        done = run_apart("who", "-", stdin=CHAT)
        assert done.returncode == 0
        assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize("options", [(), ("--json",), ("--csv",)], ids=["text", "json", "csv"])
def test_a_reader_that_goes_away(write_log: LogWriter, options: tuple[str, ...]) -> None:
    log = write_log(days=1, lines=1200)
    with subprocess.Popen(
        command("who", log, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait(PATIENCE) in (0, 1)


class TestOut:
    @pytest.mark.parametrize("options", [(), ("--json",), ("--csv",)], ids=["text", "json", "csv"])
    def test_the_same_in_a_file(self, options: tuple[str, ...], run: Run, chat: Path, tmp_path: Path) -> None:
        shown = run("who", chat, *options).stdout
        assert run("who", chat, *options, "-o", tmp_path / "new" / "out").stdout == ""
        assert (tmp_path / "new" / "out").read_text("utf-8") == shown

    def test_a_failure_leaves_what_was_there(self, run: Run, chat: Path, tmp_path: Path) -> None:
        chat.write_text(CHAT + "gibberish\n")
        out = tmp_path / "out.txt"
        out.write_text("precious\n")
        result = run("who", chat, "-o", out, "--strict", code=1)
        assert result.stderr == f"Error: {chat}:7: not a line of an IRC log\n"
        assert out.read_text() == "precious\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["chat.txt", "out.txt"]


class TestErrors:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "there is no such file or folder"),
            ("", "the file is empty"),
            ("roses are red\n" * 5, "no log in a known format; tried jsonl, "),
        ],
        ids=["nothing", "empty", "poem"],
    )
    def test_no_log(self, content: str | None, message: str, tmp_path: Path) -> None:
        """A sentence, seen from outside; what was written before is still there."""
        log, out = tmp_path / "given", tmp_path / "out"
        out.write_text("precious\n")
        if content is not None:
            log.write_text(content)
        done = run_apart("who", log, "-o", out)
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"Error: {log}: {message}")
        assert out.read_text() == "precious\n"

    def test_no_message_in_the_format_named(self, run: Run, chat: Path) -> None:
        result = run("who", chat, "--format", "jsonl", code=1)
        assert f"Error: {chat}: no message was found in it" in result.stderr

    def test_options_that_do_not_go_together(self, run: Run, chat: Path) -> None:
        assert "--json, --csv or --parquet, not several" in run("who", chat, "--json", "--csv", code=2).stderr
        assert "--for has to name first" in run("who", chat, "--alias", "hb", code=2).stderr
        assert "--threshold" in run("who", chat, "--for", "ada", "--threshold", "1.5", code=2).stderr

    def test_a_folder_that_is_no_model(self, run: Run, chat: Path, tmp_path: Path) -> None:
        result = run("who", chat, "--model", tmp_path, code=1)
        assert result.stderr.startswith(f"Error: {tmp_path}: this is not a model: it has no config.json")
        assert "does not exist" in run("who", chat, "--model", tmp_path / "nowhere", code=2).stderr


class TestNothingIsLost:
    def test_no_message_leaves_an_existing_file_alone(self, run: Run, tmp_path: Path) -> None:
        log = tmp_path / "joins.txt"
        log.write_text("=== ada has joined #tea\n=== bob has left #tea\n")
        (tmp_path / "out.txt").write_text("as it was")
        result = run("who", log, "--format", "irc", "-o", tmp_path / "out.txt", code=1)
        assert "no message was found in it" in result.stderr
        assert (tmp_path / "out.txt").read_text() == "as it was"

    @pytest.mark.parametrize(
        ("options", "shown"), [((), r"bad \ud800"), (("--json",), "bad ?"), (("--csv",), r"bad \ud800")]
    )
    def test_half_a_character(self, run: Run, put: Put, options: tuple[str, ...], shown: str) -> None:
        assert shown in run("who", put("ada> bad \ud800"), *options).stdout

    def test_a_name_that_nobody_has(self, run: Run, chat: Path) -> None:
        error = run("who", chat, "--for", "zoe", code=1).stderr
        assert f"Error: {chat}: nobody called zoe has spoken in it, and no message is for them" in error

    def test_a_name_that_nobody_has_yet(self) -> None:
        """In a chat that goes on, they may still come."""
        done = run_apart("who", "-", "--for", "zoe", stdin=CHAT)
        assert done.returncode == 0
        assert "nobody called zoe has spoken in it" in done.stderr
