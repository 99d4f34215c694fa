"""`towhom bank`: build a response bank, add to it, describe it, and remove responses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from towhom import load
from towhom.bank import Bank
from towhom.bank.filters import LIKELY
from towhom.bank.store import LINK_FIELDS
from towhom.bank.writing import Forgotten
from towhom.bank.writing import forget as forget_responses
from towhom.cli.options import FOLDER, LOGS, echo_json, log_options, model_option, show_report
from towhom.cli.terminal import Terminal
from towhom.errors import BankError
from towhom.live.banking import Built, Rules, add_to_bank, build_bank, index_bank
from towhom.live.banking import Progress as Done
from towhom.readers import Report
from towhom.visible import visible


@click.group()
def bank() -> None:
    """Store answers that people have given, to find them again."""


def _building_options(command: Any) -> Any:
    options = (
        click.argument("bank", type=FOLDER),
        click.argument("sources", metavar="LOG|CORPUS...", type=LOGS, nargs=-1, required=True),
        log_options,
        model_option,
        click.option(
            "--opt-out",
            multiple=True,
            metavar="NAME",
            help="Keep no messages by NAME and no answers to them.",
        ),
        click.option(
            "--opt-outs",
            type=click.Path(dir_okay=False, exists=True, path_type=Path),
            help="A file of such names, one per line.",
        ),
        click.option("--bot", multiple=True, metavar="NAME", help="NAME is a bot."),
        click.option("--without", metavar="REGEX", help="Keep nothing that matches this pattern."),
        click.option(
            "--likely",
            type=click.FloatRange(0, 1),
            default=LIKELY,
            show_default=True,
            help="The least probability that a message answers another one.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            help="Number of processes; the bank is the same for any number.",
        ),
        click.option("--force", is_flag=True, help="Replace a bank, or the parts of another run."),
        click.option("--quiet", is_flag=True, help="Print only errors."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@bank.command()
@_building_options
@click.option(
    "--link",
    metavar="TEMPLATE",
    help=f"A template for links to messages, with any of {', '.join(f'{{{name}}}' for name in LINK_FIELDS)}.",
)
def build(bank: Path, link: str | None, quiet: bool, **options: Any) -> None:
    """Build the response BANK from chat logs, or from folders that `towhom corpus build` made.

    The bank stores every message that answers another one and could be said again, with the question. Names
    are replaced. After an interruption, the same command continues.
    """
    _run(bank, quiet, link=link, replace_old=options.pop("force"), build=True, **options)


@bank.command()
@_building_options
def add(bank: Path, quiet: bool, **options: Any) -> None:
    """Add the responses of more logs to a BANK, except those that it already has or had to forget."""
    _run(bank, quiet, restart=options.pop("force"), build=False, **options)


def _run(
    folder: Path,
    quiet: bool,
    *,
    build: bool,
    sources: tuple[str, ...],
    format: str | None,
    strict: bool,
    opt_out: tuple[str, ...],
    opt_outs: Path | None,
    bot: tuple[str, ...],
    without: str | None,
    likely: float,
    **options: Any,
) -> None:
    names = [*opt_out, *(_names_in(opt_outs) if opt_outs is not None else ())]
    rules = Rules(tuple(names), bot, without, likely)
    console = Terminal(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
    report = Report(strict=strict)
    for source in sources:
        if source == "-":
            raise BankError("a bank is built from files, which can be read again, not from standard input")
    with _progress(console) as show:
        run = build_bank if build else add_to_bank
        built = run(folder, sources, rules=rules, format=format, report=report, progress=show, **options)
    show_report(report, console)
    _show_built(folder, built, console)


def _names_in(path: Path) -> list[str]:
    lines = path.read_text("utf-8", errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


@contextmanager
def _progress(console: Terminal) -> Iterator[Any]:
    columns = (SpinnerColumn(), TextColumn("{task.fields[counts]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", counts="reading", total=None)

        def show(done: Done) -> None:
            bar.update(task, counts=f"{done.messages:,} messages, {done.responses:,} responses")

        yield show


def _show_built(folder: Path, built: Built, console: Terminal) -> None:
    console.print(
        f"{escape(str(folder))}: {built.responses:,} responses of {built.messages:,} messages",
        highlight=False,
    )
    left = ", ".join(f"{count:,} {reason}" for reason, count in built.left_out.most_common())
    if left:
        console.print(f"left out: {left}")
    if not built.responses:
        console.print("nothing was kept: a bank wants conversations in which people answer each other")


@bank.command()
@click.argument("bank", type=FOLDER)
@model_option
def index(bank: Path, model: Path | None) -> None:
    """Make an index for a BANK of a million or more responses, so a query need not compare all of them.

    Needs faiss: pip install 'towhom[bank]'. After `bank add` or `bank forget`, new segments have no index.
    """
    opened = Bank(bank)
    for name, recall in index_bank(opened, load(model)).items():
        click.echo(f"{name}: finds {recall:.1%} of what exact search finds")


@bank.command()
@click.argument("bank", type=FOLDER)
@click.option("--check", is_flag=True, help="Read the whole bank and compare it with its checksums.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(bank: Path, check: bool, as_json: bool) -> None:
    """Show what a BANK contains."""
    opened = Bank(bank)
    if check:
        opened.check()
    size = sum(path.stat().st_size for path in bank.rglob("*") if path.is_file())
    found = {
        "responses": len(opened),
        "segments": len(opened.segments),
        "bytes": size,
        "model": opened.model,
        "link": opened.link_template,
        "sources": [each["name"] for each in opened.manifest["sources"]],
        "forgotten": {name: len(keys) for name, keys in opened.manifest["forgotten"].items()},
        **({"checked": True} if check else {}),
    }
    if as_json:
        echo_json(found)
        return
    console = Terminal(highlight=False, soft_wrap=True)
    for name, value in found.items():
        if isinstance(value, dict):
            shown = ", ".join(f"{count:,} {what}" for what, count in value.items())
        else:
            shown = ", ".join(value) if isinstance(value, list) else "none" if value is None else str(value)
        console.print(visible(f"{name:10} {shown}"), markup=False)


@bank.command()
@click.argument("bank", type=FOLDER)
@click.option(
    "--speaker", "speakers", multiple=True, metavar="NAME", help="Responses by NAME, and answers to them."
)
@click.option("--id", "ids", multiple=True, help="The message with this identifier.")
@click.option("--number", "numbers", multiple=True, type=int, help="The response with this number.")
@click.option("--pattern", metavar="REGEX", help="Responses whose text or question matches this pattern.")
@click.option("--dry-run", is_flag=True, help="Only count the responses.")
def forget(
    bank: Path,
    speakers: tuple[str, ...],
    ids: tuple[str, ...],
    numbers: tuple[int, ...],
    pattern: str | None,
    dry_run: bool,
) -> None:
    """Remove responses from a BANK for good: its files are written again without them.

    The bank remembers speakers and identifiers as keys (not as names), so `bank add` does not bring them
    back.
    """
    if not (speakers or ids or numbers or pattern is not None):
        raise click.UsageError("forget what? Give --speaker, --id, --number or --pattern")
    removed = forget_responses(Bank(bank), Forgotten(speakers, ids, numbers, pattern), dry_run=dry_run)
    what = "would be removed" if dry_run else "were removed"
    left = len(Bank(bank))
    click.echo(f"{removed:,} responses {what}; the bank has {left:,}")
