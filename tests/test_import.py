"""What an import of towhom costs, seen from a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import towhom

HEAVY = {
    "torch", "gensim", "pyarrow", "psycopg", "rich", "click", "numpy", "ijson", "asyncio", "multiprocessing",
    "dask", "distributed", "fsspec", "nats",
}  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    """The modules that a statement loads, beyond those of a bare interpreter."""
    program = (
        "import json, sys; before = set(sys.modules)\n"
        f"{statement}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return set(json.loads(run.stdout))


def test_import_is_light() -> None:
    loaded = loaded_by("import towhom")
    assert "towhom.chat" in loaded
    assert not HEAVY & loaded
    assert len(loaded) < 150


def test_reading_a_log_needs_no_numpy() -> None:
    loaded = loaded_by(
        "import towhom; from importlib.resources import files\n"
        "chat, = towhom.read(files('towhom.samples') / 'makerspace.txt')\n"
        "assert len(chat) > 10"
    )
    assert "towhom.readers.irc" in loaded
    assert not {"numpy", "torch", "rich", "click"} & loaded


def test_help_loads_no_command() -> None:
    loaded = loaded_by("import towhom.cli")
    assert "click" in loaded
    assert not {name for name in loaded if name.startswith("towhom.cli.")}
    assert not (HEAVY - {"click"}) & loaded


@pytest.mark.parametrize("module", ["towhom.corpus", "towhom.cli.corpus"])
def test_a_corpus_needs_no_extra(module: str) -> None:
    assert not {"torch", "gensim", "pyarrow", "pandas", "distributed", "fsspec"} & loaded_by(
        f"import {module}"
    )


def test_public_names() -> None:
    public = {
        name for name, value in vars(towhom).items() if not name.startswith("_") and not _is_module(value)
    }
    assert public | {"Gate", "__version__"} == set(towhom.__all__)
    assert towhom.Gate.__name__ == "Gate"
    assert len(set(towhom.__all__)) == len(towhom.__all__)


def _is_module(value: object) -> bool:
    return isinstance(value, type(sys))
