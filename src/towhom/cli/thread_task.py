"""`towhom evaluate --task threads`: measures conversations against reply links that people annotated."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from towhom.cli.link_tasks import linked_logs, report
from towhom.cli.options import named_model
from towhom.cli.terminal import Terminal
from towhom.errors import LogError
from towhom.evaluation.threads import Follow, describe_threads, follow_logs
from towhom.threads.baselines import BASELINES, place_by_rule


def evaluate_threads(system: str, data: str, *, as_json: bool, out: Path | None) -> None:
    """Measure a model, or a baseline by name, together with all baselines."""
    model = None if system in BASELINES else named_model(system, BASELINES)
    logs = linked_logs(data)
    if not any(log.links for log in logs):
        raise LogError("no link is about a line of the logs", file=data)
    follow: dict[str, Follow] = {name: partial(place_by_rule, name) for name in BASELINES}
    if model is not None:
        follow[system] = model.threads
    results = {name: describe_threads(logs, follow_logs(each, logs)) for name, each in follow.items()}
    short = ("links", "conversations")
    report("threads", system, results, baselines=BASELINES, short=short, data=data, out=out, as_json=as_json)
    if not as_json:
        _show(results, Terminal(highlight=False))


def _show(results: dict[str, dict[str, Any]], console: Terminal) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for title in ("", "links\nP", "\nR", "\nF1", "\nVI", "\n1-1", "exact\nP", "\nR", "\nF1", "\nARI"):
        table.add_column(title, justify="right" if title else "left")
    for name, result in results.items():
        found = result["conversations"]
        numbers = [
            *result["links"].values(), found["variation_of_information"], found["one_to_one"],
            *found["exact_match"].values(), found["adjusted_rand_index"],
        ]  # fmt: skip
        table.add_row(name, *(f"{number:.1f}" for number in numbers))
    console.print(table)
    console.print(f"\n{next(iter(results.values()))['lines']:,} annotated lines")
