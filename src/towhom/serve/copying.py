"""Copies channels from one storage to another: all of them, or none."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from towhom.errors import ConfigError
from towhom.extras import require
from towhom.serve.sqlite import FILE, SqliteStorage

TABLES: Mapping[str, tuple[str, ...]] = {
    "channels": ("id", "name", "messages", "updated", "people", "first", "history"),
    "messages": ("channel", "number", "message", "observation", "received"),
    "snapshots": ("channel", "messages", "state"),
    "answers": ("channel", "key", "fingerprint", "first", "count"),
}
"""Tables to copy, with their columns, which have the same names in every storage."""
_TEXTS = {"messages": "length(message) + length(observation)", "snapshots": "length(state)"}
"""Table -> length of its texts, which is compared besides rows, so that a truncated text is noticed."""
_SQLITE = b"SQLite format 3\x00"
"""The first bytes of an SQLite file."""

Rows = Iterable[tuple[Any, ...]]


class Side(Protocol):
    """The source or the target of a copy."""

    def counts(self) -> dict[str, list[int]]:
        """The number of rows and of characters of each table."""

    def rows(self, table: str) -> Rows:
        """All rows of a table."""

    def add(self, table: str, rows: Rows) -> None:
        """Write rows."""

    def finish(self) -> None:
        """Commit what was added; before this, nothing of it is stored."""


def copy(source: str, target: str, *, running: bool = False) -> dict[str, int]:
    """Copy all channels; returns the number of rows of each table.

    Args:
        source: A folder, a file that `backup` made, or the address of a database.
        target: A folder or the address of a database, without any channels.
        running: Whether servers may use the source database meanwhile; what they write then is not copied.

    Raises:
        ConfigError: Source or target cannot be used, a server uses one of them, the target has channels
            already, or the copy differs from the source. Nothing is stored in the target then.
    """
    with _opened(source, "FROM", running=running) as given, _opened(target, "TO") as taken:
        if any(rows for rows, _ in taken.counts().values()):
            raise ConfigError(f"TO: there are channels in {_shown(target)}; give a place without any")
        for table in TABLES:
            taken.add(table, given.rows(table))
        expected, found = given.counts(), taken.counts()
        if expected != found:
            raise ConfigError(f"TO: the copy has {found}, expected {expected}; nothing was kept")
        taken.finish()
        return {table: rows for table, (rows, _) in found.items()}


def back_up_database(address: str, copied: Path) -> int:
    """Copy the channels of a database at one moment into a new file; returns the number of channels in it.

    Raises:
        ConfigError: The database cannot be read, or the copy cannot be written.
    """
    if copied.exists():
        raise ConfigError(f"{copied}: this file already exists; give the copy another name")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{copied.name}.", dir=copied.parent) as beside:
            counts = copy(address, beside, running=True)
            made = Path(beside) / FILE
            with closing(sqlite3.connect(made)) as written:
                # A single file, without the write-ahead log beside it.
                written.execute("PRAGMA journal_mode = DELETE")
            made.rename(copied)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"{copied}: the copy cannot be made ({error})") from error
    return counts["channels"]


@contextmanager
def _opened(place: str, side: str, *, running: bool = False) -> Iterator[Side]:
    if "://" in place:
        require("psycopg", extra="postgres", purpose="a PostgreSQL database")
        from towhom.serve.database_copy import opened

        with opened(place, side, running=running) as found:
            yield found
    elif Path(place).is_file():
        if side == "TO":
            raise ConfigError(f"TO: {place} is a file; give a folder, or the address of a database")
        with Path(place).open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                raise ConfigError(f"FROM: {place} is not a file that `towhom serve backup` made")
        with tempfile.TemporaryDirectory() as folder:  # so that the backup is not changed
            shutil.copy(place, Path(folder) / FILE)
            with _folder(Path(folder), side) as found:
                yield found
    else:
        if side == "FROM" and not (Path(place) / FILE).is_file():
            raise ConfigError(f"FROM: there are no channels in {place}; name the folder that the server uses")
        with _folder(Path(place), side) as found:
            yield found


@contextmanager
def _folder(folder: Path, side: str) -> Iterator[Side]:
    with closing(_Storage(folder)) as storage:
        try:
            storage.connection.execute("BEGIN")
            yield storage
        except sqlite3.Error as error:
            raise ConfigError(f"{side}: {folder} cannot be used ({error})") from error
        finally:
            with suppress(sqlite3.Error):
                storage.connection.execute("ROLLBACK")


class _Storage(SqliteStorage):
    """A folder that no server uses, within one transaction."""

    @property
    def connection(self) -> sqlite3.Connection:
        return self._writer

    def counts(self) -> dict[str, list[int]]:
        return {table: list(self.connection.execute(counted(table)).fetchone()) for table in TABLES}

    def rows(self, table: str) -> Rows:  # type: ignore[override]
        return self.connection.execute(f"SELECT {', '.join(TABLES[table])} FROM {table}")  # noqa: S608

    def add(self, table: str, rows: Rows) -> None:
        columns = TABLES[table]
        marks = ", ".join("?" * len(columns))
        self.connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608

    def finish(self) -> None:
        self.connection.execute("COMMIT")


def counted(table: str) -> str:
    """The query that counts the rows and characters of a table."""
    return f"SELECT count(*), coalesce(sum({_TEXTS.get(table, '0')}), 0) FROM {table}"  # noqa: S608


def _shown(place: str) -> str:
    """A folder or file, or just "the database", whose address may have a password."""
    return "the database" if "://" in place else place
