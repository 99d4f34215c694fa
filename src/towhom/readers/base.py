"""The base class of readers, the sources they read from, and the report of a reading."""

from __future__ import annotations

import codecs
import hashlib
import io
import struct
import sys
import tarfile
import zipfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.files import DAMAGED, decompressed, decompressed_lzma

Record = tuple[int, Any]
"""Position in the source (line or record, from 0), and the raw line (bytes) or JSON value."""

HEAD_BYTES = 1 << 16
MAX_MESSAGE = 4 << 20
"""Most bytes of a line, or of a message in JSON. No platform takes messages of more than 64 kB; the rest is
for what exports add to them. Anything longer is not chat, and is never held in memory."""
_TAR_MAGIC = 257, b"ustar"
"""Offset and value of the magic bytes of a tar archive."""
PARQUET = b"PAR1"
"""The first bytes of a Parquet file, the only binary format that is read."""
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MEMBER_HEADER = struct.Struct("<26xHH")
"""Header of a file in a zip archive; read for the lengths of the name and of the extra field after it."""
_MEMBER_MAGIC = b"PK\x03\x04"
_LZMA_PROPERTIES = 5
"""Number of bytes; a version and this length come before them."""
_ENCRYPTED, _HAS_END = 1, 2
"""Flags of a file in a zip archive; the second applies to files compressed with LZMA."""
_UNKNOWN = 2**64 - 1
"""Size given for LZMA content that ends with an end marker."""
_MAX_FILES = 1_000_000
"""Most files in a zip or tar archive."""
_SHOWN_PROBLEMS = 20
_SHOWN_REASON = 300


@dataclass
class Report:
    """Result of a reading: the number of lines of each kind, and the problems found.

    Args:
        strict: Whether the first malformed line stops the reading with a `LogError`.
    """

    strict: bool = False
    kinds: Counter[Kind] = field(default_factory=Counter)
    malformed: int = 0
    redecoded: int = 0
    """Lines that were not UTF-8 and were read as Windows-1252."""
    problems: list[str] = field(default_factory=list)
    """The first few malformed lines: file, line, reason."""
    skipped_files: list[str] = field(default_factory=list)
    """Files of a folder that are not logs in a known format."""
    assumptions: list[str] = field(default_factory=list)
    """What readers assumed about a file and how sure they are: the file name, then the assumption."""

    def skip(self, reason: str, *, file: str, record: int) -> None:
        """Count a malformed line, or raise a `LogError` if strict."""
        reason = reason if len(reason) <= _SHOWN_REASON else reason[:_SHOWN_REASON] + "…"
        error = LogError(reason, file=file, line=record + 1)
        if self.strict:
            raise error
        self.malformed += 1
        if len(self.problems) < _SHOWN_PROBLEMS:
            self.problems.append(str(error))

    def decode(self, raw: bytes) -> str:
        """Text of a line: UTF-8, else Windows-1252, as older IRC clients wrote it; the latter is counted."""
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.redecoded += 1
            return decode(raw)

    def add(self, other: Report) -> None:
        """Add the report of another part of the same reading to this one."""
        self.kinds.update(other.kinds)
        self.malformed += other.malformed
        self.redecoded += other.redecoded
        self.problems = (self.problems + other.problems)[:_SHOWN_PROBLEMS]
        self.skipped_files += other.skipped_files
        self.assumptions += other.assumptions


def decode(raw: bytes) -> str:
    """Text of a line: UTF-8, else Windows-1252."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


class Source:
    """A file to read from: on disk, in an archive, or standard input; decompressed if necessary."""

    def __init__(self, name: str, opener: Callable[[], BinaryIO], *, once: bool = False) -> None:
        self.name = name
        self._opener = opener
        self._once = once
        self._raw: BinaryIO | None = None

    def open(self) -> BinaryIO:
        """Open the decompressed content.

        Raises:
            LogError: The file is missing, unreadable or cannot be unpacked, or is a pipe already read.
        """
        if self._once and self.opened:
            raise self._read_already()
        try:
            self._raw = self._opener()
            return decompressed(self._raw)
        except (*DAMAGED, UnicodeDecodeError) as error:  # the second, for names in a zip archive
            raise self.damaged(error) from error
        except RuntimeError as error:  # a file in a zip archive that is encrypted, or packed in a new way
            raise LogError(f"cannot be unpacked: {error}", file=self.name) from error
        except OSError as error:
            raise LogError(f"cannot be opened: {error.strerror or error}", file=self.name) from error

    def digest(self) -> tuple[int, str]:
        """Size and SHA-256 of the file as stored on disk.

        Raises:
            LogError: It is a pipe, which can be read only once.
        """
        if self._once:
            raise self._read_already()
        digest = hashlib.sha256()
        size = 0
        with self._opener() as raw:
            while piece := raw.read(1 << 20):
                digest.update(piece)
                size += len(piece)
        return size, digest.hexdigest()

    @cached_property
    def size(self) -> int:
        """Size in bytes of the file as stored on disk."""
        return self.digest()[0]

    @property
    def opened(self) -> bool:
        """Whether the source has been opened yet."""
        return self._raw is not None

    @property
    def position(self) -> int:
        """Approximate number of stored bytes read so far."""
        return self.size if self._raw is None or self._raw.closed else self._raw.tell()

    @cached_property
    def head(self) -> bytes:
        """The first 64 kB of the content."""
        with self.open() as stream:
            try:
                return stream.read(HEAD_BYTES)
            except (*DAMAGED, OSError) as error:
                raise self.damaged(error) from error

    @cached_property
    def head_text(self) -> bytes:
        """The head as UTF-8, without a byte order mark."""
        encoding = wide_encoding(self.head)
        if encoding is None:
            return self.head.removeprefix(codecs.BOM_UTF8)
        return self.head.decode(encoding, errors="replace").removeprefix("\ufeff").encode()

    @cached_property
    def head_lines(self) -> list[bytes]:
        """The first lines that are not blank, at most 200, without a last line that was cut off."""
        lines = self.head_text.split(b"\n")
        if len(self.head) >= HEAD_BYTES and len(lines) > 1:
            lines.pop()
        return [line.rstrip(b"\r") for line in lines if line.strip()][:200]

    def forget_head(self) -> None:
        """Free the memory of the head once the format is known: there may be thousands of files."""
        for name in ("head", "head_text", "head_lines"):
            self.__dict__.pop(name, None)

    def lines(self) -> Iterator[Record]:
        """The lines of a text file with their numbers, without line endings.

        Raises:
            LogError: The archive is truncated or damaged; the lines before that point have been yielded.
        """
        number = -1
        with self.open() as stream:
            try:
                for number, line in enumerate(_as_utf8(stream)):
                    if len(line) > MAX_MESSAGE:
                        raise self.too_long("line", line=number + 1)
                    yield number, line.rstrip(b"\r\n")
            except (*DAMAGED, OSError) as error:
                raise self.damaged(error, line=number + 1) from error

    def damaged(self, error: Exception, line: int | None = None) -> LogError:
        """The error for an archive that cannot be read to the end."""
        read = "" if line is None else f" after {line:,} lines"
        reason = f"the archive is truncated or damaged{read} ({error}); unpack it again or fetch it again"
        return LogError(reason, file=self.name)

    def _read_already(self) -> LogError:
        return LogError(
            "this is not a file and can be read only once; save it to a file first", file=self.name
        )

    def too_long(self, what: str, line: int) -> LogError:
        """The error for a line or a message that is too long to be read."""
        reason = f"a {what} of more than {MAX_MESSAGE >> 20} MB: no chat log, or one without line ends"
        return LogError(reason, file=self.name, line=line)

    def check(self) -> None:
        """Reject a file that cannot be a log in any format.

        Raises:
            LogError: The file is empty or binary.
        """
        head = self.head
        if not head.strip():
            raise LogError("the file is empty", file=self.name)
        if _is_tar(head):
            raise LogError("this is a packed tar archive; unpack it, and give the folder", file=self.name)
        if b"\0" in head and wide_encoding(head) is None and not head.startswith(PARQUET):
            raise LogError("this is a binary file, not a chat log", file=self.name)


def wide_encoding(head: bytes) -> str | None:
    """The encoding of a UTF-16 or UTF-32 text, by its byte order mark or its many zero bytes; else None."""
    for mark, encoding in _WIDE_MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[: len(head) // 2 * 2][:1000]
    zeros = sample[::2].count(0), sample[1::2].count(0)
    if len(sample) < 8 or max(zeros) * 5 < len(sample) * 2 or min(zeros) * 20 > len(sample):
        return None
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def utf8_stream(stream: BinaryIO) -> BinaryIO:
    """A text recoded as UTF-8 without a byte order mark: some phones and shells write UTF-16."""
    if not isinstance(stream, io.BufferedReader):
        stream = io.BufferedReader(stream)  # type: ignore[type-var]
    start = stream.peek(1000)[:1000]
    encoding = wide_encoding(start)
    if encoding is not None:
        return io.BufferedReader(_Recoded(stream, encoding), HEAD_BYTES)
    if start.startswith(codecs.BOM_UTF8):
        stream.read(3)
    return stream


class _Recoded(io.RawIOBase):
    """A stream in another encoding, recoded as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder(encoding)(errors="replace").decode
        self._left = b""
        self._started = False

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the rest of the last piece, or the next one."""
        while not self._left:
            piece = self._stream.read(HEAD_BYTES)
            text = self._decode(piece, final=not piece)
            if text and not self._started:
                self._started, text = True, text.removeprefix("\ufeff")
            self._left = text.encode("utf-8", errors="replace")
            if not piece:
                break
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    def close(self) -> None:
        """Close the stream."""
        super().close()
        self._stream.close()


def _as_utf8(stream: BinaryIO) -> Iterable[bytes]:
    """Lines in UTF-8, without a byte order mark."""
    # One byte more than the limit: a line that is too long is noticed, but never held in memory as a whole.
    return iter(partial(utf8_stream(stream).readline, MAX_MESSAGE + 1), b"")


@dataclass(frozen=True)
class Folder:
    """A folder, or a zip or tar archive, whose files belong together."""

    name: str
    files: tuple[Source, ...]

    @classmethod
    def of(cls, path: Path) -> Folder:
        """All files below a folder or in a zip or tar archive, sorted by name, except hidden ones."""
        name = path.name or str(path)
        if path.is_dir():
            paths = sorted(file for file in path.rglob("*") if file.is_file())
            found = [(file.relative_to(path).as_posix(), _file_opener(file)) for file in paths]
        elif is_tar(path):
            found = sorted(_tar_members(path), key=lambda member: member[0])
        else:
            try:
                # Stays open as long as its files are needed: opening it for each of them would read the
                # directory of a large archive thousands of times.
                archive = zipfile.ZipFile(path)
            except (*DAMAGED, OSError, NotImplementedError, ValueError) as error:
                reason = f"the zip archive is truncated or damaged ({error}); fetch it again"
                raise LogError(reason, file=str(path)) from error
            if len(archive.infolist()) > _MAX_FILES:
                raise LogError(f"the zip archive holds more than {_MAX_FILES:,} files", file=str(path))
            members = sorted(name for name in archive.namelist() if name and not name.endswith("/"))
            found = [(member, _member_opener(archive, member)) for member in members]
        shown = [(inner, opener) for inner, opener in found if not _hidden(inner)]
        return cls(name, tuple(Source(f"{name}/{inner}", opener) for inner, opener in shown))

    def digest(self) -> tuple[int, str]:
        """Total size of all files, and a SHA-256 of their names and contents."""
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(f"{self.inner(file)} {file.digest()[1]}\n".encode("utf-8", "replace"))
        return self.size, digest.hexdigest()

    @property
    def size(self) -> int:
        """Total size of all files in bytes."""
        return sum(file.size for file in self.files)

    @property
    def position(self) -> int:
        """Approximate number of bytes read so far."""
        return sum(file.position for file in self.files if file.opened)

    @cached_property
    def by_name(self) -> dict[str, Source]:
        """The files by name."""
        return {file.name: file for file in self.files}

    def beside(self, source: Source, name: str) -> Source | None:
        """The file with this name in the same folder as `source`, if there is one."""
        return self.by_name.get(f"{source.name.rpartition('/')[0]}/{name}")

    def inner(self, source: Source) -> str:
        """A file's path inside the folder."""
        return source.name.removeprefix(f"{self.name}/")


def _hidden(path: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in path.split("/"))


def _file_opener(path: Path) -> Callable[[], BinaryIO]:
    return lambda: path.open("rb")


def _member_opener(archive: zipfile.ZipFile, member: str) -> Callable[[], BinaryIO]:
    info = archive.getinfo(member)
    if info.compress_type in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA) and not info.flag_bits & _ENCRYPTED:
        return partial(_open_member, Path(str(archive.filename)), info)
    return lambda: archive.open(member)  # type: ignore[return-value]


def _open_member(path: Path, info: zipfile.ZipInfo) -> BinaryIO:
    """Open a file in a zip archive that is compressed with bzip2 or LZMA.

    `zipfile` decompresses all the bytes that it reads at once, and a few hostile bytes can become gigabytes.
    """
    with path.open("rb") as file:
        file.seek(info.header_offset)
        header = file.read(_MEMBER_HEADER.size)
    if len(header) < _MEMBER_HEADER.size or not header.startswith(_MEMBER_MAGIC):
        raise zipfile.BadZipFile("it has no header where it should begin")
    name, extra = _MEMBER_HEADER.unpack(header)
    packed = _Slice.opened(path, info.header_offset + len(header) + name + extra, info.compress_size)
    if info.compress_type == zipfile.ZIP_BZIP2:
        return decompressed(packed)
    properties = packed.read(4 + _LZMA_PROPERTIES)[4:]
    size = _UNKNOWN if info.flag_bits & _HAS_END else info.file_size
    return decompressed_lzma(packed, properties + size.to_bytes(8, "little"))


def is_tar(path: Path) -> bool:
    """Whether a file is an uncompressed tar archive."""
    with suppress(OSError), path.open("rb") as file:  # a file that cannot be opened is reported when read
        return _is_tar(file.read(_TAR_MAGIC[0] + len(_TAR_MAGIC[1])))
    return False


def _is_tar(head: bytes) -> bool:
    return head[_TAR_MAGIC[0] :].startswith(_TAR_MAGIC[1])


def _tar_members(path: Path) -> Iterator[tuple[str, Callable[[], BinaryIO]]]:
    """The files of a tar archive, each with a function that opens it."""
    count = 0
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                count += 1
                if count > _MAX_FILES:
                    raise LogError(f"the tar archive holds more than {_MAX_FILES:,} files", file=str(path))
                archive.members = []  # type: ignore[attr-defined]  # else it would keep every member
                if member.isreg() and not member.issparse():
                    name = member.name.removeprefix("./")
                    yield name, partial(_Slice.opened, path, member.offset_data, member.size)
    except (tarfile.TarError, OSError, ValueError) as error:
        reason = f"the tar archive is truncated or damaged ({error}); fetch it again"
        raise LogError(reason, file=str(path)) from error


class _Slice(io.RawIOBase):
    """A range of bytes of a file, such as one file inside an archive."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._left = file, start, size
        file.seek(start)

    @classmethod
    def opened(cls, path: Path, start: int, size: int) -> BinaryIO:
        """Open a range of bytes of a file for reading."""
        return io.BufferedReader(cls(path.open("rb"), start, size))

    def readable(self) -> bool:
        """Always true."""
        return True

    def tell(self) -> int:
        """Number of bytes of the range read so far."""
        return self._file.tell() - self._start

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes.

        Raises:
            EOFError: The file ends before the range does.
        """
        piece = self._file.read(min(len(buffer), self._left))
        if self._left and len(buffer) and not piece:
            raise EOFError("it ends too early")
        buffer[: len(piece)] = piece
        self._left -= len(piece)
        return len(piece)

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._file.close()


def file_source(path: Path) -> Source:
    """A file on disk, with the name that the user gave."""
    return Source(str(path), _file_opener(path))


def standard_input() -> Source:
    """Standard input as a source."""
    return stream_source("standard input", sys.stdin.buffer)


def stream_source(name: str, stream: BinaryIO) -> Source:
    """A stream that can be read only once: a pipe, a terminal, another device.

    Its head is what arrives first, up to at least one line end: the rest may be written much later.

    Raises:
        LogError: It is a zip archive, which is read from its end.
    """
    packed = _Begun(stream)
    if packed.head.startswith(_MEMBER_MAGIC):
        raise LogError("a zip archive cannot be read from a pipe; save it to a file first", file=name)
    try:
        content = _Begun(decompressed(packed))  # type: ignore[arg-type]
    except (*DAMAGED, OSError) as error:
        reason = f"the archive is truncated or damaged ({error}); pack it again or fetch it again"
        raise LogError(reason, file=name) from error
    source = Source(name, lambda: io.BufferedReader(content), once=True)
    source.head = content.head
    return source


class _Begun(io.RawIOBase):
    """A stream whose head has been read in advance, and is still returned with the rest."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        head = b""
        while b"\n" not in head and len(head) < HEAD_BYTES and (piece := stream.read1(HEAD_BYTES)):
            head += piece
        self.head = head
        self._left = head

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the rest of the head, then the rest of the stream."""
        piece = self._left[: len(buffer)] or self._stream.read1(len(buffer))
        self._left = self._left[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Close the stream."""
        super().close()
        self._stream.close()


class Reader(ABC):
    """One log format. An instance is configured for one source; it is small and can be pickled.

    Reading has two steps, so that the second, which is slower, can run in other processes: `records`
    splits the source into raw lines or JSON values, and `parse` turns them into messages. Between the two,
    records are cut into documents (a day of a channel) wherever `key` changes; `parse` keeps no state across
    documents.
    """

    name: ClassVar[str]
    """The format's name, as users give it."""
    title: ClassVar[str]
    """A description of the format for people."""
    counts_by_room: ClassVar[bool] = False
    """Whether message ids may start over in every room."""

    @classmethod
    @abstractmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Whether the source looks like this format."""

    @classmethod
    def explain(cls, source: Source) -> str | None:
        """What was found in a source that resembles this format without being in it; None if nothing."""
        return None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """A reader for this source, configured by what its beginning shows."""
        return cls()

    @classmethod
    def from_options(cls, source: Source | Folder, options: str) -> Self:
        """A reader for this source, configured by the user's options.

        Raises:
            LogError: The format takes no options, or not these.
        """
        raise LogError(f"the format {cls.name} takes no options, but {options!r} was given", file=source.name)

    @property
    def options(self) -> str:
        """The options with which `from_options` makes a reader like this one; empty if it takes none."""
        return ""

    @property
    def assumption(self) -> str | None:
        """What the reader assumes about its source without being sure; None if nothing."""
        return None

    @abstractmethod
    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield the raw lines or JSON values of the source, one at a time."""

    @abstractmethod
    def key(self, record: Record) -> str | None:
        """The document (channel, day) that a record belongs to; None if the same as the record before."""

    def begins(self, record: Record) -> bool:
        """Whether the record begins a message, so that a document can be cut before it."""
        return True

    def place(self, value: Any, file: str) -> str:
        """The file that a raw line or JSON value comes from: one file of a folder, or the log itself."""
        return file

    @abstractmethod
    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """Yield the lines of one document, of every kind; count them and malformed lines in the report."""
