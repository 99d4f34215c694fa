"""The Python of the README and of the guides runs as pasted, block after block, and prints what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = (
    "README.md",
    "docs/bank.md",
    "docs/bots/README.md",
    "docs/bots/gate.md",
    "docs/bots/called.md",
    "docs/bots/autogen.md",
    "docs/bots/rooms.md",
    "docs/live.md",
    "docs/threads.md",
)
"""Their Python needs nothing but what is on the page."""

_END = "-- end of a block --"


class Block(NamedTuple):
    """Some Python, and what it prints, if the page says so."""

    code: str
    output: str | None


def blocks_of(text: str) -> list[Block]:
    """The Python of a page; lines indented by four spaces right after a block are its output."""
    found = re.findall(r"^```python\n(.*?)^```\n(?:\n((?:    [^\n]*\n)+))?", text, re.DOTALL | re.MULTILINE)
    return [Block(code, re.sub(r"^    ", "", output, flags=re.MULTILINE) or None) for code, output in found]


def test_blocks_are_found() -> None:
    first = "x\n\n```python\na = 1\n\nprint(a)\n```\n\n    1\n    2\n\ny\n"
    second = "\n```python\nb\n```\n\nz\n\n    not its output\n"
    assert blocks_of(first + second) == [Block("a = 1\n\nprint(a)\n", "1\n2\n"), Block("b\n", None)]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_prints_what_it_says(page: str, tmp_path: Path) -> None:
    blocks = blocks_of((ROOT / page).read_text("utf-8"))
    assert blocks
    program = "".join(f"{block.code}\nprint({_END!r})\n" for block in blocks)
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stderr == ""
    printed = done.stdout.split(f"{_END}\n")
    assert len(printed) == len(blocks) + 1
    for block, output in zip(blocks, printed, strict=False):
        if block.output is not None:
            assert output == block.output


def test_every_file_that_is_linked_is_there() -> None:
    root = README.parent
    pages = [README, root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.relative_to(root)} links to {link}"
