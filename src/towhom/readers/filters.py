"""Choose which messages to show by room, day and speaker. The model still reads the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, time
from difflib import get_close_matches

from towhom.chat import Message
from towhom.errors import LogError
from towhom.readers.identity import Located

_NAMED = 12
"""Most rooms or people named in an error."""


@dataclass(slots=True)
class Filter:
    """Chooses messages.

    Args:
        rooms: Rooms, with or without a # in front, in any case; all rooms if empty.
        since: The first moment; a time without a zone is in the log's own zone.
        until: The last moment; if it is the start of a day, that whole day is included.
        speakers: Names or identifiers of speakers, with or without an @ in front, in any case.
    """

    rooms: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    speakers: tuple[str, ...] = ()
    _rooms: dict[str, bool] = field(default_factory=dict)
    _people: dict[tuple[str, str | None], bool] = field(default_factory=dict)
    _undated: bool = False

    def __post_init__(self) -> None:
        if self.until is not None and self.until.time() == time():
            self.until = self.until.replace(hour=23, minute=59, second=59, microsecond=999_999)

    def __bool__(self) -> bool:
        return bool(self.rooms or self.speakers or self.since or self.until)

    def keeps(self, located: Located, name: str | None = None) -> bool:
        """Whether a message is shown.

        Args:
            located: The message.
            name: The speaker's display name, if the message does not have it.
        """
        message = located.message
        if self.rooms:
            if located.room not in self._rooms:
                self._rooms[located.room] = _same(located.room, self.rooms, "#")
            if not self._rooms[located.room]:
                return False
        if self.speakers:
            person = message.speaker, name or message.name
            if person not in self._people:
                self._people[person] = any(_same(each, self.speakers, "@") for each in person if each)
            if not self._people[person]:
                return False
        return self._in_time(message)

    def nothing_left(self, log: str) -> LogError:
        """The error for a log without any message to show; it names some of its rooms and people."""
        reasons = []
        for option, wanted, there in (
            ("--room", self.rooms, list(self._rooms)),
            ("--speaker", self.speakers, [name or id for id, name in self._people]),
        ):
            missing = [each for each in wanted if not any(_same(name, (each,), "#@") for name in there)]
            if missing and there:
                near = [name for each in missing for name in get_close_matches(each, there, cutoff=0.5)]
                named = list(dict.fromkeys([*near, *there]))
                more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
                reasons.append(
                    f"nothing is called {', '.join(missing)} ({option}); there are "
                    f"{', '.join(named[:_NAMED])}{more}"
                )
        if self._undated and not reasons:
            reasons.append("its messages have no dates, which --since and --until need")
        reason = "; ".join(reasons) or "it has no message that --room, --since, --until and --speaker allow"
        return LogError(reason, file=log)

    def _in_time(self, message: Message) -> bool:
        if self.since is None and self.until is None:
            return True
        moment = message.time
        if moment is None or moment.year == 1:  # a clock without a day, if any
            self._undated = True
            return False
        return not (
            (self.since is not None and _before(moment, self.since))
            or (self.until is not None and _before(self.until, moment))
        )


def _same(name: str, wanted: tuple[str, ...], mark: str) -> bool:
    bare = name.casefold().lstrip(mark)
    return any(each.casefold().lstrip(mark) == bare for each in wanted)


def _before(one: datetime, other: datetime) -> bool:
    """Whether a time is before another; if only one has a zone, the zone is ignored."""
    if (one.tzinfo is None) != (other.tzinfo is None):
        one, other = one.replace(tzinfo=None), other.replace(tzinfo=None)
    return one < other
