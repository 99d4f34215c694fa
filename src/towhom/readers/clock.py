"""Times of logs that have a clock on every line, and the day only sometimes."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, timedelta

from towhom.readers.times import AFTERNOON, zone_of

UNDATED = date(1, 1, 1)
"""The day of a log that never says it."""
_DAY_FORMATS = ("%Y%m%d", "%Y-%m-%d", "%a %b %d %H:%M:%S %Y", "%a %b %d %Y")


class Clock:
    """Times of a log that has a clock on every line, and the day only sometimes.

    Where the log never says the day, days count from the year 1. Past midnight the day goes on. Some old
    logs have a clock of twelve hours and do not say which half of the day it is: where one o'clock follows
    twelve, and no hour was ever zero or above twelve, it is afternoon (or night) from there on.
    """

    def __init__(self, day: date) -> None:
        self.last: datetime | None = None
        self._start = datetime(day.year, day.month, day.day)
        self._half_days_only = True
        self._clock = -1
        self._seen: tuple[str | None, ...] | None = None

    def set_day(self, text: str) -> bool:
        """A line says which day it is; whether we can tell."""
        for form in _DAY_FORMATS:
            with suppress(ValueError):
                self.set_date(datetime.strptime(text, form).date())
                return True
        return False

    def set_date(self, day: date) -> None:
        """From here on, it is this day."""
        self._start = datetime(day.year, day.month, day.day)
        self._clock = -1
        self._seen = None

    def midnight(self) -> datetime:
        """When the current day began."""
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
        """The time of a line; None if it has none, or one like 27:00."""
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
            except OverflowError:  # past the last day that calendars have
                return None
            self._clock = clock
        if zone is not None:
            with suppress(ValueError):  # +99:00
                self.last = self.last.replace(tzinfo=zone_of(zone))
        self._seen = (day, hour, minute, second, zone, half)
        return self.last
