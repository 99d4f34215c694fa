"""A copy of all channels, made while a server goes on writing."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from towhom.errors import ConfigError
from towhom.serve.sqlite import FILE, check_whole


def back_up(folder: Path, copy: Path) -> int:
    """Copy the channels of a folder into a new file; returns how many there are in it.

    The copy is of one moment, however much is written meanwhile: it is read in one go, which no writer holds
    up and which holds up no writer. It has nothing of what was deleted. Only its owner may read it.

    Args:
        folder: Where a server keeps its channels, or has kept them.
        copy: A file that is not there yet.

    Raises:
        ConfigError: There are no channels, they are damaged, or the copy cannot be written.
    """
    source = folder / FILE
    if not source.is_file():
        raise ConfigError(f"data: there are no channels in {folder}; name the folder that the server uses")
    if copy.exists():
        raise ConfigError(f"{copy}: this file already exists; give the copy another name")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{copy.name}.", dir=copy.parent) as beside:
            made = Path(beside) / FILE
            # Made beforehand, so that it is never anybody else's to read.
            os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=rw", uri=True)) as channels:
                channels.execute("VACUUM INTO ?", (str(made),))
            with closing(sqlite3.connect(made)) as written:
                check_whole(written, made)
                count = int(written.execute("SELECT COUNT(*) FROM channels").fetchone()[0])
            _save(made)
            made.rename(copy)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"{copy}: the copy cannot be made ({error})") from error
    with suppress(OSError):
        _save(copy.parent)
    return count


def _save(path: Path) -> None:
    """See to it that a file, or what a folder lists, survives loss of power."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
