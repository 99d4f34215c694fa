"""WhatsApp: the text file of "Export chat" from Android and iPhone, in all their date formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Self

from towhom.chat import Kind, Message
from towhom.readers.base import MAX_MESSAGE, Folder, Reader, Record, Report, Source
from towhom.readers.induction import LEVELS
from towhom.readers.links import Mention, said
from towhom.readers.times import common_date

# 31/12/20, 23:59 - Ada: text   [31.12.2020, 23:59:59] Ada: text   12/31/20, 11:59 PM - Ada: text
_LINE = re.compile(
    r"(?P<open>\[)?(?P<a>[0-9]{1,4})[./-] ?(?P<b>[0-9]{1,2})[./-] ?(?P<c>[0-9]{1,4})\.?(?: г\.)?,? "
    r"(?:klo |kl\. |um |à |в )?(?P<first>오전 |오후 |午前|午後|上午|下午)?"
    r"(?P<h>[0-9]{1,2})[:.](?P<m>[0-9]{2})(?:[:.](?P<s>[0-9]{2}))?"
    r"(?: ?(?:(?P<half>[AaPp])\.? ?[Mm]\.?|(?P<arabic>[صم])))?"
    r"(?: ч\.)?(?(open)(?: \| [^\]]{1,40})?\]|(?: [-–—]|:)) (?P<rest>.*)",
    re.DOTALL,
)
_SAID = re.compile(r"(?P<name>[^:\n]+):(?: (?P<text>.*))?", re.DOTALL)
_NICK = re.compile(r"<[^<>\s]{1,40}> |\[[^\[\]]{1,40}\] ")
_STARTS = {bytes([byte]) for byte in b"[0123456789\xe2\xef\xd9\xdb\xe0"}
"""The first bytes of lines that can begin with a date: those of dates, and of marks before them."""
_MARK = "\u200e"
_AFTERNOON = ("p", "P", "오후", "午後", "下午", "م")
_DIGITS = {start + digit: str(digit) for start in (0x660, 0x6F0, 0x966) for digit in range(10)}
"""Arabic, Persian and Devanagari digits -> ASCII digits."""
# Marks of writing direction, and the special spaces that some phones put before AM and PM.
_CLEANED = {ord(mark): None for mark in "\u200e\u200f\u202a\u202b\u202c\ufeff"} | {0x202F: " ", 0xA0: " "}
_ISOLATED = re.compile("@\u2068~? ?([^\u2068\u2069]+)\u2069")
_ATTACHED = re.compile(r"<[^<>]+>|\S+\.\w{2,4} \([^()]+\)")
_REACTIONS = re.compile(r"(?:^|\n)\(- [^()\n]{1,400} -\)\s*$")
"""The line of reactions that signal-export writes below a message."""
_DELETED = {
    *("This message was deleted", "You deleted this message", "Diese Nachricht wurde gelöscht"),
    *("Du hast diese Nachricht gelöscht", "Se eliminó este mensaje", "Eliminaste este mensaje"),
    *("Esta mensagem foi apagada", "Mensagem apagada", "Você apagou esta mensagem"),
    *("Ce message a été supprimé", "Vous avez supprimé ce message", "Questo messaggio è stato eliminato"),
    *("Hai eliminato questo messaggio", "Dit bericht is verwijderd", "U hebt dit bericht verwijderd"),
    *("Данное сообщение удалено", "Вы удалили данное сообщение", "Bu mesaj silindi", "Bu mesajı sildiniz"),
}
"""Texts that replace deleted messages on phones that put no mark before them."""
_WORD = re.compile(r"(?<!\w)@(\w+)")


class WhatsApp(Reader):
    """A chat or a group. Lines without a date belong to the message before them."""

    name = "whatsapp"
    title = "WhatsApp chat (text of Export chat, Android and iPhone)"

    def __init__(self, *, day_first: bool = True, names: tuple[str, ...] = ()) -> None:
        self.day_first = day_first
        self.names = names

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Check that the first line and a quarter of all have WhatsApp's dates, and one or more a name."""
        if isinstance(source, Folder) or not source.head_lines:
            return False
        found = [_match(line.decode("utf-8", errors="replace")) for line in source.head_lines]
        # WhatsApp does not put names in brackets, although its dates look the same.
        matches = [match is not None and not _NICK.match(match["rest"]) for match in found]
        said_by = (_SAID.match(match["rest"]) for match in found if match)
        named = any(each and each["name"].strip().lower() not in LEVELS for each in said_by)
        return matches[0] and named and sum(matches) * 4 >= len(matches)

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Find out whether the day or the month comes first; collect names of several words for mentions."""
        if isinstance(source, Folder):
            return cls()
        found = [_match(line.decode("utf-8", errors="replace")) for line in source.head_lines]
        dates = [match for match in found if match and len(match["a"]) < 4]
        if any(int(match["a"]) > 12 for match in dates):
            day_first = True
        elif any(int(match["b"]) > 12 for match in dates):
            day_first = False
        else:
            day_first = not any(match["half"] for match in dates)
        rests = (_SAID.fullmatch(match["rest"]) for match in found if match)
        names = dict.fromkeys(_name(said["name"]) for said in rests if said)
        return cls(day_first=day_first, names=tuple(name for name in names if name and not name.isalnum()))

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield lines.

        Raises:
            LogError: Too many lines in a row have no date, which would make a message of megabytes.
        """
        length = 0
        for number, line in source.lines() if isinstance(source, Source) else ():
            length = 0 if self.begins((number, line)) else length + len(line)
            if length > MAX_MESSAGE and isinstance(source, Source):
                raise source.too_long("message", line=number + 1)
            yield number, line

    def begins(self, record: Record) -> bool:
        """Whether the line begins with a date."""
        line: bytes = record[1]
        return line[:1] in _STARTS and _match(line.decode("utf-8", errors="replace")) is not None

    def key(self, record: Record) -> str | None:
        """The day, if the line has one."""
        found = _match(record[1].decode("utf-8", errors="replace"))
        time = self._time(found) if found else None
        return str(time.date()) if time else None

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """Yield a message for each line with a date, together with the lines up to the next date."""
        begun: tuple[int, datetime, list[str]] | None = None
        for number, raw in records:
            line = report.decode(raw)
            found = _match(line)
            if found is None:
                if begun is not None:
                    begun[2].append(line)
                elif line.strip():
                    report.skip("no date, and no message before it", file=file, record=number)
                continue
            if begun is not None:
                yield self._message(begun, report)
            time = self._time(found)
            begun = None
            if time is None:
                report.skip("there is no such date or time", file=file, record=number)
            else:
                begun = (number, time, [found["rest"]])
        if begun is not None:
            yield self._message(begun, report)

    def _time(self, found: re.Match[str]) -> datetime | None:
        """The time of a line; None if its date or time is invalid, like 31/31/20."""
        first, second, third = int(found["a"]), int(found["b"]), int(found["c"])
        if len(found["a"]) == 4:
            year, month, day = first, second, third
        else:
            year = third if third > 99 else 2000 + third
            month, day = (second, first) if self.day_first else (first, second)
            if month > 12 >= day:  # an unambiguous date is read in the only possible order
                month, day = day, month
        hour = int(found["h"])
        half = found["half"] or found["first"] or found["arabic"]
        if half:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if half.strip() in _AFTERNOON else 0)
        year, month, day = common_date(year, month, day)
        try:
            return datetime(year, month, day, hour, int(found["m"]), int(found["s"] or 0))
        except ValueError:
            return None

    def _message(self, begun: tuple[int, datetime, list[str]], report: Report) -> Message:
        number, time, lines = begun
        whole = "\n".join(lines).rstrip()
        found = _SAID.fullmatch(whole)
        kind, speaker, text, mentions = Kind.SYSTEM, "", _clean(whole), list[Mention]()
        if found is not None and not found["name"].startswith(_MARK):
            speaker, text = _name(found["name"]), found["text"] or ""
            # The mark in front shows that WhatsApp wrote this: "image omitted", "this message was deleted".
            by_phone = text.startswith(_MARK)
            text = _REACTIONS.sub("", _clean(_without_label(text)))
            if not by_phone and not _ATTACHED.fullmatch(text) and text.rstrip(".") not in _DELETED:
                kind = Kind.MESSAGE
            text, mentions = self._mentions(text)
        message = said(speaker, text, kind=kind, mentions=mentions, time=time, line=number)
        report.kinds[message.kind] += 1
        return message

    def _mentions(self, text: str) -> tuple[str, list[Mention]]:
        """A text with its mentions as plain `@name`, and the people it mentions."""
        if "@" not in text:
            return text, []
        names = _ISOLATED.findall(text)
        if names:
            text = _ISOLATED.sub(r"@\1", text)
        else:
            names = [name for name in self.names if f"@{name}" in text]
            # A word after an @ is a name, unless a longer known name begins with it.
            starts = {name.split()[0] for name in names}
            names += [word for word in _WORD.findall(text) if word not in starts]
        return text, [Mention(f"@{name}", name) for name in names]


def _match(line: str) -> re.Match[str] | None:
    """Match a line that begins a message. Marks in its text stay, since they show who wrote it."""
    start = line.lstrip("\u200e\u200f\ufeff")
    if start and (ord(start[0]) in _DIGITS or ord(start[1:2] or " ") in _DIGITS):
        start = start[:40].translate(_DIGITS).replace("\u200f", "") + start[40:]
    if not start or start[0] not in "[0123456789":
        return None
    # In front of the text there are at most two special spaces, and marks have no meaning.
    stamp = start[:40].replace("\u202f", " ").replace("\xa0", " ").replace("،", ",")
    return _LINE.fullmatch(stamp + start[40:])


def _without_label(text: str) -> str:
    """A text without the "<This message was edited>" that WhatsApp appends."""
    before, mark, label = text.rpartition(f"{_MARK}<")
    return before.rstrip() if mark and label.find(">") == len(label) - 1 >= 0 > label.find("<") else text


def _clean(text: str) -> str:
    return text.translate(_CLEANED).strip()


def _name(text: str) -> str:
    """A name without the tilde in front, which marks people who are not in the address book."""
    return _clean(text).removeprefix("~").strip()
