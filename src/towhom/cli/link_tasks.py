"""What the tasks of `towhom evaluate` have in common that are measured by links which people have drawn."""

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
    """Write a record, and show it to machines, as far as that is wanted.

    Args:
        task: What was measured.
        system: Of which system.
        results: By system, the baselines among them.
        baselines: Their names.
        short: What is kept of theirs.
        data: What it was measured on.
        out: Where the record goes.
        as_json: Whether machines are to see it.
    """
    beside = {name: {key: results[name][key] for key in short} for name in baselines}
    record = {"task": task, "model": system, **results[system], "baselines": beside}
    if out is not None:
        write_record(out, {**circumstances(), "data": describe_data([data]), **record})
    if as_json:
        echo_json(record)
