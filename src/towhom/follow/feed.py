"""Sends a stream to a server: messages are sent at least once, kept once, and in order within a room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from towhom.follow.server import Answer, Server
from towhom.follow.source import Delivery, Line, Shard, Source, lines_of

_AT_ONCE = 8
"""Number of rooms whose messages are sent in parallel."""
_LONGEST_WAIT = 10.0
_BEAT = 3.0
"""Seconds between signals to the stream that work is in progress."""


@dataclass
class Count:
    """Counts of a feed.

    Args:
        kept: Messages that the server has saved.
        refused: Deliveries that can never be accepted.
        waits: How often the server could not take a message, and it was sent again.
    """

    kept: int = 0
    refused: int = 0
    waits: int = 0


class Feed:
    """Takes messages from a stream, and sends them to a server.

    Args:
        source: The stream.
        server: The server.
        shard: The rooms to send.
        tell: Called with messages for the user.
    """

    def __init__(self, source: Source, server: Server, shard: Shard, tell: Callable[[str], None]) -> None:
        self._source, self._server, self._shard, self._tell = source, server, shard, tell
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self.count = Count()

    async def run(self) -> Count:
        """Run until the stream ends.

        Raises:
            TowhomError: The stream cannot be read, or the server does not let us in.
        """
        try:
            async for batch in self._source.batches():
                await self._take(batch)
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)
        return self.count

    async def _take(self, batch: list[Delivery]) -> None:
        """Send a batch: rooms in parallel, the messages of a room one after the other."""
        rooms: dict[str, list[tuple[Delivery, list[Line]]]] = {}
        for delivery in batch:
            try:
                lines = lines_of(delivery)
            except ValueError as error:
                await self._refuse(delivery, str(error))
                continue
            rooms.setdefault(lines[0].room, []).append((delivery, lines))
        gate = asyncio.Semaphore(_AT_ONCE)
        beat = asyncio.create_task(_beat(batch))
        tasks = [asyncio.create_task(self._send_room(gate, room, each)) for room, each in rooms.items()]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in (beat, *tasks):
                task.cancel()
            await asyncio.gather(beat, *tasks, return_exceptions=True)

    async def _send_room(
        self, gate: asyncio.Semaphore, room: str, deliveries: list[tuple[Delivery, list[Line]]]
    ) -> None:
        async with gate:
            for delivery, lines in deliveries:
                problems = []
                for line in lines if self._shard.has(room) else ():
                    answer = await self._send(line)
                    self.count.kept += answer.kept
                    if not answer.kept:
                        problems.append(f"{answer.code}: {answer.reason}")
                if problems:
                    await self._refuse(delivery, problems[0])
                else:
                    await delivery.done()

    async def _send(self, line: Line) -> Answer:
        """Send a message until the server has saved it, or says that it never will."""
        key, wait = line.key, 0.2
        loop = asyncio.get_running_loop()
        while True:
            answer = await loop.run_in_executor(self._pool, self._server.send, line.room, line.message, key)
            if answer.code == "key-reused" and key != line.place:
                key = line.place  # another message has this id: keep both
                continue
            if answer.again is None:
                return answer
            if self.count.waits == 0:
                self._tell(f"the server cannot take messages now ({answer.reason}); they are sent again")
            self.count.waits += 1
            wait = min(max(wait * 2, answer.again), _LONGEST_WAIT)
            await asyncio.sleep(wait)

    async def _refuse(self, delivery: Delivery, reason: str) -> None:
        self.count.refused += 1
        self._tell(f"refused {delivery.place}: {reason}")
        await delivery.refused()


async def _beat(batch: list[Delivery]) -> None:
    """Regularly tell the stream that work is in progress."""
    while True:
        await asyncio.sleep(_BEAT)
        for delivery in batch:
            await delivery.working()
