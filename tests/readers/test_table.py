from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.readers.conftest import Reading
from tests.readers.exports import write
from towhom.chat import Message
from towhom.errors import LogError
from towhom.readers import read_messages

TIME = datetime(2024, 5, 31, 10, 0)


@pytest.mark.parametrize(
    "content",
    [
        "Date,From,Message\n2024-05-31 10:00,ada,hi\n",
        "author;content;created_at\nada;hi;31.05.2024 10:00\n",
        "sender\ttimestamp\tbody\nada\t5/31/2024 10:00 AM\thi\n",
        'AuthorID,Author,Date,Content,Attachments,Reactions\n1,ada,2024-05-31T10:00:00,hi,"",""\n',
        '[{"sender_name": "ada", "text": "hi", "time": "2024-05-31 10:00"}]',
        '{"data": [{"user": "ada", "message": "hi", "ts": "2024-05-31 10:00"}]}',
        '"Sent At","User Name","Message Text"\n"2024-05-31 10:00","ada","hi"\n',
    ],
)
def test_columns_are_found(content: str, reading: Reading) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        messages, report = reading(content.encode(encoding))
        assert messages == [Message("ada", "hi", time=TIME)]
        assert report.malformed == 0


@pytest.mark.parametrize(
    "content",
    [
        "x,y\n1.5,2.5\n2.5,3.5\n",
        "name,line\nBerlin,U8\nParis,M4\n",
        "date,city,weather\n2024-05-31,Berlin,sun\n",
        '[{"name": "towhom", "version": "1.0"}, {"name": "x", "version": "2"}]',
        '{"level": "info", "msg": "listening", "time": "2024-05-31T10:00:00Z"}\n' * 3,
    ],
)
def test_other_tables_are_no_chats(content: str, reading: Reading) -> None:
    with pytest.raises(LogError, match=r"no log in a known format.*--columns"):
        reading(content)


def test_columns_are_named(reading: Reading) -> None:
    content = "wer,was,wann,wem\nada,hi,2024-05-31 10:00,bob\n,nobody,,\nbob,,,\n"
    messages, report = reading(content, format="table:speaker=wer, text=was,time=wann,to=wem")
    assert messages[0] == Message("ada", "hi", "bob", TIME)
    assert [problem.rpartition(": ")[2] for problem in report.problems] == ["nobody is named who wrote it"]
    numbered, _ = reading("ada,hi\nbob,ho\n", format="table:speaker=1,text=2")
    assert numbered == [Message("ada", "hi"), Message("bob", "ho")]
    nested, _ = reading(
        '[{"who": {"name": "ada"}, "is": {"said": "hi"}}]', format="table:speaker=who.name,text=is.said"
    )
    assert nested == [Message("ada", "hi")]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("speaker=wer,text=body", r"there is no column 'body'; its columns are: wer, was"),
        ("speaker=wer", "columns must say which is the speaker and which the text"),
        ("speaker", "columns are given as speaker=NAME,text=NAME, not 'speaker'"),
        ("speaker=wer,colour=was", "known are speaker, text, time"),
    ],
)
def test_columns_that_are_not_there(options: str, reason: str, reading: Reading) -> None:
    with pytest.raises(LogError, match=reason):
        reading("wer,was\nada,hi\n", format=f"table:{options}")


def test_rows_over_several_lines_and_in_any_order(reading: Reading) -> None:
    content = (
        "time,channel,speaker,text,id,reply_to\n"
        '2024-05-31 10:02,club,bob,"two\nlines, ""quoted""",2,1\n'
        "2024-05-31 10:01,club,ada,first,1,\n"
        "2024-05-31 10:00,news,ada,other,3,\n"
    )
    messages, _ = reading(content)
    assert [(m.channel, m.text, m.addressee) for m in messages] == [
        ("club", "first", None),
        ("club", 'two\nlines, "quoted"', "ada"),
        ("news", "other", None),
    ]


def test_other_encodings_and_damage(reading: Reading) -> None:
    messages, _ = reading("speaker,text\nada,café\n".encode("cp1252"))
    assert messages[0].text == "café"
    messages, report = reading(f'speaker,text\nada,hi\nbob,"{"x" * 200_000}\n')
    assert [message.text for message in messages] == ["hi"]
    assert report.malformed == 1


def test_parquet(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "author": ["ada", "bob"],
        "content": ["hi", "ada: ho"],
        "created_at": [TIME, TIME.replace(tzinfo=UTC)],
    }
    columns["created_at"] = [TIME, TIME.replace(minute=1)]
    parquet.write_table(arrow.table(columns), tmp_path / "chat.parquet")
    assert [message.text for message in read_messages(tmp_path / "chat.parquet")] == ["hi", "ada: ho"]
    named = read_messages(tmp_path / "chat.parquet", format="table:speaker=content,text=author")
    assert next(named) == Message("hi", "ada", time=TIME)
    parquet.write_table(arrow.table({"x": [1], "y": [2]}), tmp_path / "numbers.parquet")
    with pytest.raises(LogError, match="no column is plainly the speaker or the text; its columns are: x, y"):
        list(read_messages(tmp_path / "numbers.parquet"))
    damaged = (tmp_path / "chat.parquet").read_bytes()[:-30]
    with pytest.raises(LogError, match="truncated or damaged"):
        list(read_messages(write(tmp_path, {"damaged.parquet": damaged})))
