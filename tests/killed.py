"""Things that are written completely or not at all, by processes that are killed or have limited space.

A program, since it forks: `python -m tests.killed NAME FOLDER old` writes a thing over an old version again
and again, in new folders, by processes of which each is killed one call that changes something later than the
last; it prints their number. With a number of bytes in place of `old`, it writes the thing once, with no file
larger than that.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from towhom import files
from towhom.errors import TowhomError
from towhom.records import read_record, write_record

ROOT = Path(__file__).parents[1]
OLD, NEW = "old", "new"
_EVENTS = {
    "open",
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.chmod",
    "os.scandir",
    "shutil.rmtree",
}
_NAMES = ("one", "two", "deep/three")


class Thing(NamedTuple):
    """Something that is written completely or not at all, by `write(path, text)`; `read(path)` reads it."""

    write: Callable[[Path, str], None]
    read: Callable[[Path], str]


def _write_folder(path: Path, text: str) -> None:
    with files.atomic_folder(path) as folder:
        (folder / "deep").mkdir()
        for name in _NAMES:
            (folder / name).write_text(text)


def _read_folder(path: Path) -> str:
    (text,) = {(path / name).read_text() for name in _NAMES}
    return text


def _write_folder_in_two_steps(path: Path, text: str) -> None:
    files._exchange = lambda one, other: False
    _write_folder(path, text)


def _write_model(path: Path, text: str) -> None:
    from tests.crosstalk.chats import saved_crosstalk
    from towhom.crosstalk.folder import write_crosstalk

    write_crosstalk(path, replace(saved_crosstalk(0), training={"text": text}), card=text)


def _read_model(path: Path) -> str:
    from towhom.crosstalk.folder import read_crosstalk

    text: str = read_crosstalk(path).training["text"]
    assert (path / "README.md").read_text() == text
    return text


def _write_session(path: Path, text: str) -> None:
    from tests.live.conftest import ruled_model, talk
    from towhom.live import Model

    session = Model(ruled_model()).session()
    talk(session, *(f"p{number % 5}> {text}" for number in range(60)))
    session.save(path)


def _read_session(path: Path) -> str:
    from tests.live.conftest import ruled_model
    from towhom.live import Model

    session = Model(ruled_model()).session()
    session.restore(path)
    (text,) = {message.text for message in session.history}
    return text


def _write_record(path: Path, text: str) -> None:
    write_record(path, {"text": text, "many": [text] * 5000})


def _read_record(path: Path) -> str:
    record = read_record(path)
    (text,) = {record["text"], *record["many"]}
    return str(text)


THINGS = {
    "folder": Thing(_write_folder, _read_folder),
    "folder in two steps": Thing(_write_folder_in_two_steps, _read_folder),
    "model": Thing(_write_model, _read_model),
    "session": Thing(_write_session, _read_session),
    "record": Thing(_write_record, _read_record),
}
"""Things by name; `in two steps` is for systems that cannot exchange two names."""


def found(name: str, path: Path) -> str | None:
    """The text of a thing at a path; None if there is nothing. Fails if the thing is incomplete."""
    return THINGS[name].read(path) if path.exists() else None


def killed_everywhere(name: str, folder: Path, *, there: bool) -> int:
    """Have a thing written by processes that are killed, the n-th in folder n; returns their number.

    Args:
        name: The name in `THINGS`.
        folder: An empty folder.
        there: Whether an old version exists before.
    """
    return int(_run(name, folder, OLD if there else "").stdout)


def written_in(name: str, path: Path, size: int) -> str:
    """Have a thing written with files of at most `size` bytes; returns the error, or an empty text."""
    done = _run(name, path, str(size))
    return str(json.loads(done.stdout))


def _run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.killed", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)


def _killed(write: Callable[[Path, str], None], folder: Path, *, there: bool) -> int:
    write(folder / "first", NEW)  # imports and compiles everything beforehand
    for last in range(1000):
        path = folder / str(last) / "thing"
        path.parent.mkdir()
        if there:
            write(path, OLD)
        child = os.fork()
        if not child:
            _killed_before(last)
            write(path, NEW)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            return last
    raise AssertionError("it never ends")


def _killed_before(last: int) -> None:
    """End this process before the call after so many others."""
    count = 0

    def hook(event: str, _: object) -> None:
        nonlocal count
        if event in _EVENTS:
            if count == last:
                os._exit(9)
            count += 1

    sys.addaudithook(hook)


def _main(name: str, path: Path, how: str) -> None:
    write = THINGS[name].write
    if not how.isdecimal():
        sys.stdout.write(str(_killed(write, path, there=how == OLD)))
        return
    write(path.with_name("first"), NEW)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(how), resource.RLIM_INFINITY))
    error = ""
    try:
        write(path, NEW)
    except (OSError, TowhomError) as caught:
        error = str(caught)
    sys.stdout.write(json.dumps(error))


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
