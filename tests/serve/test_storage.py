"""What every storage has to do, and what the one in a file does besides."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from towhom.errors import ConfigError
from towhom.serve.sqlite import SqliteStorage
from towhom.serve.storage import (
    Append,
    Change,
    Keyed,
    LostError,
    Snapshot,
    Storage,
)
from towhom.testing.storages import StorageContract, rows


def joined(address: str) -> Storage:
    """A server that has all channels for itself, and claims them as it needs them."""
    from towhom.serve.database import Database
    from towhom.serve.postgres import PostgresStorage

    class Claiming(PostgresStorage):
        def commit(self, changes: Sequence[Change]) -> None:
            for change in changes:
                self.claim(change.channel)
            super().commit(changes)

    return Claiming(Database(address), "http://127.0.0.1:1", 5)


class TestContract(StorageContract):
    @pytest.fixture(params=["sqlite", "postgres"])
    def storage(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
        if request.param == "sqlite":
            storage: Storage = SqliteStorage(tmp_path)
        else:
            storage = joined(request.getfixturevalue("database"))
        yield storage
        storage.close()


class TestSqlite:
    def test_there_after_closing(self, tmp_path: Path) -> None:
        for number in range(3):
            storage = SqliteStorage(tmp_path / "new" / "folder", full=number == 1)
            assert len(storage.messages("a", 0)) == number
            storage.commit([Append("a", number, rows(number, 1))])
            storage.close()

    def test_only_the_owner_may_read_it(self, tmp_path: Path) -> None:
        storage = SqliteStorage(tmp_path / "data")
        storage.commit([Append("a", 0, rows(0, 1))])
        for path in (tmp_path / "data", *(tmp_path / "data").iterdir()):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
        storage.close()

    def test_one_server_at_a_time(self, tmp_path: Path) -> None:
        storage = SqliteStorage(tmp_path)
        with pytest.raises(ConfigError, match="another server uses"):
            SqliteStorage(tmp_path)
        storage.close()
        SqliteStorage(tmp_path).close()

    def test_the_version_before(self, tmp_path: Path) -> None:
        """As the first version made it: what is in it stays."""
        storage = SqliteStorage(tmp_path)
        keyed = Keyed("k", "f", 0, 2)
        storage.commit([Append("a", 0, rows(0, 2), Snapshot(1, "{}"), keyed)])
        storage.close()
        with sqlite3.connect(tmp_path / "channels.sqlite") as file:
            for column in ("people", "first", "history"):
                file.execute(f"ALTER TABLE channels DROP COLUMN {column}")
            file.execute("ALTER TABLE messages DROP COLUMN received")
            file.execute("DROP INDEX answers_in_order")
            file.execute("ALTER TABLE answers ADD COLUMN time REAL NOT NULL DEFAULT 0")
            file.execute("CREATE INDEX answers_by_time ON answers (time)")
            file.execute("PRAGMA user_version = 1")
        file.close()
        for _ in range(2):
            storage = SqliteStorage(tmp_path)
            assert (storage.messages("a", 1), storage.people("a")) == (["message 1"], "[]")
            assert storage.snapshot("a") == Snapshot(1, "{}")
            assert storage.keyed("a", "k") == keyed
            storage.close()

    def test_another_version(self, tmp_path: Path) -> None:
        SqliteStorage(tmp_path).close()
        with sqlite3.connect(tmp_path / "channels.sqlite") as file:
            file.execute("PRAGMA user_version = 7")
        file.close()
        with pytest.raises(ConfigError, match="format version 7, expected 4"):
            SqliteStorage(tmp_path)

    def test_no_database(self, tmp_path: Path) -> None:
        (tmp_path / "channels.sqlite").write_bytes(b"not a database" * 100)
        with pytest.raises(ConfigError, match="cannot be used to store channels"):
            SqliteStorage(tmp_path)

    def test_keys_are_forgotten_in_order(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever the clock says."""
        storage = SqliteStorage(tmp_path)
        for number, now in enumerate((4e9, 0.0, 9e9)):
            monkeypatch.setattr("towhom.serve.sqlite.time", lambda now=now: now)
            storage.commit([Append("a", number, rows(number, 1), keyed=Keyed(str(number), "f", number, 1))])
        assert all(storage.keyed("a", str(number)) for number in range(3))
        storage.commit([Append("a", 3, rows(3, 9_999), keyed=Keyed("many", "f", 3, 9_999))])
        storage.commit([Append("a", 10_002, rows(10_002, 1), keyed=Keyed("last", "f", 10_002, 1))])
        kept = [key for key in ("0", "1", "2", "many", "last") if storage.keyed("a", key)]
        assert kept == ["2", "many", "last"]
        storage.close()

    def test_damaged(self, tmp_path: Path) -> None:
        """A page in the middle of it is something else."""
        storage = SqliteStorage(tmp_path)
        storage.commit([Append("a", 0, rows(0, 5000))])
        storage.close()
        with (tmp_path / "channels.sqlite").open("r+b") as file:
            file.seek(40 * 4096)
            file.write(b"x" * 4096)
        with pytest.raises(ConfigError, match=r"channels\.sqlite is damaged \("):
            SqliteStorage(tmp_path)

    def test_tables_that_are_missing(self, tmp_path: Path) -> None:
        SqliteStorage(tmp_path).close()
        with closing(sqlite3.connect(tmp_path / "channels.sqlite")) as file:
            file.execute("DROP TABLE messages")
        with pytest.raises(ConfigError, match="is damaged"):
            SqliteStorage(tmp_path)

    def test_a_file_that_is_lost(self, tmp_path: Path) -> None:
        """Deleted, put back, replaced: nothing is written that would not be there later."""
        storage = SqliteStorage(tmp_path)
        file, away = tmp_path / "channels.sqlite", tmp_path / "away"
        storage.commit([Append("a", 0, rows(0, 1))])
        file.rename(away)
        for act in (storage.verify, storage.check, lambda: storage.commit([Append("a", 1, rows(1, 1))])):
            with pytest.raises(LostError):
                act()
        file.write_bytes(b"")
        with pytest.raises(LostError):
            storage.check()
        away.rename(file)
        storage.check()
        storage.commit([Append("a", 1, rows(1, 1))])
        os.truncate(file, 0)
        with pytest.raises(LostError):
            storage.commit([Append("a", 2, rows(2, 1))])
        storage.close()

    def test_what_is_new_that_is_lost(self, tmp_path: Path) -> None:
        """SQLite writes it into a file of its own first."""
        storage = SqliteStorage(tmp_path)
        (tmp_path / "channels.sqlite-wal").unlink()
        with pytest.raises(LostError):
            storage.commit([Append("a", 0, rows(0, 1))])
        storage.close()

    def test_a_disk_that_is_as_good_as_full(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is small can be written for a while yet, into a file that is there."""
        storage = SqliteStorage(tmp_path)
        storage.check()
        monkeypatch.setattr("towhom.serve.sqlite._ROOM", 1 << 62)
        with pytest.raises(OSError, match="no room left"):
            storage.check()
        storage.close()
