"""`towhom demo`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import Run, run_apart
from towhom.readers import read_conversations
from towhom.samples import sample_chat

WITHOUT_TORCH = (
    "import sys; sys.modules['torch'] = None; from towhom.cli import main; main(prog_name='towhom')"
)


@pytest.fixture(scope="module")
def shown() -> str:
    """What it prints in a process of its own, with no terminal and nobody to ask."""
    done = run_apart("demo")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_chat(shown: str) -> None:
    with sample_chat() as path:
        (chat,) = read_conversations(path)
    lines = shown.partition("\n\n")[0].splitlines()
    assert len(lines) == len(chat)
    for line, message in zip(lines, chat, strict=True):
        assert line.split()[1] == message.speaker
        assert line.endswith(message.text)
    assert any("⇢" in line for line in lines)
    assert sum("→" in line for line in lines) > 30


def test_what_comes_next(shown: str) -> None:
    _, table, explanation, hints = shown.split("\n\n")
    assert table.startswith("What bram says next")
    rows = [line.split("│") for line in table.splitlines() if line.startswith("│")]
    assert len(rows) == 5
    likely = [float(row[1].strip().removesuffix("%")) for row in rows]
    assert likely == sorted(likely, reverse=True)
    addressee, response = (cell.strip() for cell in rows[0][2:4])
    assert len(explanation.splitlines()) == 2
    assert explanation.endswith(f"The best pair is “{response}”, to {addressee}.")
    assert "towhom who LOG" in hints
    assert "towhom select LOG --as NICK" in hints


def test_the_counts_are_those_of_the_chat(shown: str) -> None:
    chat, _, explanation, _ = shown.split("\n\n")
    named, inferred, every = chat.count("→"), chat.count("⇢"), len(chat.splitlines())
    said = " ".join(explanation.split())
    assert f"{named} of {every} messages name their addressee (→), {inferred} others were worked out" in said


def test_no_colours_where_nobody_looks(shown: str) -> None:
    assert "\x1b" not in shown


def test_again_it_says_the_same(run: Run, shown: str) -> None:
    assert run("demo").stdout == shown


def test_another_speaker(run: Run, shown: str) -> None:
    output = run("demo", "--as", "ezra").stdout
    assert "What ezra says next" in output
    assert output.partition("\n\n")[0] == shown.partition("\n\n")[0]


def test_a_speaker_who_is_not_there(run: Run) -> None:
    assert (
        "nobody called brem is in the chat; did you mean bram" in run("demo", "--as", "brem", code=2).stderr
    )
    result = run("demo", "--as", "xxxxxxxx", code=2)
    assert "did you mean amal, bram, ezra, " in result.stderr


def test_without_torch(shown: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, "demo"], capture_output=True, text=True, check=False, input=""
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == shown
