"""`towhom report`."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.report.conftest import Export, to_lines


@pytest.fixture
def log(tmp_path: Path) -> Path:
    lines = [
        {"speaker": "Ada", "text": "does the kettle work?", "id": "1", "time": "2025-03-03T23:50:00+00:00"},
        {
            "speaker": "Bob",
            "text": "=yes Ada",
            "id": "2",
            "reply_to": "1",
            "time": "2025-03-04T00:10:00+00:00",
        },
        {
            "speaker": "Cyd",
            "text": "where is the milk | tea?",
            "id": "3",
            "time": "2025-03-04T01:00:00+00:00",
        },
    ]
    return to_lines(tmp_path / "kitchen.jsonl", [{**line, "channel": "kitchen"} for line in lines])


def test_a_page(run: Run, log: Path, tmp_path: Path) -> None:
    said = run("report", log, "-o", tmp_path / "page.html").stderr
    assert said.endswith("page.html: 3 messages, 2 questions, 1 open\n")
    assert "where is the milk" in (tmp_path / "page.html").read_text("utf-8")


def test_a_page_is_not_replaced_unasked(
    run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("report", log)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "replace it with --force" in run("report", log, code=1).stderr
    run("report", log, "--force", "--title", "Another")
    assert (tmp_path / "report.html").read_text("utf-8") != page


def test_json(run: Run, log: Path) -> None:
    value = json.loads(run("report", log, "--json").stdout)
    assert (value["format"], value["all"]["messages"], value["all"]["open"]) == ("towhom-report", 3, 1)
    assert value["all"]["waits"]["median"] == 1200
    assert value["rooms"][0]["open_questions"][0]["id"] == "3"


def test_csv_is_safe(run: Run, log: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("report", log, "--csv").stdout)))
    totals = {
        row["measure"]: row["value"]
        for row in rows
        if row["section"] == "totals" and row["room"] == "kitchen"
    }
    assert (totals["messages"], totals["questions"], totals["open"]) == ("3", "2", "1")
    assert not [cell for row in rows for cell in row.values() if cell.startswith("=")]
    assert run("report", log, "--excel").stdout.startswith("\ufeffroom,")


def test_markdown(run: Run, log: Path) -> None:
    text = run("report", log, "--markdown").stdout
    assert "| open: no answer, or asked again since | 1 |" in text
    assert r"where is the milk \| tea?" in text


def test_several_exports_are_one_report(run: Run, log: Path, tmp_path: Path) -> None:
    other = to_lines(tmp_path / "garden.jsonl", [{"speaker": "Ada", "text": "rain", "channel": "garden"}])
    value = json.loads(run("report", log, other, "--json").stdout)
    assert [room["name"] for room in value["rooms"]] == ["kitchen", "garden"]
    assert (value["title"], value["all"]["people"]) == ("kitchen, garden", 3)


def test_a_zone(run: Run, log: Path) -> None:
    value = json.loads(run("report", log, "--json", "--zone", "Asia/Tokyo").stdout)
    assert value["all"]["first"] == "2025-03-04T08:50:00"
    assert "Middle/Earth: no time zone" in run("report", log, "--zone", "Middle/Earth", code=1).stderr


def test_anonymous(run: Run, log: Path, tmp_path: Path) -> None:
    for kind in ("--json", "--csv", "--markdown"):
        shown = run("report", log, "--anonymous", kind).stdout
        assert not [name for name in ("Ada", "Bob", "Cyd") if name in shown]
        assert shown == run("report", log, "--anonymous", kind).stdout
    page = tmp_path / "page.html"
    run("report", log, "--anonymous", "-o", page)
    packed = re.search(r'id="data">([^<]*)<', page.read_text("utf-8"))
    assert packed is not None
    shown = page.read_text("utf-8") + gzip.decompress(base64.b64decode(packed[1])).decode()
    assert not [name for name in ("Ada", "Bob", "Cyd") if name in shown.replace(packed[1], "")]
    assert "--secret is for --anonymous" in run("report", log, "--secret", "x", code=2).stderr


def test_nothing_to_report(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "joins.txt"
    path.write_text("=== ada has joined #tea\n=== bob has left #tea\n")
    assert "no message was found in it" in run("report", path, code=1).stderr


def test_room_by_room_it_is_the_same_page(run: Run, export: Export, tmp_path: Path) -> None:
    run("report", export.path, "-o", tmp_path / "one.html")
    for name in ("two", "three"):  # the second time, all is there already
        run("report", export.path, "--into", tmp_path / "parts", "-o", tmp_path / f"{name}.html")
        assert (tmp_path / f"{name}.html").read_bytes() == (tmp_path / "one.html").read_bytes()
    assert "name it with --into" in run("report", export.path, "--cluster", "local:2", code=2).stderr
