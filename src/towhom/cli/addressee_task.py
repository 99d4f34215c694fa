"""`towhom evaluate --task addressee`: measures addressees against reply links that people annotated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from towhom.cli.link_tasks import linked_logs, report
from towhom.cli.options import named_model
from towhom.cli.terminal import Terminal
from towhom.errors import TowhomError
from towhom.evaluation.addressees import (
    BASELINES,
    describe_addressees,
    follow_baseline,
    follow_logs,
    follow_model,
)


def evaluate_addressees(
    system: str, data: str, *, as_json: bool, figures: Path | None, out: Path | None
) -> None:
    """Measure a model, or a baseline by name, together with all baselines."""
    model = None if system in BASELINES else named_model(system, BASELINES)
    logs = linked_logs(data)
    results = {
        name: describe_addressees(follow_logs(follow_baseline(name), logs, resolved=True))
        for name in BASELINES
    }
    if model is not None:
        results[system] = describe_addressees(follow_logs(follow_model(model), logs))
    found = results[system]
    if not found["messages"]:
        raise TowhomError(f"{data}: no link says who a message is for")
    short = ("accuracy", "interval", "names_nobody")
    report(
        "addressee", system, results, baselines=BASELINES, short=short, data=data, out=out, as_json=as_json
    )
    if figures is not None:  # after the record, which notes whether files of the checkout were changed
        from towhom.experiments.plots import plot_addressees

        for path in plot_addressees(figures, found):
            Terminal(stderr=True, soft_wrap=True).print(str(path), markup=False)
    if not as_json:
        _show(results, system, Terminal(highlight=False))


def _show(results: dict[str, dict[str, Any]], system: str, console: Terminal) -> None:
    found = results[system]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("", "of all", "of those that name nobody", "for somebody", "for nobody"):
        table.add_column(title, justify="right" if title else "left")
    for name, result in results.items():
        unnamed = result["names_nobody"]
        rest = [f"{unnamed[key]['accuracy']:.2f}" for key in ("for_somebody", "for_nobody")]
        table.add_row(name, _with_interval(result), _with_interval(unnamed), *rest)
    console.print(table)
    count = found["names_nobody"]["messages"]
    console.print(f"\n{found['messages']:,} annotated messages, {count:,} of them name nobody")
    if system not in BASELINES:
        half = next(point for point in found["is_for"] if point["threshold"] == 0.5)
        console.print(
            f"is_for at 0.5: precision {half['precision']:.3f}, recall {half['recall']:.3f}; "
            f"calibration error {found['calibration']['error']:.3f}"
        )


def _with_interval(result: dict[str, Any]) -> str:
    low, high = result["interval"]
    return f"{result['accuracy']:.2f} ({low:.0f}–{high:.0f})"
