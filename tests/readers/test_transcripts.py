"""Transcripts with speakers, and rooms of XMPP."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.readers.conftest import Reading
from tests.readers.exports import encoded
from tests.readers.platforms import lua_item, stanza
from towhom.chat import Kind, Message
from towhom.errors import LogError


def short(messages: list[Message]) -> list[tuple[str, str]]:
    return [(message.speaker, message.text) for message in messages]


def test_webvtt(reading: Reading) -> None:
    messages, report = reading(
        "WEBVTT - a meeting\n\nNOTE nothing\n\n1\n00:00:01.000 --> 00:00:03.500 align:start\n"
        "<v Ada L>shall we\n\n"
        "2\n00:00:03.500 --> 00:00:05.000\n<v Ada L>begin &amp; <i>end</i>?</v>\n\n"
        "00:05.000 --> 00:06.000\n<v.loud Bob>Yes.</v>\n<v Ada L>Good.</v>\n\n"
        "01:00:00.000 --> 01:00:01.000\nCleo: late\n\n01:00:02.000 --> 01:00:03.000\nas always."
    )
    assert short(messages) == [
        ("Ada L", "shall we begin & end?"),
        ("Bob", "Yes."),
        ("Ada L", "Good."),
        ("Cleo", "late as always."),
    ]
    assert messages[3].time == datetime(1, 1, 1, 1, 0, 0)
    assert report.malformed == 0


def test_subrip(reading: Reading) -> None:
    content = (
        "1\r\n00:00:01,000 --> 00:00:02,000\r\n[Ada] Hello.\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000\r\nBOB: Hi.\r\n\r\n"
        "3\r\n00:00:05,000 --> 00:00:06,000\r\nSPEAKER_01: So.\r\n"
    )
    for encoding in ("utf-8-sig", "utf-16"):
        messages, _ = reading(content.encode(encoding))
        assert short(messages) == [("Ada", "Hello."), ("BOB", "Hi."), ("SPEAKER_01", "So.")]


def test_subtitles_without_speakers_are_no_chat(reading: Reading) -> None:
    cues = "\n\n".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\nhere is what was said" for n in range(1, 9))
    with pytest.raises(LogError, match="no log in a known format"):
        reading(cues)
    _, report = reading("WEBVTT\n\n00:01.000 --> 00:02.000\nwho says this?\n")
    assert report.problems[0].endswith("no cue so far says who speaks")


def test_whisper(reading: Reading) -> None:
    segments = [
        {"start": 0.5, "end": 2.0, "text": " Hello.", "speaker": "SPEAKER_00"},
        {"start": 2.5, "end": 3.0, "text": " Hi."},
        {"start": "x", "end": 3.0, "text": " Hi.", "speaker": "SPEAKER_00"},
    ]
    messages, report = reading(encoded({"segments": segments, "word_segments": []}))
    assert short(messages) == [("SPEAKER_00", "Hello."), ("UNKNOWN", "Hi.")]
    assert report.malformed == 1


class TestXmpp:
    def test_tables_of_prosody(self, reading: Reading) -> None:
        reply = '\n\t{ ["name"] = "reply"; ["attr"] = { ["xmlns"] = "urn:xmpp:reply:0"; ["id"] = "k1"; }; };'
        subject = lua_item(4, "ada", "new").replace('"body"', '"subject"')
        items = [
            lua_item(1, "ada", 'say "hi"\n{}'),
            lua_item(2, "bob", "hi", reply),
            lua_item(3, "Bob B", "/me bows"),
            subject,
        ]
        messages, report = reading("\n".join(items), name="muc_log.list")
        assert messages[:2] == [
            Message(
                "ada", 'say "hi"\n{}', time=datetime(2024, 5, 31, 9, 5, tzinfo=UTC), id="k1", channel="club"
            ),
            Message("bob", "hi", "ada", datetime(2024, 5, 31, 9, 10, tzinfo=UTC), "k2", "k1", channel="club"),
        ]
        assert [(message.kind, message.speaker, message.text) for message in messages[2:]] == [
            (Kind.ACTION, "Bob B", "bows"),
            (Kind.SYSTEM, "ada", "new"),
        ]
        assert report.malformed == 0

    def test_stanzas(self, reading: Reading) -> None:
        reply = "<reply xmlns='urn:xmpp:reply:0' to='club@rooms.example/ada' id='m1'/>"
        lines = [
            "<archive>",
            stanza(1, "ada", "1 &lt; 2"),
            stanza(2, "bob", "yes\nindeed", reply),
            "</archive>",
        ]
        messages, _ = reading("\n".join(lines))
        assert [(m.speaker, m.text, m.addressee) for m in messages] == [
            ("ada", "1 < 2", None),
            ("bob", "yes\nindeed", "ada"),
        ]
        assert messages[1].time == datetime(2024, 5, 31, 9, 10, tzinfo=UTC)

    def test_stanzas_in_a_table(self, reading: Reading) -> None:
        """What mod_muc_log wrote: a clock on each, and the day in the name of the file."""
        message = "<message from='club@rooms.example/ada' type='groupchat'><body>hi</body></message>"
        inner = f'<stanza time=\\"10:00:05\\">{message}</stanza>'
        messages, _ = reading(f'return {{\n\t"{inner}\\n";\n\t"{inner}\\n";\n}};\n', name="240531.dat")
        assert messages == [Message("ada", "hi", time=datetime(2024, 5, 31, 10, 0, 5), channel="club")] * 2


NAMED_ABOVE = {
    "Webex": (
        'WEBVTT\n\n{n} "{name}" (123)\n00:00:0{n}.000 --> 00:00:0{n}.900\n{text}\n\n',
        "WEBVTT\n\n",
    ),
    "Meet": ("0:00:0{n}.000,0:00:0{n}.900\n({name})\n{text}\n\n", ""),
    "Teams": ("00:00:0{n}.0000000 --> 00:00:0{n}.9000000\n{name}\n{text}\n\n", ""),
}


@pytest.mark.parametrize("what", NAMED_ABOVE)
def test_names_above_what_is_said(what: str, reading: Reading) -> None:
    form, head = NAMED_ABOVE[what]
    said = [("Ann Smith", "Hello, all."), ("Bob B", "Good morning."), ("Ann Smith", "Shall we?")]
    cues = [
        form.removeprefix(head).format(n=n, name=name, text=text) for n, (name, text) in enumerate(said, 1)
    ]
    messages, report = reading(head + "".join(cues))
    assert [(message.speaker, message.text) for message in messages] == said
    assert messages[1].time == datetime(1, 1, 1, 0, 0, 2)
    assert report.malformed == 0
