"""Skips that are not allowed fail a run where `CI` is set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.skips import ALLOWED, unexpected

ROOT = Path(__file__).parents[1]


def test_reasons() -> None:
    allowed = "tests/x.py::test: could not import 'polars': No module named 'polars'"
    assert unexpected([allowed, "tests/y.py::test: there is no nginx"]) == [
        "tests/y.py::test: there is no nginx"
    ]
    assert all(ALLOWED.values())


@pytest.mark.parametrize(("reason", "ci", "code"), [
    ("there is no nginx", "1", 1), ("there is no nginx", "", 0), ("hermes-agent is not installed", "1", 0),
])  # fmt: skip
def test_a_run(reason: str, ci: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_x.py").write_text(f"import pytest\n\ndef test_x():\n    pytest.skip({reason!r})\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "CI": ci, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert ("should not have been" in done.stdout) == bool(code)
