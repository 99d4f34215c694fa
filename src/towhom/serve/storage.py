"""The interface of storages, and the changes that can be written. `sqlite` and `postgres` implement it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

REMEMBERED = 10_000
"""Messages of a channel after which a key is forgotten. Not measured by the clock, since clocks jump."""


class StorageError(Exception):
    """The storage cannot be read or written; nothing was written."""


class LostError(StorageError):
    """The file of channels was deleted, replaced or truncated since it was opened."""


class AwayError(StorageError):
    """The database did not answer for a while."""


class UnsureError(StorageError):
    """The database went away during a commit; whether it committed is unknown."""


class FencedError(StorageError):
    """This server does not own the channel: another server does, or none."""


@dataclass(frozen=True)
class Kept:
    """A stored channel.

    Args:
        name: Name of the channel.
        messages: Number of its next message.
        updated: When its last message came, in seconds since 1970.
        first: Number of the first message that is still stored.
    """

    name: str
    messages: int
    updated: float
    first: int = 0


@dataclass(frozen=True)
class Page:
    """Observations of a channel with their numbers, in order; all from the same history."""

    history: int
    observations: list[tuple[int, str]]


@dataclass(frozen=True)
class Snapshot:
    """The state of a channel after so many messages."""

    messages: int
    state: str


@dataclass(frozen=True)
class Keyed:
    """An answer that can be repeated: its key, the fingerprint of the request, and the messages it covers.

    The fingerprint is empty if it covered messages of a person who was forgotten.
    """

    key: str
    fingerprint: str
    first: int
    count: int


@dataclass(frozen=True)
class Owner:
    """The owner of a channel, with its fencing number: this server if the address is None."""

    number: int
    address: str | None = None


# The changes that can be written.

Row = tuple[str, str]
"""A message as it was sent, and its observation; both JSON texts."""
NumberedRow = tuple[int, str, str]
"""A `Row` with the number of its message in front."""


@dataclass(frozen=True)
class Append:
    """Append messages to a channel, which is created if it is new."""

    channel: str
    first: int
    messages: Sequence[Row]
    snapshot: Snapshot | None = None
    keyed: Keyed | None = None


@dataclass(frozen=True)
class Replace:
    """Replace the messages of a channel, which is created if it is new."""

    channel: str
    messages: Sequence[Row]
    snapshot: Snapshot | None = None


@dataclass(frozen=True)
class Introduce:
    """Replace the registered people of a channel (JSON), which is created if it is new.

    Without a snapshot, the existing one is deleted: it knows somebody who is no longer registered.
    """

    channel: str
    people: str
    snapshot: Snapshot | None


@dataclass(frozen=True)
class Keep:
    """Store a snapshot of a channel."""

    channel: str
    snapshot: Snapshot


@dataclass(frozen=True)
class Redact:
    """Change some messages of a channel, and its registered people (JSON).

    The snapshot is deleted, and so are the fingerprints of answers that cover these messages.
    """

    channel: str
    rows: Sequence[NumberedRow]
    people: str


@dataclass(frozen=True)
class Expire:
    """Delete the messages of a channel that came before a time (in seconds since 1970).

    The snapshot and the keys of these messages are deleted, too. Numbers stay as they are.
    """

    channel: str
    before: float


@dataclass(frozen=True)
class Delete:
    """Delete a channel and everything stored about it."""

    channel: str


@dataclass(frozen=True)
class Release:
    """Give up the ownership of a channel."""

    channel: str


Change = Append | Replace | Introduce | Keep | Redact | Expire | Delete | Release
News = Callable[[Sequence[str] | None], None]
"""Called with the channels that other servers have changed; None: any may have changed."""


class Storage(Protocol):
    """The interface of a storage. One thread writes; `readers` other threads read.

    Methods that fail raise `StorageError`, or an error of the storage's library or of the system.
    """

    readers: int
    """Number of threads that may read at the same time."""
    shared: bool
    """Whether other servers use it at the same time."""

    def start(self, news: News) -> None:
        """Begin to report changes by other servers."""

    def claim(self, channel: str) -> Owner:
        """Become the owner of a channel, unless a live server is; returns the owner. Called by readers."""

    def claimed(self, channel: str) -> int | None:
        """The fencing number if this server owns the channel, else None; does not block."""

    def claims(self) -> list[str]:
        """All channels that this server owns, if the storage is shared; does not block."""

    def shares(self) -> tuple[int, int]:
        """The number of channels that live servers own, and the number of live servers."""

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all changes in order, or none; when this returns, they are safe.

        Raises:
            FencedError: This server does not own one of the channels.
        """

    def verify(self) -> None:
        """Fail with `LostError` if written data would not survive a restart; fast."""

    def check(self) -> None:
        """Fail if data cannot be written, or not be read back."""

    def count(self) -> int:
        """Number of channels."""

    def channels(self, after: str, limit: int) -> list[Kept]:
        """Up to `limit` channels whose names come after a name, in order."""

    def channel(self, name: str) -> Kept | None:
        """The channel with a name; None if there is none."""

    def page(self, channel: str, first: int, limit: int) -> Page | None:
        """Up to `limit` observations from a number on; None if there is no such channel."""

    def messages(self, channel: str, first: int) -> list[str]:
        """All messages from a number on, as they were sent."""

    def rows(self, channel: str, first: int, limit: int) -> list[NumberedRow]:
        """Up to `limit` messages with their observations, from a number on."""

    def people(self, channel: str) -> str:
        """The registered people of a channel, as JSON; an empty list if there is no such channel."""

    def snapshot(self, channel: str) -> Snapshot | None:
        """The latest snapshot of a channel; None if there is none."""

    def keyed(self, channel: str, key: str) -> Keyed | None:
        """The answer that was given for a key; None if there is none."""

    def older(self, before: float, after: str, limit: int) -> list[str]:
        """Up to `limit` channels after a name, in order, whose first message came before a time."""

    def naming(self, quoted: str, channels: Sequence[str]) -> list[str]:
        """Those of the channels whose data contains a JSON string, given with its quotation marks."""

    def close(self) -> None:
        """Close the storage, and give up all channels."""


def new_history() -> int:
    """A new unique number for a history of a channel."""
    return secrets.randbits(53)
