"""`towhom answered`: open questions of a log, with answers to similar questions from a bank."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO

import click
from rich.text import Text

from towhom import load
from towhom.bank import Bank
from towhom.cli.options import (
    FOLDER,
    LOGS,
    encodable,
    log_options,
    model_option,
    output,
    output_option,
    show_report,
)
from towhom.cli.respond import where
from towhom.cli.terminal import Terminal
from towhom.errors import LogError
from towhom.live.answered import OpenQuestion, open_questions
from towhom.live.responding import LEAST
from towhom.readers import Report, find_logs
from towhom.visible import visible


@click.command()
@click.argument("log", type=LOGS)
@log_options
@click.option("--bank", type=FOLDER, required=True, help="A folder that `towhom bank build` made.")
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="How many answers to show.")
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    default=LEAST,
    show_default=True,
    help="The least probability that an answer fits.",
)
@click.option("--all", "every", is_flag=True, help="Also show questions without earlier answers.")
@model_option
@click.option("--json", "as_json", is_flag=True, help="Write JSON lines.")
@output_option
def answered(
    log: str,
    format: str | None,
    strict: bool,
    bank: Path,
    top: int,
    least: float,
    every: bool,
    model: Path | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """List the open questions of a LOG, each with earlier answers to similar questions from a BANK.

    A question is open if it starts a conversation in which nobody else seems to answer.
    """
    opened, loaded, report = Bank(bank), load(model), Report(strict=strict)
    logs = find_logs(log, format=format, report=report)
    total = shown = messages = 0
    with output(out) as file:
        write = _json_writer(file) if as_json else _text_writer(file)
        for each in logs:
            for question in open_questions(loaded, each.messages(report), opened, top, least=least):
                total += 1
                if question.answers or every:
                    shown += 1
                    write(question)
        messages = sum(report.kinds.values())
        if not messages:
            raise LogError("no message was found in it", file=log)
    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
    show_report(report, console)
    console.print(f"{total:,} open questions, {shown:,} shown")


def _json_writer(file: IO[str]) -> Callable[[OpenQuestion], None]:
    def write(question: OpenQuestion) -> None:
        asked = question.asked.message
        record = {
            "line": question.asked.line,
            "time": asked.time.isoformat() if asked.time else None,
            "channel": asked.channel,
            "speaker": asked.speaker,
            "name": asked.name or asked.speaker,
            "id": asked.id,
            "question": question.text,
            "answers": [each.record() for each in question.answers],
        }
        file.write(encodable(json.dumps(record, ensure_ascii=False)) + "\n")

    return write


def _text_writer(file: IO[str]) -> Callable[[OpenQuestion], None]:
    console = Terminal(file=file, highlight=False, soft_wrap=True)

    def write(question: OpenQuestion) -> None:
        asked, text = question.asked.message, Text()
        if asked.time:  # a log without dates has times in the year 1
            shown = f"{asked.time:%Y-%m-%d %H:%M} " if asked.time.year > 1 else f"{asked.time:%H:%M} "
            text.append(shown, "dim")
        text.append(f"{visible(asked.name or asked.speaker)}: ", "bold")
        text.append(visible(question.text))
        for answer in question.answers:
            text.append(f"\n {answer.probability:>4.0%} ", "bold green")
            text.append(visible(answer.response))
            text.append(f"\n      to: {visible(answer.source.question)}\n      {where(answer.source)}", "dim")
        if not question.answers:
            text.append("\n      nothing in the bank fits", "dim")
        text.append("\n")
        console.print(text)

    return write
