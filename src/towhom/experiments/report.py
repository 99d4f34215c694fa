"""Makes a report from records: the paper's table with our numbers and its own, figures, and some cases."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from towhom.corpus.stats import statistics_table
from towhom.errors import TowhomError
from towhom.evaluation.case_pages import case_parts, cases_markdown
from towhom.evaluation.cases import Case
from towhom.experiments import Experiment, Row
from towhom.files import atomic_file
from towhom.models.registry import SYSTEMS
from towhom.pages import html_table, markdown_table, markdown_text, page
from towhom.records import read_record

_METRICS = {"adr_res": "ADR-RES", "adr": "ADR", "res": "RES"}


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Read all records of a folder.

    Raises:
        TowhomError: There are none, or one cannot be read.
    """
    records = [read_record(path) for path in sorted(folder.glob("*.json"))]
    if not records:
        raise TowhomError(f"{folder}: there are no records; towhom reproduce makes them")
    return records


def write_report(
    folder: Path,
    experiment: Experiment,
    records: list[dict[str, Any]],
    *,
    title: str,
    notes: str,
    statistics: dict[str, Any],
    figures: list[Path],
    cases: Sequence[Case] = (),
) -> list[Path]:
    """Write `report.md` and `report.html`: the table, figures, data, cases; returns their paths."""
    markdown = [f"# {markdown_text(title)}", "", markdown_text(notes)]
    parts = [f"<h1>{html.escape(title)}</h1>", f"<p>{html.escape(notes)}</p>"]

    def section(heading: str, header: list[str], rows: list[list[str]]) -> None:
        markdown.extend(["", f"## {heading}", "", markdown_table(header, rows, numbers=True)])
        parts.extend([f"<h2>{html.escape(heading)}</h2>", html_table(header, rows, numbers=True)])

    for split in dict.fromkeys(split for record in records for split in record["results"]):
        samples = next(r["results"][split]["samples"] for r in records if split in r["results"])
        heading = (
            f"Accuracy on {split} ({samples:,} samples), in percent; in brackets, the paper's on its test"
        )
        section(heading, *table(experiment, records, split))
    for figure in figures:
        markdown += ["", f"![{figure.stem}]({figure.name})"]
        parts.append(f'<img src="{html.escape(figure.name)}" alt="{html.escape(figure.stem)}">')
    section("The data, beside the paper's", *statistics_table(statistics, paper=True))
    unfinished = [
        f"{SYSTEMS[row.system].title} (T {row.context}, {row.candidates})"
        for row in missing(experiment, records)
    ]
    if unfinished:
        still = f"Not run yet: {', '.join(unfinished)}."
        markdown += ["", still]
        parts.append(f"<p>{html.escape(still)}</p>")
    if cases:
        heading = (
            f"Cases: what each system selects from {len(cases[0].candidates)} responses, starred if right"
        )
        markdown += ["", f"## {heading}", "", cases_markdown(cases).rstrip()]
        parts += [f"<h2>{heading}</h2>", *case_parts(cases, level=3)]
    paths = [folder / "report.md", folder / "report.html"]
    for path, text in zip(paths, ("\n".join([*markdown, ""]), page(title, parts)), strict=True):
        with atomic_file(path, "w") as file:
            file.write(text)
    return paths


def table(
    experiment: Experiment, records: list[dict[str, Any]], split: str
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the paper's Table 3: our number and, in brackets, the published one."""
    by_row: dict[tuple[str, int, int], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if split in record["results"]:
            key = record["identity"]
            by_row[key["system"], key["context"], key["candidates"]].append(record["results"][split])
    sizes = sorted({row.candidates for row in experiment.rows})
    header = ["system", "T", *(f"{name} ({size})" for size in sizes for name in _METRICS.values())]
    published = {(row.system, row.context, row.candidates): row.published for row in experiment.rows}
    rows = []
    for system, context in dict.fromkeys((row.system, row.context) for row in experiment.rows):
        if not any((system, context, size) in by_row for size in sizes):
            continue
        cells = [SYSTEMS[system].title, str(context)]
        for size in sizes:
            results = by_row.get((system, context, size), [])
            theirs = published.get((system, context, size), {})
            cells += [_shown(results, metric, theirs.get(metric)) for metric in _METRICS]
        rows.append(cells)
    return header, rows


def missing(experiment: Experiment, records: list[dict[str, Any]]) -> list[Row]:
    """The rows that have no record yet."""
    done = {(r["identity"]["system"], r["identity"]["context"], r["identity"]["candidates"]) for r in records}
    return [row for row in experiment.rows if (row.system, row.context, row.candidates) not in done]


def _shown(results: list[dict[str, Any]], metric: str, published: float | None) -> str:
    values = [result[metric] for result in results]
    ours = "–" if not values else f"{mean(values):.2f}"
    if len(values) > 1:
        ours += f" ± {stdev(values):.2f}"
    return ours if published is None else f"{ours} ({published:.2f})"
