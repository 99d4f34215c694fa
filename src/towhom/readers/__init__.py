r"""Readers that turn chat logs into messages, one module for each format; `READERS` lists them.

>>> from pathlib import Path
>>> import tempfile
>>> log = Path(tempfile.mkdtemp()) / "2024-05-31.txt"
>>> _ = log.write_text("[10:00] <ada> is it merged?\n[10:01] <grace> ada: since noon\n")
>>> for conversation in read_conversations(log):
...     print(conversation.messages[1])
Message('grace', 'since noon', addressee='ada', time=datetime.datetime(2024, 5, 31, 10, 1), line=1)
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from towhom.chat import Conversation, Kind, Message
from towhom.errors import LogError
from towhom.hearing.protocol import resolve_addressees
from towhom.places import Place, is_address
from towhom.plugins import is_target, load_class, registered
from towhom.readers.base import (
    Folder,
    Reader,
    Record,
    Report,
    Source,
    file_source,
    is_tar,
    standard_input,
    stream_source,
)
from towhom.readers.identity import Located, export_names, locate_messages, named
from towhom.readers.remote import remote_folder, remote_source

__all__ = [
    "GROUP",
    "READERS",
    "Document",
    "Located",
    "Log",
    "Reader",
    "Report",
    "find_logs",
    "is_export",
    "locate",
    "locate_messages",
    "read_conversations",
    "read_messages",
    "read_rooms",
    "reader_class",
    "readers",
]

GROUP = "towhom.readers"
"""Entry point group for readers of other packages: `name = "module:Class"`, with the format's name."""

READERS = {
    # Tried in this order: formats that are easiest to recognize by their first lines come first.
    "jsonl": "towhom.readers.jsonl:JsonLines",
    "slack": "towhom.readers.slack:Slack",
    "discord": "towhom.readers.discord:Discord",
    "telegram": "towhom.readers.telegram:Telegram",
    "matrix": "towhom.readers.matrix:Matrix",
    "facebook": "towhom.readers.facebook:Facebook",
    "google-chat": "towhom.readers.google_chat:GoogleChat",
    "hangouts": "towhom.readers.hangouts:Hangouts",
    "zulip": "towhom.readers.zulip:Zulip",
    "mattermost": "towhom.readers.mattermost:Mattermost",
    "rocketchat": "towhom.readers.rocketchat:RocketChat",
    "teams": "towhom.readers.teams:Teams",
    "gitter": "towhom.readers.gitter:Gitter",
    "signal": "towhom.readers.signal:Signal",
    "discord-package": "towhom.readers.discord_package:DiscordPackage",
    "whisper": "towhom.readers.whisper:Whisper",
    "subtitles": "towhom.readers.subtitles:Subtitles",
    "html": "towhom.readers.html:Pages",
    "xmpp": "towhom.readers.xmpp:Xmpp",
    "reference": "towhom.readers.reference:Reference",
    "irc": "towhom.readers.irc:Irc",
    "whatsapp": "towhom.readers.whatsapp:WhatsApp",
    "table": "towhom.readers.table:Table",
    "pattern": "towhom.readers.pattern:Pattern",
}
"""Format name -> its reader, for the formats of this package; imported on first use."""
_GENERAL = ("table", "pattern")
"""Formats so general that logs in other formats can look like them."""

_MAX_RECORDS = 100_000
"""Most records in a document: several times as many as on the busiest days of the largest channels."""
_MAX_SIZE = 16 << 20
"""Most characters in a document's raw lines; far more than ordinary logs have."""


@dataclass(frozen=True)
class Document:
    """The raw lines of one document (a day of a channel) and the reader that parses them.

    A document can be sent to another process; `messages` is a pure function of it.
    """

    name: str
    file: str
    reader: Reader
    records: tuple[Record, ...]

    def messages(self, report: Report) -> Iterator[Message]:
        """Lines of every kind, in order."""
        return self.reader.parse(self.records, report, self.file)


@dataclass(frozen=True)
class Log:
    """A source and the reader for it.

    Args:
        source: The file or export to read.
        reader: The reader that parses it.
        folder: The folder or archive of logs in which the source was found; None if it was given directly.
    """

    source: Source | Folder
    reader: Reader
    folder: str | None = None

    def messages(self, report: Report) -> Iterator[Message]:
        """Lines of every kind, one at a time, whatever the size of the log."""
        with closing(self._cut(report)) as documents:
            for _, records in documents:
                yield from self.reader.parse(records, report, self.source.name)

    def files(self, report: Report) -> Generator[tuple[str, Iterator[Message]], None, None]:
        """Lines of every kind in order, in runs of lines of one file, each with the name of that file."""
        name, place = self.source.name, self.reader.place
        with closing(self._cut(report)) as documents:
            for _, records in documents:
                for file, part in groupby(records, lambda record: place(record[1], name)):
                    yield file, self.reader.parse(part, report, name)

    def documents(self, report: Report) -> Generator[Document, None, None]:
        """The log cut into documents: one for each day of a channel, or the whole file if it has no dates.

        A document that is longer than any day of a channel, as a log without dates can be, is cut into parts.
        """
        base = Path(self.source.name).name if isinstance(self.source, Source) else self.source.name
        with closing(self._cut(report)) as documents:
            for name, records in documents:
                full_name = base if name is None else f"{base} {name}"
                for number, part in enumerate(self._parts(records), start=1):
                    part_name = full_name if number == 1 else f"{full_name} part {number}"
                    yield Document(part_name, self.source.name, self.reader, part)

    def _parts(self, records: Iterable[Record]) -> Iterator[tuple[Record, ...]]:
        """Cut the records of a document into parts that fit into memory."""
        part: list[Record] = []
        size = 0
        for record in records:
            if (len(part) >= _MAX_RECORDS or size >= _MAX_SIZE) and self.reader.begins(record):
                yield tuple(part)
                part, size = [], 0
            part.append(record)
            size += _size(record[1])
        yield tuple(part)

    def _cut(self, report: Report) -> Generator[tuple[str | None, Iterator[Record]], None, None]:
        """Cut the records into documents as they are read; yield each document's key and records."""
        key: str | None = None

        def current(record: Record) -> str | None:
            nonlocal key
            key = self.reader.key(record) or key
            return key

        records = self.reader.records(self.source, report)
        try:
            # Lines before the first one with a key form a document of their own.
            yield from groupby(records, current)
        finally:  # if reading stops early, close the file now, not at garbage collection
            if isinstance(records, Generator):
                records.close()


def _size(value: Any) -> int:
    """Number of characters in a raw line or JSON value, however deeply nested."""
    size, left = 0, [value]
    while left:
        part = left.pop()
        if isinstance(part, bytes | str):
            size += len(part)
        elif isinstance(part, dict):
            left += part.values()
        elif isinstance(part, list | tuple):
            left += part
        else:
            size += 8
    return size


def readers() -> dict[str, str]:
    """Map the name of every format to its reader, as `module:Class`, in the order in which they are tried.

    Readers of other packages come before the general formats, and cannot replace a reader of this package.
    """
    specific = {name: target for name, target in READERS.items() if name not in _GENERAL}
    return {**specific, **{n: t for n, t in registered(GROUP).items() if n not in READERS}, **READERS}


def reader_class(name: str) -> type[Reader]:
    """The reader of a format, given by name or as `module:Class`; options may follow after a colon.

    Raises:
        LogError: There is no such format.
        PluginError: The reader of another package cannot be loaded.
    """
    known, _ = _split(name)
    target = readers().get(known, known if is_target(known) else None)
    if target is None:
        raise LogError(f"there is no format of this name; known are {', '.join(readers())}", file=known)
    return load_class(target, Reader, f"the format {known}")  # type: ignore[type-abstract]


def _split(format: str) -> tuple[str, str]:
    """A format's name, which may be `module:Class`, and its options."""
    name, _, options = format.partition(":")
    if name in READERS or name in registered(GROUP):
        return name, options
    attribute, _, rest = options.partition(":")
    target = f"{name}:{attribute}"
    return (target, rest) if is_target(target) else (name, options)


def find_logs(*paths: str | Path, format: str | None = None, report: Report | None = None) -> list[Log]:
    """Find the logs at some paths: one for a file or an export, several for a folder or archive of logs.

    Args:
        paths: Files, folders, zip archives, addresses (`s3://bucket/chat.jsonl`), or "-" for standard input.
        format: A name from `readers()`, or `module:Class`, which is imported; None to recognize it from the
            file. A table's columns and a text's pattern can be given after a colon:
            "table:speaker=from,text=body", "pattern:{speaker}: {text}".
        report: Records the files of a folder that are not logs, and what readers assume.

    Raises:
        LogError: A path cannot be read; the message names the file and what was tried.
    """
    report = Report() if report is None else report
    logs: list[Log] = []
    files: list[Source] = []
    addresses = [Place(str(path)) for path in paths if is_address(str(path))]
    for place in addresses:
        if place.is_folder():
            logs += _logs_in(remote_folder(place), format, report)
        else:
            files.append(remote_source(place))
    for path in (Path(path) for path in paths if not is_address(str(path))):
        if str(path) == "-":
            files.append(standard_input())
        elif not path.exists():
            raise LogError("there is no such file or folder", file=str(path))
        elif path.is_dir() or (path.is_file() and (_is_zip(path) or is_tar(path))):
            logs += _logs_in(Folder.of(path), format, report)
        else:
            files.append(file_source(path) if path.is_file() else _pipe(path))
    return logs + [_log(source, format, report) for source in _joined(files)]


def is_export(place: Place, format: str | None) -> bool:
    """Whether a folder is a single export, whose files belong together."""
    folder = Folder.of(place.path) if place.local else remote_folder(place)
    return _fitting(folder, format) is not None


def _logs_in(folder: Folder, format: str | None, report: Report) -> list[Log]:
    """The logs of a folder: a single one if the folder is an export, else every log in it."""
    whole = _fitting(folder, format)
    if whole is not None:
        return [Log(folder, whole.configure(folder))]
    logs = []
    for source in _joined(folder.files):
        try:
            logs.append(replace(_log(source, format, report), folder=folder.name))
        except LogError as error:
            report.skipped_files.append(str(error))
    if not logs:
        known = ", ".join(readers())
        reason = f"none of its {len(folder.files)} files is a chat log in a known format ({known})"
        raise LogError(reason, file=folder.name)
    return logs


def read_messages(
    path: str | Path, *, format: str | None = None, report: Report | None = None
) -> Iterator[Message]:
    """Yield every line of a log as it is read, in constant memory.

    Addressees are those that the platform marks (mentions, replies). A name in front of the text is left
    there, since it is not yet known who else will speak in the document: `read_conversations` resolves it.
    """
    report = Report() if report is None else report
    logs = find_logs(path, format=format, report=report)
    return chain.from_iterable(log.messages(report) for log in logs)


def locate(*paths: str | Path, format: str | None = None, report: Report | None = None) -> Iterator[Located]:
    """Yield every line of some logs as it is read, with its id, room, day and file, as in all outputs.

    Args:
        paths: Files, folders, zip archives, or "-" for standard input.
        format: A name from `readers()`; None to recognize it from the file.
        report: Counts lines read and lines left out, with the reasons; if strict, stops at the first problem.
    """
    report = Report() if report is None else report
    logs = [find_logs(path, format=format, report=report) for path in paths]
    return named(zip(export_names(paths), logs, strict=True), report)


def read_rooms(
    path: str | Path,
    *,
    format: str | None = None,
    report: Report | None = None,
    kinds: Iterable[Kind] = (Kind.MESSAGE,),
    ignore_case: bool = False,
    follow_renames: bool = False,
) -> Iterator[tuple[str, list[Located]]]:
    """Yield the name and messages of each room of a log, across all its days and files.

    For the arguments, see `read_conversations`. A room with too many messages for memory comes in parts.
    """
    kept = set(kinds)
    rooms: dict[str, list[Located]] = {}
    count = size = 0

    def take(room: str) -> tuple[str, list[Located]]:
        lines = rooms.pop(room)
        messages = resolve_addressees(
            (each.message for each in lines), ignore_case=ignore_case, follow_renames=follow_renames
        )
        pairs = zip(lines, messages, strict=True)
        return room, [replace(each, message=said) for each, said in pairs if said.kind in kept]

    for located in locate(path, format=format, report=report):
        rooms.setdefault(located.room, []).append(located)
        count += 1
        size += len(located.message.text)
        if count >= _MAX_RECORDS or size >= _MAX_SIZE:
            largest = max(rooms, key=lambda room: len(rooms[room]))
            count -= len(rooms[largest])
            size -= sum(len(each.message.text) for each in rooms[largest])
            yield take(largest)
    yield from (take(room) for room in list(rooms))


def read_conversations(
    path: str | Path,
    *,
    format: str | None = None,
    report: Report | None = None,
    kinds: Iterable[Kind] = (Kind.MESSAGE,),
    ignore_case: bool = False,
    follow_renames: bool = False,
    days: bool = False,
) -> Iterator[Conversation]:
    """Read the conversations of a log, one per room, with addressees.

    Args:
        path: A file, a folder, a zip archive, or "-" for standard input.
        format: A name from `readers()`; None to recognize it from the file.
        report: Counts lines read and lines left out, with the reasons; if strict, stops at the first problem.
        kinds: Kinds of lines to return.
        ignore_case: Whether names in front of a text match regardless of case.
        follow_renames: Whether people who change their names stay the same speaker.
        days: Whether each day of a room is a separate conversation, as in the paper's protocol.
    """
    report = Report() if report is None else report
    kept = tuple(kinds)
    if not days:
        rooms = read_rooms(
            path, format=format, report=report, kinds=kept, ignore_case=ignore_case,
            follow_renames=follow_renames,
        )  # fmt: skip
        for room, lines in rooms:
            if lines:
                yield Conversation(tuple(each.message for each in lines), room)
        return
    for log in find_logs(path, format=format, report=report):
        with closing(log.documents(report)) as documents:
            for document in documents:
                messages = resolve_addressees(
                    document.messages(report), ignore_case=ignore_case, follow_renames=follow_renames
                )
                conversation = Conversation(tuple(m for m in messages if m.kind in kept), document.name)
                if conversation.messages:
                    yield conversation


def _pipe(path: Path) -> Source:
    """A source for a path that is not a regular file, such as a pipe; opened here, since it is read once."""
    try:
        return stream_source(str(path), path.open("rb"))
    except OSError as error:
        raise LogError(f"cannot be opened: {error.strerror or error}", file=str(path)) from error


def _is_zip(path: Path) -> bool:
    if zipfile.is_zipfile(path):
        return True
    with suppress(OSError), path.open("rb") as file:  # a file that cannot be opened is reported when read
        return file.read(4) == b"PK\x03\x04"  # a truncated archive has lost the directory at its end
    return False


def _fitting(source: Source | Folder, format: str | None) -> type[Reader] | None:
    """The first reader that recognizes the source, or None."""
    names = readers() if format is None else [format]
    return next((cls for cls in map(reader_class, names) if cls.sniff(source)), None)


def _log(source: Source, format: str | None, report: Report) -> Log:
    try:
        source.check()
        # A format named by the user is not checked: sniffing is only for when none is named.
        cls = _fitting(source, None) if format is None else reader_class(format)
        if cls is None:
            tried = ", ".join(readers())
            found = (reader_class(name).explain(source) for name in readers())
            explained = "".join(f" ({text})" for text in found if text)
            reason = (
                f"no log in a known format{explained}; tried {tried}. If it is one of these, "
                "name it (--format); if its lines have a pattern of their own, tell it "
                "(--pattern '[{time}] <{speaker}> {text}'); "
                "if it is a table, name its columns (--columns speaker=NAME,text=NAME)"
            )
            raise LogError(reason, file=source.name)
        _, options = _split(format or "")
        reader = cls.from_options(source, options) if options else cls.configure(source)
        if reader.assumption:
            report.assumptions.append(f"{source.name}: {reader.assumption}")
        return Log(source, reader)
    finally:
        source.forget_head()


_PART = re.compile(r"(.*\.cand-\d+)\.\d+(\.\w+)?$")


def _joined(sources: Iterable[Source]) -> list[Source]:
    """Sources, with the parts of a published file (`x.cand-10.1.gz`, `x.cand-10.2.gz`) joined into one."""
    joined: list[Source] = []
    for _, group in groupby(sources, lambda s: found[1] if (found := _PART.match(s.name)) else s.name):
        parts = list(group)
        joined.append(parts[0] if len(parts) == 1 else _Joined(parts))
    return joined


class _Joined(Source):
    """Several files read as one."""

    def __init__(self, parts: list[Source]) -> None:
        super().__init__(parts[0].name, parts[0].open)
        self._parts = parts

    def digest(self) -> tuple[int, str]:
        """Total size of all parts, and a SHA-256 of their SHA-256s."""
        digests = [part.digest() for part in self._parts]
        joined = hashlib.sha256("".join(digest for _, digest in digests).encode())
        return sum(size for size, _ in digests), joined.hexdigest()

    @property
    def position(self) -> int:
        """Approximate number of bytes of the parts read so far."""
        return sum(part.position for part in self._parts if part.opened)

    def lines(self) -> Iterator[Record]:
        """The lines of all parts, numbered consecutively."""
        return enumerate(line for part in self._parts for _, line in part.lines())
