"""IRC logs of a dozen clients, bots and servers, with day marks or without times; and Minecraft logs.

Each dialect is a regular expression whose group names say what a line is. A new dialect is one more entry
in `DIALECTS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Self

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Reader, Record, Report, Source
from towhom.readers.clock import UNDATED, Clock
from towhom.readers.times import day_of, is_end, month_number, parse_time

_CLOCK = (
    r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::(?P<s>\d\d)(?:\.\d{1,9})?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?P<zone>Z| ?[+-]\d\d:?\d\d)?"
)
_NICK = r"[^\s<>]"
_SAYS = r"<(?P<nick>(?!->)[^>]+)>(?:[ \t](?P<text>.*))?"
_DOES = rf" ?(?:\*|•|-\*-)[ \t](?P<actor>{_NICK}+)(?: (?P<action>.*))?"
_NOTES = r"-(?P<notifier>[^\s:]+?)(?:\([^\s()]*\))?(?::[^\s]*)?-[ \t]?(?P<notice>.*)"
_TELLS = r"(?:\*\*\*|-!-) ?(?P<system>.*)"
_DOES_BY_HOST = r"\[(?P<actor2>[^\s!\[\]]+)![^\s\[\]]+\] (?:ACTION )?(?P<action2>.*)"
_ARROW = r"(?:--+>?|<--?|<->|->|=!=|[→←⇐⇒⇄↔—–])[ \t]"
_DAY_NAME = r"\w{2,4}\.? \w{3,4}\.? +\d{1,2}"


@dataclass(frozen=True)
class Dialect:
    """The log format of one kind of client.

    Args:
        line: Matches every well-formed line. Groups: `h`, `m`, `s`, `half`, `zone` and `date` (or `month`,
            `dd` and `year`, or `epoch`) for the time; `nick` and `text` for a message; `actor` and `action`;
            `notifier` and `notice`; `system`; `day`.
        day: Matches a line that begins a new day, fast, on bytes; its groups distinguish days.
        sign: Matches lines that only this dialect has, so that any of them decides for it.
        stars: Whether a star also precedes lines of the server: `* Joins: nick`.
    """

    line: re.Pattern[str]
    day: re.Pattern[bytes]
    sign: re.Pattern[str] = re.compile(r"(?!)")
    stars: bool = False


_BRACKET = rf"\[(?:(?P<date>\d{{4}}-\d\d-\d\d),?[ T])?{_CLOCK}\] ?"
_EGGDROP = (
    r"(?:Nick change: |Topic changed on |[#&]\S+: |\S+ \(\S+\) (?:joined|left|got|has) |\S+ kicked from "
    r"|\S+ left IRC\b)"
)

DIALECTS = {
    # [10:26] <nick> text     irclogs.ubuntu.com, day marks; with seconds ZNC, energymech, Quassel, Textual
    # [10:26]  * nick waves   [10:26] -nick:#room- notice   === nick has joined   [10:26:01] *** Joins: nick
    # [10:26] --> nick has joined   [10:26] -*- nick waves   [2024-05-31T10:26:00-0400] • nick: waves
    # [10:26] nick (u@h) joined #room.   [10:26] Action: nick waves   [00:00] --- Fri May 31 2024     Eggdrop
    "bracket": Dialect(
        line=re.compile(
            rf"{_BRACKET}(?:{_SAYS}"
            rf"|{_TELLS}"
            rf"|{_DOES}"
            r"|Action: (?P<actor2>\S+) (?P<action2>.*)"
            rf"|--- (?P<day2>{_DAY_NAME} \d{{4}})"
            rf"|(?P<system3>{_EGGDROP}.*)"
            rf"|{_ARROW}(?P<system4>.*)"
            rf"|{_NOTES})$"
            r"|===+ (?P<system2>.*)$"
            r"|# (?P<day>\d{8}|\d{4}-\d\d-\d\d)$"
        ),
        day=re.compile(
            rb"(?:# |\[)(\d{8}|\d{4}-\d\d-\d\d)(?:$|,?[ T])|\[[\d:]+\] --- \w{3} (\w{3} +\d{1,2} \d{4})$"
        ),
    ),
    # [10:26] <nick> text   [10:26] * nick waves   [10:26] * Joins: nick (u@h)   Session Start: Fri May 31 ...
    "mirc": Dialect(
        line=re.compile(
            rf"(?:[\[(]{_CLOCK}[\])]|(?P<date>(?!)))[ \t]?"
            rf"(?:{_SAYS}|{_TELLS}|{_DOES}|{_NOTES})$"
            r"|Session (?:Start|Time): (?P<day>.+)$"
            r"|(?P<system2>Session (?:Ident|Close).*)$"
        ),
        day=re.compile(rb"Session (?:Start|Time): \w+ (\w+ +\d+) (?:[\d:]+ )?(\d{4})"),
        sign=re.compile(
            r"Session (?:Start|Ident|Close|Time): |[\[(][\d:apm ]+[\])] \* (?:Joins|Parts|Quits): "
        ),
        stars=True,
    ),
    # May 31 10:26:00 <nick>	text   **** BEGIN LOGGING AT Fri May 31 ...                   HexChat, XChat
    # [14 Jan 10:26] <nick!u@h> text   [14 Jan 10:26] --> nick (u@h) joined              dircproxy
    # [Fri May 31 2024] [10:26:00] <nick> text                                           Konversation
    "month": Dialect(
        line=re.compile(
            r"(?:(?P<year>\d{1,4}) )?\[?(?:\w{2,4}\.? (?=\w{3,4}\.? +\d))?"
            r"(?:(?P<month>[^\W\d_]{3,4})\.? +(?P<dd>\d{1,2})|(?P<dd2>\d{1,2}) (?P<month2>[^\W\d_]{3,4})\.?)"
            rf"(?: (?P<year2>\d{{4}}))?(?:,? |\] \[){_CLOCK}(?P<date>(?!))?\]?[ \t]"
            rf"(?:{_SAYS}|{_TELLS}|{_ARROW}(?P<system3>.*)|{_DOES}|{_DOES_BY_HOST}|{_NOTES}"
            r"|(?:Join|Part|Quit|Nick|Mode|Topic|Kick|Ban|Info|Away|Names|Notice|Invite|Created|Welcome)\t"
            r"(?P<system4>.*))$"
            r"|(?:\d{1,4} )?\*\*\*\* (?P<system2>.*)$"
        ),
        day=re.compile(
            rb"(?=(?P<year>\d{1,4}))\d{1,4} \[?(?:\w{2,4}\.? (?=\w{3,4}\.? +\d))?"
            rb"(?P<day>\w{3,4}\.? +\d{1,2}|\d{1,2} \w{3,4}\.?)(?: \d{4})?[\],]? "
            rb"|\d{1,4} \*\*\*\* .{1,60}? (?P<begun>\w{3,4}\.? +\d{1,2} [\d:]{8} \d{4})$"
        ),
        sign=re.compile(r"\*\*\*\* (?:BEGIN|ENDING) LOGGING AT "),
        stars=True,
    ),
    # @1142892384 <nick!u@h> text      dircproxy, too
    "seconds": Dialect(
        line=re.compile(
            r"[@\[]?(?P<epoch>\d{9,10})\]?[ \t]"
            r"(?P<date>(?!))?(?:(?P<h>(?!))(?P<m>.)(?P<s>.)(?P<half>.)(?P<zone>.))?"
            rf"(?:{_SAYS}|{_TELLS}|{_ARROW}(?P<system2>.*)|{_DOES}|{_DOES_BY_HOST}|{_NOTES})$"
        ),
        day=re.compile(rb"(?!)"),
        stars=True,
    ),
    # 10:26 <@nick> text   10:26  * nick waves   10:26 -!- nick [u@h] has joined #room   --- Day changed ...
    # 2024-05-31T10:26:00  <nick> text   2024-05-31T10:26:00  *** nick has joined #room     Limnoria, Supybot
    "irssi": Dialect(
        line=re.compile(
            rf"(?:(?P<date>\d{{4}}-\d\d-\d\d)[ T])?{_CLOCK} {{0,2}}"
            rf"(?:{_SAYS}"
            r"|(?:-!-|\*\*\*) ?(?P<system>.*)"
            rf"|{_DOES}"
            rf"|{_ARROW}(?P<system3>.*)"
            rf"|{_NOTES})$"
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
    # [10:26:00] [Server thread/INFO]: <nick> text   [10:26:00] [Server thread/INFO]: nick joined the game
    # [31May2024 10:26:00.123] [Render thread/INFO] [minecraft/ChatListener]: [CHAT] <nick> text     Minecraft
    "minecraft": Dialect(
        line=re.compile(
            rf"\[(?:(?P<dd>\d\d)(?P<month>[^\W\d_]{{3}})(?P<year>\d{{4}}) )?(?P<date>(?!))?{_CLOCK}\] "
            r"\[[^\[\]]{1,60}/[A-Z]{4,5}\](?: \[[^\[\]]{0,80}\])?: (?:\[(?:Not Secure|System|CHAT)\] ){0,3}"
            rf"(?:{_SAYS}|\* (?P<actor>{_NICK}+)(?: (?P<action>.*))?|(?P<system>.*))$"
        ),
        day=re.compile(rb"\[(\d\d\w{3}\d{4}) "),
        sign=re.compile(r"\[[\w :.]{5,22}\] \[[^\[\]]{1,60}/[A-Z]{4,5}\]"),
    ),
    # <nick> text   * nick waves   *** nick has joined   === nick has joined    no times, copied from a window
    "untimed": Dialect(
        line=re.compile(
            r"(?:(?P<date>.)(?P<h>.)(?P<m>.)(?P<s>.)(?P<half>.)(?P<zone>.)(?!))?"  # which never matches
            r"(?:<(?P<nick>[^\s<>/=\"]+|[ @+%&~][^\s<>/=\"]+)>[ \t](?P<text>.*)"
            r"|(?:\*\*\*|-!-|===+) (?P<system>.*)"
            rf"| ?\* (?P<actor>{_NICK}+)(?: (?P<action>.*))?)$"
        ),
        day=re.compile(rb"(?!)"),
    ),
}

# Marks before a nick for operator, voice and so on. Not part of it: people write "bz: ..." to @bz.
_MARKS = " @+%&~!"
_RENAME = re.compile(
    r"(?:\S+ )?(?P<old>\S+) (?:\[\S*\] |\(\S*\) )?is now known as (?P<new>\S+)$"
    r"|Nick change: (?P<old2>\S+) -> (?P<new2>\S+)$"
)
# Texts after a star that come from the server and are not actions of a person.
_BY_SERVER = re.compile(
    r"(?:Joins|Parts|Quits|Set by|Topic is|Topic for [#&]\S+|Now talking (?:in|on)"
    r"|Disconnected|Rejoined|Attempting to|You (?:were|have|are)"
    r"|Retrieving|Looking up|Connect(?:ed|ing)|Users on|End of|Channel|Can't|Closing|Loaded|Dns|Discovered)\b"
    r"|\S+ (?:[(\[]\S*[)\]] )?(?:has (?:joined|left|quit|kicked|changed the topic)\b"
    r"|sets mode|was kicked|changes topic"
    r"|is now known as|gives (?:voice|channel)|removes (?:voice|channel)|sets (?:ban|channel|mode))"
)
# The same for dialects where the server has other marks: only texts that are unambiguous.
_BY_SERVER_SURELY = re.compile(
    r"(?:Now talking (?:in|on)|Topic for) [#&]"
    r"|\S+ [(\[]\S+@\S+[)\]] (?:(?:has )?(?:joined|left|quit)\b|Quit\b|is now known as)"
)
_BESIDE = re.compile(r"#{1,3} |Session |\*\*\*\* |--- |IRC log ")
"""Beginnings of lines that clients write around messages."""
_CLOCK_IN_TEXT = re.compile(r"\[[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\] ")
_YEAR_IN_FRONT = re.compile(rb"(?:19|20)[0-9]{2} ")
_SECONDS = re.compile(rb"[@\[]?([0-9]{9,10})\]?[ \t]")
_BEGIN = re.compile(rb"\*\*\*\* .{1,60} (\d{4})$")
_MONTH_OF = re.compile(rb"\[?(?:\w{2,4}\.? (?=\w{3,4}\.? +\d))?(?:\d{1,2} )?([A-Za-z]{3})")
_WITHOUT_YEAR = 4
"""The year assumed for a log without years: a leap year, so that 29 February exists."""
_IDENTIFIED = re.compile(r"[-+]")
_DATE_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
# IRC codes for bold, colour, italics and so on.
_FORMATTING = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04[0-9a-fA-F]{0,6}|[\x02\x0f\x11\x16\x1d\x1e\x1f]")


class Irc(Reader):
    """IRC logs in any of the dialects above."""

    name = "irc"
    title = (
        "IRC log (irclogs.ubuntu.com, irssi, WeeChat, ZNC, energymech, Limnoria, Supybot, dircproxy, mIRC, "
        "HexChat, XChat, Eggdrop, Quassel, Textual, Konversation; # YYYYMMDD day marks; or no times), "
        "or that of a Minecraft server"
    )

    def __init__(self, dialect: str = "bracket", day: date = UNDATED, *, identified: bool = False) -> None:
        self.dialect = dialect
        self.day = day
        self.identified = identified
        """Whether texts have a + or - in front that shows whether the server has identified the speaker."""

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Check that at least half of the first lines match one dialect, and some of them are messages."""
        if isinstance(source, Folder) or not source.head_lines:
            return False
        matches = _matches(source)
        best = max(matches, key=matches.__getitem__)
        untimed = map(DIALECTS["untimed"].line.match, _head(source))
        if best == "untimed":
            said = [found["text"] for found in untimed if found and found["nick"]]
            timed = sum(_CLOCK_IN_TEXT.match(text) is not None for text in said)
            if not said or timed * 2 > len(said):  # a list with stars, or logs with the time after the nick
                return False
        return matches[best] * 2 >= len(source.head_lines)

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Choose the dialect that matches most of the first lines; take the day from the file name."""
        if isinstance(source, Folder):
            return cls()
        matches = _matches(source)
        dialect = max(matches, key=matches.__getitem__)
        found = _DATE_IN_NAME.search(source.name.replace("/", "-"))
        day = UNDATED
        if found:
            with suppress(ValueError):  # 20110231
                day = date(int(found[1]), int(found[2]), int(found[3]))
        lines = map(DIALECTS[dialect].line.match, _head(source))
        texts = [line["text"] for line in lines if line is not None and _host(line)]
        marked = sum(_IDENTIFIED.match(text) is not None for text in texts)
        return cls(dialect, day, identified=bool(texts) and marked * 2 > len(texts))

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield lines; those that have a day without a year get the year in front."""
        lines = source.lines() if isinstance(source, Source) else iter(())
        return self._with_years(lines) if self.dialect == "month" else lines

    def _with_years(self, lines: Iterator[Record]) -> Iterator[Record]:
        year = self.day.year if self.day != UNDATED else _WITHOUT_YEAR
        last = 0
        for number, line in lines:
            begin = _BEGIN.match(line)
            if begin is not None:
                year, last = int(begin[1]), 0
            found = _MONTH_OF.match(line)
            month = month_number(found[1].decode("utf-8", errors="replace")) if found else None
            if month is not None:
                year += last == 12 and month == 1
                last = month
            bare = not line.strip() or _YEAR_IN_FRONT.match(line)
            yield number, line if bare else b"%d %s" % (year, line)

    def key(self, record: Record) -> str | None:
        """The day that the line belongs to, if it has one."""
        if self.dialect == "seconds":
            seconds = _SECONDS.match(record[1])
            return str(datetime.fromtimestamp(int(seconds[1]), UTC).date()) if seconds else None
        found = DIALECTS[self.dialect].day.match(record[1])
        if found is None:
            return None
        groups = found.groups() if self.dialect != "month" else found.group("day", "year", "begun")
        day = " ".join(group.decode("utf-8", errors="replace") for group in groups if group)
        if self.dialect == "minecraft":
            day = f"{day[:2]} {day[2:-4]} {day[-4:]}"
        if self.dialect == "month" and not found["begun"]:
            day = f"{day[: -len(found['year'])]}{int(found['year']):04}"
        if self.dialect == "irssi" or (day[:1].isdecimal() and self.dialect not in ("month", "minecraft")):
            return day
        time = parse_time(day)
        return str(time.date()) if time else day

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """Yield lines of every kind, in order."""
        match = DIALECTS[self.dialect].line.match
        clock = Clock(self.day)
        kinds = report.kinds
        time_at = _TIMES.get(self.dialect, _clock_time)
        for number, raw in records:
            text = report.decode(raw)
            if not text.isprintable():
                text = _FORMATTING.sub("", text)
            found = match(text)
            if found is None:
                beside = self._beside(text, clock, number) if text.strip() else None
                if beside is not None:
                    kinds[beside.kind] += 1
                    yield beside
                elif text.strip():
                    report.skip("not a line of an IRC log", file=file, record=number)
                continue
            last = found.lastgroup
            if last == "text":
                kinds[Kind.MESSAGE] += 1
                yield Message(
                    _nick(found["nick"]), self._text(found), time=time_at(found, clock), line=number
                )
                continue
            message = self._other(last, found, clock, number)
            if message is not None:
                kinds[message.kind] += 1
                yield message

    def _beside(self, text: str, clock: Clock, number: int) -> Message | None:
        """A line that a client writes around messages, such as the beginning or end of a log; None if not."""
        if not _BESIDE.match(text):
            return None
        day = None if is_end(text) else day_of(text)
        if day is None:
            return Message("", text.strip(), kind=Kind.SYSTEM, line=number)
        clock.set_date(day)
        return Message("", text.strip(), time=clock.midnight(), kind=Kind.DAY, line=number)

    def _text(self, found: re.Match[str]) -> str:
        text = found["text"]
        return text[1:] if self.identified and _host(found) and text[:1] in ("+", "-") else text

    def _other(self, last: str | None, found: re.Match[str], clock: Clock, number: int) -> Message | None:
        """A line that is not a message; None if it is a day mark that cannot be parsed."""
        groups = found.groupdict()
        if last in ("day", "day2"):
            if not clock.set_day(groups[last]):
                return None
            return Message("", groups[last], time=clock.midnight(), kind=Kind.DAY, line=number)
        time = _TIMES.get(self.dialect, _clock_time)(found, clock) or clock.last
        if last in ("action", "actor", "action2"):
            speaker, text = (
                groups["actor"] or groups["actor2"],
                groups["action"] or groups.get("action2") or "",
            )
            whole = f"{speaker} {text}"
            by_server = _BY_SERVER if DIALECTS[self.dialect].stars else _BY_SERVER_SURELY
            if by_server.match(whole) or _BY_SERVER_SURELY.match(whole):
                return _system(whole, time, number)
            speaker = _nick(speaker.removesuffix(":"))
            return Message(speaker, text, time=time, kind=Kind.ACTION, line=number)
        if last == "notice":
            return Message(groups["notifier"], groups["notice"], time=time, kind=Kind.NOTICE, line=number)
        if last == "nick":  # somebody pressed enter on an empty line
            return Message("", found[0], time=time, kind=Kind.SYSTEM, line=number)
        text = next((groups[name] for name in _SYSTEM if groups.get(name)), "")
        return _system(text, time, number)


_SYSTEM = ("system", "system2", "system3", "system4")


def _system(text: str, time: datetime | None, number: int) -> Message:
    """A line from the server or the client, such as a change of name."""
    renamed = _RENAME.match(text)
    if renamed:
        old, new = renamed["old"] or renamed["old2"], renamed["new"] or renamed["new2"]
        return Message(old, new, time=time, kind=Kind.RENAME, line=number)
    return Message("", text, time=time, kind=Kind.SYSTEM, line=number)


def _nick(text: str) -> str:
    """A nick without the marks before it and the address that some clients write after it."""
    nick = text.lstrip(_MARKS).rstrip()
    return nick.partition("!")[0] if "!" in nick else nick


def _host(found: re.Match[str]) -> bool:
    """Whether a line is a message that has the speaker's address."""
    return found.lastgroup == "text" and "!" in found["nick"]


def _clock_time(found: re.Match[str], clock: Clock) -> datetime | None:
    return clock.at(*found.group("date", "h", "m", "s", "zone", "half"))


def _month_time(found: re.Match[str], clock: Clock) -> datetime | None:
    """The time of a line with the name of a month."""
    day, month = found["dd"] or found["dd2"], month_number(found["month"] or found["month2"] or "")
    if day is None or month is None:
        return None
    date = f"{int(found['year2'] or found['year'] or _WITHOUT_YEAR):04}-{month:02}-{int(day):02}"
    return clock.at(date, *found.group("h", "m", "s", "zone", "half"))


def _minecraft_time(found: re.Match[str], clock: Clock) -> datetime | None:
    """The time of a line that may have its day as 31May2024."""
    month = month_number(found["month"] or "")
    day = f"{found['year']}-{month:02}-{found['dd']}" if month else None
    return clock.at(day, *found.group("h", "m", "s", "zone", "half"))


def _seconds_time(found: re.Match[str], clock: Clock) -> datetime | None:
    clock.last = datetime.fromtimestamp(int(found["epoch"]), UTC)
    return clock.last


_TIMES = {"month": _month_time, "seconds": _seconds_time, "minecraft": _minecraft_time}


def _head(source: Source) -> list[str]:
    lines = (line.decode("utf-8", errors="replace") for line in source.head_lines)
    return [line if line.isprintable() else _FORMATTING.sub("", line) for line in lines]


def _matches(source: Source) -> dict[str, int]:
    """The number of first lines that each dialect matches."""
    lines = _head(source)
    return {
        name: sum(dialect.line.match(line) is not None for line in lines)
        + any(dialect.sign.match(line) for line in lines)
        for name, dialect in DIALECTS.items()
    }
