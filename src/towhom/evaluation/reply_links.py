"""Logs with reply links annotated by people, which tell addressees even where nobody is named.

The format is that of Kummerfeld et al. (ACL 2019): next to `NAME.txt`, `NAME.links` has lines `A B -`, which
mean that line B answers line A (counted from 0); `A A -` means that A starts a conversation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.hearing.protocol import resolve_addressees
from towhom.readers import Report, find_logs

SUFFIX = ".links"
WARM_UP = 200
"""Number of lines before the first annotated one that are read as well: more than a session remembers."""
_NOT_SAID = (Kind.SYSTEM, Kind.RENAME, Kind.DAY)


@dataclass(frozen=True)
class LinkedLog:
    """A log and its links.

    Args:
        name: The log's name.
        lines: All lines, messages or not, as written: names in front are part of the texts.
        links: By line, the lines that it answers; the line itself if it starts a conversation.
    """

    name: str
    lines: tuple[Message, ...]
    links: dict[int, frozenset[int]]

    @cached_property
    def named(self) -> dict[int, str]:
        """By line, the person named in it, by the rule of the protocol."""
        resolved = resolve_addressees(self.lines)
        return {m.line: m.addressee for m in resolved if m.line is not None and m.addressee is not None}

    def messages(self, warm_up: int = WARM_UP) -> Iterator[tuple[int, Message]]:
        """The messages with their lines, from `warm_up` lines before the first annotated one."""
        first = min(self.truth, default=0) - warm_up
        for message in self.lines:
            if message.kind is Kind.MESSAGE and message.line is not None and message.line >= first:
                yield message.line, message

    @cached_property
    def truth(self) -> dict[int, frozenset[str | None]]:
        """By line of an annotated message, its addressees; None is nobody in particular.

        A message addresses the speaker of the line that it answers. If that is the speaker's own line, it
        addresses the addressees of that line. Messages for which this gives no result, because they continue
        a line that is not annotated and names nobody, are left out.
        """
        by_line = {message.line: message for message in self.lines if message.line is not None}
        truth: dict[int, frozenset[str | None]] = {}
        for line in sorted(self.links):
            message = by_line.get(line)
            if message is None or message.kind is not Kind.MESSAGE:
                continue
            found: set[str | None] = set()
            for parent in self.links[line]:
                answered = by_line.get(parent)
                if parent == line:
                    found |= {None} if self.links[line] == {line} else set()
                elif answered is None or not answered.speaker or answered.kind in _NOT_SAID:
                    continue
                elif answered.speaker != message.speaker:
                    found.add(answered.speaker)
                elif parent in truth:
                    found |= truth[parent]
                elif self.named.get(parent, message.speaker) != message.speaker:
                    found.add(self.named[parent])
            if found:
                truth[line] = frozenset(found)
        return truth


def read_linked_logs(path: str | Path) -> Iterator[LinkedLog]:
    """Read one log with links, or all logs of a folder that have links.

    Raises:
        LogError: There are none, or a line of one cannot be read.
    """
    path = Path(path)
    if path.suffix == SUFFIX:
        path = path.with_suffix(".txt")
    if not path.exists():
        raise LogError("there is no such file or folder", file=str(path))
    found = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path.with_suffix(SUFFIX)]
    found = [file for file in found if file.is_file()]
    if not found:
        reason = f"there are no reply links: a log NAME.txt needs NAME{SUFFIX} beside it"
        raise LogError(reason, file=str(path))
    for file in found:
        log = file.with_suffix(".txt") if path.is_dir() else path
        lines = tuple(message for each in find_logs(log) for message in each.messages(Report()))
        yield LinkedLog(log.stem, lines, _links(file))


def _links(path: Path) -> dict[int, frozenset[int]]:
    links = defaultdict[int, set[int]](set)
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        try:
            first, second = sorted(map(int, fields[:2]))
        except ValueError:
            raise LogError("expected two line numbers and a hyphen", file=str(path), line=number) from None
        links[second].add(first)
    return {line: frozenset(answered) for line, answered in links.items()}
