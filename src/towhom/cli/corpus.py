"""`towhom corpus`: build, describe, export."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import click
from rich.markup import escape
from rich.table import Table

from towhom.chat import Kind
from towhom.cli.options import (
    FOLDER,
    LOGS,
    cluster_option,
    echo_json,
    kept_kinds,
    model_option,
    progress_bar,
    reading_options,
    show_report,
)
from towhom.cli.terminal import Terminal
from towhom.corpus import Corpus, CorpusSettings, DocumentSettings, Names, Split, SplitBy, build_corpus
from towhom.corpus import build as building
from towhom.corpus.stats import TOTAL, split_statistics, statistics_table
from towhom.errors import CorpusError
from towhom.pages import markdown_table
from towhom.readers import Report
from towhom.visible import visible


@click.group()
def corpus() -> None:
    """Build, describe and export corpora for training and evaluation."""


@corpus.command()
@click.argument("out", type=FOLDER)
@click.argument("logs", metavar="[LOG]...", type=LOGS, nargs=-1)
@click.option("--train", type=LOGS, multiple=True, help="Logs for training only.")
@click.option("--dev", type=LOGS, multiple=True, help="Logs for development only.")
@click.option("--test", type=LOGS, multiple=True, help="Logs for testing only.")
@reading_options
@click.option(
    "--seed", default=0, show_default=True, help="Seed for false candidates and for the random split."
)
@click.option(
    "--candidates",
    multiple=True,
    type=int,
    default=(2, 10),
    show_default=True,
    help="Candidates per sample; may be repeated for several sets.",
)
@click.option(
    "--min-addressed",
    default=10,
    show_default=True,
    help="Leave out documents with fewer addressed messages than this.",
)
@click.option(
    "--split-by",
    type=click.Choice([by.value for by in SplitBy]),
    default=SplitBy.RANDOM.value,
    show_default=True,
    help="How to split the documents of LOG: at random, or with each log's last ones for dev and test.",
)
@click.option(
    "--dev-share", default=0.05, show_default=True, help="Share of the documents of LOG for development."
)
@click.option(
    "--test-share", default=0.05, show_default=True, help="Share of the documents of LOG for testing."
)
@click.option(
    "--names",
    type=click.Choice([names.value for names in Names]),
    default=Names.HIDE.value,
    show_default=True,
    help="Replace speakers' names in texts, or keep them as in the published corpus.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    help="Number of processes; the corpus is the same for any number.",
)
@cluster_option
@click.option("--force", is_flag=True, help="Replace a corpus that was built from other logs or settings.")
@click.option("--quiet", is_flag=True, help="Print only errors.")
def build(
    out: Path,
    logs: tuple[str, ...],
    train: tuple[str, ...],
    dev: tuple[str, ...],
    test: tuple[str, ...],
    format: str | None,
    strict: bool,
    ignore_case: bool,
    follow_renames: bool,
    keep: tuple[str, ...],
    workers: int,
    cluster: str | None,
    force: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Build a corpus in the folder OUT from chat logs, by the protocol of the paper.

    LOG is a file, a folder, a zip archive; .gz, .xz and .bz2 are read as they are. A day of a channel is a
    document. A second run with the same logs and settings does nothing.
    """
    document = DocumentSettings(
        seed=settings["seed"],
        candidates=settings["candidates"],
        min_addressed=settings["min_addressed"],
        ignore_case=ignore_case,
        follow_renames=follow_renames,
        kinds=kept_kinds(keep),
        strict=strict,
    )
    console = Terminal(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
    before = _hash(out)
    start = perf_counter()
    with progress_bar(console) as (bar, task):

        def show(done: building.Progress) -> None:
            speed = done.messages / max(perf_counter() - start, 1e-9)
            counts = f"{done.documents:,} documents, {done.messages:,} messages, {speed:,.0f} a second"
            bar.update(task, completed=done.share, counts=counts)

        try:
            built = build_corpus(
                out,
                logs,
                splits={Split.TRAIN: train, Split.DEV: dev, Split.TEST: test},
                format=format,
                settings=CorpusSettings(
                    document=document,
                    names=Names(settings["names"]),
                    split_by=SplitBy(settings["split_by"]),
                    dev_share=settings["dev_share"],
                    test_share=settings["test_share"],
                ),
                workers=workers,
                cluster=cluster,
                replace=force,
                progress=show,
            )
        except KeyboardInterrupt:
            raise click.ClickException(f"interrupted; nothing was written to {out}") from None
    if built.manifest["hash"] == before:
        console.print(f"{escape(str(out))} is up to date.")
        return
    _show_built(built, console, perf_counter() - start)


def _hash(folder: Path) -> str | None:
    try:
        return str(Corpus(folder).manifest["hash"])
    except CorpusError:  # there is none, or the build reports the problem in more detail
        return None


def _show_built(built: Corpus, console: Terminal, seconds: float) -> None:
    manifest = built.manifest
    read, left_out = manifest["read"], manifest["left_out"]
    report = Report(malformed=read["malformed"], redecoded=read["not_utf8"], problems=read["problems"])
    report.kinds.update({Kind(kind): count for kind, count in read["lines"].items()})
    show_report(report, console)
    if read["files_skipped"]:
        console.print(f"{read['files_skipped']:,} files are no logs in a known format and were left out")
    if left_out["documents"]:
        console.print(
            f"{left_out['documents']:,} documents ({left_out['messages']:,} messages) were left out: "
            f"fewer than {manifest['settings']['min_addressed']} addressed messages (--min-addressed), "
            f"or fewer messages than a sample has candidates"
        )
    total = manifest["statistics"][TOTAL]
    console.print(
        f"[bold]{escape(str(built.folder))}[/]: {total['documents']:,} documents, "
        f"{total['messages']:,} messages, {total['samples']:,} samples, in {seconds:.1f} s"
    )


@corpus.command()
@click.argument("folder", metavar="CORPUS", type=FOLDER)
@click.option("--paper", is_flag=True, help="Show the published figures beside ours.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", is_flag=True, help="Print a Markdown table.")
def stats(folder: Path, paper: bool, as_json: bool, markdown: bool) -> None:
    """Print the paper's table of data for each split of CORPUS."""
    statistics = split_statistics(Corpus(folder))
    if as_json:
        echo_json(statistics)
        return
    header, rows = statistics_table(statistics, paper=paper)
    if markdown:
        click.echo(markdown_table(header, rows, numbers=True))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        justify: Literal["right", "left"] = "right" if name else "left"
        table.add_column(name, justify=justify, no_wrap=True, style="dim" if name == "paper" else None)
    for cells in rows:
        table.add_row(*cells)
    Terminal(highlight=False).print(table)


@corpus.command()
@click.argument("folder", metavar="CORPUS", type=FOLDER)
@click.argument("out", type=FOLDER)
def export(folder: Path, out: Path) -> None:
    """Write CORPUS to the folder OUT as Parquet, for Polars, DuckDB, pandas or Hugging Face datasets."""
    from towhom.corpus.export import export_parquet

    for path, rows in export_parquet(Corpus(folder), out).items():
        click.echo(visible(f"{path}: {rows:,} rows"))


@corpus.command()
@click.argument("folder", metavar="CORPUS", type=FOLDER)
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@model_option
@click.option(
    "--least", default=1, show_default=True, help="Leave out conversations with fewer messages than this."
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    help="Number of processes; the file is the same for any number.",
)
@cluster_option
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--quiet", is_flag=True, help="Print only errors.")
def disentangle(
    folder: Path,
    out: Path,
    model: Path | None,
    least: int,
    workers: int,
    cluster: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Separate the conversations of CORPUS, and write them to the file OUT as JSON lines.

    Each record is a conversation. After an interruption, the same command continues.
    """
    from towhom.live.disentangle import Done
    from towhom.live.disentangle import disentangle as run

    opened = Corpus(folder)
    total, start = len(opened.messages.speaker), perf_counter()
    console = Terminal(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
    with progress_bar(console) as (bar, task):

        def show(done: Done) -> None:
            speed = done.messages / max(perf_counter() - start, 1e-9)
            counts = (
                f"{done.messages:,} messages, {done.conversations:,} conversations, {speed:,.0f} a second"
            )
            bar.update(task, completed=done.messages / max(total, 1), counts=counts)

        try:
            done = run(
                opened, out, model=model, workers=workers, cluster=cluster, least=least, replace=force,
                progress=show,
            )  # fmt: skip
        except KeyboardInterrupt:
            raise click.ClickException("interrupted; run the same command again to continue") from None
    console.print(
        f"{out}: {done.conversations:,} conversations of {done.documents:,} documents, "
        f"{done.messages:,} messages, in {perf_counter() - start:.1f} s", markup=False,
    )  # fmt: skip
