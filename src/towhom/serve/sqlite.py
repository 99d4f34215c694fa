"""Stores channels in an SQLite file, for one server, with nothing to install."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from errno import ENOSPC
from pathlib import Path
from shutil import disk_usage
from time import time

from towhom.errors import ConfigError
from towhom.serve.storage import (
    REMEMBERED,
    Append,
    Change,
    Delete,
    Expire,
    Introduce,
    Keep,
    Kept,
    Keyed,
    LostError,
    News,
    NumberedRow,
    Owner,
    Page,
    Redact,
    Release,
    Replace,
    Row,
    Snapshot,
    new_history,
)

VERSION = 4
FILE = "channels.sqlite"
_LOCK = "lock.sqlite"
_SCHEMA = """
CREATE TABLE channels (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, messages INTEGER NOT NULL, updated REAL NOT NULL,
    people TEXT NOT NULL DEFAULT '[]', first INTEGER NOT NULL DEFAULT 0, history INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE messages (
    channel INTEGER NOT NULL, number INTEGER NOT NULL, message TEXT NOT NULL, observation TEXT NOT NULL,
    received REAL NOT NULL DEFAULT 0, PRIMARY KEY (channel, number)
) WITHOUT ROWID;
CREATE TABLE snapshots (channel INTEGER PRIMARY KEY, messages INTEGER NOT NULL, state TEXT NOT NULL);
CREATE TABLE answers (
    channel INTEGER NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
    first INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;
CREATE INDEX answers_in_order ON answers (channel, first);
CREATE TABLE checks (id INTEGER PRIMARY KEY, time REAL NOT NULL);
"""
_UPGRADES = {
    1: "ALTER TABLE channels ADD COLUMN people TEXT NOT NULL DEFAULT '[]';",
    2: """
        DROP INDEX answers_by_time;
        ALTER TABLE answers DROP COLUMN time;
        CREATE INDEX answers_in_order ON answers (channel, first);
    """,
    3: """
        ALTER TABLE channels ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE channels ADD COLUMN history INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE messages ADD COLUMN received REAL NOT NULL DEFAULT 0;
        UPDATE messages SET received = (SELECT updated FROM channels WHERE id = channel);
    """,
}
"""Older format version -> statements that upgrade it to the next."""
_PATIENCE = 2.0
"""Seconds to wait for other users of the file, such as a backup."""
_ROOM = 16 << 20
"""Free bytes below which a disk counts as full."""
_FORGETTING = (Redact, Expire, Delete, Replace)
_TABLES = ("channels", "messages", "snapshots", "answers", "checks")


class SqliteStorage:
    """Channels in an SQLite file. It contains chats, so only its owner may read it.

    Args:
        folder: Folder of the file; created if it does not exist.
        full: Whether a commit survives a power cut; if False, it survives any crash of the server.

    Raises:
        ConfigError: The folder cannot be used, another server uses it, a newer version wrote it, or it is
            damaged.
    """

    readers = 1
    shared = False

    def __init__(self, folder: Path, *, full: bool = False) -> None:
        mask = os.umask(0o077)
        try:
            with ExitStack() as opened:
                folder.mkdir(parents=True, exist_ok=True)
                opened.enter_context(closing(_locked(folder / _LOCK)))
                self._writer = opened.enter_context(closing(_connected(folder / FILE)))
                _prepare(self._writer, folder / FILE, full)
                self._path = folder / FILE
                self._identities = {path: _identity(path) for path in _files(self._path)}
                self._size = 0
                self._reader = opened.enter_context(closing(_connected(folder / FILE)))
                self._opened = opened.pop_all()
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"data: {folder} cannot be used to store channels ({error})") from error
        finally:
            os.umask(mask)

    def start(self, news: News) -> None:
        """See `Storage`. Does nothing: there are no other servers."""

    def claim(self, channel: str) -> Owner:
        """See `Storage`. The server that uses the folder owns all channels."""
        return Owner(0)

    def claimed(self, channel: str) -> int | None:
        """See `Storage`."""
        return 0

    def claims(self) -> list[str]:
        """See `Storage`."""
        return []

    def shares(self) -> tuple[int, int]:
        """See `Storage`."""
        return 0, 1

    def commit(self, changes: Sequence[Change]) -> None:
        """See `Storage`."""
        self.verify()
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            for change in changes:
                self._write(change)
            self._writer.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # some errors have rolled back already
                self._writer.execute("ROLLBACK")
            raise
        if any(isinstance(change, _FORGETTING) for change in changes):
            self._overwrite()
        self.verify()

    def verify(self) -> None:
        """See `Storage`. Writes to a deleted or replaced file succeed, but are lost when it is closed."""
        try:
            intact = all(_identity(path) == known for path, known in self._identities.items())
            size = self._path.stat().st_size
        except OSError as error:
            raise LostError from error
        if not intact or size < self._size:  # the server never shrinks the file
            raise LostError
        self._size = size

    def check(self) -> None:
        """See `Storage`. Reads through a newly opened connection, as after a restart."""
        self.verify()
        written = (time(),)
        self._writer.execute("INSERT OR REPLACE INTO checks VALUES (0, ?)", written)
        with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as anew:
            if anew.execute("SELECT time FROM checks WHERE id = 0").fetchone() != written:
                raise LostError
        if disk_usage(self._path.parent).free < _ROOM:
            raise OSError(ENOSPC, "there is no room left")

    def count(self) -> int:
        """See `Storage`."""
        return int(self._reader.execute("SELECT COUNT(*) FROM channels").fetchone()[0])

    def channels(self, after: str, limit: int) -> list[Kept]:
        """See `Storage`."""
        query = "SELECT name, messages, updated, first FROM channels WHERE name > ? ORDER BY name LIMIT ?"
        return [Kept(*row) for row in self._reader.execute(query, (after, limit))]

    def channel(self, name: str) -> Kept | None:
        """See `Storage`."""
        query = "SELECT name, messages, updated, first FROM channels WHERE name = ?"
        row = self._reader.execute(query, (name,)).fetchone()
        return None if row is None else Kept(*row)

    def page(self, channel: str, first: int, limit: int) -> Page | None:
        """See `Storage`."""
        query = """
            SELECT history, number, observation FROM channels
            LEFT JOIN messages ON channel = id AND number >= ? WHERE name = ? ORDER BY number LIMIT ?
        """
        rows = self._reader.execute(query, (first, channel, limit)).fetchall()
        if not rows:
            return None
        return Page(rows[0][0], [(number, text) for _, number, text in rows if number is not None])

    def messages(self, channel: str, first: int) -> list[str]:
        """See `Storage`."""
        query = """
            SELECT message FROM messages WHERE channel = (SELECT id FROM channels WHERE name = ?)
            AND number >= ? ORDER BY number
        """
        return [row[0] for row in self._reader.execute(query, (channel, first))]

    def rows(self, channel: str, first: int, limit: int) -> list[NumberedRow]:
        """See `Storage`."""
        query = """
            SELECT number, message, observation FROM messages
            WHERE channel = (SELECT id FROM channels WHERE name = ?) AND number >= ? ORDER BY number LIMIT ?
        """
        return self._reader.execute(query, (channel, first, limit)).fetchall()

    def older(self, before: float, after: str, limit: int) -> list[str]:
        """See `Storage`."""
        query = """
            SELECT name FROM channels JOIN messages ON channel = id AND number = first
            WHERE received < ? AND name > ? ORDER BY name LIMIT ?
        """
        return [row[0] for row in self._reader.execute(query, (before, after, limit))]

    def naming(self, quoted: str, channels: Sequence[str]) -> list[str]:
        """See `Storage`."""
        query = """
            SELECT name FROM channels WHERE name = :name AND (instr(people, :text) OR EXISTS (
                SELECT 1 FROM messages
                WHERE channel = id AND (instr(message, :text) OR instr(observation, :text))
            ))
        """
        execute = self._reader.execute
        return [name for name in channels if execute(query, {"text": quoted, "name": name}).fetchone()]

    def people(self, channel: str) -> str:
        """See `Storage`."""
        row = self._reader.execute("SELECT people FROM channels WHERE name = ?", (channel,)).fetchone()
        return "[]" if row is None else str(row[0])

    def snapshot(self, channel: str) -> Snapshot | None:
        """See `Storage`."""
        query = """
            SELECT messages, state FROM snapshots WHERE channel = (SELECT id FROM channels WHERE name = ?)
        """
        row = self._reader.execute(query, (channel,)).fetchone()
        return None if row is None else Snapshot(*row)

    def keyed(self, channel: str, key: str) -> Keyed | None:
        """See `Storage`."""
        query = """
            SELECT key, fingerprint, first, count FROM answers
            WHERE channel = (SELECT id FROM channels WHERE name = ?) AND key = ?
        """
        row = self._reader.execute(query, (channel, key)).fetchone()
        return None if row is None else Keyed(*row)

    def close(self) -> None:
        """See `Storage`."""
        self._opened.close()

    def _overwrite(self) -> None:
        """Truncate the write-ahead log, which may contain deleted data, unless a backup is reading it."""
        with suppress(sqlite3.Error):  # the changes themselves are written already
            self._writer.execute("PRAGMA busy_timeout = 0")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._writer.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000:.0f}")

    def _write(self, change: Change) -> None:
        match change:
            case Append(name, first, messages, snapshot, keyed):
                channel = self._made(name, first + len(messages))
                self._add(channel, first, messages)
                self._keep(channel, snapshot)
                if keyed is not None:
                    self._remember(channel, keyed)
            case Replace(name, messages, snapshot):
                self._clear(name)
                channel = self._made(name, len(messages))
                anew = (new_history(), channel)
                self._writer.execute("UPDATE channels SET first = 0, history = ? WHERE id = ?", anew)
                self._add(channel, 0, messages)
                self._keep(channel, snapshot)
            case Introduce(name, people, snapshot):
                self._introduce(name, people)
                if snapshot is None:
                    self._writer.execute("DELETE FROM snapshots WHERE channel = ?", (self._id(name),))
                self._keep(self._id(name), snapshot)
            case Keep(name, snapshot):
                self._keep(self._id(name), snapshot)
            case Redact(name, rows, people):
                self._redact(name, rows, people)
            case Expire(name, before):
                self._expire(name, before)
            case Delete(name):
                self._delete(name)
            case Release():
                pass

    def _made(self, name: str, messages: int) -> int:
        """The id of a channel, after its message count is updated or the channel is created."""
        self._writer.execute(
            "INSERT INTO channels (name, messages, updated, history) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET messages = excluded.messages, updated = excluded.updated",
            (name, messages, time(), new_history()),
        )
        return self._id(name)

    def _introduce(self, name: str, people: str) -> None:
        self._writer.execute(
            "INSERT INTO channels (name, messages, updated, people, history) VALUES (?, 0, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET people = excluded.people",
            (name, time(), people, new_history()),
        )

    def _id(self, name: str) -> int:
        return int(self._writer.execute("SELECT id FROM channels WHERE name = ?", (name,)).fetchone()[0])

    def _add(self, channel: int, first: int, messages: Sequence[Row]) -> None:
        now = time()
        rows = [(channel, number, *texts, now) for number, texts in enumerate(messages, first)]
        self._writer.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows)

    def _keep(self, channel: int, snapshot: Snapshot | None) -> None:
        if snapshot is not None:
            row = (channel, snapshot.messages, snapshot.state)
            self._writer.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", row)

    def _remember(self, channel: int, keyed: Keyed) -> None:
        old = (channel, keyed.first - REMEMBERED)
        self._writer.execute("DELETE FROM answers WHERE channel = ? AND first < ?", old)
        row = (channel, keyed.key, keyed.fingerprint, keyed.first, keyed.count)
        self._writer.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", row)

    def _redact(self, name: str, rows: Sequence[NumberedRow], people: str) -> None:
        channel = self._id(name)
        self._writer.execute("UPDATE channels SET people = ? WHERE id = ?", (people, channel))
        self._writer.execute("DELETE FROM snapshots WHERE channel = ?", (channel,))
        for number, message, observation in rows:
            self._writer.execute(
                "UPDATE messages SET message = ?, observation = ? WHERE channel = ? AND number = ?",
                (message, observation, channel, number),
            )
            self._writer.execute(
                "UPDATE answers SET fingerprint = '' WHERE channel = ? AND first <= ? AND first + count > ?",
                (channel, number, number),
            )

    def _expire(self, name: str, before: float) -> None:
        channel = self._id(name)
        query = "SELECT MIN(number) FROM messages WHERE channel = ? AND received >= ?"
        first = self._writer.execute(query, (channel, before)).fetchone()[0]
        if first is None:  # none is left
            query = "SELECT messages FROM channels WHERE id = ?"
            first = self._writer.execute(query, (channel,)).fetchone()[0]
        self._writer.execute("DELETE FROM messages WHERE channel = ? AND number < ?", (channel, first))
        self._writer.execute("DELETE FROM answers WHERE channel = ? AND first < ?", (channel, first))
        self._writer.execute("DELETE FROM snapshots WHERE channel = ?", (channel,))
        self._writer.execute("UPDATE channels SET first = ? WHERE id = ?", (first, channel))

    def _clear(self, name: str) -> None:
        """Delete the messages of a channel, and what depends on them."""
        for table in ("messages", "snapshots", "answers"):
            self._writer.execute(
                f"DELETE FROM {table} WHERE channel = (SELECT id FROM channels WHERE name = ?)",  # noqa: S608
                (name,),
            )

    def _delete(self, name: str) -> None:
        self._clear(name)
        self._writer.execute("DELETE FROM channels WHERE name = ?", (name,))


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


def _locked(path: Path) -> sqlite3.Connection:
    """A lock that is released when the process ends, however it ends."""
    lock = _connected(path)
    lock.execute("PRAGMA busy_timeout = 0")
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        reason = f"data: another server uses {path.parent}; give this one a folder of its own"
        raise ConfigError(reason) from error
    return lock


def _files(path: Path) -> tuple[Path, Path]:
    """The database file and its write-ahead log."""
    return path, path.with_name(f"{path.name}-wal")


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Check the integrity of a whole file.

    Raises:
        ConfigError: The file is damaged.
    """
    try:
        found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        for table in _TABLES:
            connection.execute(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608
    except sqlite3.DatabaseError as error:
        found = str(error)
    if found != "ok":
        raise ConfigError(f"data: {path} is damaged ({found}); put a backup in its place, or move it away")


def _prepare(connection: sqlite3.Connection, path: Path, full: bool) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
    while version in _UPGRADES:
        connection.executescript(f"BEGIN; {_UPGRADES[version]} PRAGMA user_version = {version + 1}; COMMIT;")
        version += 1
    if version not in (0, VERSION):
        reason = f"the channels in it have format version {version}, expected {VERSION}"
        raise ConfigError(f"data: {reason}; use the version of towhom that wrote them")
    check_whole(connection, path)
    # Makes sure that the write-ahead log exists.
    connection.execute("INSERT OR REPLACE INTO checks VALUES (0, ?)", (time(),))
