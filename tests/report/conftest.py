"""A workspace's export, and reports of small chats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

import towhom
from tests.cli.conftest import run
from tests.readers.exports import zipped
from tests.workspace import Workspace, workspace
from towhom.chat import Message
from towhom.live.reading import answers
from towhom.readers import locate_messages
from towhom.readers.filters import Filter
from towhom.report import Report, gather, measure

__all__ = ["run"]


class Export(NamedTuple):
    """An export on disk, and what it was made of."""

    path: Path
    made: Workspace


@pytest.fixture(scope="session")
def export(tmp_path_factory: pytest.TempPathFactory) -> Export:
    made = workspace()
    path = tmp_path_factory.mktemp("workspace") / "makerspace.zip"
    path.write_bytes(zipped(made.files))
    return Export(path, made)


START = datetime(2025, 3, 3, 10, 0)


def chat(*lines: str, room: str = "help", minutes: int = 1) -> list[Message]:
    """Messages like `3 ada> does it work?`, the number being the one that it answers; 0 for none.

    Each has its place as its id, from 1; they are a minute apart, or as `+90` in front says.
    """
    messages, time = [], START
    for number, line in enumerate(lines, start=1):
        front, _, text = line.partition("> ")
        *options, speaker = front.split()
        waits = [int(option) for option in options if option.startswith("+")]
        links = [option for option in options if not option.startswith("+")]
        time += timedelta(minutes=waits[0] if waits else minutes)
        link = links[0] if links and links[0] != "0" else str(number)
        messages.append(Message(speaker, text, id=str(number), reply_to=link, time=time, channel=room))
    return messages


def report_of(messages: Sequence[Message], shown: Filter | None = None) -> Report:
    """The report of a chat."""
    return measure(gather(answers(towhom.load(), locate_messages(messages)), shown=shown), "chat")


def to_lines(path: Path, messages: Sequence[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(message) + "\n" for message in messages), "utf-8")
    return path
