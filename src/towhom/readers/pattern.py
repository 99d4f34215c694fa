r"""Text logs in a format of their own: its pattern is told by the user, or induced from the file.

A pattern is a line with names in braces where something stands: `[{time}] <{speaker}> {text}`. `{skip}` is
what does not matter; `\n` for the end of a line, where the text begins on the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime
from typing import Self

from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.readers.base import MAX_MESSAGE, Folder, Reader, Record, Report, Source
from towhom.readers.clock import UNDATED, Clock
from towhom.readers.induction import Induced, induce
from towhom.readers.template import Template
from towhom.readers.times import CLOCKS, FORMS, is_day_first, time_of

_DATE_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")


class Pattern(Reader):
    """Lines of one pattern. A line of no pattern goes on with the message before it."""

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
    ) -> None:
        self.template = template
        self.form = form
        self.day_first = day_first
        self.day = day
        self.sure = sure

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """A pattern can be induced, and what it finds is a chat."""
        return isinstance(source, Source) and _induced(source) is not None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """The pattern that is induced.

        Raises:
            LogError: There is none.
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
        """The pattern that the user tells; how its times are written is found out."""
        if isinstance(source, Folder):
            return cls()
        lines = _head(source)
        try:
            templates = [Template(options, form) for form in (FORMS if "{time}" in options else (None,))]
        except ValueError as error:
            raise LogError(f"the pattern {options!r} cannot be used: {error}", file=source.name) from error
        counts = [sum(template.match(line) is not None for line in lines) for template in templates]
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
        matches = [found.groupdict() for line in _head(source) if (found := template.match(line))]
        found = _DATE_IN_NAME.search(source.name)
        day = UNDATED
        if found:
            with suppress(ValueError):  # 20110231
                day = date(int(found[1]), int(found[2]), int(found[3]))
        return cls(template.text, template.form, day_first=is_day_first(matches), day=day, sure=sure)

    @property
    def options(self) -> str:
        """The pattern."""
        return self.template

    @property
    def assumption(self) -> str | None:
        """The pattern that was induced, and how sure that is."""
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
        """Lines.

        Raises:
            LogError: Too many of them in a row are of no pattern: that would be a message of megabytes.
        """
        length = 0
        for number, line in source.lines() if isinstance(source, Source) else ():
            length = 0 if self._begins(line) else length + len(line)
            if length > MAX_MESSAGE and isinstance(source, Source):
                raise source.too_long("message", line=number + 1)
            yield number, line

    def _begins(self, line: bytes) -> bool:
        return self._template.begin(line.decode("utf-8", errors="replace")) is not None

    @property
    def _template(self) -> Template:
        return Template(self.template, self.form)

    def key(self, record: Record) -> str | None:
        """The day, if the line has one."""
        if self.form is None or self.form in CLOCKS:
            return None
        found = self._template.begin(record[1].decode("utf-8", errors="replace"))
        time = time_of(found.groupdict(), day_first=self.day_first, year=self._year) if found else None
        return str(time.date()) if time else None

    @property
    def _year(self) -> int:
        return self.day.year if self.day != UNDATED else 4

    def begins(self, record: Record) -> bool:
        """Whether the line has the pattern, or its beginning."""
        return self._begins(record[1])

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """A message from each line of the pattern and those that go on with it."""
        template, clock = self._template, Clock(self.day)
        begun: tuple[int, re.Match[str], list[str]] | None = None
        for number, raw in records:
            line = report.decode(raw)
            found = template.match(line) or template.begin(line)
            if found is not None:
                if begun is not None:
                    yield self._message(begun, clock, report)
                begun = number, found, []
            elif begun is not None:
                begun[2].append(line)
            elif line.strip():
                report.skip("not a line of the pattern, and no message before it", file=file, record=number)
        if begun is not None:
            yield self._message(begun, clock, report)

    def _message(self, begun: tuple[int, re.Match[str], list[str]], clock: Clock, report: Report) -> Message:
        number, found, more = begun
        parts = found.groupdict()
        text = "\n".join([parts.get("text") or "", *more]).strip()
        time = self._time(parts, clock)
        speaker = (parts.get("speaker") or "").strip()
        kind = Kind.MESSAGE if speaker and text else Kind.SYSTEM
        report.kinds[kind] += 1
        return Message(speaker, text or found[0], time=time, kind=kind, line=number)

    def _time(self, parts: dict[str, str | None], clock: Clock) -> datetime | None:
        if self.form in CLOCKS:
            return clock.at(None, *(parts.get(name) for name in ("h", "m", "s", "zone", "half")))
        return time_of(parts, day_first=self.day_first, year=self._year) if self.form else None


def _head(source: Source) -> list[str]:
    return [line.decode("utf-8", errors="replace") for line in source.head_lines]


def _induced(source: Source) -> Induced | None:
    return induce(tuple(source.head_lines))
