"""Results: every record is cited by a page, every page cites records that are there, figures are drawn."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *RESULTS.rglob("*.md"),
]

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="not a checkout")


def linked(pages: list[Path]) -> set[Path]:
    """The files that pages link to."""
    return {
        (page.parent / target).resolve()
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
        if "://" not in target
    }


def test_every_result_is_cited() -> None:
    """A record of a grid of runs is cited by the report beside it, which has to be linked itself."""
    cited = linked(PAGES)
    missing = [
        str(path.relative_to(ROOT))
        for path in sorted(RESULTS.rglob("*"))
        if path.is_file()
        and (path.parents[1] / "report.md" if path.parent.name == "records" else path).resolve() not in cited
        and path.name != "report.html"  # the same as report.md
    ]
    assert missing == []


def test_every_record_says_how_it_came_about() -> None:
    for path in sorted(RESULTS.rglob("*.json")):
        found = json.dumps(json.loads(path.read_text("utf-8")))
        assert '"command"' in found, path
        assert '"commit"' in found, path


def test_pages_speak_of_records_that_are_there() -> None:
    """Also between backticks, and in the text of programs."""
    sources = [*PAGES, *(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    for page in sources:
        for name in re.findall(r"(?<![\w/])results/[\w./-]+\.(?:json|svg)\b", page.read_text("utf-8")):
            assert (ROOT / name).is_file(), f"{page.relative_to(ROOT)} speaks of {name}"


def test_figures_are_drawings() -> None:
    assert [path.name for path in RESULTS.rglob("*") if path.suffix in {".png", ".jpg", ".pdf"}] == []


def test_records_are_in_one_place() -> None:
    outside = [*(ROOT / "docs").rglob("*.json"), *(ROOT / "benchmarks").rglob("*.json")]
    assert outside == []
