from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.readers.conftest import Reading
from towhom.chat import Kind, Message
from towhom.errors import LogError

DAY = datetime(2024, 5, 31)


def at(hour: int, minute: int, second: int = 0, day: datetime = DAY) -> datetime:
    return day.replace(hour=hour, minute=minute, second=second)


def test_irclogs_ubuntu(reading: Reading) -> None:
    messages, report = reading(
        "=== cleo [n=cleo@host] has joined #room\n"
        "[10:00] <ada> is it merged?\n"
        "[10:01] <bob> ada: since noon\n"
        "[10:02]  * ada cheers\n"
        "[10:02] -helper:#room- the build is done\n"
        "=== bob is now known as bob|away\n"
        "[10:03] <ada>\n"
        "[10:04] <ada> \n",
        name="2024/05/31/#room.txt",
    )
    assert messages == [
        Message("", "cleo [n=cleo@host] has joined #room", kind=Kind.SYSTEM),
        Message("ada", "is it merged?", time=at(10, 0)),
        Message("bob", "ada: since noon", time=at(10, 1)),
        Message("ada", "cheers", time=at(10, 2), kind=Kind.ACTION),
        Message("helper", "the build is done", time=at(10, 2), kind=Kind.NOTICE),
        Message("bob", "bob|away", time=at(10, 2), kind=Kind.RENAME),
        Message("", "[10:03] <ada>", time=at(10, 3), kind=Kind.SYSTEM),
        Message("ada", "", time=at(10, 4)),
    ]
    assert [message.line for message in messages] == list(range(8))
    assert report.kinds == {Kind.MESSAGE: 3, Kind.ACTION: 1, Kind.NOTICE: 1, Kind.RENAME: 1, Kind.SYSTEM: 2}


def test_znc(reading: Reading) -> None:
    messages, _ = reading(
        "[10:00:05] <ada> hi\n"
        "[10:00:06] * ada waves\n"
        "[10:00:07] *** Joins: bob (bob@host)\n"
        "[10:00:08] *** bob is now known as rob\n"
        "[10:00:09] *** Nick change: rob -> bob\n"
        "[10:00:10] -bob- psst\n",
        name="20240531.log",
    )
    assert messages == [
        Message("ada", "hi", time=at(10, 0, 5)),
        Message("ada", "waves", time=at(10, 0, 6), kind=Kind.ACTION),
        Message("", "Joins: bob (bob@host)", time=at(10, 0, 7), kind=Kind.SYSTEM),
        Message("bob", "rob", time=at(10, 0, 8), kind=Kind.RENAME),
        Message("rob", "bob", time=at(10, 0, 9), kind=Kind.RENAME),
        Message("bob", "psst", time=at(10, 0, 10), kind=Kind.NOTICE),
    ]


def test_irssi(reading: Reading) -> None:
    messages, _ = reading(
        "--- Log opened Fri May 31 09:59:58 2024\n"
        "10:00 <@ada> hi\n"
        "10:01 < bob> hello\n"
        "10:02  * bob waves\n"
        "10:03 -!- bob [bob@host] has quit [bye]\n"
        "10:04 -!- ada is now known as Ada\n"
        "10:05 -eve:#room- psst\n"
        "--- Day changed Sat Jun 01 2024\n"
        "00:10 <+Ada> late\n"
        "--- Log closed Sat Jun 01 01:00:00 2024\n"
    )
    june = datetime(2024, 6, 1)
    assert messages == [
        Message("", "Fri May 31 09:59:58 2024", time=DAY, kind=Kind.DAY),
        Message("ada", "hi", time=at(10, 0)),
        Message("bob", "hello", time=at(10, 1)),
        Message("bob", "waves", time=at(10, 2), kind=Kind.ACTION),
        Message("", "bob [bob@host] has quit [bye]", time=at(10, 3), kind=Kind.SYSTEM),
        Message("ada", "Ada", time=at(10, 4), kind=Kind.RENAME),
        Message("eve", "psst", time=at(10, 5), kind=Kind.NOTICE),
        Message("", "Sat Jun 01 2024", time=june, kind=Kind.DAY),
        Message("Ada", "late", time=at(0, 10, day=june)),
        Message("", "Log closed Sat Jun 01 01:00:00 2024", time=at(0, 10, day=june), kind=Kind.SYSTEM),
    ]


def test_weechat(reading: Reading) -> None:
    messages, _ = reading(
        "2024-05-31 10:00:01\t-->\tbob (bob@host) has joined #room\n"
        "2024-05-31 10:00:02\t@ada\thi\tthere\n"
        "2024-05-31 10:00:03\t *\tada waves\n"
        "2024-05-31 10:00:04\t--\tbob is now known as rob\n"
        "2024-05-31 10:00:05\t<--\trob has quit\n"
    )
    assert messages == [
        Message("", "bob (bob@host) has joined #room", time=at(10, 0, 1), kind=Kind.SYSTEM),
        Message("ada", "hi\tthere", time=at(10, 0, 2)),
        Message("ada", "waves", time=at(10, 0, 3), kind=Kind.ACTION),
        Message("bob", "rob", time=at(10, 0, 4), kind=Kind.RENAME),
        Message("", "rob has quit", time=at(10, 0, 5), kind=Kind.SYSTEM),
    ]


def test_day_marks(reading: Reading) -> None:
    messages, _ = reading(
        "# 20240531\n[23:00] <ada> a\n# 2024-06-02\n[01:00] <ada> b\n# 99999999\n[02:00] <ada> c\n"
    )
    assert [(message.kind, message.time) for message in messages] == [
        (Kind.DAY, DAY),
        (Kind.MESSAGE, at(23, 0)),
        (Kind.DAY, datetime(2024, 6, 2)),
        (Kind.MESSAGE, datetime(2024, 6, 2, 1)),
        (
            Kind.MESSAGE,
            datetime(1, 1, 1, 2),
        ),  # a day that is none begins a document that does not know its day
    ]


@pytest.mark.parametrize("line", ["[2024-05-31 10:00] <ada> hi", "2024-05-31T10:00 <ada> hi"])
def test_dated_lines(line: str, reading: Reading) -> None:
    assert reading(line)[0] == [Message("ada", "hi", time=at(10, 0))]


def times(reading: Reading, *clocks: str) -> list[str]:
    messages, _ = reading("\n".join(f"[{clock}] <ada> hi" for clock in clocks), name="2024-05-31.txt")
    return [f"{message.time:%d %H:%M}" if message.time else "-" for message in messages]


def test_past_midnight_the_day_goes_on(reading: Reading) -> None:
    assert times(reading, "22:00", "23:59", "00:01", "23:00", "01:00") == [
        *("31 22:00", "31 23:59", "01 00:01", "01 23:00", "02 01:00"),
    ]


def test_lines_slightly_out_of_order_stay_in_their_day(reading: Reading) -> None:
    assert times(reading, "15:01", "15:00", "14:10") == ["31 15:01", "31 15:00", "31 14:10"]


def test_a_clock_of_twelve_hours(reading: Reading) -> None:
    assert times(reading, "11:50", "12:10", "01:05", "11:00", "12:05", "01:30") == [
        *("31 11:50", "31 12:10", "31 13:05", "31 23:00", "01 00:05", "01 01:30"),
    ]


def test_hours_that_are_none(reading: Reading) -> None:
    assert times(reading, "10:00", "27:00", "10:61") == ["31 10:00", "-", "-"]


def test_the_last_day_of_the_calendar(reading: Reading) -> None:
    messages, _ = reading("# 99991231\n[23:00] <ada> a\n[01:00] <ada> b\n")
    assert messages[-1].time is None


def test_colours_are_taken_out(reading: Reading) -> None:
    messages, _ = reading("[10:00] <ada> \x02bold\x0f \x0304,12red\x03 \x1funder\n")
    assert messages[0].text == "bold red under"


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_logs(pack: Callable[[bytes], bytes], reading: Reading) -> None:
    messages, _ = reading(pack(b"[10:00] <ada> hi\n" * 3))
    assert [message.text for message in messages] == ["hi"] * 3


def test_other_encodings_are_counted(reading: Reading) -> None:
    messages, report = reading(
        "[10:00] <ada> caf\u00e9\n".encode("cp1252") + "[10:00] <ada> caf\u00e9\n".encode()
    )
    assert [message.text for message in messages] == ["café", "café"]
    assert report.redecoded == 1


def test_utf16_and_byte_order_marks(reading: Reading) -> None:
    for encoding in ("utf-16", "utf-8-sig"):
        messages, report = reading("[10:00] <ada> é\r\n[10:01] <ada> b\r\n".encode(encoding))
        assert [message.text for message in messages] == ["é", "b"]
        assert report.redecoded == 0


def test_malformed_lines(reading: Reading) -> None:
    content = "[10:00] <ada> hi\n\nwhat is this\n[10:01] <ada> hi\n"
    messages, report = reading(content, name="log.txt")
    assert len(messages) == 2
    assert report.malformed == 1
    assert report.problems[0].endswith("log.txt:3: not a line of an IRC log")
    with pytest.raises(LogError, match=r"log.txt:3: not a line of an IRC log"):
        reading(content, name="log.txt", strict=True)


def test_no_times(reading: Reading) -> None:
    messages, report = reading(
        "*** cleo has joined #room\n"
        "<ada> is it merged?\n"
        "<@bob> ada: since noon\n"
        "< cleo> hi\n"
        " * ada cheers\n"
        "=== bob is now known as bob|away\n",
        name="2024-05-31.txt",
    )
    assert messages == [
        Message("", "cleo has joined #room", kind=Kind.SYSTEM),
        Message("ada", "is it merged?"),
        Message("bob", "ada: since noon"),
        Message("cleo", "hi"),
        Message("ada", "cheers", kind=Kind.ACTION),
        Message("bob", "bob|away", kind=Kind.RENAME),
    ]
    assert report.malformed == 0


@pytest.mark.parametrize("line", ['<a href="x">here</a> it is', "</p> and so on", "<br/> more", "plain text"])
def test_markup_is_no_chat(reading: Reading, line: str) -> None:
    with pytest.raises(LogError, match="no log in a known format"):
        reading(f"{line}\n" * 5)


def short(messages: list[Message]) -> list[tuple[str, str, str]]:
    return [(message.kind.value, message.speaker, message.text) for message in messages]


def test_limnoria(reading: Reading) -> None:
    messages, report = reading(
        "2024-05-31T10:00:00  *** cleo has joined #room\n"
        "2024-05-31T10:00:46  <ada> let's see\n"
        "2024-05-31T10:01:00  * ada waves\n"
        "2024-05-31T10:02:00  *** ada is now known as ada_away\n"
        "2024-05-31T10:03:00  -bob- psst\n"
    )
    assert short(messages) == [
        ("system", "", "cleo has joined #room"),
        ("message", "ada", "let's see"),
        ("action", "ada", "waves"),
        ("rename", "ada", "ada_away"),
        ("notice", "bob", "psst"),
    ]
    assert messages[1].time == at(10, 0, 46)
    assert report.malformed == 0


def test_dircproxy(reading: Reading) -> None:
    messages, report = reading(
        "[31 Dec 23:35] --> ada (n=u@h) joined the channel\n"
        "[31 Dec 23:36] <ada!n=u@h> -is it so?\n"
        "[31 Dec 23:37] <bob!n=u@h> +it is\n"
        "[31 Dec 23:37] <bob!n=u@h> +\n"
        "[31 Dec 23:38] <me!n=u@h> bob: thanks\n"
        "[ 1 Jan 00:01] * bob bows\n".replace("[ 1", "[01")
        + "[01 Jan 00:02] *** You disconnected\n",
        name="2023-12-31-dircproxy.log",
    )
    assert short(messages) == [
        ("system", "", "ada (n=u@h) joined the channel"),
        ("message", "ada", "is it so?"),
        ("message", "bob", "it is"),
        ("message", "bob", ""),
        ("message", "me", "bob: thanks"),
        ("action", "bob", "bows"),
        ("system", "", "You disconnected"),
    ]
    assert messages[0].time == datetime(2023, 12, 31, 23, 35)
    assert messages[5].time == datetime(2024, 1, 1, 0, 1)
    assert report.malformed == 0


def test_seconds_since_1970(reading: Reading) -> None:
    messages, _ = reading("@1717142400 <ada!u@h> -1 is less\n@1717142460 <bob!u@h> than 0\n")
    assert short(messages) == [("message", "ada", "-1 is less"), ("message", "bob", "than 0")]
    assert messages[0].time == datetime(2024, 5, 31, 8, 0, tzinfo=UTC)


def test_mirc(reading: Reading) -> None:
    messages, report = reading(
        "\r\nSession Start: Fri May 31 10:00:00 2024\r\nSession Ident: #room\r\n"
        "[10:00] * Now talking in #room\r\n"
        "[10:00pm] <@ada> \x0304hi\x03 all\r\n"
        "[10:01pm] * bob waves\r\n"
        "[10:02pm] * Joins: cleo (u@h)\r\n"
        "[10:02pm] * cleo sets mode: +o bob\r\n"
        "[10:03pm] * bob is now known as rob\r\n"
        "[10:04pm] -rob- psst\r\n"
        "Session Close: Fri May 31 23:00:00 2024\r\n"
    )
    assert short(messages)[3:] == [
        ("message", "ada", "hi all"),
        ("action", "bob", "waves"),
        ("system", "", "Joins: cleo (u@h)"),
        ("system", "", "cleo sets mode: +o bob"),
        ("rename", "bob", "rob"),
        ("notice", "rob", "psst"),
        ("system", "", "Session Close: Fri May 31 23:00:00 2024"),
    ]
    assert messages[3].time == at(22, 0)
    assert report.malformed == 0


def test_hexchat(reading: Reading) -> None:
    messages, report = reading(
        "**** BEGIN LOGGING AT Tue Dec 31 23:58:00 2024\n\n"
        "Dec 31 23:58:01 *\tNow talking on #room\n"
        "Dec 31 23:58:02 <ada>\thi\n"
        "Dec 31 23:58:03 *\tbob waves\n"
        "Dec 31 23:58:04 *\tcleo (u@h) has joined\n"
        "Jan 01 00:00:05 -bob-\tpsst\n"
        "Jan 01 00:00:06 *\tbob is now known as rob\n"
        "**** ENDING LOGGING AT Wed Jan  1 00:01:00 2025\n"
    )
    assert short(messages)[1:-1] == [
        ("system", "", "Now talking on #room"),
        ("message", "ada", "hi"),
        ("action", "bob", "waves"),
        ("system", "", "cleo (u@h) has joined"),
        ("notice", "bob", "psst"),
        ("rename", "bob", "rob"),
    ]
    assert [message.time for message in messages[2:6:3]] == [
        datetime(2024, 12, 31, 23, 58, 2),
        datetime(2025, 1, 1, 0, 0, 5),
    ]
    assert report.malformed == 0


def test_eggdrop(reading: Reading) -> None:
    messages, report = reading(
        "[00:00] --- Fri May 31 2024\n"
        "[10:00] ada (~u@h) joined #room.\n"
        "[10:01] <ada> hi\n"
        "[10:02] Action: bob waves\n"
        "[10:03] Nick change: bob -> rob\n"
        "[10:04] #room: mode change '+o ada' by rob!u@h\n"
        "[10:05] ada (~u@h) left irc: bye\n"
        "[00:00] --- Sat Jun  1 2024\n"
        "[00:01] <rob> late\n"
    )
    assert short(messages)[1:-2] == [
        ("system", "", "ada (~u@h) joined #room."),
        ("message", "ada", "hi"),
        ("action", "bob", "waves"),
        ("rename", "bob", "rob"),
        ("system", "", "#room: mode change '+o ada' by rob!u@h"),
        ("system", "", "ada (~u@h) left irc: bye"),
    ]
    assert messages[2].time == at(10, 1)
    assert messages[-1].time == datetime(2024, 6, 1, 0, 1)
    assert report.malformed == 0


def test_quassel_textual_and_konversation(reading: Reading) -> None:
    messages, _ = reading(
        "[10:00:00] --> cleo (u@h) has joined #room\n[10:00:01] <@ada> hi\n[10:00:02] -*- bob waves\n"
        "[10:00:03] <-- cleo has quit (bye)\n"
    )
    assert [kind for kind, _, _ in short(messages)] == ["system", "message", "action", "system"]
    messages, _ = reading(
        "[2024-05-31T10:00:00-0400] <ada> hi\n[2024-05-31T10:00:01-0400] • bob: waves\n"
        "[2024-05-31T10:00:01Z] <ada> x\n"
    )
    assert messages[0].time == at(10, 0).replace(tzinfo=timezone(timedelta(hours=-4)))
    assert short(messages)[1] == ("action", "bob", "waves")
    messages, _ = reading("[Fri May 31 2024] [10:00:00] <ada>\thi\n[Fri May 31 2024] [10:00:01] <bob>\tho\n")
    assert messages[0] == Message("ada", "hi", time=at(10, 0))


def test_minecraft(reading: Reading) -> None:
    stamp = "[12:00:0{}] [{}]: "
    lines = [
        stamp.format(0, "Server thread/INFO") + "Starting minecraft server version 1.20.4",
        stamp.format(1, "Server thread/INFO") + "steve joined the game",
        stamp.format(2, "Server thread/INFO") + "<steve> hi all",
        stamp.format(3, "Async Chat Thread - #0/INFO") + "[Not Secure] <alex> steve: hey",
        stamp.format(4, "Server thread/WARN") + "Can't keep up! Is the server overloaded?",
        "[12:00:05] [Render thread/INFO] [minecraft/Chat]: [CHAT] <steve> bye",
        stamp.format(6, "Server thread/INFO") + "* alex waves",
    ]
    messages, report = reading("\n".join(lines), name="2024-05-31-1.log")
    assert report.malformed == 0
    assert [(message.kind, message.speaker, message.text) for message in messages if message.speaker] == [
        (Kind.MESSAGE, "steve", "hi all"),
        (Kind.MESSAGE, "alex", "steve: hey"),
        (Kind.MESSAGE, "steve", "bye"),
        (Kind.ACTION, "alex", "waves"),
    ]
    assert messages[2].time == datetime(2024, 5, 31, 12, 0, 2)
    (dated, _), _ = reading("[31May2024 12:00:02.123] [Server thread/INFO] [mc/X]: <steve> hi\n" * 2)
    assert dated.time == datetime(2024, 5, 31, 12, 0, 2)


def test_words_of_konversation(reading: Reading) -> None:
    stamp = "[Fri May 31 2024] [10:00:00] "
    lines = [
        f"{stamp}Join\tada has joined this channel.",
        f"{stamp}<ada>\thi",
        f"{stamp}Nick\tada is now known as eve.",
    ]
    messages, report = reading("\n".join(lines))
    assert [message.kind for message in messages] == [Kind.SYSTEM, Kind.MESSAGE, Kind.RENAME]
    assert report.malformed == 0


def test_what_clients_write_around_a_log(reading: Reading) -> None:
    day, end = "# Log started: 2024-05-31 09:00:00 +0100", "# Log closed: 2024-05-31 12:00:00 +0100"
    messages, report = reading(f"{day}\n[10:00:00] <ada> hi\n[10:00:01] <bob> ho\n{end}\n")
    assert [(m.kind, m.text) for m in messages] == [
        (Kind.DAY, day),
        (Kind.MESSAGE, "hi"),
        (Kind.MESSAGE, "ho"),
        (Kind.SYSTEM, end),
    ]
    assert messages[1].time == at(10, 0)
    assert report.malformed == 0
    lines = ["Session Start: Fri May 31 10:00:00 2024", "Session Ident: #x", *["<ada> hi", "<bob> ho"] * 2]
    messages, report = reading("\n".join(lines))
    assert [kind for kind, _, _ in short(messages)] == ["day", "system", *["message"] * 4]
    assert report.malformed == 0


def test_what_the_server_says_with_a_star(reading: Reading) -> None:
    messages, _ = reading(
        "[10:00:00] *\tNow talking on #room\n[10:00:01] <ada>\thi\n[10:00:02] *\tada waves\n"
        "[10:00:03] *\tcleo (~c@h) has joined\n"
    )
    assert [kind for kind, _, _ in short(messages)] == ["system", "message", "action", "system"]
    messages, _ = reading(
        "[10:00] <ada> hi\n[10:01] <-> bob is now known as rob\n[10:02] bob left IRC (bye)\n"
    )
    assert [kind for kind, _, _ in short(messages)] == ["message", "rename", "system"]
    messages, _ = reading("10:00 <ada> hi\n10:01 -NickServ(s@services)- psst\n")
    assert messages[1].speaker == "NickServ"


def test_dircproxy_actions_and_a_clock_behind_the_nick(reading: Reading) -> None:
    stamp = "[31 May 10:0{}] "
    lines = [stamp.format(0) + "<ada!a@h> hi", stamp.format(1) + "[bob!b@h] ACTION waves"]
    messages, report = reading("\n".join([*lines, stamp.format(2) + "-!- dircproxy-Message: started"]))
    assert short(messages)[1:] == [("action", "bob", "waves"), ("system", "", "dircproxy-Message: started")]
    assert report.malformed == 0
    messages, _ = reading("<ada!a@h> [10:00] hi\n<bob!b@h> [10:01] hello, ada\n<ada!a@h> [10:02] fine\n")
    assert [(m.speaker, m.text) for m in messages] == [("ada", "hi"), ("bob", "hello, ada"), ("ada", "fine")]
    assert messages[1].time == datetime(1, 1, 1, 10, 1)


def test_a_year_in_front(reading: Reading) -> None:
    messages, _ = reading("2024 May 31 10:00:00 <ada> hi\n2024 Jun 01 10:00:00 <bob> ho\n")
    assert [message.time for message in messages] == [at(10, 0), datetime(2024, 6, 1, 10)]
