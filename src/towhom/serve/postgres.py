"""Stores channels in a PostgreSQL database, for any number of servers at the same time."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import Any

import psycopg

from towhom.errors import ConfigError
from towhom.serve.database import PATIENCE, Connection, Database, described, is_passing
from towhom.serve.leases import Leases
from towhom.serve.storage import (
    REMEMBERED,
    Append,
    AwayError,
    Change,
    Delete,
    Expire,
    Introduce,
    Keep,
    Kept,
    Keyed,
    News,
    NumberedRow,
    Owner,
    Page,
    Redact,
    Release,
    Replace,
    Row,
    Snapshot,
    StorageError,
    UnsureError,
    new_history,
)

log = logging.getLogger("towhom.serve")

_READERS = 4
_PAUSE = 0.1
"""Seconds between attempts to reach a database that is away."""
_LONGEST = 7000
"""Maximum bytes of a notice; PostgreSQL's limit is 8000."""
_NOW = "extract(epoch FROM clock_timestamp())"
_ID = "(SELECT id FROM channels WHERE name = %(name)s)"
_MADE = f"""
    INSERT INTO channels (name, messages, updated, history)
    VALUES (%(name)s, %(messages)s, {_NOW}, %(history)s)
    ON CONFLICT (name) DO UPDATE SET messages = excluded.messages, updated = excluded.updated
"""  # noqa: S608
_APPENDED = f"""
    INSERT INTO channels (name, messages, updated, history)
    SELECT %(name)s, %(messages)s, {_NOW}, %(history)s
    WHERE %(first)s = 0 OR EXISTS (SELECT 1 FROM channels WHERE name = %(name)s)
    ON CONFLICT (name) DO UPDATE SET messages = excluded.messages, updated = excluded.updated
    WHERE channels.messages = %(first)s
"""  # noqa: S608
"""Changes nothing if the channel does not end where the next messages begin."""
_INTRODUCED = f"""
    INSERT INTO channels (name, messages, updated, people, history)
    VALUES (%(name)s, 0, {_NOW}, %(people)s, %(history)s)
    ON CONFLICT (name) DO UPDATE SET people = excluded.people
"""  # noqa: S608
_ADDED = f"""
    INSERT INTO messages SELECT {_ID}, %(first)s + ordinality - 1, message, observation, {_NOW}
    FROM unnest(%(messages)s::text[], %(observations)s::text[]) WITH ORDINALITY AS new (message, observation)
"""  # noqa: S608
_SNAPSHOT = f"""
    INSERT INTO snapshots VALUES ({_ID}, %(messages)s, %(state)s)
    ON CONFLICT (channel) DO UPDATE SET messages = excluded.messages, state = excluded.state
"""  # noqa: S608
_KEYED = f"INSERT INTO answers VALUES ({_ID}, %(key)s, %(fingerprint)s, %(first)s, %(count)s)"  # noqa: S608
_REDACTED = f"""
    UPDATE messages SET message = new.message, observation = new.observation
    FROM unnest(%(numbers)s::bigint[], %(messages)s::text[], %(observations)s::text[])
        AS new (number, message, observation)
    WHERE channel = {_ID} AND messages.number = new.number
"""  # noqa: S608
_UNKNOWN = f"""
    UPDATE answers SET fingerprint = '' FROM unnest(%(numbers)s::bigint[]) AS new (number)
    WHERE channel = {_ID} AND first <= new.number AND first + count > new.number
"""  # noqa: S608
_FIRST = """
    UPDATE channels SET first = coalesce(
        (SELECT min(number) FROM messages WHERE channel = channels.id AND received >= %(before)s), messages
    ) WHERE name = %(name)s
"""
_EXPIRED = (
    "DELETE FROM {table} USING channels WHERE channel = id AND name = %(name)s AND {column} < channels.first"
)

Statement = tuple[str, dict[str, Any]]


class PostgresStorage:
    """Channels in a database. Opening it joins the servers that share it.

    Args:
        database: The database.
        address: Address at which other servers reach this one.
        lease: Seconds after which a silent server is taken for dead.
        full: Whether a commit survives a power cut, whatever the settings of the database.

    Raises:
        ConfigError: The database cannot be used.
    """

    readers = _READERS
    shared = True

    def __init__(self, database: Database, address: str, lease: float, *, full: bool = False) -> None:
        self._database = database
        self._full = full
        database.prepare()
        try:
            self._leases = Leases(database, address, lease)
        except psycopg.Error as error:
            raise ConfigError(f"database: {database.place} cannot be used ({described(error)})") from None
        self._writer = 0
        """Id of the database process that writes for this server; its notices are ignored."""
        self._stopped = threading.Event()
        self._listener: threading.Thread | None = None

    def start(self, news: News) -> None:
        """See `Storage`."""
        self._listener = threading.Thread(target=self._listen, args=(news,), name="towhom-news", daemon=True)
        self._listener.start()

    def secret(self) -> str:
        """The secret that servers send each other."""
        return str(self._one("SELECT secret FROM secrets", {})[0])

    def claim(self, channel: str) -> Owner:
        """See `Storage`."""
        return self._database.retried(lambda connection: self._leases.claim(connection, channel))

    def claimed(self, channel: str) -> int | None:
        """See `Storage`."""
        return self._leases.claimed(channel)

    def claims(self) -> list[str]:
        """See `Storage`."""
        return self._leases.claims()

    def lives(self, channel: str, address: str) -> bool:
        """Whether a channel is owned by a live server with this address."""
        return self._database.retried(lambda connection: self._leases.lives(connection, channel, address))

    def shares(self) -> tuple[int, int]:
        """See `Storage`."""
        return self._database.retried(self._leases.shares)

    def commit(self, changes: Sequence[Change]) -> None:
        """See `Storage`. If the database goes away meanwhile, waits for it and asks for the outcome."""
        end = monotonic() + PATIENCE
        while True:
            transaction = _Transaction()
            try:
                self._write(self._database.own(), changes, transaction)
                break
            except psycopg.Error as error:
                self._database.drop()
                if not is_passing(error):
                    raise StorageError(described(error)) from None
                if transaction.committing is not None:
                    if self._committed(transaction.committing, end):
                        break
                elif monotonic() > end:
                    raise AwayError(described(error)) from None
            sleep(_PAUSE)
        self._leases.forget(change.channel for change in changes if isinstance(change, Release))

    def verify(self) -> None:
        """See `Storage`. Does nothing: the queries themselves fail if the database is lost."""

    def check(self) -> None:
        """See `Storage`."""
        if not self._leases.alive:
            raise AwayError("the lease of this server is over")
        self._database.retried(self._leases.try_writing, 0)
        self.count()

    def count(self) -> int:
        """See `Storage`."""
        return int(self._one("SELECT count(*) FROM channels", {})[0])

    def channels(self, after: str, limit: int) -> list[Kept]:
        """See `Storage`."""
        query = """
            SELECT name, messages, updated, first FROM channels
            WHERE name > %(after)s ORDER BY name LIMIT %(limit)s
        """
        return [Kept(*row) for row in self._all(query, {"after": after, "limit": limit})]

    def channel(self, name: str) -> Kept | None:
        """See `Storage`."""
        query = "SELECT name, messages, updated, first FROM channels WHERE name = %(name)s"
        return next((Kept(*row) for row in self._all(query, {"name": name})), None)

    def page(self, channel: str, first: int, limit: int) -> Page | None:
        """See `Storage`."""
        query = """
            SELECT history, number, observation FROM channels
            LEFT JOIN messages ON channel = id AND number >= %(first)s
            WHERE name = %(name)s ORDER BY number LIMIT %(limit)s
        """
        rows = self._all(query, {"name": channel, "first": first, "limit": limit})
        if not rows:
            return None
        return Page(rows[0][0], [(number, text) for _, number, text in rows if number is not None])

    def messages(self, channel: str, first: int) -> list[str]:
        """See `Storage`."""
        query = f"SELECT message FROM messages WHERE channel = {_ID} AND number >= %(first)s ORDER BY number"  # noqa: S608
        return [row[0] for row in self._all(query, {"name": channel, "first": first})]

    def rows(self, channel: str, first: int, limit: int) -> list[NumberedRow]:
        """See `Storage`."""
        query = f"""
            SELECT number, message, observation FROM messages
            WHERE channel = {_ID} AND number >= %(first)s ORDER BY number LIMIT %(limit)s
        """  # noqa: S608
        found = self._all(query, {"name": channel, "first": first, "limit": limit})
        return [(number, message, observation) for number, message, observation in found]

    def people(self, channel: str) -> str:
        """See `Storage`."""
        found = self._all("SELECT people FROM channels WHERE name = %(name)s", {"name": channel})
        return str(found[0][0]) if found else "[]"

    def snapshot(self, channel: str) -> Snapshot | None:
        """See `Storage`."""
        query = f"SELECT messages, state FROM snapshots WHERE channel = {_ID}"  # noqa: S608
        return next((Snapshot(*row) for row in self._all(query, {"name": channel})), None)

    def keyed(self, channel: str, key: str) -> Keyed | None:
        """See `Storage`."""
        query = f"SELECT key, fingerprint, first, count FROM answers WHERE channel = {_ID} AND key = %(key)s"  # noqa: S608
        return next((Keyed(*row) for row in self._all(query, {"name": channel, "key": key})), None)

    def older(self, before: float, after: str, limit: int) -> list[str]:
        """See `Storage`."""
        query = """
            SELECT name FROM channels JOIN messages ON channel = id AND number = first
            WHERE received < %(before)s AND name > %(after)s ORDER BY name LIMIT %(limit)s
        """
        return [row[0] for row in self._all(query, {"before": before, "after": after, "limit": limit})]

    def naming(self, quoted: str, channels: Sequence[str]) -> list[str]:
        """See `Storage`."""
        query = """
            SELECT name FROM channels
            WHERE name = ANY(%(names)s) AND (strpos(people, %(text)s) > 0 OR EXISTS (
                SELECT 1 FROM messages WHERE channel = id
                AND (strpos(message, %(text)s) > 0 OR strpos(observation, %(text)s) > 0)
            )) ORDER BY name
        """
        return [row[0] for row in self._all(query, {"text": quoted, "names": list(channels)})]

    def close(self) -> None:
        """See `Storage`."""
        self._stopped.set()
        self._leases.close()
        self._database.close()
        if self._listener is not None:
            self._listener.join()

    # -- internals

    def _all(self, query: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        return self._database.retried(lambda connection: connection.execute(query, values).fetchall())

    def _one(self, query: str, values: dict[str, Any]) -> tuple[Any, ...]:
        return self._all(query, values)[0]

    def _write(self, connection: Connection, changes: Sequence[Change], transaction: _Transaction) -> None:
        self._writer = connection.info.backend_pid
        try:
            with connection.pipeline():
                connection.execute("BEGIN")
                if self._full:
                    connection.execute("SET LOCAL synchronous_commit = on")
                number = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
            self._leases.check(connection, [change.channel for change in changes])
            appended = []
            with connection.pipeline():
                for change in changes:
                    for query, values in _statements(change):
                        cursor = connection.execute(query, values)
                        if query is _APPENDED:
                            appended.append(cursor)
                released = [change.channel for change in changes if isinstance(change, Release)]
                if released:
                    self._leases.release(connection, released)
                for notice in _notices(changes):
                    connection.execute("SELECT pg_notify('towhom', %s)", (notice,))
            if any(cursor.rowcount != 1 for cursor in appended):
                # A standby that lagged behind took over, or an older backup was restored.
                raise StorageError("a channel does not end where this server thought")
        except BaseException:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
            raise
        transaction.committing = str(number[0]) if number else None
        connection.execute("COMMIT")

    def _committed(self, number: str, end: float) -> bool:
        """Whether a transaction was committed, if the connection broke during the commit.

        Raises:
            UnsureError: The database does not come back in time.
        """
        while monotonic() < end:
            try:
                query = "SELECT pg_xact_status(%s::xid8)"
                row = self._database.own().execute(query, (number,)).fetchone()
                if row is not None and row[0] in ("committed", "aborted"):
                    return bool(row[0] == "committed")
            except psycopg.Error:
                self._database.drop()
            sleep(_PAUSE)
        raise UnsureError

    def _listen(self, news: News) -> None:
        """Report channels that other servers change; after every new connection, report all channels."""
        while not self._stopped.is_set():
            with suppress(psycopg.Error), self._database.connect() as connection:
                connection.execute("LISTEN towhom")
                news(None)
                while not self._stopped.is_set():
                    for notice in connection.notifies(timeout=0.5):
                        if notice.pid != self._writer:
                            news(json.loads(notice.payload))
                    if connection.closed:
                        break
            self._stopped.wait(_PAUSE)


class _Transaction:
    """A transaction; it has its id from the moment it may be committed."""

    committing: str | None = None


def _statements(change: Change) -> Iterator[Statement]:
    """The statements that write a change."""
    name = {"name": change.channel}
    match change:
        case Append(_, first, messages, snapshot, keyed):
            end = first + len(messages)
            yield _APPENDED, {**name, "first": first, "messages": end, "history": new_history()}
            yield _added(change.channel, first, messages)
            yield from _kept(change.channel, snapshot)
            if keyed is not None:
                old = {**name, "old": keyed.first - REMEMBERED}
                yield f"DELETE FROM answers WHERE channel = {_ID} AND first < %(old)s", old  # noqa: S608
                yield _KEYED, name | vars(keyed)
        case Replace(_, messages, snapshot):
            yield from _cleared(change.channel)
            history = new_history()
            yield _MADE, {**name, "messages": len(messages), "history": history}
            anew = "UPDATE channels SET first = 0, history = %(history)s WHERE name = %(name)s"
            yield anew, {**name, "history": history}
            yield _added(change.channel, 0, messages)
            yield from _kept(change.channel, snapshot)
        case Introduce(_, people, snapshot):
            yield _INTRODUCED, {**name, "people": people, "history": new_history()}
            if snapshot is None:
                yield _forgotten(change.channel, "snapshots")
            yield from _kept(change.channel, snapshot)
        case Keep(_, snapshot):
            yield from _kept(change.channel, snapshot)
        case Redact(_, rows, people):
            yield "UPDATE channels SET people = %(people)s WHERE name = %(name)s", {**name, "people": people}
            numbers, messages, observations = zip(*rows, strict=True) if rows else ((), (), ())
            values = {
                "numbers": list(numbers),
                "messages": list(messages),
                "observations": list(observations),
            }
            yield _REDACTED, name | values
            yield _UNKNOWN, name | values
            yield _forgotten(change.channel, "snapshots")
        case Expire(_, before):
            yield _FIRST, {**name, "before": before}
            yield _EXPIRED.format(table="messages", column="number"), name
            yield _EXPIRED.format(table="answers", column="answers.first"), name
            yield _forgotten(change.channel, "snapshots")
        case Delete():
            yield from _cleared(change.channel)
            yield "DELETE FROM channels WHERE name = %(name)s", name


def _added(channel: str, first: int, messages: Sequence[Row]) -> Statement:
    texts, observations = [message for message, _ in messages], [observation for _, observation in messages]
    return _ADDED, {"name": channel, "first": first, "messages": texts, "observations": observations}


def _kept(channel: str, snapshot: Snapshot | None) -> Iterator[Statement]:
    if snapshot is not None:
        yield _SNAPSHOT, {"name": channel, **vars(snapshot)}


def _cleared(channel: str) -> Iterator[Statement]:
    """Delete the messages of a channel, and what depends on them."""
    return (_forgotten(channel, table) for table in ("messages", "snapshots", "answers"))


def _forgotten(channel: str, table: str) -> Statement:
    return f"DELETE FROM {table} WHERE channel = {_ID}", {"name": channel}  # noqa: S608


def _notices(changes: Sequence[Change]) -> Iterator[str]:
    """The names of changed channels, as JSON lists that are short enough for notices."""
    names: list[str] = []
    size = 0
    for name in dict.fromkeys(each.channel for each in changes if not isinstance(each, Keep | Release)):
        if size + len(name) + 4 > _LONGEST:
            yield json.dumps(names)
            names, size = [], 0
        names.append(name)
        size += len(name) + 4
    if names:
        yield json.dumps(names)
