"""A PostgreSQL of the tests: in a folder of its own, on a free port, run by somebody who is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import pytest

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
"""Where Debian has its programs; they are not on the path."""
_USERS = ("postgres", "nobody")
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",  # what is tried are crashes of processes, which need none
    "max_connections": "100",
    "shared_buffers": "32MB",
}


def programs() -> Path | None:
    """The folder that has initdb, postgres and pg_ctl."""
    on_path = shutil.which("initdb")
    found = [*_FOLDERS, *([Path(on_path).parent] if on_path else [])]
    return next((folder for folder in found if (folder / "initdb").exists()), None)


class Postgres:
    """A running PostgreSQL; its only user is `towhom`, with a password.

    Args:
        settings: Other ones than those of the tests.
    """

    password = "a secret of the tests"

    def __init__(self, **settings: str) -> None:
        found = programs()
        if found is None:
            pytest.skip("there is no PostgreSQL; install postgresql")
        self._programs = found
        # Not below a folder of pytest, into which nobody else may look.
        self.folder = Path(tempfile.mkdtemp(prefix="towhom-postgres-"))
        self._user = None if os.getuid() else _user()
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        secret = self.folder / "password"
        secret.write_text(self.password)
        if self._user is not None:
            os.chown(secret, self._user.pw_uid, self._user.pw_gid)
        self._run(
            "initdb", "--username=towhom", f"--pwfile={secret}", "--auth=scram-sha-256", "--encoding=UTF8",
            "--no-locale", "--no-sync",
        )  # fmt: skip
        settings = _SETTINGS | {"port": str(self.port)} | settings
        with (self.folder / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        self.start()

    @property
    def pid(self) -> int:
        """Its first process."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def address(self, name: str = "postgres") -> str:
        """Of one of its databases, with the password."""
        password = self.password.replace(" ", "%20")
        return f"postgresql://towhom:{password}@127.0.0.1:{self.port}/{name}"

    def create(self, name: str, rest: str = "") -> str:
        """Make a database; its address."""
        import psycopg

        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" {rest}'.encode())
        return self.address(name)

    def emptied(self) -> str:
        """The address of a database without tables; always the same one, since to make one takes a while."""
        import psycopg

        with psycopg.connect(self.address(), autocommit=True) as connection:
            query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'towhom'"
            connection.execute(f"{query} AND datname = 'postgres'".encode())
            connection.execute("DROP SCHEMA IF EXISTS towhom CASCADE")
        return self.address()

    def start(self) -> None:
        self._run("pg_ctl", "start", "--wait", "--log", str(self.folder / "log"))

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "stop", "--wait", "--mode", mode)

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start()

    def end(self) -> None:
        """Stop it, whatever state it is in, and delete what it had."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        # Nothing of ours is inherited: a database that holds our output open keeps those waiting who read it.
        with (self.folder / "output").open("a") as output:
            done = subprocess.run(
                [str(self._programs / program), "--pgdata", str(self.folder / "data"), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                user=None if self._user is None else self._user.pw_uid,
                group=None if self._user is None else self._user.pw_gid,
                extra_groups=None if self._user is None else [],
                env={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(self.folder)},
            )
        assert done.returncode == 0, (self.folder / "output").read_text()


class Network:
    """Between a server and a database: it may take what is said, and pass nothing on.

    Args:
        port: Of the database.
    """

    def __init__(self, port: int) -> None:
        self._database = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.works = threading.Event()
        self.works.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # the end of the tests
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        self.works.wait()
        with client, socket.create_connection(("127.0.0.1", self._database)) as database:
            back = threading.Thread(target=self._pass, args=(database, client), daemon=True)
            back.start()
            self._pass(client, database)
            back.join()

    def _pass(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self.works.wait()
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)


def _user() -> pwd.struct_passwd:
    for name in _USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("there is no user for PostgreSQL, which does not run as root")
