from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path

import pytest

from tests.readers.conftest import Reading
from towhom.chat import Message
from towhom.errors import LogError
from towhom.readers import Report, find_logs, read_conversations
from towhom.readers.reference import Reference

LINES = (
    "2014-05-31T[10:00]\tada\t-\tis it merged?\t-\t-\n"
    "2014-05-31T[10:01]\t<bob>\tada\tno idea\tsince noon\t1\n"
    "\n"
    "2014-05-31T[10:02]\tada\tbob\tthanks\tnever\t0\n"
)


def test_messages_say_their_true_candidate(reading: Reading) -> None:
    messages, report = reading(LINES)
    assert messages == [
        Message("ada", "is it merged?", time=datetime(2014, 5, 31, 10, 0)),
        Message("bob", "since noon", "ada", datetime(2014, 5, 31, 10, 1)),
        Message("ada", "thanks", "bob", datetime(2014, 5, 31, 10, 2)),
    ]
    assert report.kinds.total() == 3


def test_samples_keep_candidates_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "dev.cand-2"
    path.write_text(LINES)
    log = find_logs(path)[0]
    assert isinstance(log.reader, Reference)
    samples = list(log.reader.parse_samples(log.reader.records(log.source, Report()), Report(), "dev"))
    assert [(sample.candidates, sample.label) for sample in samples] == [
        ((), None),
        (("no idea", "since noon"), 1),
        (("thanks", "never"), 0),
    ]


def test_documents_end_at_empty_lines_and_names(tmp_path: Path) -> None:
    path = tmp_path / "dev.cand-2"
    path.write_text(LINES + "# #room\n10:03\tada\t-\tbye\t-\t-\n")
    chats = list(read_conversations(path, days=True))
    assert [(chat.name, len(chat)) for chat in chats] == [
        ("dev.cand-2", 2),
        ("dev.cand-2 line 3", 1),
        ("dev.cand-2 #room", 1),
    ]
    assert chats[2][0].time == datetime(1, 1, 1, 10, 3)


def test_parts_of_a_file_are_joined(tmp_path: Path) -> None:
    first, second = LINES.encode()[:150], LINES.encode()[150:]
    cut = LINES.encode().index(b"\n\n") + 2
    first, second = LINES.encode()[:cut], LINES.encode()[cut:]
    paths = [tmp_path / f"train.cand-10.{number}.gz" for number in (1, 2)]
    for path, content in zip(paths, (first, second), strict=True):
        path.write_bytes(gzip.compress(content))
    logs = find_logs(*paths)
    assert len(logs) == 1
    messages = list(logs[0].messages(Report(strict=True)))
    assert [message.text for message in messages] == ["is it merged?", "since noon", "thanks"]
    assert [message.line for message in messages] == [0, 1, 3]
    assert len(find_logs(tmp_path)) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("10:00\tada\t-\thi", r"4 fields; expected time, sender, addressee, two or more candidates, label"),
        ("10:00\tada\t-\thi\t-\tyes", r"the label is 'yes'; expected a number or -"),
        ("10:00\tada\tbob\thi\tho\t2", r"the label is 2 with 2 candidates"),
    ],
)
def test_malformed_lines(line: str, reason: str, reading: Reading) -> None:
    messages, report = reading(LINES + line, format="reference")
    assert (len(messages), report.malformed) == (3, 1)
    with pytest.raises(LogError, match=rf"dev:5: {reason}"):
        reading(LINES + line, name="dev", format="reference", strict=True)


@pytest.mark.parametrize("time", ["", "noon", "99:99", "2014-02-31T[10:00]"])
def test_times_that_are_none(time: str, reading: Reading) -> None:
    messages, _ = reading(f"{time}\tada\t-\thi\t-\t-\n")
    assert messages == [Message("ada", "hi")]
