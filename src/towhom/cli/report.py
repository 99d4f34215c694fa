"""`towhom report`: what a team wants to know of its chat, on one page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from towhom import load
from towhom.cli.options import LOGS, encodable, filter_options, log_options, model_option, output, show_report
from towhom.cli.tables import csv_table
from towhom.cli.terminal import Terminal
from towhom.errors import LogError, TowhomError
from towhom.live.reading import answers
from towhom.readers import Report as Reading
from towhom.readers import locate
from towhom.readers.filters import Filter
from towhom.report import Report, gather, measure
from towhom.report.page import report_page
from towhom.report.pseudonyms import hide_names
from towhom.report.tables import COLUMNS, markdown, rows

_KINDS = ("json", "csv", "markdown")


@click.command()
@click.argument("exports", metavar="EXPORT...", type=LOGS, nargs=-1, required=True)
@log_options
@model_option
@filter_options
@click.option("--title", help="What it says above.  [default: the names of the exports]")
@click.option("--zone", help="Show times in this zone, as Europe/Lisbon, where the log has zones.")
@click.option("--anonymous", is_flag=True, help="Hide names behind pseudonyms that stay the same.")
@click.option("--secret", default="", help="What pseudonyms depend on, so that nobody can guess them.")
@click.option("--json", "kind", flag_value="json", help="Write JSON instead of a page.")
@click.option("--csv", "kind", flag_value="csv", help="Write CSV: a number a row.")
@click.option("--excel", is_flag=True, help="Write CSV that Excel opens with all its letters.")
@click.option("--markdown", "kind", flag_value="markdown", help="Write Markdown.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file.  [default: report.html for a page, standard output for the others]",
)
@click.option("--force", is_flag=True, help="Replace a report.html that is there.")
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
) -> None:
    """Say of some EXPORTs who helps whom, what stayed open, and how long people wait.

    Writes one page that opens in any browser, asks no host for anything and can be sent around: all rooms
    together, and each for itself. Every number leads to the messages that it was counted from.

    EXPORT is a file, a folder or a zip archive, in any format that towhom reads.
    """
    if secret and not anonymous:
        raise click.UsageError("--secret is for --anonymous")
    kind = "csv" if excel and kind is None else kind
    if excel and kind != "csv":
        raise click.UsageError("--excel is for --csv")
    if kind is None and out is None:
        out = Path("report.html")
        if out.exists() and not force:
            raise TowhomError(f"{out}: is there already; --force replaces it, -o FILE writes another")
    reading = Reading(strict=strict)
    made = _made(exports, format, reading, model, shown, _zone(zone))
    if title is not None:
        made.title = title
    made.asked_for |= {"anonymous": anonymous, "zone": zone}
    if anonymous:
        _hide(made, secret)
    with output(out) as file:
        if kind == "json":
            file.write(encodable(json.dumps(made.to_json(), ensure_ascii=False, indent=1)) + "\n")
        elif kind == "csv":
            write = csv_table(file, COLUMNS, excel=excel)
            for row in rows(made):
                write(row)
        else:
            file.write(markdown(made) if kind == "markdown" else report_page(made))
    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
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


def _made(
    exports: Sequence[str],
    format: str | None,
    reading: Reading,
    model: Path | None,
    shown: Filter,
    zone: tzinfo | None,
) -> Report:
    loaded = load(model)
    lines = locate(*exports, format=format, report=reading)
    columns = gather(answers(loaded, lines), shown=shown, zone=zone)
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


def _hide(made: Report, secret: str) -> None:
    hide_names(made.columns, secret=secret)
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
            f"{name}: no time zone of this name is known; they are called as Europe/Lisbon"
        ) from None
