"""Pages: HTML that exporters write for people, XML that programs keep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path

import pytest

from tests.readers.conftest import Reading
from tests.readers.exports import write, zipped
from tests.readers.platforms import (
    exporter_div,
    exporter_page,
    meta_div,
    meta_page,
    sms,
    telegram_div,
    telegram_page,
)
from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.readers import Report, find_logs
from towhom.readers.base import MAX_MESSAGE, Source
from towhom.readers.tags import Tag, page_lines, tags_and_texts, unescaped

NINE = datetime(2024, 5, 31, 9, 0, tzinfo=UTC)


def read(path: Path) -> list[Message]:
    report = Report()
    messages = [message for log in find_logs(path, report=report) for message in log.messages(report)]
    assert report.malformed == 0
    return messages


def said(messages: list[Message]) -> list[tuple[str, str]]:
    return [(message.speaker, message.text) for message in messages if message.kind is Kind.MESSAGE]


class TestTelegram:
    def test_names_replies_and_who_goes_on(self, tmp_path: Path) -> None:
        reply = '<div class="reply_to details">In reply to <a href="#go_to_message1">this message</a></div>'
        day = '<div class="message service" id="message-1"><div class="body details">31 May 2024</div></div>'
        pinned = '<div class="message service" id="message9"><div class="body details">Ada pinned</div></div>'
        first = telegram_page([day, telegram_div(1, "Ada L", "where &amp; <b>when</b><br>is it?"), pinned])
        second = telegram_page(
            [
                telegram_div(2, None, "tell me"),
                telegram_div(3, "Bob", "here", reply),
                telegram_div(10, None, "ok"),
            ]
        )
        files = {
            "messages.html": first,
            "messages2.html": second,
            "css/style.css": b"x",
            "js/script.js": b"x",
        }
        for path in (write(tmp_path / "ChatExport", files), tmp_path / "export.zip"):
            if path.suffix == ".zip":
                path.write_bytes(zipped(files, "ChatExport/"))
            messages = read(path)
            assert said(messages) == [
                ("Ada L", "where & when\nis it?"), ("Ada L", "tell me"), ("Bob", "here"), ("Bob", "ok"),
            ]  # fmt: skip
            assert [m.text for m in messages if m.kind is Kind.SYSTEM] == ["Ada pinned"]
            answer = messages[3]
            assert (answer.addressee, answer.id, answer.reply_to) == ("Ada L", "3", "1")
            assert (answer.channel, answer.time) == ("Rowing club", NINE + timedelta(minutes=15))

    def test_what_is_forwarded_was_said_by_who_forwards_it(self, reading: Reading) -> None:
        forwarded = (
            '<div class="forwarded body"><div class="from_name">Dan <span class="date details" '
            'title="30.05.2024 09:00:00 UTC+02:00"></span></div><div class="text">frozen</div></div>'
        )
        page = telegram_page([telegram_div(1, "ada", "hi"), telegram_div(2, None, "", forwarded)])
        messages, _ = reading(page, name="messages.html")
        assert said(messages) == [("ada", "hi"), ("ada", "frozen")]
        assert messages[1].time == NINE + timedelta(minutes=10)

    def test_many_pages_come_in_order(self, tmp_path: Path) -> None:
        files = {
            f"messages{number if number > 1 else ''}.html": telegram_page(
                [telegram_div(0, "ada", f"{number}")]
            )
            for number in range(1, 12)
        }
        assert [message.text for message in read(write(tmp_path / "x", files))] == [
            str(n) for n in range(1, 12)
        ]


class TestDiscordChatExporter:
    def test_replies_mentions_and_who_goes_on(self, reading: Reading) -> None:
        reply = (
            '<div class="chatlog__reply"><div class="chatlog__reply-author">ada</div><div '
            'class="chatlog__reply-content"><a class="chatlog__reply-link" onclick="scrollToMessage(event, '
            "'1')\">is it &gt; 3?</a></div></div>"
        )
        goes_on = (
            '<div class="chatlog__message-container" data-message-id="2"><div class="chatlog__message"><div '
            'class="chatlog__short-timestamp" title="05/31/2024 9:07 AM">9:07</div>'
            '<div class="chatlog__content">more <img class="chatlog__emoji" alt="👍" src="x">'
            '<span class="chatlog__edited-timestamp">(edited)</span></div></div></div>'
        )
        mention = '<span class="chatlog__markdown-mention">@ada</span> yes, <b>it is</b>'
        joined = (
            '<div class="chatlog__message-container" data-message-id="4"><span class='
            '"chatlog__system-notification-author">eve</span>'
            '<span class="chatlog__system-notification-content">joined the server.</span> '
            '<span class="chatlog__system-notification-timestamp">05/31/2024 10:00 AM</span></div>'
        )
        page = exporter_page(
            [exporter_div(1, "ada", "is it > 3?"), goes_on, exporter_div(3, "Bob B.", mention, reply), joined]
        )
        messages, report = reading(page, name="lounge.html")
        assert report.malformed == 0
        assert said(messages) == [("ada", "is it > 3?"), ("ada", "more 👍"), ("Bob B.", "yes, it is")]
        assert [message.time for message in messages[:2]] == [
            datetime(2024, 5, 31, 9, 5),
            datetime(2024, 5, 31, 9, 7),
        ]
        assert (messages[2].addressee, messages[2].reply_to, messages[2].channel) == ("ada", "1", "lounge")
        assert (messages[3].kind, messages[3].text) == (Kind.SYSTEM, "joined the server.")

    def test_bots_and_older_pages(self, reading: Reading) -> None:
        group = (
            '<html><div class="chatlog__message-group"><span class="chatlog__author-name">ada</span>{}'
            '<span class="chatlog__timestamp">31-May-24 09:00 AM</span><div class="chatlog__message" '
            'data-message-id="7"><div class="chatlog__content">hi</div></div></div></html>'
        )
        (message,), _ = reading(group.format(""))
        assert (message.speaker, message.text, message.time) == ("ada", "hi", NINE.replace(tzinfo=None))
        (bot,), _ = reading(
            exporter_page([exporter_div(1, "bot</span><span class='chatlog__author-tag'>BOT", "beep")])
        )
        assert (bot.kind, bot.speaker) == (Kind.NOTICE, "bot")


def test_facebook_and_instagram(tmp_path: Path) -> None:
    people = '<div class="pam _a6-g uiBoxWhite noborder">Participants: Ada and Bob</div>'
    files = {
        "inbox/bob_1/message_1.html": meta_page(
            [people, meta_div(3, "Bob", "there"), meta_div(2, "Ada", "where?")]
        ),
        "inbox/bob_1/message_2.html": meta_page([people, meta_div(1, "Bob", "in the<br/>shed &amp; so")]),
    }
    messages = read(write(tmp_path, files))
    assert said(messages) == [("Bob", "in the\nshed & so"), ("Ada", "where?"), ("Bob", "there")]
    assert messages[0].time == datetime(2024, 5, 31, 9, 5)
    assert messages[0].channel == "Rowing club"


def test_element(reading: Reading) -> None:
    def tile(number: int, name: str, clock: str, body: str) -> str:
        named = f'<span class="mx_DisambiguatedProfile_displayName" dir="auto">{name}</span>' if name else ""
        return (
            f'<div class="mx_Export_EventWrapper" id="$e{number}"><li class="mx_EventTile">{named}<span '
            f'class="mx_MessageTimestamp">{clock}</span>{body}</li></div>'
        )

    text = '<span class="mx_EventTile_body">{}</span>'
    anchor = '<a class="mx_reply_anchor" scroll-to="$e1">In reply to</a>'
    reply = f'<blockquote class="mx_ReplyChain">{anchor}{text.format("hi")}</blockquote>'
    day = '<h2 class="mx_DateSeparator_dateHeading">Fri, May 31, 2024</h2>'
    page = "".join(
        (
            '<!DOCTYPE html><html><body class="mx_MatrixChat">',
            '<div class="mx_NewRoomIntro"><h2>Tea</h2></div>',
            day,
            tile(1, "ada", "09:00", text.format("hi")),
            tile(2, "", "09:01", text.format("there")),
            tile(3, "Bob B", "09:02", reply + text.format("ho")),
            tile(4, "eve", "09:03", '<div class="mx_TextualEvent">eve joined</div>'),
        )
    )
    messages, _ = reading(page)
    assert said(messages) == [("ada", "hi"), ("ada", "there"), ("Bob B", "ho")]
    assert (messages[2].addressee, messages[2].time) == ("ada", datetime(2024, 5, 31, 9, 2))
    assert messages[3].kind is Kind.SYSTEM
    assert {message.channel for message in messages} == {"Tea"}


def test_text_messages(reading: Reading) -> None:
    group = (
        '<mms date="1717150000000" msg_box="1" address="+1~+2" contact_name="Bob, Dan"><parts><part seq="0" '
        'text="all of you" /></parts><addrs><addr address="+1" type="151" /><addr address="+2" type="137" />'
        "</addrs></mms>"
    )
    unknown = (
        '<sms address="+3" date="1717145000000" type="1" body="it&apos;s &lt;3" contact_name="(Unknown)" />'
    )
    parts = [
        "<?xml version='1.0'?><!--SMS Backup & Restore > 10--><smses count='4'>",
        sms(1, "Bob", "a&#10;b > c"),
    ]
    messages, report = reading("".join([*parts, sms(2, "Bob", "yes", 2), unknown, group, "</smses>"]))
    assert report.malformed == 0
    assert [(m.channel, m.speaker, m.text) for m in messages] == [
        ("Bob", "Bob", "a\nb > c"),
        ("Bob", "Me", "yes"),
        ("+3", "+3", "it's <3"),
        ("Bob, Dan", "+2", "all of you"),
    ]


def test_messengers_of_old(reading: Reading) -> None:
    adium = (
        '<?xml version="1.0"?>\n<chat xmlns="http://purl.org/net/ulf/ns/0.4-02" account="ada" service="AIM">'
        '<message sender="ada" time="2015-01-05T10:00:01+01:00" alias="Ada L"><div>hi<br />ho</div>'
        '</message>\n<status type="away" sender="bob" time="2015-01-05T10:00:02+01:00"/></chat>'
    )
    messages, _ = reading(adium)
    time = datetime(2015, 1, 5, 10, 0, 1, tzinfo=timezone(timedelta(hours=1)))
    assert messages[0] == Message("Ada L", "hi\nho", time=time)
    assert messages[1].kind is Kind.SYSTEM
    trillian = (
        '<session type="start" time="1420448400" medium="JABBER" to="bob" from="ada"/>\n<message type="'
        'incoming_privateMessage" time="1420448401" medium="JABBER" to="ada" from="bob" '
        'from_display="Bob%20B" text="hi%2C%20ada"/>'
    )
    (message,), _ = reading(trillian)
    assert (message.speaker, message.text, message.channel) == ("Bob B", "hi, ada", "bob")


def test_pages_that_are_lines(reading: Reading) -> None:
    """Pidgin's: no element is a message, but its lines have a pattern."""
    line = '<font color="#16569E"><font size="2">({})</font> <b>{}:</b></font> {}<br/>\n'
    page = (
        "<html><head><title>Conversation with bob at Mon 05 Jan 2015 10:00:00 AM CET on ada/ (jabber)</title>"
        "</head><body>\n" + line.format("10:00:01 AM", "ada", "<body>hello &amp; <b>welcome</b>, bob</body>")
        + line.format("10:00:03 AM", "bob", "<html><body><p>it is me</p></body></html>")
        + '<font size="2">(10:00:04 AM)</font><b> bob has signed off.</b><br/>\n'
        + line.format("10:00:07 AM", "ada", "are you there?")
    )  # fmt: skip
    messages, _ = reading(page)
    assert said(messages) == [("ada", "hello & welcome, bob"), ("bob", "it is me"), ("ada", "are you there?")]
    assert messages[-1].time == datetime(2015, 1, 5, 10, 0, 7)


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><html><body><h1>Rowing</h1><p>We row: every day.</p><p>Come: fun.</p></body></html>",
        "<?xml version='1.0'?><rss><item><title>One: two</title></item><item><title>Two</title></item></rss>",
        "<html><script>let ada = '10:00';</script></html>",
    ],
)
def test_other_pages_are_no_chats(page: str, reading: Reading) -> None:
    with pytest.raises(LogError, match="no log in a known format"):
        reading(page)


def test_times_that_are_none_are_said(reading: Reading) -> None:
    broken = telegram_div(1, "ada", "hi").replace("31.05.2024", "yesterday")
    messages, report = reading(telegram_page([broken, telegram_div(2, "ada", "ho")]))
    assert said(messages) == [("ada", "ho")]
    assert "the time is 'yesterday 09:05:00 UTC+00:00', not a date and time" in report.problems[0]


def test_a_message_of_megabytes(reading: Reading) -> None:
    with pytest.raises(LogError, match="a message of more than 4 MB"):
        reading(
            telegram_page([telegram_div(1, "ada", "hi"), telegram_div(2, "ada", "x" * (MAX_MESSAGE + 9))])
        )


def source(text: str) -> Source:
    return Source("page", lambda: BytesIO(text.encode()))


def test_tags() -> None:
    page = (
        "<!DOCTYPE html>a<!-- <b> --> <p class='x y' title=\"1 > 0\" hidden>&lt;3 &amp</p><br/>"
        "<STYLE>p > b {}</STYLE><script>if (a < b) { '</p>' }</script>1 < 2 <b <i>z"
    )
    found = list(tags_and_texts(source(page)))
    assert "".join(each for each in found if isinstance(each, str)) == "a <3 &1 < 2 <b z"
    tags = [each for each in found if isinstance(each, Tag)]
    assert [(tag.name, tag.ends, tag.alone) for tag in tags] == [
        ("p", False, False), ("p", True, False), ("br", False, True), ("i", False, False),
    ]  # fmt: skip
    assert tags[0].attributes == {"class": "x y", "title": "1 > 0"}
    assert list(page_lines(source("<p>a &nbsp; b<p>c<br><br>d e\nf"))) == ["a b", "c", "d e", "f"]


def test_tags_may_be_cut_anywhere() -> None:
    page = "<p title='a > b'>x &amp; y<!-- > --><script>a</script><b>1 < 2</b>"
    whole = [
        each if isinstance(each, str) else (each.name, each.ends) for each in tags_and_texts(source(page))
    ]
    for place in range(1, len(page)):
        padded = " " * ((1 << 16) - place) + page
        pieces = list(tags_and_texts(source(padded)))
        text = "".join(each for each in pieces if isinstance(each, str)).lstrip()
        assert text == "".join(each for each in whole if isinstance(each, str))
        assert [(each.name, each.ends) for each in pieces if isinstance(each, Tag)] == [
            each for each in whole if isinstance(each, tuple)
        ]


def test_numbers_of_characters_that_there_are_not() -> None:
    assert unescaped(f"&#{'9' * 5000};&#x{'f' * 5000};&#65;") == "\ufffd\ufffdA"
