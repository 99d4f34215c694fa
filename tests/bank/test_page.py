"""The page: has this been asked before? In a real browser, with a real server and its bank."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from tests.bank.conftest import ASKING
from tests.serve.conftest import Start, server, start  # noqa: F401
from tests.serve.test_page import PHONE, Open, browser, expect, open_page, paste  # noqa: F401

LOG = re.sub(r"# \d+\n", "", ASKING)


def test_open_questions_with_what_answered_the_like(
    open_page: Open,  # noqa: F811
    start: Start,  # noqa: F811
    bank_folder: Path,
) -> None:
    page = open_page(of=start("--bank", str(bank_folder)))
    paste(page, LOG)
    page.locator('button[data-side="questions"]').click()
    asked = page.locator("#question-list > li").filter(has_text="dishwasher")
    before = asked.locator(".before > li")
    expect(before.first).to_contain_text("E18 means that it cannot drain")
    expect(before.first).to_contain_text("asked: my washing machine shows E18")
    expect(before.first.get_by_role("link")).to_have_attribute("href", "https://example.org/2024-06-03#8")
    assert before.count() <= 3
    # The question still leads to the message.
    asked.get_by_role("button").click()
    expect(page.locator('.line[data-number="1"]')).to_be_focused()
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_a_bank_nothing_is_shown_and_nothing_asked_twice(open_page: Open) -> None:  # noqa: F811
    page = open_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    paste(page, LOG)
    page.locator('button[data-side="questions"]').click()
    expect(page.locator("#question-list > li")).to_have_count(2)
    expect(page.locator(".before:not(:empty)")).to_have_count(0)
    assert sum("/v1/answered" in url for url in requests) == 1
