from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towhom.chat import Message
from towhom.readers import Report, find_logs

Reading = Callable[..., tuple[list[Message], Report]]


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    """Reads a log from its bytes: the messages, and the report."""

    def read(
        content: bytes | str, *, name: str = "log", format: str | None = None, strict: bool = False
    ) -> tuple[list[Message], Report]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        report = Report(strict=strict)
        logs = find_logs(path, format=format, report=report)
        return [message for log in logs for message in log.messages(report)], report

    return read
