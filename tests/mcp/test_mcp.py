"""`towhom mcp`, asked by the client of the official package."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import Server

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
tools = pytest.importorskip("towhom.mcp.tools")
Client, StdioServerParameters = mcp.Client, mcp.StdioServerParameters
conversations, unanswered = tools.conversations, tools.unanswered

LOG = """\
[10:00] <noor> my wifi is gone since the upgrade, which card do I have?
[10:01] <tobias> is there a deb of the new kernel?
[10:02] <mira> noor: run lspci and look for the network controller
[10:03] <noor> mira: it says broadcom
[10:04] <tobias> lena: do you still have the old router?
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "towhom", "mcp", *arguments]


def over_stdio(*arguments: str) -> Any:
    program, *rest = command(*arguments)
    return StdioServerParameters(command=program, args=rest, env=ENVIRONMENT)


async def call(server: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    async with Client(server) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"rooms", "who", "threads", "open_questions", "report"}
        return [_content(await client.call_tool(name, arguments)) for name, arguments in calls]


def _content(result: Any) -> Any:
    if result.is_error:
        return result.content[0].text
    return result.structured_content["result"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "chat.txt"
    path.write_text(LOG, "utf-8")
    return path


class TestLog:
    def test_all_tools(self, log: Path) -> None:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("rooms", {}), ("who", {"person": "mira"}), ("threads", {}), ("open_questions", {}),
            ("who", {"room": "kitchen"}), ("who", {"last": 1}), ("report", {}),
        ]  # fmt: skip
        rooms, who, threads, questions, wrong, last, report = asyncio.run(call(over_stdio(str(log)), *calls))
        assert rooms == ["log"]
        assert [(each["speaker"], each["for"]) for each in who] == [("mira", "noor"), ("noor", "mira")]
        assert (threads[0]["people"], len(threads[0]["messages"])) == (["tobias"], 1)
        assert threads[-1]["people"][:2] == ["noor", "mira"]
        # What tobias asks at the end belongs to a conversation that began with another question.
        assert [each["text"] for each in questions] == ["is there a deb of the new kernel?"]
        assert "there is no room 'kitchen'" in wrong
        assert [each["text"] for each in last] == ["lena: do you still have the old router?"]
        assert "| messages | 5 |" in report
        assert "| mira | noor | 1 |" in report

    def test_a_log_that_grows(self, log: Path) -> None:
        async def ask() -> list[int]:
            counts = []
            async with Client(over_stdio(str(log))) as client:
                for line in ("[10:05] <lena> tobias: yes\n", ""):
                    counts.append(len(_content(await client.call_tool("who", {}))))
                    with log.open("a") as file:
                        file.write(line)
            return counts

        assert asyncio.run(ask()) == [5, 6]

    def test_http(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with subprocess.Popen(
            command(str(log), "--http", str(port)), env=ENVIRONMENT, stderr=subprocess.DEVNULL
        ) as process:
            try:
                _wait_for(port)
                (rooms,) = asyncio.run(call(f"http://127.0.0.1:{port}/mcp", ("rooms", {})))
            finally:
                process.terminate()
        assert rooms == ["log"]


def _wait_for(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("it does not listen")


class TestServer:
    @pytest.fixture
    def server(self, tmp_path: Path) -> Iterator[Server]:
        token = tmp_path / "token"
        token.write_text("a-token-that-nobody-guesses-12345678")
        token.chmod(0o600)
        server = Server(
            tmp_path / "server", "--workers", "1", "--question-workers", "1", "--token-file", str(token)
        )
        server.client.headers["Authorization"] = f"Bearer {token.read_text()}"
        yield server
        server.stop()

    def test_a_room(self, server: Server) -> None:
        said = [
            {"speaker": "bob", "text": "good morning"},
            {"speaker": "ann", "text": "bob: is it up?"},
            {"speaker": "bob", "text": "ann: yes"},
        ]
        server.client.post("/v1/channels/%23lab/messages", json={"messages": said}).raise_for_status()
        url = str(server.client.base_url)
        told = over_stdio("--server", url)
        told.env = {
            **ENVIRONMENT,
            "TOWHOM_TOKEN": server.client.headers["Authorization"].removeprefix("Bearer "),
        }
        calls: list[tuple[str, dict[str, Any]]] = [("rooms", {}), ("who", {}), ("who", {"room": "x"})]
        rooms, who, wrong = asyncio.run(call(told, *calls))
        assert rooms == ["#lab"]
        assert [each["for"] for each in who] == [None, "bob", "ann"]
        assert "There is no channel of this id" in wrong
        refused = subprocess.run(
            command("--server", url), env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        assert refused.returncode == 1
        assert re.match(r"Error: http://\S+: ", refused.stderr)


class TestCommand:
    def test_a_log_or_a_server(self) -> None:
        done = subprocess.run(command(), capture_output=True, text=True, check=False, env=ENVIRONMENT)
        assert (done.returncode, "name a log, or a server" in done.stderr) == (2, True)

    def test_no_such_log(self, tmp_path: Path) -> None:
        done = subprocess.run(
            command(str(tmp_path / "none.txt")), capture_output=True, text=True, check=False, env=ENVIRONMENT
        )
        assert done.returncode == 1
        assert "none.txt" in done.stderr


class TestAnswers:
    """What is made of observations, whatever made them."""

    @staticmethod
    def told(number: int, speaker: str, to: int, thread: int, *, asks: bool = False) -> dict[str, Any]:
        said = {"speaker": speaker, "name": None, "text": str(number), "time": None}
        return {
            "number": number, "message": said, "reason": "",
            "addressees": [{"name": None, "probability": 1.0}],
            "replies_to": [to], "thread": thread, "asks": asks,
        }  # fmt: skip

    def test_conversations_by_their_last_message(self) -> None:
        room = [self.told(0, "a", 0, 0), self.told(1, "b", 1, 1), self.told(2, "c", 0, 0)]
        assert [each["thread"] for each in conversations(room)] == [1, 0]
        assert json.dumps(conversations(room))

    def test_own_messages_are_no_answer(self) -> None:
        room = [
            self.told(0, "a", 0, 0, asks=True),
            self.told(1, "a", 0, 0),
            self.told(2, "b", 2, 2, asks=True),
            self.told(3, "a", 2, 2),
        ]
        assert [each["number"] for each in unanswered(room)] == [0]
