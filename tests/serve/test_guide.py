"""docs/serve.md: its commands work, and it names every setting and every error."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

import towhom.serve
from tests.serve.conftest import Start, answer, same
from towhom.serve.settings import Settings, known_settings

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "serve.md").read_text("utf-8")


def test_settings_with_their_defaults() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", GUIDE, re.MULTILINE))
    assert list(rows) == list(known_settings())
    for name, (_, about) in known_settings().items():
        if about.default is None:
            assert rows[name] == f"{getattr(Settings, name)}".removesuffix(".0")
        elif name != "data":
            assert rows[name] == about.default


def test_every_error_is_listed() -> None:
    folder = Path(str(towhom.serve.__file__)).parent
    source = "".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    codes = set(re.findall(r'Problem\(\s*\d{3}, "([a-z-]+)"', source))
    codes |= set(re.findall(r'^    \d{3}: \("([a-z-]+)"', source, re.MULTILINE))
    assert len(codes) > 15
    assert {code for code in codes if f"`{code}`" not in GUIDE} == set()


def test_the_answer_that_is_shown(client: httpx.Client) -> None:
    """The guide's first answer is the one that its first request gets, up to rounding."""
    asked = re.search(r"/v1/addressees [^\n]* -d '(\{.*?\})'", GUIDE, re.DOTALL)
    shown = re.search(r"```json\n\{\"observations\": \[\.\.\., (.*?)\]\}\n```", GUIDE, re.DOTALL)
    assert asked
    assert shown
    found = answer(client.post("/v1/addressees", json=json.loads(asked[1])))["observations"][-1]
    assert same(found, json.loads(shown[1]))


def test_the_lines_about_a_log_that_are_shown(client: httpx.Client) -> None:
    """Those that the guide shows are among those that its request gets, up to rounding."""
    log = re.search(r"    printf '(.*)' > 2024-05-31.txt\n", GUIDE)
    shown = re.search(r"```json\n(\{\"type\": \"rooms\".*?)\n```", GUIDE, re.DOTALL)
    assert log
    assert shown
    response = client.post(
        "/v1/logs?name=2024-05-31.txt",
        content=log[1].replace("\\n", "\n"),
        headers={"Content-Type": "application/octet-stream"},
    )
    found = [json.loads(line) for line in response.text.splitlines()]
    expected = [json.loads(each) for each in re.split(r"\n(?:\.\.\.\n)?(?=\{)", shown[1])]
    assert [each["type"] for each in expected] == ["rooms", "message", "complete"]
    for each in expected:
        assert any(same(line, each) for line in found), each


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_commands(start: Start, tmp_path: Path) -> None:
    examples = re.findall(
        r"^    ((?:printf .*\n    )?curl (?:.*\\\n|.*'\{(?:.|\n)*?\}'\n|.*\n)(?:      .*\n)*)",
        GUIDE,
        re.MULTILINE,
    )
    assert len(examples) >= 14
    server = start()
    address = str(server.client.base_url).rstrip("/").removeprefix("http://")
    for example in examples:
        if "/events" in example:  # it does not end
            continue
        command = example.replace("curl ", "curl --silent --show-error --fail --max-time 10 ", 1)
        done = subprocess.run(
            ["bash", "-c", command.replace("localhost:8080", address)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, f"{example}\n{done.stderr}"
        assert "DELETE" in example or done.stdout.startswith("{")
