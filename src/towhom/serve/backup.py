"""Copies all channels while a server goes on writing."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from towhom.errors import ConfigError
from towhom.serve.sqlite import FILE, check_whole


def back_up(folder: Path, copy: Path) -> int:
    """Copy the channels of a folder into a new file; returns the number of channels in it.

    The copy shows the channels at one moment, however much is written meanwhile. Readers and writers do not
    block each other. The copy has no traces of deleted content. Only its owner may read it.

    Args:
        folder: The data folder of a server, running or not.
        copy: The file to create; it must not exist yet.

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
            # Created beforehand with these permissions, so that nobody else can ever read it.
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
    """Make sure that a file, or the entries of a folder, survive a power cut."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
