"""Runs tests with the oldest and with the newest versions of every dependency that pyproject.toml allows.

`make compat` does it for the core and all extras except `tensorboard` and `train`; `--extras all` runs all
tests, with torch, which takes gigabytes. Each of the two runs has its own virtual environment. Lower bounds
are installed exactly, so each must have been published.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parent.parent
USUAL = (
    "bank",
    "cluster",
    "export",
    "matrix-e2e",
    "mcp",
    "nats",
    "plots",
    "postgres",
    "rooms",
    "serve",
    "vectors",
)
TOOLS = ("hypothesis", "httpx", "nltk", "pandas", "pytest", "s3fs", "schemathesis")
"""Packages from the group `dev` that the tests need; users do not install them."""
TESTS = {
    "core": (
        "tests/readers",
        "tests/text",
        "tests/hearing/test_words.py",
        "tests/hearing/test_utterance.py",
        "tests/live/test_observe.py",
        "tests/live/test_model.py",
        "tests/corpus/test_store.py",
        "tests/crosstalk/test_folder.py",
        "tests/cli/test_main.py",
        "tests/cli/test_read.py",
        "tests/cli/test_select.py",
        "tests/cli/test_threads.py",
        "tests/cli/test_who.py",
        "tests/report",
        "tests/test_bundled.py",
        "tests/test_files.py",
    ),
    "bank": ("tests/bank",),
    "cluster": ("tests/batch",),
    "export": ("tests/corpus/test_export.py", "tests/readers/test_table.py", "tests/test_frames.py"),
    "mcp": ("tests/mcp",),
    "nats": ("tests/follow",),
    "plots": ("tests/experiments/test_plots.py",),
    "rooms": ("tests/rooms",),
    "serve": ("tests/serve",),
    "vectors": ("tests/cli/test_vectors.py",),
    "all": ("tests",),
}
"""By extra, the tests that use its packages and no others."""


def main() -> int:
    """Run the program; returns the exit code, which is 0 if the tests pass with both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--extras", default=",".join(USUAL), help="which, separated by commas")
    parser.add_argument("--only", choices=("oldest", "newest"), help="one of the two")
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-compat", help="of the environments")
    arguments = parser.parse_args()
    extras = [extra for extra in arguments.extras.split(",") if extra]
    failed = []
    for which in (arguments.only,) if arguments.only else ("oldest", "newest"):
        print(f"== {which}, with {', '.join(extras) or 'no extras'}", flush=True)
        python = install(arguments.folder / which, extras, oldest=which == "oldest")
        if not passes(python, extras):
            failed.append(which)
    print(f"failed with the {' and the '.join(failed)}" if failed else "passed")
    return bool(failed)


def requirements(extras: list[str]) -> tuple[list[str], list[str]]:
    """The requirements of the package with some extras, and those of its tests."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = content["project"]["optional-dependencies"]
    ours = [
        *content["project"]["dependencies"],
        *chain.from_iterable(packages(named, each) for each in extras),
    ]
    tools = [each for each in content["dependency-groups"]["dev"] if each.partition(">")[0] in TOOLS]
    return ours, tools


def packages(extras: dict[str, list[str]], extra: str) -> Iterator[str]:
    """The requirements of an extra, including those of the extras in it.

    >>> sorted(packages({"a": ["x>=1,<2"], "b": ["y>=3,<4"], "all": ["towhom[a,b]"]}, "all"))
    ['x>=1,<2', 'y>=3,<4']
    """
    for requirement in extras[extra]:
        made_of = re.fullmatch(r"towhom\[(.+)\]", requirement)
        if made_of is None:
            yield requirement
        else:
            yield from chain.from_iterable(packages(extras, each) for each in made_of[1].split(","))


def at_lower_bound(requirement: str) -> str:
    """A requirement of the oldest allowed version.

    >>> at_lower_bound("numpy>=1.26,<3")
    'numpy==1.26'
    >>> at_lower_bound("psycopg[binary]>=3.2.2,<4")
    'psycopg==3.2.2'
    """
    match = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?>=([\w.]+),<[\w.]+", requirement)
    if match is None:
        raise SystemExit(f"pyproject.toml: {requirement} has no lower and upper bound")
    return f"{match[1]}=={match[2]}"


def install(folder: Path, extras: list[str], *, oldest: bool) -> Path:
    """Make a virtual environment; returns its interpreter."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python, constraints = folder / "bin" / "python", folder / "constraints.txt"
    ours, tools = requirements(extras)
    lowest = [at_lower_bound(each) for each in ours]
    constraints.write_text("\n".join(lowest if oldest else ()) + "\n", "utf-8")
    package = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    pip = [str(python), "-m", "pip"]
    subprocess.run(
        [*pip, "install", "--quiet", "--upgrade", "--constraint", str(constraints), package, *tools],
        check=True,
    )
    subprocess.run([*pip, "freeze"], check=True)
    return python


def passes(python: Path, extras: list[str]) -> bool:
    """Whether the tests pass; warnings of other versions are ignored."""
    parts = ["all"] if "all" in extras else ["core", *extras]
    tests = [each for part in parts for each in TESTS.get(part, ())]
    command = [str(python), "-m", "pytest", "-q", "-o", "filterwarnings=default", *tests]
    # The installed package is tested, not the source beside the tests.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
