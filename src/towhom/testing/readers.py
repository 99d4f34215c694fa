"""The tests of readers: a subclass writes a log in its format and inherits them."""

from __future__ import annotations

import pickle
import tracemalloc
import zipfile
from pathlib import Path
from random import Random

from towhom.chat import Message
from towhom.errors import TowhomError
from towhom.readers import Report, find_logs, read_messages, reader_class
from towhom.readers.base import Folder, Source
from towhom.readers.links import Recent

_LINES = 400
_LITTER = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\r", b"\x1b[2J", b'"', b"{", b"]",
    b"null", b"<>", b"9" * 5000, b"a" * 70_000, b"[" * 20_000, b'{"a":' * 950,
)  # fmt: skip


class ReaderContract:
    """The tests."""

    format: str
    """The name of the format, as it is registered, or `module:Class`."""

    def write(self, folder: Path, lines: int) -> Path:
        """Write a log of about so many messages below a folder, over two days or more; returns its path."""
        raise NotImplementedError

    def test_it_says_what_it_is(self) -> None:
        """A reader has a name, a title and a docstring."""
        reader = reader_class(self.format)
        assert reader.name == self.format or ":" in self.format
        assert reader.title
        assert reader.__doc__

    def test_the_format_is_recognized(self, tmp_path: Path) -> None:
        """If the reader is registered, it recognizes its logs without the name of the format."""
        path = self.write(tmp_path, _LINES)
        if ":" in self.format:
            assert reader_class(self.format).sniff(self._source(path))
        else:
            assert [log.reader.name for log in find_logs(path)] == [self.format]

    def test_nothing_is_lost(self, tmp_path: Path) -> None:
        """Every line of a sound log is a message, or is counted as something else."""
        report = Report(strict=True)
        messages = messages_of(self.write(tmp_path, _LINES), self.format, report)
        assert len(messages) >= 0.95 * _LINES
        assert report.kinds.total() == len(messages)
        assert report.malformed == 0
        assert not report.skipped_files

    def test_streaming_equals_documents(self, tmp_path: Path) -> None:
        """A log read as it comes, and cut into days first, gives the same messages and counts."""
        path = self.write(tmp_path, _LINES)
        streamed, cut = Report(), Report()
        messages = messages_of(path, self.format, streamed)
        assert messages == messages_of_documents(path, self.format, cut)
        assert streamed == cut
        assert messages == list(read_messages(path, format=self.format))

    def test_documents_can_be_sent_to_other_processes(self, tmp_path: Path) -> None:
        """Readers and documents can be pickled, and readers are small."""
        for log in find_logs(self.write(tmp_path, _LINES), format=self.format):
            for document in log.documents(Report()):
                copy = pickle.loads(pickle.dumps(document))  # noqa: S301 - our own
                assert list(copy.messages(Report())) == list(document.messages(Report()))
            assert len(pickle.dumps(log.reader)) < 1000

    def test_a_zip_archive(self, tmp_path: Path) -> None:
        """A log in a zip archive is the same log."""
        path = self.write(tmp_path / "log", _LINES)
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
        root = path.parent if path.is_file() else path
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            for file in files:
                archive.write(file, file.relative_to(root).as_posix())
        packed = messages_of(tmp_path / "export.zip", self.format, Report())
        assert packed == messages_of(path, self.format, Report())

    def test_memory_does_not_grow_with_the_log(self, tmp_path: Path) -> None:
        """A log ten times as long takes about as much memory."""
        before = Recent.__init__.__defaults__
        # So that what is remembered of earlier messages is full in the shorter log already.
        Recent.__init__.__defaults__ = (100,)
        try:
            peaks = [self._peak(tmp_path / str(lines), lines) for lines in (500, 5_000)]
        finally:
            Recent.__init__.__defaults__ = before
        # The buffers, which the shorter log may not fill, the names of the files of an export, and a few
        # numbers of each message that is put in order; the messages themselves would be more than a million.
        assert peaks[1] < peaks[0] * 1.2 + 600_000, peaks

    def _peak(self, folder: Path, lines: int) -> int:
        path = self.write(folder, lines)
        next(read_messages(path, format=self.format))  # imports and compiled patterns do not count
        tracemalloc.start()
        try:
            assert sum(1 for _ in read_messages(path, format=self.format)) > 0.9 * lines
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def test_damaged_logs(self, tmp_path: Path) -> None:
        """Cut, garbled and littered logs are read, or refused with an error for people."""
        for seed in range(12):
            random = Random(seed)
            path = self.write(tmp_path / str(seed), 12)
            files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
            file = random.choice(files)
            file.write_bytes(_damaged(file.read_bytes(), random))
            assert_survives(path, self.format)

    def test_anything_else(self, tmp_path: Path) -> None:
        """Files that are no logs at all are refused with an error for people, or have no messages."""
        for number, content in enumerate((b"", b"\n", b"x", *_LITTER, Random(0).randbytes(400))):
            path = tmp_path / f"{number}.txt"
            path.write_bytes(content)
            assert_survives(path, self.format)

    def _source(self, path: Path) -> Source | Folder:
        return find_logs(path, format=self.format)[0].source


def _damaged(content: bytes, random: Random) -> bytes:
    """A file with its end cut off, some bytes changed, or something in it that belongs into no text."""
    place = random.randint(0, len(content))
    kind = random.randrange(3)
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + random.choice(_LITTER) + content[place:]
    changed = bytearray(content)
    for _ in range(5 if changed else 0):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def messages_of(path: Path, format: str | None, report: Report) -> list[Message]:
    """The messages of a log, as they come."""
    logs = find_logs(path, format=format, report=report)
    return [message for log in logs for message in log.messages(report)]


def messages_of_documents(path: Path, format: str | None, report: Report) -> list[Message]:
    """The messages of a log, which is cut into documents first."""
    logs = find_logs(path, format=format, report=report)
    return [message for log in logs for part in log.documents(report) for message in part.messages(report)]


def assert_survives(path: Path, format: str | None) -> None:
    """Make sure that both ways of reading give the same, and fail, if they do, with an error for people."""
    results: list[tuple[list[Message] | str, Report]] = []
    for read in (messages_of, messages_of_documents):
        report = Report()
        try:
            results.append((read(path, format, report), report))
        except TowhomError as error:
            results.append((str(error), report))
    assert results[0][0] == results[1][0]
    if isinstance(results[0][0], list):
        assert results[0][1] == results[1][1]
        assert results[0][1].kinds.total() == len(results[0][0])
        for message in results[0][0]:
            assert isinstance(message.speaker, str)
            assert isinstance(message.text, str)
            assert isinstance(message.addressee, str | None)
