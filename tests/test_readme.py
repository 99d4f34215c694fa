"""README and guides: their Python runs and prints what they say; the commands that they name exist."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from towhom.cli import main
from towhom.corpus import Split, build_corpus

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CODE_OF_CONDUCT.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "results").rglob("*.md")),
]
ELSEWHERE = {
    **{f"docs/bots/{name}.md": "tests/rooms/test_docs.py" for name in (
        "discord", "irc", "matrix", "mattermost", "slack", "telegram", "xmpp", "zulip",
    )},
    "docs/bots/http.md": "tests/serve/test_gate.py",
}  # fmt: skip
"""Pages whose Python needs a server, and the tests that run it."""

_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n((?:    [^\n]*\n)+))?", re.DOTALL | re.MULTILINE)
_END = "-- end of a block --"


class Block(NamedTuple):
    """Some Python, and what it prints, if the page says so."""

    code: str
    output: str | None


def blocks_of(text: str) -> list[Block]:
    """The Python of a page; lines indented by four spaces right after a block are its output."""
    return [
        Block(code, re.sub(r"^    ", "", output, flags=re.MULTILINE) or None)
        for code, output in _BLOCK.findall(text)
    ]


def with_python() -> Iterator[str]:
    """The pages that have some, but for those that other tests run."""
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        if name not in ELSEWHERE and blocks_of(page.read_text("utf-8")):
            yield name


def test_blocks_are_found() -> None:
    first = "x\n\n```python\na = 1\n\nprint(a)\n```\n\n    1\n    2\n\ny\n"
    second = "\n```python\nb\n```\n\nz\n\n    not its output\n"
    assert blocks_of(first + second) == [Block("a = 1\n\nprint(a)\n", "1\n2\n"), Block("b\n", None)]


def test_pages_that_others_run_are_run() -> None:
    for page, test in ELSEWHERE.items():
        assert blocks_of((ROOT / page).read_text("utf-8"))
        assert f'"{Path(page).stem}' in (ROOT / test).read_text("utf-8")


def prepare(folder: Path) -> None:
    """Write what pages talk of: an export and a corpus."""
    lines = [
        {"speaker": speaker, "text": text, "channel": "help", "time": f"2024-05-31T10:{minute:02}:00"}
        for minute in range(20)
        for speaker, text in (("ada", f"bob: is build {minute} green?"), ("bob", f"ada: {minute} is green"))
    ]
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.writestr("chat.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    build_corpus(folder / "my-corpus", splits={Split.TRAIN: [folder / "export.zip"]})


@pytest.mark.parametrize("page", list(with_python()))
def test_a_page_prints_what_it_says(page: str, tmp_path: Path) -> None:
    blocks = blocks_of((ROOT / page).read_text("utf-8"))
    prepare(tmp_path)
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


def commands_of(text: str) -> Iterator[str]:
    """The calls of `towhom` in blocks of code and between backticks, one a line."""
    text = re.sub(r"^```(?:python|json|toml|yaml|sql)\b.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = text.replace("\\\n", " ")
    for code in (*re.findall(r"^ {4,}(.*)$", text, re.MULTILINE), *re.findall(r"`([^`]+)`", text)):
        for call in re.findall(r"(?:^|[|;&$] *|-m |/)(towhom +[a-z][^|;&]*)", " ".join(code.split())):
            yield re.sub(r"(^|\s)#.*", "", call).strip()


def test_commands_are_found() -> None:
    text = "x `towhom who LOG` y\n\n    tail -f a | towhom who - --for ada  # live\n    pip install towhom\n"
    assert list(commands_of(text)) == ["towhom who - --for ada", "towhom who LOG"]


def problem_of(call: str) -> str | None:
    """What is wrong with a call: a command or an option that is not there."""
    words = shlex.split(call.replace("...", "").replace("…", ""))[1:]
    command: click.Command = main
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            if command.name == "serve":  # also a command of its own
                break
            return f"there is no command {words[0]}"
        command, words = found, words[1:]
    options = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    unknown = given - options - {"--help", "-h", "--version"}
    return f"{command.name} has no {', '.join(sorted(unknown))}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_options_exist(page: Path) -> None:
    calls = list(commands_of(page.read_text("utf-8")))
    assert [(call, problem) for call in calls if (problem := problem_of(call))] == []


def test_many_commands_are_checked() -> None:
    assert sum(len(list(commands_of(page.read_text("utf-8")))) for page in PAGES) > 150
    assert problem_of("towhom whom LOG") == "there is no command whom"
    assert problem_of("towhom who LOG --nope 3") == "who has no --nope"


def test_every_file_that_is_linked_is_there() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if (
                "://" not in link
                and not link.startswith("reference/")
                and not link.startswith("../reference/")
            ):
                assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"
