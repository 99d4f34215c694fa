"""Many logs in one process: the answers, what is refused, and that nothing is done twice."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.batch.chats import content, rows, write_room, write_rooms
from tests.batch.conftest import Batch
from tests.cli.conftest import Run, run  # noqa: F401
from towhom.batch import work
from towhom.batch.settings import Command, Output
from towhom.clusters import InProcess, Pool
from towhom.errors import ModelFormatError, TowhomError
from towhom.readers import locate


class Counting(InProcess):
    """Counts what it does, and breaks off after so many pieces of work."""

    def __init__(self, most: int = 1 << 30) -> None:
        self.done = 0
        self.most = most

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.done == self.most:
            raise KeyboardInterrupt
        self.done += 1
        return super().submit(function, *args, **kwargs)

    @property
    def pool(self) -> Pool:
        return Pool(self, lambda: 1, processes=False)


class TestAnswers:
    def test_threads_are_those_of_one_log(self, run: Run, batch: Batch, tmp_path: Path) -> None:  # noqa: F811
        log = write_rooms(tmp_path / "rooms.jsonl", 3, 120)
        plain = [json.loads(line) for line in run("threads", log, "--json").stdout.splitlines()]
        batch(log, to=tmp_path / "out", part=1000)
        found = rows(tmp_path / "out")
        assert found == plain

    def test_addressees_are_those_of_one_log(self, run: Run, batch: Batch, tmp_path: Path) -> None:  # noqa: F811
        log = write_room(tmp_path / "room.txt", 120)
        plain = [json.loads(line) for line in run("who", log, "--json").stdout.splitlines()]
        batch(log, to=tmp_path / "out", part=1000, command=Command.WHO)
        found = rows(tmp_path / "out")
        assert found == plain

    def test_threads_go_on_across_cuts(self, batch: Batch, tmp_path: Path) -> None:
        log = write_room(tmp_path / "room.txt", 400)
        outcome = batch(log, to=tmp_path / "out", part=60, warm_up=20)
        found = rows(tmp_path / "out")
        assert outcome.parts == 7
        assert [row["line"] for row in found] == list(range(408))
        threads = {row["id"]: row["thread"] for row in found}
        across = 0
        for row in found:
            answered = row["replies_to"]
            assert row["thread"] == (row["id"] if answered == row["id"] else threads[answered])
            across += _part_of(answered) < _part_of(row["id"])
        assert across >= 6

    def test_parts_that_are_shorter_than_the_warm_up(self, batch: Batch, tmp_path: Path) -> None:
        log = write_room(tmp_path / "room.txt", 90)
        batch(log, to=tmp_path / "out", part=20, warm_up=50)
        found = rows(tmp_path / "out")
        threads = {row["id"]: row["thread"] for row in found}
        assert all(row["thread"] == threads[threads[row["id"]]] for row in found)


def _part_of(id: str) -> int:
    return (int(id.rpartition(":")[2]) - 1) * 7 // 408


class TestNames:
    def test_exports_and_archives(self, batch: Batch, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        write_room(logs / "one #é[1].txt", 3)
        with zipfile.ZipFile(logs / "day.zip", "w") as archive:
            archive.write(logs / "one #é[1].txt", "deep/two.txt")
        slack = tmp_path / "slack"
        (slack / "general").mkdir(parents=True)
        (slack / "users.json").write_text('[{"id": "U1", "name": "ada"}]')
        for day in ("2024-05-31", "2024-06-01"):
            said = [{"type": "message", "user": "U1", "text": "hi", "ts": "1717149600.000100"}]
            (slack / "general" / f"{day}.json").write_text(json.dumps(said))
        batch(logs, slack, to=tmp_path / "out")
        found = rows(tmp_path / "out")
        assert {row["file"] for row in found} == {
            "logs/one #é[1].txt",
            "logs/day.zip/deep/two.txt",
            "slack/general/2024-05-31.json",
            "slack/general/2024-06-01.json",
        }
        assert len({row["id"] for row in found}) == 8

    def test_results_among_the_logs(self, run: Run, tmp_path: Path) -> None:  # noqa: F811
        write_room(tmp_path / "room.txt", 5)
        for _ in range(2):
            told = run("threads", tmp_path, "--into", tmp_path / "out", "--json").stderr
            assert "5 lines of 1 files in 1 parts" in told


class TestRooms:
    """What `--into` writes is what `--json` writes, wherever rooms and files are."""

    @staticmethod
    def same(run: Run, batch: Batch, logs: Path, out: Path, command: Command = Command.THREADS) -> Any:  # noqa: F811
        plain = [json.loads(line) for line in run(command.value, logs, "--json").stdout.splitlines()]
        batch(logs, to=out, command=command, part=10_000)
        found = {row["id"]: row for row in rows(out)}
        assert found == {row["id"]: row for row in plain}
        assert len(found) == len(plain)
        return plain

    @pytest.mark.parametrize("command", [Command.THREADS, Command.WHO])
    def test_files_of_days_are_one_room(
        self,
        command: Command,
        run: Run,  # noqa: F811
        batch: Batch,
        tmp_path: Path,
    ) -> None:
        for number, day in enumerate(("2024-05-30", "2024-05-31", "2024-06-01")):
            write_room(tmp_path / "logs" / f"#tea-{day}.log", 30, seed=number)
            write_room(tmp_path / "logs" / f"{day}/#milk.log", 20, seed=number)
        plain = self.same(run, batch, tmp_path / "logs", tmp_path / "out", command)
        assert {row["room"] for row in plain} == {"#tea", "#milk"}
        files = {row["id"]: row["file"] for row in plain}
        assert any(files[row["replies_to"]] != row["file"] for row in plain)

    def test_rooms_that_are_in_several_files(self, run: Run, batch: Batch, tmp_path: Path) -> None:  # noqa: F811
        (tmp_path / "logs" / "a").mkdir(parents=True)
        for place in ("one", "two", "a/three"):  # in two folders, so that they are not read together at first
            write_rooms(tmp_path / "logs" / f"{place}.jsonl", 3, 40)
        plain = self.same(run, batch, tmp_path / "logs", tmp_path / "out")
        assert {row["room"] for row in plain} == {"room 0", "room 1", "room 2"}
        before = content(tmp_path / "out")
        counting = Counting()
        batch(tmp_path / "logs", to=tmp_path / "out", part=10_000, pool=counting.pool)
        assert (counting.done, content(tmp_path / "out")) == (0, before)

    def test_killed_before_rooms_are_put_together(self, batch: Batch, tmp_path: Path) -> None:
        (tmp_path / "logs" / "a").mkdir(parents=True)
        for place in ("one", "a/two"):
            write_rooms(tmp_path / "logs" / f"{place}.jsonl", 2, 30)
        batch(tmp_path / "logs", to=tmp_path / "whole")
        for done in range(3):
            with suppress(KeyboardInterrupt):
                batch(tmp_path / "logs", to=tmp_path / "out", pool=Counting(done).pool)
        batch(tmp_path / "logs", to=tmp_path / "out")
        assert content(tmp_path / "out") == content(tmp_path / "whole")

    def test_ids_that_begin_anew_in_every_file(self, run: Run, batch: Batch, tmp_path: Path) -> None:  # noqa: F811
        for place in ("one", "two"):
            chat = {
                "name": place, "type": "private_group", "id": 7,
                "messages": [
                    {"id": 1, "type": "message", "date": "2024-05-31T10:00:00", "from": "Ada", "text": "hi?"},
                    {"id": 2, "type": "message", "date": "2024-05-31T10:01:00", "from": "Bo", "text": "yes",
                     "reply_to_message_id": 1},
                ],
            }  # fmt: skip
            (tmp_path / "logs" / place).mkdir(parents=True)
            (tmp_path / "logs" / place / "result.json").write_text(json.dumps(chat))
        plain = self.same(run, batch, tmp_path / "logs", tmp_path / "out")
        assert [(row["id"], row["replies_to"]) for row in plain] == [
            ("one/1", "one/1"), ("one/2", "one/1"), ("two/1", "two/1"), ("two/2", "two/1"),
        ]  # fmt: skip

    def test_a_room_goes_on_in_a_file_that_is_new(self, batch: Batch, tmp_path: Path) -> None:
        write_room(tmp_path / "logs" / "tea-2024-05-31.log", 30)
        write_room(tmp_path / "logs" / "b" / "milk.log", 30)
        batch(tmp_path / "logs", to=tmp_path / "out")
        write_room(tmp_path / "logs" / "tea-2024-06-01.log", 30, seed=1)
        counting = Counting()
        batch(tmp_path / "logs", to=tmp_path / "out", pool=counting.pool)
        batch(tmp_path / "logs", to=tmp_path / "fresh")
        assert counting.done == 1
        assert rows(tmp_path / "out") == rows(tmp_path / "fresh")

    def test_several_exports(self, batch: Batch, tmp_path: Path) -> None:
        logs = [tmp_path / name / "chat.jsonl" for name in ("one", "two")]
        logs.append(tmp_path / "other.jsonl")
        for log in logs:
            log.parent.mkdir(exist_ok=True)
            write_rooms(log, 1, 5)
        write_room(tmp_path / "one.txt", 5)
        write_room(tmp_path / "x" / "one.txt", 5)
        everything = [*logs, tmp_path / "one.txt", tmp_path / "x" / "one.txt"]
        batch(*everything, to=tmp_path / "out")
        located = {each.id: (each.room, each.file) for each in locate(*everything)}
        assert {row["id"]: (row["room"], row["file"]) for row in rows(tmp_path / "out")} == located
        assert {room for room, _ in located.values()} == {
            "room 0", f"room 0 ({logs[1]})", "room 0 (other.jsonl)", "one", f"one ({everything[-1]})",
        }  # fmt: skip


class TestParquet:
    @pytest.mark.parametrize("command", [Command.THREADS, Command.WHO])
    def test_others_read_it(self, command: Command, batch: Batch, tmp_path: Path) -> None:
        parquet = pytest.importorskip("pyarrow.parquet")
        log = write_room(tmp_path / "room.txt", 150)
        batch(log, to=tmp_path / "rows", command=command)
        batch(log, to=tmp_path / "table", command=command, output=Output.PARQUET)
        wanted = rows(tmp_path / "rows")
        found = parquet.read_table(tmp_path / "table").to_pylist()
        assert sorted(found, key=lambda row: row["line"]) == wanted

    def test_duckdb_and_pandas(self, batch: Batch, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
        log = write_room(tmp_path / "room.txt", 150)
        batch(log, to=tmp_path / "out", output=Output.PARQUET)
        starts = pandas.read_parquet(tmp_path / "out")["thread"].nunique()
        query = f"select count(*), count(distinct thread) from '{tmp_path}/out/*.parquet'"
        assert duckdb.sql(query).fetchall() == [(153, starts)]


class TestNothingIsDoneTwice:
    def test_a_second_run_does_nothing(self, batch: Batch, tmp_path: Path) -> None:
        log, counting = write_room(tmp_path / "room.txt", 250), Counting()
        first = batch(log, to=tmp_path / "out")
        before = content(tmp_path / "out")
        second = batch(log, to=tmp_path / "out", pool=counting.pool)
        assert counting.done == 0
        assert content(tmp_path / "out") == before
        assert (second.parts, second.lines, second.done) == (first.parts, first.lines, first.done)

    def test_broken_off_after_any_piece_of_work(self, batch: Batch, tmp_path: Path) -> None:
        write_room(tmp_path / "logs" / "long.txt", 220)
        write_room(tmp_path / "logs" / "short.txt", 30, seed=1)
        whole, out = Counting(), tmp_path / "out"
        batch(tmp_path / "logs", to=tmp_path / "whole", pool=whole.pool)
        assert whole.done > 5
        done = 0
        for _ in range(whole.done):  # one piece of work a run, at most
            counting = Counting(1)
            try:
                batch(tmp_path / "logs", to=out, pool=counting.pool)
            except KeyboardInterrupt:
                done += 1
        assert done >= whole.done - 1
        batch(tmp_path / "logs", to=out)
        assert content(out) == content(tmp_path / "whole")

    @pytest.mark.parametrize("lines", [40, 250])
    def test_a_part_that_was_removed_is_made_again(self, lines: int, batch: Batch, tmp_path: Path) -> None:
        log, out = write_room(tmp_path / "room.txt", lines), tmp_path / "out"
        batch(log, to=out)
        before = content(out)
        sorted(out.glob("part-*"))[-1].unlink()
        batch(log, to=out)
        assert content(out) == before

    def test_logs_are_added(self, batch: Batch, tmp_path: Path) -> None:
        write_room(tmp_path / "logs" / "one.txt", 40)
        batch(tmp_path / "logs", to=tmp_path / "out")
        write_room(tmp_path / "logs" / "two.txt", 40, seed=1)
        counting = Counting()
        batch(tmp_path / "logs", to=tmp_path / "out", pool=counting.pool)
        assert counting.done == 1
        assert len(rows(tmp_path / "out")) == 80


class TestRefused:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"part": 200}, "another part 100 instead of 200"),
            ({"command": Command.WHO}, "another command 'threads' instead of 'who'"),
            ({"warm_up": 9}, "another warm_up 50 instead of 9"),
        ],
    )
    def test_other_settings(self, change: dict[str, Any], words: str, batch: Batch, tmp_path: Path) -> None:
        log = write_room(tmp_path / "room.txt", 30)
        batch(log, to=tmp_path / "out")
        before = content(tmp_path / "out")
        with pytest.raises(TowhomError, match=words):
            batch(log, to=tmp_path / "out", **change)
        assert content(tmp_path / "out") == before
        batch(log, to=tmp_path / "out", force=True, **change)
        batch(log, to=tmp_path / "fresh", **change)
        assert content(tmp_path / "out") == content(tmp_path / "fresh")

    def test_a_log_that_has_changed(self, batch: Batch, tmp_path: Path) -> None:
        log = write_room(tmp_path / "room.txt", 30)
        batch(log, to=tmp_path / "out")
        write_room(log, 31)
        with pytest.raises(TowhomError, match=r"room\.txt, which has changed since it was read"):
            batch(log, to=tmp_path / "out")
        batch(log, to=tmp_path / "out", force=True)
        assert len(rows(tmp_path / "out")) == 31

    def test_other_logs(self, batch: Batch, tmp_path: Path) -> None:
        batch(write_room(tmp_path / "one.txt", 30), to=tmp_path / "out")
        with pytest.raises(TowhomError, match=r"one\.txt, which is not among these logs"):
            batch(write_room(tmp_path / "two.txt", 30), to=tmp_path / "out")

    def test_a_folder_of_something_else(self, batch: Batch, tmp_path: Path) -> None:
        log = write_room(tmp_path / "logs" / "room.txt", 30)
        with pytest.raises(TowhomError, match="holds something else"):
            batch(log, to=tmp_path / "logs", force=True)

    def test_memory_of_one_process(self, batch: Batch, tmp_path: Path) -> None:
        log = write_room(tmp_path / "room.txt", 30)
        with pytest.raises(TowhomError, match="memory of one process"):
            batch(log, to="memory://refused", pool=Pool(InProcess(), lambda: 1))


def test_a_worker_with_another_model(batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = write_room(tmp_path / "room.txt", 5)
    monkeypatch.setattr(work, "__version__", "0.0.1")
    work._model.cache_clear()
    with pytest.raises(ModelFormatError, match=r"a worker has towhom 0\.0\.1, and the run was started with"):
        batch(log, to=tmp_path / "out")


class TestBadFiles:
    def test_the_others_are_done(self, batch: Batch, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        write_room(logs / "good.txt", 40)
        (logs / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00and no more")
        (logs / "notes.bin").write_bytes(b"\0\1\2")
        outcome = batch(logs, to=tmp_path / "out")
        assert list(outcome.failed) == [str(logs / "cut.gz")]
        assert "truncated or damaged" in outcome.failed[str(logs / "cut.gz")]
        assert len(outcome.report.skipped_files) == 1
        assert {row["file"] for row in rows(tmp_path / "out")} == {"logs/good.txt"}
        write_room(logs / "cut.gz", 5)  # mended
        assert not batch(logs, to=tmp_path / "out").failed
        assert len(rows(tmp_path / "out")) == 45

    def test_a_file_that_ends_badly_leaves_nothing(self, batch: Batch, tmp_path: Path) -> None:
        log = write_room(tmp_path / "room.txt", 3000)
        bad = tmp_path / "bad.gz"
        bad.write_bytes(gzip.compress(log.read_bytes())[:-20])
        good = write_room(tmp_path / "good.txt", 10)
        outcome = batch(bad, good, to=tmp_path / "out")
        assert f"{bad}: the archive is truncated or damaged" in outcome.failed[str(bad)]
        assert {row["file"] for row in rows(tmp_path / "out")} == {"good.txt"}

    def test_strict(self, batch: Batch, tmp_path: Path) -> None:
        log = write_room(tmp_path / "room.txt", 10)
        log.write_text(log.read_text("utf-8") + "what is this\n", "utf-8")
        assert batch(log, to=tmp_path / "out").report.malformed == 1
        with pytest.raises(TowhomError, match=r"room\.txt:11: not a line of an IRC log"):
            batch(log, to=tmp_path / "strict", strict=True)


class TestAddresses:
    def test_memory(self, batch: Batch, tmp_path: Path) -> None:
        fsspec = pytest.importorskip("fsspec")
        memory = fsspec.filesystem("memory")
        for number in range(3):
            log = write_room(tmp_path / f"{number}.txt", 150, seed=number)
            memory.pipe_file(f"/chats/{number}.txt", log.read_bytes())
        for logs in ("memory://chats", "memory://chats/*.txt"):
            to = f"memory://out-{len(logs)}"
            outcome = batch(logs, to=to)
            assert (outcome.files, outcome.parts, outcome.lines) == (3, 6, 459)
            files = memory.ls(f"/out-{len(logs)}", detail=False)
            assert sum(memory.cat_file(name).count(b"\n") for name in files if "part-" in name) == 459
        assert '"id": "2.txt:' in memory.cat_file(files[-1]).decode()

    def test_commands_read_addresses(self, run: Run, tmp_path: Path) -> None:  # noqa: F811
        fsspec = pytest.importorskip("fsspec")
        log = write_room(tmp_path / "room.txt", 5)
        fsspec.filesystem("memory").pipe_file("/one/room.txt", log.read_bytes())
        assert len(run("read", "memory://one/room.txt", "--json").stdout.splitlines()) == 5
        assert "there is no such file" in run("read", "memory://one/none.txt", code=1).stderr
        assert "Protocol not known: nowhere" in run("read", "nowhere://x", code=1).stderr


class TestCommands:
    def test_words(self, run: Run, tmp_path: Path) -> None:  # noqa: F811
        log = write_room(tmp_path / "room.txt", 20)
        assert "name it with --into" in run("threads", log, log, code=2).stderr
        assert "name it with --into" in run("who", log, "--cluster", "local", code=2).stderr
        assert (
            "--into does not use --for"
            in run("who", log, "--for", "ada", "--into", tmp_path / "x", code=2).stderr
        )
        found = run("threads", log, "--into", tmp_path / "x", "--cluster", "nowhere", code=1)
        assert "expected local, local:N" in found.stderr
        assert not (tmp_path / "x").exists()
        assert (
            "no such file or folder"
            in run("who", tmp_path / "*.log", "--into", tmp_path / "x", code=1).stderr
        )

    def test_failures_are_told(self, run: Run, tmp_path: Path) -> None:  # noqa: F811
        log = write_room(tmp_path / "room.txt", 20)
        (tmp_path / "bad.gz").write_bytes(b"\x1f\x8b\x08\x00and no more")
        found = run("threads", log, tmp_path / "bad.gz", "--json", "--into", tmp_path / "x", code=1)
        assert f"failed: {tmp_path / 'bad.gz'}: the archive is truncated" in found.stderr
        assert "1 failures; all other files are done" in found.stderr
        assert len(rows(tmp_path / "x")) == 20
