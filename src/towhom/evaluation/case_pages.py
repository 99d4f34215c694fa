"""Cases as readable pages. They contain text of the corpus, so publishing them publishes that text."""

from __future__ import annotations

import html
from collections.abc import Sequence

from towhom.evaluation.cases import Case
from towhom.pages import html_table, markdown_table, markdown_text, page

SAID = ("sender", "addressee", "utterance")
CHOSEN = ("system", "addressee", "response")


def chosen_rows(case: Case) -> list[list[str]]:
    """The selection of each system, starred where right, and the truth."""
    rows = []
    for name, chosen in case.selected.items():
        addressee = ("★ " if chosen.right_addressee else "") + (chosen.addressee or "–")
        rows.append([name, addressee, ("★ " if chosen.right_response else "") + chosen.response])
    return [*rows, ["truth", case.addressee or "–", case.response]]


def _said_rows(case: Case) -> list[list[str]]:
    return [[message.speaker, message.addressee or "–", message.text] for message in case.context]


def cases_markdown(cases: Sequence[Case]) -> str:
    """A Markdown page with one section per case."""
    parts = []
    for case in cases:
        tables = (markdown_table(SAID, _said_rows(case)), markdown_table(CHOSEN, chosen_rows(case)))
        parts += [f"### Sample {case.sample}: {markdown_text(case.responder)} speaks next", *tables]
    return "\n\n".join(parts) + "\n"


def cases_html(cases: Sequence[Case]) -> str:
    """A self-contained HTML page of cases."""
    return page("Cases", ["<h1>Cases</h1>", *case_parts(cases, level=2)])


def case_parts(cases: Sequence[Case], *, level: int) -> list[str]:
    """The parts of an HTML page, with headings of the given level."""
    parts = []
    for case in cases:
        heading = f"Sample {case.sample}: {html.escape(case.responder)} speaks next"
        tables = (html_table(SAID, _said_rows(case)), html_table(CHOSEN, chosen_rows(case)))
        parts += [f"<h{level}>{heading}</h{level}>", *tables]
    return parts
