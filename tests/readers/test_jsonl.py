from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.readers.conftest import Reading
from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.readers import Report, read_conversations, read_messages
from towhom.wire import message_from, to_json


def test_messages(reading: Reading) -> None:
    full = {
        "speaker": "ada",
        "text": "done",
        "addressee": "bob",
        "time": "2024-05-31T14:00:00+02:00",
        "id": "7",
        "reply_to": "6",
        "kind": "action",
        "channel": "lounge",
        "mood": "good",
    }
    messages, report = reading(f'{json.dumps(full)}\n\n{{"speaker": "bob", "text": "", "kind": null}}\n')
    time = datetime(2024, 5, 31, 14, tzinfo=timezone(timedelta(hours=2)))
    assert messages == [
        Message("ada", "done", "bob", time, "7", "6", Kind.ACTION, "lounge"),
        Message("bob", ""),
    ]
    assert [message.line for message in messages] == [0, 2]
    assert report.kinds == {Kind.ACTION: 1, Kind.MESSAGE: 1}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 5000, "not JSON"),
        ("17", "not a JSON object"),
        ('{"text": "hi"}', '"speaker" is missing or not a string'),
        ('{"speaker": "ada", "text": 1}', '"text" is missing or not a string'),
        ('{"speaker": "ada", "text": "", "id": [1]}', '"id" is [1], neither a string nor a whole number'),
        ('{"speaker": "ada", "text": "", "kind": "x"}', "\"kind\" is 'x'; known are message, action"),
        ('{"speaker": "ada", "text": "", "time": "x"}', "\"time\" is 'x', not a date and time like"),
    ],
)
def test_malformed_lines(line: str, reason: str, reading: Reading) -> None:
    content = f'{{"speaker": "ada", "text": "hi"}}\n{line}\n'
    messages, report = reading(content)
    assert len(messages) == 1
    assert report.malformed == 1
    with pytest.raises(LogError) as caught:
        reading(content, name="chat.jsonl", strict=True)
    assert f"chat.jsonl:2: {reason}" in str(caught.value)
    assert caught.value.line == 2


def test_documents_are_days_of_channels(tmp_path: Path) -> None:
    lines = [
        Message("ada", "a", channel="x", time=datetime(2024, 5, 31, 10)),
        Message("ada", "b", channel="x", time=datetime(2024, 6, 1, 10)),
        Message("ada", "c", channel="y", time=datetime(2024, 6, 1, 10)),
        Message("ada", "d"),
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(f"{to_json(message)}\n" for message in lines))
    assert [(chat.name, len(chat)) for chat in read_conversations(path, days=True)] == [
        ("chat.jsonl x 2024-05-31", 1),
        ("chat.jsonl x 2024-06-01", 1),
        ("chat.jsonl y 2024-06-01", 2),
    ]


# Two halves of a surrogate pair, one after the other, are one character to JSON: no text has them.
texts = st.text(st.characters(exclude_categories=()), max_size=20).filter(
    lambda text: text == text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
)
zones = st.none() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
messages = st.builds(
    Message,
    texts,
    texts,
    addressee=st.none() | texts,
    time=st.none() | st.datetimes(timezones=zones),
    id=st.none() | texts,
    reply_to=st.none() | texts,
    kind=st.sampled_from(Kind),
    channel=st.none() | texts,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None)
@given(chat=st.lists(messages, min_size=1, max_size=8))
def test_what_is_written_is_read(chat: list[Message], tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes("".join(f"{to_json(message)}\n" for message in chat).encode())
    report = Report(strict=True)
    read = list(read_messages(path, report=report))
    assert read == chat
    assert [message.time and message.time.utcoffset() for message in read] == [
        message.time and message.time.utcoffset() for message in chat
    ]
    assert report.kinds.total() == len(chat)


def test_a_line_of_json_is_one_message() -> None:
    message = Message("ada", "line\nbreak \ud800", addressee="", time=datetime(2024, 5, 31))
    assert "\n" not in to_json(message)
    assert message_from(json.loads(to_json(message))) == message
