"""Compute the numbers of a report, each with the messages that it was counted from."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from towhom.report.columns import Columns, Numbers, clock
from towhom.threads.questions import Turn, asked

FORMAT, VERSION = "towhom-report", 1

WAITS = (60, 300, 900, 3600, 4 * 3600, 86_400, 3 * 86_400)
"""Upper bounds of the bars of waiting times, in seconds."""
_PAIRS = 400
"""Most pairs of people in a report, those with the most answers first."""
_HELPERS = 25
_LONGEST = 12
_OPEN = 1000
"""Most open questions listed, the latest first; all are counted."""
_TRIED = 4
"""Most messages of an open question that show what was tried."""
_STEPS = 5
"""Fewest steps back in time for a room to count as running backwards."""
_PATIENCE = 7 * 86_400
"""Seconds after which a newcomer counts as unanswered."""
_SETTLED = timedelta(days=14)
"""People who first speak this early in a log do not count as newcomers."""
NO_YEAR = 4
"""The year of logs without years; their weekdays are unknown."""
_UNITS = ((62, "day"), (731, "week"), (7305, "month"))
"""Longest log, in days, that is shown by each unit; longer ones are shown by year."""


@dataclass
class Waits:
    """How long people wait for the first answer to a question, in seconds."""

    questions: int = 0
    answered: int = 0
    median: float | None = None
    ninetieth: float | None = None
    """The ninetieth percentile: nine in ten of the answered waited no longer."""

    @classmethod
    def of(cls, waits: Numbers) -> Waits:
        """Summarize waiting times in seconds; NaN is a question that nobody has answered."""
        known = waits[~np.isnan(waits)]
        if not len(known):
            return cls(len(waits), 0)
        return cls(len(waits), len(known), float(np.median(known)), float(np.quantile(known, 0.9)))


@dataclass
class Span:
    """A day, a week, a month or a year."""

    start: date
    messages: int
    people: int
    conversations: int


@dataclass
class Pair:
    """How often one person answers another."""

    who: int
    whom: int
    count: int


@dataclass
class Helper:
    """A person who answers other people's questions."""

    who: int
    answers: int
    """Number of their answers in conversations that began with somebody else's question."""
    first: int
    """Number of questions that they were the first to answer."""
    people: int
    """Number of people they helped."""
    median: float | None
    """Median wait in seconds for the questions that they were the first to answer; None if unknown."""


@dataclass
class Question:
    """An open question: nobody has answered it, or nobody has since it was asked again."""

    message: int
    again: int | None
    """The message that asks again, if somebody had answered before."""
    tried: list[int]
    """The last answers, and what the asker said after them."""


@dataclass
class Talk:
    """A conversation."""

    message: int
    """Its first message."""
    count: int
    people: int
    seconds: float | None
    """Seconds from the first message to the last; None if the log has no times."""


@dataclass
class Part:
    """The numbers of a room, or of all rooms; messages and people are given by their numbers in `Columns`."""

    name: str
    room: int | None
    """Number of the room; None for all rooms."""
    messages: int = 0
    bots: int = 0
    """Number of messages of programs, which count nowhere else."""
    people: int = 0
    conversations: int = 0
    """Number of conversations of two messages or more."""
    first: datetime | None = None
    last: datetime | None = None
    questions: int = 0
    answered: int = 0
    open: int = 0
    waits: Waits = field(default_factory=Waits)
    within: list[int] = field(default_factory=list)
    """Number of questions first answered within each of `WAITS`, later, and never."""
    by_hour: list[Waits] = field(default_factory=list)
    by_weekday: list[Waits] = field(default_factory=list)
    unit: str = "day"
    over_time: list[Span] = field(default_factory=list)
    busiest: list[list[int]] = field(default_factory=list)
    """Number of messages by weekday (Monday first) and hour."""
    pairs: list[Pair] = field(default_factory=list)
    helpers: list[Helper] = field(default_factory=list)
    open_questions: list[Question] = field(default_factory=list)
    longest: list[Talk] = field(default_factory=list)
    newcomers: int = 0
    unanswered_newcomers: list[int] = field(default_factory=list)
    """The first message of each newcomer whom nobody answered."""


@dataclass
class Report:
    """A report about some chats, as plain data; `to_json` has all of it except the messages not listed."""

    title: str
    columns: Columns
    whole: Part
    rooms: list[Part]
    questions: Numbers
    """Whether each message is the question that its conversation is about."""
    first_answers: Numbers
    """For each message, the number of its first answer; -1 if it is not a question or has no answer."""
    answers: Numbers
    """Whether each message is an answer in a conversation that began with somebody else's question."""
    open: list[int]
    """Numbers of all open questions."""
    asked_for: dict[str, Any] = field(default_factory=dict)
    """The settings of the report: filters, zone, whether names are hidden."""

    @property
    def backwards(self) -> list[str]:
        """Rooms whose times run backwards, so that the report's numbers on answers there are wrong."""
        columns = self.columns
        order = np.argsort(columns.room, kind="stable")
        room, step = columns.room[order], np.diff(columns.time[order])
        same = room[1:] == room[:-1]
        back = np.bincount(room[1:][same & (step < 0)], minlength=len(columns.rooms))
        on = np.bincount(room[1:][same & (step > 0)], minlength=len(columns.rooms))
        return [columns.rooms[number] for number in np.flatnonzero((back > on) & (back >= _STEPS)).tolist()]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON for programs, with people by name and messages by id."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "made_with": self.asked_for,
            "all": self._part(self.whole),
            "rooms": [self._part(part) for part in self.rooms],
        }

    def message(self, number: int) -> dict[str, Any]:
        """A message as JSON for programs."""
        columns = self.columns
        time = clock(float(columns.time[number]))
        return {
            "id": columns.ids[number],
            "room": columns.rooms[columns.room[number]],
            "time": None if time is None else time.isoformat(),
            "file": columns.files[columns.file[number]],
            "line": int(columns.line[number]),
            "speaker": columns.people[columns.speaker[number]],
            "text": columns.texts[number],
        }

    def _part(self, part: Part) -> dict[str, Any]:
        people = self.columns.people
        value = asdict(part)
        del value["room"]
        value["first"], value["last"] = _iso(part.first), _iso(part.last)
        value["over_time"] = [{**each, "start": each["start"].isoformat()} for each in value["over_time"]]
        value["pairs"] = [
            {"who": people[p.who], "whom": people[p.whom], "count": p.count} for p in part.pairs
        ]
        value["helpers"] = [{**asdict(each), "who": people[each.who]} for each in part.helpers]
        value["open_questions"] = [
            {
                **self.message(each.message),
                "asked_again": None if each.again is None else self.message(each.again),
                "tried": [self.message(number) for number in each.tried],
            }
            for each in part.open_questions
        ]
        value["longest"] = [
            {
                **self.message(each.message),
                "messages": each.count,
                "people": each.people,
                "seconds": each.seconds,
            }
            for each in part.longest
        ]
        value["unanswered_newcomers"] = [self.message(number) for number in part.unanswered_newcomers]
        return value


def measure(columns: Columns, title: str) -> Report:
    """Compute a report from columns of messages."""
    talks = _Talks(columns)
    whole = _part("All rooms", None, columns, talks)
    rooms = [_part(name, number, columns, talks) for number, name in enumerate(columns.rooms)]
    rooms = sorted((part for part in rooms if part.messages), key=lambda part: -part.messages)
    return Report(
        title, columns, whole, rooms, talks.question, talks.first_answer, talks.answer, list(talks.open)
    )


class _Talks:
    """Questions found in conversations, their answers, and which of them are open."""

    def __init__(self, columns: Columns) -> None:
        count = len(columns)
        self.question = np.zeros(count, bool)
        self.first_answer = np.full(count, -1, np.int32)
        self.answer = np.zeros(count, bool)
        self.open: dict[int, Question] = {}
        self.members: dict[int, Numbers] = {}
        """The first message of a conversation of two or more -> its messages, in order."""
        order = np.lexsort((np.arange(count), columns.thread))
        starts = np.flatnonzero(np.diff(columns.thread[order], prepend=-1)) if count else np.zeros(0, int)
        for members in np.split(order, starts[1:]) if count else []:
            if len(members) > 1:
                self.members[int(members[0])] = members
            self._understand(members.tolist(), columns)

    def _understand(self, members: list[int], columns: Columns) -> None:
        """Find the question of a conversation, its answers, and whether it is open."""
        speaker, texts, asks, bot = columns.speaker, columns.texts, columns.asks, columns.bot
        found = asked(Turn(speaker[n], texts[n], bool(asks[n]), not bot[n]) for n in members)
        if found is None:
            return
        first, answers = members[found.question], [members[place] for place in found.answers]
        self.question[first] = True
        self.answer[answers] = True
        if answers:
            self.first_answer[first] = answers[0]
        if found.open:
            tried = sorted((*found.answers, *found.after))[-_TRIED:]
            again = None if found.again is None else members[found.again]
            self.open[first] = Question(first, again, [members[place] for place in tried])


def _part(name: str, room: int | None, columns: Columns, talks: _Talks) -> Part:
    shown = columns.shown if room is None else columns.shown & (columns.room == room)
    part = Part(name, room, bots=int((shown & columns.bot).sum()))
    there = shown & ~columns.bot
    numbers = np.flatnonzero(there)
    part.messages = len(numbers)
    part.people = len(np.unique(columns.speaker[numbers]))
    if not len(numbers):
        return part
    times = columns.time[numbers]
    if not np.isnan(times).all():
        part.first, part.last = clock(float(np.nanmin(times))), clock(float(np.nanmax(times)))
    _conversations(part, there, columns, talks)
    _questions(part, there, columns, talks)
    _over_time(part, numbers, columns, talks)
    _people(part, there, columns, talks)
    _newcomers(part, there, columns)
    return part


def _conversations(part: Part, there: Numbers, columns: Columns, talks: _Talks) -> None:
    started = [first for first in talks.members if there[first]]
    part.conversations = len(started)
    longest = sorted(started, key=lambda first: -len(talks.members[first]))[:_LONGEST]
    for first in longest:
        members = talks.members[first]
        times = columns.time[members]
        seconds = None if np.isnan(times).all() else float(np.nanmax(times) - np.nanmin(times))
        people = len(np.unique(columns.speaker[members]))
        part.longest.append(Talk(first, len(members), people, seconds))


def _questions(part: Part, there: Numbers, columns: Columns, talks: _Talks) -> None:
    asked = np.flatnonzero(there & talks.question)
    first = talks.first_answer[asked]
    part.questions, part.answered = len(asked), int((first >= 0).sum())
    waits = np.where(first >= 0, np.maximum(columns.time[first] - columns.time[asked], 0), np.nan)
    part.waits = Waits.of(waits)
    ends = np.searchsorted(WAITS, waits[~np.isnan(waits)], side="left")
    part.within = [*np.bincount(ends, minlength=len(WAITS) + 1).tolist(), part.questions - part.answered]
    times = columns.time[asked]
    known = ~np.isnan(times)
    hours, weekdays = hour_of(times[known]), weekday_of(times[known])
    part.by_hour = [Waits.of(waits[known][hours == hour]) for hour in range(24)]
    part.by_weekday = [Waits.of(waits[known][weekdays == day]) for day in range(7)]
    still = [talks.open[number] for number in asked[::-1].tolist() if number in talks.open]
    part.open = len(still)
    still.sort(key=lambda question: -np.nan_to_num(columns.time[question.message]))
    part.open_questions = still[:_OPEN]


def _over_time(part: Part, numbers: Numbers, columns: Columns, talks: _Talks) -> None:
    times = columns.time[numbers]
    numbers, times = numbers[~np.isnan(times)], times[~np.isnan(times)]
    part.busiest = np.zeros((7, 24), int).tolist()
    if not len(numbers):
        return
    cells = np.bincount(weekday_of(times) * 24 + hour_of(times), minlength=7 * 24)
    part.busiest = cells.reshape(7, 24).tolist()
    days = np.floor(times / 86_400).astype(int)
    length = days.max() - days.min() + 1
    part.unit = next((unit for most, unit in _UNITS if length <= most), "year")
    starts = [_start(date(1970, 1, 1) + timedelta(days=int(day)), part.unit) for day in np.unique(days)]
    start_of = dict(zip(np.unique(days).tolist(), starts, strict=True))
    messages: Counter[date] = Counter()
    people: dict[date, set[int]] = {}
    conversations: Counter[date] = Counter()
    speakers = columns.speaker[numbers]
    for day, speaker, number in zip(days.tolist(), speakers.tolist(), numbers.tolist(), strict=True):
        start = start_of[day]
        messages[start] += 1
        people.setdefault(start, set()).add(speaker)
        conversations[start] += number in talks.members
    start = starts[0]
    while start <= starts[-1]:
        part.over_time.append(Span(start, messages[start], len(people.get(start, ())), conversations[start]))
        start = _next(start, part.unit)


def _people(part: Part, there: Numbers, columns: Columns, talks: _Talks) -> None:
    speaker = columns.speaker
    whom = speaker[columns.link]
    linked = there & (speaker != whom) & ~columns.bot[columns.link]
    pairs = Counter(zip(speaker[linked].tolist(), whom[linked].tolist(), strict=True))
    part.pairs = [Pair(who, to, count) for (who, to), count in pairs.most_common(_PAIRS)]
    answers = np.flatnonzero(there & talks.answer)
    helped: dict[int, set[int]] = {}
    for who, to in zip(speaker[answers].tolist(), speaker[columns.thread[answers]].tolist(), strict=True):
        helped.setdefault(who, set()).add(to)
    waits: dict[int, list[float]] = {}
    for number in np.flatnonzero(talks.question & (talks.first_answer >= 0)).tolist():
        answer = talks.first_answer[number]
        if there[answer]:
            waits.setdefault(int(speaker[answer]), []).append(
                float(columns.time[answer] - columns.time[number])
            )
    for who, count in Counter(speaker[answers].tolist()).most_common(_HELPERS):
        known = [wait for wait in waits.get(who, []) if not np.isnan(wait)]
        median = float(np.median(known)) if known else None
        part.helpers.append(Helper(who, count, len(waits.get(who, [])), len(helped[who]), median))


def _newcomers(part: Part, there: Numbers, columns: Columns) -> None:
    """Count people who first speak after the log has begun, and list those nobody answers within a week."""
    of_room = np.ones(len(columns), bool) if part.room is None else columns.room == part.room
    said = np.flatnonzero(of_room & ~columns.bot & ~np.isnan(columns.time))
    if not len(said):
        return
    begin, end = float(columns.time[said].min()), float(columns.time[said].max())
    settled = begin + min(_SETTLED.total_seconds(), (end - begin) / 4)
    people, first = np.unique(columns.speaker[said], return_index=True)
    firsts = {int(who): int(said[place]) for who, place in zip(people, first, strict=True)}
    new = {who: number for who, number in firsts.items() if columns.time[number] > settled and there[number]}
    part.newcomers = len(new)
    whom = columns.speaker[columns.link]
    linked = np.flatnonzero(of_room & ~columns.bot & (columns.speaker != whom))
    answered = {
        to
        for number, to in zip(linked.tolist(), whom[linked].tolist(), strict=True)
        if to in new and columns.time[number] - columns.time[new[to]] <= _PATIENCE
    }
    alone = sorted((number for who, number in new.items() if who not in answered), reverse=True)
    part.unanswered_newcomers = alone


def hour_of(times: Numbers) -> Numbers:
    """Hour of the day of times in seconds."""
    return (times % 86_400 // 3600).astype(int)


def year_of(day: date) -> str:
    """The year as shown after a day and a month; empty for a log without years."""
    return "" if day.year == NO_YEAR else f" {day.year}"


def weekday_of(times: Numbers) -> Numbers:
    """Weekday of times in seconds; Monday is 0."""
    return ((np.floor(times / 86_400) + 3) % 7).astype(int)


def _start(day: date, unit: str) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "year":
        return day.replace(month=1, day=1)
    return day.replace(day=1) if unit == "month" else day


def _next(day: date, unit: str) -> date:
    if unit == "year":
        return day.replace(year=day.year + 1)
    if unit == "month":
        return (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return day + timedelta(days=7 if unit == "week" else 1)


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
