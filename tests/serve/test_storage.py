"""What every storage has to do, and what the one in a file does besides."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from towhom.errors import ConfigError
from towhom.serve.sqlite import SqliteStorage
from towhom.serve.storage import (
    Append,
    Change,
    Delete,
    Expire,
    Introduce,
    Keep,
    Keyed,
    LostError,
    Owner,
    Redact,
    Release,
    Replace,
    Row,
    Snapshot,
    Storage,
    StorageError,
)


def rows(first: int, count: int) -> list[Row]:
    return [(f"message {number}", f"observation {number}") for number in range(first, first + count)]


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    storage: Storage
    if request.param == "sqlite":
        storage = SqliteStorage(tmp_path)
    else:
        storage = joined(request.getfixturevalue("database"))
    yield storage
    storage.close()


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


def observations(storage: Storage, channel: str, first: int, limit: int) -> list[tuple[int, str]]:
    page = storage.page(channel, first, limit)
    assert page is not None
    return page.observations


class TestContract:
    def test_nothing_there(self, storage: Storage) -> None:
        storage.check()
        assert storage.count() == 0
        assert storage.channels("", 10) == []
        assert storage.channel("a") is None
        assert storage.page("a", 0, 10) is None
        assert (storage.messages("a", 0), storage.rows("a", 0, 10)) == ([], [])
        assert storage.older(9e9, "", 10) == storage.naming('"ada"', ["a"]) == []
        assert storage.snapshot("a") is None
        assert storage.keyed("a", "k") is None
        assert storage.people("a") == "[]"

    def test_append(self, storage: Storage) -> None:
        storage.commit([Append("a", 0, rows(0, 2)), Append("b", 0, rows(0, 1)), Append("a", 2, rows(2, 1))])
        assert storage.count() == 2
        kept = storage.channel("a")
        assert kept is not None
        assert (kept.name, kept.messages) == ("a", 3)
        assert storage.messages("a", 1) == ["message 1", "message 2"]
        assert observations(storage, "a", 0, 2) == [(0, "observation 0"), (1, "observation 1")]
        assert observations(storage, "a", 2, 9) == [(2, "observation 2")]
        assert observations(storage, "a", 3, 9) == []
        assert storage.rows("a", 1, 1) == [(1, "message 1", "observation 1")]

    def test_names_in_order(self, storage: Storage) -> None:
        storage.commit([Append(name, 0, rows(0, 1)) for name in ("c", "#a", "B", "a")])
        assert [each.name for each in storage.channels("", 3)] == ["#a", "B", "a"]
        assert [each.name for each in storage.channels("a", 3)] == ["c"]

    def test_replace(self, storage: Storage) -> None:
        keyed = Keyed("k", "f", 0, 3)
        storage.commit([Append("a", 0, rows(0, 3), Snapshot(3, "{}"), keyed), Append("b", 0, rows(0, 1))])
        storage.commit([Replace("a", rows(5, 1))])
        assert storage.messages("a", 0) == ["message 5"]
        assert storage.snapshot("a") is None
        assert storage.keyed("a", "k") is None
        storage.commit([Replace("c", [], Snapshot(0, "{}"))])
        assert storage.count() == 3
        assert storage.messages("b", 0) == ["message 0"]

    def test_introduce(self, storage: Storage) -> None:
        """It makes a channel; another history leaves it alone, an end of the channel does not."""
        storage.commit(
            [Introduce("a", "[1]", Snapshot(0, "zero")), Append("b", 0, rows(0, 2), Snapshot(2, "x"))]
        )
        kept = storage.channel("a")
        assert kept is not None
        assert (kept.messages, storage.people("a"), storage.snapshot("a")) == (0, "[1]", Snapshot(0, "zero"))
        storage.commit([Append("a", 0, rows(0, 1)), Introduce("b", "[2]", None)])
        assert (storage.people("a"), storage.messages("a", 0)) == ("[1]", ["message 0"])
        kept = storage.channel("b")
        assert kept is not None
        assert (kept.messages, storage.people("b"), storage.snapshot("b")) == (2, "[2]", None)
        storage.commit([Replace("a", []), Delete("b")])
        assert (storage.people("a"), storage.people("b")) == ("[1]", "[]")
        storage.commit([Append("b", 0, rows(0, 1))])
        assert storage.people("b") == "[]"

    def test_keep(self, storage: Storage) -> None:
        storage.commit([Append("a", 0, rows(0, 2), Snapshot(2, "two"))])
        assert storage.snapshot("a") == Snapshot(2, "two")
        storage.commit([Append("a", 2, rows(2, 1)), Keep("a", Snapshot(3, "three"))])
        assert storage.snapshot("a") == Snapshot(3, "three")

    def test_keyed(self, storage: Storage) -> None:
        storage.commit([Append("a", 0, rows(0, 2), keyed=Keyed("k", "f", 0, 2))])
        assert storage.keyed("a", "k") == Keyed("k", "f", 0, 2)
        assert storage.keyed("a", "other") is None
        assert storage.keyed("b", "k") is None

    def test_delete(self, storage: Storage) -> None:
        keyed = Keyed("k", "f", 0, 2)
        storage.commit([Append(name, 0, rows(0, 2), Snapshot(2, "x"), keyed) for name in ("a", "b")])
        storage.commit([Delete("a"), Delete("nobody")])
        assert storage.count() == 1
        assert storage.channel("a") is None
        storage.commit([Append("a", 0, rows(7, 1))])
        assert storage.messages("a", 0) == ["message 7"]
        assert (storage.snapshot("a"), storage.keyed("a", "k")) == (None, None)
        assert len(storage.messages("b", 0)) == 2

    def test_all_or_nothing(self, storage: Storage) -> None:
        storage.commit([Append("a", 0, rows(0, 1))])
        with pytest.raises((sqlite3.IntegrityError, StorageError)):
            storage.commit([Append("b", 0, rows(0, 1)), Append("a", 0, rows(0, 1))])
        assert storage.channel("b") is None
        kept = storage.channel("a")
        assert kept is not None
        assert kept.messages == 1
        storage.commit([Append("a", 1, rows(1, 1))])

    def test_any_text(self, storage: Storage) -> None:
        """As JSON has it: what a database may not like is escaped there, or is no more than a character."""
        told = json.dumps("\x00 '; DROP TABLE messages; -- %s %(name)s \\ 𝄞 \u200b", ensure_ascii=False)
        name = "#a.~@:+-'" * 14
        storage.commit([Append(name, 0, [(told, told)], Snapshot(1, told), Keyed("%s ' \xe9", told, 0, 1))])
        assert storage.messages(name, 0) == [told]
        assert storage.snapshot(name) == Snapshot(1, told)
        assert storage.keyed(name, "%s ' \xe9") == Keyed("%s ' \xe9", told, 0, 1)
        assert storage.channels("", 5)[0].name == name

    def test_histories(self, storage: Storage) -> None:
        """Another history has another number, also when a channel is made again; the next message has not."""

        def history() -> int:
            page = storage.page("a", 0, 1)
            assert page is not None
            return page.history

        storage.commit([Introduce("a", "[]", None)])
        numbers = [history()]
        storage.commit([Append("a", 0, rows(0, 1))])
        assert history() == numbers[0]
        again: list[list[Change]] = [
            [Replace("a", rows(0, 1))], [Replace("a", [])], [Delete("a"), Append("a", 0, rows(0, 1))]
        ]  # fmt: skip
        for changes in again:
            storage.commit(changes)
            numbers.append(history())
        assert len(set(numbers)) == 4

    def test_expire(self, storage: Storage) -> None:
        """Numbers stay; what was made of old messages goes; new ones go on."""
        keyed = [Keyed("old", "f", 0, 2), Keyed("new", "f", 2, 1)]
        storage.commit([Append("a", 0, rows(0, 2), Snapshot(2, "x"), keyed[0]), Append("b", 0, rows(0, 1))])
        between = time.time() + 0.05
        time.sleep(0.1)
        storage.commit([Append("a", 2, rows(2, 1), keyed=keyed[1])])
        assert storage.older(between - 60, "", 9) == []
        assert storage.older(between, "", 9) == ["a", "b"]
        assert storage.older(between, "a", 9) == ["b"]
        storage.commit([Expire("a", between), Expire("b", between)])
        assert storage.older(between, "", 9) == []
        found = [storage.channel("a"), storage.channel("b")]
        assert [(each.first, each.messages) for each in found if each] == [(2, 3), (1, 1)]
        assert observations(storage, "a", 0, 9) == [(2, "observation 2")]
        assert (storage.messages("b", 0), storage.snapshot("a")) == ([], None)
        assert (storage.keyed("a", "old"), storage.keyed("a", "new")) == (None, keyed[1])
        storage.commit([Append("b", 1, rows(1, 1))])
        assert observations(storage, "b", 0, 9) == [(1, "observation 1")]
        storage.commit([Replace("a", rows(0, 1))])
        kept = storage.channel("a")
        assert kept is not None
        assert (kept.first, kept.messages) == (0, 1)

    def test_redact(self, storage: Storage) -> None:
        keyed = [Keyed("one", "f", 0, 2), Keyed("two", "f", 2, 1)]
        storage.commit([Append("a", 0, rows(0, 2), Snapshot(2, "x"), keyed[0])])
        storage.commit([Append("a", 2, rows(2, 1), keyed=keyed[1]), Introduce("b", '["ada"]', None)])
        assert storage.naming("sage 1", ["a", "b", "c"]) == ["a"]
        assert storage.naming('"ada"', ["a", "b", "c"]) == ["b"]
        assert storage.naming("a", ["b"]) == ["b"]
        storage.commit([Redact("a", [(1, "m", "o")], "[7]"), Redact("b", [], "[]")])
        assert storage.rows("a", 0, 9) == [
            (0, "message 0", "observation 0"), (1, "m", "o"), (2, "message 2", "observation 2")
        ]  # fmt: skip
        assert (storage.people("a"), storage.people("b"), storage.snapshot("a")) == ("[7]", "[]", None)
        assert (storage.keyed("a", "one"), storage.keyed("a", "two")) == (Keyed("one", "", 0, 2), keyed[1])
        assert storage.naming("sage 1", ["a", "b"]) == []

    def test_owned(self, storage: Storage) -> None:
        owner = storage.claim("a")
        assert owner.address is None
        assert storage.claimed("a") == owner.number
        assert storage.claim("a") == owner
        storage.commit([Append("a", 0, rows(0, 1)), Release("a")])
        assert storage.claims() == []
        assert isinstance(storage.claim("a"), Owner)
        storage.commit([Append("a", 1, rows(1, 1))])


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
        with pytest.raises(ConfigError, match="cannot be used to keep channels"):
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
