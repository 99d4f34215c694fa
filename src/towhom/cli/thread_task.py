"""`towhom evaluate --task threads`: conversations pulled apart, measured by links that people have drawn."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from towhom.cli.options import echo_json, named_model
from towhom.corpus.store import is_corpus
from towhom.errors import LogError
from towhom.evaluation.reply_links import read_linked_logs
from towhom.evaluation.threads import Follow, describe_threads, follow_logs
from towhom.records import circumstances, describe_data, write_record
from towhom.threads.baselines import BASELINES, place_by_rule


def evaluate_threads(system: str, data: str, *, as_json: bool, out: Path | None) -> None:
    """Measure a model, or a baseline by name, beside all baselines."""
    model = None if system in BASELINES else named_model(system, BASELINES)
    if is_corpus(Path(data)):
        raise click.UsageError(
            "a corpus has no reply links; --data must be logs with .links files beside them"
        )
    logs = list(read_linked_logs(data))
    if not any(log.links for log in logs):
        raise LogError("the links say nothing of any line", file=data)
    follow: dict[str, Follow] = {name: partial(place_by_rule, name) for name in BASELINES}
    if model is not None:
        follow[system] = model.threads
    results = {name: describe_threads(logs, follow_logs(each, logs)) for name, each in follow.items()}
    short = ("links", "conversations")
    baselines = {name: {key: results[name][key] for key in short} for name in BASELINES}
    record = {"task": "threads", "model": system, **results[system], "baselines": baselines}
    if out is not None:
        write_record(out, {**circumstances(), "data": describe_data([data]), **record})
    if as_json:
        echo_json(record)
        return
    _show(results, Console(highlight=False))


def _show(results: dict[str, dict[str, Any]], console: Console) -> None:
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
