"""`towhom cases`: what each system selects, sample by sample."""

from __future__ import annotations

import html
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from towhom.chat import Conversation
from towhom.cli.evaluate import load_system, open_data
from towhom.cli.show import show_conversation
from towhom.evaluation.cases import Case, Selected, System, find_cases
from towhom.files import atomic_file


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option(
    "--data", required=True, help="A corpus with :dev or :test after it, or a file in the paper's format."
)
@click.option("--sample", "samples", type=int, multiple=True, help="Show these.  [default: the most telling]")
@click.option("--number", default=3, show_default=True, help="How many of the most telling ones.")
@click.option("--context", default=15, show_default=True, help="T, messages of context.")
@click.option("--candidates", default=10, show_default=True, help="C.")
@click.option(
    "--format",
    type=click.Choice(["text", "markdown", "html"]),
    default="text",
    show_default=True,
    help="How to write them.",
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
    """Show what each MODEL (folders or baselines, the one of interest last) selects; the truth is starred.

    The most telling samples are those that the last model gets right and the others do not.
    """
    with open_data(data) as (corpus, split):
        systems = {}
        for model in models:
            selector, _, words = load_system(model, corpus)
            systems[Path(model).name] = System(selector, words)
        available = corpus.samples_of(split)
        if samples and max(samples) >= len(corpus.samples.message):
            raise click.UsageError(
                f"there are {len(corpus.samples.message):,} samples, no number {max(samples)}"
            )
        found = find_cases(
            systems,
            corpus,
            samples or available,
            context=context,
            candidates=candidates,
            telling=None if samples else number,
        )
    if format == "text" and out is None:
        console = Console(highlight=False)
        for case in found:
            _show(case, console)
        return
    text = _html(found) if format == "html" else "\n".join(map(_markdown, found))
    if out is None:
        click.echo(text)
    else:
        with atomic_file(out, "w") as file:
            file.write(text)


def _star(right: bool) -> str:
    return "★ " if right else ""


def _show(case: Case, console: Console) -> None:
    show_conversation(Conversation(case.context, f"sample {case.sample}"), console)
    console.print(Text.assemble("\nnext speaks ", (case.responder, "bold")))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("system", "addressee", "response"):
        table.add_column(title, overflow="fold")
    for name, chosen in case.selected.items():
        table.add_row(name, *(Text(cell) for cell in _cells(chosen)))
    table.add_row("truth", Text(case.addressee), Text(case.response), style="dim")
    console.print(table)
    console.print()


def _cells(chosen: Selected) -> tuple[str, str]:
    addressee = _star(chosen.right_addressee) + (chosen.addressee or "–")
    return addressee, _star(chosen.right_response) + chosen.response


def _markdown(case: Case) -> str:
    def cell(text: str) -> str:
        return text.replace("|", "\\|")

    lines = [f"### Sample {case.sample}: {cell(case.responder)} speaks next", ""]
    lines += ["| sender | addressee | utterance |", "|---|---|---|"]
    lines += [f"| {cell(m.speaker)} | {cell(m.addressee or '–')} | {cell(m.text)} |" for m in case.context]
    lines += ["", "| system | addressee | response |", "|---|---|---|"]
    for name, chosen in case.selected.items():
        lines.append(f"| {name} | " + " | ".join(map(cell, _cells(chosen))) + " |")
    return "\n".join([*lines, f"| truth | {cell(case.addressee)} | {cell(case.response)} |", ""])


def _html(found: list[Case]) -> str:
    def row(*cells: str) -> str:
        return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"

    parts = []
    for case in found:
        context = "".join(row(m.speaker, m.addressee or "–", m.text) for m in case.context)
        chosen = "".join(row(name, *_cells(each)) for name, each in case.selected.items())
        truth = row("truth", case.addressee, case.response)
        parts.append(
            f"<h2>Sample {case.sample}: {html.escape(case.responder)} speaks next</h2>"
            f"<table>{context}</table><table class=chosen>{chosen}{truth}</table>"
        )
    style = (
        ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60em;"
        "margin:2em auto;padding:0 1em}td{padding:.15em .6em;vertical-align:top}table{margin-bottom:1em}"
        ".chosen{border-top:2px solid #8888}"
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Cases</title><style>{style}</style>'
        f"<body>{''.join(parts)}</body></html>\n"
    )
