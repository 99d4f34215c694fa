"""The drawings of a report as SVG, computed without scripts or network requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from html import escape
from math import cos, log10, pi, sin
from typing import NamedTuple

import numpy as np

from towhom.report.measures import Pair, Part, Span, Waits, year_of
from towhom.visible import visible

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WIDEST = 48
"""Greatest width of a bar and its margins, when there are few bars."""
_COLOURS = 10
"""Number of colours in the style sheet."""


def shown(text: str) -> str:
    """Text from a log, escaped for HTML and attributes."""
    return escape(visible(text))


def _name(text: str, most: int = 18) -> str:
    return shown(text if len(text) <= most else text[: most - 1] + "…")


def duration(seconds: float | None) -> str:
    """A duration in at most two units.

    >>> [duration(each) for each in (40, 901, 3600, 40168, 300000)]
    ['40 s', '15 min', '1 h', '11 h 9 min', '3 d 11 h']
    """
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours and days < 10 else f"{days} d"


def span_name(start: date, unit: str) -> str:
    """The label of a day, week, month or year."""
    if unit == "year":
        return str(start.year)
    if unit == "month":
        return f"{start:%B}{year_of(start)}"
    day = f"{start.day} {start:%b}{year_of(start)}"
    if unit == "week":
        return f"week of {day}"
    return f"{start:%a} {day}" if year_of(start) else day


# -- over time


def over_time(part: Part) -> str:
    """Charts of messages, people and conversations over time, one below the other."""
    rows: list[tuple[str, str, str, Callable[[Span], int]]] = [
        ("Messages", "a", "", lambda span: span.messages),
        ("People who speak", "b", "&once=1", lambda span: span.people),
        ("Conversations begun", "c", "&starts=1", lambda span: span.conversations),
    ]
    spans = part.over_time
    if not spans:
        return ""
    left, width, high, gap = 44, 900, 84, 34
    step = min((width - left) / len(spans), _WIDEST)
    pieces = []
    for row, (label, colour, more, value) in enumerate(rows):
        top = row * (high + gap) + 18
        most = max(max(map(value, spans)), 1)
        pieces.append(f'<text class="label" x="{left}" y="{top - 6}">{label}</text>')
        pieces += _levels(most, top, high, left, width)
        for place, span in enumerate(spans):
            tall = value(span) / most * high
            name = span_name(span.start, part.unit)
            bar = (
                f'<rect class="bar {colour}" x="{left + place * step + step * 0.1:.1f}" '
                f'y="{top + high - tall:.1f}"'
                f' width="{step * 0.8:.2f}" height="{tall:.1f}"><title>{name}: {value(span):,} '
                f"{label.lower()}"
                "</title></rect>"
            )
            pieces.append(_link(f"from={span.start}&unit={part.unit}{more}", bar) if value(span) else "")
    bottom = len(rows) * (high + gap) + 8
    years = spans[0].start.year != spans[-1].start.year
    every = max(1, -(-len(spans) // 9))
    for place in range(0, len(spans), every):
        start = spans[place].start
        month = str(start.year) if part.unit == "year" else f"{start:%b}{year_of(start)}"
        name = month if part.unit in ("month", "year") else f"{start.day} {month if years else f'{start:%b}'}"
        pieces.append(f'<text class="tick" x="{left + place * step:.1f}" y="{bottom - 8}">{name}</text>')
    return _svg(width, bottom, "Messages, people and conversations over time", pieces)


def _levels(most: int, top: float, high: float, left: float, width: float) -> list[str]:
    level = _round_level(most)
    y = top + high - level / most * high
    return [
        f'<line class="rule" x1="{left}" x2="{width}" y1="{top + high}" y2="{top + high}"/>',
        f'<line class="rule" x1="{left}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}"/>',
        f'<text class="tick end" x="{left - 6}" y="{y + 4:.1f}">{level:,}</text>',
    ]


def _round_level(most: int) -> int:
    """The largest of 1, 2 or 5 times a power of ten that is not above a number."""
    unit: int = 10 ** int(log10(max(most, 1)))
    return max(factor for factor in (unit, 2 * unit, 5 * unit) if factor <= most)


# -- who answers whom


class _Arc(NamedTuple):
    who: int
    start: float
    end: float


def answers_round(pairs: Sequence[Pair], people: Sequence[str], most: int) -> str:
    """The people who answer most, on a circle; a ribbon's end is as wide as that one answers the other."""
    chosen, counts = _closest(pairs, most)
    total = counts.sum()
    if len(chosen) < 3 or not total:
        return ""
    size, outer, inner = 620, 172.0, 160.0
    gap = 0.03
    scale = (2 * pi - gap * len(chosen)) / total
    arcs, at = [], -pi / 2
    for place in range(len(chosen)):
        end = at + counts[place].sum() * scale
        arcs.append(_Arc(place, at, end))
        at = end + gap
    pieces = _ribbons(counts, arcs, scale, inner, chosen, people)
    for arc in arcs:
        name = people[chosen[arc.who]]
        middle = (arc.start + arc.end) / 2
        x, y = cos(middle) * (outer + 10), sin(middle) * (outer + 10)
        turned = middle * 180 / pi
        side = "end" if cos(middle) < 0 else "start"
        if cos(middle) < 0:
            turned += 180
        count = int(counts[arc.who].sum())
        title = f"<title>{shown(name)} answers {count:,} times</title>"
        pieces.append(
            _link(
                f"who={chosen[arc.who]}&linked=1",
                f'<path class="p{arc.who % _COLOURS}" d="{_ring(arc, inner + 2, outer)}">{title}</path>',
            )
        )
        pieces.append(
            f'<text class="name {side}" transform="translate({x:.1f} {y:.1f}) rotate({turned:.1f})" dy="4">'
            f"{_name(name)}</text>"
        )
    half = size / 2
    body = [f'<g transform="translate({half} {half})">', *pieces, "</g>"]
    return _svg(size, size, "Who answers whom, as a circle", body, kind="round")


def _ribbons(
    counts: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    arcs: Sequence[_Arc],
    scale: float,
    radius: float,
    chosen: Sequence[int],
    people: Sequence[str],
) -> list[str]:
    ends: dict[tuple[int, int], tuple[float, float]] = {}
    for arc in arcs:
        at = arc.start
        # Nearest neighbours on the circle are drawn last, so that fewer ribbons cross.
        others = [(arc.who - step) % len(arcs) for step in range(1, len(arcs))]
        for other in others:
            wide = counts[arc.who, other] * scale
            ends[arc.who, other] = at, at + wide
            at += wide
    drawn = []
    for one in range(len(arcs)):
        for other in range(one + 1, len(arcs)):
            there, back = int(counts[one, other]), int(counts[other, one])
            if not there + back:
                continue
            first, second = people[chosen[one]], people[chosen[other]]
            colour = one if there >= back else other
            path = _ribbon(ends[one, other], ends[other, one], radius)
            title = (
                f"<title>{shown(first)} answers {shown(second)} {there:,} times, "
                f"{shown(second)} answers {shown(first)} {back:,} times</title>"
            )
            query = f"who={chosen[one]}&whom={chosen[other]}&both=1"
            drawn.append(
                (
                    there + back,
                    _link(query, f'<path class="ribbon p{colour % _COLOURS}" d="{path}">{title}</path>'),
                )
            )
    return [each for _, each in sorted(drawn, key=lambda pair: -pair[0])]


def _point(angle: float, radius: float) -> str:
    return f"{cos(angle) * radius:.1f} {sin(angle) * radius:.1f}"


def _ring(arc: _Arc, inner: float, outer: float) -> str:
    large = int(arc.end - arc.start > pi)
    return (
        f"M{_point(arc.start, outer)}A{outer} {outer} 0 {large} 1 {_point(arc.end, outer)}"
        f"L{_point(arc.end, inner)}A{inner} {inner} 0 {large} 0 {_point(arc.start, inner)}Z"
    )


def _ribbon(one: tuple[float, float], other: tuple[float, float], radius: float) -> str:
    large_one, large_other = int(one[1] - one[0] > pi), int(other[1] - other[0] > pi)
    return (
        f"M{_point(one[0], radius)}A{radius} {radius} 0 {large_one} 1 {_point(one[1], radius)}"
        f"Q0 0 {_point(other[0], radius)}A{radius} {radius} 0 {large_other} 1 {_point(other[1], radius)}"
        f"Q0 0 {_point(one[0], radius)}Z"
    )


def answers_square(pairs: Sequence[Pair], people: Sequence[str], most: int) -> str:
    """The same as a table: a row for each person who answers, a column for each person answered."""
    chosen, counts = _closest(pairs, most)
    if len(chosen) < 2:
        return ""
    cell, left, top = 24, 148, 120
    highest = max(int(counts.max()), 1)
    pieces = []
    for place, person in enumerate(chosen):
        name, at = _name(people[person]), place * cell + cell / 2
        pieces.append(f'<text class="name end" x="{left - 8}" y="{top + at + 4}">{name}</text>')
        pieces.append(
            f'<text class="name start" transform="translate({left + at + 4} {top - 8}) '
            f'rotate(-52)">{name}</text>'
        )
    for row, who in enumerate(chosen):
        for column, whom in enumerate(chosen):
            count = int(counts[row, column])
            x, y = left + column * cell, top + row * cell
            if row == column:
                pieces.append(
                    f'<rect class="self" x="{x}" y="{y}" width="{cell - 2}" height="{cell - 2}" rx="4"/>'
                )
                continue
            level = 0 if not count else 1 + int(7 * (count / highest) ** 0.5)
            title = f"<title>{shown(people[who])} answers {shown(people[whom])}: {count:,}</title>"
            square = (
                f'<rect class="heat h{min(level, 8)}" x="{x}" y="{y}" width="{cell - 2}" height="{cell - 2}"'
                f' rx="4">{title}</rect>'
            )
            label = f'<text class="cell{" on" * (level >= 6)}" x="{x + 11}" y="{y + 15}">{count}</text>'
            pieces.append(_link(f"who={who}&whom={whom}", square + label) if count else square)
    width, height = left + len(chosen) * cell + 60, top + len(chosen) * cell
    pieces.append(f'<text class="tick end" x="{left - 8}" y="{top - 12}">answers ↓ whom →</text>')
    return _svg(width, height, "Who answers whom, as a table", pieces, kind="square")


def _closest(
    pairs: Sequence[Pair], most: int
) -> tuple[list[int], np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    """The people who talk most, closest pairs next to each other, and how often each answers each."""
    weight: dict[int, int] = {}
    for pair in pairs:
        for person in (pair.who, pair.whom):
            weight[person] = weight.get(person, 0) + pair.count
    left = sorted(weight, key=lambda person: -weight[person])[:most]
    between: dict[tuple[int, int], int] = {}
    for pair in pairs:
        key = min(pair.who, pair.whom), max(pair.who, pair.whom)
        between[key] = between.get(key, 0) + pair.count
    order = left[:1]
    left = left[1:]
    while left:
        last = order[-1]
        nearest = max(left, key=lambda person: between.get((min(last, person), max(last, person)), 0))
        order.append(nearest)
        left.remove(nearest)
    place = {person: number for number, person in enumerate(order)}
    counts = np.zeros((len(order), len(order)), np.int64)
    for pair in pairs:
        if pair.who in place and pair.whom in place:
            counts[place[pair.who], place[pair.whom]] += pair.count
    return order, counts


# -- waiting


def waits_bars(within: Sequence[int]) -> str:
    """Bars for the number of questions answered within each waiting time."""
    names = ("1 min", "5 min", "15 min", "1 h", "4 h", "1 day", "3 days", "later", "not yet")
    most, total = max([*within, 1]), max(sum(within), 1)
    pieces = []
    for place, (name, count) in enumerate(zip(names, within, strict=True)):
        y, long = place * 26, count / most * 250
        label = name if place >= 7 else f"≤ {name}"
        bar = (
            f'<rect class="bar {"e" if place == 8 else "a"}" x="70" y="{y + 3}" width="{max(long, 1):.1f}" '
            f'height="18"'
            f' rx="3"><title>{count:,} of {total:,} questions</title></rect>'
        )
        pieces.append(f'<text class="tick end" x="62" y="{y + 17}">{label}</text>')
        pieces.append(_link(f"question=1&bin={place}", bar) if count else bar)
        pieces.append(
            f'<text class="tick" x="{76 + long:.1f}" y="{y + 17}">{count:,} · {count / total:.0%}</text>'
        )
    return _svg(420, 26 * len(names), "Questions by time to the first answer", pieces, kind="narrow")


def waits_ranges(waits: Sequence[Waits], labels: Sequence[str], key: str, title: str) -> str:
    """Median and ninetieth percentile of the wait for each hour or weekday, on a logarithmic scale."""
    left, width, high = 52, 520, 190
    longest = max((wait.ninetieth for wait in waits if wait.ninetieth is not None), default=3600)
    low, top = 1.5, log10(max(longest, 7200)) + 0.15  # from half a minute on, as powers of ten
    step = (width - left) / len(waits)

    def y_of(seconds: float) -> float:
        return high - (min(max(log10(max(seconds, 1)), low), top) - low) / (top - low) * (high - 16)

    pieces = []
    for seconds, name in (
        (60, "1 min"),
        (600, "10 min"),
        (3600, "1 h"),
        (6 * 3600, "6 h"),
        (86_400, "1 day"),
    ):
        if log10(seconds) > top:
            continue
        y = y_of(seconds)
        pieces.append(f'<line class="rule" x1="{left}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        pieces.append(f'<text class="tick end" x="{left - 6}" y="{y + 4:.1f}">{name}</text>')
    for place, (wait, label) in enumerate(zip(waits, labels, strict=True)):
        x = left + (place + 0.5) * step
        if len(waits) <= 7 or place % 3 == 0:
            pieces.append(f'<text class="tick mid" x="{x:.1f}" y="{high + 18}">{label}</text>')
        if wait.median is None or wait.ninetieth is None:
            continue
        hint = (
            f"<title>{label}: {wait.questions:,} questions, {wait.answered:,} answered; half within "
            f"{duration(wait.median)}, nine in ten within {duration(wait.ninetieth)}</title>"
        )
        mark = (
            f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{y_of(wait.median):.1f}"'
            f' y2="{y_of(wait.ninetieth):.1f}">{hint}</line>'
            f'<circle class="tail" cx="{x:.1f}" cy="{y_of(wait.ninetieth):.1f}" r="3.5">{hint}</circle>'
            f'<circle class="median" cx="{x:.1f}" cy="{y_of(wait.median):.1f}" r="5.5">{hint}</circle>'
        )
        pieces.append(_link(f"question=1&{key}={place}", mark))
    return _svg(width, high + 26, title, pieces)


# -- busiest hours


def heatmap(busiest: Sequence[Sequence[int]]) -> str:
    """A heat map of messages by weekday and hour."""
    cell, left, top = 34, 44, 20
    most = max([1, *(count for row in busiest for count in row)])
    pieces = [
        f'<text class="tick mid" x="{left + hour * cell + cell / 2}" y="13">{hour:02}</text>'
        for hour in range(0, 24, 3)
    ]
    for day, row in enumerate(busiest):
        y = top + day * 28
        pieces.append(f'<text class="tick end" x="{left - 8}" y="{y + 17}">{WEEKDAYS[day]}</text>')
        for hour, count in enumerate(row):
            level = 0 if not count else 1 + int(7 * count / most)
            title = f"<title>{WEEKDAYS[day]} {hour:02}:00–{(hour + 1) % 24:02}:00: {count:,} messages</title>"
            square = (
                f'<rect class="heat h{min(level, 8)}" x="{left + hour * cell}" y="{y}" width="{cell - 2}" '
                f'height="26"'
                f' rx="4">{title}</rect>'
            )
            pieces.append(_link(f"weekday={day}&hour={hour}", square) if count else square)
    return _svg(left + 24 * cell, top + 7 * 28, "Messages by weekday and hour", pieces)


def bar(share: float, kind: str = "a") -> str:
    """A small bar for a table cell; `share` is from 0 to 1."""
    wide = max(share, 0) * 120
    return (
        '<svg class="mini" viewBox="0 0 120 10" width="120" height="10" aria-hidden="true">'
        f'<rect class="bar {kind}" width="{wide:.1f}" height="10" rx="3"/></svg>'
    )


def _link(query: str, body: str) -> str:
    """An element that shows the messages behind it when it is selected."""
    return f'<g class="q" data-q="{escape(query)}">{body}</g>'


def _svg(width: float, height: float, title: str, pieces: Sequence[str], kind: str = "wide") -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}">'
        + "".join(pieces)
        + "</svg>"
    )
