"""What is particular to each platform's export."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.readers.conftest import Reading
from tests.readers.exports import START, STEP, encoded, write, zipped
from tests.readers.platforms import (
    facebook,
    facebook_message,
    gitter_message,
    google_message,
    hangouts,
    hangouts_event,
    json_lines,
    long_facebook_folder,
    mattermost,
    mattermost_post,
    milliseconds,
    package,
    package_message,
    rocket_message,
    signal_envelope,
    skype,
    skype_message,
    table,
    teams_mention,
    teams_message,
    zulip,
    zulip_archived,
    zulip_message,
)
from towhom.chat import Kind, Message
from towhom.readers import Report, find_logs, read_messages

SYSTEM = Kind.SYSTEM


def short(messages: list[Message]) -> list[tuple[str, str, str | None]]:
    return [(message.speaker, message.text, message.addressee) for message in messages]


class TestFacebook:
    def test_broken_encoding_and_order(self, reading: Reading) -> None:
        export = [
            facebook_message(1717146000000, "Zoë", "it is 5 € 👍"),
            facebook_message(1717142400000, "Ada", None, photos=[{"uri": "a.jpg"}]),
            facebook_message(1717142400000, "Ada", "café?", reactions=[{"reaction": "x", "actor": "Bob"}]),
            facebook_message(1717142300000, "Ada", "x", type="Call", call_duration=3),
            facebook_message(1717142200000, "Ada", "Liked a message"),
        ]
        messages, report = reading(facebook(export, "Müsli club"))
        assert [(message.speaker, message.text, message.kind) for message in messages] == [
            ("Ada", "Liked a message", SYSTEM),
            ("Ada", "x", SYSTEM),
            ("Ada", "café?", Kind.MESSAGE),
            ("Ada", "", SYSTEM),
            ("Zoë", "it is 5 € 👍", Kind.MESSAGE),
        ]
        assert {message.channel for message in messages} == {"Müsli club"}
        assert messages[-1].time == datetime(2024, 5, 31, 9, 0, tzinfo=UTC)
        assert report.malformed == 0

    def test_nothing_but_messages(self, reading: Reading) -> None:
        """As programs that take exports apart leave them."""
        bare = [
            {"sender_name": name, "timestamp_ms": 1717142400000, "content": "hi"} for name in ("Ada", "Bob")
        ]
        messages, _ = reading(json.dumps({"messages": bare}))
        assert sorted(short(messages)) == [("Ada", "hi", None), ("Bob", "hi", None)]

    def test_encrypted_chats_have_other_keys(self, reading: Reading) -> None:
        message = {
            "isUnsent": False,
            "senderName": "Ada",
            "text": "größer",
            "timestamp": 1717142400000,
            "type": "text",
        }
        messages, _ = reading(
            encoded({"participants": ["Ada"], "threadName": "Club_1", "messages": [message]})
        )
        assert [(message.text, message.channel) for message in messages] == [("größer", "Club_1")]

    def test_a_conversation_in_several_files_is_in_order(self, tmp_path: Path) -> None:
        path = write(tmp_path, {"facebook.zip": zipped(long_facebook_folder(100))})
        times = [message.time for message in read_messages(path) if message.time]
        assert len(times) == 100
        assert times == sorted(times)


def test_google_chat(tmp_path: Path) -> None:
    mention = [{"start_index": 0, "length": 4}]
    export = [
        google_message(1, "Ada", "who has the key?"),
        google_message(2, "Bob", "I do", topic=1),
        google_message(3, "Bob", "@Ada catch", annotations=mention),
        google_message(4, "Ada", "no", quoted_message_metadata={"message_id": "s/t3/t3"}),
        google_message(5, None, "", message_state="DELETED"),
        google_message(6, "Cron", "done") | {"creator": {"name": "Cron", "user_type": "Bot"}},
        google_message(7, "Ada", "x") | {"created_date": "soon"},
        google_message(8, "Ada", "2 Jan") | {"created_date": "Friday, 31 May 2024 at 23:16:34 UTC"},
    ]
    folder = "Takeout/Google Chat/Groups/Space 1"
    files = {
        f"{folder}/messages.json": encoded({"messages": export}),
        f"{folder}/group_info.json": b'{"name": "Club"}',
    }
    report = Report()
    messages = list(read_messages(write(tmp_path, files), report=report))
    assert [(m.speaker, m.addressee, m.reply_to, m.kind.value, m.channel) for m in messages] == [
        ("Ada", None, None, "message", "Club"),
        ("Bob", "Ada", "s/t1/t1", "message", "Club"),
        ("Bob", "Ada", None, "message", "Club"),
        ("Ada", "Bob", "s/t3/t3", "message", "Club"),
        ("", None, None, "system", "Club"),
        ("Cron", None, None, "notice", "Club"),
        ("Ada", None, None, "message", "Club"),
    ]
    assert report.malformed == 1
    assert messages[-1].time == datetime(2024, 5, 31, 23, 16, 34, tzinfo=UTC)


class TestZulip:
    def test_topics_mentions_and_quotes(self, tmp_path: Path) -> None:
        quote = "@_**ada|1** [said](https://x.example/#narrow/channel/5/topic/boats/near/1):\n```quote\nhi\n```\nindeed"
        export = [
            zulip_message(1, 1, "shall we?"),
            zulip_message(2, 2, quote),
            zulip_message(3, 3, "@**bob|2** why?"),
            zulip_message(4, 1, "@_**bob|2** was here", subject="news"),
            zulip_message(5, 1, "/me waves"),
            zulip_message(6, 1, "psst", recipient=21, subject=""),
            zulip_message(7, 9, "@**all** hello"),
        ]
        messages = list(read_messages(write(tmp_path, zulip(export))))
        assert [(m.speaker, m.text, m.addressee, m.reply_to, m.channel) for m in messages] == [
            ("ada", "shall we?", None, None, "club > boats"),
            ("bob", "indeed", "ada", "1", "club > boats"),
            ("Cleo D.", "why?", "bob", None, "club > boats"),
            ("ada", "waves", None, None, "club > boats"),
            ("9", "@all hello", None, None, "club > boats"),
            ("ada", "@bob was here", None, None, "club > news"),
            ("ada", "psst", None, None, "21"),
        ]

    def test_a_public_archive(self, tmp_path: Path) -> None:
        said = (
            '<p><span class="user-mention silent" data-user-id="1">ada</span> '
            '<a href="/#narrow/near/1">said</a>:</p>'
            "<blockquote><p>hi</p></blockquote><p>yes &amp; no</p>"
        )
        topic = [
            zulip_archived(1, "ada", "<p>hi <em>all</em><br>\nthere</p>"),
            zulip_archived(2, "bob", said),
        ]
        files = {"stream_index.json": b'{"streams": {}}', "club/boats.json": encoded(topic)}
        messages = list(read_messages(write(tmp_path, files)))
        assert [(m.text, m.addressee, m.reply_to, m.channel) for m in messages] == [
            ("hi all\nthere", None, None, "club > boats"),
            ("yes & no", "ada", "1", "club > boats"),
        ]


def test_mattermost(reading: Reading) -> None:
    reply = {"user": "bob", "message": "I do", "create_at": milliseconds(START + 3 * STEP)}
    posts = [
        mattermost_post(START, "ada", "who has the key?", replies=[reply]),
        mattermost_post(START + STEP, "cleo", "@ada: hello"),
        mattermost_post(START + STEP, "cleo", "cleo joined", type="system_join_channel"),
        mattermost_post(
            START + 2 * STEP, "hook", "built", props={"from_webhook": "true", "override_username": "ci"}
        ),
        {
            "type": "direct_post",
            "direct_post": {
                "channel_members": ["bob", "ada"],
                "user": "bob",
                "message": "psst",
                "create_at": milliseconds(START),
            },
        },
        {"type": "post", "post": 5},
    ]
    messages, report = reading(mattermost(posts))
    assert [(m.speaker, m.text, m.addressee, m.kind.value, m.channel) for m in messages] == [
        ("ada", "who has the key?", None, "message", "club"),
        ("cleo", "hello", "ada", "message", "club"),
        ("cleo", "cleo joined", None, "system", "club"),
        ("ci", "built", None, "notice", "club"),
        ("bob", "I do", "ada", "message", "club"),
        ("bob", "psst", None, "message", "ada, bob"),
    ]
    assert messages[4].reply_to == messages[0].id
    assert report.malformed == 1


def test_rocketchat(reading: Reading) -> None:
    export = [
        rocket_message(1, "ada", "who has the key?"),
        rocket_message(2, "bob", "I do", tmid="m1"),
        rocket_message(3, "ada", "[ ](https://x.example/channel/club?msg=m2) good"),
        rocket_message(
            4, "bob", "@ada here", mentions=[{"username": "ada"}], ts={"$date": "2024-05-31T09:20:00Z"}
        ),
        rocket_message(5, "bob", "bob", t="uj"),
        rocket_message(6, "hook", "built", bot={"i": "x"}),
    ]
    messages, _ = reading(encoded(export))
    assert short(messages) == [
        ("ada", "who has the key?", None),
        ("bob", "I do", "ada"),
        ("ada", "good", "bob"),
        ("bob", "here", "ada"),
        ("bob", "bob", None),
        ("hook", "built", None),
    ]
    assert [message.kind for message in messages[4:]] == [SYSTEM, Kind.NOTICE]
    exported = {
        "messages": [{"msg": "hi", "username": "ada", "ts": "2024-05-31T10:00:00Z", "attachments": []}]
    }
    assert short(reading(json.dumps(exported))[0]) == [("ada", "hi", None)]


class TestTeams:
    def test_graph(self, reading: Reading) -> None:
        reference = {
            "contentType": "messageReference",
            "content": '{"messageId": "2", "messagePreview": "x"}',
        }
        reply = teams_message(5, "Cleo", "<p>me too</p>")
        export = [
            teams_message(1, "Ada", "<div>who has<br>the key?</div>", replies=[reply]),
            teams_message(2, "Bob", '<p><at id="0">Ada</at>&nbsp;I do</p>', mentions=[teams_mention("Ada")]),
            teams_message(3, "Ada", "<blockquote>I do</blockquote><p>good</p>", attachments=[reference]),
            teams_message(4, None, "<systemEventMessage/>", messageType="systemEventMessage"),
            teams_message(6, None, "built", **{"from": {"application": {"displayName": "ci"}}}),
            teams_message(7, "Bob", "plain < text", body={"contentType": "text", "content": "1 < 2"}),
            teams_message(8, "Bob", "", deletedDateTime="2024-05-31T10:00:00Z"),
        ]
        messages, report = reading(encoded({"value": export[::-1]}))
        assert [(m.speaker, m.text, m.addressee, m.kind.value) for m in messages] == [
            ("Ada", "who has\nthe key?", None, "message"),
            ("Bob", "I do", "Ada", "message"),
            ("Ada", "good", "Bob", "message"),
            ("", "", None, "system"),
            ("Cleo", "me too", "Ada", "message"),
            ("ci", "built", None, "notice"),
            ("Bob", "1 < 2", None, "message"),
            ("Bob", "", None, "system"),
        ]
        assert report.malformed == 0

    def test_accounts(self, reading: Reading) -> None:
        quote = '<quote author="ada" messageid="1">hi</quote>yes'
        first = [skype_message(2, "bob", quote), skype_message(1, "ada", "hi &amp; all")]
        second = [
            skype_message(3, None, "x", messagetype="ThreadActivity/AddMember"),
            skype_message(4, None, "hm"),
        ]
        messages, _ = reading(skype({"Club": first, "News": second}))
        assert [(m.speaker, m.text, m.addressee, m.channel) for m in messages] == [
            ("ada", "hi & all", None, "Club"),
            ("bob", "yes", "ada", "Club"),
            ("None", "x", None, "News"),
            ("None", "hm", None, "News"),
        ]


def test_gitter(reading: Reading) -> None:
    export = [
        gitter_message(1, "ada", "who has it?"),
        gitter_message(2, "bob", "@ada I do", mentions=[{"screenName": "ada"}]),
        gitter_message(3, "cleo", "really?", parentId="m2"),
        gitter_message(4, "cleo", "x") | {"fromUser": None},
    ]
    for content in (encoded(export), json_lines(export)):
        messages, report = reading(content)
        assert short(messages) == [
            ("ada", "who has it?", None),
            ("bob", "I do", "ada"),
            ("cleo", "really?", "bob"),
        ]
        assert report.malformed == 1


class TestSignal:
    def test_signal_cli(self, reading: Reading) -> None:
        mention = {"name": "Ada", "number": "+13", "uuid": "u", "start": 0, "length": 1}
        quoted = {"id": milliseconds(START + STEP), "author": "+13", "text": "who"}
        lines = [
            signal_envelope(1, "Ada", "who has it?"),
            signal_envelope(2, "Bob", "\ufffc I do", mentions=[mention]),
            signal_envelope(3, "Cleo", "no", quote=quoted),
            signal_envelope(4, "Cleo", None, reaction={"emoji": "x"}),
            {"envelope": {"source": "+13", "timestamp": 1, "receiptMessage": {}}},
            {"jsonrpc": "2.0", "method": "receive", "params": signal_envelope(5, "Ada", "well")},
        ]
        messages, report = reading(json_lines(lines))
        assert short(messages) == [
            ("Ada", "who has it?", None),
            ("Bob", "I do", "Ada"),
            ("Cleo", "no", "Ada"),
            ("Cleo", "", None),
            ("Ada", "well", None),
        ]
        assert report.malformed == 0

    def test_desktop_and_backups(self, reading: Reading) -> None:
        row = {
            "conversationId": "c1",
            "sent_at": 1717142400000,
            "type": "incoming",
            "body": "hi",
            "sourceName": "Ada",
        }
        mine = row | {
            "type": "outgoing",
            "sent_at": 1717142401000,
            "body": "yo",
            "quote": {"id": 1717142400000},
        }
        assert short(reading(encoded([row, mine]))[0]) == [("Ada", "hi", None), ("Me", "yo", "Ada")]
        backup = [
            {"version": "1", "backupTimeMs": "1717142400000"},
            {"account": {"givenName": "Bob"}},
            {"recipient": {"id": "1", "contact": {"profileGivenName": "Ada", "profileFamilyName": "L"}}},
            {"recipient": {"id": "2", "group": {"snapshot": {"title": {"title": "Club"}}}}},
            {"chat": {"id": "7", "recipientId": "2"}},
            {"chatItem": {"chatId": "7", "authorId": "1", "dateSent": "1717142400000",
                          "standardMessage": {"text": {"body": "hi"}}}},
            {"chatItem": {"chatId": "7", "authorId": "1", "dateSent": "1717142400001", "updateMessage": {}}},
        ]  # fmt: skip
        messages, _ = reading(json_lines(backup))
        assert [(m.speaker, m.text, m.channel, m.kind) for m in messages] == [
            ("Ada L", "hi", "Club", Kind.MESSAGE),
            ("Ada L", "", "Club", SYSTEM),
        ]


def test_discord_package(tmp_path: Path) -> None:
    rows = [package_message(2, "later"), package_message(1, 'a, "b"\nc')]
    files = package({"messages/c7/messages.csv": table(rows), "messages/c8/messages.json": encoded(rows)})
    messages = list(read_messages(write(tmp_path, files)))
    assert [(m.speaker, m.text, m.channel) for m in messages] == [
        ("ada", 'a, "b"\nc', "Crew > club"),
        ("ada", "later", "Crew > club"),
        ("ada", 'a, "b"\nc', "c8"),
        ("ada", "later", "c8"),
    ]
    assert messages[0].time == START + STEP
    assert [log.reader.name for log in find_logs(tmp_path)] == ["discord-package"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
def test_json_in_other_encodings(encoding: str, reading: Reading) -> None:
    """Windows PowerShell writes UTF-16."""
    content = encoded([gitter_message(1, "ada", "é"), gitter_message(2, "bob", "ж")]).decode()
    messages, _ = reading(content.encode(encoding))
    assert [message.text for message in messages] == ["é", "ж"]


class TestHangouts:
    def test_names_pieces_and_events(self, reading: Reading) -> None:
        pieces = [
            {"type": "TEXT", "text": "see "}, {"type": "LINK", "text": "http://x"}, {"type": "LINE_BREAK"},
            {"type": "TEXT", "text": "ok?"},
        ]  # fmt: skip
        shown = {"chat_message": {"message_content": {"segment": pieces}}}
        left = {"event_type": "REMOVE_USER", "membership_change": {"type": "LEAVE"}}
        events = [
            hangouts_event(2, 2, None, **left),
            hangouts_event(1, 0, None, **shown),
            hangouts_event(3, 9, "hi"),
        ]
        messages, report = reading(hangouts(events))
        assert report.malformed == 0
        assert [(m.speaker, m.text, m.kind) for m in messages] == [
            ("ada", "see http://x\nok?", Kind.MESSAGE),
            ("Cleo D.", "REMOVE_USER", Kind.SYSTEM),
            ("9", "hi", Kind.MESSAGE),
        ]
        assert (messages[0].channel, messages[0].time) == ("Rowing club", START + STEP)

    def test_older_shape_and_takeout(self, tmp_path: Path) -> None:
        conversation = json.loads(hangouts([hangouts_event(1, 0, "hi")], None))["conversations"][0]
        state = {
            "conversation": conversation["conversation"]["conversation"],
            "event": conversation["events"],
        }
        older = encoded(
            {"conversation_state": [{"conversation_id": {"id": "c"}, "conversation_state": state}]}
        )
        files = {"Takeout/Hangouts/Hangouts.json": older, "Takeout/archive_browser.html": b"<html></html>"}
        (message,) = read_messages(write(tmp_path, files))
        assert (message.speaker, message.text, message.channel) == ("ada", "hi", "Cleo D., ada, bob")

    def test_a_time_that_is_none(self, reading: Reading) -> None:
        messages, report = reading(hangouts([hangouts_event(1, 0, "hi", timestamp="soon")]))
        assert messages == []
        assert report.problems[0].endswith('"timestamp" is missing or not a time in microseconds')
