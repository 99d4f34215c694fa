"""Writing from the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from towhom.serve.journal import Journal
from towhom.serve.metrics import Metrics
from towhom.serve.problems import Problem
from towhom.serve.sqlite import SqliteStorage
from towhom.serve.storage import Append, Change


class Watched(SqliteStorage):
    """Remembers how large transactions were."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.groups: list[int] = []

    def commit(self, changes: Sequence[Change]) -> None:
        self.groups.append(len(changes))
        super().commit(changes)


def append(channel: str, first: int = 0) -> Append:
    return Append(channel, first, [("message", "observation")])


def written(folder: Path, *changes: Change) -> tuple[list[BaseException | None], list[int]]:
    """What becomes of changes that come at the same time, and the transactions that there were."""

    async def write() -> tuple[list[BaseException | None], list[int]]:
        storage = Watched(folder)
        journal = Journal(storage, Metrics())
        found = await asyncio.gather(*map(journal.write, changes), return_exceptions=True)
        await journal.close()
        return found, storage.groups

    return asyncio.run(write())


def test_what_waits_is_written_together(tmp_path: Path) -> None:
    found, groups = written(tmp_path, *(append(f"c{number}") for number in range(50)))
    assert found == [None] * 50
    assert groups == [50]


def test_what_cannot_be_written_takes_no_other_with_it(tmp_path: Path) -> None:
    found, groups = written(tmp_path, append("a"), append("b"), append("a"), append("c"))
    assert groups == [4, 1, 1, 1, 1]
    assert [type(each) for each in found] == [type(None), type(None), Problem, type(None)]
    storage = SqliteStorage(tmp_path)
    assert [(each.name, each.messages) for each in storage.channels("", 9)] == [("a", 1), ("b", 1), ("c", 1)]
    storage.close()


def test_reading_what_is_closed(tmp_path: Path) -> None:
    async def read() -> None:
        journal = Journal(SqliteStorage(tmp_path), Metrics())
        journal.storage.close()
        with pytest.raises(Problem) as caught:
            await journal.read(journal.storage.count)
        assert caught.value.code == "storage-lost"
        await journal.close()

    asyncio.run(read())
