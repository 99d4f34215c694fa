"""Gates with the model that comes with towhom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import towhom
from towhom import Gate, Message
from towhom.bots import GateVerdict
from towhom.live import Model

collect_ignore = ["autogen_group.py", "hermes_gateway.py"]
"""Programs that tests start; what they import is not installed everywhere."""
START = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture(scope="session")
def model() -> Model:
    return towhom.load()


def lines(*texts: str, room: str = "lab", first: int = 0) -> list[Message]:
    """Messages of a room from `speaker> text`, ten seconds apart, numbered from `first`."""
    messages = []
    for number, text in enumerate(texts, first):
        speaker, _, said = text.partition("> ")
        time = START + timedelta(seconds=10 * number)
        messages.append(Message(speaker, said, time=time, id=f"m{number}", channel=room))
    return messages


async def hear_all(gate: Gate, messages: Sequence[Any]) -> list[GateVerdict]:
    return [await gate.hear(message) for message in messages]
