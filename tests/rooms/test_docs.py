"""The bots of the guides: short, and those for servers that we have do run."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.rooms.servers import NgIRCd, Prosody, Synapse
from towhom.rooms import Address, Connector, connect
from towhom.testing.connectors import ConnectorContract, events_until

GUIDES = Path(__file__).parents[2] / "docs" / "bots"
PLATFORMS = ("discord", "irc", "matrix", "mattermost", "slack", "telegram", "xmpp", "zulip")


def bot(platform: str) -> str:
    """The program that a guide starts with."""
    page = (GUIDES / f"{platform}.md").read_text("utf-8")
    match = re.match(r"# [^\n]*\n\n```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert match is not None, f"{platform}.md does not start with a bot"
    return match[1]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_guide_starts_with_a_bot_in_twenty_lines(platform: str) -> None:
    program = bot(platform)
    assert len(program.splitlines()) <= 20
    compile(program, f"{platform}.md", "exec")


def connector_of_the_guide() -> type[Connector]:
    """The connector that docs/bots/rooms.md shows."""
    page = (GUIDES / "rooms.md").read_text("utf-8")
    match = re.search(
        r"^```python\n(.*?class Lines\(Connector\):.*?)^async def main", page, re.DOTALL | re.MULTILINE
    )
    assert match is not None
    names: dict[str, Any] = {}
    exec(match[1], names)
    lines: type[Connector] = names["Lines"]
    return lines


class TestTheConnectorOfTheGuide(ConnectorContract):
    """Who begins with it begins with something that passes."""

    room, has_ids, has_replies = "file", False, False

    @pytest.fixture(autouse=True)
    def _in_a_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("chat.txt").touch()

    def connector(self, *, state: Path | None = None, write: bool = False) -> Connector:
        return connector_of_the_guide()(Address.parse("lines:///chat.txt"), state=state, write=write)

    async def say(self, text: str, reply_to: str | None = None) -> str | None:
        with Path("chat.txt").open("a") as file:
            file.write(f"ann: {text}\n")
        return None


def answered(platform: str, address: str, person: Connector, room: str, folder: Path, **secrets: str) -> str:
    """What the bot of a guide answers."""
    program = re.sub(r'ADDRESS = ".*"', f"ADDRESS = {address!r}", bot(platform))

    async def work() -> str:
        async with person:
            process = subprocess.Popen([sys.executable, "-c", program], cwd=folder, env=os.environ | secrets)
            try:
                await events_until(person, lambda event: "robo" in event.speaker)
                await person.send(room, "robo: are you there?")
                events = await events_until(
                    person, lambda event: "robo" in event.speaker and bool(getattr(event, "text", ""))
                )
                return str(getattr(events[-1], "text", ""))
            finally:
                process.kill()
                process.wait(60)

    return asyncio.run(work())


def test_the_bot_for_irc(ngircd: NgIRCd, tmp_path: Path) -> None:
    person = connect(f"irc://docs-ann@127.0.0.1:{ngircd.port}/#docs", write=True)
    address = f"irc://robo@127.0.0.1:{ngircd.port}/#docs"
    assert "are you there?" in answered("irc", address, person, "#docs", tmp_path)


def test_the_bot_for_matrix(synapse: Synapse, tmp_path: Path) -> None:
    token = synapse.register("docs-ann", "pw-ann")
    synapse.register("robo-docs", "pw-robo")
    room = synapse.room("docs", token)
    end = f"@127.0.0.1:{synapse.port}/#docs:localhost?tls=no"
    person = connect(f"matrix://docs-ann{end}", secrets={"password": "pw-ann"}, write=True)
    answer = answered(
        "matrix", f"matrix://robo-docs{end}", person, room, tmp_path, TOWHOM_MATRIX_PASSWORD="pw-robo"
    )
    assert "are you there?" in answer


def test_the_bot_for_xmpp(prosody: Prosody, tmp_path: Path) -> None:
    for name in ("docs-ann", "robo"):
        prosody.register(name, "pw-docs")
    end = f"@localhost:{prosody.port}/docs@conference.localhost?tls=no&host=127.0.0.1"
    person = connect(f"xmpp://docs-ann{end}", secrets={"password": "pw-docs"}, write=True)
    room = "docs@conference.localhost"
    answer = answered("xmpp", f"xmpp://robo{end}", person, room, tmp_path, TOWHOM_XMPP_PASSWORD="pw-docs")
    assert "are you there?" in answer
