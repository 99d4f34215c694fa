"""`towhom cases`: what each system selects, sample by sample."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

import click
from rich.table import Table
from rich.text import Text

from towhom.chat import Conversation
from towhom.cli.evaluate import load_system, open_data
from towhom.cli.show import show_conversation
from towhom.cli.terminal import Terminal
from towhom.errors import TowhomError
from towhom.evaluation.case_pages import CHOSEN, cases_html, cases_markdown, chosen_rows
from towhom.evaluation.cases import Case, System, find_cases
from towhom.evaluation.evaluator import samples_to_measure
from towhom.files import atomic_file
from towhom.visible import visible


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option(
    "--data", required=True, help="A corpus followed by :dev or :test, or a file in the paper's format."
)
@click.option(
    "--sample",
    "samples",
    type=int,
    multiple=True,
    help="Show the sample with this number; may be repeated.  [default: the most telling ones]",
)
@click.option("--number", default=3, show_default=True, help="How many of the most telling samples to show.")
@click.option("--context", default=15, show_default=True, help="T: the number of messages of context.")
@click.option("--candidates", default=10, show_default=True, help="C: the number of candidates per sample.")
@click.option(
    "--format",
    type=click.Choice(["text", "markdown", "html"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
def cases(
    models: tuple[str, ...],
    data: str,
    samples: tuple[int, ...],
    number: int,
    context: int,
    candidates: int,
    format: str,
    out: Path | None,
) -> None:
    """Show what each MODEL (folders or baselines, the one of interest last) selects; the truth has a star.

    The most telling samples are those that only the last model gets right.
    """
    with open_data(data) as (corpus, split):
        available = samples_to_measure(corpus, split, candidates)
        total = len(corpus.samples.message)
        if unknown := [sample for sample in samples if not 0 <= sample < total]:
            raise click.UsageError(f"there are {total:,} samples, from 0 on; no number {unknown[0]}")
        names = [Path(model).name for model in models]
        systems = {}
        for model, name in zip(models, names, strict=True):
            selector, _, words = load_system(model, corpus)
            systems[name if names.count(name) == 1 else model] = System(selector, words)
        found = find_cases(
            systems,
            corpus,
            samples or available,
            context=context,
            candidates=candidates,
            telling=None if samples else number,
        )
    if not found:
        raise TowhomError(
            f"there is no telling case: {Path(models[-1]).name} is right about none of the samples"
        )
    if out is None:
        _write(found, format, sys.stdout)
    else:
        with atomic_file(out, "w") as file:
            _write(found, format, file)


def _write(found: list[Case], format: str, file: IO[str]) -> None:
    if format == "text":
        console = Terminal(file=file, highlight=False)
        for case in found:
            _show(case, console)
    else:
        file.write(visible(cases_html(found) if format == "html" else cases_markdown(found)))


def _show(case: Case, console: Terminal) -> None:
    show_conversation(Conversation(case.context, f"sample {case.sample}"), console)
    console.print(Text.assemble("\nnext speaks ", (case.responder, "bold")))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in CHOSEN:
        table.add_column(title, overflow="fold")
    for cells in chosen_rows(case):
        table.add_row(*(Text(visible(cell)) for cell in cells))
    console.print(table)
    console.print()
