"""The page of a report: safe whatever a chat says, and every number leads to its messages, in a browser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.report.conftest import Export, chat, report_of
from tests.report.test_measures import HELP
from towhom.chat import Message
from towhom.cli import main
from towhom.report.page import report_page

HOSTILE = (
    "</script><script>document.title = 'owned'</script>",
    '<img src=x onerror="document.title=1">',
    "{{data}} {{script}}",
    "\u202egnp.exe \x1b[2J",
    "half a pair \ud83d",
    "' onmouseover='alert(1)",
)


class _Page(HTMLParser):
    """What a page has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def hostile() -> list[Message]:
    lines = []
    for number, text in enumerate(HOSTILE):
        lines += [
            Message(text, f"{text}?", id=f"a{number}", reply_to=f"a{number}", channel=text),
            Message("bob", text, id=f"b{number}", reply_to=f"a{number}", channel=text),
            Message(text, f"{text}?", id=f"c{number}", reply_to=f"c{number}", channel=text),
        ]
    return lines


def test_a_log_without_years_has_no_weekdays() -> None:
    messages = [
        replace(message, time=datetime(4, 5, 31, 10, number)) for number, message in enumerate(chat(*HELP))
    ]
    page = report_page(report_of(messages))
    assert "31 May" in page
    assert not re.search(r"31 May 4|31 May 0004|Busiest hours", page)
    assert "Not known: the log does not say the year." in page


def test_hostile_texts_and_names_are_texts() -> None:
    page = report_page(report_of(hostile()))
    tags = _Page(page).tags
    assert [tag for tag, _ in tags].count("script") == 2
    assert "img" not in [tag for tag, _ in tags]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_no_request_to_any_host() -> None:
    page = report_page(report_of(chat(*HELP)))
    assert "http://" not in page
    assert "https://" not in page
    policy = next(a["content"] for tag, a in _Page(page).tags if "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not [a for _, a in _Page(page).tags if "style" in a]


def test_a_chat_without_times_people_or_questions() -> None:
    assert "without dates" in report_page(report_of([Message("ada", "hello")]))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def page(browser: Any, export: Export, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The report of the workspace; `problems` are what the browser complains of, and other requests."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    CliRunner().invoke(main, ["report", str(export.path), "-o", str(path)], catch_exceptions=False)
    page = browser.new_context(viewport={"width": 1200, "height": 900}).new_page()
    page.problems = []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda asked: page.problems.extend([asked.url] * (asked.url != path.as_uri())))
    page.goto(path.as_uri())
    return page


class TestInABrowser:
    @staticmethod
    def traced(page: Any, target: Any) -> tuple[int, int]:
        """The number that is shown, and how many messages there are behind it."""
        target.dispatch_event("click")
        page.wait_for_selector("dialog[open]")
        found = int(re.sub(r"\D", "", page.inner_text("#about")))
        page.click("#close")
        return int(re.sub(r"\D", "", target.inner_text().split("\n")[0]) or 0), found

    def test_the_numbers_above(self, page: Any) -> None:
        for number in (0, 1, 2, 3, 6):
            shown, found = self.traced(page, page.locator(".cards button").nth(number))
            assert shown == found
        assert page.problems == []

    def test_the_numbers_of_helpers(self, page: Any) -> None:
        row = page.locator("section:has(h2:text('Top helpers')) tbody tr").first
        _, found = self.traced(page, row.locator("button").first)
        assert int(row.locator("td").nth(2).inner_text().replace(",", "")) == found
        shown, found = self.traced(page, row.locator("button").nth(1))
        assert shown == found

    @pytest.mark.parametrize(
        ("section", "which"),
        [("Busiest hours", 40), ("Over time", 5), ("Over time", 26), ("Over time", 47), ("How soon", 2)],
    )
    def test_the_numbers_of_drawings(self, page: Any, section: str, which: int) -> None:
        inside = page.locator("section", has=page.locator(f"h2:text('{section}'), h3:text('{section}')"))
        cell = inside.locator("svg [data-q]").nth(which)
        title = cell.locator("title").first.text_content()
        cell.dispatch_event("click")
        page.wait_for_selector("dialog[open]")
        found = int(re.sub(r"\D", "", page.inner_text("#about")))
        page.click("#close")
        numbers = [int(each.replace(",", "")) for each in re.findall(r"(?<![\d:])[\d,]+(?![\d:])", title)]
        assert found in numbers

    def test_who_answers_whom(self, page: Any) -> None:
        cell = page.locator("svg.square .q").first
        count = int(cell.locator("text").text_content())
        cell.dispatch_event("click")
        page.wait_for_selector("dialog[open]")
        assert int(re.sub(r"\D", "", page.inner_text("#about"))) == count
        page.click("#close")

    def test_a_message_leads_to_its_conversation(self, page: Any) -> None:
        link = page.locator("section:has(h2:text('Longest')) a").first
        link.click()
        page.wait_for_selector("dialog[open] li.here")
        many = page.locator("section:has(h2:text('Longest')) button.link").first.inner_text()
        assert page.inner_text("#about") == many
        page.click("#close")

    def test_a_room_for_itself(self, page: Any) -> None:
        page.select_option("#room", label=page.locator("#room option").nth(1).inner_text())
        shown, found = self.traced(page, page.locator(".cards button").first)
        assert shown == found < 2_000
        page.select_option("#room", "-1")
        assert page.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_on_a_phone(browser: Any, tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "report.html"
    path.write_text(report_page(report_of([*chat(*HELP), *hostile()])), "utf-8")
    page = browser.new_context(viewport={"width": 360, "height": 700}, color_scheme=scheme).new_page()
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.title() == "chat"
