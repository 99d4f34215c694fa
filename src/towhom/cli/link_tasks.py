"""The common part of the tasks of `towhom evaluate` that use reply links which people annotated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from towhom.cli.options import echo_json
from towhom.corpus.store import is_corpus
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs
from towhom.records import circumstances, describe_data, write_record


def linked_logs(data: str) -> list[LinkedLog]:
    """The logs that `--data` names."""
    if is_corpus(Path(data)):
        raise click.UsageError(
            "a corpus has no reply links; --data must be logs with .links files beside them"
        )
    return list(read_linked_logs(data))


def report(
    task: str,
    system: str,
    results: Mapping[str, Mapping[str, Any]],
    *,
    baselines: Iterable[str],
    short: Sequence[str],
    data: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write a record, and print it as JSON, if requested.

    Args:
        task: The task that was measured.
        system: The system that was measured.
        results: Results by system, including the baselines.
        baselines: The names of the baselines.
        short: The figures to keep of each baseline.
        data: The data that it was measured on.
        out: The file for the record, if any.
        as_json: Whether to print the record as JSON.
    """
    beside = {name: {key: results[name][key] for key in short} for name in baselines}
    record = {"task": task, "model": system, **results[system], "baselines": beside}
    if out is not None:
        write_record(out, {**circumstances(), "data": describe_data([data]), **record})
    if as_json:
        echo_json(record)
