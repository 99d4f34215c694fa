"""Parts of other packages: the package of docs/plugins.md is installed, and its parts are used."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from towhom.testing.chats import varied_documents, write_corpus

PAGE = Path(__file__).parents[1] / "docs" / "plugins.md"
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def install(folder: Path, files: dict[str, str], groups: dict[str, dict[str, str]]) -> None:
    """Put files there, and register entry points, as an installer does."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")
    info = folder / "parts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parts\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{n} = {t}\n" for n, t in points.items())
        for group, points in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    files = dict(FILE.findall(PAGE.read_text("utf-8")))
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    assert (project["name"], project["version"]) == ("parts", "1.0")
    install(folder, {**files, "parts/__init__.py": ""}, project["entry-points"])
    return folder


def runner(folder: Path) -> Run:
    def run(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-m", *map(str, arguments)],
            cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def run(installed: Path) -> Run:
    return runner(installed)


def test_the_parts_pass_the_tests_of_their_kind(run: Run) -> None:
    done = run("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", ".", ".")
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 40
    assert "skipped" not in done.stdout


def test_they_are_listed(run: Run) -> None:
    listed = json.loads(run("towhom", "plugins", "--json").stdout)
    theirs = [each for each in listed if each["package"] == "parts 1.0"]
    assert [(each["kind"], each["name"], each["target"]) for each in theirs] == [
        ("readers", "tilde", "parts.readers:Tilde"),
        ("connectors", "notes", "parts.rooms:Notes"),
        ("systems", "talkative", "parts.systems:Talkative"),
        ("storages", "folder", "parts.storages:Folder"),
    ]
    assert not any(each["problem"] for each in listed)
    assert "tilde" in run("towhom", "plugins", "readers").stdout


def test_a_reader_works_in_commands(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "chat.txt"
    log.write_text("2024-05-31 10:00~ada~is it merged?\n2024-05-31 10:01~bob~ada: since noon\n")
    for format in ((), ("--format", "tilde"), ("--format", "parts.readers:Tilde")):
        lines = run("towhom", "who", log, *format, "--json").stdout.splitlines()
        assert [json.loads(line)["speaker"] for line in lines] == ["ada", "bob"]
    assert "tilde" in run("towhom", "read", "--formats").stdout
    into = tmp_path / "into"
    run("towhom", "who", log, "--into", into, "--format", "tilde")
    assert any(into.rglob("*.parquet")) or any(into.rglob("*.jsonl"))


def test_a_system_is_measured(run: Run, tmp_path: Path) -> None:
    write_corpus(tmp_path, varied_documents(), candidates=3)
    for name in ("talkative", "parts.systems:Talkative"):
        shown = run("towhom", "evaluate", name, "--data", tmp_path / "corpus", "--json").stdout
        assert json.loads(shown)["samples"] > 20
    done = run("towhom", "train", tmp_path / "out", "--corpus", tmp_path / "corpus", "--vectors", tmp_path,
               "--system", "parts.systems:Talkative", code=2)  # fmt: skip
    assert "is not one of" in done.stderr


def test_a_storage_is_served(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [
        sys.executable,
        "-u",
        "-m",
        "towhom",
        "serve",
        "--port",
        "0",
        "--database",
        f"folder://{tmp_path}/kept",
    ]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert "serves at" in server.stdout.readline()
            assert (tmp_path / "kept" / "channels.sqlite").exists()
        finally:
            server.terminate()
    assert server.returncode == 0


def test_parts_that_cannot_be_used(tmp_path: Path) -> None:
    """They are named, with the reason; what has nothing to do with them works on."""
    groups = {
        "towhom.readers": {"broken": "parts.broken:Thing", "wrong": "parts:VALUE", "irc": "parts:VALUE"},
        "towhom.systems": {"none": "parts:VALUE"},
    }
    install(tmp_path, {"parts/__init__.py": "VALUE = 1\n", "parts/broken.py": "1 / 0\n"}, groups)
    run = runner(tmp_path)
    said = run("towhom", "plugins", code=1).stderr
    assert (
        "readers broken of parts 1.0: broken: parts.broken:Thing cannot be loaded (ZeroDivisionError" in said
    )
    assert (
        "readers wrong of parts 1.0: wrong: parts:VALUE is not a subclass of towhom.readers.base.Reader"
        in said
    )
    assert "readers irc of parts 1.0: towhom has a part of this name, which is used" in said
    assert "systems none" in said
    log = tmp_path / "chat.txt"
    log.write_text("[10:00] <ada> is it merged?\n")
    assert "is it merged?" in run("towhom", "read", log).stdout
    said = run("towhom", "read", log, "--format", "broken", code=1).stderr
    assert "the format broken: parts.broken:Thing cannot be loaded" in said
    assert "Traceback" not in said
