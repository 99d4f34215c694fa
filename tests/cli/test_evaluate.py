"""`towhom evaluate`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.experiments.tiny import OPTIONS, Folders
from tests.experiments.tiny import corpus as corpus
from tests.experiments.tiny import folders as folders
from tests.experiments.tiny import one_thread as one_thread
from tests.experiments.tiny import vectors as vectors
from towhom.cli import main
from towhom.corpus import Corpus, Split
from towhom.evaluation.evaluator import evaluate, summary
from towhom.model_folder import TRAINING
from towhom.models.recency import RecentTfIdf


@pytest.fixture(scope="module")
def model(folders: Folders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "model"
    main(["train", str(out), *folders.options, *OPTIONS], standalone_mode=False)
    return out


@pytest.fixture
def dev(folders: Folders) -> str:
    return f"{folders.corpus}:dev"


def measured(run: Run, *arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("evaluate", *arguments, "--json").stdout)
    return found


class TestJson:
    def test_of_a_baseline(self, run: Run, dev: str, corpus: Corpus) -> None:
        found = measured(run, "recent-tfidf", "--data", dev)
        expected = summary(evaluate(RecentTfIdf(corpus), corpus, Split.DEV, context=15, candidates=2))
        assert found.items() >= expected.items()
        assert found.keys() >= {"adr", "res", "adr_res", "samples", "by_speakers", "by_distance"}
        assert found["candidates"] == 2
        for metric in ("adr", "res", "adr_res"):
            low, high = found["intervals"][metric]
            assert low <= found[metric] <= high
        for groups in (found["by_speakers"], found["by_distance"]):
            assert sum(group["samples"] for group in groups) == found["samples"] == 120
        assert "against" not in found

    def test_of_a_model(self, run: Run, dev: str, model: Path) -> None:
        """As it was measured in training, with the context that it was trained with."""
        trained = json.loads((model / TRAINING).read_text("utf-8"))["dev"]
        assert measured(run, model, "--data", dev).items() >= trained.items()

    def test_options_matter(self, run: Run, dev: str, model: Path) -> None:
        plain = measured(run, model, "--data", dev)
        assert measured(run, model, "--data", dev, "--context", "4") == plain
        assert measured(run, model, "--data", dev, "--context", "2") != plain
        assert measured(run, model, "--data", dev, "--rule", "joint") == plain
        assert measured(run, model, "--data", dev, "--rule", "separate") != plain

    def test_all_splits(self, run: Run, folders: Folders, corpus: Corpus) -> None:
        found = measured(run, "chance", "--data", str(folders.corpus))
        assert found["samples"] == len(corpus.samples_of(None))

    def test_against_another(self, run: Run, dev: str) -> None:
        found = measured(run, "direct-recent-tfidf", "--data", dev, "--against", "recent-tfidf")
        other = measured(run, "recent-tfidf", "--data", dev)
        against = found["against"]
        assert against["model"] == "recent-tfidf"
        for metric in ("adr", "res", "adr_res"):
            assert against[metric] == other[metric]
            compared = against["comparison"][metric]
            assert compared["mean"] == pytest.approx(found[metric] - other[metric], abs=1e-3)
            assert compared["low"] <= compared["mean"] <= compared["high"]
            assert 0 < compared["p"] <= 1
        # Whoever was asked answers; the response is the same.
        assert against["comparison"]["adr"]["mean"] > 20
        assert against["comparison"]["res"] == {"mean": 0, "low": 0, "high": 0, "p": 1}


class TestTable:
    def test_alone(self, run: Run, dev: str) -> None:
        found = measured(run, "recent-tfidf", "--data", dev)
        lines = [line.split() for line in run("evaluate", "recent-tfidf", "--data", dev).stdout.splitlines()]
        assert lines[0] == ["accuracy", "95", "%"]
        for line, metric in zip(lines[1:4], ("adr", "res", "adr_res"), strict=True):
            low, high = found["intervals"][metric]
            assert line[1:] == [f"{found[metric]:.2f}", f"{low:.2f}", "–", f"{high:.2f}"]
        assert [line[0] for line in lines[1:4]] == ["ADR", "RES", "ADR-RES"]
        assert " ".join(lines[5]).startswith(f"120 samples, 2 candidates; R@1 {found['recall_at_1']:.2f}, ")

    def test_against_another(self, run: Run, dev: str) -> None:
        result = run("evaluate", "direct-recent-tfidf", "--data", dev, "--against", "recent-tfidf")
        lines = [line.split() for line in result.stdout.splitlines()]
        assert lines[0] == ["accuracy", "95", "%", "against", "difference", "p"]
        accuracy, other, difference = (float(lines[1][place]) for place in (1, 5, 6))
        assert difference == pytest.approx(accuracy - other, abs=0.011)
        assert lines[1][6].startswith("+")
        assert lines[2][6:] == ["+0.00", "1.0000"]


class TestPublishedFile:
    @pytest.fixture
    def text(self, folders: Folders) -> bytes:
        return (folders.corpus.parent / "dev.txt").read_bytes()

    @pytest.mark.parametrize("name", ["dev.cand-2", "dev.cand-2.gz"])
    def test_as_the_corpus_of_it(
        self, run: Run, dev: str, model: Path, text: bytes, name: str, tmp_path: Path
    ) -> None:
        path = tmp_path / name
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        assert measured(run, model, "--data", str(path)) == measured(run, model, "--data", dev)
        assert [each.name for each in tmp_path.iterdir()] == [name]

    @pytest.mark.parametrize(
        ("text", "options", "message"),
        [
            ("hello\nworld\n", (), "no log in a known format"),
            ("[10:00] <ann> hello\n[10:01] <ben> ann: yes\n", (), "no document is left"),
            ("[10:00]\t<ann>\t-\thello\t-\t-\n", (), "there are no samples in it"),
            (
                "[10:00]\t<ann>\t-\thello\t-\t-\n[10:01]\t<ben>\tann\tyes\tno\t0\n",
                ("--candidates", "10"),
                "its samples have 2 candidates, not 10",
            ),
        ],
    )
    def test_errors_name_the_file(
        self, text: str, options: tuple[str, ...], message: str, run: Run, tmp_path: Path
    ) -> None:
        path = tmp_path / "given.txt"
        path.write_text(text)
        result = run("evaluate", "recent-tfidf", "--data", path, *options, code=1)
        assert result.stderr.startswith(f"Error: {path}: {message}")

    def test_not_there(self, run: Run, tmp_path: Path) -> None:
        result = run("evaluate", "chance", "--data", tmp_path / "nowhere", code=1)
        assert f"{tmp_path / 'nowhere'}: there is no such file" in result.stderr


class TestErrors:
    def test_an_unknown_model(self, run: Run, dev: str) -> None:
        result = run("evaluate", "recnt-tfidf", "--data", dev, code=1)
        assert result.stderr == (
            "Error: recnt-tfidf: there is no such model folder, nor anything of this name "
            "(chance, recent-tfidf, direct-recent-tfidf, default, large)\n"
        )

    def test_a_folder_that_is_no_model(self, run: Run, dev: str, tmp_path: Path) -> None:
        result = run("evaluate", tmp_path, "--data", dev, code=1)
        assert f"{tmp_path}: this is not a model: it has no config.json" in result.stderr

    def test_a_split_without_samples(self, run: Run, folders: Folders) -> None:
        result = run("evaluate", "chance", "--data", f"{folders.corpus}:test", code=1)
        assert "there are no samples in test" in result.stderr

    def test_no_such_candidates(self, run: Run, dev: str) -> None:
        result = run("evaluate", "chance", "--data", dev, "--candidates", "10", code=1)
        assert "its samples have 2 candidates, not 10" in result.stderr

    def test_a_folder_that_is_no_corpus(self, run: Run, tmp_path: Path) -> None:
        for data in (tmp_path, f"{tmp_path}:dev"):
            assert "this is not a corpus" in run("evaluate", "chance", "--data", data, code=1).stderr


def test_a_record(run: Run, dev: str, tmp_path: Path) -> None:
    run("evaluate", "recent-tfidf", "--data", dev, "--out", tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text("utf-8"))
    measured = json.loads(run("evaluate", "recent-tfidf", "--data", dev, "--json").stdout)
    assert {key: record[key] for key in measured} == measured
    assert {"command", "date", "versions", "data"} < record.keys()
