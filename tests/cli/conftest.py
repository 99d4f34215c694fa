"""Running commands, in this process and in one of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest
from click.testing import CliRunner, Result

from towhom.cli import main

CHAT = """\
# 20240531
[10:00] <ada> is the kettle on?
[10:01] <bob> ada: since noon
=== cyd [~c@example.org] has joined #room
[10:02] <cyd> bob, who paid for it?
[10:03]  * ada whistles
"""


class Run(Protocol):
    """Runs `towhom` with some arguments."""

    def __call__(self, *arguments: str | Path, code: int = ...) -> Result: ...


@pytest.fixture
def run() -> Run:
    def run_here(*arguments: str | Path, code: int = 0) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return run_here


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.txt"
    path.write_text(CHAT)
    return path


def write_links(folder: Path, log: str, links: str) -> Path:
    """A folder with a log and its reply links."""
    folder.mkdir()
    (folder / "kitchen.txt").write_text(log)
    (folder / "kitchen.links").write_text(links)
    return folder


def command(*arguments: str | Path) -> list[str]:
    """The command line that runs `towhom` in a process of its own."""
    return [
        sys.executable,
        "-c",
        "from towhom.cli import main; main(prog_name='towhom')",
        *map(str, arguments),
    ]


def run_apart(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `towhom` as a user does."""
    return subprocess.run(command(*arguments), input=stdin, capture_output=True, text=True, check=False)
