from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.readers.conftest import Reading
from tests.readers.exports import encoded, slack, slack_message, write, zipped
from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.readers import Report, find_logs, read_conversations, read_messages
from towhom.readers.base import Source
from towhom.readers.slack import Day

DAY = datetime(2024, 5, 31, 10, 0, tzinfo=UTC)


def ts(seconds: int) -> str:
    return f"{int(DAY.timestamp()) + seconds}.000200"


def at(seconds: int) -> datetime:
    return datetime(2024, 5, 31, 10, 0, seconds, 200, tzinfo=UTC)


def test_messages_threads_and_mentions(tmp_path: Path) -> None:
    day = [
        slack_message(ts(0), "U1", "shall we ship?"),
        slack_message(ts(1), "U2", "<@U1>: after lunch", thread_ts=ts(0), parent_user_id="U1"),
        slack_message(ts(2), "U3", "fine by me", thread_ts=ts(0)),
        slack_message(ts(3), "U1", "thanks both", thread_ts=ts(0)),
        slack_message(ts(4), "U9", "ask <@U3> or <@U8|hal>"),
        slack_message(ts(5), "U4", "ask <@U8|hal>"),
    ]
    assert list(read_messages(write(tmp_path, slack({"general/2024-05-31": day})))) == [
        Message("ada", "shall we ship?", time=at(0), id=ts(0), channel="general"),
        Message("Bob B", "after lunch", "ada", at(1), ts(1), ts(0), channel="general"),
        Message("cleo", "fine by me", "ada", at(2), ts(2), ts(0), channel="general"),
        Message("ada", "thanks both", None, at(3), ts(3), ts(0), channel="general"),
        Message("U9", "ask @cleo or @hal", None, at(4), ts(4), channel="general"),
        Message("U4", "ask @hal", "hal", at(5), ts(5), channel="general"),
    ]


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("see <http://x.example/?a=1&amp;b=2>", "see http://x.example/?a=1&b=2"),
        ("see <http://x.example|the page>", "see the page"),
        ("in <#C1|general>, <#C2|> and <#C9>", "in #general, #random and #C9"),
        ("<!here> <!subteam^S1|@crew> <!date^1^x|today>", "@here @crew today"),
        ("<@U1>", "@ada"),
        ("1 < 2 <> 3", "1 < 2 <> 3"),
    ],
)
def test_markup_becomes_text(text: str, readable: str, tmp_path: Path) -> None:
    path = write(tmp_path, slack({"general/2024-05-31": [slack_message(ts(0), "U2", text)]}))
    assert next(read_messages(path)).text == readable


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<@U1> :tada: congrats", ":tada: congrats"),
        ("<@U1>:tada: congrats", ":tada: congrats"),
        ("<@U1> :) nice", ":) nice"),
        ("<@U1> :+1:", ":+1:"),
        ("<@U1>: done", "done"),
        ("<@U1>:done", "done"),
        ("<@U1> : done", "done"),
        ("<@U1>, done", "done"),
        ("<@U1>:", "@ada:"),
    ],
)
def test_what_comes_after_a_mention(text: str, rest: str, tmp_path: Path) -> None:
    path = write(tmp_path, slack({"general/2024-05-31": [slack_message(ts(0), "U2", text)]}))
    message = next(read_messages(path))
    assert (message.addressee, message.text) == ("ada", rest)


@pytest.mark.parametrize(
    ("more", "kind", "speaker"),
    [
        ({"subtype": "thread_broadcast"}, Kind.MESSAGE, "ada"),
        ({"subtype": "file_share", "files": [{}]}, Kind.MESSAGE, "ada"),
        ({"subtype": "me_message"}, Kind.ACTION, "ada"),
        ({"bot_id": "B1"}, Kind.NOTICE, "ada"),
        ({"subtype": "bot_message", "user": None, "username": "builds"}, Kind.NOTICE, "builds"),
        ({"subtype": "bot_message", "user": None, "bot_id": "B1"}, Kind.NOTICE, "B1"),
        ({"bot_id": "B1", "user": "U7", "bot_profile": {"name": "cron"}}, Kind.NOTICE, "cron"),
        ({"subtype": "channel_join"}, Kind.SYSTEM, "ada"),
        ({"subtype": "channel_topic"}, Kind.SYSTEM, "ada"),
        ({"subtype": "pinned_item", "user": None}, Kind.SYSTEM, ""),
        ({"text": "", "files": [{"name": "cat.png"}]}, Kind.SYSTEM, "ada"),
    ],
)
def test_kinds(more: dict[str, object], kind: Kind, speaker: str, tmp_path: Path) -> None:
    message = slack_message(ts(0), "U1", "<@U2> look") | more
    report = Report(strict=True)
    path = write(tmp_path, slack({"general/2024-05-31": [message]}))
    found = next(read_messages(path, report=report))
    assert (found.kind, found.speaker) == (kind, speaker)
    assert found.addressee == (None if kind is Kind.SYSTEM else "Bob B")
    assert report.kinds == {kind: 1}


def test_documents_are_days_of_channels(tmp_path: Path) -> None:
    days = {
        "general/2024-05-31": [slack_message(ts(0), "U1", "one")],
        "general/2024-06-01": [slack_message(ts(1), "U2", "two", thread_ts=ts(0))],
        "random/2024-05-31": [slack_message(ts(2), "U2", "three", thread_ts=ts(0))],
    }
    chats = list(read_conversations(write(tmp_path / "acme", slack(days)), days=True))
    assert [chat.name for chat in chats] == [
        "acme general 2024-05-31",
        "acme general 2024-06-01",
        "acme random 2024-05-31",
    ]
    # A reply finds its author on the day before, but not in another channel.
    assert [chat[0].addressee for chat in chats] == [None, "ada", None]


def test_zip_with_a_folder_in_it(tmp_path: Path) -> None:
    files = slack({"general/2024-05-31": [slack_message(ts(0), "U1", "hi")]})
    path = write(tmp_path, {"acme.zip": zipped(files | {"general/canvas/2024-05-31.json": b"no"}, "acme/")})
    assert [message.speaker for message in read_messages(path)] == ["ada"]
    assert [log.reader.name for log in find_logs(path)] == ["slack"]


def test_a_day_alone_has_the_names_it_tells(reading: Reading) -> None:
    profile = {"display_name": "ada", "real_name": "Ada L"}
    day = [
        slack_message(ts(0), "U1", "hi"),
        slack_message(ts(1), "U1", "it is me", user_profile=profile),
        slack_message(ts(2), "U2", "<@U1> hello"),
    ]
    messages, _ = reading(encoded(day), name="general/2024-05-31.json")
    assert messages == [
        Message("U1", "hi", time=at(0), id=ts(0), channel="general"),
        Message("ada", "it is me", time=at(1), id=ts(1), channel="general"),
        Message("U2", "hello", "ada", at(2), ts(2), channel="general"),
    ]


def test_what_the_name_of_a_file_tells() -> None:
    def day(name: str) -> Day:
        return Day.of(Source(name, lambda: io.BytesIO()))

    assert day("acme/general/2024-05-31.json") == Day(
        "acme/general/2024-05-31.json", "general", "general 2024-05-31"
    )
    assert day("2024-05-31.json") == Day("2024-05-31.json", None, "2024-05-31")
    assert day("acme/some.json") == Day("acme/some.json", None, None)


def test_malformed_messages_are_counted_with_their_file(tmp_path: Path) -> None:
    day = [
        "x",
        {"type": "message", "ts": ts(0), "user": "U1"},
        {"type": "message", "ts": "yesterday", "user": "U1", "text": "hi"},
        {"type": "message", "ts": ts(0), "text": "hi"},
        {"type": "message", "ts": ts(0), "user": "U1", "text": "hi", "subtype": {}},
    ]
    report = Report()
    messages = list(
        read_messages(write(tmp_path / "acme", slack({"general/2024-05-31": day})), report=report)
    )
    assert [message.kind for message in messages] == [Kind.SYSTEM]
    assert report.malformed == 4
    assert report.problems == [
        'acme/general/2024-05-31.json:1: "text" is missing or not a string',
        'acme/general/2024-05-31.json:2: "text" is missing or not a string',
        "acme/general/2024-05-31.json:3: \"ts\" is 'yesterday', not a time in seconds",
        'acme/general/2024-05-31.json:4: "user" is missing or not a string',
    ]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    files = slack({"general/2024-05-31": [slack_message(ts(0), "U1", "hi")] * 3})
    files["general/2024-05-31.json"] = files["general/2024-05-31.json"][:-30]
    with pytest.raises(
        LogError, match=r"acme/general/2024-05-31.json: .*JSON ends early or is damaged after 2 messages"
    ):
        list(read_messages(write(tmp_path / "acme", files)))


def test_a_damaged_list_of_people_is_named(tmp_path: Path) -> None:
    files = slack({"general/2024-05-31": []}) | {"users.json": b'[{"id": "U1"'}
    with pytest.raises(LogError, match=r"acme/users.json: .*JSON ends early"):
        list(read_messages(write(tmp_path / "acme", files)))


class TestOtherPrograms:
    """One channel, as slackdump, slack-archive and the API write it."""

    def test_slackdump(self, reading: Reading) -> None:
        answer = slack_message("1717142500.000100", "U2", "in the shed, <@U1>", parent_user_id="U1")
        question = slack_message("1717142400.000100", "U1", "where?", slackdump_thread_replies=[answer])
        later = slack_message("1717142450.000100", "U2", "hi")
        content = encoded({"channel_id": "C1", "name": "general", "messages": [question, later]})
        messages, _ = reading(content, name="C1.json")
        assert [(m.text, m.addressee, m.reply_to) for m in messages] == [
            ("where?", None, None),
            ("hi", None, None),
            ("in the shed, @U1", "U1", "1717142400.000100"),
        ]
        assert {message.channel for message in messages} == {"general"}

    def test_the_api_begins_with_the_newest(self, reading: Reading) -> None:
        found = [slack_message(f"171714240{n}.000100", "U1", str(n)) for n in (2, 1, 0)]
        messages, _ = reading(encoded({"ok": True, "messages": found}))
        assert [message.text for message in messages] == ["0", "1", "2"]

    def test_slack_archive(self, tmp_path: Path) -> None:
        answer = slack_message("1717142500.000100", "U2", "in the shed")
        question = slack_message("1717142400.000100", "U1", "where?", replies=[answer])
        files = {
            "data/C0123ABCD.json": encoded([question]),
            "data/users.json": encoded(
                {"U1": {"id": "U1", "name": "ada"}, "U2": {"id": "U2", "name": "bob"}}
            ),
            "data/channels.json": encoded([{"id": "C0123ABCD", "name": "general"}]),
        }
        messages = list(read_messages(write(tmp_path, files)))
        assert [(m.speaker, m.addressee, m.channel) for m in messages] == [
            ("ada", None, "general"),
            ("bob", "ada", "general"),
        ]
