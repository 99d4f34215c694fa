"""Parse times as people and programs write them: ISO 8601, numbers in any order, month names, seconds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from towhom.readers.json_export import since_epoch

_CLOCK = (
    r"(?P<h>[0-9]{1,2})[:.](?P<m>[0-9]{2})(?:[:.](?P<s>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"(?:[ \u202f]?(?P<half>[AaPp])\.? ?[Mm]\b\.?)?"
)
_ZONES = {
    **{"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "WET": 0},
    **{"BST": 1, "CET": 1, "CEST": 2, "WEST": 1, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9, "KST": 9},
}
"""Names of zones -> hours ahead of UTC; ambiguous names are left out."""
_ZONE = (
    r"(?: ?(?P<zone>Z\b|(?:UTC|GMT)?[+-][0-9]{1,2}(?::?[0-9]{2})?\b|(?:UTC|GMT|"
    rf"{'|'.join(_ZONES)})\b)(?: ?\([^()]{{1,40}}\))?)?"
)
_YEAR_FIRST = r"(?P<Y>[0-9]{4})(?P<sep>[-/.]) ?(?P<M>[0-9]{1,2})(?P=sep) ?(?P<D>[0-9]{1,2})\.?"
_YEAR_LAST = r"(?P<a>[0-9]{1,2})(?P<sep>[-/.])(?P<b>[0-9]{1,2})(?P=sep)(?P<c>[0-9]{4}|[0-9]{2})"
_NO_YEAR_DATE = r"(?P<a>[0-9]{1,2})[/.](?P<b>[0-9]{1,2})\.?"
_WORD = r"[^\W\d_]{2,14}"
_WORD_OR_SIGN = r"[^\W\d_]{1,14}"
_WEEKDAYS = (
    "mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
    "|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend|mo|di|mi|do|fr|sa|so"
    "|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lun|mar|mer|jeu|ven|sam|dim"
    "|lunes|martes|miércoles|jueves|viernes|sábado|domingo|mié|jue|vie|sáb|dom"
    "|(?:segunda|terça|quarta|quinta|sexta)(?:-feira)?|seg|ter|qua|qui|sex"
    "|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|gio|sab"
    "|(?:maan|dins|woens|donder|vrij|zater|zon)dag|ma|wo|vr|za|zo"
    "|(?:mån|tis|tirs|ons|tors|fre|lör|lør|sön|søn)dag|mandag|mån|man|tis|tir|ons|tors?|fre|lör|lør|sön|søn"
    "|poniedziałek|wtorek|środa|czwartek|piątek|sobota|niedziela|pon|wt|śr|czw|pt|sob|niedz|nd"
    "|понедельник|вторник|среда|четверг|пятница|суббота|воскресенье|пн|вт|ср|чт|пт|сб|вс"
    "|pazartesi|salı|çarşamba|perşembe|cuma|cumartesi|pazar|pzt|sal|çar|per|cum|cmt|paz"
    "|pondělí|úterý|středa|čtvrtek|pátek|neděle|po|út|st|čt|pá|ne|(?:maanan|tiis|tors|perjan|lauan|sunnun)tai"
)
_WEEKDAY = rf"(?:(?i:{_WEEKDAYS})\.?,? )?"
"""A weekday's name. A pattern for any word would also match people's names in front of a date."""
_ANY_WEEKDAY = rf"(?:{_WORD}\.?,? )?"
_BETWEEN = r"(?:,? {1,2}(?:at |um |à |klo |kl\. |@ )?| - )"
_DAY_MONTH = (
    rf"{_WEEKDAY}(?P<D>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[ -](?P<month>{_WORD})\.?"
    r"(?:,?[ -](?P<Y>[0-9]{4})|-(?P<y>[0-9]{2})(?![0-9:]))?"
)
_MONTH_DAY = rf"{_WEEKDAY}(?P<month>{_WORD})\.? +(?P<D>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<Y>[0-9]{{4}}))?"
_CTIME = rf"{_WEEKDAY}(?P<month>{_WORD})\.? +(?P<D>[0-9]{{1,2}}) {_CLOCK}(?: [A-Z]{{3,5}})? (?P<Y>[0-9]{{4}})"

_EAST = (
    r"(?P<Y>[0-9]{4})[년年] ?(?P<M>[0-9]{1,2})[월月] ?(?P<D>[0-9]{1,2})[일日]"
    r"(?:,? ?\(?[월화수목금토일月火水木金土](?:요일|曜日)?\)?)?"
)
_EAST_CLOCK = (
    r"(?P<half>오전|오후|午前|午後|上午|下午) ?"
    r"(?P<h>[0-9]{1,2})[:시時] ?(?P<m>[0-9]{2})분?(?::(?P<s>[0-9]{2}))?"
)

_LATELY = (
    r"(?:Today|Yesterday|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Heute|Gestern|Hoy|Ayer|Hoje|Ontem|Hier"
    r"|Aujourd['’]hui|Oggi|Ieri)"
)

FORMS = {
    "year, month, day, half of the day and clock": rf"{_EAST},? ?{_EAST_CLOCK}",
    "year, month, day and clock": rf"{_EAST},? ?{_CLOCK}",
    "date, half of the day and clock": rf"{_YEAR_FIRST},? {_EAST_CLOCK}",
    "date and clock": rf"{_YEAR_FIRST}(?:T|,? (?:at )?| - ){_CLOCK}{_ZONE}",
    "day, month, year and clock": rf"(?:{_YEAR_LAST}|{_LATELY}){_BETWEEN}{_CLOCK}{_ZONE}",
    "weekday, month, day, clock and year": _CTIME,
    "day, name of the month and clock": rf"{_DAY_MONTH}{_BETWEEN}{_CLOCK}{_ZONE}",
    "name of the month, day and clock": rf"{_MONTH_DAY}{_BETWEEN}{_CLOCK}{_ZONE}",
    "clock and date": rf"{_CLOCK}{_ZONE},? {_YEAR_FIRST}",
    "clock, day, month and year": rf"{_CLOCK}{_ZONE},? {_YEAR_LAST}",
    "clock, day and name of the month": rf"{_CLOCK}{_ZONE},? {_DAY_MONTH}",
    "seconds since 1970": r"(?P<epoch>[0-9]{9,10}(?:\.[0-9]{1,9})?|[0-9]{13})",
    "half of the day and clock": _EAST_CLOCK,
    "day, month and clock": rf"{_NO_YEAR_DATE}{_BETWEEN}{_CLOCK}{_ZONE}",
    "clock": rf"(?:{_LATELY}{_BETWEEN})?{_CLOCK}{_ZONE}",
    "date": _YEAR_FIRST,
    "day, month and year": _YEAR_LAST,
    "day and name of the month": _DAY_MONTH,
    "name of the month and day": _MONTH_DAY,
}
"""Name of a form of writing a time -> its regular expression, longer forms first."""
CLOCKS = ("clock", "half of the day and clock")
"""The forms without a day."""

_PATTERNS = {name: re.compile(form.replace(_WEEKDAY, _ANY_WEEKDAY)) for name, form in FORMS.items()}
"""Patterns for texts that consist only of a time: weekdays may be in any language."""
_SHORT = re.compile(
    rf"(?:\b(?P<weekday>(?i:mon|tue|wed|thu|fri|sat|sun))[a-z]{{0,6}}\.?,? )?(?<![0-9]){_YEAR_LAST}(?![0-9])"
    rf"(?:{_BETWEEN}{_CLOCK})?"
)
AFTERNOON = ("p", "P", "오후", "午後", "下午")
_SPACES = str.maketrans({"\u202f": " ", "\xa0": " ", "\u200e": None, "\u200f": None})
_LONGEST = 80
_LONGEST_HEADING = 300
_RULES = " \t-–—=*#_~>|"
"""Characters around a day in a heading."""
_BEGUN = re.compile(
    r"(?:(?:Conversation|Chat) with .{1,200}? at|Session Start(?: \([^()]{0,100}\))?:|Session Time:"
    r"|Day changed(?: to)?"
    r"|(?:IRC )?(?:Log(?: session)?|Logging) (?:opened|started)(?: at)?:?"
    r"|Start logging at|BEGIN LOGGING AT|Date:) ",
    re.IGNORECASE,
)
"""Texts that clients write before the day on which a log begins or continues."""
_ENDED = re.compile(
    r"(?:Session Close\b|(?:IRC )?(?:Log(?: session)?|Logging) (?:closed|ended|stopped)\b"
    r"|(?:Stop|End|Ending) logging at |Transcribed by https?://"
    r"|.{1,60}님이 (?:나갔습니다|들어왔습니다|.{1,60}님을 초대했습니다)"
    r"|.{1,60} (?:left|joined) this chatroom\.$)",
    re.IGNORECASE,
)
"""Texts that clients write when a log ends, or when somebody comes or goes, without a time."""
_OR_WEEKDAY = rf"(?: ?\(?{_WORD_OR_SIGN}\.?\)?)?"
_DAYS = [
    re.compile(pattern.replace(_WEEKDAY, _ANY_WEEKDAY))
    for pattern in (
        _CTIME,
        rf"{_WEEKDAY}{_YEAR_FIRST}{_OR_WEEKDAY}",
        rf"{_WEEKDAY}{_YEAR_LAST}{_OR_WEEKDAY}",
        _DAY_MONTH,
        _MONTH_DAY,
        rf"{_EAST}(?: {_EAST_CLOCK})?",
    )
]
_THAI, _PERSIAN = (2400, 2700), (1300, 1500)
"""Ranges of years that can only be of the Thai and the Persian calendar."""
_NO_YEAR = 4
"""The year assumed for dates without a year: a leap year, so that 29 February exists."""
_MONTHS = (
    "jan|ene|gen|янв|janv|sty|led|oca|tam",
    "feb|fev|fév|фев|févr|lut|úno|şub|hel",
    "mar(?!ras)|mär|мар|maa|mrz|mrt|bře",
    "apr|abr|avr|апр|kwi|dub|nis|huh",
    "may|mai|mei|mag|мая|май|maj|kvě|tou",
    "jun|giu|июн|juin|cze|kes|haz|čvn",
    "jul|lug|июл|juil|lip|hei|tem|čvc",
    "aug|ago|aoû|авг|sie|srp|ağu|elo",
    "sep|set|сен|wrz|zář|eyl|syy",
    "oct|okt|ott|out|окт|paź|říj|eki|lok",
    "nov|ноя|lis|kas|marras",
    "dec|dez|dic|déc|дек|gru|pro|ara|jou",
)
"""Beginnings of the names of the twelve months, in the most common languages of exports."""
_MONTH = [re.compile(f"(?:{names})") for names in _MONTHS]


def parse_time(text: str, *, day_first: bool = True) -> datetime | None:
    """Parse a text that is a time with a day; None if it is not.

    >>> parse_time("Friday, May 31, 2024 at 5:16:34 PM UTC")
    datetime.datetime(2024, 5, 31, 17, 16, 34, tzinfo=datetime.timezone.utc)
    >>> parse_time("31.05.24, 17:16")
    datetime.datetime(2024, 5, 31, 17, 16)
    >>> parse_time("soon")
    """
    text = text.strip().translate(_SPACES)
    if not text or len(text) > _LONGEST:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for name, pattern in _PATTERNS.items():
        found = pattern.fullmatch(text)
        if found is not None and name not in CLOCKS:
            time = time_of(found.groupdict(), day_first=day_first)
            if time is not None:
                return time
    return None


def time_of(
    parts: Mapping[str, str | None], *, day_first: bool = True, year: int = _NO_YEAR
) -> datetime | None:
    """The time given by the matched groups of one of the `FORMS`; None if it does not exist."""
    if parts.get("epoch"):
        return _since_1970(str(parts["epoch"]))
    try:
        day = _day(parts, day_first, year)
        clock = clock_of(parts)
        if day is None or clock is None:
            return None
        return datetime(*day, tzinfo=zone_of(parts.get("zone"))) + clock
    except (ValueError, OverflowError):
        return None


def day_of(line: str, *, day_first: bool = True) -> date | None:
    """The day of a line that has nothing else: a heading, or a client's line for a new day; else None.

    >>> day_of("--------------- Friday, May 31, 2024 ---------------")
    datetime.date(2024, 5, 31)
    >>> day_of("Conversation with bob at Fri 31 May 2024 10:00:00 AM CEST on ada (jabber)")
    datetime.date(2024, 5, 31)
    >>> day_of("May 31 was a Friday")
    """
    if len(line) > _LONGEST_HEADING:
        return None
    text = line.translate(_SPACES).strip(_RULES)
    begun = _BEGUN.match(text)
    if begun is not None:
        text = text[begun.end() :]
    for pattern in _DAYS:
        found = pattern.match(text)
        if found is not None and (begun is not None or found.end() == len(text)):
            time = time_of({**found.groupdict(), "h": None}, day_first=day_first)
            if time is not None and time.year != _NO_YEAR:
                return time.date()
    return None


def is_end(line: str) -> bool:
    """Whether a line is one that a client writes when a log ends, or when somebody comes or goes.

    >>> is_end("# Stop logging at 2024-05-31 12:00:00 CEST"), is_end("stop it")
    (True, False)
    """
    return len(line) <= _LONGEST_HEADING and _ENDED.match(line.strip(_RULES)) is not None


def clock_of(parts: Mapping[str, str | None]) -> timedelta | None:
    """Time since midnight; zero if there is no clock time, None if it is invalid, like 27:00."""
    if not parts.get("h"):
        return timedelta()
    hour, minute, second = (int(parts.get(name) or 0) for name in "hms")
    half = parts.get("half")
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in AFTERNOON else 0)
    if hour > 23 or minute > 59 or second > 60:
        return None
    fraction = float(f"0.{parts['f']}") if parts.get("f") else 0.0
    return timedelta(hours=hour, minutes=minute, seconds=second, milliseconds=round(fraction * 1000))


def is_day_first(parts: Iterable[Mapping[str, str | None]]) -> bool:
    """Whether the day comes before the month, judging by dates that can be read in only one way.

    If there are none, a weekday next to a date decides; otherwise, a twelve-hour clock means that the month
    comes first.
    """
    parts = list(parts)
    dates = [each for each in parts if each.get("a")]
    if any(int(each["a"] or 0) > 12 for each in dates):
        return True
    if any(int(each["b"] or 0) > 12 for each in dates):
        return False
    weekdays = [each for each in dates if each.get("weekday")]
    for each in weekdays:
        by_day, by_month = (_weekday(each, first) for first in (True, False))
        if by_day != by_month:
            return by_day == str(each["weekday"])[:3].lower()
    return not any(each.get("half") for each in parts)


def _weekday(parts: Mapping[str, str | None], day_first: bool) -> str | None:
    """The weekday of a date, as three lower-case letters; None if there is no such date."""
    day = _day(parts, day_first, 1)
    with suppress(ValueError):
        return ("mon", "tue", "wed", "thu", "fri", "sat", "sun")[date(*day).weekday()] if day else None
    return None


def _day(parts: Mapping[str, str | None], day_first: bool, year: int) -> tuple[int, int, int] | None:
    if parts.get("a"):
        first, second = int(parts["a"] or 0), int(parts["b"] or 0)
        year = _full_year(int(parts["c"] or 0)) if parts.get("c") else year
        # An unambiguous date is read in the only possible order.
        month_last = second <= 12 if day_first else first > 12
        return common_date(year, second, first) if month_last else common_date(year, first, second)
    if parts.get("month"):
        month = month_number(str(parts["month"]))
        short = parts.get("y")
        year = int(parts.get("Y") or (_full_year(int(short)) if short else year))
        return None if month is None else (year, month, int(parts["D"] or 0))
    if parts.get("M"):
        return common_date(int(parts["Y"] or 0), int(parts["M"] or 0), int(parts["D"] or 0))
    return None


def common_date(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Convert a date of the Thai or Persian calendar, as some phones write it; leave others unchanged.

    >>> common_date(2564, 1, 2), common_date(1399, 10, 13), common_date(2021, 1, 2)
    ((2021, 1, 2), (2021, 1, 2), (2021, 1, 2))
    """
    if _THAI[0] <= year < _THAI[1]:
        return year - 543, month, day
    if not _PERSIAN[0] <= year < _PERSIAN[1] or not 1 <= month <= 12 or not 1 <= day <= 31:
        return year, month, day
    cycles, years = divmod(year - 979, 33)
    days = (year - 979) * 365 + cycles * 8 + (years + 3) // 4
    days += (month - 1) * 30 + min(month - 1, 6) + day - 1
    common = date(1600, 3, 20) + timedelta(days=days)
    return common.year, common.month, common.day


def _full_year(year: int) -> int:
    return year if year > 99 else 2000 + year if year < 70 else 1900 + year


def month_number(name: str) -> int | None:
    """Number of a month, by the beginning of its name in a dozen languages; None if unknown."""
    lower = name.lower()
    return next((number for number, pattern in enumerate(_MONTH, start=1) if pattern.match(lower)), None)


def zone_of(text: str | None) -> tzinfo | None:
    """The time zone of a text like +02:00, GMT+2 or Z; None for an empty text."""
    if not text:
        return None
    if text.strip() in _ZONES:
        return timezone(timedelta(hours=_ZONES[text.strip()]))
    digits = text.strip().removeprefix("UTC").removeprefix("GMT").replace(":", "")
    if digits in ("Z", ""):
        return UTC
    sign = -1 if digits[0] == "-" else 1
    hours, minutes = (digits[1:3], digits[3:]) if len(digits) > 2 else (digits[1:], "0")
    return timezone(sign * timedelta(hours=int(hours), minutes=int(minutes or 0)))


def _since_1970(text: str) -> datetime | None:
    whole, _, fraction = text.partition(".")
    try:
        if len(whole) == 13:
            return since_epoch(microseconds=int(whole) * 1000)
        return since_epoch(seconds=int(whole), microseconds=int(fraction[:6].ljust(6, "0") or 0))
    except ValueError:
        return None


def short_dates(lines: Iterable[str]) -> Iterator[Mapping[str, str | None]]:
    """Yield dates in some lines from which the order of day and month can be determined."""
    for line in lines:
        found = _SHORT.search(line)
        if found is not None:
            yield found.groupdict()
