"""Records of runs, from which published numbers come."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shutil import which
from typing import Any

from towhom.documents import read_json
from towhom.errors import TowhomError
from towhom.files import atomic_file

_PACKAGES = ("towhom", "numpy", "torch")
_ENVIRONMENT = (
    "TOWHOM_KERNELS", "CC",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE",
)  # fmt: skip
"""Environment variables that change the speed of the same code on the same machine."""


def circumstances() -> dict[str, Any]:
    """The command, the commit, the versions and the machine, to repeat a run."""
    return {
        "command": _command(),
        **_commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **_versions()},
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": _processor(),
        "environment": {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    }


def describe_data(paths: Iterable[str | Path]) -> list[dict[str, str]]:
    """The names of files and folders, as given, with hashes of their contents."""
    return [{"name": str(path), "sha256": _digest(Path(path))} for path in paths]


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record as JSON, completely or not at all."""
    with atomic_file(path, "w") as file:
        file.write(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def read_record(path: Path) -> dict[str, Any]:
    """Read a record that `write_record` wrote.

    Raises:
        TowhomError: It cannot be read.
    """
    try:
        record = read_json(path)
    except (OSError, ValueError) as error:
        raise TowhomError(f"{path}: the record cannot be read ({error}); remove it and run again") from error
    if not isinstance(record, dict):
        raise TowhomError(f"{path}: this is not the record of a run; move it elsewhere")
    return record


def _command() -> str:
    """The command as a user would type it; `python -m towhom` becomes `towhom`."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    return shlex.join([name, *sys.argv[1:]])


def _processor() -> str:
    """The name of the processor, and its widest vector instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    flags = told.get("flags", told.get("Features", "")).split()
    widest = next((name for name in ("avx512f", "avx2", "asimd", "sse2") if name in flags), "")
    return f"{told.get('model name', platform.machine())} {widest}".strip()


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _commit() -> dict[str, Any]:
    """The commit of the checkout that this package runs from, if any, and whether files were changed."""
    here = Path(__file__).parent
    git = which("git")
    if git is None:
        return {}

    def run(*arguments: str) -> str | None:
        done = subprocess.run([git, "-C", str(here), *arguments], capture_output=True, text=True, check=False)  # noqa: S603
        return done.stdout.strip() if done.returncode == 0 else None

    commit = run("rev-parse", "HEAD")
    if commit is None or run("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return {}
    return {"commit": commit, "changed": bool(run("status", "--porcelain", "--untracked-files=no"))}


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of a folder's files."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            if path.is_dir():
                digest.update(file.relative_to(path).as_posix().encode() + b"\0")
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
