"""Options and output functions that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from towhom import load
from towhom.chat import Kind
from towhom.cli.terminal import Terminal
from towhom.errors import TowhomError
from towhom.files import atomic_file
from towhom.plugins import is_target
from towhom.readers import READERS, Report, readers
from towhom.readers.filters import Filter

if TYPE_CHECKING:
    from towhom.live import Model

_SHOWN = 5

Command = TypeVar("Command", bound=Callable[..., Any])

# A name rather than a file, so that click leaves "-" and patterns alone.
LOGS = click.Path(allow_dash=True)
FOLDER = click.Path(file_okay=False, path_type=Path)
DEFAULT_MODEL = "default"
"""The name of the model that comes with towhom."""


class ModelType(click.Path):
    """The folder of a model, or the name of the large one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The folder."""
        from towhom.live.model import LARGE, large_folder

        return large_folder() if value == LARGE else super().convert(value, param, ctx)


MODEL = ModelType(file_okay=False, exists=True, path_type=Path)


class PartType(click.Choice[str]):
    """The name of a part of towhom or of an installed package, or `module:Class`.

    Args:
        ours: The names of towhom's own parts, which help shows.
        known: Gives all names; called only for a name that is not among `ours`.
        targets: Whether `module:Class` is allowed.
    """

    def __init__(
        self, ours: Iterable[str], known: Callable[[], Iterable[str]], *, targets: bool = True
    ) -> None:
        super().__init__(list(ours))
        self._known, self._targets = known, targets

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The given name, if there is such a part."""
        if value in self.choices or (self._targets and is_target(value)) or value in self._known():
            return str(value)
        return super().convert(value, param, ctx)


FORMAT = PartType(READERS, readers)


def named_model(name: str, others: Iterable[str]) -> Model:
    """The model of a folder, the one that comes with towhom, or the large one.

    Args:
        name: A folder, `DEFAULT_MODEL`, or `large`.
        others: Other possible names, for the error message.

    Raises:
        TowhomError: There is no model of this name.
    """
    from towhom.live.model import LARGE

    if name not in (DEFAULT_MODEL, LARGE) and not Path(name).exists():
        known = ", ".join((*others, DEFAULT_MODEL, LARGE))
        raise TowhomError(f"{name}: there is no such model folder, nor anything of this name ({known})")
    return load(None if name == DEFAULT_MODEL else name)


def all_of(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _keep(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Store the value of `--columns` or `--pattern` for `_with_options`."""
    if value is not None:
        context.meta[f"towhom.{option.name}"] = value


def _with_options(context: click.Context, _: click.Parameter, format: str | None) -> str | None:
    """The format with the value of `--columns` or `--pattern`, as `towhom.readers` takes it."""
    for option, name in (("columns", "table"), ("pattern", "pattern")):
        told = context.meta.get(f"towhom.{option}")
        if told is not None:
            if format not in (None, name) and not (format or "").startswith(f"{name}:"):
                raise click.UsageError(f"--{option} is for the format {name}, not for {format}")
            format = f"{name}:{told}"
    return format


log_options = all_of(
    click.option(
        "--format",
        type=FORMAT,
        callback=_with_options,
        help="The format of the logs, also of a plugin or as module:Class.  [default: recognized]",
    ),
    click.option(
        "--columns",
        metavar="FIELD=NAME,...",
        callback=_keep,
        is_eager=True,
        expose_value=False,
        help="Columns of a table: speaker=from,text=body; also time, id, reply_to, channel, addressee.",
    ),
    click.option(
        "--pattern",
        metavar="PATTERN",
        callback=_keep,
        is_eager=True,
        expose_value=False,
        help="The pattern of the lines of a text log, such as '[{time}] <{speaker}> {text}'.",
    ),
    click.option("--strict", is_flag=True, help="Stop at the first malformed line."),
)
"""Options for reading logs, for commands that need all lines."""

format_options = all_of(
    log_options,
    click.option(
        "--keep",
        multiple=True,
        type=click.Choice([Kind.ACTION.value, Kind.NOTICE.value]),
        help="Treat lines of this kind as messages; may be repeated.",
    ),
)
"""Options for reading logs."""


def _moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Parse a day, or a day and a time."""
    try:
        return None if value is None else datetime.fromisoformat(value.strip())
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a date like 2024-05-31 or 2024-05-31T14:00") from None


def filter_options(command: Command) -> Command:
    """Options that choose messages; the command gets a `shown`."""

    @wraps(command)
    def with_filter(
        *arguments: Any,
        room: tuple[str, ...],
        since: datetime | None,
        until: datetime | None,
        speaker: tuple[str, ...],
        **others: Any,
    ) -> Any:
        return command(*arguments, shown=Filter(room, since, until, speaker), **others)

    options: Callable[[Any], Command] = all_of(
        click.option("--room", multiple=True, help="Only this room; may be repeated."),
        click.option("--since", metavar="DATE", callback=_moment, help="Only from this day or time on."),
        click.option(
            "--until",
            metavar="DATE",
            callback=_moment,
            help="Only up to this day or time; a day counts to its end.",
        ),
        click.option("--speaker", multiple=True, help="Only messages by this person; may be repeated."),
    )
    return options(with_filter)


model_option = click.option(
    "--model", type=MODEL, help="A model folder, or large.  [default: the model that comes with towhom]"
)
cluster_option = click.option(
    "--cluster",
    help="Where to run: local (one process per core), local:N (N processes), or a Dask scheduler, tcp://HOST:8786.",
)
output_option = click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file."
)
record_option = click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write a record of the run."
)

reading_options = all_of(
    format_options,
    click.option("--ignore-case", is_flag=True, help='Let "Ada:" address ada, too.'),
    click.option(
        "--follow-renames", is_flag=True, help="Treat people who change their names as the same speaker."
    ),
)
"""Options for reading logs, for commands that have whole documents."""


def kept_kinds(keep: tuple[str, ...]) -> tuple[Kind, ...]:
    """The kinds of lines to keep: messages, and those that the user wants to count as messages."""
    return (Kind.MESSAGE, *(Kind(kind) for kind in keep))


def show_report(report: Report, console: Terminal) -> None:
    """Print a summary of a reading in a few lines on standard error."""
    for line in report.assumptions[:_SHOWN]:
        console.print(f"[yellow]assumed[/] {escape(line)}")
    if len(report.assumptions) > _SHOWN:
        console.print(f"[yellow]assumed[/] the like of {len(report.assumptions) - _SHOWN:,} more files")
    for lines, total in (
        (report.problems, report.malformed),
        (report.skipped_files, len(report.skipped_files)),
    ):
        for line in lines[:_SHOWN]:
            console.print(f"[yellow]skipped[/] {escape(line)}")
        if total > _SHOWN:
            console.print(f"[yellow]skipped[/] and {total - _SHOWN:,} more like these")
    others = [kind for kind in sorted(report.kinds) if kind not in (Kind.MESSAGE, Kind.DAY)]
    counts = [f"{report.kinds[kind]:,} {kind.value} lines" for kind in others]
    if report.malformed:
        counts.append(f"{report.malformed:,} malformed lines")
    if report.redecoded:
        counts.append(f"{report.redecoded:,} lines that are not UTF-8, read as Windows-1252")
    if counts:
        console.print(f"besides {report.kinds[Kind.MESSAGE]:,} messages: {', '.join(counts)}")


@contextmanager
def progress_bar(console: Terminal) -> Iterator[tuple[Progress, TaskID]]:
    """A progress bar; nothing is shown if the output is not a terminal."""
    columns = (
        BarColumn(30),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[counts]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield bar, bar.add_task("", total=1.0, counts="")


@contextmanager
def output(out: Path | None) -> Iterator[IO[str]]:
    """The output for results: a file, which appears when it is complete, or standard output."""
    if out is None:
        yield sys.stdout
    else:
        with atomic_file(out, "w") as file:
            yield file


def encodable(text: str) -> str:
    """A text in which half a surrogate pair, which UTF-8 cannot encode, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def echo_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    click.echo(encodable(json.dumps(value, indent=2, ensure_ascii=False)))
