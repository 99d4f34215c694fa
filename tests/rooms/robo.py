"""A bot in a room, as a program of its own: python -m tests.rooms.robo ADDRESS FOLDER."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from towhom.bots import Gate
from towhom.rooms import connect

CARD = "lspci shows which network card is in the machine"
LOG = "the log of the build is in /var/log/ci"
LUNCH = "lunch is served from twelve on in the canteen"


def drafts(text: str) -> list[str]:
    """What a language model might offer: something that fits, and something that does not."""
    answer = CARD if "card" in text else LOG if "log" in text else LUNCH
    return ["good night, see you all on Monday", answer, "congratulations on the new bike!"]


async def main(address: str, folder: Path) -> None:
    async with (
        connect(address, state=folder / "position", write=True) as room,
        Gate(room.me or "", "robo", folder=folder / "gate") as gate,
    ):
        sys.stdout.write("in the room\n")
        sys.stdout.flush()
        async for event in room:
            verdict = await gate.hear(event)
            if not verdict or verdict.message is None or verdict.room is None:
                continue
            message = verdict.message
            choice = await gate.choose(verdict.room, drafts(message.text), message=message.id)
            if choice.draft is not None:
                await room.send(verdict.room, choice.draft, message.id, key=message.id)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
