"""Records a bot in a Synapse room with three conversations: docs/bots/room.svg, and room.cast for asciinema.

Run it as `python -m benchmarks.room`, with Synapse where the tests look for it. The bot and the chat are
those of tests/rooms/test_bot.py.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text
from tests.rooms.servers import Synapse
from tests.rooms.test_bot import CHAT, Robo, Room, wait_for

DOCS = Path(__file__).parents[1] / "docs" / "bots"
COLOURS = {
    "ann": "cyan",
    "bob": "green",
    "cid": "yellow",
    "dee": "magenta",
    "eve": "blue",
    "robo": "bold red",
}


def main() -> None:
    """Run the room, and write the picture and the recording."""
    with tempfile.TemporaryDirectory() as folder:
        server = Synapse(Path(folder) / "synapse")
        try:
            lines = recorded(server, Path(folder) / "robo")
        finally:
            server.stop()
    console = Console(record=True, width=90, force_terminal=True, file=(DOCS / "room.txt").open("w"))
    frames = []
    for seconds, who, text in lines:
        line = Text.assemble((f"{who:>5} ", COLOURS[who]), text)
        with console.capture() as capture:
            console.print(line)
        frames.append(json.dumps([round(seconds, 2), "o", capture.get().replace("\n", "\r\n")]))
        console.print(line)
    console.file.close()
    (DOCS / "room.txt").unlink()
    picture = console.export_svg(title="three conversations, and a bot")
    # Remove fonts that would be loaded from other hosts.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    (DOCS / "room.svg").write_text(picture, "utf-8")
    header = {"version": 2, "width": 90, "height": len(lines) + 1, "title": "a bot in a Synapse room"}
    (DOCS / "room.cast").write_text("\n".join([json.dumps(header), *frames]) + "\n", "utf-8")


def recorded(server: Synapse, folder: Path) -> list[tuple[float, str, str]]:
    """The messages in the room, with times and speakers."""
    room = Room(server)
    robo = Robo(room.address, folder)
    robo.start()
    lines: list[tuple[float, str, str]] = []
    start, answers = time.monotonic(), 0
    try:
        for who, text, expected in CHAT:
            time.sleep(1)
            room.say(who, text)
            lines.append((time.monotonic() - start, who, text))
            if expected is not None:
                answers += 1
                wanted = answers
                wait_for(lambda wanted=wanted: len(room.answers()) >= wanted)
                lines.append((time.monotonic() - start, "robo", f"↪ {who}: {room.answers()[-1][1]}"))
    finally:
        robo.kill()
    return lines


if __name__ == "__main__":
    main()
