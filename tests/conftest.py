"""Generated chats for all tests."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Protocol

import pytest

from tests import skips

# Makes assertions of the public contracts show the compared values.
pytest.register_assert_rewrite("towhom.testing")

_SKIPS = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    session.config.stash[_SKIPS] = skips.check(session)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for reason in config.stash.get(_SKIPS, []):
        terminalreporter.write_line(f"skipped, and should not have been: {reason}", red=True)


SPEAKERS = ("ada", "bob", "cyd", "dee", "Eve_", "fay|afk", "gus`", "hal9")
WORDS = (
    "the", "kettle", "is", "on", "who", "took", "my", "soldering", "iron", "it's", "don't", "panic", "maybe",
    "tomorrow", "3,000", "screws", "and", "glue", "(really)", "ça", "va?", "ok.", ":)", "/dev/null",
)  # fmt: skip


class LogWriter(Protocol):
    """A function that writes an IRC log of some days and returns its path."""

    def __call__(
        self, name: str = ..., *, days: int = ..., lines: int = ..., seed: int = ..., bad: int = ...
    ) -> Path: ...


def irc_days(random: Random, *, days: int, lines: int) -> list[str]:
    """The lines of a log with day marks; about half of the messages address somebody."""
    log = []
    for day in range(days):
        log.append(f"# {20240101 + day}")
        log += [irc_line(random, minute) for minute in range(lines)]
    return log


def irc_line(random: Random, minute: int) -> str:
    """A random line: usually a message, with or without one of the forms of addressing somebody."""
    clock = f"[{minute // 60 % 24:02}:{minute % 60:02}]"
    speaker = random.choice(SPEAKERS)
    text = " ".join(random.choices(WORDS, k=random.randint(1, 8)))
    other = random.choice((*SPEAKERS, "nobody", "ADA", "the"))
    return random.choices(
        (
            f"{clock} <{speaker}> {text}",
            f"{clock} <{speaker}> {other}{random.choice(':,;')} {text}",
            f"{clock} <{speaker}> {other} {random.choice(':,;')} {text}",
            f"{clock} <{speaker}> {other}{random.choice(':,;')}{random.choice(('', ' ', 'x'))}",
            f"{clock} <{speaker}> {other} {text}",
            f"{clock}  * {speaker} {text}",
            f"=== {speaker} [~u@example.org] has joined #room",
        ),
        weights=(40, 40, 4, 4, 4, 4, 4),
    )[0]


@pytest.fixture
def write_log(tmp_path: Path) -> LogWriter:
    def write(name: str = "room.txt", *, days: int = 3, lines: int = 40, seed: int = 0, bad: int = 0) -> Path:
        path = tmp_path / name
        log = irc_days(Random(seed), days=days, lines=lines) + ["this is no line of a log"] * bad
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(log) + "\n", "utf-8")
        return path

    return write
