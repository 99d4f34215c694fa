"""Reports as rows for a spreadsheet and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from towhom.pages import markdown_table, markdown_text
from towhom.report.drawings import WEEKDAYS, duration
from towhom.report.measures import WAITS, Part, Report, Waits

COLUMNS = ("room", "section", "what", "whom", "measure", "value", "id", "time", "text")
"""Columns of a table with one number a row: its room, what it counts, its value, and its message, if any."""
_ROWS = 15
"""Most rows of a table in Markdown."""


def rows(report: Report) -> Iterator[dict[str, Any]]:
    """Yield all numbers of a report, one a row."""
    for part in (report.whole, *report.rooms):
        for row in _rows(part, report):
            yield {"room": part.name, **row}


def _rows(part: Part, report: Report) -> Iterator[dict[str, Any]]:
    yield from _totals(part)
    yield from _by_time(part)
    people = report.columns.people
    for pair in part.pairs:
        yield {**_row("who answers whom", people[pair.who], "answers", pair.count), "whom": people[pair.whom]}
    for helper in part.helpers:
        for measure in ("answers", "first", "people", "median"):
            yield _row("helpers", people[helper.who], measure, getattr(helper, measure))
    for question in part.open_questions:
        kind = "no answer" if question.again is None else "asked again"
        yield _message("open questions", kind, question.message, len(question.tried), report)
    for talk in part.longest:
        yield _message("longest conversations", "messages", talk.message, talk.count, report)
    for number in part.unanswered_newcomers:
        yield _message("newcomers without an answer", "first message", number, 1, report)


def _totals(part: Part) -> Iterator[dict[str, Any]]:
    for measure in (
        "messages",
        "bots",
        "people",
        "conversations",
        "questions",
        "answered",
        "open",
        "newcomers",
    ):
        yield _row("totals", "", measure, getattr(part, measure))
    yield from _waits("time to first answer", "", part.waits)
    ends = [*(f"within {duration(end)}" for end in WAITS), "later", "never"]
    for end, count in zip(ends, part.within, strict=False):
        yield _row("time to first answer", end, "questions", count)


def _by_time(part: Part) -> Iterator[dict[str, Any]]:
    for hour, waits in enumerate(part.by_hour):
        yield from _waits("time to first answer by hour", f"{hour:02}:00", waits)
    for day, waits in zip(WEEKDAYS, part.by_weekday, strict=False):
        yield from _waits("time to first answer by weekday", day, waits)
    for span in part.over_time:
        for measure in ("messages", "people", "conversations"):
            yield _row(f"by {part.unit}", span.start.isoformat(), measure, getattr(span, measure))
    for day, counts in zip(WEEKDAYS, part.busiest, strict=False):
        for hour, count in enumerate(counts):
            yield _row("busiest hours", f"{day} {hour:02}:00", "messages", count)


def _row(section: str, what: str, measure: str, value: float | None) -> dict[str, Any]:
    return {"section": section, "what": what, "measure": measure, "value": value}


def _waits(section: str, what: str, waits: Waits) -> Iterator[dict[str, Any]]:
    yield _row(section, what, "questions", waits.questions)
    yield _row(section, what, "answered", waits.answered)
    yield _row(section, what, "median seconds", waits.median)
    yield _row(section, what, "ninetieth percentile, seconds", waits.ninetieth)


def _message(section: str, measure: str, number: int, value: int, report: Report) -> dict[str, Any]:
    message = report.message(number)
    return {
        **_row(section, message["speaker"], measure, value),
        "id": message["id"],
        "time": message["time"],
        "text": message["text"],
    }


def markdown(report: Report) -> str:
    """A report as Markdown, to paste into a wiki or an issue."""
    parts = [f"# {markdown_text(report.title)}", ""]
    for part in (report.whole, *(report.rooms if len(report.rooms) > 1 else ())):
        parts += _markdown(part, report)
    return "\n".join(parts).rstrip() + "\n"


def _markdown(part: Part, report: Report) -> Iterator[str]:
    people = report.columns.people
    yield f"## {markdown_text(part.name)}\n"
    if part.first is not None and part.last is not None:
        yield f"{part.first:%Y-%m-%d} to {part.last:%Y-%m-%d}\n"
    totals = [
        ("messages", f"{part.messages:,}"),
        ("people", f"{part.people:,}"),
        ("conversations of two messages or more", f"{part.conversations:,}"),
        ("questions that began a conversation", f"{part.questions:,}"),
        ("answered by somebody else", f"{part.answered:,}"),
        ("open: no answer, or asked again since", f"{part.open:,}"),
        ("time to first answer, median", duration(part.waits.median)),
        ("time to first answer, nine in ten", duration(part.waits.ninetieth)),
        ("newcomers", f"{part.newcomers:,}"),
        ("newcomers without an answer in a week", f"{len(part.unanswered_newcomers):,}"),
    ]
    yield markdown_table(["", "number"], [list(row) for row in totals], numbers=True) + "\n"
    if part.helpers:
        yield "### Top helpers\n"
        table = [
            [
                people[each.who],
                f"{each.answers:,}",
                f"{each.first:,}",
                f"{each.people:,}",
                duration(each.median),
            ]
            for each in part.helpers[:_ROWS]
        ]
        head = ["helper", "answers", "first to answer", "people helped", "median wait"]
        yield markdown_table(head, table, numbers=True) + "\n"
    if part.pairs:
        yield "### Who answers whom\n"
        pairs = [[people[pair.who], people[pair.whom], f"{pair.count:,}"] for pair in part.pairs[:_ROWS]]
        yield markdown_table(["who", "whom", "answers"], pairs, numbers=True) + "\n"
    yield from _messages("Open questions", [each.message for each in part.open_questions], report)
    yield from _messages("Longest conversations", [each.message for each in part.longest], report)
    yield from _messages("Newcomers without an answer", part.unanswered_newcomers, report)


def _messages(title: str, numbers: list[int], report: Report) -> Iterator[str]:
    if not numbers:
        return
    yield f"### {title}\n"
    messages = [report.message(number) for number in numbers[:_ROWS]]
    rows = [
        [(each["time"] or "")[:16], each["room"], each["speaker"], each["text"], each["id"]]
        for each in messages
    ]
    yield markdown_table(["time", "room", "who", "text", "id"], rows) + "\n"
    if len(numbers) > _ROWS:
        yield f"and {len(numbers) - _ROWS:,} more.\n"
