"""Finding the logs at a path, and their formats."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from tests.readers.exports import long_slack, write, zipped
from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.readers import READERS, Report, find_logs, read_conversations, read_messages, reader_class
from towhom.readers.base import Folder, Source

IRC = b"[10:00] <ada> hi\n[10:01] <bob> ada: hello\n"
JSONL = b'{"speaker": "ada", "text": "[10:00] <bob> hi"}\n'


def test_a_named_format_is_taken_at_its_word(tmp_path: Path) -> None:
    path = write(tmp_path, {"log": JSONL})
    report = Report()
    assert list(read_messages(path, format="irc", report=report)) == []
    assert report.malformed == 1


def test_there_is_no_such_format(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"pigeon: there is no format of this name; known are jsonl, slack"):
        find_logs(write(tmp_path, {"log": IRC}), format="pigeon")
    with pytest.raises(LogError, match="there is no format"):
        reader_class("pigeon")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (b"\x89PNG\0\0", "this is a binary file, not a chat log"),
        (b"Dear diary,\n", r"no log in a known format; tried jsonl, .*irc.* If it is one of these, name it"),
        (b'{"a": 1}', "no log in a known format"),
        (b"[1, 2", "no log in a known format"),
        (gzip.compress(IRC * 99, mtime=0)[:-20], "the archive is truncated or damaged"),
        (lzma.compress(IRC * 99)[:-20], "the archive is truncated or damaged"),
        (bz2.compress(IRC * 99)[:-20], "the archive is truncated or damaged"),
        (b"\x1f\x8b\x08nonsense", "the archive is truncated or damaged"),
        (zipped({"log": IRC})[:-20], "the zip archive is truncated or damaged"),
        (zipped({}), "none of its 0 files is a chat log"),
    ],
)
def test_what_is_no_log(content: bytes, reason: str, tmp_path: Path) -> None:
    path = write(tmp_path, {"thing": content})
    with pytest.raises(LogError, match=rf"thing: {reason}"):
        find_logs(path)


def test_an_archive_that_ends_later(tmp_path: Path) -> None:
    lines = b"".join(b"[10:00] <ada> %d\n" % (number * 7919 % 99991) for number in range(60_000))
    path = write(tmp_path, {"log.gz": gzip.compress(lines)[:-40_000]})
    read = 0
    with pytest.raises(LogError, match=r"log.gz: the archive is truncated or damaged after [\d,]+ lines"):  # noqa: PT012
        for _ in read_messages(path):
            read += 1
    assert read > 10_000


def test_there_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"nowhere: there is no such file or folder"):
        find_logs(tmp_path / "nowhere")
    with pytest.raises(LogError, match=r"gone: cannot be opened: No such file"):
        Source("gone", (tmp_path / "gone").open).open()  # type: ignore[arg-type]


def test_a_folder_of_logs(tmp_path: Path) -> None:
    files = {
        "a.log": IRC,
        "deep/b.jsonl": JSONL,
        "notes.txt": b"Dear diary",
        ".hidden": b"",
        "__MACOSX/x": b"",
    }
    report = Report()
    logs = find_logs(write(tmp_path / "logs", files), report=report)
    assert [(log.source.name, log.reader.name) for log in logs] == [
        ("logs/a.log", "irc"),
        ("logs/deep/b.jsonl", "jsonl"),
    ]
    assert len(report.skipped_files) == 1
    assert report.skipped_files[0].startswith("logs/notes.txt: no log in a known format")


def test_a_folder_without_logs(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"none of its 2 files is a chat log in a known format \(jsonl, slack"):
        find_logs(write(tmp_path, {"notes.txt": b"Dear diary", "b": b""}))


def test_a_damaged_file_in_a_zip_archive(tmp_path: Path) -> None:
    content = bytearray(zipped({"log.txt": IRC * 99}))
    content[50] ^= 255
    with pytest.raises(LogError, match=r"none of its 1 files"):
        find_logs(write(tmp_path, {"logs.zip": bytes(content)}))


def test_a_zip_archive_with_odd_names(tmp_path: Path) -> None:
    path = write(tmp_path, {"logs.zip": zipped({"empty/": b"", "a.log": IRC}).replace(b"a.log", b"\0.log")})
    with pytest.raises(LogError, match=r"logs.zip: none of its 0 files is a chat log"):
        find_logs(path)


def test_an_encrypted_zip_archive(tmp_path: Path) -> None:
    content = bytearray(zipped(long_slack(3)))
    for header, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(header)
        while start >= 0:
            content[start + place] |= 1
            start = content.find(header, start + 1)
    path = write(tmp_path, {"acme.zip": bytes(content)})
    with pytest.raises(LogError, match=r"acme.zip/.*: cannot be unpacked: .*encrypted"):
        list(read_messages(path))


def test_several_paths(tmp_path: Path) -> None:
    write(tmp_path, {"a": IRC, "b": JSONL})
    assert [log.reader.name for log in find_logs(tmp_path / "a", tmp_path / "b")] == ["irc", "jsonl"]


class Stdin(NamedTuple):
    buffer: io.BytesIO


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_standard_input(pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Stdin(io.BytesIO(pack(IRC))))
    chats = list(read_conversations("-"))
    assert [(chat.name, [message.addressee for message in chat]) for chat in chats] == [
        ("standard input", [None, "ada"])
    ]


def test_conversations_of_some_kinds(tmp_path: Path) -> None:
    path = write(tmp_path, {"log": IRC + b"[10:02]  * ada waves\n=== eve has joined\n"})
    chats = list(read_conversations(path, kinds=[Kind.ACTION]))
    assert [[message.text for message in chat] for chat in chats] == [["waves"]]
    assert list(read_conversations(path, kinds=[Kind.RENAME])) == []


def test_ignoring_case_and_following_renames(tmp_path: Path) -> None:
    renamed = b"[10:00] <ada> hi\n=== ada is now known as lovelace\n"
    path = write(tmp_path, {"log": renamed + b"[10:01] <bob> lovelace: hm\n[10:02] <bob> ADA: hm\n"})

    def addressees(**options: bool) -> list[str | None]:
        chat = next(
            read_conversations(path, ignore_case="case" in options, follow_renames="renames" in options)
        )
        return [message.addressee for message in chat]

    assert addressees() == [None, None, None]
    assert addressees(case=True) == [None, None, "ada"]
    assert addressees(renames=True) == [None, "ada", None]


def test_names_of_several_words(tmp_path: Path) -> None:
    log = b'{"speaker": "Ada L.", "text": "hi"}\n{"speaker": "bob", "text": "Ada L.: hm"}\n'
    chat = next(read_conversations(write(tmp_path, {"log": log})))
    assert chat[1] == Message("bob", "hm", "Ada L.")


def test_reports_are_added_up() -> None:
    report, other = Report(), Report(malformed=2, redecoded=1, problems=["x"] * 30, skipped_files=["y"])
    other.kinds[Kind.MESSAGE] = 3
    report.skip("bad", file="a", record=0)
    report.add(other)
    assert (report.malformed, report.redecoded, report.kinds.total()) == (3, 1, 3)
    assert report.problems == ["a:1: bad", *["x"] * 19]
    assert report.skipped_files == ["y"]


def test_only_the_first_problems_are_kept() -> None:
    report = Report()
    for number in range(100):
        report.skip("bad", file="a", record=number)
    assert (report.malformed, len(report.problems)) == (100, 20)


@pytest.mark.parametrize("format", READERS)
def test_no_reader_but_slacks_reads_a_folder_as_one(format: str, tmp_path: Path) -> None:
    folder = Folder.of(write(tmp_path, {"a": IRC, "b": IRC}))
    cls = reader_class(format)
    assert not cls.sniff(folder)
    assert list(cls.configure(folder).records(folder, Report())) == []


def test_the_heads_of_many_files_are_not_kept(tmp_path: Path) -> None:
    """A folder may hold a hundred thousand logs."""
    for day in range(1, 4):
        (tmp_path / f"2024-05-0{day}.txt").write_text("[10:00] <ada> hello there\n" * 100)
    logs = find_logs(tmp_path)
    assert len(logs) == 3
    for log in logs:
        assert isinstance(log.source, Source)
        assert not {"head", "head_lines"} & set(vars(log.source))


def test_every_format_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs/exports.md").read_text()
    assert [name for name in READERS if f"| `{name}` |" not in guide] == []


class TestTar:
    @staticmethod
    def archive(path: Path, files: dict[str, bytes], mode: Literal["w", "w:gz"] = "w") -> Path:
        with tarfile.open(path, mode) as archive:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return path

    def test_its_files_are_read(self, tmp_path: Path) -> None:
        files = {"./b.txt": b"<bob> ho\n<bob> hey\n", "a/a.txt": b"<ada> hi\n", ".hidden": b"<eve> x\n"}
        path = self.archive(tmp_path / "logs.tar", files)
        assert [message.text for message in read_messages(path)] == ["hi", "ho", "hey"]
        assert list(read_messages(path)) == list(read_messages(path))

    def test_an_export_in_one(self, tmp_path: Path) -> None:
        path = self.archive(tmp_path / "export.tar", long_slack(20))
        assert [log.reader.name for log in find_logs(path)] == ["slack"]
        assert len(list(read_messages(path))) == 20

    def test_a_packed_one_is_to_be_unpacked(self, tmp_path: Path) -> None:
        path = self.archive(tmp_path / "logs.tar.gz", {"a.txt": b"<ada> hi\n"}, "w:gz")
        with pytest.raises(LogError, match="this is a packed tar archive; unpack it, and give the folder"):
            find_logs(path)

    def test_a_damaged_one(self, tmp_path: Path) -> None:
        path = self.archive(tmp_path / "logs.tar", {"a.txt": b"<ada> hi\n" * 1000})
        whole = path.read_bytes()
        for size in (300, 600, 5000):
            path.write_bytes(whole[:size])
            with pytest.raises(LogError, match="truncated or damaged"):
                list(read_messages(path))
