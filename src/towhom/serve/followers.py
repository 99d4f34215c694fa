"""Clients that follow channels, and how they are notified."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from towhom.serve.problems import Problem

HEARTBEAT = 15.0
"""Seconds without news after which a heartbeat is sent."""


class Follower:
    """A client that waits for news of a channel."""

    def __init__(self) -> None:
        self.news = asyncio.Event()

    async def woken(self) -> bool:
        """Wait for news; False if there is none within `HEARTBEAT` seconds."""
        try:
            await asyncio.wait_for(self.news.wait(), HEARTBEAT)
        except TimeoutError:
            return False
        return True


class Followers:
    """All followers.

    Args:
        most: Maximum number of followers.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_channel: dict[str, set[Follower]] = {}
        self.count = 0
        self.closed = False

    @contextmanager
    def follow(self, channel: str) -> Iterator[Follower]:
        """Register a follower, which is woken when there is news of a channel."""
        if self.count >= self._most:
            sentence = f"There are {self._most} clients that follow channels, which are the most; try later."
            raise Problem(503, "too-many-streams", sentence, headers={"Retry-After": "30"})
        follower = Follower()
        every = self._by_channel.setdefault(channel, set())
        every.add(follower)
        self.count += 1
        try:
            yield follower
        finally:
            self.count -= 1
            every.remove(follower)
            if not every:
                self._by_channel.pop(channel, None)

    def wake(self, channel: str) -> None:
        """Wake the followers of a channel."""
        for follower in self._by_channel.get(channel, ()):
            follower.news.set()

    def wake_some(self, channels: Sequence[str] | None) -> None:
        """Wake the followers of some channels; of all if None."""
        for channel in self._by_channel if channels is None else channels:
            self.wake(channel)

    def close(self) -> None:
        """Let all followers end."""
        self.closed = True
        self.wake_some(None)
