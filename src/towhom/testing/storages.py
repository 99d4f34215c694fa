"""The tests of storages: a subclass says how to open one and inherits them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from towhom.serve.storage import (
    Append,
    Change,
    Delete,
    Expire,
    Introduce,
    Keep,
    Keyed,
    Owner,
    Redact,
    Release,
    Replace,
    Row,
    Snapshot,
    Storage,
)


def rows(first: int, count: int) -> list[Row]:
    """Some messages with their observations."""
    return [(f"message {number}", f"observation {number}") for number in range(first, first + count)]


def observations(storage: Storage, channel: str, first: int, limit: int) -> list[tuple[int, str]]:
    """Observations of a channel with their numbers."""
    page = storage.page(channel, first, limit)
    assert page is not None
    return page.observations


class StorageContract:
    """The tests."""

    def open(self, folder: Path) -> Storage:
        """An empty storage; a folder is there to use, and is empty."""
        raise NotImplementedError

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Iterator[Storage]:
        """An empty storage, which is closed after the test."""
        storage = self.open(tmp_path)
        yield storage
        storage.close()

    def test_nothing_there(self, storage: Storage) -> None:
        """An empty storage has nothing, and says so without failing."""
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
        """Messages come back in order, by number."""
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
        """Channels are listed in the order of the bytes of their names."""
        storage.commit([Append(name, 0, rows(0, 1)) for name in ("c", "#a", "B", "a")])
        assert [each.name for each in storage.channels("", 3)] == ["#a", "B", "a"]
        assert [each.name for each in storage.channels("a", 3)] == ["c"]

    def test_replace(self, storage: Storage) -> None:
        """The messages of a channel are replaced; everything that came from the old ones is gone."""
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
        """Introducing people creates a channel. A new history keeps them; deleting the channel does not."""
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
        """The last snapshot counts."""
        storage.commit([Append("a", 0, rows(0, 2), Snapshot(2, "two"))])
        assert storage.snapshot("a") == Snapshot(2, "two")
        storage.commit([Append("a", 2, rows(2, 1)), Keep("a", Snapshot(3, "three"))])
        assert storage.snapshot("a") == Snapshot(3, "three")

    def test_keyed(self, storage: Storage) -> None:
        """An answer can be read again by its key."""
        storage.commit([Append("a", 0, rows(0, 2), keyed=Keyed("k", "f", 0, 2))])
        assert storage.keyed("a", "k") == Keyed("k", "f", 0, 2)
        assert storage.keyed("a", "other") is None
        assert storage.keyed("b", "k") is None

    def test_delete(self, storage: Storage) -> None:
        """Nothing is left of a channel that is deleted, and others stay."""
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
        """If one change cannot be written, none is."""
        storage.commit([Append("a", 0, rows(0, 1))])
        with pytest.raises(Exception):  # noqa: B017, PT011 - what the storage's library raises
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
        """A new history gets a new number, also in a channel that is created again; a message does not."""

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
        """Numbers stay the same, and everything that came from old messages is deleted."""
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
        """The texts of messages are replaced, and nothing of the old texts is left."""
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
        """A server owns the channels that it claims."""
        owner = storage.claim("a")
        assert owner.address is None
        assert storage.claimed("a") == owner.number
        assert storage.claim("a") == owner
        storage.commit([Append("a", 0, rows(0, 1)), Release("a")])
        assert storage.claims() == []
        assert isinstance(storage.claim("a"), Owner)
        storage.commit([Append("a", 1, rows(1, 1))])
