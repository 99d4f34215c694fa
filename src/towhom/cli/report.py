"""`towhom report`: a report of a team's chat on one page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import IO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from towhom import load
from towhom.cli.batch import entries_on
from towhom.cli.options import (
    LOGS,
    cluster_option,
    encodable,
    filter_options,
    log_options,
    model_option,
    output,
    show_report,
)
from towhom.cli.tables import csv_table
from towhom.cli.terminal import Terminal
from towhom.errors import LogError, TowhomError
from towhom.live.reading import answers
from towhom.readers import Report as Reading
from towhom.readers import locate
from towhom.readers.filters import Filter
from towhom.report import Report, gather, measure
from towhom.report.columns import Entry
from towhom.report.page import report_page
from towhom.report.pseudonyms import hide_names
from towhom.report.tables import COLUMNS, markdown, rows

_KINDS = ("json", "csv", "markdown")


@click.command()
@click.argument("exports", metavar="EXPORT...", type=LOGS, nargs=-1, required=True)
@log_options
@model_option
@filter_options
@click.option("--title", help="Title of the report.  [default: the names of the exports]")
@click.option("--zone", help="Convert times to this zone, such as Europe/Lisbon, if the log has zones.")
@click.option("--anonymous", is_flag=True, help="Replace names with pseudonyms that stay the same.")
@click.option("--secret", default="", help="A secret for the pseudonyms, so that nobody can guess names.")
@click.option("--json", "kind", flag_value="json", help="Write JSON instead of a page.")
@click.option("--csv", "kind", flag_value="csv", help="Write CSV with one number per row.")
@click.option("--excel", is_flag=True, help="Write CSV with the mark that Excel needs for UTF-8.")
@click.option("--markdown", "kind", flag_value="markdown", help="Write Markdown.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file.  [default: report.html for a page, standard output for the others]",
)
@click.option("--force", is_flag=True, help="Replace an existing report.html, and parts of other logs.")
@click.option(
    "--into", metavar="FOLDER", help="Store results for each room in this folder, and continue from there."
)
@cluster_option
def report(
    exports: tuple[str, ...],
    format: str | None,
    strict: bool,
    model: Path | None,
    shown: Filter,
    title: str | None,
    zone: str | None,
    anonymous: bool,
    secret: str,
    kind: str | None,
    excel: bool,
    out: Path | None,
    force: bool,
    into: str | None,
    cluster: str | None,
) -> None:
    """Report who helps whom in EXPORTs, which questions stayed open, and how long people wait.

    Writes one page that opens in any browser, loads nothing from other hosts, and can be passed on. It shows
    all rooms together and each room separately. Every number leads to the messages behind it.

    EXPORT is a file, a folder or a zip archive, in any format that towhom reads.

    With --into, the rooms are processed on any number of machines; the report is the same. After an
    interruption, or with other options, the same command continues.
    """
    if cluster is not None and into is None:
        raise click.UsageError("--cluster: results for each room go to a folder; name it with --into")
    if secret and not anonymous:
        raise click.UsageError("--secret is for --anonymous")
    kind = "csv" if excel and kind is None else kind
    if excel and kind != "csv":
        raise click.UsageError("--excel is for --csv")
    if kind is None and out is None:
        out = Path("report.html")
        if out.exists() and not force:
            raise TowhomError(
                f"{out}: already exists; replace it with --force, or write another file with -o FILE"
            )
    reading = Reading(strict=strict)
    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
    found: Iterable[Entry]
    if into is None:
        found = answers(load(model), locate(*exports, format=format, report=reading))
    else:
        found = entries_on(cluster, exports, into, console, reading, model=model, format=format, force=force)
    made = _made(exports, found, shown, _zone(zone))
    if title is not None:
        made.title = title
    made.asked_for |= {"anonymous": anonymous, "zone": zone}
    if anonymous:
        _hide(made, secret, title)
    with output(out) as file:
        _write(made, file, kind, excel=excel)
    show_report(reading, console)
    if made.backwards:
        console.print(
            f"times run backwards in {', '.join(made.backwards[:3])}: sort the log from old to new, since "
            "answers come after questions", markup=False, style="yellow",
        )  # fmt: skip
    if out is not None:
        whole = made.whole
        console.print(
            f"{out}: {whole.messages:,} messages, {whole.questions:,} questions, {whole.open:,} open",
            markup=False,
        )


def _write(made: Report, file: IO[str], kind: str | None, *, excel: bool) -> None:
    if kind == "json":
        file.write(encodable(json.dumps(made.to_json(), ensure_ascii=False, indent=1)) + "\n")
    elif kind == "csv":
        write = csv_table(file, COLUMNS, excel=excel)
        for row in rows(made):
            write(row)
    else:
        file.write(markdown(made) if kind == "markdown" else report_page(made))


def _made(exports: Sequence[str], found: Iterable[Entry], shown: Filter, zone: tzinfo | None) -> Report:
    columns = gather(found, shown=shown, zone=zone)
    names = ", ".join("standard input" if each == "-" else Path(each).name for each in exports)
    if not len(columns):
        raise LogError("no message was found in it", file=names)
    if not columns.shown.any():
        raise shown.nothing_left(names)
    made = measure(columns, ", ".join(_title(each) for each in exports))
    made.asked_for = {
        "--room": ", ".join(shown.rooms),
        "--since": "" if shown.since is None else str(shown.since),
        "--until": "" if shown.until is None else str(shown.until),
        "--speaker": ", ".join(shown.speakers),
    }
    return made


def _title(export: str) -> str:
    return "standard input" if export == "-" else Path(export).stem or export


def _hide(made: Report, secret: str, title: str | None) -> None:
    hidden = hide_names(made.columns, secret=secret)
    if title is None:  # file names may contain names of people
        made.title = hidden(made.title)
    made.asked_for["--room"] = hidden(made.asked_for["--room"])
    for part in made.rooms:
        if part.room is not None:
            part.name = made.columns.rooms[part.room]
    made.asked_for["--speaker"] = "some people" if made.asked_for["--speaker"] else ""


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise TowhomError(
            f"{name}: no time zone of this name is known; names look like Europe/Lisbon"
        ) from None
