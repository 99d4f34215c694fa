"""What the server asks of a storage, and what can be written. `sqlite` and `postgres` do it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

REMEMBERED = 10_000
"""Messages of a channel after which an answer can not be had again by its key. No clock: clocks jump."""


class StorageError(Exception):
    """Something cannot be read or written, and nothing was."""


class LostError(StorageError):
    """The file that channels are kept in is not what it was when it was opened."""


class AwayError(StorageError):
    """The database did not answer for a while."""


class UnsureError(StorageError):
    """The database went away while it was told to commit; nobody knows whether it did."""


class FencedError(StorageError):
    """Another server owns the channel, or nobody does."""


@dataclass(frozen=True)
class Kept:
    """A channel that is kept.

    Args:
        name: Of the channel.
        messages: The number of its next message.
        updated: When the last came, in seconds since 1970.
        first: The number of the first message that is still kept.
    """

    name: str
    messages: int
    updated: float
    first: int = 0


@dataclass(frozen=True)
class Page:
    """Observations of a channel with their numbers, in order; all of the same history."""

    history: int
    observations: list[tuple[int, str]]


@dataclass(frozen=True)
class Snapshot:
    """What a channel was after so many messages."""

    messages: int
    state: str


@dataclass(frozen=True)
class Keyed:
    """An answer that can be had again: the key, what was asked (a fingerprint), and which messages it has.

    The fingerprint is empty if somebody was forgotten whose messages it was made of.
    """

    key: str
    fingerprint: str
    first: int
    count: int


@dataclass(frozen=True)
class Owner:
    """Who owns a channel: this server, by its fencing number, or one at another address."""

    number: int
    address: str | None = None


# What can be written.

Row = tuple[str, str]
"""A message as it was sent, and what was observed; texts of JSON."""
NumberedRow = tuple[int, str, str]
"""The same, with its number."""


@dataclass(frozen=True)
class Append:
    """The next messages of a channel, which is made if it is new."""

    channel: str
    first: int
    messages: Sequence[Row]
    snapshot: Snapshot | None = None
    keyed: Keyed | None = None


@dataclass(frozen=True)
class Replace:
    """A channel's messages, instead of those that it had; it is made if it is new."""

    channel: str
    messages: Sequence[Row]
    snapshot: Snapshot | None = None


@dataclass(frozen=True)
class Introduce:
    """Those who are made known to a channel (JSON), instead of those who were; it is made if it is new.

    Without a snapshot, the one that there is goes: it knows somebody who is not known any more.
    """

    channel: str
    people: str
    snapshot: Snapshot | None


@dataclass(frozen=True)
class Keep:
    """What a channel is now."""

    channel: str
    snapshot: Snapshot


@dataclass(frozen=True)
class Redact:
    """Some messages of a channel say something else now, and so do those who are made known to it (JSON).

    The snapshot goes, and so do the fingerprints of answers that have these messages.
    """

    channel: str
    rows: Sequence[NumberedRow]
    people: str


@dataclass(frozen=True)
class Expire:
    """The messages of a channel that came before a time (in seconds since 1970) are deleted.

    The snapshot goes, and so do keys of these messages. Numbers stay as they are.
    """

    channel: str
    before: float


@dataclass(frozen=True)
class Delete:
    """A channel and all that is known of it."""

    channel: str


@dataclass(frozen=True)
class Release:
    """A channel is not owned by this server any more."""

    channel: str


Change = Append | Replace | Introduce | Keep | Redact | Expire | Delete | Release
News = Callable[[Sequence[str] | None], None]
"""Told of channels that other servers have changed; None: any may have changed."""


class Storage(Protocol):
    """What the server asks of a storage. Writes come from one thread; reads come from `readers` others.

    What cannot be done raises `StorageError`, or what the storage's library or the system raises.
    """

    readers: int
    """Threads that may read at the same time."""
    shared: bool
    """Whether other servers use it at the same time."""

    def start(self, news: News) -> None:
        """Begin to tell of what other servers write."""

    def claim(self, channel: str) -> Owner:
        """Own a channel, unless a server that lives owns it; who owns it then. Called by readers."""

    def claimed(self, channel: str) -> int | None:
        """The fencing number, if this server owns a channel; at once."""

    def claims(self) -> list[str]:
        """All channels that this server owns, if it shares them with others; at once."""

    def shares(self) -> tuple[int, int]:
        """How many channels are owned by servers that live, and how many such servers there are."""

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all of these, in their order, or none; when it returns, they are safe.

        Raises:
            FencedError: This server does not own one of the channels.
        """

    def verify(self) -> None:
        """Fail with `LostError` if what is written would not be there after a restart; quick."""

    def check(self) -> None:
        """Fail if nothing can be written, or what is written cannot be read."""

    def count(self) -> int:
        """How many channels there are."""

    def channels(self, after: str, limit: int) -> list[Kept]:
        """Channels in the order of their names, those after a name."""

    def channel(self, name: str) -> Kept | None:
        """One of them."""

    def page(self, channel: str, first: int, limit: int) -> Page | None:
        """Observations from some number on; None if there is no such channel."""

    def messages(self, channel: str, first: int) -> list[str]:
        """All messages from some number on, as they were sent."""

    def rows(self, channel: str, first: int, limit: int) -> list[NumberedRow]:
        """Messages with their observations, from some number on."""

    def people(self, channel: str) -> str:
        """Those who are made known to it, as JSON; nobody if there is no such channel."""

    def snapshot(self, channel: str) -> Snapshot | None:
        """The last that was written."""

    def keyed(self, channel: str, key: str) -> Keyed | None:
        """The answer that was given for a key."""

    def older(self, before: float, after: str, limit: int) -> list[str]:
        """Channels, in the order of their names, whose first message came before a time."""

    def naming(self, quoted: str, channels: Sequence[str]) -> list[str]:
        """Those channels in which a text of JSON stands, with its quotation marks."""

    def close(self) -> None:
        """Let go of everything."""


def new_history() -> int:
    """A number for a history of a channel, which no other has had."""
    return secrets.randbits(53)
