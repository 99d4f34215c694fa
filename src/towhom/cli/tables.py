"""Messages as tables: JSON lines, CSV and Parquet, with the same column names in every command."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from towhom.cli.options import Command, all_of, encodable, output, output_option
from towhom.errors import TowhomError
from towhom.files import atomic_file
from towhom.frames import write_parquet
from towhom.visible import visible

Record = Mapping[str, Any]
Write = Callable[[Record], None]
Item = TypeVar("Item")

_FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
"""Characters that begin a formula in some spreadsheet programs."""
_MARK = "\ufeff"
"""The mark that makes Excel read a file as UTF-8."""


@dataclass(frozen=True)
class Table:
    """How to write messages: `kind` is json, csv or parquet; None is text for people."""

    kind: str | None
    excel: bool
    out: Path | None

    @contextmanager
    def writer(self, fields: Sequence[str]) -> Iterator[Write]:
        """A function that writes a record at once; a file appears when it is complete.

        Raises:
            TowhomError: Parquet was requested without a file.
        """
        if self.kind == "parquet":
            if self.out is None:
                raise TowhomError("--parquet needs a file to write to: -o FILE")
            with atomic_file(self.out) as file, write_parquet(file, fields) as write:
                yield write
            return
        with output(self.out) as text:
            yield csv_table(text, fields, excel=self.excel) if self.kind == "csv" else _json_lines(text)

    @contextmanager
    def shows(
        self,
        fields: Sequence[str],
        as_text: Callable[[IO[str]], Callable[[Item], None]],
        as_record: Callable[[Item], Record],
    ) -> Iterator[Callable[[Item], None]]:
        """A function that writes an item as text for people, or as a record.

        Args:
            fields: The fields of a record.
            as_text: Makes a function that writes items to a file as text.
            as_record: Makes the record of an item.
        """
        if self.kind is None:
            with output(self.out) as file:
                yield as_text(file)
            return
        with self.writer(fields) as write:
            yield lambda item: write(as_record(item))


def table_options(command: Command) -> Command:
    """Options for how a command writes messages; the command gets a `table`."""

    @wraps(command)
    def with_table(
        *arguments: Any,
        as_json: bool,
        as_csv: bool,
        as_parquet: bool,
        excel: bool,
        out: Path | None,
        **others: Any,
    ) -> Any:
        if as_json + (as_csv or excel) + as_parquet > 1:
            raise click.UsageError("--json, --csv or --parquet, not several of them")
        kinds = {"json": as_json, "csv": as_csv or excel, "parquet": as_parquet}
        kind = next((kind for kind, wanted in kinds.items() if wanted), None)
        return command(*arguments, table=Table(kind, excel, out), **others)

    options: Callable[[Any], Command] = all_of(
        click.option("--json", "as_json", is_flag=True, help="Write JSON lines."),
        click.option("--csv", "as_csv", is_flag=True, help="Write CSV."),
        click.option("--excel", is_flag=True, help="Write CSV with the mark that Excel needs for UTF-8."),
        click.option("--parquet", "as_parquet", is_flag=True, help="Write a Parquet file (-o FILE)."),
        output_option,
    )
    return options(with_table)


def csv_table(file: IO[str], fields: Sequence[str], *, excel: bool = False) -> Write:
    """A function that writes a record as CSV at once.

    Control characters are escaped, and a cell that a spreadsheet would take for a formula gets an apostrophe
    in front.

    Args:
        file: The file to write to.
        fields: The columns.
        excel: Whether to begin with a byte order mark, by which Excel recognises UTF-8.
    """
    if excel:
        file.write(_MARK)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(fields)

    def write(record: Record) -> None:
        writer.writerow([safe_cell(record.get(field)) for field in fields])
        file.flush()

    return write


def safe_cell(value: Any) -> str:
    """A value as a cell that no spreadsheet program takes for a formula.

    >>> safe_cell("=1+1"), safe_cell(-3), safe_cell(["a", "b"])
    ("'=1+1", '-3', 'a b')
    """
    if value is None or isinstance(value, int | float):
        return "" if value is None else str(value)
    cell = visible(" ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    return f"'{cell}" if cell.lstrip(" ").startswith(_FORMULAS) else cell


def _json_lines(file: IO[str]) -> Write:
    def write(record: Record) -> None:
        file.write(encodable(json.dumps(record, ensure_ascii=False)) + "\n")
        file.flush()

    return write
