"""Rules of thumb that find conversations without a model, to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from towhom.chat import Message, seconds_since_1970
from towhom.hearing.protocol import resolve_addressees
from towhom.hearing.utterance import SPOKEN
from towhom.threads.placed import Placed

_RECENT = 5 * 60
"""Seconds; after a longer pause, a new conversation starts."""
_RECENT_MESSAGES = 50
"""The same in messages, for logs without times."""


def _previous(messages: list[Message], at: int) -> int | None:
    """The message before."""
    return at - 1 if at else None


def _addressee_else_own(messages: list[Message], at: int) -> int | None:
    """The addressee's last message, else the speaker's own last message."""
    to, me = messages[at].addressee, messages[at].speaker
    found = None if to is None else _last(messages, at, lambda earlier: earlier.speaker == to)
    return _last(messages, at, lambda earlier: earlier.speaker == me) if found is None else found


def _within_minutes(messages: list[Message], at: int) -> int | None:
    """The last message by the speaker, by the addressee, or to the speaker, unless it is too old."""
    new = messages[at]

    def of_ours(earlier: Message) -> bool:
        both = {new.speaker, new.addressee}
        return earlier.speaker in both or earlier.addressee == new.speaker

    found = _last(messages, at, of_ours)
    if found is None:
        return None
    then, now = messages[found].time, new.time
    if then is None or now is None:
        return found if at - found <= _RECENT_MESSAGES else None
    return found if seconds_since_1970(now) - seconds_since_1970(then) <= _RECENT else None


BASELINES: dict[str, Callable[[list[Message], int], int | None]] = {
    "previous-message": _previous,
    "addressee-else-own-last": _addressee_else_own,
    "within-minutes": _within_minutes,
}
"""Name -> a function that finds the message that one answers, if any."""


def place_by_rule(name: str, lines: Iterable[Message]) -> Iterator[Placed]:
    """Messages of one channel, placed by a rule of thumb. Names are resolved over the whole log."""
    rule, spoken, places = BASELINES[name], list[Message](), list[Placed]()
    for order, message in enumerate(resolve_addressees(lines)):
        line = order if message.line is None else message.line
        placed = Placed(message, line, (line,), line, 1.0)
        if message.kind in SPOKEN:
            spoken.append(message)
            found = rule(spoken, len(spoken) - 1)
            if found is not None:
                placed = Placed(message, line, (places[found].line,), places[found].thread, 1.0)
            places.append(placed)
        yield placed


def _last(messages: list[Message], at: int, wanted: Callable[[Message], bool]) -> int | None:
    return next((place for place in range(at - 1, -1, -1) if wanted(messages[place])), None)
