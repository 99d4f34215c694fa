"""`towhom train`: trains a system on a corpus."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from towhom.cli.options import FOLDER, PartType
from towhom.cli.terminal import Terminal
from towhom.corpus import Corpus
from towhom.documents import parse_json
from towhom.experiments import load_experiment
from towhom.extras import require
from towhom.models.registry import SYSTEMS, systems
from towhom.persistence import SavedModel, load_model
from towhom.text.vectors import WordVectors
from towhom.training.config import TrainingConfig

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

    from towhom.training.loop import Step

_DEFAULT = TrainingConfig()


@click.command()
@click.argument("out", type=FOLDER)
@click.option(
    "--corpus", "folder", type=FOLDER, required=True, help="A folder that `towhom corpus build` made."
)
@click.option(
    "--vectors", type=FOLDER, help="A folder that `towhom vectors` made; word vectors to start from."
)
@click.option(
    "--start",
    metavar="MODEL",
    type=FOLDER,
    help="A model folder to start from instead, made by `towhom train` (not `default`, which is trained "
    "in another way). Its system, settings, words and context stay.",
)
@click.option(
    "--system",
    # No module:Class, since a saved model names its system, which must be found again.
    type=PartType(
        [name for name, system in SYSTEMS.items() if system.neural],
        lambda: systems().keys() - SYSTEMS.keys(),
        targets=False,
    ),
    help=f"A system of the paper, or of a plugin.  [default: {_DEFAULT.system}]",
)
@click.option(
    "--context", type=int, help=f"T: the number of messages of context.  [default: {_DEFAULT.context}]"
)
@click.option(
    "--short", type=float, help="Share of batches with a shorter context, since every chat begins short."
)
@click.option("--candidates", type=int, help=f"Candidates per sample.  [default: {_DEFAULT.candidates}]")
@click.option(
    "--settings",
    type=click.Choice(list(load_experiment().settings)),
    default="ours",
    show_default=True,
    help="Defaults of the options below: the settings that train best, or the paper's.",
)
@click.option(
    "--set",
    "parts",
    metavar="NAME=VALUE",
    multiple=True,
    help="A setting of the system, such as hidden=50; may be repeated.",
)
@click.option("--batch", type=int, help="Samples per batch; a multiple of --run.")
@click.option("--run", type=int, help="Consecutive samples that stay together in a batch.")
@click.option("--learning-rate", type=float, help="Learning rate of Adam.")
@click.option("--weight-decay", type=float, help="Weight decay (L2).")
@click.option("--epochs", type=int, help="Largest number of epochs.")
@click.option("--patience", type=int, help="Stop after this many epochs without a better result on dev.")
@click.option(
    "--plain", is_flag=True, help="Use the plain, slow computation; each step is the same up to rounding."
)
@click.option("--force", is_flag=True, help="Replace a model that was trained with other data or settings.")
@click.option(
    "--tensorboard", type=FOLDER, help="Write TensorBoard logs to this folder (extra: tensorboard)."
)
@click.option(
    "--device",
    help="Where to compute: cpu, cuda, cuda:1 or mps.  [default: a GPU if there is one, otherwise the CPU]",
)
@click.option("--seed", default=_DEFAULT.seed, show_default=True, help="Random seed.")
def train(
    out: Path,
    folder: Path,
    vectors: Path | None,
    start: Path | None,
    settings: str,
    parts: tuple[str, ...],
    tensorboard: Path | None,
    force: bool,
    device: str | None,
    **options: Any,
) -> None:
    """Train a system and write the best model to the folder OUT.

    If a run was interrupted or killed, the same command continues it, and ends with the same weights. If OUT
    already holds the model of this command, nothing happens.
    """
    require("torch", extra="train", purpose="training")
    from towhom.training.loop import Watch
    from towhom.training.loop import train as run

    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
    if (vectors is None) == (start is None):
        raise click.UsageError("what to start from? Give either --vectors or --start")
    source = load_model(start) if start is not None else WordVectors.load(vectors or Path())
    given = {key: value for key, value in options.items() if value is not None}
    config = _config(source, settings, dict(map(_setting, parts)), given)
    with _Progress(console, tensorboard) as progress:
        watch = Watch(progress.step, progress.epoch)
        try:
            result = run(config, Corpus(folder), source, out, watch=watch, replace_model=force, device=device)
        except KeyboardInterrupt:
            raise click.ClickException("interrupted; run the same command again to continue") from None
    dev = result["dev"]
    console.print(
        f"{out}: epoch {result['best_epoch']} of {result['epochs']} was best, dev ADR {dev['adr']:.2f}, "
        f"RES {dev['res']:.2f}, ADR-RES {dev['adr_res']:.2f}; {result['seconds']:.0f} s, "
        f"{result['samples_per_second']:,} samples/s",
        markup=False,
    )


class _Progress(ExitStack):
    """Shows the progress of a training; a context manager.

    Args:
        console: The console to show it on.
        tensorboard: A folder for TensorBoard's logs; None for no logs.
    """

    def __init__(self, console: Terminal, tensorboard: Path | None) -> None:
        super().__init__()
        self._console = console
        self._writer: SummaryWriter | None = None
        if tensorboard is not None:
            require("tensorboard", extra="tensorboard", purpose="writing TensorBoard logs")
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(tensorboard))
            self.callback(self._writer.close)
        columns = (
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(30),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[state]}"),
        )
        bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._bar = self.enter_context(bar)
        self._task = bar.add_task("", total=1, epoch=1, state="")

    def step(self, step: Step) -> None:
        """Show that a batch is done."""
        state = f"loss {step.loss:.4f}, {step.samples_per_second:,.0f} samples/s"
        epoch = step.epoch + 1
        self._bar.update(self._task, completed=step.batch, total=step.batches, epoch=epoch, state=state)
        if self._writer is not None:
            self._writer.add_scalar("loss", step.loss, step.epoch * step.batches + step.batch)

    def epoch(self, measured: dict[str, Any]) -> None:
        """Show the results of an epoch."""
        dev = measured["dev"]
        if self._writer is not None:
            for metric in ("adr", "res", "adr_res"):
                self._writer.add_scalar(f"dev/{metric}", dev[metric], measured["epoch"])
            self._writer.flush()
        self._console.print(
            f"epoch {measured['epoch']:2}  loss {measured['loss']:.4f}  dev ADR {dev['adr']:.2f}  "
            f"RES {dev['res']:.2f}  ADR-RES {dev['adr_res']:.2f}"
        )


def _config(
    start: WordVectors | SavedModel, settings: str, parts: dict[str, Any], given: dict[str, Any]
) -> TrainingConfig:
    """The configuration: given settings, and the defaults for all others."""
    if isinstance(start, SavedModel):
        kept = [name for name in ("system", "context") if name in given] + ["set"] * bool(parts)
        if kept:
            raise click.UsageError(
                f"--{' and --'.join(kept)}: the model to start from has its own, which stays"
            )
        given = {**given, "system": start.system, "context": start.context}
        parts = {name: value for name, value in start.settings.items() if name != "dimensions"}
    usual = load_experiment().settings[settings]
    return TrainingConfig(**{**usual, **given, "settings": {**usual["settings"], **parts}})


def _setting(part: str) -> tuple[str, Any]:
    """Parse NAME=VALUE into a name and a number, true or false."""
    name, _, text = part.partition("=")
    try:
        value = parse_json(text)
    except ValueError:
        value = None
    if name.strip() == "dimensions":
        raise click.BadParameter("dimensions are those of the vectors", param_hint="--set")
    if not name.strip() or not isinstance(value, int | float):
        raise click.BadParameter(
            f"{part!r} is not NAME=VALUE with a number, true or false", param_hint="--set"
        )
    return name.strip(), value
