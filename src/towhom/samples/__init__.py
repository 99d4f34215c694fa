"""Chats written for this package, to show it and to test it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from pathlib import Path


def sample_chat() -> AbstractContextManager[Path]:
    """A chat of a dozen people in three interleaved conversations, as a file."""
    return as_file(files("towhom.samples") / "makerspace.txt")
