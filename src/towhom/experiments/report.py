"""Records to a report: the paper's table with its numbers beside ours, and the figures."""

from __future__ import annotations

import html
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from towhom.errors import TowhomError
from towhom.experiments import Experiment, Row
from towhom.files import atomic_file
from towhom.models.registry import SYSTEMS

_METRICS = {"adr_res": "ADR-RES", "adr": "ADR", "res": "RES"}
Cell = tuple[str, str]
"""Ours and the published one, as shown."""


def read_records(folder: Path) -> list[dict[str, Any]]:
    """All records of a folder.

    Raises:
        TowhomError: There are none.
    """
    records = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    if not records:
        raise TowhomError(f"{folder}: there are no records; towhom reproduce makes them")
    return records


def write_report(
    folder: Path,
    experiment: Experiment,
    records: list[dict[str, Any]],
    *,
    title: str,
    notes: str = "",
    figures: list[Path] | None = None,
) -> list[Path]:
    """Write `report.md` and `report.html`; returns them."""
    splits = list(dict.fromkeys(split for record in records for split in record["results"]))
    sections = [(split, *table(experiment, records, split)) for split in splits]
    markdown = [f"# {title}", "", notes, ""]
    page = [f"<h1>{html.escape(title)}</h1>", f"<p>{html.escape(notes)}</p>"]
    for split, header, rows in sections:
        samples = next(r["results"][split]["samples"] for r in records if split in r["results"])
        heading = (
            f"Accuracy on {split} ({samples:,} samples), in percent; in brackets, the paper's on its test"
        )
        markdown += [f"## {heading}", "", *_markdown(header, rows), ""]
        page += [f"<h2>{html.escape(heading)}</h2>", _html(header, rows)]
    for figure in figures or ():
        markdown += [f"![{figure.stem}]({figure.name})", ""]
        page.append(f'<img src="{html.escape(figure.name)}" alt="{html.escape(figure.stem)}">')
    paths = [folder / "report.md", folder / "report.html"]
    texts = ("\n".join(markdown), _PAGE.format(title=html.escape(title), body="\n".join(page)))
    for path, text in zip(paths, texts, strict=True):
        with atomic_file(path, "w") as file:
            file.write(text)
    return paths


def table(
    experiment: Experiment, records: list[dict[str, Any]], split: str
) -> tuple[list[str], list[tuple[str, int, list[Cell]]]]:
    """The header, and for each system and context its cells."""
    by_row: dict[tuple[str, int, int], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if split in record["results"]:
            key = record["identity"]
            by_row[key["system"], key["context"], key["candidates"]].append(record["results"][split])
    sizes = sorted({row.candidates for row in experiment.rows})
    header = [f"{name} ({size})" for size in sizes for name in _METRICS.values()]
    published = {(row.system, row.context, row.candidates): row.published for row in experiment.rows}
    rows = []
    for system, context in dict.fromkeys((row.system, row.context) for row in experiment.rows):
        if not any((system, context, size) in by_row for size in sizes):
            continue
        cells = []
        for size in sizes:
            results = by_row.get((system, context, size), [])
            theirs = published.get((system, context, size), {})
            cells += [(_shown(results, metric), _published(theirs.get(metric))) for metric in _METRICS]
        rows.append((system, context, cells))
    return header, rows


def missing(experiment: Experiment, records: list[dict[str, Any]]) -> list[Row]:
    """The rows that have no record yet."""
    done = {(r["identity"]["system"], r["identity"]["context"], r["identity"]["candidates"]) for r in records}
    return [row for row in experiment.rows if (row.system, row.context, row.candidates) not in done]


def _shown(results: list[dict[str, Any]], metric: str) -> str:
    values = [result[metric] for result in results]
    if not values:
        return "–"
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def _published(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _markdown(header: list[str], rows: list[tuple[str, int, list[Cell]]]) -> list[str]:
    lines = ["| system | T | " + " | ".join(header) + " |", "|---|---:|" + "---:|" * len(header)]
    for system, context, cells in rows:
        shown = [f"{ours} ({theirs})" if theirs else ours for ours, theirs in cells]
        lines.append(f"| {SYSTEMS[system].title} | {context} | " + " | ".join(shown) + " |")
    return lines


def _html(header: list[str], rows: list[tuple[str, int, list[Cell]]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ("system", "T", *header))
    body = []
    for system, context, cells in rows:
        shown = "".join(f"<td>{ours} <small>{theirs}</small></td>" for ours, theirs in cells)
        body.append(f"<tr><td>{html.escape(SYSTEMS[system].title)}</td><td>{context}</td>{shown}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
td, th {{ padding: .25em .7em; text-align: right; border-bottom: 1px solid #8884 }}
td:first-child, th:first-child {{ text-align: left }}
small {{ opacity: .6 }} img {{ max-width: 100% }}
</style></head><body>
{body}
</body></html>
"""
