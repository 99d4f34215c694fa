"""A report as a single HTML page with numbers, drawings and the messages behind them; it requests nothing."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime
from importlib.resources import files
from typing import Any

import numpy as np

from towhom.report.columns import clock
from towhom.report.drawings import (
    WEEKDAYS,
    answers_round,
    answers_square,
    bar,
    duration,
    heatmap,
    over_time,
    shown,
    waits_bars,
    waits_ranges,
)
from towhom.report.measures import NO_YEAR, WAITS, Part, Report, year_of

_SLOT = re.compile(r"\{\{(\w+)\}\}")
_ROOMS = 60
"""Most rooms with their own sections; any others appear only in the table of rooms."""
_PEOPLE, _PEOPLE_OF_ROOM = (14, 20), (10, 12)
"""Most people in the two drawings of who answers whom; fewer for a room, since there may be many rooms."""
_LISTED = 8
"""Items of a list shown at first; the others are folded away."""
_FEW = 40
"""Most items of a list, including those folded away."""
_LINE = 240
"""Most characters of a message in a list."""
_MANY = 150_000
"""If a report has more messages than this, those behind the numbers are cut to fewer characters."""
_BOT, _QUESTION, _ANSWER, _SHOWN, _OPEN = 1, 2, 4, 8, 16
"""Flags of a message, as used by the script."""


def report_page(report: Report) -> str:
    """The complete page, including style, script and messages."""
    style, script = _part("page.css"), _part("page.js")
    whole = report.whole
    rooms = report.rooms[:_ROOMS] if len(report.rooms) > 1 else []
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": shown(report.title),
        "span": f"{_span(whole)}{_backwards(report)}",
        "style": style,
        "script": script,
        "switch": _switch(rooms),
        "whole": "\n".join(_sections(whole, report)),
        "templates": "\n".join(_template(part, report) for part in rooms),
        "method": _method(report),
        "data": _data(report),
    }
    template = _part("page.html")
    # In one pass, so that a message may contain text that looks like a slot.
    page = _SLOT.sub(lambda slot: parts[slot[1]], template)
    return page.encode("utf-8", "replace").decode()


def hashes() -> tuple[str, str]:
    """Hashes of the script and the style of every page, for the content security policy of a site."""
    return _hash(_part("page.js")), _hash(_part("page.css"))


def _part(name: str) -> str:
    return (files("towhom.report") / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _switch(rooms: list[Part]) -> str:
    if not rooms:
        return ""
    options = "".join(
        f'<option value="{part.room}">{shown(part.name)} ({part.messages:,})</option>' for part in rooms
    )
    return f'<label>Room <select id="room"><option value="-1">All rooms</option>{options}</select></label>'


def _template(part: Part, report: Report) -> str:
    return f'<template id="room{part.room}">{"".join(_sections(part, report))}</template>'


def _sections(part: Part, report: Report) -> Iterator[str]:
    people = report.columns.people
    if part.room is not None:
        yield f'<p class="span">Room <b dir="auto">{shown(part.name)}</b> · {_span(part)}</p>'
    yield _cards(part)
    if len(part.over_time) > 1:
        unit = f"{part.unit} by {part.unit}"
        yield _section(
            "Over time",
            f"What was said {unit}, how many people spoke, and how many conversations of two messages or "
            f"more began.",
            f'<div class="scroll">{over_time(part)}</div>',
        )
    if part.pairs:
        round_, square = _PEOPLE if part.room is None else _PEOPLE_OF_ROOM
        yield _section(
            "Who answers whom",
            "One answer is a message that replies to a message of somebody else: as the platform marks it, "
            "or as the "
            "model reads it. A ribbon is as wide at each end as that person answers the other, and has the "
            "colour of the "
            "one who answers more. Shown are those who talk most.",
            f'<div class="columns">{answers_round(part.pairs, people, round_)}'
            f'<div class="scroll">{answers_square(part.pairs, people, square)}</div></div>',
        )
    if part.helpers:
        yield _section(
            "Top helpers",
            "An answer is any message by somebody else, after the question, in a conversation that began "
            "with a question. First: how many questions this person answered first. Wait: how long those "
            "questions had waited, as the median.",
            _helpers(part, people),
        )
    if part.questions:
        yield _section("Time to first answer", _waits_sentence(part), _waits(part))
        yield _section(
            "Open questions",
            "Questions after which nobody else wrote in the conversation, or which the asker asked again "
            "without an answer (asked again). Below each question are the last messages of its conversation. "
            "The latest come first.",
            _open_questions(part, report),
            long=True,
        )
    if part.first is not None and part.first.year != NO_YEAR:
        yield _section(
            "Busiest hours",
            f"Messages by weekday and hour, {_zone(report)}.",
            f'<div class="scroll">{heatmap(part.busiest)}</div>',
        )
    if part.longest:
        yield _section(
            "Longest conversations",
            "By number of messages, with the line that opened them.",
            _longest(part, report),
            long=True,
        )
    if part.newcomers:
        alone = len(part.unanswered_newcomers)
        yield _section(
            "Newcomers without an answer",
            f"{_count(part.newcomers, 'person', 'people')} spoke for the first time after the beginning of "
            f"the log (its "
            f"first quarter, or two weeks of it). {alone:,} of them had no answer to anything within a week.",
            _newcomers(part, report),
            long=True,
        )
    if part.room is None and len(report.rooms) > 1:
        yield _section("Rooms", "The same numbers, room by room.", _rooms(report), long=True)


def _section(title: str, why: str, body: str, *, long: bool = False) -> str:
    kind = ' class="long"' if long else ""
    return f'<section{kind}><h2>{title}</h2><p class="why">{why}</p>{body}</section>'


def _cards(part: Part) -> str:
    answered = part.answered / part.questions if part.questions else 0
    cards = [
        ("all=1", *_counted(part.messages, "message"), _bots(part)),
        ("once=1", *_counted(part.people, "person", "people"), "who spoke; the first message of each"),
        ("starts=1", *_counted(part.conversations, "conversation"), "of two messages or more"),
        ("question=1", *_counted(part.questions, "question"), "that began a conversation"),
        ("answered=1", f"{answered:.0%}", "answered", f"{part.answered:,} had an answer from somebody else"),
        (
            "question=1&amp;answered=1",
            duration(part.waits.median),
            "median wait",
            _longest_wait(part),
        ),
        ("open=1", *_counted(part.open, "open question"), "no answer, or asked again since"),
        (
            "numbers=" + ",".join(map(str, part.unanswered_newcomers)),
            *(_counted(len(part.unanswered_newcomers), "newcomer") if part.newcomers else ("–", "newcomers")),
            _newcomers_of(part),
        ),
    ]
    items = []
    for query, number, what, why in cards:
        body = f"<b>{number}</b><strong>{what}</strong><small>{why}</small>"
        named = f' data-q="{query}" data-title="{what[0].upper()}{what[1:]}"'
        items.append(
            f"<li><button type='button'{named}>{body}</button></li>"
            if query
            else f"<li><div>{body}</div></li>"
        )
    return f'<ul class="cards">{"".join(items)}</ul>'


def _longest_wait(part: Part) -> str:
    if not part.answered:
        return "no answer yet" if part.questions else "nobody asked anything"
    if part.waits.ninetieth is None:
        return "the log has no times"
    return f"nine in ten within {duration(part.waits.ninetieth)}"


def _newcomers_of(part: Part) -> str:
    if part.newcomers:
        return f"without an answer, of {part.newcomers:,} who spoke for the first time"
    return "the log has no times" if part.first is None else "nobody spoke for the first time"


def _counted(number: int, one: str, many: str | None = None) -> tuple[str, str]:
    """A formatted number and the noun it counts."""
    figure, _, what = _count(number, one, many).partition(" ")
    return figure, what


def _bots(part: Part) -> str:
    return f"and {part.bots:,} of bots, not counted" if part.bots else "by people"


def _helpers(part: Part, people: list[str]) -> str:
    most = part.helpers[0].answers
    rows = "".join(
        f'<tr><td><button type="button" data-q="who={each.who}&amp;answer=1" data-title="Answers of '
        f'{shown(people[each.who])}">{shown(people[each.who])}</button></td>'
        f'<td class="bars">{bar(each.answers / most, "b")}</td><td>{each.answers:,}</td>'
        f'<td><button type="button" data-q="who={each.who}&amp;soonest=1" data-title="Questions that '
        f'{shown(people[each.who])} answered first">{each.first:,}</button></td>'
        f"<td>{each.people:,}</td><td>{duration(each.median)}</td></tr>"
        for each in part.helpers[:15]
    )
    head = (
        "<tr><th>Helper</th><th></th><th>answers</th><th>first</th><th>people helped</th><th>wait</th></tr>"
    )
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'


def _waits_sentence(part: Part) -> str:
    waits = part.waits
    if waits.median is None and not part.answered:
        return "None of the questions has been answered yet."
    if waits.median is None:
        answered = f"{part.answered:,} of {part.questions:,} had an answer."
        return f"{answered} The log has no times: how soon is not known."
    return (
        f"Half of the {waits.answered:,} answered questions had their first answer within "
        f"{duration(waits.median)}, nine in "
        f"ten within {duration(waits.ninetieth)}; {part.questions - part.answered:,} of {part.questions:,} "
        f"had none. The dot "
        "is the median, the ring above it the wait that one in ten exceeds, by the time at which the "
        "question was asked."
    )


def _waits(part: Part) -> str:
    if part.waits.median is None:
        return ""
    hours = [f"{hour:02}" for hour in range(24)]
    weekdays = waits_ranges(part.by_weekday, WEEKDAYS, "weekday", "Wait by weekday")
    if part.first is not None and part.first.year == NO_YEAR:
        weekdays = "<p>Not known: the log does not say the year.</p>"
    return (
        f'<div class="columns"><div><h3>How soon</h3>{waits_bars(part.within)}</div>'
        f"<div><h3>By hour</h3>{waits_ranges(part.by_hour, hours, 'hour', 'Wait by hour')}"
        f"<h3>By weekday</h3>{weekdays}</div></div>"
    )


def _open_questions(part: Part, report: Report) -> str:
    items = []
    for question in part.open_questions[:_FEW]:
        tried = "".join(f"<li>{_said(number, report)}</li>" for number in question.tried)
        kind, tag = ("again", "asked again") if question.again is not None else ("open", "no answer")
        items.append(
            f'<li class="{kind}"><p dir="auto">{_text(question.message, report)}</p>'
            f'<p class="facts"><span class="tag">{tag}</span> · {_facts(question.message, report)}</p>'
            f"{f'<ul>{tried}</ul>' if tried else ''}</li>"
        )
    left = part.open - len(items)
    note = (
        f'<p class="none">and {left:,} more: <button type="button" class="link" data-q="open=1" '
        'data-title="Open questions">all of them</button></p>'
        if left > 0
        else ""
    )
    return (
        _folded(items, "open questions") + note
        if items
        else '<p class="none">None: everything was answered.</p>'
    )


def _longest(part: Part, report: Report) -> str:
    items = [
        f'<li><p dir="auto">{_text(talk.message, report)}</p><p class="facts"><button type="button" '
        f'class="link" '
        f'data-q="thread={talk.message}" data-title="The conversation">{talk.count:,} messages</button> · '
        f"{_count(talk.people, 'person', 'people')} · "
        f"{'' if talk.seconds is None else f'{duration(talk.seconds)} · '}"
        f"{_facts(talk.message, report)}</p></li>"
        for talk in part.longest
    ]
    return _folded(items, "conversations")


def _newcomers(part: Part, report: Report) -> str:
    items = [
        f'<li class="open"><p dir="auto">{_text(number, report)}</p><p '
        f'class="facts">{_facts(number, report)}</p></li>'
        for number in part.unanswered_newcomers[:_FEW]
    ]
    return _folded(items, "newcomers") if items else '<p class="none">None: every newcomer had an answer.</p>'


def _rooms(report: Report) -> str:
    most = report.rooms[0].messages
    rows = []
    for place, part in enumerate(report.rooms):
        name = f"<bdi>{shown(part.name)}</bdi>"
        if place < _ROOMS:
            name = f'<button type="button" data-go="{part.room}">{name}</button>'
        answered = f"{part.answered / part.questions:.0%}" if part.questions else "–"
        rows.append(
            f'<tr><td>{name}</td><td class="bars">{bar(part.messages / most)}</td><td>{part.messages:,}</td>'
            f"<td>{part.people:,}</td><td>{part.conversations:,}</td><td>{part.questions:,}</td><td>{answered}</td>"
            f"<td>{duration(part.waits.median)}</td><td>{part.open:,}</td></tr>"
        )
    head = (
        "<tr><th>Room</th><th></th><th>messages</th><th>people</th><th>conversations</th><th>questions</th>"
        "<th>answered</th><th>median wait</th><th>open</th></tr>"
    )
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def _folded(items: list[str], what: str) -> str:
    first = f'<ul class="items">{"".join(items[:_LISTED])}</ul>'
    rest = items[_LISTED:]
    if not rest:
        return first
    more = f'<ul class="items">{"".join(rest)}</ul>'
    return f"{first}<details><summary>{len(rest)} more {what}</summary>{more}</details>"


# -- messages


def _text(number: int, report: Report) -> str:
    text = " ".join(report.columns.texts[number].split()) or "…"
    return shown(text if len(text) <= _LINE else text[:_LINE].rstrip() + "…")


def _said(number: int, report: Report) -> str:
    name = report.columns.people[report.columns.speaker[number]]
    return f'<b>{shown(name)}</b>: <span dir="auto">{_text(number, report)}</span>'


def _facts(number: int, report: Report) -> str:
    columns = report.columns
    time = clock(float(columns.time[number]))
    place = f"{columns.files[columns.file[number]]}:{columns.line[number] + 1}"
    rows = (
        f"<b>{shown(columns.people[columns.speaker[number]])}</b>",
        "" if time is None else f'<time datetime="{time.isoformat()}">{_when(time)}</time>',
        f"<bdi>{shown(columns.rooms[columns.room[number]])}</bdi>",
        f'<a href="#m{number}" title="{shown(place)}">message</a>',
    )
    return " · ".join(row for row in rows if row)


def _data(report: Report) -> str:
    """The compressed messages, which the script unpacks when a reader asks for those behind a number."""
    columns = report.columns
    most = 300 if len(columns) <= _MANY else 100
    flags = (
        columns.bot * _BOT + report.questions * _QUESTION + report.answers * _ANSWER + columns.shown * _SHOWN
    )
    flags[report.open] += _OPEN
    answered = np.flatnonzero(report.first_answers >= 0)
    value: dict[str, Any] = {
        "time": [None if np.isnan(time) else int(time) for time in columns.time.tolist()],
        "room": columns.room.tolist(),
        "speaker": columns.speaker.tolist(),
        "link": columns.link.tolist(),
        "thread": columns.thread.tolist(),
        "flags": flags.tolist(),
        "text": [shown_text(text, most) for text in columns.texts],
        "id": columns.ids,
        "people": columns.people,
        "rooms": columns.rooms,
        "answers": list(zip(answered.tolist(), report.first_answers[answered].tolist(), strict=True)),
        "waits": list(WAITS),
    }
    packed = gzip.compress(json.dumps(value, separators=(",", ":")).encode(), 6, mtime=0)
    return base64.b64encode(packed).decode()


def shown_text(text: str, most: int) -> str:
    """A text for the script, cut to `most` characters; not escaped, since the script shows it as text."""
    return text if len(text) <= most else text[:most] + "…"


# -- words


def _method(report: Report) -> str:
    hidden = report.asked_for.get("anonymous")
    lines = [
        "A <b>conversation</b> consists of messages that are connected by replies. Replies that the platform "
        "marks are taken as they are; otherwise, towhom’s model works them out from the chat. A single link "
        "that the model finds may be wrong, and so may a question that counts as open because of it.",
        "A <b>question</b> is a message that asks something, at the beginning of a conversation and before "
        "anybody else has written in it. It has a question mark, or ends as questions do in languages that "
        "have none.",
        "The <b>first answer</b> is the first message by anybody else in that conversation, helpful or not. "
        "Bots neither ask nor answer.",
        "A person is a name or an identifier in the log. People with several names count several times, "
        "unless the log says that they were renamed.",
        f"Times are {_zone(report)}.",
        "Select any number, bar, ribbon or cell to see the messages behind it.",
    ]
    if hidden:
        lines.append(
            "<b>Names are hidden</b>: those of all speakers, also in texts and in names of rooms and files, "
            "as well as mail addresses and telephone numbers. Names of people who never speak, nicknames, "
            "and what people say about themselves are not hidden."
        )
    made = [
        f"{name} {value}"
        for name, value in report.asked_for.items()
        if value and name not in ("anonymous", "zone")
    ]
    if made:
        lines.append(
            f"This report is limited to {shown(', '.join(made))}. The model has read everything else, too."
        )
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def _zone(report: Report) -> str:
    zone = report.asked_for.get("zone")
    return f"in the time zone {shown(str(zone))}" if zone else "by the clock of the log"


def _span(part: Part) -> str:
    if part.first is None or part.last is None:
        return f"{_count(part.messages, 'message')}, without dates"
    if part.first.date() == part.last.date():
        return f"{_day(part.first)}"
    return f"{_day(part.first)} – {_day(part.last)}"


def _backwards(report: Report) -> str:
    rooms = report.backwards
    if not rooms:
        return ""
    which = shown(", ".join(rooms[:3])) + (f" and {len(rooms) - 3:,} more" if len(rooms) > 3 else "")
    return f". <b>Times run backwards</b> in {which}: figures about answers are wrong there"


def _day(time: datetime) -> str:
    return f"{time.day} {time:%B}{year_of(time)}"


def _when(time: datetime) -> str:
    weekday = f"{time:%a} " if year_of(time) else ""
    return f"{weekday}{time.day} {time:%b}{year_of(time)}, {time:%H:%M}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
