"""Processes that share each batch learn what one learns: two on one machine, or one on each of two."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from towhom.corpus import Corpus
from towhom.model_folder import TRAINING, WEIGHTS
from towhom.text.vectors import WordVectors

Weights = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]


def run(out: Path, corpus: Corpus, vectors: Path, system: str, *launchers: tuple[str, ...]) -> Weights:
    """Train, with a launcher on each machine; what came of it."""
    options = {
        "corpus": corpus.folder, "vectors": vectors, "system": system, "context": 4, "candidates": 2,
        "batch": 16, "learning-rate": 0.01, "weight-decay": 0, "epochs": 2,
    }  # fmt: skip
    flags = [part for key, value in options.items() for part in (f"--{key}", str(value))]
    flags += ["--set", "hidden=7", "--set", "init=0.3"]
    environment = {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "GLOO_SOCKET_IFNAME": "lo"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", *launcher, "towhom", "train", str(out), *flags],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        for launcher in launchers
    ]
    told = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0] * len(started), told
    return load_file(out / WEIGHTS)


def one_machine() -> list[tuple[str, ...]]:
    """Two processes of one machine."""
    return [("torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m")]


def two_machines() -> list[tuple[str, ...]]:
    """One process on each of two machines, as docs/scale.md has it; here, both are this one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    meeting = ("--master_addr", "127.0.0.1", "--master_port", port)
    nodes = [("--nnodes", "2", "--nproc_per_node", "1", "--node_rank", rank, *meeting) for rank in "01"]
    return [("torch.distributed.run", *node, "-m") for node in nodes]


@pytest.mark.parametrize(("system", "machines"), [("static-rnn", one_machine), ("sirnn", two_machines)])
def test_two_processes_end_with_the_weights_of_one(
    system: str,
    machines: Callable[[], list[tuple[str, ...]]],
    tmp_path: Path,
    corpus: Corpus,
    vectors: WordVectors,
) -> None:
    saved = tmp_path / "vectors"
    vectors.save(saved)
    alone = run(tmp_path / "one", corpus, saved, system, ())
    together = run(tmp_path / "two", corpus, saved, system, *machines())
    processes = [json.loads((tmp_path / name / TRAINING).read_text())["processes"] for name in ("one", "two")]
    assert processes == [1, 2]
    assert together.keys() == alone.keys()
    for name, weights in alone.items():
        np.testing.assert_allclose(together[name], weights, atol=1e-4, err_msg=name)
