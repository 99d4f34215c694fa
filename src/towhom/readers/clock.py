"""Times of logs that have a clock time on every line, but a date only on some."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, timedelta

from towhom.readers.times import AFTERNOON, zone_of

UNDATED = date(1, 1, 1)
"""The first day assumed for a log without dates."""
_DAY_FORMATS = ("%Y%m%d", "%Y-%m-%d", "%a %b %d %H:%M:%S %Y", "%a %b %d %Y")


class Clock:
    """Times of a log that has a clock time on every line, but a date only on some.

    If the log has no dates, days count from the year 1. Each midnight begins the next day. Some old logs have
    a twelve-hour clock without AM or PM: if one o'clock follows twelve, and no hour was ever zero or above
    twelve, the next half of the day begins there.
    """

    def __init__(self, day: date) -> None:
        self.last: datetime | None = None
        self._start = datetime(day.year, day.month, day.day)
        self._half_days_only = True
        self._clock = -1
        self._seen: tuple[str | None, ...] | None = None

    def set_day(self, text: str) -> bool:
        """Set the day from the text of a line; return whether it could be parsed."""
        for form in _DAY_FORMATS:
            with suppress(ValueError):
                self.set_date(datetime.strptime(text, form).date())
                return True
        return False

    def set_date(self, day: date) -> None:
        """Set the day for the lines that follow."""
        self._start = datetime(day.year, day.month, day.day)
        self._clock = -1
        self._seen = None

    def midnight(self) -> datetime:
        """The start of the current day."""
        return self._start

    def at(
        self,
        day: str | None,
        hour: str | None,
        minute: str | None,
        second: str | None,
        zone: str | None = None,
        half: str | None = None,
    ) -> datetime | None:
        """The time of a line; None if it has no time, or an invalid one like 27:00."""
        if hour is None:
            return None
        if (day, hour, minute, second, zone, half) == self._seen:
            return self.last
        h, m, s = int(hour), int(minute or 0), int(second or 0)
        if half is not None:
            h = h % 12 + (12 if half in AFTERNOON else 0) if 1 <= h <= 12 else 24
            self._half_days_only = False
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
            except OverflowError:  # past the last day that `datetime` allows
                return None
            self._clock = clock
        if zone is not None:
            with suppress(ValueError):  # +99:00
                self.last = self.last.replace(tzinfo=zone_of(zone))
        self._seen = (day, hour, minute, second, zone, half)
        return self.last
