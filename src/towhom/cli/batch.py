"""`--into` and `--cluster`: processes many logs on any number of machines, with results in parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from towhom.batch.settings import PART, Command, Output
from towhom.chat import Kind
from towhom.cli.options import all_of, cluster_option, progress_bar, show_report
from towhom.cli.tables import Table
from towhom.cli.terminal import Terminal
from towhom.errors import LogError
from towhom.live.model import load_live
from towhom.places import Place
from towhom.readers import Report
from towhom.readers.filters import Filter

if TYPE_CHECKING:
    from towhom.batch.inputs import Input
    from towhom.batch.reports import Entry
    from towhom.batch.run import Outcome
    from towhom.batch.settings import Settings

_SHOWN = 20

batch_options = all_of(
    click.option(
        "--into",
        metavar="FOLDER",
        help="Write parts (Parquet, or JSON lines with --json) to this folder or address.",
    ),
    cluster_option,
    click.option("--part", type=click.IntRange(100), default=PART, show_default=True, help="Lines per part."),
    click.option("--force", is_flag=True, help="Replace parts that were made from other logs or settings."),
)
"""Options that let a command for one log process many."""


def one_log(logs: tuple[str, ...], *, cluster: str | None, part: int, force: bool) -> str:
    """The log of a command that reads a single one.

    Raises:
        click.UsageError: Several logs are given, or options for results in parts.
    """
    given = {"several logs": len(logs) > 1, "--cluster": cluster, "--part": part != PART, "--force": force}
    if what := [name for name, value in given.items() if value]:
        raise click.UsageError(f"{what[0]}: results go to a folder then; name it with --into")
    return logs[0]


def refuse_with_parts(table: Table, shown: Filter, **options: object) -> None:
    """Refuse options that do not apply to results in parts.

    Raises:
        click.UsageError: One of these options was given.
    """
    options |= {
        "--csv": table.kind == "csv",
        "--out": table.out,
        "--room, --since, --until, --speaker": shown,
    }
    if given := [name for name, value in options.items() if value]:
        raise click.UsageError(f"--into does not use {', '.join(given)}; choose from the rows instead")


def run_logs(
    command: Command,
    logs: tuple[str, ...],
    to: str,
    *,
    cluster: str | None,
    model: Path | None,
    table: Table,
    format: str | None,
    strict: bool,
    part: int,
    force: bool,
    kinds: tuple[Kind, ...] = (Kind.MESSAGE,),
) -> None:
    """Write the missing parts of some logs, and report the outcome."""
    from towhom.batch.settings import Settings

    model = model if model is None else model.absolute()
    settings = Settings(
        command=command, output=Output.JSON if table.kind == "json" else Output.PARQUET, model=model,
        fingerprint=load_live(model).saved.fingerprint, format=format, kinds=kinds, strict=strict, part=part,
    )  # fmt: skip
    console = Terminal(stderr=True, highlight=False, soft_wrap=True, emoji=False)
    start = perf_counter()
    _, outcome = run_on(cluster, logs, to, settings, console, force=force)
    show_report(outcome.report, console)
    for reason in list(outcome.failed.values())[:_SHOWN]:
        console.print(f"failed: {reason}", markup=False)
    console.print(
        f"{to}: {outcome.lines:,} lines of {outcome.files:,} files in {outcome.parts:,} parts, "
        f"in {perf_counter() - start:.1f} s", markup=False,
    )  # fmt: skip
    if outcome.failed:
        raise click.ClickException(
            f"{len(outcome.failed):,} failures; all other files are done. The same command tries "
            "these once more"
        )
    if not outcome.lines:
        raise LogError("no message was found", file=", ".join(logs))


def entries_on(
    cluster: str | None,
    exports: tuple[str, ...],
    to: str,
    console: Terminal,
    reading: Report,
    *,
    model: Path | None,
    format: str | None,
    force: bool,
) -> Iterator[Entry]:
    """The report's entries for all lines of some exports, computed on a cluster.

    Raises:
        LogError: A file cannot be read.
    """
    from towhom.batch.layout import Layout
    from towhom.batch.reports import entries
    from towhom.batch.settings import Settings

    model = model if model is None else model.absolute()
    settings = Settings(
        command=Command.REPORT, output=Output.JSON, model=model, whole=True, format=format,
        fingerprint=load_live(model).saved.fingerprint, strict=reading.strict,
    )  # fmt: skip
    inputs, outcome = run_on(cluster, exports, to, settings, console, force=force)
    if outcome.failed:
        raise click.ClickException("\n".join(list(outcome.failed.values())[:_SHOWN]))
    reading.add(outcome.report)
    return entries(inputs, Layout(Place(to).absolute(), settings.output.value), outcome.read)


def run_on(
    cluster: str | None, logs: tuple[str, ...], to: str, settings: Settings, console: Terminal, *, force: bool
) -> tuple[list[Input], Outcome]:
    """Process what is left of some logs, with a progress bar; returns the files and the outcome."""
    from towhom.batch.inputs import find_inputs
    from towhom.batch.layout import Layout
    from towhom.batch.run import run_batch
    from towhom.clusters import check_cluster, open_pool

    if cluster is not None:
        check_cluster(cluster)
    place = Place(to).absolute()
    inputs = find_inputs(logs, settings.format, to=place)
    with open_pool(cluster) as pool:
        if pool.where:
            console.print(pool.where, markup=False)
        with progress_bar(console) as (bar, task):

            def show(outcome: Outcome) -> None:
                counts = (
                    f"{outcome.parts:,} parts, {outcome.lines:,} lines read, {len(outcome.failed):,} failures"
                )
                bar.update(task, completed=outcome.done / max(outcome.size, 1), counts=counts)

            try:
                layout = Layout(place, settings.output.value)
                return inputs, run_batch(inputs, layout, settings, pool, replace=force, progress=show)
            except KeyboardInterrupt:
                raise click.ClickException("interrupted; run the same command again to continue") from None
