"""`towhom reproduce`: the paper's Table 3, on any corpus."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from towhom.cli.options import FOLDER
from towhom.cli.terminal import Terminal
from towhom.corpus import Corpus, Split
from towhom.corpus.stats import split_statistics
from towhom.experiments import Row, load_experiment
from towhom.experiments.cases import table_cases
from towhom.experiments.plots import plot_breakdowns
from towhom.experiments.report import read_records, write_report
from towhom.experiments.run import Plan, is_run_of, run_all
from towhom.extras import require
from towhom.models.registry import SYSTEMS
from towhom.text.vectors import WordVectors


@click.command()
@click.argument("out", type=FOLDER)
@click.option(
    "--corpus", "folder", type=FOLDER, required=True, help="A folder that `towhom corpus build` made."
)
@click.option("--vectors", type=FOLDER, required=True, help="A folder that `towhom vectors` made.")
@click.option("--models", type=FOLDER, help="Folder for the trained models.  [default: OUT/models]")
@click.option(
    "--system",
    "systems",
    multiple=True,
    type=click.Choice(list(SYSTEMS)),
    help="Run only these systems.  [default: all]",
)
@click.option(
    "--context",
    "contexts",
    multiple=True,
    type=int,
    help="Run only with this T; may be repeated.  [default: 5, 10, 15]",
)
@click.option(
    "--candidates",
    multiple=True,
    type=int,
    help="Run only with this number of candidates.  [default: 2 and 10]",
)
@click.option("--settings", default="ours", show_default=True, help="Settings for training: ours or paper.")
@click.option("--seeds", default=1, show_default=True, help="Number of runs of each trained system.")
@click.option(
    "--cases",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Number of telling samples in the report. They quote the logs, so use 0 for a report to publish.",
)
def reproduce(
    out: Path,
    folder: Path,
    vectors: Path,
    models: Path | None,
    systems: tuple[str, ...],
    contexts: tuple[int, ...],
    candidates: tuple[int, ...],
    settings: str,
    seeds: int,
    cases: int,
) -> None:
    """Run the grid of the paper's Table 3 on a corpus, with one record per run in OUT/records.

    A run that has a record is not repeated, and a training that was killed continues. The report covers all
    records in OUT with these data and settings.
    """
    experiment = load_experiment()
    if settings not in experiment.settings:
        known = ", ".join(experiment.settings)
        raise click.UsageError(f"there are no settings {settings!r}; known are {known}")
    corpus = Corpus(folder)
    splits = tuple(split for split in (Split.DEV, Split.TEST) if len(corpus.documents_of(split)))
    plan = Plan(
        corpus,
        WordVectors.load(vectors),
        out / "records",
        models or out / "models",
        experiment.settings[settings],
        splits,
    )
    rows = [
        row
        for row in experiment.rows
        if (not systems or row.system in systems)
        and (not contexts or row.context in contexts)
        and (not candidates or row.candidates in candidates)
    ]
    if not rows:
        raise click.UsageError("the table has no such rows; give fewer of --system, --context, --candidates")
    require("matplotlib", extra="plots", purpose="drawing figures")  # fail now rather than after hours
    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
    try:
        run_all(rows, plan, seeds=seeds, done=partial(_show_run, console))
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; run the same command again to continue") from None
    records = _records_of(plan, console)
    notes = f"{len(records)} runs; settings of the training: {settings}. Each run has its record in records/."
    written = write_report(
        out,
        experiment,
        records,
        title=f"Table 3 on {folder.name}",
        notes=notes,
        statistics=split_statistics(corpus),
        figures=[path for split in splits for path in plot_breakdowns(out, records, split=split.value)],
        cases=table_cases(experiment, records, plan, number=cases),
    )
    for path in written:
        console.print(str(path), markup=False)


def _show_run(console: Terminal, row: Row, seed: int, record: dict[str, Any]) -> None:
    for split, result in record["results"].items():
        console.print(
            f"{SYSTEMS[row.system].title:28} T {row.context:2}  C {row.candidates:2}  "
            f"seed {seed}  {split:4} ADR {result['adr']:5.2f}  RES {result['res']:5.2f}  "
            f"ADR-RES {result['adr_res']:5.2f}"
        )


def _records_of(plan: Plan, console: Terminal) -> list[dict[str, Any]]:
    """The records of a plan; also prints how many other records there are."""
    everything = read_records(plan.records)
    records = [record for record in everything if is_run_of(record, plan)]
    if others := len(everything) - len(records):
        console.print(
            f"{plan.records}: {others} records there are of other data or settings, and not in the report",
            markup=False,
        )
    return records
