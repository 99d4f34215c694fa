"""`towhom serve migrate`, backups of a database, and files that earlier versions made."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.serve.conftest import CHAT, COMMAND, Start, answer, said, same, texts
from tests.serve.databases import Postgres
from towhom.errors import ConfigError
from towhom.serve.copying import _Storage, copy
from towhom.serve.sqlite import SqliteStorage
from towhom.serve.storage import Append, Introduce, Keyed, Snapshot
from towhom.testing.storages import rows

ROOM = "/v1/channels/room"
OLD = Path(__file__).with_name("version3.sql")
CHAT_3 = ["my wifi is gone", "noor: which card is it?"]
"""What was said in its room."""


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | environment)


def filled(folder: Path, count: int = 3) -> Path:
    """A folder with channels that have a bit of everything."""
    storage = SqliteStorage(folder)
    for number in range(count):
        keyed = Keyed(f"k{number}", "f", 0, 40)
        storage.commit([Append(f"c{number}", 0, rows(0, 40), Snapshot(40, "Zoë \U0001d11e"), keyed)])
    storage.commit([Introduce("c0", "[1]", Snapshot(40, "x"))])
    storage.close()
    return folder


def content(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(folder / "channels.sqlite")) as file:
        tables = ("channels", "messages", "snapshots", "answers")
        return {table: sorted(file.execute(f"SELECT * FROM {table}").fetchall()) for table in tables}


class TestVersions:
    @pytest.fixture
    def old(self, tmp_path: Path) -> Path:
        folder = tmp_path / "server" / "data"
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / "channels.sqlite")) as file:
            file.executescript(OLD.read_text("utf-8"))
        return folder

    def test_a_file_of_version_3(self, old: Path, start: Start) -> None:
        """Nothing is lost, keys hold, and the channel goes on."""
        server = start("--keep", "100000d")
        assert texts(server.client, ROOM) == [CHAT_3[0], CHAT_3[1]]
        people = answer(server.client.get(f"{ROOM}/people"))["people"]
        assert [each["name"] for each in people] == ["Robo"]
        again = [{"speaker": "noor", "text": CHAT_3[0]}, {"speaker": "wren", "text": CHAT_3[1]}]
        assert len(said(server.client, ROOM, again, **{"Idempotency-Key": "k"})) == 2
        assert said(server.client, ROOM, CHAT[:1])[0]["number"] == 2

    def test_its_messages_have_an_age(self, old: Path, start: Start) -> None:
        """That of the last one of their channel, so that none is deleted too early."""
        storage = SqliteStorage(old)
        found = storage.older(time.time(), "", 9)
        storage.close()
        assert found == ["#other", "room"]

    def test_half_an_upgrade_is_none(self, old: Path) -> None:
        """Killed at any moment, it is done again."""
        program = (
            "import sys; from pathlib import Path; from towhom.serve.sqlite import SqliteStorage\n"
            "SqliteStorage(Path(sys.argv[1])).close()"
        )
        for moment in (0.05, 0.15, 0.25, 0.3):
            running = subprocess.Popen([COMMAND[0], "-c", program, str(old)])
            time.sleep(moment)
            running.send_signal(signal.SIGKILL)
            running.wait()
        storage = SqliteStorage(old)
        assert len(storage.messages("room", 0)) == 2
        storage.close()


class TestMigrate:
    def test_there_and_back(self, database: str, tmp_path: Path) -> None:
        source = filled(tmp_path / "a")
        done = run("migrate", source, "database", TOWHOM_SERVE_DATABASE=database)
        assert done.stderr == ""
        assert done.stdout == "database: 3 channels, 120 messages, 3 snapshots, 3 answers\n"
        done = run("migrate", "database", tmp_path / "b", TOWHOM_SERVE_DATABASE=database)
        assert (done.returncode, done.stderr) == (0, "")
        assert content(tmp_path / "b") == content(source)

    def test_a_server_goes_on(self, start: Start, database: str, tmp_path: Path) -> None:
        """From a file to a database, new channels beside old ones, and back."""
        one = start()
        before = said(one.client, ROOM, CHAT[:2])
        one.stop()
        assert (
            run(
                "migrate", tmp_path / "server" / "data", "database", TOWHOM_SERVE_DATABASE=database
            ).returncode
            == 0
        )
        two = start(folder="two", TOWHOM_SERVE_DATABASE=database)
        before += said(two.client, ROOM, CHAT[2:4])
        said(two.client, f"{ROOM}2", CHAT)
        busy = run("migrate", "database", tmp_path / "three" / "data", TOWHOM_SERVE_DATABASE=database)
        assert "FROM: 1 servers use the database; stop them first" in busy.stderr
        two.stop()
        assert (
            run("migrate", "database", tmp_path / "three" / "data", TOWHOM_SERVE_DATABASE=database).returncode
            == 0
        )
        three = start(folder="three")
        before += said(three.client, ROOM, CHAT[4:])
        whole = answer(three.client.post("/v1/addressees", json={"messages": CHAT}))["observations"]
        assert same(before, whole)
        assert len(texts(three.client, f"{ROOM}2")) == 6

    def test_refused(self, database: str, tmp_path: Path) -> None:
        source = filled(tmp_path / "a")
        (tmp_path / "file").write_text("x")
        for arguments, reason in (
            ((tmp_path / "none", tmp_path / "b"), "FROM: there are no channels in "),
            ((source, filled(tmp_path / "full")), f"TO: there are channels in {tmp_path / 'full'}; "),
            ((source, tmp_path / "file"), "is a file; give a folder"),
            ((source, database), "there is a password in the address, and others can see it"),
            ((source, "database"), "database: there is none; give --database or --database-file"),
            ((source, "mysql://localhost/x"), "TO: this is not the address of a PostgreSQL database"),
            ((tmp_path / "file", tmp_path / "b"), "Error: "),
        ):
            done = run("migrate", *arguments)
            assert done.returncode == 1
            assert reason in done.stderr
            assert "Traceback" not in done.stderr
        storage = SqliteStorage(source)
        assert "another server uses" in run("migrate", source, tmp_path / "b").stderr
        storage.close()

    def test_killed_half_way(self, database: str, tmp_path: Path) -> None:
        """Nothing is there; the same command then does all of it."""
        source = filled(tmp_path / "a", 300)
        for target in ("database", str(tmp_path / "b")):
            for moment in (0.5, 0.7, 0.9):
                running = subprocess.Popen(
                    [*COMMAND, "migrate", str(source), target],
                    env=os.environ | {"TOWHOM_SERVE_DATABASE": database},
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
                time.sleep(moment)
                running.send_signal(signal.SIGKILL)
                running.wait()
            done = run("migrate", source, target, TOWHOM_SERVE_DATABASE=database)
            # Or all of it was there before the last was killed.
            assert done.returncode == 0 or "there are channels in " in done.stderr
        assert copy(database, str(tmp_path / "c"))["messages"] == 12000
        assert content(tmp_path / "c") == content(tmp_path / "b") == content(source)

    def test_a_copy_that_is_not_the_same(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row that gets lost on the way is noticed, and nothing is kept."""
        source = filled(tmp_path / "a")
        add = _Storage.add
        monkeypatch.setattr(
            "towhom.serve.copying._Storage.add",
            lambda self, table, rows: add(self, table, list(rows)[1:] if table == "messages" else rows),
        )
        with pytest.raises(ConfigError, match="nothing was kept"):
            copy(str(source), str(tmp_path / "b"))
        assert content(tmp_path / "b")["channels"] == []


class TestBackup:
    def test_of_a_database(self, start: Start, postgres: Postgres, database: str, tmp_path: Path) -> None:
        """While a server goes on; restored into a folder, and into a database."""
        server = start(TOWHOM_SERVE_DATABASE=database)
        said(server.client, ROOM, CHAT)
        done = run("backup", tmp_path / "copy.sqlite", TOWHOM_SERVE_DATABASE=database)
        assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'copy.sqlite'}: 1 channels\n")
        assert stat.S_IMODE((tmp_path / "copy.sqlite").stat().st_mode) == 0o600
        assert {path.name for path in tmp_path.iterdir()} == {"server", "copy.sqlite"}
        said(server.client, ROOM, CHAT)
        server.stop()
        data = tmp_path / "restored" / "data"
        data.mkdir(parents=True)
        shutil.copy(tmp_path / "copy.sqlite", data / "channels.sqlite")
        restored = start(folder="restored")
        assert len(texts(restored.client, ROOM)) == 6
        again = postgres.create("restored")
        done = run("migrate", tmp_path / "copy.sqlite", "database", TOWHOM_SERVE_DATABASE=again)
        assert done.returncode == 0
        other = start(folder="other", TOWHOM_SERVE_DATABASE=again)
        assert said(other.client, ROOM, CHAT[:1])[0]["number"] == 6

    def test_refused(self, database: str, tmp_path: Path) -> None:
        (tmp_path / "copy").write_text("")
        done = run("backup", tmp_path / "copy", TOWHOM_SERVE_DATABASE=database)
        assert "already exists" in done.stderr
        done = run("backup", tmp_path / "no" / "copy", TOWHOM_SERVE_DATABASE=database)
        assert "the copy cannot be made" in done.stderr
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
