"""Build wheel and source distribution into dist/, check them, and try both in empty environments.

`make release` runs it. Nothing is uploaded: `twine upload dist/*` does that, by hand.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"


def run(*command: str | Path) -> None:
    """Run a command, and stop if it fails."""
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True)


def environment(folder: Path) -> Path:
    """Make a virtual environment; returns the folder of its programs."""
    venv.create(folder, with_pip=True)
    return folder / "bin"


def build(work: Path) -> list[Path]:
    """Build both distributions, and run the checks of package indexes."""
    shutil.rmtree(DIST, ignore_errors=True)
    tools = environment(work / "tools")
    run(tools / "pip", "install", "--quiet", "build", "twine")
    run(tools / "python", "-m", "build", "--outdir", DIST)
    made = sorted(DIST.iterdir())
    run(tools / "twine", "check", "--strict", *made)
    return made


def try_out(distribution: Path, work: Path) -> None:
    """Install a distribution without a compiler, and run it."""
    programs = environment(work / distribution.name)
    run(programs / "pip", "install", "--quiet", "--constraint", CONSTRAINTS, distribution)
    run(programs / "pip", "check")
    run("env", "CC=false", programs / "towhom", "demo")
    run(programs / "towhom", "plugins", "readers")


def main() -> None:
    """Build, check and try both distributions."""
    with tempfile.TemporaryDirectory() as temporary:
        for distribution in build(Path(temporary)):
            try_out(distribution, Path(temporary))
    print(f"\n{DIST} is ready", file=sys.stderr)


if __name__ == "__main__":
    main()
