r"""Text logs in any other format: the pattern is given by the user, or induced from the file.

A pattern is a line with fields in braces: `[{time}] <{speaker}> {text}`. `{skip}` matches anything that does
not matter; `\n` is the end of a line, if the text begins on the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from io import BytesIO
from itertools import islice
from textwrap import dedent
from typing import Self

from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.readers.base import MAX_MESSAGE, Folder, Reader, Record, Report, Source
from towhom.readers.clock import UNDATED, Clock
from towhom.readers.induction import Induced, induce
from towhom.readers.tags import looks_like_page, page_lines
from towhom.readers.template import Template, is_rule, speaker_name, without_files
from towhom.readers.times import CLOCKS, FORMS, day_of, is_day_first, is_end, short_dates, time_of

_DATE_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_HEAD_LINES = 200
_DONE = re.compile(r"\*\*\*(\S{1,60}) (.+)", re.DOTALL)
"""An action of a person, as Pidgin writes it."""
_TOPIC = re.compile(r"The topic for ")
_NO_SPEAKER = re.compile(r"(?<!\w)(?:19|20)\d\d(?!\w)")


class Pattern(Reader):
    """Lines of one pattern. A line that does not match continues the message before it.

    A line with only a day sets the day of the lines that follow; an HTML page is read as people see it.
    """

    name = "pattern"
    title = "text in a format of its own (induced from the file, or told with --pattern)"

    def __init__(
        self,
        template: str = "<{speaker}> {text}",
        form: str | None = None,
        *,
        day_first: bool = True,
        day: date = UNDATED,
        sure: float | None = None,
        headings: bool = False,
        offsets: bool = False,
    ) -> None:
        self.template = template
        self.form = form
        self.day_first = day_first
        self.day = day
        self.sure = sure
        self.headings = headings
        """Whether lines with only a day set the day even without marks such as dashes around it."""
        self.offsets = offsets
        """Whether times are durations since the beginning of a recording."""

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Check whether a pattern can be induced that finds a chat."""
        return isinstance(source, Source) and _induced(source) is not None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """A reader for the pattern induced from the file.

        Raises:
            LogError: No pattern can be induced.
        """
        if isinstance(source, Folder):
            return cls()
        induced = _induced(source)
        if induced is None:
            reason = (
                "its lines have no pattern that is plainly a chat's; tell it (--pattern '{speaker}: {text}')"
            )
            raise LogError(reason, file=source.name)
        return cls._of(Template(induced.template, induced.form), source, sure=induced.sure)

    @classmethod
    def from_options(cls, source: Source | Folder, options: str) -> Self:
        """A reader for the user's pattern; the form of its times is found in the file.

        Raises:
            LogError: The pattern is invalid, or matches no line of the beginning.
        """
        if isinstance(source, Folder):
            return cls()
        lines = _head(source)
        try:
            templates = [Template(options, form) for form in (FORMS if "{time}" in options else (None,))]
        except ValueError as error:
            raise LogError(f"the pattern {options!r} cannot be used: {error}", file=source.name) from error
        raw = [(number, line.encode("utf-8", errors="replace")) for number, line in enumerate(lines)]
        counts = [
            sum(template.match(line.decode()) is not None for _, line in template.joined(raw))
            for template in templates
        ]
        if not max(counts):
            raise LogError(
                f"no line of its beginning has the pattern {options!r}; its first is {lines[0][:100]!r}"
                if lines
                else "the file is empty",
                file=source.name,
            )
        return cls._of(templates[counts.index(max(counts))], source)

    @classmethod
    def _of(cls, template: Template, source: Source, *, sure: float | None = None) -> Self:
        lines = template.joined(enumerate(line.encode() for line in _head(source)))
        head = [line.decode() for _, line in lines]
        found_lines = [_begin(line, template) if template.match(line) else None for line in head]
        first = next((place for place, found in enumerate(found_lines) if found), len(head))
        headings = any(day_of(line) for line in head[:first])
        matches: list[Mapping[str, str | None]] = [found.groupdict() for found in found_lines if found]
        offsets = template.form == "clock" and template.own_line and _are_offsets(matches)
        if template.form in CLOCKS:
            matches += short_dates(line for line in head if day_of(line))
        found = _DATE_IN_NAME.search(source.name)
        day = UNDATED
        if found:
            with suppress(ValueError):  # 20110231
                day = date(int(found[1]), int(found[2]), int(found[3]))
        return cls(
            template.text,
            template.form,
            day_first=is_day_first(matches),
            day=day,
            sure=sure,
            headings=headings,
            offsets=offsets,
        )

    @property
    def options(self) -> str:
        """The pattern, as `from_options` takes it."""
        return self.template

    @property
    def assumption(self) -> str | None:
        """The pattern that was induced, and how sure it is."""
        if self.sure is None:
            return None
        how = f"; its times are written as {self.form}" if self.form else "; it has no times"
        order = ""
        if self.form and "day, month" in self.form:
            order = ", the day first" if self.day_first else ", the month first"
        return (
            f"no known format; read by the pattern that its lines have ({self.sure:.0%} sure): "
            f"{self.template}{how}{order}. If that is wrong: --pattern"
        )

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield lines.

        Raises:
            LogError: Too many lines in a row do not match, which would make a message of megabytes.
        """
        if isinstance(source, Folder):
            return
        length = 0
        lines = source.lines()
        if looks_like_page(source.head_text):
            lines = enumerate(line.encode("utf-8", errors="replace") for line in page_lines(source))
        for number, line in self._template.joined(lines):
            length = 0 if self.begins((number, line)) else length + len(line)
            if length > MAX_MESSAGE:
                raise source.too_long("message", line=number + 1)
            yield number, line

    def _day(self, line: str) -> date | None:
        """The day of a line that has nothing else, or None."""
        day = day_of(line, day_first=self.day_first)
        return day if day and (self.headings or line[:1] in "-=*#") else None

    @property
    def _template(self) -> Template:
        return Template(self.template, self.form)

    def key(self, record: Record) -> str | None:
        """The day, if the line has one."""
        line = record[1].decode("utf-8", errors="replace")
        found = _begin(line, self._template)
        if found is None:
            day = self._day(line)
            return str(day) if day else None
        if self.form is None or self.form in CLOCKS:
            return None
        time = time_of(found.groupdict(), day_first=self.day_first, year=self._year)
        return str(time.date()) if time else None

    @property
    def _year(self) -> int:
        return self.day.year if self.day != UNDATED else 4

    def begins(self, record: Record) -> bool:
        """Whether the line matches the pattern or its beginning, or is a day."""
        line = record[1].decode("utf-8", errors="replace")
        return _begin(line, self._template) is not None or self._day(line) is not None

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """Yield a message for each matching line, together with the lines that continue it."""
        template, clock = self._template, Clock(self.day)
        begun: tuple[int, re.Match[str], list[str]] | None = None
        for number, raw in records:
            line = report.decode(raw)
            found = _begin(line, template)
            day = self._day(line) if found is None else None
            ruled = (begun is None or template.own_line) and is_rule(line)
            ends = found is not None or day is not None or ruled or is_end(line)
            if begun is not None and ends:
                yield self._message(begun, clock, report)
                begun = None
            if found is not None:
                begun = (number, found, [])
            elif day is not None:
                clock.set_date(day)
                report.kinds[Kind.DAY] += 1
                yield Message("", line.strip(), time=clock.midnight(), kind=Kind.DAY, line=number)
            elif begun is not None:
                begun[2].append(line)
            elif line.strip():  # text of the program above or below the chat
                report.kinds[Kind.SYSTEM] += 1
                yield Message("", line.strip(), kind=Kind.SYSTEM, line=number)
        if begun is not None:
            yield self._message(begun, clock, report)

    def _message(self, begun: tuple[int, re.Match[str], list[str]], clock: Clock, report: Report) -> Message:
        number, found, more = begun
        parts = found.groupdict()
        body = "\n".join([parts.get("text") or "", *more])
        text = without_files((dedent(body) if self._template.own_line else body).strip())
        time = self._time(parts, clock)
        speaker = speaker_name(parts.get("speaker") or "")
        kind = Kind.MESSAGE if speaker and text else Kind.SYSTEM
        done = _DONE.fullmatch(text) if not speaker else None
        if done is not None:
            kind, speaker, text = Kind.ACTION, speaker_name(done[1]), done[2]
        elif _TOPIC.match(speaker):
            kind, speaker, text = Kind.SYSTEM, "", f"{speaker}: {text}"
        report.kinds[kind] += 1
        return Message(speaker, text or found[0], time=time, kind=kind, line=number)

    def _time(self, parts: dict[str, str | None], clock: Clock) -> datetime | None:
        if self.offsets:
            return _offset(parts)
        if self.form in CLOCKS:
            return clock.at(None, *(parts.get(name) for name in ("h", "m", "s", "zone", "half")))
        return time_of(parts, day_first=self.day_first, year=self._year) if self.form else None


def _begin(line: str, template: Template) -> re.Match[str] | None:
    """Match a line that begins a message, or another line with a time."""
    found = template.begin(line)
    if found is not None and template.own_line and _NO_SPEAKER.search(found["speaker"]):
        return None
    return found


def _are_offsets(matches: Sequence[Mapping[str, str | None]]) -> bool:
    """Whether times count from the beginning of a recording: only a clock writes hour zero as two digits."""
    return bool(matches) and matches[0].get("h") == "0" and not any(each.get("half") for each in matches)


def _offset(parts: dict[str, str | None]) -> datetime | None:
    numbers = [int(parts[name] or 0) for name in ("h", "m", "s") if parts.get(name)]
    seconds = sum(number * 60**power for power, number in enumerate(reversed(numbers)))
    return datetime(1, 1, 1) + timedelta(seconds=seconds)


def _head(source: Source) -> list[str]:
    if looks_like_page(source.head_text):
        head = Source(source.name, lambda: BytesIO(source.head_text))
        return list(islice(page_lines(head), _HEAD_LINES))
    return [line.decode("utf-8", errors="replace") for line in source.head_lines]


def _induced(source: Source) -> Induced | None:
    if not looks_like_page(source.head_text):
        return induce(tuple(source.head_lines))
    return induce(tuple(line.encode("utf-8", errors="replace") for line in _head(source)))
