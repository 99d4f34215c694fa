"""The channels of a PostgreSQL database, as the source or target of a copy."""

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
"""Settings of the session: a copy has no time limit, and sees the database at one moment."""
_AT_ONCE = 1000


@contextmanager
def opened(address: str, side: str, *, running: bool) -> Iterator[Side]:
    """Open a database, within one transaction.

    Args:
        address: Address of the database.
        side: The name of the database in error messages.
        running: Whether servers may use it meanwhile.

    Raises:
        ConfigError: The database cannot be used, or a server uses it.
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
    # Servers that start now wait until the copy is done.
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
        # A server-side cursor, so that the table is never in memory as a whole.
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
        """Commit, after advancing the sequence so that new channels get other ids than the copied ones."""
        self._connection.execute(
            "SELECT setval(pg_get_serial_sequence('channels', 'id'), coalesce(max(id), 0) + 1) FROM channels"
        )
        self._connection.execute("COMMIT")
        self._connection.execute("BEGIN")
