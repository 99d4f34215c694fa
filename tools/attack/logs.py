"""Damaged logs of every format: they lead only to towhom's own errors, or to valid messages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from tests.readers.exports import write
from tests.readers.hostile import damaged as damaged_files
from tests.readers.long import LONG

import towhom
from tools.attack.attack import Try
from towhom.errors import TowhomError
from towhom.testing.readers import assert_survives


@contextmanager
def hostile(folder: Path) -> Iterator[Try]:
    """Read small exports, damaged in one or two ways, in their own format and in the recognised one."""
    made = {what: build(12) for what, (_, build) in LONG.items()}

    def attempt(random: Random) -> int:
        what = random.choice(list(made))
        path = write(folder / "log", damaged_files(made[what], random))
        try:
            assert_survives(path, random.choice((LONG[what][0], None)))
            with suppress(TowhomError):
                for conversation in towhom.read(path):
                    assert all(isinstance(message.text, str) for message in conversation.messages)
        finally:
            shutil.rmtree(folder / "log")
        return 1

    yield attempt
