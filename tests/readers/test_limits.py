"""Logs that are made to fill the memory: they are refused, or read in parts."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.readers.exports import (
    START,
    discord,
    discord_message,
    discord_person,
    encoded,
    matrix,
    matrix_event,
    matrix_text,
    slack,
    slack_message,
    telegram,
    telegram_account,
    telegram_message,
    write,
    zipped,
)
from tests.readers.platforms import (
    facebook,
    facebook_message,
    gitter_message,
    json_lines,
    lua_item,
    mattermost,
    mattermost_post,
    signal_envelope,
    skype,
    skype_message,
)
from towhom import readers
from towhom.errors import LogError
from towhom.readers import Report, find_logs, read_conversations, read_messages
from towhom.readers.base import MAX_MESSAGE, Folder

BOMB = "x" * (MAX_MESSAGE + (1 << 17))
_DAY = "31/05/24, 10:00 - Ada: "
_ADA = discord_person(1, "ada")
_LONG = telegram_message(2, "ada", BOMB)
_PATTERN = b"10:01 | ada | hi, bob\n10:02 | bob | hello, ada\n10:04 | ada | is it so?\n"
LOGS: dict[str, tuple[str, bytes, int]] = {
    "irc": ("irc", f"[10:00] <ada> hi\n[10:01] <ada> {BOMB}\n".encode(), 2),
    "utf-16": ("irc", f"[10:00] <ada> hi\n[10:01] <ada> {BOMB}\n".encode("utf-16"), 2),
    "jsonl": ("jsonl", b'{"speaker": "a", "text": "b"}\n{"x": "' + BOMB.encode(), 2),
    "reference": ("reference", f"10:00\tada\t-\thi\t-\t-\n\n{BOMB}".encode(), 3),
    "whatsapp": ("whatsapp", f"{_DAY}hi\n{_DAY}{BOMB}".encode(), 2),
    "whatsapp, many lines": ("whatsapp", f"{_DAY}hi\n".encode() + b"more and more\n" * 400_000, 322_640),
    "discord": ("discord", discord([discord_message(1, _ADA, "hi"), discord_message(2, _ADA, BOMB)]), 2),
    "discord, layout": (
        "discord",
        discord([discord_message(1, _ADA, "hi"), discord_message(2, _ADA, "hi", x=["[}\\"] * 900_000)]),
        2,
    ),
    "discord, beside messages": ("discord", discord([], BOMB), 1),
    "telegram": (
        "telegram",
        telegram([telegram_message(1, "ada", "hi"), telegram_message(2, "ada", BOMB)]),
        2,
    ),
    "telegram account": (
        "telegram",
        telegram_account(
            [{"name": "a", "type": "b", "id": 1, "messages": [telegram_message(1, "ada", BOMB)]}]
        ),
        1,
    ),
    "matrix": ("matrix", matrix([matrix_event(1, "ada", matrix_text(BOMB))]), 1),
    "slack": ("slack", encoded([slack_message("1717142400.000000", "U1", BOMB)]), 1),
    "facebook": (
        "facebook",
        facebook([facebook_message(1, "ada", "hi"), facebook_message(2, "ada", BOMB)]),
        1,
    ),
    "mattermost": ("mattermost", mattermost([mattermost_post(START, "ada", BOMB)]), 4),
    "skype": ("teams", skype({"Club": [skype_message(1, "ada", "hi"), skype_message(2, "ada", BOMB)]}), 2),
    "gitter": ("gitter", encoded([gitter_message(1, "ada", "hi"), gitter_message(2, "ada", BOMB)]), 2),
    "signal": ("signal", json_lines([signal_envelope(1, "ada", "hi"), signal_envelope(2, "ada", BOMB)]), 2),
    "csv": ("table", f"speaker,text\nada,hi\nada,{BOMB}\n".encode(), 3),
    "subtitles": (
        "subtitles",
        b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + b"Ada: more and more\n" * 300_000,
        233_020,
    ),
    "prosody": ("xmpp", (lua_item(1, "ada", "hi") + "\n" + lua_item(2, "ada", BOMB)).encode(), 15),
    "prosody, many lines": (
        "xmpp",
        lua_item(1, "ada", "hi").encode() + b"\nitem({\n" + b'"x";\n' * 900_000,
        9,
    ),
    "pattern": ("pattern", _PATTERN + f"10:05 | ada | {BOMB}\n".encode(), 4),
    "pattern, many lines": (
        "pattern:{time} | {speaker} | {text}",
        _PATTERN + b"more and more\n" * 400_000,
        322_642,
    ),
}
"""What it is -> format, content, the line or message that is too long."""


@pytest.mark.parametrize("what", LOGS)
def test_what_is_longer_than_any_message_is_refused(what: str, tmp_path: Path) -> None:
    format, content, line = LOGS[what]
    path = write(tmp_path, {"log": content})
    with pytest.raises(LogError, match=r"a (line|message) of more than 4 MB") as caught:
        list(read_messages(path, format=format))
    assert caught.value.file == str(path)
    assert caught.value.line == line


def test_much_beside_the_messages_is_no_long_message(tmp_path: Path) -> None:
    """A million contacts of a Telegram account, which nobody asked for."""
    people = [{"first_name": "Ada", "n": number} for number in range(130_000)]
    chats = [{"name": "a", "type": "b", "id": 1, "messages": [telegram_message(1, "ada", "hi")]}]
    account = json.loads(telegram_account(chats)) | {"frequent_contacts": {"list": people}}
    path = write(tmp_path, {"result.json": json.dumps(account).encode()})
    assert path.stat().st_size > MAX_MESSAGE
    assert [message.text for message in read_messages(path, format="telegram")] == ["hi"]


def test_many_messages_are_no_long_message(tmp_path: Path) -> None:
    """The title of a chat stands behind them."""
    count = MAX_MESSAGE // 100
    messages = [facebook_message(number, "ada", "hi") for number in range(count)]
    path = write(tmp_path, {"message_1.json": facebook(messages)})
    assert path.stat().st_size > MAX_MESSAGE
    assert sum(message.channel == "Rowing club" for message in read_messages(path)) == count
    path = write(
        tmp_path, {"chat.txt": _PATTERN * 2 + (_PATTERN + b"and so on and on\n") * (MAX_MESSAGE // 60)}
    )
    assert path.stat().st_size > MAX_MESSAGE
    told = "pattern:{time} | {speaker} | {text}"
    assert sum(1 for _ in read_messages(path, format=told)) == 3 * (MAX_MESSAGE // 60 + 2)


def peak(run: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def endless(path: Path, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """A small archive with 80 MB in one line."""
    with zipfile.ZipFile(path, "w", method) as archive, archive.open("log.txt", "w") as file:
        file.write(b"[10:00] <ada> hi\n" * 10 + b"[10:00] <ada> ")
        for _ in range(80):
            file.write(b"x" * (1 << 20))
    return path


METHODS = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA


@pytest.mark.parametrize("method", METHODS)
def test_however_a_zip_archive_is_packed(method: int, tmp_path: Path) -> None:
    content = b"".join(b"[10:00] <ada> number %d\n" % number for number in range(40_000))
    path = tmp_path / "log.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a/one.txt", content)
        archive.writestr("two.txt", content[:-1000])
    one, two = Folder.of(path).files
    for source, expected in ((one, content), (two, content[:-1000])):
        with source.open() as stream:
            assert stream.read() == expected
        assert (source.position, source.size) == (len(expected), len(expected))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(LogError):
        list(read_messages(path))


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_line_without_an_end_takes_no_memory(method: int, tmp_path: Path) -> None:
    path = endless(tmp_path / "log.zip", method)

    def read() -> None:
        with pytest.raises(LogError, match=r"log.zip/log.txt:11: a line of more than 4 MB"):
            list(read_messages(path))

    assert peak(read) < 8 * MAX_MESSAGE


def test_too_many_files_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towhom.readers.base._MAX_FILES", 10)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(11):
            archive.writestr(f"{number}.log", b"[10:00] <ada> hi\n")
    path = write(tmp_path, {"logs.zip": buffer.getvalue()})
    with pytest.raises(LogError, match=r"logs.zip: the zip archive holds more than 10 files"):
        find_logs(path)


class TestParts:
    """A log without dates is one document, unless it is too long for that."""

    @staticmethod
    def untimed(count: int) -> bytes:
        return b"".join(
            b"<ada> line %d of a log without any dates at all\n" % number for number in range(count)
        )

    def test_an_ordinary_one_is_one_document(self, tmp_path: Path) -> None:
        path = write(tmp_path, {"log": self.untimed(20_000)})
        assert [len(chat.messages) for chat in read_conversations(path)] == [20_000]

    def test_a_long_one_is_cut(self, tmp_path: Path) -> None:
        path = write(tmp_path, {"log": self.untimed(250_000)})
        (log,) = find_logs(path)
        found = [(document.name, len(document.records)) for document in log.documents(Report())]
        assert found == [("log", 100_000), ("log part 2", 100_000), ("log part 3", 50_000)]

    def test_memory_does_not_grow_with_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(readers, "_MAX_RECORDS", 1_000)
        peaks = []
        for count in (3_000, 30_000):
            path = write(tmp_path / str(count), {"log.gz": gzip.compress(self.untimed(count))})
            peaks.append(peak(partial(deque, read_conversations(path), 0)))
        assert peaks[1] < 1.5 * peaks[0], peaks

    def test_so_does_a_log_of_long_messages(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(readers, "_MAX_SIZE", 1_000)
        lines = [json.dumps({"speaker": "ada", "text": "x" * 600}) for _ in range(6)]
        path = write(tmp_path, {"log": "\n".join(lines).encode()})
        assert [len(chat.messages) for chat in read_conversations(path)] == [2, 2, 2]

    def test_messages_are_not_cut(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(readers, "_MAX_RECORDS", 3)
        path = write(tmp_path, {"chat.txt": f"{_DAY}one\ntwo\nthree\nfour\nfive\n{_DAY}six\n".encode()})
        assert [[message.text for message in chat] for chat in read_conversations(path, days=True)] == [
            ["one\ntwo\nthree\nfour\nfive"],
            ["six"],
        ]


def long_names() -> Iterator[tuple[str, dict[str, bytes]]]:
    name, times = "n" * 200_000, 20_000
    user = [{"id": "U1", "name": name}]
    message = slack_message("1717142400.000000", "U2", "<@U1>" * times)
    yield "slack", slack({"general/2024-05-31": [message]}, users=user)
    mentioned = {"m.mentions": {"user_ids": ["@ada:a"] * times}}
    member = matrix_event(
        1, "ada", {"membership": "join", "displayname": name}, type="m.room.member", state_key="@ada:a"
    )
    yield "matrix", {"room.json": matrix([member, matrix_event(2, "bob", matrix_text("hi", **mentioned))])}
    people = [discord_person(1, name)]
    yield "discord", {"a.json": discord([discord_message(1, _ADA, "<@1>" * times, mentions=people)])}


@pytest.mark.parametrize(("format", "files"), list(long_names()), ids=["slack", "matrix", "discord"])
def test_a_long_name_that_is_mentioned_often(format: str, files: dict[str, bytes], tmp_path: Path) -> None:
    path = write(tmp_path, files)
    assert peak(lambda: list(read_messages(path, format=format))) < 60_000_000


def test_a_name_in_an_archive_that_is_no_text(tmp_path: Path) -> None:
    archive = zipped({"é.txt": b"[10:00] <ada> hi\n"})
    (tmp_path / "log.zip").write_bytes(archive.replace("é".encode(), b"\xb8\xb8", 1))
    with pytest.raises(LogError, match="none of its 1 files is a chat log"):
        list(read_messages(tmp_path / "log.zip"))
