"""The channels of a PostgreSQL database, as something to copy from or to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from towhom.errors import ConfigError
from towhom.serve.copying import TABLES, Rows, Side, counted
from towhom.serve.database import Connection, Database, described

_SESSION = """
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
"""
"""A copy takes as long as it takes, and is of one moment."""
_AT_ONCE = 1000


@contextmanager
def opened(address: str, side: str, *, running: bool) -> Iterator[Side]:
    """A database, within one transaction.

    Args:
        address: Of the database.
        side: What it is called in errors.
        running: Whether servers may use it.

    Raises:
        ConfigError: It cannot be used, or a server uses it.
    """
    database = Database(address, side)
    database.prepare()
    try:
        with database.connect() as connection:
            connection.execute(_SESSION)
            if not running:
                _check_nobody(connection, side)
            yield _Tables(connection)
            connection.execute("ROLLBACK")
    except psycopg.Error as error:
        raise ConfigError(f"{side}: {database.place} cannot be used ({described(error)})") from None


def _check_nobody(connection: Connection, side: str) -> None:
    # Servers that start now wait until this is over.
    connection.execute("LOCK TABLE servers IN SHARE ROW EXCLUSIVE MODE")
    row = connection.execute("SELECT count(*) FROM servers WHERE expires > clock_timestamp()").fetchone()
    if row is not None and row[0]:
        raise ConfigError(f"{side}: {row[0]} servers use the database; stop them first")


class _Tables:
    """See `Side`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def counts(self) -> dict[str, list[int]]:
        found = {table: self._connection.execute(counted(table).encode()).fetchone() for table in TABLES}
        return {table: [int(each) for each in row or ()] for table, row in found.items()}

    def rows(self, table: str) -> Rows:
        query = f"SELECT {', '.join(TABLES[table])} FROM {table}"  # noqa: S608
        # A cursor of the database: not all of it is in memory at a time.
        with psycopg.ServerCursor[Any](self._connection, f"copy_{table}") as cursor:
            cursor.itersize = _AT_ONCE
            cursor.execute(query.encode())
            yield from cursor

    def add(self, table: str, rows: Rows) -> None:
        query = f"COPY {table} ({', '.join(TABLES[table])}) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(query.encode()) as copying:
            for row in rows:
                copying.write_row(row)

    def finish(self) -> None:
        """What is made from now on has other numbers than what was copied."""
        self._connection.execute(
            "SELECT setval(pg_get_serial_sequence('channels', 'id'), coalesce(max(id), 0) + 1) FROM channels"
        )
        self._connection.execute("COMMIT")
        self._connection.execute("BEGIN")
