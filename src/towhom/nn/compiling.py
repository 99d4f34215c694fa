"""The kernels' library: built with the machine's C compiler when it is first needed, and cached.

Cached files are run as code. So nothing is loaded from a folder or file that belongs to another user or that
others can write to; the library is then built for this run alone.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import torch

from towhom.files import atomic_file

_SOURCES = ("vector.h", "matrix.c", "gru.c", "dialog.c")
_FLAGS = ("-O3", "-shared", "-fPIC", "-std=gnu11", "-w")
_NATIVE = (("-march=native",), ("-mcpu=native",), ())
"""Flags for using all features of this processor; the first that the compiler accepts is used."""
_PATIENCE = 120
"""Time limit for the compiler, in seconds."""


class NoLibraryError(Exception):
    """The library cannot be built or loaded; the message says why."""


@dataclass(frozen=True)
class Library:
    """A loaded library, and the file for notes about it, if there is one."""

    code: ctypes.CDLL
    compiler: str
    notes: Path | None


def load_library(hidden: int, lanes: int | None = None) -> Library:
    """Load the library for a number of hidden units, from the cache or compiled now.

    Args:
        hidden: Number of hidden units.
        lanes: Number of values in a vector; None for as many as the processor has.

    Raises:
        NoLibraryError: No compiler was found, or it failed.
    """
    compiler = _compiler()
    sources = {name: (files("towhom.nn") / name).read_bytes() for name in _SOURCES}
    machine = (platform.machine(), _processor())
    built_for = (machine, compiler, _version(compiler), _FLAGS, _threads(), hidden, lanes)
    name = hashlib.sha256(b"".join(sources.values()) + repr(built_for).encode()).hexdigest()[:16]
    folder = cache_folder()
    if folder is not None:
        path = folder / f"kernels-{name}.so"
        notes = path.with_suffix(".json")
        if private(path):
            try:
                return Library(ctypes.CDLL(str(path)), shlex.join(compiler), notes)
            except OSError:  # damaged: compile it again
                pass
    sizes = [f"-DHIDDEN={hidden}", *([] if lanes is None else [f"-DLANES={lanes}"])]
    with _built([*compiler, *_FLAGS, *sizes], sources) as library:
        try:
            if folder is None:
                return Library(ctypes.CDLL(str(library)), shlex.join(compiler), None)
            with atomic_file(path, private=True) as file:
                file.write(library.read_bytes())
            return Library(ctypes.CDLL(str(path)), shlex.join(compiler), notes)
        except OSError as error:
            raise NoLibraryError(f"what {shlex.join(compiler)} made cannot be loaded ({error})") from error


def cache_folder() -> Path | None:
    """The folder for libraries, created if necessary; None if it is unusable or others can write to it."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "towhom"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if private(folder) and os.access(folder, os.W_OK) else None


def private(path: Path) -> bool:
    """Whether a file or folder exists, belongs to the user, and can be written by nobody else."""
    try:
        found = path.stat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _compiler() -> list[str]:
    """The compiler's command: that in CC, which may include options, or the first compiler found."""
    told = shlex.split(os.environ.get("CC", ""))
    found = told or [path for path in (shutil.which(name) for name in ("gcc", "clang", "cc")) if path][:1]
    if not found:
        raise NoLibraryError("no C compiler was found")
    return found


def _version(compiler: list[str]) -> str:
    """The compiler's output for --version."""
    try:
        done = subprocess.run(  # noqa: S603
            [*compiler, "--version"], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoLibraryError(f"the C compiler cannot be run ({error})") from error
    return done.stdout


def _processor() -> str:
    """A description of this processor, since different machines may share a home folder."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    return "\n".join(sorted({line for line in text.splitlines() if line.startswith(wanted)}))


@contextmanager
def _built(compiler: list[str], sources: dict[str, bytes]) -> Iterator[Path]:
    """Compile the library in a temporary folder, which is deleted afterwards."""
    said = ""
    with tempfile.TemporaryDirectory(prefix="towhom-") as name:
        folder = Path(name)
        for file, content in sources.items():
            (folder / file).write_bytes(content)
        code = [str(folder / file) for file in sources if file.endswith(".c")]
        library = folder / "kernels.so"
        for threads in dict.fromkeys((_threads(), ())):
            for native in _NATIVE:
                command = [*compiler, *native, "-o", str(library), *code, *threads]
                try:
                    subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE)  # noqa: S603
                except subprocess.CalledProcessError as error:
                    said = said or error.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
                except (OSError, subprocess.TimeoutExpired) as error:
                    said = said or str(error)
                else:
                    yield library
                    return
    raise NoLibraryError(f"{compiler[0]} did not compile the kernels ({said or 'it said nothing'})")


def _threads() -> tuple[str, ...]:
    """Flags for using torch's own thread library, since a second one would compete for the cores."""
    folder = Path(torch.__file__).parent
    found = sorted([*folder.glob("lib/libgomp*"), *folder.parent.glob("torch.libs/libgomp*")])
    return ("-fopenmp", str(found[0])) if found else ()
