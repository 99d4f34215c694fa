"""What went wrong with an export of three thousand messages: names, midnight, numbers, formulas, filters."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.conftest import LogWriter
from tests.report.conftest import Export, to_lines
from tests.workspace import CHANNELS
from towhom.live import channel, reading
from towhom.readers import locate, read_conversations

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def tables(export: Export, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """What each command says in JSON, and `who` in CSV."""
    from click.testing import CliRunner

    from towhom.cli import main

    def run(*arguments: str) -> str:
        return CliRunner().invoke(main, [*arguments, str(export.path)], catch_exceptions=False).stdout

    found = {
        name: [json.loads(line) for line in run(*command).splitlines()]
        for name, command in {
            "who": ("who", "--json", "--keep", "notice"),
            "threads": ("threads", "--json"),
            "read": ("read", "--json", "--keep", "notice"),
        }.items()
    }
    found["csv"] = list(csv.DictReader(io.StringIO(run("threads", "--csv"))))
    found["text"] = [{"line": line} for line in run("threads").splitlines()]
    return found


@pytest.fixture
def small(tmp_path: Path) -> Path:
    lines = [{"speaker": "ada", "text": "=1+1", "channel": room} for room in ("electronics", "general")]
    return to_lines(tmp_path / "chat.jsonl", lines)


def test_the_workspace_is_what_it_should_be(export: Export) -> None:
    files = [name for name in export.made.files if "/" in name]
    assert len(files) == 63
    assert 2_900 < export.made.count < 3_400
    assert len(export.made.overnight) > 100


@pytest.mark.parametrize("command", ["who", "threads", "read", "csv"])
def test_every_message_has_an_id_of_its_own(command: str, tables: dict[str, Rows], export: Export) -> None:
    ids = [row["id"] for row in tables[command]]
    assert len(set(ids)) == len(ids) == export.made.count


def test_all_outputs_agree(tables: dict[str, Rows]) -> None:
    threads = {row["id"]: row for row in tables["threads"]}
    for row in tables["who"]:
        same = threads[row["id"]]
        for field in ("room", "day", "time", "file", "line", "speaker", "addressee", "replies_to", "thread"):
            assert row[field] == same[field], field
    for row in tables["read"]:
        same = threads[row["id"]]
        assert (row["room"], row["day"], row["file"]) == (same["room"], same["day"], same["file"])
    for row in tables["csv"]:
        same = threads[row["id"]]
        assert (row["replies_to"], row["thread"], row["file"]) == (
            same["replies_to"],
            same["thread"],
            same["file"],
        )


def test_threads_and_replies_refer_to_ids(tables: dict[str, Rows]) -> None:
    by_id = {row["id"]: row for row in tables["threads"]}
    for row in by_id.values():
        answered = by_id[row["replies_to"]]
        assert answered["room"] == row["room"]
        assert answered["thread"] == row["thread"] or answered is row
        assert by_id[row["thread"]]["thread"] == row["thread"]


def test_threads_of_the_platform_go_on_after_midnight(tables: dict[str, Rows], export: Export) -> None:
    by_key = {(row["room"], row["id"].rpartition("/")[2]): row for row in tables["threads"]}
    for (room, id), answered in export.made.replies.items():
        row = by_key[room, id]
        assert row["replies_to"].rpartition("/")[2] == answered
        assert row["thread"] == row["replies_to"]
        assert row["probability"] == 1.0
    for key in export.made.overnight:
        row = by_key[key]
        assert row["day"] > by_key[key[0], row["thread"].rpartition("/")[2]]["day"]


def test_the_file_of_a_message_in_an_archive(tables: dict[str, Rows]) -> None:
    for row in tables["threads"]:
        assert row["file"] == f"makerspace.zip/{row['room']}/{row['day']}.json"


def test_two_channels_may_have_an_id_in_common(tmp_path: Path) -> None:
    lines = [{"speaker": "ada", "text": "hi", "id": "1", "channel": room} for room in ("x", "y")]
    lines.append({"speaker": "bob", "text": "hello", "id": "2", "reply_to": "1", "channel": "y"})
    found = list(locate(to_lines(tmp_path / "chat.jsonl", lines)))
    assert [each.id for each in found] == ["1", "y/1", "2"]
    assert found[2].reply_to == "y/1"


def test_emoji_after_a_mention_stay(tables: dict[str, Rows]) -> None:
    texts = {row["text"] for row in tables["read"] if "congrats" in row["text"] or "nice" in row["text"]}
    assert texts == {":tada: congrats", ":) nice"}


def test_formulas_are_texts_in_csv(tables: dict[str, Rows], run: Run, small: Path) -> None:
    cells = [cell for row in tables["csv"] for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "-"))]
    assert any(cell.startswith("'=HYPERLINK(") for cell in cells)
    for command in ("who", "threads", "read"):
        assert "'=1+1" in run(command, small, "--csv").stdout


@pytest.mark.parametrize("command", ["who", "threads", "read"])
def test_excel_gets_a_mark(run: Run, small: Path, tmp_path: Path, command: str) -> None:
    out = tmp_path / "who.csv"
    run(command, small, "--excel", "-o", out)
    assert out.read_bytes().startswith(b"\xef\xbb\xbfid,room,day")


def test_numbers_of_conversations_are_not_used_twice_in_text(tables: dict[str, Rows]) -> None:
    shown = [row["line"] for row in tables["text"] if "▌" in row["line"]]
    numbers = [int(line.partition("▌")[2].split()[0]) for line in shown]
    by_number: dict[int, set[str]] = {}
    for number, row in zip(numbers, tables["threads"], strict=True):
        by_number.setdefault(number, set()).add(row["thread"])
    assert all(len(threads) == 1 for threads in by_number.values())


class TestRooms:
    def test_a_conversation_is_a_room(self, export: Export) -> None:
        chats = list(read_conversations(export.path))
        assert [chat.name for chat in chats] == list(CHANNELS)

    def test_days_are_for_the_protocol(self, export: Export) -> None:
        assert len(list(read_conversations(export.path, days=True))) == 63

    def test_files_by_day_are_one_room(self, write_log: LogWriter, tmp_path: Path) -> None:
        for day in ("31.05.2024", "01.06.2024", "02.06.2024"):
            write_log(f"logs/#tea {day}.txt", days=1)
            write_log(f"logs/#milk {day}.txt", days=1)
        found = list(locate(tmp_path / "logs"))
        assert Counter(each.room for each in found).keys() == {"#tea", "#milk"}
        files = list(dict.fromkeys(each.file for each in found if each.room == "#tea"))
        assert [file.split()[-1] for file in files] == ["31.05.2024.txt", "01.06.2024.txt", "02.06.2024.txt"]

    def test_two_exports_with_a_room_of_one_name(self, tmp_path: Path) -> None:
        line = {"speaker": "ada", "text": "hi", "channel": "general"}
        paths = [to_lines(tmp_path / name, [line]) for name in ("one.jsonl", "two.jsonl")]
        assert [each.room for each in locate(*paths)] == ["general", "general (two.jsonl)"]


def test_a_reply_of_the_platform_holds_however_far_back(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "_IDS", 5)
    lines = [{"speaker": "ada", "text": f"line {number}", "id": str(number)} for number in range(20)]
    lines.append({"speaker": "bob", "text": "so late", "id": "late", "reply_to": "3"})
    path = to_lines(tmp_path / "chat.jsonl", lines)
    last = json.loads(run("threads", path, "--json").stdout.splitlines()[-1])
    assert (last["replies_to"], last["probability"]) == ("3", 1.0)


def test_rooms_that_have_been_quiet_go_on_where_they_were(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ("is the kettle on?", "ada: since noon", "thanks", "who took the milk?")
    lines = [
        {"speaker": ("ada", "bob")[number % 2], "text": text, "channel": room}
        for number, text in enumerate(texts * 40)
        for room in ("x", "y", "z")
    ]
    path = to_lines(tmp_path / "chat.jsonl", lines)
    expected = run("who", path, "--json").stdout
    monkeypatch.setattr(reading, "_OPEN", 1)
    assert run("who", path, "--json").stdout == expected


class TestFilters:
    def test_they_do_not_change_what_is_answered(
        self, run: Run, export: Export, tables: dict[str, Rows]
    ) -> None:
        options = ("--room", "#General", "--since", "2025-03-10", "--until", "2025-03-12")
        chosen = [
            row
            for row in tables["threads"]
            if row["room"] == "general" and "2025-03-10" <= row["day"] <= "2025-03-12"
        ]
        shown = run("threads", export.path, "--json", *options).stdout.splitlines()
        assert [json.loads(line) for line in shown] == chosen
        assert 100 < len(chosen) < 300

    def test_a_speaker(self, run: Run, export: Export, tables: dict[str, Rows]) -> None:
        for command in ("who", "read"):
            shown = run(command, export.path, "--json", "--speaker", "@marta oyelaran").stdout.splitlines()
            ids = [row["id"] for row in tables[command] if row["speaker"] == "Marta Oyelaran"]
            assert [json.loads(line)["id"] for line in shown] == ids

    def test_a_time_of_day(self, run: Run, export: Export) -> None:
        shown = run(
            "read", export.path, "--json", "--since", "2025-03-10T12:00", "--until", "2025-03-10T18:00"
        )
        times = [json.loads(line)["time"] for line in shown.stdout.splitlines()]
        assert times
        assert all("2025-03-10T12:00" <= time <= "2025-03-10T18:00:01" for time in times)

    @pytest.mark.parametrize("command", ["who", "threads", "read", "report"])
    def test_a_room_that_is_not_there(self, run: Run, small: Path, command: str, tmp_path: Path) -> None:
        out = tmp_path / "out"
        out.write_text("kept")
        said = run(command, small, "--room", "electronic", "-o", out, code=1).stderr
        assert "nothing is called electronic (--room); there are electronics" in said
        assert out.read_text() == "kept"

    def test_a_date_that_is_none(self, run: Run, small: Path) -> None:
        said = run("who", small, "--since", "yesterday", code=2).stderr
        assert "'yesterday' is not a date like 2024-05-31" in said
