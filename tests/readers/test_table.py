from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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


NESTED: dict[str, Any] = {
    "an object": {
        "export": {"entries": [{"when": "WHEN", "author": {"name": "ada"}, "content": {"text": "hi"}}]}
    },
    "TwitchDownloader": {
        "streamer": {"name": "eve"},
        "comments": [
            {"created_at": "WHEN", "commenter": {"display_name": "ada"}, "message": {"body": "hi"}}
        ],
    },
    "chat_downloader": [
        {"author": {"id": "UC1", "name": "ada", "images": [{}]}, "message": "hi", "timestamp": "WHEN"}
    ],
    "Telethon": [
        {"_": "Message", "from_id": {"_": "PeerUser", "user_id": "ada"}, "message": "hi", "date": "WHEN"}
    ],
    "Mattermost's API": {"posts": {"p1": {"user_id": "ada", "message": "hi", "create_at": "WHEN"}, "p2": {
        "user_id": "ada", "message": "hi", "create_at": "WHEN"}}},
    "pieces": [{"author": "ada", "create_time": "WHEN", "content": {"parts": ["h", "i"]}}],
}  # fmt: skip


@pytest.mark.parametrize("what", NESTED)
def test_messages_anywhere_in_json(what: str, reading: Reading) -> None:
    content = json.dumps(NESTED[what])
    for when in ('"2024-05-31T10:00:00"', '"1717149600"', "1717149600000", "1717149600000000"):
        messages, report = reading(content.replace('"WHEN"', when))
        assert {(message.speaker, message.text) for message in messages} == {("ada", "hi")}
        assert {m.time and m.time.replace(tzinfo=None) for m in messages} == {TIME}
        assert report.malformed == 0


def test_rooms_are_what_lists_are_under(reading: Reading) -> None:
    message = {"user": "ada", "text": "hi", "ts": "2024-05-31T10:00:00"}
    named = {"members": [{"id": 1}], "club": [message], "news": [message, message]}
    messages, report = reading(json.dumps(named))
    assert [message.channel for message in messages] == ["club", "news", "news"]
    assert report.malformed == 0
    listed = [
        {"title": "Club", "log": {"messages": [message]}},
        {"title": "News", "log": {"messages": [message]}},
    ]
    messages, _ = reading(json.dumps({"version": 1, "rooms": listed}))
    assert [message.channel for message in messages] == ["Club", "News"]


def test_columns_whose_names_say_nothing(reading: Reading) -> None:
    said = [("ada", "where are the oars?"), ("bob", "in the shed, I think"), ("ada", "thanks a lot")]
    rows = [{"k": n, "u": name, "t": text, "w": 1717149600 + n} for n, (name, text) in enumerate(said)]
    messages, report = reading(json.dumps({"x": rows}))
    assert [(message.speaker, message.text) for message in messages] == said
    assert "chosen by their content: speaker=u,text=t,time=w" in report.assumptions[0]
    lines = [f'31/05/2024,10:0{n}:00,{name},+49{n},"{text}"' for n, (name, text) in enumerate(said)]
    for head in ("", "a,b,c,d,e\n"):
        messages, report = reading(head + "\n".join([*lines, lines[0]]))
        assert [(message.speaker, message.text) for message in messages][:2] == [said[0], said[0]]
        assert len(messages) == 4
        assert messages[-1].time == datetime(2024, 5, 31, 10, 2)


def test_the_day_and_the_clock_in_two_columns(reading: Reading) -> None:
    messages, _ = reading("Date,Time,User,Message\n31.05.2024,10:00,ada,hi\n31.05.2024,10:05,bob,ho\n")
    assert [message.time for message in messages] == [TIME, TIME.replace(minute=5)]


def test_lines_of_others_with_a_speaker_and_a_text(reading: Reading) -> None:
    """ConvoKit's: `timestamp` and `reply-to`, where ours are called otherwise."""
    first: dict[str, Any] = {
        "id": "1",
        "conversation_id": "c",
        "speaker": "ada",
        "text": "hi",
        "reply-to": None,
    }
    first |= {"timestamp": 1717149600}
    second = first | {"id": "2", "speaker": "bob", "text": "ho", "reply-to": "1"}
    messages, _ = reading(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    assert [(m.speaker, m.addressee, m.reply_to, m.channel) for m in messages] == [
        ("ada", None, None, "c"),
        ("bob", "ada", "1", "c"),
    ]
    assert messages[0].time == TIME.replace(tzinfo=UTC)


def test_what_json_has_is_said(reading: Reading) -> None:
    with pytest.raises(
        LogError, match=r"under 'items.item' there are objects \(2 .* with the keys sku, price\)"
    ):
        reading('{"items": [{"sku": "a", "price": 3}, {"sku": "b", "price": 4}]}')
    with pytest.raises(
        LogError, match=r"in its lines there are objects \(3 in its beginning\) with the keys level"
    ):
        reading('{"level": "info", "msg": "listening"}\n' * 3)


def test_names_of_discord(reading: Reading) -> None:
    rows = (
        "AuthorID,Author,Date,Content",
        "1,ada#1234,31-May-24 10:00 AM,hi",
        "2,bob#0001,31-May-24 10:01 AM,ho",
    )
    content = "\n".join(rows)
    messages, _ = reading(content)
    assert [(message.speaker, message.time) for message in messages] == [
        ("ada", TIME),
        ("bob", TIME.replace(minute=1)),
    ]


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


def test_the_key_of_a_message_is_its_id_and_no_room(reading: Reading) -> None:
    said = {
        f"-M{n}": {"name": name, "text": "hi there", "timestamp": 1717149600 + n}
        for n, name in enumerate("ab")
    }
    messages, _ = reading(json.dumps({"rooms": {"lounge": {"messages": said}}}))
    assert [(m.id, m.channel) for m in messages] == [("-M0", "lounge"), ("-M1", "lounge")]
    messages, _ = reading(json.dumps({"messages": said}))
    assert [(m.id, m.channel) for m in messages] == [("-M0", None), ("-M1", None)]


def test_display_names_and_replies_by_other_names(reading: Reading) -> None:
    rows = [
        {"sender": {"name": "users/1", "displayName": "Ada L"}, "text": "hi", "uid": "1"},
        {
            "sender": {"name": "users/2", "displayName": "Bob"},
            "text": "ho",
            "uid": "2",
            "in_reply_to_id": "1",
        },
    ]
    messages, _ = reading(json.dumps(rows))
    assert [m.speaker for m in messages] == ["Ada L", "Bob"]
    assert (messages[1].reply_to, messages[1].addressee) == ("1", "Ada L")
    rows_of_slack = (
        "timestamp,user,text,thread_ts\n1609588870.01,ada,hi,\n1609588880.01,bob,ho,1609588870.01\n"
    )
    messages, _ = reading(rows_of_slack)
    assert messages[1].reply_to == messages[0].id == "1609588870.01"


def test_nothing_of_a_text_is_lost_for_a_missing_quote(reading: Reading) -> None:
    messages, _ = reading("Zeit;Absender;Nachricht\n31.05.2024 10:00;ada;hallo; alles klar?\n")
    assert messages == [Message("ada", "hallo; alles klar?", time=TIME)]


def test_what_the_exporter_wrote_and_html(reading: Reading) -> None:
    content = (
        "Message Date,Type,Sender Name,Text\n2024-05-31 10:00,Incoming,ada,<p>hi</p>\n"
        "2024-05-31 10:00,Outgoing,,ho\n"
    )
    messages, report = reading(content)
    assert messages == [Message("ada", "hi", time=TIME), Message("me", "ho", time=TIME)]
    assert report.malformed == 0
