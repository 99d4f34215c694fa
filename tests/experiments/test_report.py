"""The report: ours beside the published numbers, as Markdown and as a page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.made_up import EXPERIMENT, record
from towhom.corpus import Corpus
from towhom.corpus.stats import split_statistics
from towhom.errors import TowhomError
from towhom.evaluation.case_pages import case_parts, cases_markdown
from towhom.evaluation.cases import Case, System, find_cases
from towhom.experiments import Experiment
from towhom.experiments.report import missing, read_records, table, write_report
from towhom.models.recency import RecentTfIdf

RECORDS = [
    record("sirnn", accuracy=60.0),
    record("sirnn", accuracy=62.0, seed=1),
    record("recent-tfidf", accuracy=40.0),
    record("recent-tfidf", 10, accuracy=10.25),
]


class Cells(HTMLParser):
    """The tables of a page, as rows of texts, and all tags that it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.lasttag in ("td", "th") and not data.isspace():
            self.rows[-1][-1] += data


class TestTable:
    def test_by_hand(self) -> None:
        header, rows = table(EXPERIMENT, RECORDS, "dev")
        metrics = ("ADR-RES", "ADR", "RES")
        assert header == ["system", "T", *(f"{metric} ({size})" for size in (2, 10) for metric in metrics)]
        several = ["61.00 ± 1.41 (67.30)", "71.00 ± 1.41 (80.47)", "81.00 ± 1.41 (80.91)"]
        assert rows == [
            ["Recent+TF-IDF", "15", "40.00", "50.00", "60.00", "10.25", "20.25", "30.25"],
            ["SI-RNN", "15", *several, "– (35.76)", "– (78.53)", "– (40.83)"],
        ]

    def test_another_split_has_its_own(self) -> None:
        records = [*RECORDS, record("dynamic-rnn", split="test", accuracy=1.0)]
        assert [row[0] for row in table(EXPERIMENT, records, "test")[1]] == ["Dynamic-RNN"]
        assert len(table(EXPERIMENT, records, "dev")[1]) == 2

    def test_a_context_is_a_row(self) -> None:
        """Records of rows that are not of the experiment have no place in it."""
        records = [*RECORDS, record("sirnn", context=5, accuracy=99.0)]
        assert table(EXPERIMENT, records, "dev") == table(EXPERIMENT, RECORDS, "dev")

    def test_missing(self) -> None:
        assert [row.name for row in missing(EXPERIMENT, RECORDS)] == ["dynamic-rnn-t15-c2", "sirnn-t15-c10"]


def write(
    folder: Path,
    corpus: Corpus,
    records: list[dict[str, Any]] = RECORDS,
    *,
    experiment: Experiment = EXPERIMENT,
    title: str = "A title",
    cases: Sequence[Case] = (),
) -> tuple[str, str]:
    """The texts of the two files."""
    written = write_report(
        folder,
        experiment,
        records,
        title=title,
        notes="Made & <measured>",
        statistics=split_statistics(corpus),
        figures=[folder / "a-figure.svg"],
        cases=cases,
    )
    assert written == [folder / "report.md", folder / "report.html"]
    assert sorted(folder.iterdir()) == sorted(written)
    markdown, page = (path.read_text("utf-8") for path in written)
    return markdown, page


class TestFiles:
    def test_both_hold_the_same_tables(self, tmp_path: Path, corpus: Corpus) -> None:
        markdown, page = write(tmp_path, corpus)
        lines = [line for line in markdown.splitlines() if line.startswith("|") and "---" not in line]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        assert Cells(page).rows == rows
        header, ours = table(EXPERIMENT, RECORDS, "dev")
        assert rows[:3] == [header, *ours]
        documents = next(row for row in rows if row[0] == "documents")
        assert documents == ["documents", "6", "6,606", "2", "367", "8", "7,355"]

    def test_what_is_still_to_run(self, tmp_path: Path, corpus: Corpus) -> None:
        still = "Not run yet: Dynamic-RNN (T 15, 2), SI-RNN (T 15, 10)."
        markdown, page = write(tmp_path, corpus)
        assert still in markdown
        assert f"<p>{still}</p>" in page
        everything = [*RECORDS, record("dynamic-rnn"), record("sirnn", 10)]
        assert not any("Not run yet" in text for text in write(tmp_path, corpus, everything))

    def test_headings_and_figures(self, tmp_path: Path, corpus: Corpus) -> None:
        heading = "Accuracy on dev (1,234 samples), in percent; in brackets, the paper&#x27;s on its test"
        markdown, page = write(tmp_path, corpus)
        assert heading in page
        assert heading.replace("&#x27;", "'") in markdown
        assert "![a-figure](a-figure.svg)" in markdown
        assert '<img src="a-figure.svg" alt="a-figure">' in page

    def test_a_section_for_each_split(self, tmp_path: Path, corpus: Corpus) -> None:
        markdown, _ = write(tmp_path, corpus, [*RECORDS, record("sirnn", split="test")])
        assert re.findall(r"## Accuracy on (\w+)", markdown) == ["dev", "test"]

    def test_cases(self, tmp_path: Path, corpus: Corpus) -> None:
        systems = {"recent": System(RecentTfIdf(corpus))}
        cases = find_cases(systems, corpus, [3, 1], context=4, candidates=2)
        heading = "Cases: what each system selects from 2 responses, starred if right"
        markdown, page = write(tmp_path, corpus, cases=cases)
        assert markdown.partition(f"\n## {heading}\n\n")[2] == cases_markdown(cases)
        assert "\n".join([f"<h2>{heading}</h2>", *case_parts(cases, level=3)]) in page
        without = write(tmp_path, corpus)
        assert without[0] == markdown.partition(f"\n## {heading}")[0]
        assert not any("Cases" in text for text in without)

    def test_nothing_is_taken_for_html(self, tmp_path: Path, corpus: Corpus) -> None:
        plain = Cells(write(tmp_path, corpus)[1]).tags
        markdown, page = write(tmp_path, corpus, title="<script>alert()</script>")
        assert Cells(page).tags == plain
        assert "<title>&lt;script&gt;" in page
        assert "Made &amp; &lt;measured&gt;" in page
        assert "<script>" not in markdown
        assert "<measured>" not in markdown

    def test_the_page_asks_no_other_host(self, tmp_path: Path, corpus: Corpus) -> None:
        assert "//" not in write(tmp_path, corpus)[1]


class TestReadRecords:
    def test_in_the_order_of_their_names(self, tmp_path: Path) -> None:
        for name, each in zip("bac", RECORDS, strict=False):
            (tmp_path / f"{name}.json").write_text(json.dumps(each))
        (tmp_path / "notes.txt").write_text("no record")
        assert read_records(tmp_path) == [RECORDS[1], RECORDS[0], RECORDS[2]]

    def test_none(self, tmp_path: Path) -> None:
        with pytest.raises(TowhomError, match="there are no records"):
            read_records(tmp_path / "nowhere")
