"""Two processes that share each batch learn what one learns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from towhom.corpus import Corpus
from towhom.model_folder import TRAINING, WEIGHTS
from towhom.text.vectors import WordVectors


def run(
    out: Path, corpus: Corpus, vectors: Path, system: str, *launcher: str
) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    options = {
        "corpus": corpus.folder, "vectors": vectors, "system": system, "context": 4, "candidates": 2,
        "batch": 16, "learning-rate": 0.01, "weight-decay": 0, "epochs": 2,
    }  # fmt: skip
    flags = [part for key, value in options.items() for part in (f"--{key}", str(value))]
    flags += ["--set", "hidden=7", "--set", "init=0.3"]
    done = subprocess.run(
        [sys.executable, "-m", *launcher, "towhom", "train", str(out), *flags],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"},
    )
    assert done.returncode == 0, done.stderr
    return load_file(out / WEIGHTS)


@pytest.mark.parametrize("system", ["sirnn", "static-rnn"])
def test_two_processes_end_with_the_weights_of_one(
    system: str, tmp_path: Path, corpus: Corpus, vectors: WordVectors
) -> None:
    saved = tmp_path / "vectors"
    vectors.save(saved)
    alone = run(tmp_path / "one", corpus, saved, system)
    launcher = ("torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m")
    together = run(tmp_path / "two", corpus, saved, system, *launcher)
    processes = [json.loads((tmp_path / name / TRAINING).read_text())["processes"] for name in ("one", "two")]
    assert processes == [1, 2]
    assert together.keys() == alone.keys()
    for name, weights in alone.items():
        np.testing.assert_allclose(together[name], weights, atol=1e-4, err_msg=name)
