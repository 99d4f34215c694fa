"""The page of conversations: what stands on it, what it makes of hostile text, and how it filters."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import towhom
from towhom.chat import Kind, Message
from towhom.readers import read_messages
from towhom.samples import sample_chat
from towhom.threads import Placed
from towhom.threads.page import threads_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

NOON = datetime(2024, 5, 31, 12, 0)
VOID = {"meta", "input", "link", "img", "br"}


class Chat:
    """Messages with what they answer, a minute apart."""

    def __init__(self, start: datetime | None = NOON) -> None:
        self.placed: list[Placed] = []
        self._start = start

    def say(self, speaker: str, text: str, answers: int | None = None, p: float = 0.9, **more: Any) -> int:
        """Adds a message, which answers the one of a number or starts a conversation; returns its number."""
        line = len(self.placed)
        time = None if self._start is None else self._start + timedelta(minutes=line)
        message = Message(speaker, text, **{"time": time, **more})
        thread = line if answers is None else self.placed[answers].thread
        self.placed.append(Placed(message, line, (line if answers is None else answers,), thread, p))
        return line

    def page(self, title: str = "a day") -> Node:
        return parse(threads_page(self.placed, title))


@dataclass
class Node:
    """An element of a page."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Node]:
        for child in self.children:
            if isinstance(child, Node):
                yield child
                yield from child

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def all(self, tag: str, kind: str | None = None) -> list[Node]:
        return [node for node in self if node.tag == tag and (kind is None or kind in node.classes)]

    def one(self, tag: str, kind: str | None = None) -> Node:
        (found,) = self.all(tag, kind)
        return found


class _Tree(HTMLParser):
    """Builds elements; complains of a tag that is closed without being open."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(page: str) -> Node:
    tree = _Tree()
    tree.feed(page)
    tree.close()
    assert len(tree.open) == 1, "something is not closed"
    return tree.open[0]


def counts(page: Node) -> list[str]:
    return [item.text for item in page.one("ul", "counts").all("li")]


def talks(page: Node) -> list[Node]:
    return [node for node in page.all("details", "talk") if "room" not in node.classes]


def said(node: Node) -> list[str]:
    """The texts of messages."""
    return [line.one("p").all("span")[0].text for line in node.all("li") if "id" in line.attributes]


def helped(page: Node) -> list[tuple[str, str]]:
    return [(row.one("button").text, row.one("td").text) for row in page.one("aside").one("tbody").all("tr")]


def unanswered(page: Node) -> list[str]:
    """The first message of everything that is marked so, for the eye and for the filter."""
    found = []
    for node in [*talks(page), *(line for room in page.all("details", "room") for line in room.all("li"))]:
        assert ("data-unanswered" in node.attributes) == bool(node.all("span", "mark"))
        if "data-unanswered" in node.attributes:
            found.append(said(Node("", children=[node]))[0])
    return found


@pytest.fixture
def workshop() -> Chat:
    """Two conversations and two messages that nobody takes up."""
    chat = Chat()
    lid = chat.say("noor", "why does the cutter say error 47?")
    van = chat.say("tobias", "the van is here")
    answer = chat.say("wren", "that is the lid switch", lid)
    chat.say("mira", "coming", van, 0.456)
    chat.say("noor", "you are right", answer)
    chat.say("ezra", "does anybody have a 0.6 nozzle?")
    chat.say("noor", "fixed", answer)
    chat.say("kei", "what a day")
    return chat


class TestConversations:
    def test_counts_and_span(self, workshop: Chat) -> None:
        page = workshop.page("31 May <draft>")
        assert counts(page) == ["8 messages", "2 conversations", "6 people", "1 unanswered question"]
        assert page.one("p", "span").text == "Friday 31 May 2024, 12:00–12:07"
        assert page.one("h1").text == page.one("title").text == "31 May <draft>"

    def test_in_the_order_of_their_start_and_the_rest_in_the_room(self, workshop: Chat) -> None:
        page = workshop.page()
        first, second = talks(page)
        assert said(first) == [
            "why does the cutter say error 47?",
            "that is the lid switch",
            "you are right",
            "fixed",
        ]
        assert said(second) == ["the van is here", "coming"]
        room = page.one("details", "room")
        assert room.one("h2").text == "Said into the room"
        assert said(room) == ["does anybody have a 0.6 nozzle?", "what a day"]

    def test_headline(self, workshop: Chat) -> None:
        first = talks(workshop.page())[0].one("summary")
        assert first.one("h3").text == "why does the cutter say error 47?"
        assert first.one("p").text == "4 messages · noor, wren · 12:00–12:06"

    def test_long_headlines_are_cut_between_words(self) -> None:
        chat = Chat()
        start = chat.say("a", "word " * 100)
        for number in range(6):
            chat.say(f"friend{number}", "yes", start)
        summary = talks(chat.page())[0].one("summary")
        assert re.fullmatch(r"(word )+word…", summary.one("h3").text)
        assert "a, friend0, friend1, friend2 and 3 more" in summary.one("p").text

    def test_what_is_answered_is_linked(self, workshop: Chat) -> None:
        page = workshop.page()
        lines = {line.attributes["id"]: line for line in page.all("li") if "id" in line.attributes}
        assert len(lines) == len(workshop.placed)
        answer = next(line for line in lines.values() if "that is the lid switch" in line.text)
        link = answer.one("a")
        assert link.text == "↩ noor 12:00"
        assert link.attributes["title"] == "90 % likely"
        target = lines[(link.attributes["href"] or "").removeprefix("#")]
        assert said(Node("", children=[target])) == ["why does the cutter say error 47?"]
        assert all(
            (link.attributes["href"] or "").removeprefix("#") in lines
            for line in lines.values()
            for link in line.all("a")
        )

    def test_what_is_unsure_says_how_likely_it_is(self, workshop: Chat) -> None:
        assert [link.text for link in workshop.page().all("a", "re")] == [
            "↩ noor 12:00", "↩ wren 12:02", "↩ wren 12:02", "↩ tobias 12:01 46 %",
        ]  # fmt: skip

    def test_an_unsure_start_says_so_too(self) -> None:
        chat = Chat()
        start = chat.say("ada", "so", p=0.55)
        chat.say("bob", "so what", start)
        assert chat.page().one("span", "re").text == "starts here 55 %"

    def test_names_are_there_with_their_colour_even_where_they_repeat(self) -> None:
        chat = Chat()
        start = chat.say("ada", "one")
        chat.say("ada", "two", start)
        chat.say("bob", "three", start)
        lines = talks(chat.page())[0].all("li")
        assert [line.one("b").text for line in lines] == ["ada", "ada", "bob"]
        assert ["more" in line.classes for line in lines] == [False, True, False]
        colours = [line.classes[0] for line in lines]
        assert colours[0] == colours[1] != colours[2]

    def test_those_who_talk_with_each_other_differ_in_colour(self) -> None:
        chat = Chat()
        for group in range(10):
            start = chat.say(f"{group}-0", "hello")
            for person in range(1, 6):
                chat.say(f"{group}-{person}", "hello", start)
        for talk in talks(chat.page()):
            assert len({line.classes[0] for line in talk.all("li")}) == 6

    def test_large_pages_begin_closed(self) -> None:
        chat = Chat()
        for number in range(999):
            chat.say("ada", "and", 0 if number else None)
        chat.say("bob", "hm")
        assert all("open" in node.attributes for node in chat.page().all("details", "talk"))
        chat.say("bob", "hm")
        assert not any("open" in node.attributes for node in chat.page().all("details", "talk"))

    def test_an_addressee_that_the_platform_names_is_shown(self) -> None:
        chat = Chat()
        start = chat.say("ada", "ready?")
        chat.say("bob", "yes", start, addressee="ada")
        assert "ada: yes" in talks(chat.page())[0].text

    def test_actions_and_notices_are_said_too(self) -> None:
        chat = Chat()
        start = chat.say("ada", "waves", kind=Kind.ACTION)
        chat.say("bot", "build 3 is green", start, kind=Kind.NOTICE)
        lines = talks(chat.page())[0].all("li")
        assert [line.classes[-1] for line in lines] == ["action", "notice"]


class TestUnanswered:
    def test_nobody_else_answers(self) -> None:
        chat = Chat()
        alone = chat.say("ada", "does it boot?")
        chat.say("ada", "it does not", alone)
        taken_up = chat.say("bob", "who is there?")
        chat.say("cyd", "me", taken_up)
        chat.say("dee", "where is the key?")
        page = chat.page()
        assert unanswered(page) == ["does it boot?", "where is the key?"]
        assert counts(page)[3] == "2 unanswered questions"

    def test_anywhere_in_the_conversation(self) -> None:
        chat = Chat()
        start = chat.say("ada", "does it boot?")
        more = chat.say("ada", "it is a laptop", start)
        chat.say("bob", "which one", more)
        assert unanswered(chat.page()) == []

    @pytest.mark.parametrize(
        ("text", "asked"),
        [
            ("really?", True),
            ("really?!", True),
            ('he said "why?" and left', True),
            ("本当ですか？", True),
            ("see http://example.org/page?id=3", False),
            ("no question", False),
            ("", False),
        ],
    )
    def test_what_is_a_question(self, text: str, asked: bool) -> None:
        chat = Chat()
        chat.say("ada", text)
        assert bool(unanswered(chat.page())) == asked

    def test_only_the_start_counts(self) -> None:
        chat = Chat()
        start = chat.say("ada", "it does not boot")
        chat.say("ada", "why?", start)
        assert unanswered(chat.page()) == []

    def test_not_where_the_start_is_not_there(self, workshop: Chat) -> None:
        rest = [each for each in workshop.placed if each.line == 2]
        rest = [replace(each, message=Message("wren", "is it the lid?")) for each in rest]
        page = parse(threads_page(rest, "a part"))
        assert counts(page)[:2] == ["1 message", "0 conversations"]
        assert unanswered(page) == []

    def test_who_is_renamed_does_not_answer_themself(self) -> None:
        chat = Chat()
        start = chat.say("ada", "does it boot?")
        chat.say("ada", "ada_away", kind=Kind.RENAME)
        chat.say("ada_away", "never mind", start)
        page = chat.page()
        assert unanswered(page) == ["does it boot?"]
        assert counts(page)[2] == "1 person"
        assert not page.all("aside")
        assert page.one("select").all("option")[1].text == "ada, ada_away (2)"


class TestWhoHelpedWhom:
    def test_answers_to_who_started_are_counted(self, workshop: Chat) -> None:
        assert helped(workshop.page()) == [("wren → noor", "1"), ("mira → tobias", "1")]

    def test_answers_among_others_are_not(self) -> None:
        chat = Chat()
        start = chat.say("ada", "does it boot?")
        answer = chat.say("bob", "yes", start)
        chat.say("cyd", "no", answer)
        assert helped(chat.page()) == [("bob → ada", "1")]

    def test_nobody_helps_themself(self) -> None:
        chat = Chat()
        chat.say("ada", "again", chat.say("ada", "hm"))
        assert not chat.page().all("aside")

    def test_the_first_twenty(self) -> None:
        chat = Chat()
        start = chat.say("ada", "help")
        for number in range(30):
            for _ in range(number + 1):
                chat.say(f"friend{number}", "yes", start)
        rows = helped(chat.page())
        assert len(rows) == 20
        assert rows[0] == ("friend29 → ada", "30")

    def test_rows_filter_by_people_of_the_messages(self, workshop: Chat) -> None:
        page = workshop.page()
        button = page.one("aside").all("button")[0]
        hits = [
            line
            for line in page.all("li")
            if line.attributes.get("data-who") == button.attributes["data-helper"]
            and line.attributes.get("data-helps") == button.attributes["data-helped"]
        ]
        assert [line.one("b").text for line in hits] == ["wren"]
        assert "disabled" in button.attributes, "without a script it does nothing"


class TestLogs:
    def test_nothing(self) -> None:
        page = parse(threads_page([], "empty"))
        assert counts(page) == ["0 messages", "0 conversations", "0 people", "0 unanswered questions"]
        assert "Nobody says anything here." in page.one("main").text
        assert not page.all("details")
        assert "hidden" in page.one("form").attributes

    def test_lines_that_nobody_said_are_only_counted(self, workshop: Chat) -> None:
        before = counts(workshop.page())
        workshop.say("eve", "has joined #room?", kind=Kind.SYSTEM)
        workshop.say("eve", "eve_", kind=Kind.RENAME)
        workshop.say("", "20240601", kind=Kind.DAY)
        page = workshop.page()
        assert counts(page) == before
        assert "has joined" not in page.text
        assert "3 lines that nobody said" in page.one("footer").text

    def test_without_times(self) -> None:
        chat = Chat(start=None)
        start = chat.say("ada", "is it on?")
        chat.say("bob", "yes", start)
        chat.say("cyd", "hm")
        page = chat.page()
        assert page.one("p", "span").text == ""
        assert not page.all("time")
        assert page.one("a", "re").text == "↩ ada"
        assert talks(page)[0].one("summary").one("p").text == "2 messages · ada, bob"

    def test_some_times_are_missing(self) -> None:
        chat = Chat()
        start = chat.say("ada", "one", time=None)
        chat.say("bob", "two", start)
        assert talks(chat.page())[0].one("summary").one("p").text == "2 messages · ada, bob · 12:01"

    def test_several_days(self) -> None:
        chat = Chat(datetime(2024, 5, 31, 23, 59, tzinfo=UTC))
        start = chat.say("ada", "good night")
        chat.say("bob", "good morning", start)
        later = chat.say("cyd", "tea?")
        chat.say("ada", "yes", later)
        page = chat.page()
        assert page.one("p", "span").text == "Friday 31 May 2024, 23:59 – Saturday 1 June 2024, 00:02 UTC"
        assert [node.text for node in page.one("main").all("h2")] == [
            "Friday 31 May 2024",
            "Saturday 1 June 2024",
        ]
        assert talks(page)[0].one("summary").one("p").text.endswith("23:59 – 1 Jun 00:00")
        assert talks(page)[0].one("li", "day").text == "Saturday 1 June 2024"
        assert talks(page)[0].one("a").text == "↩ ada 31 May 23:59"

    def test_channels_and_files_may_use_a_number_twice(self) -> None:
        first, second = Chat(), Chat()
        for chat, room in ((first, "#tea"), (second, "#coffee")):
            start = chat.say("ada", f"who wants some of {room}?", channel=room)
            chat.say("bob", f"me, in {room}", start, channel=room)
        third = [replace(each, message=replace(each.message, text="again")) for each in first.placed]
        page = parse(threads_page([*first.placed, *second.placed, *third], "rooms"))
        assert [said(talk) for talk in talks(page)] == [
            ["who wants some of #tea?", "me, in #tea"],
            ["who wants some of #coffee?", "me, in #coffee"],
            ["again", "again"],
        ]
        assert "#coffee" in talks(page)[1].one("summary").one("p").text
        ids = [node.attributes["id"] for node in page if "id" in node.attributes]
        assert len(ids) == len(set(ids))

    def test_the_sample_with_the_bundled_model(self) -> None:
        with sample_chat() as path:
            page = parse(threads_page(towhom.load().threads(read_messages(str(path))), path.name))
        assert counts(page)[0] == "54 messages"
        assert counts(page)[2] == "12 people"
        assert len(page.all("li", "c0")) > 0
        assert sum(len(said(node)) for node in page.all("details", "talk")) == 54


HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    '"><svg onload=window.hacked=1>',
    "</span></p></li></ol></details><!--",
    "&lt;b&gt; &amp; {{title}} {{conversations}} \\1 \\g<0>",
    "half a pair \ud800, a nul \x00",
)


def hostile() -> list[Placed]:
    chat = Chat()
    for text in HOSTILE:
        start = chat.say(text, text + "?", channel=text, p=0.5)
        chat.say("bob" + text, text, start, channel=text, addressee=text)
        chat.say(text, text, channel=text)
    return chat.placed


class TestHarm:
    def test_text_stays_text(self) -> None:
        page = parse(threads_page(hostile(), HOSTILE[0]))
        assert page.one("h1").text == HOSTILE[0]
        plain = parse(threads_page([], ""))
        assert [node.text for node in page.all("script")] == [node.text for node in plain.all("script")]
        assert not [node for node in page if node.tag in ("img", "svg")]
        assert not [name for node in page for name in node.attributes if name.startswith("on")]
        shown = [text.replace("\ud800", "?") for text in HOSTILE]
        assert [said(talk)[1] for talk in talks(page)] == shown
        assert {line.one("b").text for line in page.one("details", "room").all("li")} == set(shown)

    def test_it_can_be_written(self) -> None:
        assert threads_page(hostile(), "a \ud800").encode("utf-8")

    def test_no_host_is_asked(self, workshop: Chat) -> None:
        workshop.say("ada", "see https://example.org/a.png")
        page = threads_page(workshop.placed, "a day")
        tree = parse(page)
        assert not [node for node in tree if {"src", "srcset", "action", "data"} & node.attributes.keys()]
        assert all(
            (node.attributes["href"] or "").startswith("#") for node in tree if "href" in node.attributes
        )
        assert not tree.all("link")
        code = "".join(node.text for node in [*tree.all("style"), *tree.all("script")])
        assert not re.search(r"https?:|//[a-z]+\.|url\(|@import|fetch|XMLHttp", code)
        (policy,) = [node for node in tree.all("meta") if "http-equiv" in node.attributes]
        assert (policy.attributes["content"] or "").startswith("default-src 'none';")


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Page]]:
    """Opens pages in a browser; in the end, none has complained or asked for anything else."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium on this machine")
    folder, complaints = tmp_path_factory.mktemp("pages"), list[str]()

    def hear(page: Page, path: Path) -> None:
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda asked: complaints.extend([asked.url] * (asked.url != path.as_uri())))

    arguments = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
    ]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=arguments)

        def open_page(placed: Sequence[Placed], *, width: int = 1200, script: bool = True) -> Page:
            path = folder / f"{len(list(folder.iterdir()))}.html"
            path.write_text(threads_page(placed, "a day"), "utf-8")
            size = {"width": width, "height": 800}
            page: Page = browser.new_context(viewport=size, java_script_enabled=script).new_page()
            hear(page, path)
            page.goto(path.as_uri())
            return page

        yield open_page
        browser.close()
    assert complaints == []


def visible(page: Page) -> list[str]:
    """The messages that are shown, by their texts."""
    lines = page.locator("li[id]:visible")
    return lines.locator("p > span:first-of-type").all_inner_texts()


class TestInABrowser:
    def test_search(self, show: Callable[..., Page], workshop: Chat) -> None:
        page = show(workshop.placed)
        assert len(visible(page)) == 8
        page.locator("#text").fill("LID")
        page.locator("#status", has_text="1 message in 1 conversation").wait_for()
        assert len(visible(page)) == 4
        assert page.locator("li.hit").all_inner_texts()[0].count("lid switch") == 1
        page.locator("#text").fill("no such thing")
        page.locator("#nothing").wait_for()
        assert visible(page) == []
        page.locator("#status button").click()
        assert len(visible(page)) == 8

    def test_speaker_and_unanswered(self, show: Callable[..., Page], workshop: Chat) -> None:
        page = show(workshop.placed)
        page.locator("#who").select_option(label="kei (1)")
        assert visible(page) == ["what a day"]
        page.locator("#who").select_option("")
        page.locator("#unanswered").check()
        assert visible(page) == ["does anybody have a 0.6 nozzle?"]
        assert "1 unanswered question" in page.locator("#status").inner_text()

    def test_who_helped_whom(self, show: Callable[..., Page], workshop: Chat) -> None:
        page = show(workshop.placed)
        button = page.get_by_role("button", name="wren → noor")
        button.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        assert page.locator("li.hit").count() == 1
        assert "wren → noor: 1 answer in 1 conversation" in page.locator("#status").inner_text()
        button.press("Enter")
        assert len(visible(page)) == 8

    def test_what_is_found_is_opened_and_closed_again(self, show: Callable[..., Page]) -> None:
        chat = Chat()
        for number in range(600):
            chat.say("bob", f"answer {number}", chat.say("ada", f"topic {number}"))
        page = show(chat.placed)
        assert page.locator(".talk[open]").count() == 0
        page.locator("#text").fill("answer 77")
        page.locator("#status", has_text="1 message").wait_for()
        assert visible(page) == ["topic 77", "answer 77"]
        page.locator("#text").fill("")
        page.locator("#status:empty").wait_for(state="attached")
        assert page.locator(".talk[open]").count() == 0

    def test_hostile_text_does_nothing(self, show: Callable[..., Page]) -> None:
        page = show(hostile())
        page.locator("#text").fill("script")
        page.locator("#status button").wait_for()
        assert page.evaluate("window.hacked") is None

    @pytest.mark.parametrize("width", [320, 380, 800])
    def test_nothing_is_wider_than_the_screen(self, show: Callable[..., Page], width: int) -> None:
        chat = Chat()
        start = chat.say("a" * 80, "b" * 300 + "?")
        chat.say("c" * 80, "d" * 300, start, 0.5)
        page = show([*chat.placed, *hostile()[:6]], width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = (
            "[...document.querySelectorAll('li, summary, aside')].filter(e => e.scrollWidth > e.clientWidth)"
        )
        assert page.evaluate(f"{wide}.map(e => e.textContent)") == []

    def test_without_a_script(self, show: Callable[..., Page], workshop: Chat) -> None:
        page = show(workshop.placed, script=False)
        assert len(visible(page)) == 8
        assert not page.locator("form").is_visible()
