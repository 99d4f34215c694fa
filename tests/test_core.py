"""The core without any extra: what it does, and how it names what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import LogWriter

EXTRAS = ("accelerate", "gensim", "matplotlib", "pyarrow", "tensorboard", "torch")
# An import of a module that is None in sys.modules fails as if it were not installed.
WITHOUT_EXTRAS = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))
from towhom.cli import main
main(prog_name="towhom")
"""


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


@pytest.fixture
def corpus(write_log: LogWriter, tmp_path: Path) -> Path:
    done = run("corpus", "build", tmp_path / "corpus", write_log(days=8, lines=60))
    assert done.returncode == 0, done.stderr
    return tmp_path / "corpus"


def test_logs_corpora_and_running_a_model_need_no_extra(corpus: Path, write_log: LogWriter) -> None:
    for arguments in (
        ("demo",),
        ("read", write_log()),
        ("corpus", "stats", corpus),
        ("who", write_log()),
        ("evaluate", "direct-recent-tfidf", "--data", f"{corpus}:dev"),
        ("evaluate", "default", "--data", f"{corpus}:dev"),
        ("cases", "recent-tfidf", "--sample", "0", "--data", f"{corpus}:train"),
    ):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        assert done.stdout


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["corpus", "export", "{corpus}", "{new}"], "export"),
        (["vectors", "{corpus}", "{new}", "--train"], "vectors"),
        (["train", "{new}", "--corpus", "{corpus}", "--vectors", "{corpus}"], "train"),
        (["bench", "train", "--corpus", "{corpus}", "--vectors", "{corpus}"], "train"),
        (
            ["train-crosstalk", "{corpus}/manifest.json", "{new}", "--data", "{corpus}", "--work", "{new}"],
            "train",
        ),
        (
            [
                "train-reader",
                "{corpus}/manifest.json",
                "{corpus}",
                "{new}",
                "--data",
                "{corpus}",
                "--work",
                "{new}",
                "--language-model",
                "{corpus}/manifest.json",
            ],
            "train",
        ),
    ],
    ids=["export", "vectors", "train", "bench", "train-crosstalk", "train-reader"],
)
def test_what_needs_an_extra_names_it(command: list[str], extra: str, corpus: Path, tmp_path: Path) -> None:
    done = run(*(part.format(corpus=corpus, new=tmp_path / "new") for part in command))
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(f"install it with: pip install 'towhom[{extra}]'")
    assert done.stderr.startswith("Error: ")
    assert not (tmp_path / "new").exists()
