"""Who speaks next in a group of agents; with the real AutoGen where it is installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from towhom import Message
from towhom.bots import next_speaker
from towhom.live import Model

AGENTS = ("planner", "coder", "critic")


def chat(*lines: str) -> list[Message]:
    parts = (line.partition("> ") for line in lines)
    return [Message(speaker, text) for speaker, _, text in parts]


class TestNextSpeaker:
    def test_who_is_called(self, model: Model) -> None:
        said = chat("user> we need a parser", "planner> coder: write it, critic will look at it")
        assert next_speaker(said, AGENTS, model=model) == "coder"

    def test_who_has_asked(self, model: Model) -> None:
        said = chat(
            "user> we need a parser",
            "coder> planner: for which format?",
            "planner> csv, with quotes as in rfc 4180",
        )
        assert next_speaker(said, AGENTS, model=model) == "coder"

    def test_nobody(self, model: Model) -> None:
        assert next_speaker([], AGENTS, model=model) is None
        assert next_speaker(chat("user> does anyone know a good parser?"), AGENTS, model=model) is None

    def test_only_participants(self, model: Model) -> None:
        assert next_speaker(chat("user> hi", "coder> user: done"), AGENTS, model=model) is None

    def test_how_likely(self, model: Model) -> None:
        said = chat("user> hi", "planner> coder: write it")
        assert next_speaker(said, AGENTS, least=0.99, model=model) is None


@pytest.mark.skipif(
    importlib.util.find_spec("autogen_agentchat") is None, reason="autogen-agentchat is not installed"
)
def test_a_real_group_chat() -> None:
    """In a process of its own: AutoGen warns of things that are not ours."""
    program = Path(__file__).with_name("autogen_group.py")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["speakers"] == ["user", "planner", "coder", "critic", "coder", "planner"], done.stderr
    assert told["model calls"] == 1, "only who begins is not said by anybody"
