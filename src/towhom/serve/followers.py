"""Clients that follow channels: who waits for news of which."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from towhom.serve.problems import Problem

HEARTBEAT = 15.0
"""Seconds without news, after which a sign of life is due."""


class Follower:
    """Somebody who waits for news of a channel."""

    def __init__(self) -> None:
        self.news = asyncio.Event()

    async def woken(self) -> bool:
        """Wait for news; False if there is none for a while."""
        try:
            await asyncio.wait_for(self.news.wait(), HEARTBEAT)
        except TimeoutError:
            return False
        return True


class Followers:
    """All of them.

    Args:
        most: How many there may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_channel: dict[str, set[Follower]] = {}
        self.count = 0
        self.closed = False

    @contextmanager
    def follow(self, channel: str) -> Iterator[Follower]:
        """Be woken when there is news of a channel."""
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
        """Tell those who follow a channel that there is news."""
        for follower in self._by_channel.get(channel, ()):
            follower.news.set()

    def wake_some(self, channels: Sequence[str] | None) -> None:
        """Tell those who follow some channels, or any."""
        for channel in self._by_channel if channels is None else channels:
            self.wake(channel)

    def close(self) -> None:
        """Send everybody home."""
        self.closed = True
        self.wake_some(None)
