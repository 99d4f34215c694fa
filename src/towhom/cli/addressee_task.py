"""`towhom evaluate --task addressee`: whom do messages address, measured by links that people have drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from towhom import load
from towhom.cli.options import DEFAULT_MODEL, echo_json
from towhom.errors import TowhomError
from towhom.evaluation.addressees import (
    BASELINES,
    describe_addressees,
    follow_baseline,
    follow_logs,
    follow_model,
)
from towhom.evaluation.reply_links import read_linked_logs


def evaluate_addressees(system: str, data: str, *, as_json: bool, figures: Path | None) -> None:
    """Measure a model, or a baseline by name, beside all baselines."""
    if system not in BASELINES and system != DEFAULT_MODEL and not Path(system).exists():
        known = ", ".join((*BASELINES, DEFAULT_MODEL))
        raise TowhomError(f"{system}: there is no such model folder, nor anything of this name ({known})")
    if Path(data).is_dir() and (Path(data) / "manifest.json").is_file():
        raise click.UsageError(
            "a corpus has no reply links; --data must be logs with .links files beside them"
        )
    logs = list(read_linked_logs(data))
    results = {
        name: describe_addressees(follow_logs(follow_baseline(name), logs, resolved=True))
        for name in BASELINES
    }
    if system not in BASELINES:
        model = load(None if system == DEFAULT_MODEL else system)
        results[system] = describe_addressees(follow_logs(follow_model(model), logs))
    found = results[system]
    if not found["messages"]:
        raise TowhomError(f"{data}: the links say of no message whom it addresses")
    if figures is not None:
        from towhom.experiments.plots import plot_addressees

        for path in plot_addressees(figures, found):
            Console(stderr=True, soft_wrap=True).print(str(path), markup=False)
    if as_json:
        short = ("accuracy", "interval", "names_nobody")
        baselines = {name: {key: results[name][key] for key in short} for name in BASELINES}
        echo_json({"task": "addressee", "model": system, **found, "baselines": baselines})
        return
    _show(results, Console(highlight=False))


def _show(results: dict[str, dict[str, Any]], console: Console) -> None:
    found = next(reversed(results.values()))
    table = Table(box=None, pad_edge=False, header_style="bold")
    titles = ("", "all", "95 %", "name nobody", "95 %", "of them for somebody", "for nobody")
    for title in titles:
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for name, result in results.items():
        unnamed = result["names_nobody"]
        row = [f"{result['accuracy']:.2f}", _interval(result)]
        row += [f"{unnamed['accuracy']:.2f}", _interval(unnamed)]
        row += [f"{unnamed[key]['accuracy']:.2f}" for key in ("for_somebody", "for_nobody")]
        table.add_row(name, *row)
    console.print(table)
    unnamed = found["names_nobody"]
    console.print(f"\n{found['messages']:,} annotated messages, {unnamed['messages']:,} of them name nobody")
    if len(found["is_for"]) > 1 and found["calibration"]["bins"]:
        half = next(point for point in found["is_for"] if point["threshold"] == 0.5)
        console.print(
            f"is_for at 0.5: precision {half['precision']:.3f}, recall {half['recall']:.3f}; "
            f"calibration error {found['calibration']['error']:.3f}"
        )


def _interval(result: dict[str, Any]) -> str:
    low, high = result["interval"]
    return f"{low:.1f} – {high:.1f}"
