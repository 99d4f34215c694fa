"""`towhom bench`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.experiments.tiny import Folders
from tests.experiments.tiny import corpus as corpus
from tests.experiments.tiny import folders as folders
from tests.experiments.tiny import one_thread as one_thread
from tests.experiments.tiny import vectors as vectors
from towhom.corpus import Corpus
from towhom.nn.kernels import choose_kernels
from towhom.testing.chats import Line, write_corpus

RATES = ("train_samples_per_second", "plain_samples_per_second", "predict_samples_per_second")


def test_rates_and_a_record(run: Run, folders: Folders, corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    sizes = ("--context", "5", "--batch", "32", "--rounds", "1")
    result = json.loads(run("bench", "train", *folders.options, *sizes, "--out", out).stdout)
    for key in (*RATES, "matmul_gflops", "share_of_peak", "peak_memory_mb", "seconds_to_first_batch"):
        assert result[key] > 0, key
    assert result["ratio"] == pytest.approx(
        result["train_samples_per_second"] / result["plain_samples_per_second"], abs=0.06
    )
    assert (result["system"], result["context"], result["batch"], result["dimensions"]) == (
        "sirnn",
        5,
        32,
        10,
    )
    assert result["kernels"] == choose_kernels(50).record()
    counts = result["in_a_batch"]
    assert 0 < counts["distinct_words"] <= 9  # eight with a vector, one for all others
    assert counts["distinct_words"] < counts["utterances"] <= counts["tokens"]
    record = json.loads(out.read_text("utf-8"))
    assert record.items() >= result.items()
    assert record["corpus"] == corpus.manifest["hash"]
    assert record.keys() >= {"command", "date", "versions"}


@pytest.mark.parametrize(
    ("system", "counted"),
    [("sirnn-separate", True), ("sirnn-shared", False), ("dynamic-rnn", False)],
)
def test_operations_are_those_of_the_system(system: str, counted: bool, run: Run, folders: Folders) -> None:
    sizes = ("--context", "5", "--batch", "32", "--rounds", "1")
    result = json.loads(run("bench", "train", *folders.options, *sizes, "--system", system).stdout)
    assert ("share_of_peak" in result) is counted
    assert all(result[key] > 0 for key in RATES)


class TestErrors:
    @pytest.mark.parametrize(
        ("option", "value", "message"),
        [
            ("--batch", "8", "batch (8) must be a multiple of run (16)"),
            ("--context", "0", "context must be positive"),
            ("--rounds", "0", "rounds must be positive"),
        ],
    )
    def test_settings(self, option: str, value: str, message: str, run: Run, folders: Folders) -> None:
        assert message in run("bench", "train", *folders.options, option, value, code=1).stderr

    def test_a_baseline(self, run: Run, folders: Folders) -> None:
        result = run("bench", "train", *folders.options, "--system", "chance", code=2)
        assert "Invalid value for '--system'" in result.stderr

    def test_nothing_to_train_on(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        chat = [Line("ann", None, "where"), Line("ben", "ann", "here", ("now",))]
        given = folders._replace(corpus=write_corpus(tmp_path, [chat]).folder)
        result = run("bench", "train", *given.options, "--context", "1", code=1)
        assert "there are no samples for training, or none for dev" in result.stderr
