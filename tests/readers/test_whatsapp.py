from __future__ import annotations

from datetime import datetime

import pytest

from tests.readers.conftest import Reading
from tests.readers.exports import zipped
from towhom.chat import Kind, Message
from towhom.errors import LogError

TIME = datetime(2020, 12, 31, 23, 59)


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("31/12/20, 23:59 - ", TIME),
        ("31/12/2020, 23:59 - ", TIME),
        ("[31/12/2020, 23:59:07] ", TIME.replace(second=7)),
        ("\u200e[31/12/2020, 23:59:07] ", TIME.replace(second=7)),
        ("12/31/20, 11:59 PM - ", TIME),
        ("12/31/20, 11:59\u202fPM - ", TIME),
        ("[12/31/20, 11:59:07\u202fPM] ", TIME.replace(second=7)),
        ("31/12/20, 11:59 p.\xa0m. - ", TIME),
        ("31.12.20, 23:59 - ", TIME),
        ("[31.12.20, 23:59:07] ", TIME.replace(second=7)),
        ("2020-12-31, 23:59 - ", TIME),
        ("2020/12/31 23:59 - ", TIME),
        ("31-12-2020 23.59 - ", TIME),
        ("12/31/20, 12:05 AM - ", datetime(2020, 12, 31, 0, 5)),
        ("12/31/20, 12:05 PM - ", datetime(2020, 12, 31, 12, 5)),
    ],
)
def test_dates(stamp: str, time: datetime, reading: Reading) -> None:
    messages, report = reading(f"{stamp}Ada L: hi\n")
    assert messages == [Message("Ada L", "hi", time=time)]
    assert report.kinds == {Kind.MESSAGE: 1}


@pytest.mark.parametrize(
    ("lines", "day"),
    [
        (["01/02/20, 10:00 - Ada: hi"], (1, 2)),
        (["01/02/20, 10:00 AM - Ada: hi"], (2, 1)),
        (["01/02/20, 10:00 AM - Ada: hi", "13/02/20, 10:00 AM - Ada: hi"], (1, 2)),
        (["01/02/20, 10:00 - Ada: hi", "01/13/20, 10:00 - Ada: hi"], (2, 1)),
    ],
)
def test_the_head_tells_the_order_of_day_and_month(
    lines: list[str], day: tuple[int, int], reading: Reading
) -> None:
    first = reading("\n".join(lines))[0][0].time
    assert first is not None
    assert (first.day, first.month) == day


def test_lines_of_every_kind(reading: Reading) -> None:
    messages, report = reading(
        "31/12/20, 23:59 - Messages are end-to-end encrypted.\r\n"
        "31/12/20, 23:59 - Ada: one\r\n"
        "two\r\n"
        "\r\n"
        "three: four\r\n"
        "31/12/20, 23:59 - Ada changed the time to 10:30\r\n"
        "31/12/20, 23:59 - Bob: <Media omitted>\r\n"
        "31/12/20, 23:59 - Bob: IMG-1.jpg (file attached)\r\n"
        "31/12/20, 23:59 - Bob: \u200eimage omitted\r\n"
        "31/12/20, 23:59 - Bob: fine \u200e<This message was edited>\r\n"
        "31/12/20, 23:59 - Bob:\r\n"
        "31/12/20, 23:59 - ~\u202fEve: <3\r\n"
    )
    assert messages == [
        Message("", "Messages are end-to-end encrypted.", time=TIME, kind=Kind.SYSTEM),
        Message("Ada", "one\ntwo\n\nthree: four", time=TIME),
        Message("", "Ada changed the time to 10:30", time=TIME, kind=Kind.SYSTEM),
        Message("Bob", "<Media omitted>", time=TIME, kind=Kind.SYSTEM),
        Message("Bob", "IMG-1.jpg (file attached)", time=TIME, kind=Kind.SYSTEM),
        Message("Bob", "image omitted", time=TIME, kind=Kind.SYSTEM),
        Message("Bob", "fine", time=TIME),
        Message("Bob", "", time=TIME, kind=Kind.SYSTEM),
        Message("Eve", "<3", time=TIME),
    ]
    assert [message.line for message in messages] == [0, 1, 5, 6, 7, 8, 9, 10, 11]
    assert report.kinds == {Kind.MESSAGE: 3, Kind.SYSTEM: 6}


@pytest.mark.parametrize(
    ("text", "addressee", "rest"),
    [
        ("@\u2068Cleo D.\u2069 look", "Cleo D.", "look"),
        ("@\u2068~ Cleo D.\u2069: look", "Cleo D.", "look"),
        ("ask @\u2068Cleo D.\u2069", "Cleo D.", "ask @Cleo D."),
        ("ask @\u2068Cleo\u2069 or @\u2068Bob\u2069", None, "ask @Cleo or @Bob"),
        ("@Cleo D. look", "Cleo D.", "look"),
        ("@Bob, look", "Bob", "look"),
        ("@Bob", "Bob", "@Bob"),
        ("mail me at ada@example.org", None, "mail me at ada@example.org"),
    ],
)
def test_mentions(text: str, addressee: str | None, rest: str, reading: Reading) -> None:
    messages, _ = reading(f"31/12/20, 23:59 - Cleo D.: hi\n31/12/20, 23:59 - Ada: {text}\n")
    assert messages[1] == Message("Ada", rest, addressee, TIME)


def test_malformed_lines_are_counted(reading: Reading) -> None:
    content = (
        "hello\n31/12/20, 23:59 - Ada: hi\n31/31/20, 23:59 - Ada: no\nmore\n12/12/20, 13:59 PM - Ada: no\n"
    )
    messages, report = reading(content, name="chat.txt", format="whatsapp")
    assert [message.text for message in messages] == ["hi"]
    assert [problem.partition("chat.txt:")[2] for problem in report.problems] == [
        "1: no date, and no message before it",
        "3: there is no such date or time",
        "4: no date, and no message before it",
        "5: there is no such date or time",
    ]
    with pytest.raises(LogError, match=r"chat.txt:1: no date"):
        reading(content, name="chat.txt", format="whatsapp", strict=True)


def test_the_archive_of_a_phone(reading: Reading) -> None:
    chat = "[31/12/2020, 23:59:00] Ada: hi\n".encode("utf-16")
    messages, report = reading(zipped({"_chat.txt": chat, "photo.jpg": b"\0\1"}), name="chat.zip")
    assert messages == [Message("Ada", "hi", time=TIME)]
    assert report.skipped_files == ["chat.zip/photo.jpg: this is a binary file, not a chat log"]


@pytest.mark.parametrize(
    "line",
    [
        "2024. 5. 31. 오후 2:05 - Ada: hi",
        "2024/5/31 下午2:05 - Ada: hi",
        "31.5.2024 klo 14.05 - Ada: hi",
        "31/5/2024، 2:05 م - Ada: hi",
        "\u200f٣١/٥/٢٠٢٤، ٢:٠٥ م - Ada: hi",
        "[31/05/24, 2:05:00\u202fp. m.] Ada: hi",
    ],
)
def test_phones_in_other_languages(line: str, reading: Reading) -> None:
    messages, _ = reading(f"{line}\n" * 3)
    assert messages == [Message("Ada", "hi", time=datetime(2024, 5, 31, 14, 5))] * 3


@pytest.mark.parametrize(
    "line",
    [
        "31/05/2024, 10:00 – Ada: hi",
        "31/05/2024, 10:00:00: Ada: hi",
        "31.5.2024 г., 10:00 ч. - Ada: hi",
        "[31.05.2024 10:00:00 | Edited 10:02:00] Ada: hi",
        "5/31/24, 10:00\u202fAM - ~\u202fAda: hi",
    ],
)
def test_more_ways_to_write_the_time(line: str, reading: Reading) -> None:
    messages, _ = reading(f"{line}\n")
    assert messages == [Message("Ada", "hi", time=datetime(2024, 5, 31, 10, 0))]


def test_a_date_that_can_be_read_in_one_way(reading: Reading) -> None:
    messages, report = reading("24/12/19, 11:23 - Ada: one\n12/25/19, 11:23 - Ada: two\n")
    assert [message.time for message in messages] == [
        datetime(2019, 12, 24, 11, 23),
        datetime(2019, 12, 25, 11, 23),
    ]
    assert report.malformed == 0


def test_dates_with_names_below_them_are_not_whatsapp(reading: Reading) -> None:
    content = "[5/31/2024 10:00 AM] Lovelace, Ada\nhi, all\n\n[5/31/2024 10:01 AM] Bob\nhello\n\n"
    messages, _ = reading(f"{content}[5/31/2024 10:02 AM] Lovelace, Ada\nhow is it?\n")
    assert [(message.speaker, message.text) for message in messages] == [
        ("Lovelace, Ada", "hi, all"),
        ("Bob", "hello"),
        ("Lovelace, Ada", "how is it?"),
    ]


def test_thai_and_persian_years_and_deleted_messages(reading: Reading) -> None:
    messages, _ = reading("2/1/2564 12:01 - Ada: hi\n3/1/2564 12:01 - Bob: ho\n")
    assert [str(message.time) for message in messages] == ["2021-01-02 12:01:00", "2021-01-03 12:01:00"]
    messages, _ = reading("۱۳۹۹/۱۰/۱۳،\u200f ۱۲:۰۱ - Ada: hi\n")
    assert str(messages[0].time) == "2021-01-02 12:01:00"
    messages, _ = reading("02/01/2021, 12:01 - Ada: hi\n02/01/2021, 12:01 - Bob: This message was deleted\n")
    assert [message.kind.value for message in messages] == ["message", "system"]


def test_reactions_of_signal_are_no_text(reading: Reading) -> None:
    messages, _ = reading(
        "[2024-05-31 10:00] Ada: hi\n(- Bob: 👍, Eve: 👍 -)\n[2024-05-31 10:01] Bob: ho (- no -) x\n"
    )
    assert [message.text for message in messages] == ["hi", "ho (- no -) x"]
