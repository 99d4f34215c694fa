"""Describes errors for the log by kind and place; their texts, which may quote a chat, are left out."""

from __future__ import annotations

from pathlib import PurePath
from traceback import extract_tb

_SHOWN = 3


class JobError(Exception):
    """An error inside a worker; its text is what `described` returned there."""


def described(error: BaseException) -> str:
    """Text like `ValueError at session.py:120 < room.py:43`: innermost place first, without folders."""
    if isinstance(error, JobError):
        return str(error)
    frames = extract_tb(error.__traceback__)[: -_SHOWN - 1 : -1]
    places = [f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames]
    return f"{type(error).__name__} at {' < '.join(places)}"
