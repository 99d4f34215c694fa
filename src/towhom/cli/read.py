"""`towhom read`: any log, as text or as JSON lines."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import click

from towhom.cli.options import LOGS, kept_kinds, reading_options, show_report
from towhom.cli.show import show_conversation
from towhom.cli.terminal import Terminal
from towhom.errors import LogError
from towhom.files import atomic_file
from towhom.readers import READERS, Report, read_conversations, reader_class
from towhom.readers.jsonl import to_json


@click.command()
@click.argument("log", type=LOGS, required=False)
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Write JSON lines instead of text.")
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write JSON lines to this file."
)
@click.option("--formats", is_flag=True, help="List the formats that can be read.")
def read(
    log: str | None,
    format: str | None,
    strict: bool,
    ignore_case: bool,
    follow_renames: bool,
    keep: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    formats: bool,
) -> None:
    """Read a chat LOG and show who says what to whom.

    LOG is a file, a folder, a zip archive, or - for standard input; .gz, .xz and .bz2 are read as they are.
    """
    if formats:
        for name in READERS:
            click.echo(f"{name:10} {reader_class(name).title}")
        return
    if log is None:
        raise click.UsageError("which log? Give a file, a folder, a zip archive, or - for standard input")
    report = Report(strict=strict)
    conversations = read_conversations(
        log,
        format=format,
        report=report,
        kinds=kept_kinds(keep),
        ignore_case=ignore_case,
        follow_renames=follow_renames,
    )
    # The first one now: a log without any leaves an existing file alone.
    first = next(conversations, None)
    if first is None:
        show_report(report, Terminal(stderr=True, highlight=False, soft_wrap=True))
        raise LogError("no message was found in it", file=log)
    conversations = chain([first], conversations)
    lines = (to_json(message) for conversation in conversations for message in conversation)
    if out is not None:
        with atomic_file(out, "w") as file:
            file.writelines(line + "\n" for line in lines)
    elif as_json:
        for line in lines:
            click.echo(line)
    else:
        console = Terminal(highlight=False)
        for conversation in conversations:
            show_conversation(conversation, console)
    show_report(report, Terminal(stderr=True, highlight=False, soft_wrap=True))
