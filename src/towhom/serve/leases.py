"""Leases: which server owns which channel, in tables that all servers share.

A server has one row with the time at which it expires, and renews it several times before that. It owns a
channel through a row with its id and a fencing number, which grows with every owner. While a server lives,
no other takes its channels; when it has expired, the next server that is asked for a channel takes it, with
a new fencing number. Every transaction that writes locks the rows of its channels and compares both numbers,
so that an expired server cannot write, however late it notices. Times are those of the database's clock.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from time import monotonic

import psycopg

from towhom.serve.database import PATIENCE, Connection, Database, described
from towhom.serve.storage import AwayError, FencedError, Owner
from towhom.version import __version__

log = logging.getLogger("towhom.serve")

_BEATS = 5
"""Renewals during one lease."""
_LOOK = 0.5
"""Seconds between checks for connections that hang."""
_FORGOTTEN = "10 minutes"
"""Time after which the row of an expired server is deleted."""
_ALIVE = "SELECT expires > clock_timestamp() FROM servers WHERE id = %s FOR NO KEY UPDATE"
"""Query for whether the lease of this server has not expired yet."""
_RENEW = "UPDATE servers SET expires = clock_timestamp() + %s * interval '1 second' WHERE id = %s"
_REGISTER = """
    INSERT INTO servers (address, version, expires)
    VALUES (%s, %s, clock_timestamp() + %s * interval '1 second') RETURNING id
"""


class Leases:
    """The channels of this server.

    Args:
        database: The database that all servers share.
        address: Address at which other servers reach this one.
        seconds: Seconds that a lease lasts.
    """

    def __init__(self, database: Database, address: str, seconds: float) -> None:
        self._database = database
        self._address = address
        self._seconds = seconds
        self._id = 0
        self._end = 0.0
        """When this server expires, by its own clock; never later than in the database."""
        self._fences: dict[str, int] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        with database.connect() as connection:
            self._renew(connection)
        self._threads = [
            threading.Thread(target=work, name="towhom-lease", daemon=True)
            for work in (self._keep_up, self._cut_off)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Whether the lease of this server is valid, by its own clock."""
        return monotonic() < self._end

    def claimed(self, channel: str) -> int | None:
        """The fencing number, if this server owns a channel."""
        return self._fences.get(channel) if self.alive else None

    def claims(self) -> list[str]:
        """All channels that this server owns."""
        with self._lock:
            return list(self._fences)

    def claim(self, connection: Connection, channel: str) -> Owner:
        """Become the owner of a channel, unless a live server owns it; returns the owner.

        Raises:
            AwayError: This server has expired itself, and must not own anything.
        """
        if not self.alive:
            raise AwayError("the lease of this server is over")
        with connection.transaction():
            # If this commit is lost in a crash, later writes under the lease are lost, too.
            connection.execute("SET LOCAL synchronous_commit = off")
            owner = self._claim(connection, channel)
        if owner.address is None:
            with self._lock:
                self._fences[channel] = owner.number
        return owner

    def lives(self, connection: Connection, channel: str, address: str) -> bool:
        """Whether a channel is owned by a live server with this address."""
        query = """
            SELECT 1 FROM leases JOIN servers ON id = owner
            WHERE name = %s AND address = %s AND expires > clock_timestamp()
        """
        return connection.execute(query, (channel, address)).fetchone() is not None

    def check(self, connection: Connection, channels: Iterable[str]) -> None:
        """Lock the leases of channels until the end of the transaction.

        Raises:
            FencedError: This server does not own one of them.
        """
        wanted = sorted(set(channels))
        query = "SELECT name, fence FROM leases WHERE name = ANY(%s) AND owner = %s ORDER BY name FOR UPDATE"
        known: dict[str, int] = dict(connection.execute(query, (wanted, self._id)).fetchall())
        lost = [name for name in wanted if name not in known or known[name] != self._fences.get(name)]
        if lost:
            self.forget(lost)
            raise FencedError

    def forget(self, channels: Iterable[str]) -> None:
        """Note that this server no longer owns these channels."""
        with self._lock:
            for channel in channels:
                self._fences.pop(channel, None)

    def release(self, connection: Connection, channels: Iterable[str]) -> None:
        """Delete the leases of channels, in a transaction."""
        query = "DELETE FROM leases WHERE name = ANY(%s) AND owner = %s"
        connection.execute(query, (list(channels), self._id))

    def try_writing(self, connection: Connection) -> None:
        """Fail if the database cannot be written, or the lease of this server is over."""
        query = "UPDATE servers SET address = address WHERE id = %s AND expires > clock_timestamp()"
        if connection.execute(query, (self._id,)).rowcount != 1:
            raise AwayError("the lease of this server is over")

    def shares(self, connection: Connection) -> tuple[int, int]:
        """The number of channels that live servers own, and the number of live servers."""
        query = """
            SELECT (SELECT count(*) FROM leases JOIN servers ON id = owner WHERE expires > clock_timestamp()),
                   (SELECT count(*) FROM servers WHERE expires > clock_timestamp())
        """
        row = connection.execute(query).fetchone()
        return (0, 1) if row is None else (int(row[0]), int(row[1]))

    def close(self) -> None:
        """Give up all channels, and delete the row of this server."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        try:
            with self._database.connect() as connection:
                connection.execute("DELETE FROM servers WHERE id = %s", (self._id,))
        except psycopg.Error as error:  # they expire by themselves
            log.warning("the channels of this server are not given up: %s", described(error))

    # -- internals

    def _claim(self, connection: Connection, channel: str) -> Owner:
        while True:
            query = "SELECT owner, fence FROM leases WHERE name = %s FOR UPDATE"
            row = connection.execute(query, (channel,)).fetchone()
            if row is None:
                # If this server's row was deleted, the foreign key makes this fail.
                query = """
                    INSERT INTO leases (name, owner, fence) VALUES (%s, %s, nextval('fences'))
                    ON CONFLICT DO NOTHING RETURNING fence
                """
                made = connection.execute(query, (channel, self._id)).fetchone()
                if made is not None:
                    return Owner(made[0])
                continue
            owner, fence = row
            if owner == self._id:
                return Owner(fence)
            # The row is locked, so that the other server cannot renew its lease meanwhile.
            query = "SELECT address, expires > clock_timestamp() FROM servers WHERE id = %s FOR NO KEY UPDATE"
            server = connection.execute(query, (owner,)).fetchone()
            if server is not None and server[1]:
                return Owner(fence, server[0])
            query = "UPDATE leases SET owner = %s, fence = nextval('fences') WHERE name = %s RETURNING fence"
            taken = connection.execute(query, (self._id, channel)).fetchone()
            if taken is not None:
                return Owner(taken[0])

    def _keep_up(self) -> None:
        """Renew the lease; after any error, try again."""
        connection: Connection | None = None
        pause = self._seconds / _BEATS
        while not self._stopped.wait(pause):
            try:
                if connection is None or connection.closed or connection.broken:
                    connection = self._database.connect()
                self._renew(connection)
                pause = self._seconds / _BEATS
            except Exception as error:
                if self.alive:
                    log.warning("the lease of this server is not renewed: %s", type(error).__name__)
                if connection is not None:
                    connection.close()
                connection, pause = None, min(0.2, self._seconds / _BEATS)
        if connection is not None:
            connection.close()

    def _cut_off(self) -> None:
        """Cut connections that hang once this server has been expired for a while."""
        last = 0.0
        while not self._stopped.wait(_LOOK):
            if monotonic() > max(self._end, last) + PATIENCE:
                last = monotonic()
                self._database.cut()

    def _alive_until_now(self, connection: Connection) -> bool | None:
        """Renew the lease; returns whether it was still valid. None if this server has no row."""
        with connection.transaction():
            found = connection.execute(_ALIVE, (self._id,)).fetchone()
            connection.execute(_RENEW, (self._seconds, self._id))
        return None if found is None else bool(found[0])

    def _renew(self, connection: Connection) -> None:
        begun, end = monotonic(), self._end
        alive = self._alive_until_now(connection) if self._id else None
        if alive is None:
            # The server is new, or was expired for so long that its row was deleted: it owns nothing.
            row = connection.execute(_REGISTER, (self._address, __version__, self._seconds)).fetchone()
            with self._lock:
                self._fences.clear()
                self._id = 0 if row is None else int(row[0])
        elif not alive or monotonic() > end:
            # The lease was over for a while: channels that other servers took are theirs.
            query = "SELECT name, fence FROM leases WHERE owner = %s"
            ours: dict[str, int] = dict(connection.execute(query, (self._id,)).fetchall())
            with self._lock:
                before, self._fences = self._fences, ours
            log.warning("the lease of this server was over; %d of %d channels are still its own",
                        len(ours), len(before))  # fmt: skip
        self._end = begun + self._seconds
        connection.execute(
            f"DELETE FROM servers WHERE expires < clock_timestamp() - interval '{_FORGOTTEN}'"  # noqa: S608
        )
