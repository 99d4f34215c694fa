"""The settings that decide when a bot speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from towhom.errors import ConfigError

_SECONDS = ("follow_up", "burst")
_COUNTS = ("bot_turns", "daily_cap")


@dataclass(frozen=True, slots=True)
class Policy:
    """When a bot speaks.

    Args:
        threshold: The least probability that a message is for the bot. Probabilities are calibrated: use 0.8
            for a bot that should rather stay silent, and 0.2 for one that must not miss anything.
        when_called: Whether it always answers a direct call (its name as a call, a mention, a reply to one
            of its messages), whatever the threshold.
        follow_up: Seconds after which a message that does not call the bot is no longer a follow-up, counted
            from the last message by the bot, or by the same person to the bot. None: no limit.
        only_called: Whether it answers only direct calls, and never follow-ups.
        remarks: Whether it also answers messages that neither call it nor want anything from it: `ok`, a
            smile, `orange it is` after it has said which colours there are. A message that answers a question
            of the bot, says that its answer was wrong, or adds to what it was asked is not a remark.
        commands: Prefixes of commands for the bot: `("/ask", "!weather")`. Other commands are for other
            programs.
        everybody: Whether it answers messages for everybody: `hi all`.
        yield_to_bots: Whether it stays silent if another bot is meant and it is not called itself.
        bot_turns: How many messages by other bots it answers before a person has to speak again. 0: none.
        burst: Seconds to wait for the rest when somebody splits a text into several messages. 0: no wait.
        daily_cap: How often it may speak in a day (UTC), in all rooms together. None: no limit.

    >>> Policy(threshold=0.8, burst=1.5).threshold
    0.8
    """

    threshold: float = 0.5
    when_called: bool = True
    follow_up: float | None = 600.0
    only_called: bool = False
    remarks: bool = False
    commands: tuple[str, ...] = ()
    everybody: bool = False
    yield_to_bots: bool = True
    bot_turns: int = 0
    burst: float = 0.0
    daily_cap: int | None = None

    def __post_init__(self) -> None:
        wrong = [
            sentence for field in fields(self) if (sentence := _wrong(field.name, getattr(self, field.name)))
        ]
        if wrong:
            raise ConfigError("; ".join(wrong))

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Make a policy from a mapping, such as one from JSON or TOML.

        Raises:
            ConfigError: A setting is unknown or invalid; the message lists all problems.
        """
        known = [field.name for field in fields(cls)]
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise ConfigError(f"unknown settings: {', '.join(unknown)}; known are {', '.join(known)}")
        commands = settings.get("commands", ())
        return cls(**{**settings, "commands": tuple(commands) if isinstance(commands, list) else commands})


def _wrong(name: str, value: object) -> str | None:
    """What is wrong with a setting; None if nothing is."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name == "threshold":
        good = number and 0 <= value <= 1  # type: ignore[operator]
        return None if good else f"threshold is {value!r}, not a number from 0 to 1"
    if name in _SECONDS:
        good = (value is None and name == "follow_up") or (number and 0 <= value < float("inf"))  # type: ignore[operator]
        return None if good else f"{name} is {value!r}, not a number of seconds"
    if name in _COUNTS:
        good = (value is None and name == "daily_cap") or (type(value) is int and value >= 0)
        return None if good else f"{name} is {value!r}, not a whole number from 0 on"
    if name == "commands":
        good = isinstance(value, tuple) and all(isinstance(each, str) and each.strip() for each in value)
        return None if good else f"commands is {value!r}, not a list of words that messages begin with"
    return None if isinstance(value, bool) else f"{name} is {value!r}, neither true nor false"
