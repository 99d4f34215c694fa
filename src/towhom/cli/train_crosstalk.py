"""`towhom train-crosstalk`: trains Crosstalk on many rooms."""

from __future__ import annotations

from pathlib import Path

import click

from towhom.cli.options import FOLDER
from towhom.cli.stages import show_scores, shown_stages
from towhom.cli.terminal import Terminal
from towhom.crosstalk.folder import read_crosstalk
from towhom.errors import ConfigError
from towhom.extras import require
from towhom.live.model import bundled_lexicon
from towhom.persistence import check_replaceable


@click.command("train-crosstalk")
@click.argument("rooms", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("out", type=FOLDER)
@click.option("--data", type=FOLDER, required=True, help="The folder that contains the files named in ROOMS.")
@click.option(
    "--work", type=FOLDER, required=True, help="A folder for intermediate files; several runs can share it."
)
@click.option(
    "--encoder", type=FOLDER, help="A published sentence encoder (BERT) whose vectors to start from."
)
@click.option(
    "--words-of", type=FOLDER, help="A model whose words to take, instead of training them: a model folder."
)
@click.option("--without", metavar="ROOM", multiple=True, help="Leave out this room; may be repeated.")
@click.option("--open", "open_only", is_flag=True, help="Use only rooms with an open licence.")
@click.option("--text-steps", type=click.IntRange(1), help="Training steps for the words.")
@click.option("--looks-steps", type=click.IntRange(1), help="Training steps for the looks.")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@click.option("--force", is_flag=True, help="Replace an existing model.")
def train_crosstalk(
    rooms: Path,
    out: Path,
    data: Path,
    work: Path,
    encoder: Path | None,
    words_of: Path | None,
    without: tuple[str, ...],
    open_only: bool,
    text_steps: int | None,
    looks_steps: int | None,
    seed: int,
    force: bool,
) -> None:
    """Train Crosstalk on the ROOMS that a file lists, and write the model to the folder OUT.

    If a run was interrupted or killed, the same command continues it.
    """
    check_replaceable(out)
    if out.exists() and not force:
        raise ConfigError(f"{out}: already exists; replace it with --force")
    if encoder is not None and words_of is not None:
        raise click.UsageError("--encoder is for training words, --words-of takes those of a model; give one")
    require("torch", extra="train", purpose="training")
    from towhom.training.crosstalk.package import make_model
    from towhom.training.crosstalk.rooms import read_recipe
    from towhom.training.crosstalk.run import Settings

    sources = read_recipe(rooms)
    if unknown := sorted(set(without) - {source.name for source in sources}):
        raise click.UsageError(f"{rooms}: there is no room {', '.join(unknown)} in it")
    if open_only:
        sources = [source for source in sources if source.open]
    settings = Settings.of(text_steps=text_steps, looks_steps=looks_steps, without=without, seed=seed)
    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
    with shown_stages(console) as progress:
        measured = make_model(
            sources, data, work, out, settings, lexicon=bundled_lexicon(), encoder=encoder,
            words_of=None if words_of is None else read_crosstalk(words_of), progress=progress,
        )  # fmt: skip
    show_scores(console, measured)
    console.print(str(out), markup=False)
