"""Formats that nobody has written down: chats are found, and nothing else is taken for one."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.readers.conftest import Reading
from towhom.chat import Kind, Message
from towhom.errors import LogError

TURNS = (
    ("ada", "hi there, bob"),
    ("bob", "hello, ada!"),
    ("ada", "how is it going?"),
    ("cleo", "fine"),
    ("bob", "ok"),
)
FORMS = {
    "{time} | {speaker} | {text}": "%H:%M | NAME | TEXT",
    "({time}) {speaker}: {text}": "(%H:%M:%S) NAME: TEXT",
    "[{time}] {speaker}: {text}": "[%b %d, %Y %I:%M %p] NAME: TEXT",
    "{time} {speaker} > {text}": "%d.%m.%Y %H:%M NAME > TEXT",
    "{speaker} [{time}]: {text}": "NAME [%H:%M:%S]: TEXT",
    "{speaker} | {time} | {text}": "NAME | %Y-%m-%d %H:%M | TEXT",
    "{speaker} ({time}): {text}": "NAME (%Y-%m-%d %H:%M:%S): TEXT",
    "**{speaker}** ({time}): {text}": "**NAME** (%H:%M): TEXT",
    r"{time}\t{speaker}\t{text}": "%s\tNAME\tTEXT",
    "{time};{speaker};{text}": "%H:%M:%S;NAME;TEXT",
    r"{speaker} — {time}\n{text}": "NAME — %m/%d/%Y %I:%M %p\nTEXT",
    r"{speaker} • {time}\n{text}": "NAME • Today at %I:%M %p\nTEXT",
    r"[{time}] {speaker}\n{text}": "[%H:%M] NAME\nTEXT",
    "{time} From {speaker} to {skip}: {text}": "%H:%M:%S From NAME to Everyone: TEXT",
    '{time} "{speaker}" {text}': '%Y-%m-%dT%H:%M:%SZ "NAME" TEXT',
    "[{time}] {skip}<{speaker}> {text}": "[%H:%M:%S] (in the lobby) <NAME> TEXT",
    "{time}, {speaker} : {text}": "%Y년 %m월 %d일 오전 %I:%M, NAME : TEXT",
    "[{time}] {speaker} -> {text}": "[%Y-%m-%d %H:%M] NAME -> TEXT",
    "{speaker} at {time}: {text}": "NAME at %H:%M: TEXT",
    "{time} {speaker} {text}": "%H:%M:%S   NAME   TEXT",
    "{time} < {speaker}: {text}": "%d-%m-%Y %H:%M:%S < NAME!~n@host.example: TEXT",
    "{time} {skip}<{speaker}> {text}": "%Y-%m-%d %H:%M #room <NAME> TEXT",
    "[{time}] [{skip}] {speaker}: {text}": "[%Y-%m-%d %H:%M:%S] [#room] NAME: TEXT",
    "{skip}{time} {speaker}: {text}": "1%M %Y-%m-%d %H:%M NAME: TEXT",
    "{time} <{speaker}> {text}": "%a %b %d %H:%M:%S %Y <NAME> TEXT",
    "[{time}] <{speaker}> {text}": "[%Y-%m-%d %H:%M:%S EST] <NAME> TEXT",
    r"{speaker}, {time}:\n{text}": "NAME Smith, %d %b %Y at %H:%M:\nTEXT",
    r"**{speaker}** _{time}_\n{text}": "**NAME** _%Y-%m-%d %H:%M_\n\nTEXT\n",
    r"### {speaker} ({time})\n{text}": "### NAME (%Y-%m-%d %H:%M)\nTEXT",
    "- **{speaker}** [{time}]: {text}": "- **NAME** [%H:%M]: TEXT",
    "{speaker};{time};{text}": "NAME;%Y-%m-%dT%H:%M:%SZ;TEXT",
    r"From {speaker} to {skip}: {time}\n{text}": "From NAME to Everyone: %I:%M %p\nTEXT",
    r"On {time} {speaker} wrote:\n{text}": "On %a, %b %d, %Y at %I:%M %p NAME wrote:\nTEXT",
    r"{speaker}\n{time}\n{text}": "NAME\n%m/%d %I:%M %p\nTEXT",
}


def log(form: str) -> str:
    lines = []
    for number, (name, text) in enumerate(TURNS):
        stamp = datetime(2024, 5, 31, 10, 3 + number).strftime(form)
        lines.append(stamp.replace("NAME", name).replace("TEXT", text))
    return "\n".join(lines)


@pytest.mark.parametrize("template", FORMS)
def test_patterns_are_induced(template: str, reading: Reading) -> None:
    messages, report = reading(log(FORMS[template]), name="chat.txt")
    said = [(message.speaker.removesuffix(" Smith"), message.text) for message in messages]
    assert said == list(TURNS)
    assert all(message.time and (message.time.hour, message.time.minute) >= (2, 3) for message in messages)
    (assumption,) = report.assumptions
    assert f"% sure): {template};" in assumption
    assert assumption.endswith("If that is wrong: --pattern")


def test_a_time_and_no_name_is_the_program(reading: Reading) -> None:
    lines = [f"[10:0{3 + n}] <{name}> {text}" for n, (name, text) in enumerate(TURNS)]
    page = "<br/>".join(line.replace("<", "&lt;").replace(">", "&gt;") for line in lines)
    messages, _ = reading(
        f"<html><body>{page}<br/>[10:09] dave joins the room<br/></body></html>", name="a.html"
    )
    assert [message.text for message in messages if message.kind is Kind.MESSAGE] == [t for _, t in TURNS]
    assert [message.text for message in messages if message.kind is Kind.SYSTEM] == ["dave joins the room"]


def test_what_programs_write_around_a_chat(reading: Reading) -> None:
    lines = [f"(10:0{3 + n}:00) {name}: {text}" for n, (name, text) in enumerate(TURNS)]
    before = [
        "Conversation with #t at 2024-05-31 10:00:00 on ada (irc)",
        "(10:01:00) The topic for #t is: tea",
    ]
    messages, _ = reading(
        "\n".join([*before, "(10:02:00) ***ada waves", *lines, "Session Close: Fri May 31"])
    )
    assert [(m.kind, m.speaker, m.text) for m in messages if m.kind is not Kind.MESSAGE] == [
        (Kind.DAY, "", before[0]),
        (Kind.SYSTEM, "", "The topic for #t is: tea"),
        (Kind.ACTION, "ada", "waves"),
        (Kind.SYSTEM, "", "Session Close: Fri May 31"),
    ]
    assert messages[-2].text == TURNS[-1][1]


def test_who_comes_and_goes_without_a_time(reading: Reading) -> None:
    lines = [f"[{name}] [10:0{3 + n} AM] {text}" for n, (name, text) in enumerate(TURNS)]
    lines[3:3] = ["dave님이 나갔습니다.", "eve joined this chatroom."]
    messages, _ = reading("\n".join(lines))
    assert [(message.speaker, message.text) for message in messages if message.speaker] == list(TURNS)
    assert sum(message.kind is Kind.SYSTEM for message in messages) == 2


def test_clocks_with_and_without_a_day_are_one_form(reading: Reading) -> None:
    heads = ["[Monday 10:03 AM] ada", "[Yesterday 10:04 AM] bob", "[Today 10:05 AM] ada", "[10:06 AM] cleo"]
    heads.append("[10:07 AM] bob")
    blocks = [f"{head}\n{text}\n" for head, (_, text) in zip(heads, TURNS, strict=True)]
    messages, _ = reading("\n".join(blocks))
    assert [(message.speaker, message.text) for message in messages] == list(TURNS)


def test_people_without_names_are_numbered(reading: Reading) -> None:
    lines = [f"[00:00:{10 + n}] SPEAKER {1 + n % 2}: {text}" for n, (_, text) in enumerate(TURNS)]
    messages, _ = reading("\n".join(lines))
    assert [message.speaker for message in messages] == [f"SPEAKER {1 + n % 2}" for n in range(5)]


def test_no_times(reading: Reading) -> None:
    content = (
        "Ada: hello, how are you today?\nBob: I am fine, thanks for asking me\nand you?\n"
        "Ada: what did you do yesterday?\nBob: I went to the market, and bought fish\nAda: was it any good?\n"
    )
    messages, report = reading(content)
    assert [message.speaker for message in messages] == ["Ada", "Bob", "Ada", "Bob", "Ada"]
    assert messages[1].text == "I am fine, thanks for asking me\nand you?"
    assert "it has no times" in report.assumptions[0]


HEADINGS = {
    "LINE": ("2024/05/31(Fri)", "2024/06/01(Sat)", "{}\t{}\t{}"),
    "LINE in Japanese": ("2024/05/31(金)", "2024/06/01(土)", "{}\t{}\t{}"),
    "LINE in English": ("Fri, 31/05/2024", "Sat, 01/06/2024", "{}\t{}\t{}"),
    "KakaoTalk": (
        "--------------- 2024년 5월 31일 금요일 ---------------",
        "--------------- 2024년 6월 1일 토요일 ---------------",
        "{} | {} | {}",
    ),
    "IRC": ("--- Day changed Fri May 31 2024", "--- Day changed Sat Jun 01 2024", "{} {} | {}"),
    "Markdown": ("# Friday, May 31, 2024", "# Saturday, June 1, 2024", "{} **{}**: {}"),
    "Pidgin": (
        "Conversation with bob at Fri 31 May 2024 09:00:00 AM CEST on ada (jabber)",
        "Conversation with bob at Sat 01 Jun 2024 09:00:00 AM CEST on ada (jabber)",
        "({}) {}: {}",
    ),
}


@pytest.mark.parametrize("what", HEADINGS)
def test_lines_that_are_only_a_day(what: str, reading: Reading) -> None:
    first, second, form = HEADINGS[what]
    lines = [form.format(f"10:0{3 + n}", name, text) for n, (name, text) in enumerate(TURNS)]
    messages, report = reading("\n".join([first, *lines[:3], "", second, *lines[3:]]))
    said = [message for message in messages if message.kind is Kind.MESSAGE]
    assert [(message.speaker, message.text) for message in said] == list(TURNS)
    assert [message.time for message in said] == [
        datetime(2024, 5, 31, 10, 3 + n) if n < 3 else datetime(2024, 6, 1, 10, 3 + n) for n in range(5)
    ]
    assert [message.text for message in messages if message.kind is Kind.DAY] == [first, second]
    assert report.malformed == 0


def test_the_name_of_a_day_tells_day_from_month(reading: Reading) -> None:
    lines = [f"10:0{3 + n}\t{name}\t{text}" for n, (name, text) in enumerate(TURNS)]
    messages, _ = reading("\n".join(["Sat, 1/2/2021", *lines[:3], "Sun, 1/3/2021", *lines[3:]]))
    days = [message.time for message in messages if message.kind is Kind.DAY]
    assert days == [datetime(2021, 1, 2), datetime(2021, 1, 3)]


def test_a_day_in_a_message_is_none(reading: Reading) -> None:
    lines = [f"10:0{3 + n} | {name} | {text}" for n, (name, text) in enumerate(TURNS)]
    messages, _ = reading("\n".join([*lines[:3], "2024-05-31", *lines[3:]]))
    assert messages[2].text == "how is it going?\n2024-05-31"
    assert messages[3].time == datetime(1, 1, 1, 10, 6)


BLOCKS = {
    "DiscordChatExporter": (
        "==============\nGuild: Crew\nChannel: Text / lounge\n==============\n\n",
        "[0{day}-Jan-20 10:0{n} AM] {name}#1234 (pinned)\n{text}\n\n{{Reactions}}\n👍 (2)\n\n",
        "==============\nExported 5 message(s)\n==============\n",
    ),
    "QQ": ("消息记录\n\n==============\n\n", "2020-01-0{day} 10:0{n}:01 {name}(12345678)\n{text}\n\n", ""),
    "WeChat": ("", "2020-01-0{day} 10:0{n}:01 '{name}'\n{text}\n\n", ""),
    "Teams": ("", "[1/{day}/2020 10:0{n} AM] {name} (Guest)\n{text}\n\n", ""),
    "imessage-exporter": (
        "",
        "Jan 0{day}, 2020 10:0{n}:42 AM (Read by you after 1 minute, {n} seconds)\n{name}\n{text}\n\n",
        "",
    ),
}


@pytest.mark.parametrize("what", BLOCKS)
def test_heads_with_the_text_below_them(what: str, reading: Reading) -> None:
    before, form, after = BLOCKS[what]
    blocks = [form.format(day=1 + n // 3, n=n, name=name, text=text) for n, (name, text) in enumerate(TURNS)]
    messages, report = reading(before + "".join(blocks) + after)
    said = [message for message in messages if message.kind is Kind.MESSAGE]
    assert [(message.speaker, message.text) for message in said] == list(TURNS)
    assert [message.time.replace(second=0) for message in said if message.time] == [
        datetime(2020, 1, 1 + n // 3, 10, n) for n in range(5)
    ]
    assert report.malformed == 0


def test_a_name_and_a_time_on_lines_of_their_own(reading: Reading) -> None:
    """As Slack's window is copied: who goes on is not named again."""
    content = (
        "Ada Lovelace\n  10:31 AM\nDid anybody see the oars?\nBob B\n  10:32 AM\nIn the shed, I think\n"
        "10:33\nor maybe in the boat\nAda Lovelace\n  10:35 AM\nthanks!\n"
    )
    messages, report = reading(content)
    assert [(message.speaker, message.text) for message in messages] == [
        ("Ada Lovelace", "Did anybody see the oars?"),
        ("Bob B", "In the shed, I think"),
        ("Bob B", "or maybe in the boat"),
        ("Ada Lovelace", "thanks!"),
    ]
    assert r"{speaker}\n{time}\n{text}" in report.assumptions[0]
    told, _ = reading(content, format=r"pattern:{speaker}\n{time}\n{text}")
    assert told == messages


def test_times_since_the_beginning(reading: Reading) -> None:
    content = (
        "Club-20240531_100000-Recording\nMay 31, 2024, 8:00AM\n\nAnn Smith   0:03\nHello, all.\n\n"
        "Bob B   0:12\nGood morning.\n\nAnn Smith   75:02\nThat is it, then.\n"
    )
    messages, _ = reading(content)
    said = [message for message in messages if message.kind is Kind.MESSAGE]
    assert [message.speaker for message in said] == ["Ann Smith", "Bob B", "Ann Smith"]
    assert [message.time - datetime(1, 1, 1) for message in said if message.time] == [
        timedelta(seconds=3),
        timedelta(seconds=12),
        timedelta(minutes=75, seconds=2),
    ]


@pytest.mark.parametrize(
    "content",
    [
        "Ann: hi\nBob: hello\nAnn: how are you?\nBob: fine\nAnn: good\n",
        "Ann: hi\nBob: hello\nAnn: bye\n",
        "# Meeting\n\n**Ann:** Hello, shall we begin?\n\n**Bob:** Yes, please.\n\n**Ann:** The boats.\n",
        "10:00:01\t From  Ann : hi all\n10:00:31\t From  Bob : hello\n"
        "10:01:00\t From  Ann to  Bob(Privately) : thanks\n",
    ],
)
def test_few_lines_are_enough(content: str, reading: Reading) -> None:
    messages, _ = reading(content)
    said = [message.speaker for message in messages if message.kind is Kind.MESSAGE]
    assert said[:3] == ["Ann", "Bob", "Ann"]
    assert len(said) in (3, 5)


NO_CHATS = {
    "web server": '127.0.0.1 - - [31/May/2024:10:0{n}:00 +0000] "GET /{n} HTTP/1.1" 200 {n}2 "-" "Moz/5"',
    "system log": "May 31 10:0{n}:00 myhost {w}[1{n}]: Accepted password for root from port {n}",
    "kernel": "May 31 10:0{n}:00 myhost {w}: device {n} was found, and is up",
    "program's log": "2024-05-31 10:0{n}:00,123 INFO {w}: listening on port {n}, and waiting",
    "python's log": "2024-05-31 10:0{n}:00,123 - {w} - WARNING - slow query {n}, took long",
    "java's log": "2024-05-31 10:0{n}:00 [{w}] com.foo.Bar - Starting up the server, part {n}",
    "code": "def {w}_{n}(x): return x + {n}\nclass {w}{n}:\n    pass\nif x: print({n})\nelse: print(x)",
    "settings": "{w}: some value {n}\nimage: nginx, the latest\nports: eighty and more",
    "numbers": "2024-05-31 10:0{n},1.{n},2.5",
    "more numbers": "2024-05-31 10:0{n};Berlin;17.{n};12",
    "cities": "2024-05-3{n},Berlin,sunny and warm, {n}",
    "prose": "It was a dark night, number {n}: the wind howled.\nNobody came, so nothing happened to {w}.",
    "mail": "From: ada@x\nTo: {w}@x\nSubject: hello there, {n}\nDate: today",
    "programme": "1{n}:00 - Talk: how to cook rice, part {n}\n1{n}:30 - Break: coffee, and {n} cakes",
    "verses": "Genesis 1:1{n} And the dry land was called Earth, {w}",
    "changes": "2024-05-3{n} {w}: fix the build of the docs, and {n} tests",
    "statements": "INSERT INTO a VALUES ('2024-05-31 10:0{n}:00', '{w}', 'hello, {n}');",
    "commits": "commit 123456789{n}\nAuthor: {w} <a@x>\nDate: Fri May 31 10:0{n}:00 2024 +0200\n    Fix {n}",
    "questions": "Q: What is {n}?\nA: It is a thing that does, well, {n} things.",
    "markup": "<p>{w}: hello, {n}</p>",
    "links": "http://x.example/{w}: the page of {n}, which is long",
    "stars": "* {w} is a thing of {n} parts",
    "headers": "Class: it is {n}, too\nClass: a {n} one\nClass: {w}, too\nLicense: of a kind",
    "weather": "City: Berlin {n}\nWeather: sunny",
    "notes": "**Warning:** it is {n}, and hot.\nSome text follows here, long and wide.\nMore of it, more.",
    "server": "[10:0{n}:00] [main] starting {w}, part {n}",
    "days": "2024-05-3{n}\nWe went to the lake, and it was {n} degrees.",
    "table of times": "10:0{n}\nBerlin\nPlatform {n}",
    "levels in brackets": "[2024-05-31 10:0{n}:00] INFO: slow query, took long {n}",
    "web server's errors": "[Fri May 31 10:0{n}:00 2024] [{w}:error] [pid {n}] File does not exist here",
    "commands": "2024-05-31 10:0{n}:00 git commit -m fix, part {n}\n2024-05-31 10:0{n}:30 cd {w}",
    "songs": "10:0{n} Queen - I want it all\n10:3{n} Abba - Thank you for the music",
}


@pytest.mark.parametrize("what", NO_CHATS)
def test_what_is_no_chat(what: str, reading: Reading) -> None:
    words = ("sshd", "cron", "sshd", "worker", "cron", "sshd", "main", "cron")
    content = "\n".join(NO_CHATS[what].format(n=n, w=word) for n, word in enumerate(words))
    with pytest.raises(LogError, match="no log in a known format"):
        reading(content)


class TestTold:
    """A pattern that the user tells is taken."""

    def test_lines_that_go_on_and_lines_of_nobody(self, reading: Reading) -> None:
        content = (
            "[10:00] ada said: hi\n  there\n[10:01] ada left\n[10:02] bob said:\n[10:03] bob said: bye\n"
        )
        messages, report = reading(
            content, format="pattern:[{time}] {speaker} said: {text}", name="2024-05-31.txt"
        )
        assert messages == [
            Message("ada", "hi\n  there", time=datetime(2024, 5, 31, 10, 0)),
            Message("", "ada left", time=datetime(2024, 5, 31, 10, 1), kind=Kind.SYSTEM),
            Message("bob", "[10:02] bob said:", time=datetime(2024, 5, 31, 10, 2), kind=Kind.SYSTEM),
            Message("bob", "bye", time=datetime(2024, 5, 31, 10, 3)),
        ]
        assert report.assumptions == []

    def test_one_message_is_enough(self, reading: Reading) -> None:
        messages, _ = reading("ada~~hi\n", format="pattern:{speaker}~~{text}")
        assert messages == [Message("ada", "hi")]

    @pytest.mark.parametrize(
        ("pattern", "reason"),
        [
            ("{time} {speakr}: {text}", r"\{speakr\} is unknown"),
            ("{time} {text}", r"it needs \{speaker\}, and \{text\} at its end"),
            ("{speaker}: {speaker} {text}", "each field stands in it once"),
            ("<{speaker}> {text}", "no line of its beginning has the pattern"),
        ],
    )
    def test_patterns_that_cannot_be(self, pattern: str, reason: str, reading: Reading) -> None:
        with pytest.raises(LogError, match=reason):
            reading("ada: hi\n", format=f"pattern:{pattern}")

    def test_other_formats_take_no_options(self, reading: Reading) -> None:
        with pytest.raises(LogError, match="the format irc takes no options"):
            reading("[10:00] <ada> hi\n", format="irc:x")
