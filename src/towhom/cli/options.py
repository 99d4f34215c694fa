"""Options that several commands share, and how they report."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click
from rich.markup import escape

from towhom import load
from towhom.chat import Kind
from towhom.cli.terminal import Terminal
from towhom.errors import TowhomError
from towhom.files import atomic_file
from towhom.readers import READERS, Report
from towhom.visible import visible

if TYPE_CHECKING:
    from towhom.live import Model

_SHOWN = 5

Command = TypeVar("Command", bound=Callable[..., Any])

# A name, not a file's: click would otherwise want "-" and globs treated for us.
LOGS = click.Path(allow_dash=True)
FOLDER = click.Path(file_okay=False, path_type=Path)
DEFAULT_MODEL = "default"
"""What the model that comes with towhom is called."""
MODEL = click.Path(file_okay=False, exists=True, path_type=Path)


def named_model(name: str, others: Iterable[str]) -> Model:
    """The model of a folder, or the one that comes with towhom.

    Args:
        name: A folder, or `DEFAULT_MODEL`.
        others: What else could have been meant, for the error.

    Raises:
        TowhomError: There is nothing of this name.
    """
    if name != DEFAULT_MODEL and not Path(name).exists():
        known = ", ".join((*others, DEFAULT_MODEL))
        raise TowhomError(f"{name}: there is no such model folder, nor anything of this name ({known})")
    return load(None if name == DEFAULT_MODEL else name)


def _all_of(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


log_options = _all_of(
    click.option(
        "--format", type=click.Choice(list(READERS)), help="The logs' format.  [default: found by looking]"
    ),
    click.option("--strict", is_flag=True, help="Stop at the first malformed line."),
)
"""How logs are read, where all lines are wanted."""

format_options = _all_of(
    log_options,
    click.option(
        "--keep",
        multiple=True,
        type=click.Choice([Kind.ACTION.value, Kind.NOTICE.value]),
        help="Count these as messages too.",
    ),
)
"""How logs are read."""

model_option = click.option(
    "--model", type=MODEL, help="A model folder.  [default: the model that comes with towhom]"
)
output_option = click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file."
)
record_option = click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write a record of the run."
)

reading_options = _all_of(
    format_options,
    click.option("--ignore-case", is_flag=True, help='Let "Ada:" address ada.'),
    click.option("--follow-renames", is_flag=True, help="Who changes their name stays one speaker."),
)
"""How logs are read, where a whole document is at hand."""


def kept_kinds(keep: tuple[str, ...]) -> tuple[Kind, ...]:
    """Messages, and what the user wants counted as such."""
    return (Kind.MESSAGE, *(Kind(kind) for kind in keep))


def show_report(report: Report, console: Terminal) -> None:
    """What a reading met, in a few lines on standard error."""
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
def output(out: Path | None) -> Iterator[IO[str]]:
    """Where results go: a file, which appears when it is complete, or standard output."""
    if out is None:
        yield sys.stdout
    else:
        with atomic_file(out, "w") as file:
            yield file


_FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
"""What begins a formula in some spreadsheet."""


def csv_table(file: IO[str], fields: Sequence[str]) -> Callable[[Mapping[str, Any]], None]:
    """Writes records as CSV, each at once.

    Control characters are written out, and a cell that a spreadsheet would take for a formula gets an
    apostrophe in front.
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(fields)

    def write(record: Mapping[str, Any]) -> None:
        cells = ["" if (value := record.get(field)) is None else visible(str(value)) for field in fields]
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULAS) else cell for cell in cells])
        file.flush()

    return write


def encodable(text: str) -> str:
    """Half a surrogate pair, which JSON can say and UTF-8 cannot, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def echo_json(value: Any) -> None:
    """A value for machines, on standard output."""
    click.echo(encodable(json.dumps(value, indent=2, ensure_ascii=False)))
