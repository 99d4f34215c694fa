"""Processes that are killed while they write, or have a full disk: the old or the new version is complete."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from tests import killed
from tests.killed import NEW, OLD, THINGS, found, written_in
from tests.readers.exports import long_irc, write

from tools.attack.attack import Try

_WITHOUT_END = """
import itertools, pathlib, sys
from tests.killed import NEW, OLD, THINGS
path = pathlib.Path(sys.argv[2])
for text in itertools.cycle((NEW, OLD)):
    THINGS[sys.argv[1]].write(path, text)
    print(text, flush=True)
"""


def _in_folders(attempt: Callable[[Random, Path], int], folder: Path) -> Try:
    """Give each try an empty folder."""

    def clean(random: Random) -> int:
        place = folder / "place"
        place.mkdir()
        try:
            return attempt(random, place)
        finally:
            shutil.rmtree(place)

    return clean


@contextmanager
def killed_everywhere(folder: Path) -> Iterator[Try]:
    """Kill a process before each of its calls that change something."""

    def attempt(random: Random, place: Path) -> int:
        name, there = random.choice(list(THINGS)), random.random() < 0.7
        last = killed.killed_everywhere(name, place, there=there)
        allowed = {OLD if there else None, NEW} | ({None} if name == "folder in two steps" else set())
        for step in range(last + 1):
            path = place / str(step) / "thing"
            assert found(name, path) in allowed, f"{name}, killed at step {step}"
            THINGS[name].write(path, NEW)
            assert found(name, path) == NEW
        return last

    yield _in_folders(attempt, folder)


@contextmanager
def killed_anywhere(folder: Path) -> Iterator[Try]:
    """Kill a process by a signal, at a random moment."""

    def attempt(random: Random, place: Path) -> int:
        name = random.choice([name for name in THINGS if name != "folder in two steps"])
        path = place / "thing"
        command = [sys.executable, "-c", _WITHOUT_END, name, str(path)]
        for _ in range(10):
            with subprocess.Popen(command, cwd=killed.ROOT, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                process.stdout.readline()
                time.sleep(random.uniform(0, 0.1))
                process.kill()
            assert found(name, path) in (OLD, NEW), name
        return 10

    yield _in_folders(attempt, folder)


@contextmanager
def full_disk(folder: Path) -> Iterator[Try]:
    """Limit the size of files: the result is an error or the new file, without leftovers."""

    def attempt(random: Random, place: Path) -> int:
        name, path = random.choice(list(THINGS)), place / "inside" / "thing"
        THINGS[name].write(path, OLD)
        error = written_in(name, path, random.choice((0, 10, 1000, 10_000, 10**7)))
        assert found(name, path) == (OLD if error else NEW), name
        assert sorted(each.name for each in path.parent.iterdir()) == ["first", "thing"]
        return 1

    yield _in_folders(attempt, folder)


@contextmanager
def full_disk_of_commands(folder: Path) -> Iterator[Try]:
    """Limit the size of files for commands: they print a sentence, and the old file is unchanged."""

    def attempt(random: Random, place: Path) -> int:
        log, out = write(place, long_irc(200)), place / "out" / "found.json"
        out.parent.mkdir()
        out.write_text("[]")
        size = random.choice((0, 10, 1000, 5000, 10**7))
        command = [sys.executable, "-m", "towhom", *random.choice((("read",), ("who",), ("threads",)))]
        done = subprocess.run(
            [*command, str(log), "--json", "--out", str(out)],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=partial(
                resource.setrlimit, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)
            ),  # there is one thread
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert [each.name for each in out.parent.iterdir()] == ["found.json"]
        if done.returncode:
            assert done.stderr.startswith("Error: "), done.stderr
            assert out.read_text() == "[]"
        else:
            assert all(map(json.loads, out.read_text().splitlines()))
        return 1

    yield _in_folders(attempt, folder)
