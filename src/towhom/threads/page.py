"""A channel on one page, by conversation: a file that needs no other host."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from html import escape
from importlib.resources import files
from itertools import groupby

from towhom.chat import Kind, Message, seconds_since_1970
from towhom.threads.placed import Placed
from towhom.threads.talks import Person, Talk, TalkMessage, gather

_OPEN = 1000
"""With more messages, conversations are closed at first, so that the page is a table of contents."""
_PAIRS = 20
"""Number of rows of "who helped whom"."""
_SURE = 0.6
"""Links that are less likely than this show their probability."""
_COLOURS = 6
"""Number of colours in the template."""
_NEAR = 4
"""Speakers within so many messages of each other in a conversation should differ in colour."""
_FIRST_WORDS = 110
_NAMES = 4
"""Number of people that a conversation's headline names."""

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def threads_page(placed: Iterable[Placed], title: str) -> str:
    """An HTML page to read, with its style and script.

    Conversations are in the order of their start; single messages come last. Lines such as joins are only
    counted. `towhom.threads.questions` defines unanswered questions.

    Args:
        placed: The messages of a log, in its order.
        title: The title of the page.
    """
    everything = list(placed)
    talks = gather(everything)
    said = [each for talk in talks for each in talk.said]
    people = sorted({each.who for each in said}, key=lambda who: who.number)
    _give_colours(talks, people)
    parts = {
        "title": escape(title),
        "span": _span(each.message for each in said),
        "counts": _counts(talks, len(people)),
        "people": _options(people),
        "helped": _helped(talks),
        "conversations": "\n".join(_sections(talks)) or "<p>Nobody says anything here.</p>",
        "left_out": _left_out(len(everything) - len(said)),
    }
    template = (files("towhom.threads") / "page.html").read_text("utf-8")
    # In one pass, since the text of a message may look like a slot.
    page = _SLOT.sub(lambda slot: parts[slot[1]], template)
    # Half a surrogate pair, which JSON can contain and UTF-8 cannot, becomes a question mark.
    return page.encode("utf-8", "replace").decode()


def _give_colours(talks: Iterable[Talk], people: Iterable[Person]) -> None:
    """Give people who talk with each other different colours, as far as there are enough."""
    near: defaultdict[Person, Counter[Person]] = defaultdict(Counter)
    for talk in talks:
        for place, said in enumerate(talk.said):
            for other in talk.said[max(0, place - _NEAR) : place]:
                near[said.who][other.who] += 1
                near[other.who][said.who] += 1
    seen: set[Person] = set()
    given: Counter[int] = Counter()
    for who in sorted(people, key=lambda who: who.names.total(), reverse=True):
        beside: Counter[int] = Counter()
        for neighbour, times in near[who].items():
            if neighbour in seen:
                beside[neighbour.colour] += times
        who.colour = min(range(_COLOURS), key=lambda colour: (beside[colour], given[colour]))
        given[who.colour] += 1
        seen.add(who)


# -- above and beside the conversations


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _counts(talks: Sequence[Talk], people: int) -> str:
    rows = [
        _count(sum(len(talk.said) for talk in talks), "message"),
        _count(sum(len(talk.said) > 1 for talk in talks), "conversation"),
        _count(people, "person", "people"),
        _count(sum(talk.unanswered for talk in talks), "unanswered question"),
    ]
    cells = [row.split(" ", 1) for row in rows]
    return "\n".join(f"<li><b>{number}</b> {what}</li>" for number, what in cells)


def _span(messages: Iterable[Message]) -> str:
    """The time span of the messages, with days."""
    times = _times(messages)
    if not times:
        return ""
    first, last = times[0], times[-1]
    zone = f" {escape(f'{last:%Z}')}" if last.tzinfo is not None else ""
    if first.date() == last.date():
        clocks = _clock(first) if _clock(first) == _clock(last) else f"{_clock(first)}–{_clock(last)}"
        return f"{_day(first)}, {clocks}{zone}"
    return f"{_day(first)}, {_clock(first)} – {_day(last)}, {_clock(last)}{zone}"


def _options(people: Iterable[Person]) -> str:
    options = []
    for who in sorted(people, key=lambda who: who.name.casefold()):
        others = "".join(f", {name}" for name in sorted(set(who.names) - {who.name}))
        label = f"{who.name}{others} ({who.names.total():,})"
        options.append(f'<option value="{who.number}">{escape(label)}</option>')
    return "\n".join(options)


def _helped(talks: Iterable[Talk]) -> str:
    """Who helps whom most often, as a table; nothing if nobody helps anybody."""
    pairs = Counter((said.who, talk.first.who) for talk in talks for said in talk.said if _helps(said, talk))
    if not pairs:
        return ""
    rows = "\n".join(
        f'<tr><th scope="row"><button type="button" disabled aria-pressed="false"'
        f' data-helper="{helper.number}" data-helped="{helped.number}">'
        f"{_name(helper)} <span>→</span> {_name(helped)}</button></th><td>{times:,}</td></tr>"
        for (helper, helped), times in pairs.most_common(_PAIRS)
    )
    return (
        '<aside><details id="helped" open><summary><h2>Who helped whom</h2></summary>\n'
        '<table><thead><tr><th scope="col">helper → helped</th><th scope="col">answers</th></tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></details></aside>"
    )


def _helps(said: TalkMessage, talk: Talk) -> bool:
    """Whether a message of somebody else answers the person who started the conversation."""
    asked = talk.first.who
    return said.who is not asked and any(each.who is asked for each in said.answers)


def _left_out(lines: int) -> str:
    return (
        f"<p>{_count(lines, 'line')} that nobody said (joins, renames and the like) left out.</p>"
        if lines
        else ""
    )


# -- the conversations


def _sections(talks: Sequence[Talk]) -> Iterator[str]:
    """The sections of the page: one per day, and at the end messages that nobody answered."""
    is_open = sum(len(talk.said) for talk in talks) <= _OPEN
    channels = len({talk.first.message.channel for talk in talks}) > 1
    several = [talk for talk in talks if len(talk.said) > 1]
    days = [(day, list(group)) for day, group in groupby(several, key=lambda talk: talk.day)]
    for day, group in days:
        heading = "Conversations" if len(days) == 1 or day is None else _day(day)
        yield f"<section>\n<h2>{heading}</h2>"
        yield from (_talk(talk, is_open=is_open, channels=channels) for talk in group)
        yield "</section>"
    alone = [talk for talk in talks if len(talk.said) == 1]
    if alone:
        yield _room(alone, is_open=is_open, channels=channels)


def _talk(talk: Talk, *, is_open: bool, channels: bool) -> str:
    people = [who.name for who in talk.people]
    more = f" and {len(people) - _NAMES} more" if len(people) > _NAMES else ""
    facts = [
        _count(len(talk.said), "message"),
        ", ".join(f"<bdi>{escape(name)}</bdi>" for name in people[:_NAMES]) + more,
        _clocks(talk),
        escape(talk.first.message.channel or "") if channels else "",
    ]
    mark = ' <span class="mark">unanswered</span>' if talk.unanswered else ""
    lines = "\n".join(_lines(talk))
    return (
        f'<details class="talk" style="--n:{len(talk.said)}"{" data-unanswered" * talk.unanswered}'
        f'{" open" * is_open}><summary><h3 dir="auto">{escape(_first_words(talk.first.message.text))}</h3>'
        f"<p>{' · '.join(filter(None, facts))}{mark}</p></summary>\n<ol>\n{lines}\n</ol></details>"
    )


def _room(alone: Sequence[Talk], *, is_open: bool, channels: bool) -> str:
    lines = []
    day: date | None = None
    for talk in alone:
        if talk.day is not None and talk.day != day:
            if day is not None:
                lines.append(_day_line(talk.day))
            day = talk.day
        mark = ' <span class="mark">unanswered</span>' if talk.unanswered else ""
        channel = f' <small dir="auto">{escape(talk.first.message.channel or "")}</small>' if channels else ""
        lines.append(_line(talk.first, data=" data-unanswered" * talk.unanswered, after=mark + channel))
    asked = sum(talk.unanswered for talk in alone)
    facts = f"{_count(len(alone), 'message')} that nobody took up"
    if asked:
        facts += f" · {_count(asked, 'question')}"
    return (
        f'<section>\n<details class="talk room" style="--n:{len(alone)}"{" open" * is_open}>'
        f"<summary><h2>Said into the room</h2><p>{facts}</p></summary>\n<ol>\n"
        + "\n".join(lines)
        + "\n</ol></details>\n</section>"
    )


def _lines(talk: Talk) -> Iterator[str]:
    before: TalkMessage | None = None
    day: date | None = None
    for each in talk.said:
        time = each.message.time
        if time is not None and time.date() != day:
            if day is not None:
                before = None
                yield _day_line(time)
            day = time.date()
        goes_on = before is not None and before.message.speaker == each.message.speaker
        data = f' data-helps="{talk.first.who.number}"' if _helps(each, talk) else ""
        yield _line(each, data=data, after="".join(_answers(each)), goes_on=goes_on)
        before = each


def _line(said: TalkMessage, *, data: str, after: str, goes_on: bool = False) -> str:
    message = said.message
    kinds = [f"c{said.who.colour}", *(["more"] if goes_on else [])]
    if message.kind is not Kind.MESSAGE:
        kinds.append(message.kind.value)
    time = message.time
    clock = f'<time datetime="{time.isoformat()}">{_clock(time)}</time>' if time is not None else ""
    to = f"<i>{escape(message.addressee)}:</i> " if message.addressee else ""
    text = f'{to}<span dir="auto">{escape(message.text)}</span>{after}'
    return (
        f'<li id="m{said.number}" data-who="{said.who.number}"{data} class="{" ".join(kinds)}">{clock}'
        f"<b>{escape(message.speaker)}</b><p>{text}</p></li>"
    )


def _answers(said: TalkMessage) -> Iterator[str]:
    """Links to the answered messages, with the probability if they are uncertain."""
    percent = f"{said.placed.probability:.0%}".replace("%", " %")
    unsure = f" <small>{percent}</small>" if said.placed.probability < _SURE else ""
    if said.placed.starts and unsure:
        yield f' <span class="re">starts here{unsure}</span>'
    for other in said.answers:
        time, own = other.message.time, said.message.time
        same_day = time is None or (own is not None and own.date() == time.date())
        when = "" if time is None else _clock(time) if same_day else _short_day(time)
        label = f"<bdi>{escape(other.message.speaker)}</bdi> {when}".rstrip()
        yield f' <a class="re" href="#m{other.number}" title="{percent} likely">↩ {label}{unsure}</a>'


def _first_words(text: str) -> str:
    words = " ".join(text.split())
    if len(words) <= _FIRST_WORDS:
        return words or "…"
    return words[:_FIRST_WORDS].rsplit(" ", 1)[0].rstrip(".,;:") + "…"


def _name(who: Person) -> str:
    return f'<bdi class="c{who.colour}">{escape(who.name)}</bdi>'


# -- times


def _times(messages: Iterable[Message]) -> list[datetime]:
    return sorted((each.time for each in messages if each.time is not None), key=seconds_since_1970)


def _clocks(talk: Talk) -> str:
    times = _times(each.message for each in talk.said)
    if not times:
        return ""
    first, last = times[0], times[-1]
    if first.date() != last.date():
        return f"{_clock(first)} – {_short_day(last)}"
    return _clock(first) if _clock(first) == _clock(last) else f"{_clock(first)}–{_clock(last)}"


def _clock(time: datetime) -> str:
    return f"{time:%H:%M}"


def _day(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B} {day.year}"


def _short_day(time: datetime) -> str:
    return f"{time.day} {time:%b %H:%M}"


def _day_line(day: date) -> str:
    return f'<li class="day">{_day(day)}</li>'
