"""The command as a whole: help, errors, the demo, processes of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import towhom
from tests.cli.conftest import Run, command, run_apart
from tests.conftest import LogWriter
from towhom.cli import COMMANDS, main


def paths(group: click.Group, *above: str) -> Iterator[tuple[str, ...]]:
    """Every command there is."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (*above, name)
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from paths(found, *above, name)


@pytest.mark.parametrize(
    "path",
    list(paths(main)),
    ids=" ".join,
)
def test_help_of_every_command(run: Run, path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.stdout.startswith(f"Usage: main {' '.join(path)} ")
    assert "\\b" not in result.stdout  # a mark for click, which a raw docstring would show
    command_found: click.Command = main
    for name in path:
        assert isinstance(command_found, click.Group)
        found = command_found.get_command(click.Context(command_found), name)
        assert found is not None
        command_found = found
    for parameter in command_found.params:
        assert isinstance(parameter, click.Argument) or getattr(parameter, "help", None), parameter.name


def test_help_lists_the_commands(run: Run) -> None:
    for arguments in (["-h"], ["--help"]):
        output = run(*arguments).stdout
        for name, (_, line) in COMMANDS.items():
            assert f"  {name} " in output
            assert line[:40] in output


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"towhom, version {towhom.__version__}\n"


def test_unknown_command(run: Run) -> None:
    assert "No such command 'brew'" in run("brew", code=2).stderr


class TestInstalled:
    def test_the_script(self) -> None:
        script = Path(sys.executable).with_name("towhom")
        if not script.exists():
            pytest.skip("towhom is not installed beside this Python")
        done = subprocess.run([script, "demo"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


class TestErrors:
    @pytest.mark.parametrize(
        "arguments",
        [("read", "nowhere"), ("corpus", "build", "out", "nowhere"), ("corpus", "stats", "nowhere")],
        ids=" ".join,
    )
    def test_a_sentence_and_no_traceback(self, arguments: tuple[str, ...], tmp_path: Path) -> None:
        done = run_apart(*(argument.replace("nowhere", str(tmp_path / "nowhere")) for argument in arguments))
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"Error: {tmp_path / 'nowhere'}: there is no such ")

    def test_a_log_that_is_none(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "poem").write_text("roses are red\n" * 5)
        assert (
            "poem: no log in a known format; tried jsonl, " in run("read", tmp_path / "poem", code=1).stderr
        )


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_reader_that_goes_away(write_log: LogWriter, options: tuple[str, ...]) -> None:
    log = write_log(days=5, lines=1000)
    with subprocess.Popen(
        command("read", log, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        errors = running.stderr.read()
        assert running.wait(30) in (0, 1)
    assert errors == ""


def limited(size: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A command that may write no file of more bytes, which is to it as a full disk."""
    limit = (size, resource.RLIM_INFINITY)
    return subprocess.run(
        command(*arguments),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["read", "threads"])
def test_a_full_disk(write_log: LogWriter, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out" / "found"
    done = limited(1000, name, write_log(), "--out", out)
    assert done.returncode == 1
    assert done.stderr.endswith(f"Error: {out}: File too large\n")
    assert "Traceback" not in done.stderr
    assert not list(out.parent.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_full_disk_behind_standard_output(write_log: LogWriter, options: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("read", write_log(), *options),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "Error: No space left on device\n" in done.stderr
    assert "Traceback" not in done.stderr
