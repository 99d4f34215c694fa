"""From a stream to a server: at least once, kept once, in the order of each room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from towhom.follow.server import Answer, Server
from towhom.follow.source import Delivery, Line, Shard, Source, lines_of

_AT_ONCE = 8
"""Rooms that are sent messages of at a time."""
_LONGEST_WAIT = 10.0
_BEAT = 3.0
"""Seconds after which a stream is told that work goes on."""


@dataclass
class Count:
    """How far it is.

    Args:
        kept: Messages that the server has.
        refused: Deliveries that nobody can take.
        waits: How often the server could not take a message, and it was sent again.
    """

    kept: int = 0
    refused: int = 0
    waits: int = 0


class Feed:
    """Takes messages from a stream, and gives them to a server.

    Args:
        source: The stream.
        server: The server.
        shard: Which rooms.
        tell: Called with what people should know.
    """

    def __init__(self, source: Source, server: Server, shard: Shard, tell: Callable[[str], None]) -> None:
        self._source, self._server, self._shard, self._tell = source, server, shard, tell
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self.count = Count()

    async def run(self) -> Count:
        """Go on until the stream ends.

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
        """Send all of a batch: rooms beside each other, a room's messages one after the other."""
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
        """Send a message until the server has it, or says that it never will."""
        key, wait = line.key, 0.2
        loop = asyncio.get_running_loop()
        while True:
            answer = await loop.run_in_executor(self._pool, self._server.send, line.room, line.message, key)
            if answer.code == "key-reused" and key != line.place:
                key = line.place  # another message has this identifier: both are kept
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
    """Tell the stream now and then that work goes on."""
    while True:
        await asyncio.sleep(_BEAT)
        for delivery in batch:
            await delivery.working()
