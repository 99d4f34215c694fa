"""Shows the progress of a training that has several stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from towhom.cli.terminal import Terminal

Stages = Callable[[str, int, int, float], None]
"""Called with the stage, the step, the number of steps, and the loss."""


@contextmanager
def shown_stages(console: Terminal) -> Iterator[Stages]:
    """A function that shows each step; an interruption ends with a sentence that says how to continue."""
    columns = (
        TextColumn("{task.description}"), BarColumn(30), TaskProgressColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[state]}"),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(stage: str, step: int, steps: int, loss: float) -> None:
            if stage not in tasks:
                console.print(stage)
                tasks[stage] = bar.add_task(stage, total=steps, state="")
            bar.update(tasks[stage], completed=step + 1, state=f"loss {loss:.3f}" if loss else "")

        try:
            yield progress
        except KeyboardInterrupt:
            raise click.ClickException("interrupted; run the same command again to continue") from None


def show_scores(console: Terminal, measured: dict[str, Any]) -> None:
    """Show the scores of a model on the development parts of rooms."""
    for name, found in measured.items():
        links, talks = found["links"], found["conversations"]
        console.print(
            f"{name}: links F1 {links['f1']:.2f}, conversations one-to-one {talks['one_to_one']:.2f}, "
            f"exact match F1 {talks['exact_match']['f1']:.2f}; addressees {found['addressees']:.2f} %",
            markup=False,
        )
