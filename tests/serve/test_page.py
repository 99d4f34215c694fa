"""The page, in a real browser, with a real server behind it."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import irc_days
from tests.serve.conftest import Server, Start, answer, said, talk, texts

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium on this machine", allow_module_level=True)

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser, Locator, Page

expect = playwright.expect

SLOW = 60_000
"""Milliseconds that a busy machine may need for an answer."""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
]
DESKTOP, PHONE = (1360, 860), (360, 740)
CHAT = """\
[10:00] <ada> is the parser merged?
[10:01] <grace> ada: since noon
[10:02] <ada> great, thanks
[10:03] <bob> who has the key to the lab?
[10:04] <grace> ada: can you tag a release?
[10:05] <ada> grace: doing it now
"""
EVIL = """\
[10:00] <ada> <script>window.hacked = 1</script>
[10:01] <img/src=x/onerror=hacked=1> ada: <img src=x onerror="window.hacked = 1"> is this safe?
[10:02] <ada> <b>bold</b> &amp; "quoted" javascript:alert(1)
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


Open = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: Browser, server: Server) -> Iterator[Open]:
    """Opens pages; in the end, none has asked another host for anything, and none has complained."""
    contexts, elsewhere, complaints = [], [], []

    def hear_request(url: str) -> None:
        if urlsplit(url).hostname != "127.0.0.1":
            elsewhere.append(url)

    def hear_console(kind: str, text: str) -> None:
        # The browser itself reports answers from 400 on; what the page makes of them is tested.
        if kind in ("error", "warning") and "Failed to load resource" not in text and "net::ERR" not in text:
            complaints.append(text)

    def open_one(
        path: str = "", *, of: Server = server, size: tuple[int, int] = DESKTOP, dark: bool = False
    ) -> Page:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(SLOW)
        page = context.new_page()
        page.on("request", lambda request: hear_request(request.url))
        page.on("console", lambda message: hear_console(message.type, message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(str(of.client.base_url.join(path)))
        return page

    expect.set_options(timeout=SLOW)
    yield open_one
    for context in contexts:
        context.close()
    assert elsewhere == []
    assert complaints == []


def paste(page: Page, log: str) -> None:
    """Paste a log, and wait until the server has said everything about it."""
    page.get_by_label("A chat log").fill(log)
    page.get_by_role("button", name="Show the chat").click()
    settled(page)


def settled(page: Page) -> None:
    expect(page.locator("#messages [role=feed]")).to_have_attribute("aria-busy", "false")
    expect(page.locator(".message").first).to_be_visible()


def row(page: Page, number: int) -> Locator:
    return page.locator(f'.message[data-number="{number}"]')


def numbers(page: Page) -> list[int]:
    """The messages that are there, as the reader sees them."""
    found: list[str] = page.locator(".message").evaluate_all("rows => rows.map(row => row.dataset.number)")
    return [int(number) for number in found]


def arcs(page: Page) -> dict[int, dict[str, Any]]:
    found: list[dict[str, str]] = page.locator(".arc").evaluate_all(
        "arcs => arcs.map(arc => ({...arc.dataset}))"
    )
    return {int(arc["from"]): arc for arc in found}


def focused(page: Page) -> int | None:
    number: str | None = page.evaluate("document.activeElement.dataset.number ?? null")
    return None if number is None else int(number)


def test_a_pasted_log_gets_arcs_and_conversations(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    paste(page, CHAT)
    expect(page.locator("#subtitle")).to_contain_text("6 messages · 3 people")
    assert numbers(page) == [0, 1, 2, 3, 4, 5]
    found = arcs(page)
    assert found[1]["to"] == "0"
    assert found[1]["how"] == "named"
    assert found[1]["addressee"] == "ada"
    assert found[2]["to"] == "1"
    assert found[2]["how"] == "inferred"
    assert 0.5 < float(found[2]["confidence"]) <= 1
    assert found[5]["to"] == "4"
    assert 0 not in found
    dashes = "arc => getComputedStyle(arc.querySelector('.stroke')).strokeDasharray"
    assert page.locator('.arc[data-from="1"]').evaluate(dashes) == "none"
    assert page.locator('.arc[data-from="2"]').evaluate(dashes) != "none"
    # A name in front is shown as the addressee, not twice.
    expect(row(page, 1).locator(".text")).to_have_text("since noon")
    expect(row(page, 1).locator(".to")).to_have_text("→ada")
    # Conversations have a number beside their colour.
    label = row(page, 0).locator(".badge").inner_text()
    assert row(page, 1).locator(".badge").inner_text() == label
    expect(row(page, 3)).to_have_attribute("data-unanswered", "")
    expect(row(page, 0)).not_to_have_attribute("data-unanswered", "")
    page.screenshot(path=tmp_path / "desktop.png")


def test_an_arc_says_how_sure_it_is_when_pointed_at(open_page: Open) -> None:
    page = open_page()
    paste(page, CHAT)
    row(page, 2).hover()
    expect(row(page, 2).locator(".sure")).to_have_css("opacity", "1")
    expect(row(page, 2).locator(".sure")).to_contain_text("%")
    expect(page.locator('.arc[data-from="2"]')).to_have_class("arc inferred c0 hot")
    x, y = page.locator('.arc[data-from="5"] .reach').evaluate(
        "path => { const half = path.getPointAtLength(path.getTotalLength() / 2);"
        " const { x, y } = half.matrixTransform(path.getScreenCTM()); return [x, y] }"
    )
    page.mouse.move(x, y)
    expect(page.locator(".arc-label")).to_contain_text("%")


def test_the_sample_is_read_and_conversations_are_read_one_by_one(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    page.get_by_role("button", name="Take the sample").click()
    settled(page)
    # One of which all messages are on the screen: a long one is drawn in parts.
    buttons = page.locator("#conversation-list button").all()
    sizes = [int(button.get_attribute("data-size") or 0) for button in buttons]
    first, size = next(pair for pair in zip(buttons, sizes, strict=True) if 2 <= pair[1] <= 20)
    number = first.get_attribute("data-conversation")
    first.click()
    expect(page.locator("#filter")).to_have_text(f"conversation {number}: {size} of 54")
    expect(page.locator(".message")).to_have_count(size)
    assert {each.get_attribute("data-conversation") for each in page.locator(".message").all()} == {number}
    page.screenshot(path=tmp_path / "conversation.png")
    page.keyboard.press("Escape")
    expect(page.locator("#filter")).to_have_text("")
    expect(row(page, 1)).to_be_visible()


def test_filters_by_speaker(open_page: Open) -> None:
    page = open_page()
    paste(page, CHAT)
    page.get_by_label("Speaker").select_option("grace")
    expect(page.locator(".message")).to_have_count(2)
    assert numbers(page) == [1, 4]
    page.get_by_label("and what they are told").check()
    expect(page.locator(".message")).to_have_count(4)
    assert numbers(page) == [1, 2, 4, 5]
    page.get_by_role("checkbox", name="unanswered").check()
    expect(page.locator(".message")).to_have_count(0)
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".message")).to_have_count(6)
    page.get_by_role("checkbox", name="unanswered").check()
    assert numbers(page) == [3]


def test_selects_what_to_say_next(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    paste(page, CHAT)
    replies = ["the key hangs next to the door", "thanks for the release", "<b>no</b>"]
    page.get_by_label("Who speaks next").fill("grace")
    page.get_by_label("What they could say").fill("\n".join(["", *replies, "  "]))
    page.get_by_role("button", name="Rank").click()
    cells = page.locator(".joint .cell")
    expect(cells.first).to_be_visible()
    table = cells.evaluate_all("cells => cells.map(cell => ({...cell.dataset, best: cell.matches('.best')}))")
    assert {cell["candidate"] for cell in table} == {"0", "1", "2"}
    assert {cell["to"] for cell in table} == {"ada", "bob"}
    assert sum(float(cell["probability"]) for cell in table) == pytest.approx(1, abs=0.01)
    best = max(table, key=lambda cell: float(cell["probability"]))
    assert [cell for cell in table if cell["best"]] == [best]
    winner = page.locator(".winner").inner_text()
    assert winner.startswith("grace should say ")
    assert replies[int(best["candidate"])] in winner
    assert f" to {best['to']}, " in winner
    assert winner.endswith(" %")
    page.screenshot(path=tmp_path / "select.png")


def test_follows_a_channel(open_page: Open, client: httpx.Client) -> None:
    lab = "/v1/channels/%23lab"
    said(client, lab, talk("ada> is the parser merged?"))
    page = open_page()
    page.get_by_label("Or follow a live channel").fill("#lab")
    page.get_by_role("button", name="Follow").click()
    expect(row(page, 0)).to_contain_text("is the parser merged?")
    expect(page.locator("#live-state")).to_have_text("live")
    # Somebody else speaks.
    said(client, lab, talk("grace> ada: since noon"))
    expect(row(page, 1)).to_contain_text("since noon")
    expect(page.locator('.arc[data-from="1"]')).to_have_attribute("data-to", "0")
    # The reader speaks.
    page.get_by_label("Speak as").fill("ada")
    page.get_by_label("Message", exact=True).fill("great, thanks")
    page.keyboard.press("Enter")
    expect(row(page, 2)).to_contain_text("great, thanks")
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    assert texts(client, lab) == ["is the parser merged?", "since noon", "great, thanks"]
    # What to say next is asked of the channel.
    page.get_by_label("Who speaks next").fill("grace")
    page.get_by_label("What they could say").fill("you are welcome")
    page.get_by_role("button", name="Rank").click()
    expect(page.locator(".winner")).to_contain_text("grace should say “you are welcome” to ada")


def test_stays_at_the_end_of_a_channel_unless_the_reader_has_scrolled_up(
    open_page: Open, client: httpx.Client
) -> None:
    busy = "/v1/channels/busy"
    said(client, busy, talk(*(f"p{n % 5}> line {n}" for n in range(60))))
    page = open_page("#channel=busy")
    expect(row(page, 59)).to_be_in_viewport()
    said(client, busy, talk("p1> one more"))
    expect(row(page, 60)).to_be_in_viewport()
    page.locator("#messages").evaluate("feed => { feed.scrollTop = 0 }")
    expect(row(page, 0)).to_be_in_viewport()
    said(client, busy, talk("p2> and another"))
    newer = page.get_by_role("button", name="1 new message")
    expect(newer).to_be_visible()
    expect(row(page, 0)).to_be_in_viewport()
    newer.click()
    expect(row(page, 61)).to_be_in_viewport()
    expect(newer).to_be_hidden()


def test_a_channel_that_does_not_exist_yet_is_waited_for(open_page: Open, client: httpx.Client) -> None:
    page = open_page("#channel=new")
    expect(page.locator("#live-state")).to_have_text("nobody has spoken here yet")
    page.get_by_label("Speak as").fill("ada")
    page.get_by_label("Message", exact=True).fill("first!")
    page.get_by_role("button", name="Send").click()
    expect(row(page, 0)).to_contain_text("first!")
    expect(page.locator("#live-state")).to_have_text("live")
    # Another history begins at its own first message.
    answer(client.put("/v1/channels/new/messages", json={"messages": talk("bob> all is new")}))
    expect(row(page, 0)).to_contain_text("all is new")


def test_the_keyboard_is_enough(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the messages")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("A chat log")).to_be_focused()
    page.keyboard.insert_text(CHAT)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    settled(page)
    page.get_by_role("link", name="Skip to the messages").focus()
    page.keyboard.press("Enter")
    assert focused(page) == 0
    for key, expected in [
        ("ArrowDown", 1),
        ("j", 2),
        ("k", 1),
        ("End", 5),
        ("Home", 0),
        ("ArrowUp", 0),
        ("j", 1),
    ]:
        page.keyboard.press(key)
        assert focused(page) == expected, key
    outline = "row => getComputedStyle(row).outlineStyle"
    assert row(page, 1).evaluate(outline) == "solid"
    assert page.locator('.message[tabindex="0"]').count() == 1
    page.keyboard.press("Enter")
    details = row(page, 1).locator(".details")
    expect(details).to_contain_text("grace names ada")
    expect(details).to_contain_text("%")
    expect(page.locator("#announcer")).to_contain_text("To ada")
    page.keyboard.press("Escape")
    expect(details).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    assert focused(page) == 0
    page.keyboard.press("c")
    expect(page.locator("#filter")).to_contain_text("conversation 1")
    assert focused(page) == 0
    page.keyboard.press("s")
    expect(page.locator("#filter")).to_contain_text("conversation 1, ada")
    page.keyboard.press("Escape")
    expect(page.locator("#filter")).to_have_text("")
    assert focused(page) == 0


def test_what_is_said_is_never_taken_for_markup(open_page: Open) -> None:
    page = open_page()
    paste(page, EVIL)
    expect(row(page, 0).locator(".text")).to_have_text("<script>window.hacked = 1</script>")
    page.get_by_label("Who speaks next").fill("<img src=x onerror=hacked=1>")
    page.get_by_label("What they could say").fill('<script>hacked=1</script>\n<img src=x onerror="hacked=1">')
    page.get_by_role("button", name="Rank").click()
    expect(page.locator(".winner")).to_contain_text("<img src=x onerror=hacked=1> should say")
    page.locator("#conversation-list button").first.click()
    for each in page.locator(".message").all():
        each.click()
    assert page.evaluate("window.hacked ?? null") is None
    assert (
        page.locator("main script, main img, main b:not([class]):not(.winner b), main [onerror]").count() == 0
    )


def test_a_phone_needs_no_sideways_scrolling(open_page: Open, tmp_path: Path) -> None:
    page = open_page(size=PHONE)
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= PHONE[0]
    page.screenshot(path=tmp_path / "phone-start.png")
    page.get_by_role("button", name="Take the sample").click()
    settled(page)
    assert page.evaluate(width) <= PHONE[0]
    assert page.locator("#messages").evaluate("feed => feed.scrollWidth - feed.clientWidth") <= 0
    page.screenshot(path=tmp_path / "phone.png")
    page.mouse.move(5, 5)
    # Arcs are short markers; the one of the message that is looked at is whole.
    expect(page.locator(".arc[data-whole]")).to_have_count(0)
    row(page, 4).locator(".text").click()
    expect(page.locator('.arc[data-from="4"]')).to_have_attribute("data-whole", "")
    expect(row(page, 4).locator(".details")).to_be_visible()
    page.get_by_role("button", name="Conversations").click()
    expect(page.locator("#conversation-list button").first).to_be_visible()
    assert page.evaluate(width) <= PHONE[0]
    page.get_by_role("button", name="Next reply").click()
    page.get_by_label("Who speaks next").fill("wren")
    page.get_by_label("What they could say").fill("then book it for nine\nuntil ten, I have the key")
    page.get_by_role("button", name="Rank").click()
    expect(page.locator(".winner")).to_be_visible()
    assert page.evaluate(width) <= PHONE[0]
    page.screenshot(path=tmp_path / "phone-reply.png")
    page.get_by_role("button", name="Chat", exact=True).click()
    expect(row(page, 4).locator(".details")).to_be_visible()


def test_dark_mode(open_page: Open, tmp_path: Path) -> None:
    page = open_page(dark=True)
    paste(page, CHAT)
    light = "body => getComputedStyle(body).backgroundColor.match(/\\d+/g).map(Number)"
    assert max(page.locator("body").evaluate(light)) < 60
    ink = "row => getComputedStyle(row).color.match(/\\d+/g).map(Number)"
    assert min(row(page, 0).locator(".text").evaluate(ink)) > 180
    page.screenshot(path=tmp_path / "dark.png")


def test_a_thousand_messages_are_never_all_in_the_page(open_page: Open, tmp_path: Path) -> None:
    log = tmp_path / "room.txt"
    log.write_text("\n".join(irc_days(Random(1), days=1, lines=1000)) + "\n", "utf-8")
    page = open_page()
    page.locator("#file").set_input_files(log)
    settled(page)
    expect(page.locator("#title")).to_have_text("room.txt")
    total = int(page.locator(".message").first.get_attribute("aria-setsize") or 0)
    assert total > 950
    most = 0
    seen: set[int] = set()
    feed = page.locator("#messages")
    for step in range(101):
        feed.evaluate(
            f"feed => {{ feed.scrollTop = {step} / 100 * (feed.scrollHeight - feed.clientHeight) }}"
        )
        feed.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        rows = numbers(page)
        assert rows == sorted(rows)
        seen.update(rows)
        most = max(most, page.locator("*").count())
        in_sight = feed.evaluate(
            "feed => [...feed.querySelectorAll('.line')].filter(row => {"
            " const [a, b] = [row.getBoundingClientRect(), feed.getBoundingClientRect()];"
            " return a.bottom > b.top && a.top < b.bottom }).length"
        )
        assert in_sight > 8
    assert seen == set(range(max(seen) + 1))
    assert most < 1500
    assert len(rows) < 80
    expect(row(page, max(seen))).to_be_in_viewport()
    # The keyboard goes on where it is, though its row has long left the sight.
    row(page, max(seen)).focus()
    feed.evaluate("feed => { feed.scrollTop = 0 }")
    expect(row(page, 0)).to_be_in_viewport()
    page.keyboard.press("k")
    assert focused(page) == max(seen) - 1
    expect(row(page, max(seen) - 1)).to_be_in_viewport()
    # Another chat begins at its beginning.
    page.get_by_role("button", name="Open another").click()
    page.locator("#file").set_input_files(log)
    settled(page)
    expect(row(page, 0)).to_be_in_viewport()
    page.get_by_role("link", name="Skip to the messages").focus()
    page.keyboard.press("Enter")
    for key, expected in [("End", max(seen)), ("Home", 0), ("k", 0)]:
        page.keyboard.press(key)
        assert focused(page) == expected, key


def test_a_long_log_is_asked_about_in_pieces(open_page: Open, tmp_path: Path) -> None:
    log = tmp_path / "room.txt"
    lines = [f"[{n // 60 % 24:02}:{n % 60:02}] <p{n % 7}> line {n}" for n in range(2300)]
    log.write_text("\n".join(["# 20240531", *lines, ""]), "utf-8")
    page = open_page()
    asked: list[list[dict[str, Any]]] = []
    page.on(
        "request",
        lambda request: (
            asked.append(json.loads(request.post_data or "")["messages"])
            if request.url.endswith("/v1/addressees")
            else None
        ),
    )
    page.locator("#file").set_input_files(log)
    expect(page.locator("#progress")).to_be_visible()
    settled(page)
    expect(page.locator("#progress")).to_be_hidden()
    assert [len(messages) for messages in asked] == [2000, 400]
    assert asked[1][0]["text"] == "line 1900"
    assert asked[1][-1]["time"] == "2024-06-01T14:19:00"
    page.locator("#messages").evaluate("feed => { feed.scrollTop = feed.scrollHeight }")
    expect(row(page, 2299)).to_have_attribute("data-confidence", re.compile(r"0\.\d+"))


def test_a_log_is_cut_where_a_message_ends(open_page: Open) -> None:
    page = open_page()
    cut = "async log => (await import('./log.js')).split(log)"
    lines = [f"[10:00] <p> line {n}\n" for n in range(1999)]
    several = ["[10:01] <p> begins\n", "and goes on\n", "and ends\n"]
    parts = page.evaluate(cut, "".join([*lines, *several]))
    assert parts == ["".join(lines), "".join(several)]
    wide = "é" * 300_000 + "\n"
    assert page.evaluate(cut, wide * 3) == [wide] * 3
    exports = ['[\n{"text": "a"}\n]\n', '{\n"messages": []}\n', '[{"text": "a"}]']
    for export in exports:
        assert page.evaluate(cut, export + "\n" * 3000) == [export + "\n" * 3000]
    records = '{"speaker": "a", "text": "b"}\n'
    assert page.evaluate(cut, records * 2001) == [records * 2000, records]


def test_a_broken_stream_is_taken_up_again(open_page: Open, start: Start) -> None:
    flags, room = ("--port", str(free_port())), "/v1/channels/room"
    server = start(*flags)
    said(server.client, room, talk("ada> one"))
    page = open_page("#channel=room", of=server)
    expect(row(page, 0)).to_contain_text("one")
    expect(page.locator("#live-state")).to_have_text("live")
    assert server.stop() == 0
    expect(page.locator("#live-state")).to_have_text("connection lost, trying again")
    page.get_by_label("Speak as").fill("cyd")
    page.get_by_label("Message", exact=True).fill("is anybody there?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#status")).to_contain_text("cannot be reached")
    expect(page.get_by_label("Message", exact=True)).to_have_value("is anybody there?")
    server = start(*flags)
    said(server.client, room, talk("bob> two"))
    expect(row(page, 1)).to_contain_text("two")
    expect(page.locator(".message")).to_have_count(2)
    page.get_by_role("button", name="Send").click()
    expect(row(page, 2)).to_contain_text("is anybody there?")
    expect(page.locator("#status")).to_have_text("")
    assert texts(server.client, room) == ["one", "two", "is anybody there?"]
    page.close()


def test_a_file_can_be_dropped(open_page: Open) -> None:
    page = open_page()
    data = page.evaluate_handle(
        "text => { const d = new DataTransfer(); d.items.add(new File([text], 'lab.log')); return d }",
        CHAT,
    )
    page.locator("body").dispatch_event("dragenter", {"dataTransfer": data})
    expect(page.get_by_text("Drop the log to read it")).to_be_visible()
    page.locator("body").dispatch_event("drop", {"dataTransfer": data})
    settled(page)
    expect(page.locator("#title")).to_have_text("lab.log")
    expect(page.get_by_text("Drop the log to read it")).to_be_hidden()


def test_errors_are_said_and_what_was_typed_stays(open_page: Open) -> None:
    page = open_page()
    nonsense = "neither a log\nnor anything else\n"
    page.get_by_label("A chat log").fill(nonsense)
    page.get_by_role("button", name="Show the chat").click()
    status = page.locator("#status")
    expect(status).to_have_class("error")
    expect(status).to_contain_text("formats")
    expect(page.get_by_label("A chat log")).to_have_value(nonsense)
    paste(page, CHAT)
    expect(status).to_have_text("")
    page.get_by_label("What they could say").fill("well")
    page.get_by_role("button", name="Rank").click()
    expect(status).to_have_text("Say who speaks next.")
    expect(page.get_by_label("What they could say")).to_have_value("well")
    page.get_by_role("button", name="Open another").click()
    expect(page.get_by_label("A chat log")).to_have_value(CHAT)
    page.get_by_role("button", name="Back").click()
    expect(row(page, 5)).to_be_visible()


def test_asks_for_the_token_once(open_page: Open, start: Start) -> None:
    page = open_page(of=start("--token", "correct-horse-battery-staple"))
    page.get_by_role("button", name="Take the sample").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("asks for a token")
    dialog.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("not accepted")
    dialog.get_by_label("Token").fill("correct-horse-battery-staple")
    page.keyboard.press("Enter")
    settled(page)
    expect(dialog).to_be_hidden()
    page.reload()
    page.get_by_role("button", name="Take the sample").click()
    settled(page)
    expect(dialog).to_be_hidden()
    page.close()
