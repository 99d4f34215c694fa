"""The page, in a real browser, with a real server behind it."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from tests.conftest import irc_days
from tests.serve.conftest import Server, Start, answer, counted, said, talk, texts, wait_for
from tests.serve.exports import slack_export, zipped
from towhom.cli import main
from towhom.readers import READERS

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
        if urlsplit(url.removeprefix("blob:")).hostname != "127.0.0.1":
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
    return page.locator(f'.line[data-number="{number}"]')


def numbers(page: Page) -> list[int]:
    """The lines that are there, as the reader sees them."""
    found: list[str] = page.locator(".line[data-number]").evaluate_all(
        "rows => rows.map(row => row.dataset.number)"
    )
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
    expect(page.locator(".arc-label")).to_contain_text("%")
    sure = page.locator(".arc-label").text_content() or ""
    expect(page.locator('.arc[data-from="2"]')).to_have_class("arc inferred c0 hot")
    x, y = page.locator('.arc[data-from="5"] .reach').evaluate(
        "path => { const half = path.getPointAtLength(path.getTotalLength() / 2);"
        " const { x, y } = half.matrixTransform(path.getScreenCTM()); return [x, y] }"
    )
    page.mouse.move(x, y)
    expect(page.locator(".arc-label")).not_to_have_text(sure)
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


def upload(page: Page, log: bytes | str, name: str) -> None:
    """Choose a file, and wait until the server has said everything about it."""
    choose(page, log, name)
    settled(page)


def choose(page: Page, log: bytes | str, name: str) -> None:
    content = log.encode() if isinstance(log, str) else log
    payload = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.locator("#file").set_input_files(payload)  # type: ignore[arg-type]


def room_names(page: Page) -> list[str]:
    return page.locator("#room option").all_inner_texts()


EXPORT = slack_export(Random(4), 240, "general", "help", "random")


def test_the_rooms_of_a_zip_are_kept_apart(open_page: Open, client: httpx.Client, tmp_path: Path) -> None:
    page = open_page()
    upload(page, EXPORT, "export.zip")
    expect(page.locator("#title")).to_have_text("export.zip")
    names = room_names(page)
    assert [name.split(" ")[0] for name in names] == ["general", "help", "random"]
    counts = [int(name.split("(")[1].split(",")[0].rstrip(")")) for name in names]
    assert sum(counts) == 240
    for place, count in enumerate(counts):
        page.get_by_label("Room", exact=True).select_option(index=place)
        expect(page.locator("#subtitle")).to_contain_text(f"slack · {count} messages")
        expect(page.locator(".message").first).to_have_attribute("aria-setsize", re.compile(r"\d+"))
    page.screenshot(path=tmp_path / "rooms.png")
    # One room needs no switcher.
    page.get_by_role("button", name="Open another").click()
    upload(page, CHAT, "lab.log")
    expect(page.locator("#room")).to_be_hidden()
    expect(page.locator("#subtitle")).to_contain_text("irc · 6 messages")


def test_the_report_of_what_is_open(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    upload(page, EXPORT, "acme.zip")
    open_questions = sum(int(name.split(", ")[1].split(" ")[0]) for name in room_names(page) if ", " in name)
    page.get_by_role("button", name="Report", exact=True).click()
    report = page.frame_locator("#report-frame")
    expect(report.locator("h1")).to_have_text("acme")
    page.screenshot(path=tmp_path / "report.png")
    assert (
        int(report.locator("body").inner_text().split("\nopen questions")[0].split("\n")[-1])
        == open_questions
    )
    # Its script runs in the frame: rooms are switched, links lead to the messages.
    report.get_by_label("Room").select_option(index=2)
    expect(report.locator("#part")).not_to_contain_text("240")
    report.get_by_role("link", name="message", exact=True).first.click()
    expect(report.locator("#messages")).to_be_visible()
    report.get_by_role("button", name="Close").click()
    expect(page.get_by_role("link", name="Save")).to_have_attribute("download", "acme report.html")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator("#report-dialog")).to_be_hidden()


def test_a_zip_can_be_dropped(open_page: Open) -> None:
    page = open_page()
    data = page.evaluate_handle(
        "bytes => { const d = new DataTransfer();"
        " d.items.add(new File([new Uint8Array(bytes)], 'x.zip')); return d }",
        [*EXPORT],
    )
    page.locator("body").dispatch_event("drop", {"dataTransfer": data})
    settled(page)
    assert len(room_names(page)) == 3


def test_several_files_are_one_export(open_page: Open) -> None:
    page = open_page()
    logs = {
        "Ada & Björn.txt": "31/05/2024, 10:00 - Ada: hi\n31/05/2024, 10:01 - Björn: hello\n",
        "#lab-2024-05-31.log": "[10:00] <cyd> is it open?\n",
        "#lab-2024-06-01.log": "[10:00] <dee> cyd: it is\n",
    }
    files = [
        {"name": name, "mimeType": "text/plain", "buffer": content.encode()} for name, content in logs.items()
    ]
    page.locator("#file").set_input_files(files)  # type: ignore[arg-type]
    settled(page)
    expect(page.locator("#title")).to_have_text("3 files")
    assert room_names(page) == ["#lab (2)", "Ada & Björn (2)"]


def test_search_finds_text_and_people_in_all_rooms(open_page: Open) -> None:
    page = open_page()
    upload(page, EXPORT, "export.zip")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("DEPLOY.sh")
    expect(page.locator("#filter")).to_contain_text("“DEPLOY.sh”: ")
    found = page.locator("#filter").inner_text()
    here, there = int(found.split(": ")[1].split(" ")[0]), int(found.split(", ")[1].split(" ")[0])
    counts = [int(name.split("(")[1].split(" ")[0]) for name in room_names(page)]
    assert (counts[0], sum(counts[1:])) == (here, there)
    assert here > 0
    assert set(page.locator(".message .text mark").all_inner_texts()) == {"deploy.sh"}
    # The next room is searched, too; and people, by any part of their names.
    page.keyboard.press("Enter")
    page.keyboard.press("]")
    expect(page.locator("#filter")).to_contain_text(f": {counts[1]} of ")
    page.get_by_role("searchbox").fill("lindq")
    expect(page.locator("#filter")).to_contain_text("“lindq”")
    names = page.locator(".message .who mark").all_inner_texts()
    assert set(names) == {"Lindq"}
    page.get_by_role("searchbox").fill("no such words")
    expect(page.locator(".message")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("#filter")).to_have_text("")
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_open_questions_lead_to_their_messages(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    upload(page, EXPORT, "export.zip")
    page.keyboard.press("o")
    items = page.locator("#question-list button")
    total = int(page.locator(".sides .open-total").inner_text())
    assert total == sum(int(name.split(", ")[1].split(" ")[0]) for name in room_names(page) if ", " in name)
    expect(items).to_have_count(min(total, 60))
    dates = items.locator("time").evaluate_all("times => times.map(time => time.dateTime)")
    assert dates == sorted(dates, reverse=True)
    last = items.last
    words, people = last.locator(".words").inner_text(), last.locator(".people").inner_text()
    assert words.endswith("?") or "?" in words
    last.click()
    room = people.rpartition(" in ")[2]
    expect(page.locator("#room option:checked")).to_have_text(re.compile(f"^{room} "))
    reached = page.locator(".message:focus")
    expect(reached).to_be_in_viewport()
    expect(reached).to_have_attribute("data-unanswered", "")
    assert reached.get_attribute("data-speaker") == people.rpartition(" in ")[0]
    page.get_by_label("Rooms of the open questions").select_option("one")
    own = next(name for name in room_names(page) if name.startswith(room))
    expect(items).to_have_count(int(own.split(", ")[1].split(" ")[0]))
    page.screenshot(path=tmp_path / "open.png")


SAID = [("ada", "is the kettle on?"), ("bob", "since noon"), ("ada", "thanks"), ("cyd", "who took the milk?")]
ODD = "\n".join(f"{who}|#{number:03}|{text}" for number, (who, text) in enumerate(SAID * 3))


def test_a_log_that_is_not_recognised(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    choose(page, "\n".join(["some words", "and more of them, with no speaker", "the end"]), "notes.txt")
    expect(page.locator("#status")).to_contain_text("none of the formats that are known")
    page.get_by_role("button", name="Say how it is written").click()
    dialog = page.get_by_role("dialog", name="How is this log written?")
    expect(dialog).to_contain_text("and more of them, with no speaker")
    expect(dialog.locator("#format-choice option")).to_have_count(len(READERS) + 1)
    dialog.get_by_label("Format").select_option("pattern")
    dialog.get_by_label("Pattern of its lines").fill("{speaker}: {text}")
    dialog.get_by_role("button", name="Read it so").click()
    expect(page.locator("#status")).to_contain_text("no line of its beginning has the pattern")
    # What was told is still there, to be mended.
    page.get_by_role("button", name="Say how it is written").click()
    expect(dialog.get_by_label("Pattern of its lines")).to_have_value("{speaker}: {text}")
    page.screenshot(path=tmp_path / "format.png")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    table = "wer,was\n" + "".join(f"{who},{text}\n" for who, text in SAID)
    choose(page, table, "chat.csv")
    page.get_by_role("button", name="Say how it is written").click()
    dialog.get_by_label("Format").select_option("table")
    dialog.get_by_label("Columns of the table").fill("speaker=wer,text=was")
    dialog.get_by_role("button", name="Read it so").click()
    expect(page.locator("#subtitle")).to_contain_text("table · 4 messages · 3 people")


def test_what_was_induced_is_shown_and_can_be_corrected(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    upload(page, ODD, "odd.txt")
    expect(page.locator("#subtitle")).to_contain_text("pattern · 12 messages")
    expect(page.locator("#status")).to_contain_text("sure)")
    page.screenshot(path=tmp_path / "induced.png")
    page.get_by_role("button", name="Say how it is written").click()
    pattern = page.get_by_label("Pattern of its lines")
    expect(pattern).not_to_have_value("")
    page.screenshot(path=tmp_path / "induced-dialog.png")
    pattern.fill("{speaker}|#{skip}|{text}")
    page.get_by_role("button", name="Read it so").click()
    expect(page.locator("#status")).to_have_text("")
    expect(page.locator("#subtitle")).to_contain_text("pattern · 12 messages · 3 people")
    expect(row(page, 0).locator(".text")).to_have_text("is the kettle on?")
    # It can be said later, too.
    page.get_by_role("button", name="Format…").click()
    expect(pattern).to_have_value("{speaker}|#{skip}|{text}")


def test_keys_work_at_once(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    upload(page, EXPORT, "export.zip")
    for key, expected in [("j", 0), ("j", 1), ("ArrowDown", 2), ("k", 1), ("Home", 0)]:
        page.keyboard.press(key)
        assert focused(page) == expected, key
    page.keyboard.press("u")
    expect(page.locator("#filter")).to_contain_text("unanswered")
    page.keyboard.press("Escape")
    expect(page.locator("#filter")).to_have_text("")
    for key, name in [("]", "help"), ("]", "random"), ("]", "random"), ("[", "help")]:
        page.keyboard.press(key)
        expect(page.locator("#room option:checked")).to_have_text(re.compile(f"^{name} "))
    # What is typed into a field is text.
    page.get_by_label("Who speaks next").fill("")
    page.get_by_label("Who speaks next").press_sequentially("jo/?")
    expect(page.get_by_label("Who speaks next")).to_have_value("jo/?")
    expect(page.get_by_role("dialog")).to_be_hidden()
    # A button that has the keyboard is pressed with Enter.
    page.locator("#conversation-list button").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#filter")).to_contain_text("conversation ")


def test_progress_and_cancel(open_page: Open, client: httpx.Client) -> None:
    page = open_page()
    log = "".join(f"[10:00] <p{number % 9}> p{number % 7}: {number}?\n" for number in range(40_000))
    payload = {"name": "long.log", "mimeType": "text/plain", "buffer": log.encode()}
    page.locator("#file").set_input_files(payload)  # type: ignore[arg-type]
    expect(page.locator("#left")).to_contain_text(re.compile(r"[\d,]+ of 40,000 · about .* left"))
    expect(page.locator("#progress")).to_be_visible()
    # What has come can be read meanwhile.
    expect(page.locator(".message").first).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#status")).to_have_text(re.compile(r"Cancelled after [\d,]+ of 40,000 lines\."))
    done = int(page.locator("#status").inner_text().split(" ")[2].replace(",", ""))
    assert 0 < done < 40_000
    expect(page.locator("#progress")).to_be_hidden()
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(page.locator(".message").first).to_be_visible()
    wait_for(lambda: counted(client, "towhom_logs") == 0, 30)
    # Another log is opened as if nothing had been.
    page.get_by_role("button", name="Open another").click()
    paste(page, CHAT)
    assert numbers(page) == [0, 1, 2, 3, 4, 5]


def test_a_long_log_gets_the_answers_of_the_command_line(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "room.txt"
    path.write_text("".join(f"{line}\n" for line in irc_days(Random(7), days=2, lines=1300)), "utf-8")
    page = open_page()
    page.locator("#file").set_input_files(path)
    settled(page)
    page.keyboard.press("End")
    done = CliRunner().invoke(main, ["who", str(path), "--json", "--keep", "action"])
    expected = [json.loads(line) for line in done.stdout.splitlines()][-8:]
    shown = page.locator(".message").evaluate_all("rows => rows.map(row => ({...row.dataset}))")[-8:]
    assert [each["text"] for each in expected] == page.locator(".message .text").all_inner_texts()[-8:]
    for ours, theirs in zip(shown, expected, strict=True):
        assert ours.get("to") == theirs["addressee"]
        assert float(ours["confidence"]) == pytest.approx(theirs["probability"], abs=1e-4)


def test_right_to_left(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    texts = ("<ליאת> מישהו יודע איפה המפתח?", "<bob> on the shelf", "<ليلى> شكرا، `ls -l` يكفي")
    log = "".join(f"[10:00] {text}\n" for text in texts)
    paste(page, log)
    sides = (
        "text => { const range = document.createRange(); range.selectNodeContents(text);"
        " const [a, b] = [range.getBoundingClientRect(), text.getBoundingClientRect()];"
        " return [a.left - b.left, b.right - a.right] }"
    )
    for number, rtl in [(0, True), (1, False), (2, True)]:
        left, right = row(page, number).locator(".text").evaluate(sides)
        assert (right < 2 < left) if rtl else (left < 2 < right), number
    code = row(page, 2).locator("code")
    assert code.evaluate("code => getComputedStyle(code).direction") == "ltr"
    words = page.locator("#conversation-list .words").first
    assert words.evaluate("words => getComputedStyle(words).direction") == "rtl"
    page.screenshot(path=tmp_path / "right-to-left.png")
    phone = open_page(size=PHONE)
    paste(phone, log)
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    phone.screenshot(path=tmp_path / "right-to-left-phone.png")


def test_marks_of_slack_and_no_markup(open_page: Open) -> None:
    evil = '<img src=x onerror="window.hacked=1">'
    texts = [
        "run `make` and *see* :tada:",
        f"```\n{evil}\n```",
        f"*{evil}* `{evil}` javascript:hacked=1",
    ]
    day = [
        {
            "type": "message",
            "user": f"U{number}",
            "ts": f"171680044{number}.0",
            "text": escape(text, quote=False),
        }
        for number, text in enumerate(texts, start=1)
    ]
    people = [
        {"id": f"U{number}", "name": name} for number, name in enumerate(["ada", "bob", "cyd"], start=1)
    ]
    files = {
        "users.json": json.dumps(people),
        "channels.json": json.dumps([{"id": "C1", "name": evil}]),
        "lab/2024-05-27.json": json.dumps(day),
        f"{evil.replace('/', '')}/2024-05-27.json": json.dumps(day),
    }
    page = open_page()
    upload(page, zipped(files), "x.zip")
    page.get_by_label("Room", exact=True).select_option(index=1)
    expect(page.locator("#subtitle")).to_contain_text("3 messages")
    text = row(page, 0).locator(".text")
    expect(text.locator("code")).to_have_text("make")
    expect(text.locator("strong")).to_have_text("see")
    expect(text.locator("span[title=':tada:']")).to_have_text("🎉")
    expect(row(page, 1).locator("code.block")).to_have_text(evil)
    for each in page.locator(".message").all():
        each.locator(".clock").click()
    page.keyboard.press("o")
    page.get_by_role("searchbox").fill("img")
    expect(page.locator("mark").first).to_be_visible()
    assert page.evaluate("window.hacked ?? null") is None
    assert page.locator("main img, main script, main [onerror], main a").count() == 0


def test_short_names_are_not_cut_off(open_page: Open) -> None:
    names = ["Al", "Yo", "Tobias", "Maximiliane", "Noor Hadid"]
    lines = [
        {"speaker": name, "text": f"is it {number}, or is it not?", "addressee": names[number % 5 - 2]}
        for number, name in enumerate(names * 6)
    ]
    page = open_page()
    upload(page, "".join(f"{json.dumps(line)}\n" for line in lines), "chat.jsonl")
    for width in (1360, 1000, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        row(page, 3).hover()
        cut = page.locator(".speaker, .to .name").evaluate_all(
            "names => names.filter(name => name.scrollWidth > name.clientWidth + 1).map(name => name.title)"
        )
        assert cut == [], width


MANY = """
count => {
  const encoder = new TextEncoder();
  const real = window.fetch;
  const line = (value) => encoder.encode(JSON.stringify(value) + "\\n");
  const message = (number) => ({
    type: "message", room: 0, line: number, number,
    message: { speaker: `p${number % 40}`, text: `number ${number} `.repeat(1 + number % 5), addressee: null,
      time: `2024-05-${String(1 + Math.floor(number / 4000)).padStart(2, "0")}T10:00:00` },
    addressees: [{ name: `p${number * 7 % 40}`, probability: 0.7 }], how: "inferred", reason: "it is made up",
    asks: number % 9 === 0, replies_to: [number - number % 13], thread: number - number % 500,
    thread_probability: 0.6 });
  const body = new ReadableStream({
    start(to) {
      const rooms = [{ room: 0, name: "many", format: "slack", messages: count, lines: count }];
      const left_out = { lines: 0, files: 0 };
      to.enqueue(line({ type: "rooms", rooms, lines: count, left_out, problems: [] }));
      for (let number = 0; number < count; number += 1) to.enqueue(line(message(number)));
      to.enqueue(line({ type: "complete", lines: count }));
      to.close();
    },
  });
  window.fetch = (path, ...rest) =>
    String(path).startsWith("v1/logs") ? Promise.resolve(new Response(body)) : real(path, ...rest);
}
"""


def test_a_hundred_thousand_messages(open_page: Open) -> None:
    """What is in the page does not grow with the chat, and each of its ends is a key away."""
    page = open_page()
    page.evaluate(MANY, 100_000)
    paste(page, "x")
    expect(page.locator("#subtitle")).to_contain_text("100,000 messages · 40 people")
    assert page.locator("*").count() < 2500
    for key, expected in [("End", 99_999), ("k", 99_998), ("Home", 0)]:
        page.keyboard.press(key)
        assert focused(page) == expected
        expect(row(page, expected)).to_be_in_viewport()
        assert page.locator(".line").count() < 100
    page.keyboard.press("/")
    page.keyboard.type("77777")
    expect(page.locator(".message")).to_have_count(1)
    expect(page.locator("#filter")).to_contain_text("1 of 100,000")
