"""`towhom select`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, run_apart
from tests.cli.test_who import Put
from tests.cli.test_who import put as put
from tests.live.conftest import saved_model
from towhom import Message, load
from towhom.crosstalk.folder import write_crosstalk

LINES = ("ada> is the kettle on?", "bob> ada: since noon", "cyd> bob: who paid for it?", "ada> thanks bob")
DRAFTS = ("me, as always", "the red one")


@pytest.fixture
def log(put: Put) -> Path:
    return put(*LINES)


@pytest.fixture
def drafts() -> list[str]:
    return [each for text in DRAFTS for each in ("--candidate", text)]


def selected(run: Run, *arguments: str | Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("select", *arguments, "--json").stdout)
    return found


def rows(output: str) -> list[list[str]]:
    """The cells of the table, its head left out."""
    return [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in output.splitlines()
        if line.startswith("│")
    ]


class TestPairs:
    def test_json(self, run: Run, log: Path, drafts: list[str]) -> None:
        found = selected(run, log, "--as", "bob", *drafts)
        assert {(each["addressee"], each["candidate"]) for each in found} == {
            (name, place) for name in ("ada", "cyd") for place in (0, 1)
        }
        assert all(each["response"] == DRAFTS[each["candidate"]] for each in found)
        probabilities = [each["probability"] for each in found]
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) == pytest.approx(1, abs=1e-3)

    def test_as_a_session_selects(self, run: Run, log: Path, drafts: list[str]) -> None:
        session = load().session()
        for line in LINES:
            speaker, _, text = line.partition("> ")
            session.observe(Message(speaker, text))
        expected = [(each.addressee, each.response) for each in session.select("bob", DRAFTS)]
        found = selected(run, log, "--as", "bob", *drafts)
        assert [(each["addressee"], each["response"]) for each in found] == expected

    def test_table(self, run: Run, log: Path, drafts: list[str]) -> None:
        result = run("select", log, "--as", "bob", *drafts)
        assert result.stdout.startswith("What bob says next")
        expected = selected(run, log, "--as", "bob", *drafts)
        for (likely, *pair), each in zip(rows(result.stdout), expected, strict=True):
            assert pair == [each["addressee"], each["response"]]
            assert float(likely.removesuffix("%")) == pytest.approx(100 * each["probability"], abs=0.07)
        assert result.stderr == ""

    def test_top(self, run: Run, log: Path, drafts: list[str]) -> None:
        every = selected(run, log, "--as", "bob", *drafts)
        assert selected(run, log, "--as", "bob", *drafts, "--top", "2") == every[:2]
        assert len(rows(run("select", log, "--as", "bob", *drafts, "--top", "3").stdout)) == 3

    def test_a_candidate_that_names_somebody_is_for_them(self, run: Run, log: Path) -> None:
        found = selected(run, log, "--as", "bob", "--candidate", "cyd: me", "--candidate", "tea")
        assert {each["addressee"] for each in found if each["candidate"] == 0} == {"cyd"}
        assert {each["addressee"] for each in found if each["candidate"] == 1} == {"ada", "cyd"}
        assert {each["response"] for each in found} == {"cyd: me", "tea"}

    def test_brackets_in_a_candidate_are_shown(self, run: Run, log: Path) -> None:
        output = run("select", log, "--as", "bob", "--candidate", "[bold]tea[/]", "--top", "1").stdout
        assert rows(output)[0][2] == "[bold]tea[/]"

    def test_another_model(self, run: Run, log: Path, drafts: list[str], tmp_path: Path) -> None:
        write_crosstalk(tmp_path / "model", saved_model(), card="")
        ours = selected(run, log, "--as", "bob", *drafts)
        other = selected(run, log, "--as", "bob", *drafts, "--model", tmp_path / "model")
        assert len(ours) == len(other) == 4
        assert ours != other


class TestCandidates:
    @pytest.mark.parametrize(
        "content",
        ["me, as always\nthe red one\n", "\nme, as always\r\n  \nthe red one", json.dumps(DRAFTS, indent=2)],
        ids=["lines", "untidy lines", "json"],
    )
    def test_of_a_file(self, content: str, run: Run, log: Path, drafts: list[str], tmp_path: Path) -> None:
        (tmp_path / "drafts").write_bytes(content.encode())
        found = selected(run, log, "--as", "bob", "--candidates", tmp_path / "drafts")
        assert found == selected(run, log, "--as", "bob", *drafts)

    def test_of_standard_input(self, run: Run, log: Path, drafts: list[str]) -> None:
        done = run_apart("select", log, "--as", "bob", "--candidates", "-", "--json", stdin="\n".join(DRAFTS))
        assert json.loads(done.stdout) == selected(run, log, "--as", "bob", *drafts)

    def test_from_both_places(self, run: Run, log: Path, drafts: list[str], tmp_path: Path) -> None:
        (tmp_path / "drafts").write_text("ça va\n", "utf-8")
        file = ("--candidates", str(tmp_path / "drafts"))
        found = selected(run, log, "--as", "bob", *drafts, *file, "--top", "9")
        assert {each["candidate"]: each["response"] for each in found} == {
            0: DRAFTS[0],
            1: DRAFTS[1],
            2: "ça va",
        }

    def test_the_chat_from_standard_input(self, log: Path, drafts: list[str]) -> None:
        done = run_apart("select", "-", "--as", "bob", *drafts, "--json", stdin=log.read_text())
        assert len(json.loads(done.stdout)) == 4

    @pytest.mark.parametrize("content", ["", "\n \n", "[]"], ids=["empty", "blank", "empty json"])
    def test_none(self, content: str, run: Run, log: Path, tmp_path: Path) -> None:
        (tmp_path / "drafts").write_text(content)
        for given in ((), ("--candidates", str(tmp_path / "drafts"))):
            result = run("select", log, "--as", "bob", *given, code=2)
            assert "there is nothing to select from; give --candidate TEXT" in result.stderr

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('["tea", "milk"', "begins like a JSON list and is none"),
            ('["tea", 3]', "expected a JSON list of texts"),
            ('[["tea"]]', "expected a JSON list of texts"),
        ],
    )
    def test_bad_json(self, content: str, message: str, run: Run, log: Path, tmp_path: Path) -> None:
        file = tmp_path / "drafts"
        file.write_text(content)
        result = run("select", log, "--as", "bob", "--candidates", file, code=1)
        assert result.stderr.startswith(f"Error: {file}: {message}")

    def test_no_such_file(self, run: Run, log: Path, tmp_path: Path) -> None:
        result = run("select", log, "--as", "bob", "--candidates", tmp_path / "nowhere", code=2)
        assert "No such file or directory" in result.stderr


class TestResponder:
    def test_who_is_not_there(self, run: Run, log: Path, drafts: list[str]) -> None:
        result = run("select", log, "--as", "Bobb", *drafts, code=1)
        assert result.stderr == f"Error: {log}: nobody called Bobb speaks in it; did you mean bob?\n"
        result = run("select", log, "--as", "zenobia", *drafts, code=1)
        assert result.stderr.endswith("speaks in it; add --new if they are about to join\n")

    def test_who_is_new(self, run: Run, log: Path, drafts: list[str]) -> None:
        found = selected(run, log, "--as", "zenobia", "--new", *drafts, "--top", "9")
        assert {each["addressee"] for each in found} == {"ada", "bob", "cyd"}

    def test_new_changes_nothing_for_those_who_are_there(
        self, run: Run, log: Path, drafts: list[str]
    ) -> None:
        plain = selected(run, log, "--as", "bob", *drafts)
        assert selected(run, log, "--as", "bob", "--new", *drafts) == plain

    def test_who_is_alone(self, run: Run, put: Put, drafts: list[str]) -> None:
        log = put("ada> is the kettle on?", "ada> hello?")
        result = run("select", log, "--as", "ada", *drafts)
        assert result.stderr.startswith("nobody but ada has spoken of late: only what they say is chosen")
        assert {to for _, to, _ in rows(result.stdout)} == {"–"}
        found = selected(run, log, "--as", "ada", *drafts)
        assert {(each["addressee"], each["candidate"]) for each in found} == {(None, 0), (None, 1)}
        assert sum(each["probability"] for each in found) == pytest.approx(1, abs=1e-3)

    def test_it_has_to_be_said_who(self, run: Run, log: Path, drafts: list[str]) -> None:
        assert "Missing option '--as'" in run("select", log, *drafts, code=2).stderr


class TestChannels:
    @pytest.fixture
    def rooms(self, put: Put) -> Path:
        return put("#a ada> tea?", "#b cyd> milk?", "#a bob> ada: yes", "#b dee> cyd: no", "#b bob> hello")

    def test_one_has_to_be_chosen(self, run: Run, rooms: Path, drafts: list[str]) -> None:
        result = run("select", rooms, "--as", "bob", *drafts, code=1)
        assert result.stderr == (
            f"Error: {rooms}: it holds several channels; choose one with --channel: #a, #b\n"
        )

    @pytest.mark.parametrize(("channel", "others"), [("#a", {"ada"}), ("#b", {"cyd", "dee"})])
    def test_only_who_is_there(
        self, channel: str, others: set[str], run: Run, rooms: Path, drafts: list[str]
    ) -> None:
        found = selected(run, rooms, "--as", "bob", "--channel", channel, *drafts)
        assert {each["addressee"] for each in found} == others

    def test_no_such_channel(self, run: Run, rooms: Path, drafts: list[str]) -> None:
        result = run("select", rooms, "--as", "bob", "--channel", "#c", *drafts, code=1)
        assert result.stderr == f"Error: {rooms}: no message of channel #c was found in it\n"

    def test_somebody_of_another_channel(self, run: Run, rooms: Path, drafts: list[str]) -> None:
        result = run("select", rooms, "--as", "dee", "--channel", "#a", *drafts, code=1)
        assert "nobody called dee speaks in it" in result.stderr


class TestErrors:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "there is no such file or folder"),
            ("", "the file is empty"),
            ("roses are red\n" * 5, "no log in a known format"),
            ("=== ada has joined #room\n=== bob has left #room\n", "no message was found in it"),
        ],
        ids=["nothing", "empty", "poem", "quiet"],
    )
    def test_no_log(
        self, content: str | None, message: str, run: Run, drafts: list[str], tmp_path: Path
    ) -> None:
        log = tmp_path / "given"
        if content is not None:
            log.write_text(content)
        result = run("select", log, "--as", "ada", *drafts, code=1)
        assert result.stderr.startswith(f"Error: {log}: {message}")

    def test_a_malformed_line(self, run: Run, log: Path, drafts: list[str]) -> None:
        log.write_text(log.read_text() + "gibberish\n")
        assert len(selected(run, log, "--as", "bob", *drafts)) == 4
        assert f"{log}:5: not JSON" in run("select", log, "--as", "bob", *drafts, "--strict", code=1).stderr

    def test_a_folder_that_is_no_model(self, run: Run, log: Path, drafts: list[str], tmp_path: Path) -> None:
        result = run("select", log, "--as", "bob", *drafts, "--model", tmp_path, code=1)
        assert f"{tmp_path}: this is not a model" in result.stderr


def test_brackets_in_a_name(run: Run, put: Put) -> None:
    result = run("select", put("ada[away]> tea?"), "--as", "ada[away]", "--candidate", "milk")
    assert "What ada[away] says next" in result.stdout
    assert "nobody but ada[away] has spoken" in result.stderr


@pytest.mark.parametrize("top", ["0", "-1"])
def test_at_least_one_is_shown(run: Run, log: Path, top: str) -> None:
    assert "--top" in run("select", log, "--as", "ada", "--candidate", "milk", "--top", top, code=2).stderr
