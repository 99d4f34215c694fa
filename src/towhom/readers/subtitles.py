"""Transcripts as subtitles: WebVTT and SubRip whose cues name the speakers."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Self

from towhom.chat import Kind, Message
from towhom.readers.base import MAX_MESSAGE, Folder, Reader, Record, Report, Source

_CLOCK = r"(?:(?P<h>\d{1,4}):)?(?P<m>\d{1,2}):(?P<s>\d{1,2})(?:[.,](?P<f>\d{1,7}))?"
_CUE = re.compile(rf"\s*{_CLOCK}(?:\s*-->\s*[\d:.,]+|,\d{{1,2}}:\d\d:\d\d\.\d{{3}}\s*$)")
_BEGINS = re.compile(rb"-->|^\s*\d{1,2}:\d\d:\d\d\.\d{3},\d")
_IDENTIFIED = re.compile(r'\s*\d{1,6} "(?P<name>[^"]{1,100})" \(-?\d{1,20}\)\s*')
"""Webex's line above a cue: the cue's number, the speaker, and the speaker's number."""
_VOICE = re.compile(r"<v(?:\.[\w.-]{1,100})?\s+(?P<name>[^<>]{1,200})>")
_TAG = re.compile(r"</?[a-zA-Z0-9:][^<>]*+>|\{\\[^{}]*+\}")
_NAME = r"[^\W\d_][^:<>\[\]()\n]{0,39}"
_NAMED = re.compile(
    rf"(?:-\s*)?(?:\[(?P<a>{_NAME})\]:?|\((?P<b>{_NAME})\):?|(?P<c>{_NAME})(?:\s*\([^()\n]{{1,30}}\))?:)(?:\s+|$)(?P<text>.*)",
    re.DOTALL,
)
_DASH = re.compile(r"[-–]\s*(?=\S)")
_ENDS = tuple('.?!…。？！"”»)')
_START = datetime(1, 1, 1)
_MOST_WORDS = 5
_FEWEST = 3
_ALONE = re.compile(r"[^\W\d_][^:<>\[\]()\n?!,;]{0,39}")
_PAUSE = 4.0
"""Seconds of silence after which a new message begins even in the middle of a sentence."""


class Subtitles(Reader):
    """Cues. A sentence that continues in the next cue of the same speaker is one message."""

    name = "subtitles"
    title = "transcript with speakers (WebVTT, SubRip: .vtt, .srt)"

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Look for a WebVTT header, or a number and a time with an arrow; and for cues that name speakers."""
        if isinstance(source, Folder) or not source.head_lines:
            return False
        if source.head_lines[0].startswith(b"WEBVTT"):
            return True
        lines = [line.decode("utf-8", errors="replace") for line in source.head_lines]
        if not any(_CUE.match(line) for line in lines[:2]):
            return False
        if _are_named_above(lines):
            return True
        spoken = [line for line in lines if not _CUE.match(line) and not line.strip().isdecimal()]
        return sum(_speaker(line) is not None for line in spoken) * 10 >= len(spoken) > 0

    def __init__(self, *, named_above: bool = False) -> None:
        self.named_above = named_above
        """Whether the first line of every cue is the speaker's name, alone or in parentheses."""

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Find out where the names are."""
        if isinstance(source, Folder):
            return cls()
        lines = [line.decode("utf-8", errors="replace") for line in source.head_lines]
        return cls(named_above=_are_named_above(lines))

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield lines, and limit the length of a cue.

        Raises:
            LogError: A cue is megabytes long.
        """
        length = 0
        for number, line in source.lines() if isinstance(source, Source) else ():
            length = 0 if _BEGINS.search(line) else length + len(line)
            if length > MAX_MESSAGE and isinstance(source, Source):
                raise source.too_long("message", line=number + 1)
            yield number, line

    def key(self, record: Record) -> str | None:
        """Always None: a transcript is one document."""
        return None

    def begins(self, record: Record) -> bool:
        """Whether the line has the time of a cue."""
        return _BEGINS.search(record[1]) is not None

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """Yield a message for each cue, or for several cues that form one sentence."""
        waiting: Message | None = None
        speaker = None
        for number, time, lines in _cues(records, report):
            if self.named_above and len(lines) > 1:
                lines[0] = f"<v {lines[0].strip().strip('()')}>"
            for name, text in _turns(lines):
                speaker = name or speaker
                if not text:
                    continue
                if speaker is None:
                    report.skip("no cue so far says who speaks", file=file, record=number)
                    continue
                message = Message(speaker, text, time=time, line=number)
                if waiting is not None and _goes_on(waiting, message):
                    joined = f"{waiting.text} {text}"
                    waiting = Message(speaker, joined, time=waiting.time, line=waiting.line)
                    continue
                if waiting is not None:
                    report.kinds[Kind.MESSAGE] += 1
                    yield waiting
                waiting = message
        if waiting is not None:
            report.kinds[Kind.MESSAGE] += 1
            yield waiting


def _cues(records: Iterable[Record], report: Report) -> Iterator[tuple[int, datetime | None, list[str]]]:
    """Yield the line number, start time and lines of each cue."""
    begun: tuple[int, datetime | None, list[str]] | None = None
    above: list[str] = []
    for number, raw in records:
        line = report.decode(raw)
        found, identified = _CUE.match(line), _IDENTIFIED.fullmatch(line)
        if found is not None:
            if begun is not None:
                yield begun
            begun, above = (number, _time(found), above), []
        elif identified is not None:
            above = [f"<v {identified['name']}>"]
        elif begun is not None:
            if line.strip():
                begun[2].append(line)
            elif begun[2]:
                yield begun
                begun = None
    if begun is not None:
        yield begun


def _are_named_above(lines: Sequence[str]) -> bool:
    """Whether every cue begins with a line that is one of a few names."""
    first = [
        lines[place + 1].strip()
        for place, line in enumerate(lines[:-2])
        if _CUE.match(line) and not (_CUE.match(lines[place + 2]) or lines[place + 2].strip().isdecimal())
    ]
    cues = sum(_CUE.match(line) is not None for line in lines[:-2])
    if len(first) < _FEWEST or len(first) < cues or len(set(first)) * 3 > len(first) * 2:
        return False
    names = [name.strip("()") for name in first]
    return len(set(names)) > 1 and all(
        _ALONE.fullmatch(name) and not name[0].islower() and len(name.split()) <= _MOST_WORDS
        for name in names
    )


def _time(found: re.Match[str]) -> datetime | None:
    parts = {name: int(found[name] or 0) for name in "hms"}
    try:
        return _START + timedelta(
            hours=parts["h"],
            minutes=parts["m"],
            seconds=parts["s"],
            milliseconds=int((found["f"] or "0").ljust(3, "0")[:3]),
        )
    except OverflowError:
        return None


def _turns(lines: list[str]) -> Iterator[tuple[str | None, str]]:
    """Yield speakers and texts in a cue: a line with a name or a dash in front begins a turn."""
    speaker: str | None = None
    said: list[str] = []
    for line in lines:
        named = _speaker(line)
        dashed = len(lines) > 1 and _DASH.match(line) is not None
        if (named or dashed) and (said or speaker):
            yield speaker, " ".join(said).strip()
            speaker, said = None, []
        if named:
            speaker = named[0]
        text = named[1] if named else _DASH.sub("", line, count=1) if dashed else line
        said.append(html.unescape(_TAG.sub("", text)).strip())
    yield speaker, " ".join(filter(None, said)).strip()


def _speaker(line: str) -> tuple[str, str] | None:
    """The speaker named in a line and the rest of the line; None if it names nobody."""
    voice = _VOICE.search(line)
    if voice is not None:
        return html.unescape(voice["name"]).strip(), line[: voice.start()] + line[voice.end() :]
    found = _NAMED.match(_TAG.sub("", line).strip())
    if found is None:
        return None
    name = (found["a"] or found["b"] or found["c"]).strip()
    capital = name[:1].isupper() or not name[:1].islower()
    if len(name.split()) > _MOST_WORDS or not (capital or found["text"]) or (not capital and not found["a"]):
        return None
    if (found["b"] or found["a"]) and not found["text"]:  # (laughter)
        return None
    return name, found["text"]


def _goes_on(before: Message, after: Message) -> bool:
    """Whether a message continues the sentence of the message before it."""
    if before.speaker != after.speaker or before.text.endswith(_ENDS) or len(before.text) > 2000:
        return False
    if before.time is None or after.time is None or after.line == before.line:
        return after.line == before.line
    # A rough estimate of when the first ended: people say about fifteen letters a second.
    return (after.time - before.time).total_seconds() < _PAUSE + len(before.text) / 10
