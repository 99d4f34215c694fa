"""`towhom train-reader`: trains the reader of the large model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from towhom.cli.options import FOLDER
from towhom.cli.stages import show_scores, shown_stages
from towhom.cli.terminal import Terminal
from towhom.errors import ConfigError
from towhom.extras import require
from towhom.persistence import check_replaceable


@click.command("train-reader")
@click.argument("rooms", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("model", type=FOLDER)
@click.argument("out", type=FOLDER)
@click.option(
    "--language-model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="A small language model of the llama architecture, such as SmolLM2-135M: a GGUF file.",
)
@click.option("--data", type=FOLDER, required=True, help="The folder that contains the files named in ROOMS.")
@click.option(
    "--work", type=FOLDER, required=True, help="A folder for intermediate files; several runs can share it."
)
@click.option("--layers", type=click.IntRange(1), help="Layers of the language model.  [default: 15]")
@click.option("--frozen", type=click.IntRange(0), help="Layers that stay as they are.  [default: 7]")
@click.option("--steps", type=click.IntRange(1), help="Training steps.  [default: 2500]")
@click.option("--without", metavar="ROOM", multiple=True, help="Leave out this room; may be repeated.")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@click.option("--force", is_flag=True, help="Replace an existing model.")
def train_reader(
    rooms: Path,
    model: Path,
    out: Path,
    language_model: Path,
    data: Path,
    work: Path,
    without: tuple[str, ...],
    force: bool,
    **options: Any,
) -> None:
    """Train a reader for the Crosstalk MODEL, and write the large model, which has both, to the folder OUT.

    The reader is a small language model that learns from the ROOMS that a file lists. If a run was
    interrupted or killed, the same command continues it.
    """
    check_replaceable(out)
    if out.exists() and not force:
        raise ConfigError(f"{out}: already exists; replace it with --force")
    for package in ("torch", "gguf", "tokenizers", "scipy"):
        require(package, extra="train", purpose="training")
    from towhom.training.crosstalk.reader import ReaderConfig
    from towhom.training.crosstalk.reader_package import make_large_model
    from towhom.training.crosstalk.rooms import read_recipe

    sources = read_recipe(rooms)
    if unknown := sorted(set(without) - {source.name for source in sources}):
        raise click.UsageError(f"{rooms}: there is no room {', '.join(unknown)} in it")
    config = ReaderConfig(**{name: value for name, value in options.items() if value is not None})
    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
    with shown_stages(console) as progress:
        measured = make_large_model(
            sources, model, data, work, out, config, language_model=language_model, without=without,
            progress=progress,
        )  # fmt: skip
    show_scores(console, measured)
    console.print(str(out), markup=False)
