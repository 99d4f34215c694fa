"""IRC logs: irclogs.ubuntu.com, irssi, WeeChat, ZNC, energymech, files with day marks, and without times.

Each dialect is a regular expression whose group names say what a line is. A new dialect is one more entry
in `DIALECTS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Self

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Reader, Record, Report, Source

_CLOCK = r"(?P<h>\d\d):(?P<m>\d\d)(?::(?P<s>\d\d))?"
_NICK = r"[^\s<>]"


@dataclass(frozen=True)
class Dialect:
    """How one kind of client writes its log.

    Args:
        line: Matches every well-formed line. Groups: `h`, `m`, `s` and `date` for the time; `nick` and
            `text` for a message; `actor` and `action`; `notifier` and `notice`; `system`; `day`.
        day: Matches a line that begins a new day, cheaply, on bytes; its groups tell days apart.
    """

    line: re.Pattern[str]
    day: re.Pattern[bytes]


DIALECTS = {
    # [10:26] <nick> text     irclogs.ubuntu.com, day-marked files; with seconds ZNC, energymech
    # [10:26]  * nick waves   [10:26] -nick:#room- notice   === nick has joined   [10:26:01] *** Joins: nick
    "bracket": Dialect(
        line=re.compile(
            rf"\[(?:(?P<date>\d{{4}}-\d\d-\d\d)[ T])?{_CLOCK}\] ?"
            r"(?:<(?P<nick>[^>]+)>(?: (?P<text>.*))?"
            r"|\*\*\* ?(?P<system>.*)"
            rf"| ?\* (?P<actor>{_NICK}+)(?: (?P<action>.*))?"
            r"|-(?P<notifier>[^\s:]+?)(?::[^\s]*)?- ?(?P<notice>.*))$"
            r"|===+ (?P<system2>.*)$"
            r"|# (?P<day>\d{8}|\d{4}-\d\d-\d\d)$"
        ),
        day=re.compile(rb"(?:# |\[)(\d{8}|\d{4}-\d\d-\d\d)(?:$|[ T])"),
    ),
    # 10:26 <@nick> text   10:26  * nick waves   10:26 -!- nick [u@h] has joined #room   --- Day changed ...
    "irssi": Dialect(
        line=re.compile(
            rf"(?:(?P<date>\d{{4}}-\d\d-\d\d)[ T])?{_CLOCK} ?"
            r"(?:<(?P<nick>[^>]+)>(?: (?P<text>.*))?"
            r"|-!- ?(?P<system>.*)"
            rf"| ?\* (?P<actor>{_NICK}+)(?: (?P<action>.*))?"
            r"|-(?P<notifier>[^\s:]+?)(?::[^\s]*)?- ?(?P<notice>.*))$"
            r"|--- (?:Log opened|Day changed) (?P<day>.+)$"
            r"|--- (?P<system2>.*)$"
        ),
        day=re.compile(
            rb"--- (?:Day changed|Log opened) \w+ (\w+ \d+) (?:[\d:]+ )?(\d{4})"
            rb"|(\d{4}-\d\d-\d\d)[ T]\d\d:\d\d"
        ),
    ),
    # 2018-01-31 10:26:00<TAB>nick<TAB>text   with -->, <--, -- or * in the place of the nick
    "weechat": Dialect(
        line=re.compile(
            rf"(?P<date>\d{{4}}-\d\d-\d\d) {_CLOCK}\t"
            r"(?:(?:-->|<--|--|=!=|)\t(?P<system>.*)"
            r"| ?\*\t(?P<actor>[^\s]+)(?: (?P<action>.*))?"
            r"|(?P<nick>[^\t]+)\t(?P<text>.*))$"
        ),
        day=re.compile(rb"(\d{4}-\d\d-\d\d) "),
    ),
    # <nick> text   * nick waves   *** nick has joined   === nick has joined    no times, as from a window
    "untimed": Dialect(
        line=re.compile(
            r"(?:(?P<date>.)(?P<h>.)(?P<m>.)(?P<s>.)(?!))?"  # which is never there
            r"(?:<(?P<nick>[^\s<>/=\"]+|[ @+%&~][^\s<>/=\"]+)> (?P<text>.*)"
            r"|(?:\*\*\*|-!-|===+) (?P<system>.*)"
            rf"| ?\* (?P<actor>{_NICK}+)(?: (?P<action>.*))?)$"
        ),
        day=re.compile(rb"(?!)"),
    ),
}

# In front of a nick: operator, voice and so on. Not part of it: people write "bz: ..." to @bz.
_MARKS = " @+%&~!"
_RENAME = re.compile(
    r"(?:\S+ )?(?P<old>\S+) (?:\[\S*\] |\(\S*\) )?is now known as (?P<new>\S+)$"
    r"|Nick change: (?P<old2>\S+) -> (?P<new2>\S+)$"
)
_DATE_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
# Bold, colour, italics and so on, as IRC clients write them.
_FORMATTING = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04[0-9a-fA-F]{0,6}|[\x02\x0f\x11\x16\x1d\x1e\x1f]")
_DAY_FORMATS = ("%Y%m%d", "%Y-%m-%d", "%a %b %d %H:%M:%S %Y", "%a %b %d %Y")
_UNDATED = date(1, 1, 1)


class Irc(Reader):
    """IRC logs in any of the dialects above."""

    name = "irc"
    title = "IRC log (irclogs.ubuntu.com, irssi, WeeChat, ZNC, energymech; # YYYYMMDD day marks; or no times)"

    def __init__(self, dialect: str = "bracket", day: date = _UNDATED) -> None:
        self.dialect = dialect
        self.day = day

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """At least half of the first lines are of one dialect."""
        if isinstance(source, Folder) or not source.head_lines:
            return False
        return max(_matches(source).values()) * 2 >= len(source.head_lines)

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """The dialect that most of the first lines are in; the day, if the file's name has one."""
        if isinstance(source, Folder):
            return cls()
        matches = _matches(source)
        found = _DATE_IN_NAME.search(source.name.replace("/", "-"))
        day = _UNDATED
        if found:
            with suppress(ValueError):  # 20110231
                day = date(int(found[1]), int(found[2]), int(found[3]))
        return cls(max(matches, key=matches.__getitem__), day)

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Lines."""
        return source.lines() if isinstance(source, Source) else iter(())

    def key(self, record: Record) -> str | None:
        """The day that the line begins, if it does."""
        found = DIALECTS[self.dialect].day.match(record[1])
        return " ".join(group.decode() for group in found.groups() if group) if found else None

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """Lines of every kind, in order."""
        match = DIALECTS[self.dialect].line.match
        clock = Clock(self.day)
        kinds = report.kinds
        for number, raw in records:
            text = report.decode(raw)
            if not text.isprintable():
                text = _FORMATTING.sub("", text)
            found = match(text)
            if found is None:
                if text.strip():
                    report.skip("not a line of an IRC log", file=file, record=number)
                continue
            last = found.lastgroup
            if last == "text":
                time = clock.at(found["date"], found["h"], found["m"], found["s"])
                kinds[Kind.MESSAGE] += 1
                yield Message(found["nick"].lstrip(_MARKS).rstrip(), found["text"], time=time, line=number)
                continue
            message = self._other(last, found, clock, number)
            if message is not None:
                kinds[message.kind] += 1
                yield message

    def _other(self, last: str | None, found: re.Match[str], clock: Clock, number: int) -> Message | None:
        """What is not a message."""
        if last == "day":
            if not clock.set_day(found["day"]):
                return None
            return Message("", found["day"], time=clock.midnight(), kind=Kind.DAY, line=number)
        groups = found.groupdict()
        time = clock.at(groups["date"], groups["h"], groups["m"], groups["s"]) if groups["h"] else clock.last
        if last in ("action", "actor"):
            speaker = groups["actor"].lstrip(_MARKS)
            return Message(speaker, groups["action"] or "", time=time, kind=Kind.ACTION, line=number)
        if last == "notice":
            return Message(groups["notifier"], groups["notice"], time=time, kind=Kind.NOTICE, line=number)
        if last == "nick":  # somebody pressed enter on an empty line
            return Message("", found[0], time=time, kind=Kind.SYSTEM, line=number)
        text = groups["system"] or groups.get("system2") or ""
        renamed = _RENAME.match(text)
        if renamed:
            old, new = renamed["old"] or renamed["old2"], renamed["new"] or renamed["new2"]
            return Message(old, new, time=time, kind=Kind.RENAME, line=number)
        return Message("", text, time=time, kind=Kind.SYSTEM, line=number)


def _matches(source: Source) -> dict[str, int]:
    """How many of the first lines each dialect knows."""
    lines = [line.decode("utf-8", errors="replace") for line in source.head_lines]
    return {
        name: sum(dialect.line.match(line) is not None for line in lines)
        for name, dialect in DIALECTS.items()
    }


class Clock:
    """Times of a log that has a clock on every line, and the day only sometimes.

    Where the log never says the day, days count from the year 1. Past midnight the day goes on. Some old
    logs have a clock of twelve hours and do not say which half of the day it is: where one o'clock follows
    twelve, and no hour was ever zero or above twelve, it is afternoon (or night) from there on.
    """

    def __init__(self, day: date) -> None:
        self.last: datetime | None = None
        self._start = datetime(day.year, day.month, day.day)
        self._half_days_only = True
        self._clock = -1
        self._seen: tuple[str | None, str, str, str | None] | None = None

    def set_day(self, text: str) -> bool:
        """A line says which day it is; whether we can tell."""
        for form in _DAY_FORMATS:
            with suppress(ValueError):
                self._start = datetime.strptime(text, form).replace(hour=0, minute=0, second=0)
                self._clock = -1
                self._seen = None
                return True
        return False

    def midnight(self) -> datetime:
        """When the current day began."""
        return self._start

    def at(self, day: str | None, hour: str | None, minute: str, second: str | None) -> datetime | None:
        """The time of a line; None if it has none, or one like 27:00."""
        if hour is None:
            return None
        if (day, hour, minute, second) == self._seen:
            return self.last
        h, m, s = int(hour), int(minute), int(second or 0)
        if h > 23 or m > 59:
            return None
        if day is not None:
            try:
                self.last = datetime.fromisoformat(day) + timedelta(hours=h, minutes=m, seconds=s)
            except ValueError:
                return None
        else:
            clock = h * 3600 + m * 60 + s
            if not 1 <= h <= 12:
                self._half_days_only = False
            try:
                if h == 1 and self._half_days_only and self._clock // 3600 == 12:
                    self._start += timedelta(hours=12)
                elif clock < self._clock - 11 * 3600:
                    self._start += timedelta(hours=24)
                self.last = self._start + timedelta(seconds=clock)
            except OverflowError:  # past the last day that calendars have
                return None
            self._clock = clock
        self._seen = (day, hour, minute, second)
        return self.last
