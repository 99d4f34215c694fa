"""`towhom reproduce`."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from random import Random

import pytest

from tests.cli.conftest import Run
from tests.experiments.tiny import Folders
from tests.experiments.tiny import corpus as corpus
from tests.experiments.tiny import folders as folders
from tests.experiments.tiny import one_thread as one_thread
from tests.experiments.tiny import vectors as vectors
from tests.training.conftest import quiz
from towhom.corpus import Split
from towhom.evaluation.evaluator import evaluate
from towhom.evaluation.metrics import Outcomes
from towhom.experiments import load_experiment
from towhom.experiments import run as runs
from towhom.testing.chats import write_corpus

BASELINES = ("--system", "chance", "--system", "recent-tfidf", "--candidates", "2")
TINY = {"batch": 16, "epochs": 1, "settings": {"hidden": 7, "init": 0.3}}
RECORDS = ["chance-t15-c2-s0.json", "recent-tfidf-t15-c2-s0.json"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def written(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestBaselines:
    def test_records_report_and_figures(self, run: Run, folders: Folders, out: Path) -> None:
        result = run("reproduce", out, *folders.options, *BASELINES, "--context", "15")
        figures = [f"adr-by-{by}-dev.svg" for by in ("distance", "speakers")]
        assert sorted(written(out)) == sorted(
            [*figures, "report.html", "report.md", *(f"records/{name}" for name in RECORDS)]
        )
        recent = json.loads((out / "records" / RECORDS[1]).read_text("utf-8"))["results"]["dev"]
        *lines, markdown, page = result.stderr.splitlines()
        assert [line.split("  ")[0] for line in lines] == ["Chance", "Recent+TF-IDF"]
        assert lines[1].endswith(
            f"T 15  C  2  seed 0  dev  ADR {recent['adr']:5.2f}  RES {recent['res']:5.2f}  "
            f"ADR-RES {recent['adr_res']:5.2f}"
        )
        assert [markdown, page] == [str(out / "report.md"), str(out / "report.html")]
        report = (out / "report.md").read_text("utf-8")
        assert report.startswith("# Table 3 on corpus\n\n2 runs; settings of the training: ours.")
        assert f"| Recent+TF-IDF | 15 | {recent['adr_res']:.2f} (37.13) | " in report
        assert "Not run yet: Chance (T 15, 10), " in report

    def test_resumes(self, run: Run, folders: Folders, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Interrupted in the second run, it does the second alone; when all is done, nothing."""
        calls = 0

        def second_time(*arguments: object, **options: object) -> Outcomes:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise KeyboardInterrupt
            return evaluate(*arguments, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(runs, "evaluate", second_time)
        stopped = run("reproduce", out, *folders.options, *BASELINES, code=1)
        assert stopped.stderr.endswith("Error: interrupted; run the same command again to continue\n")
        assert [path.name for path in (out / "records").iterdir()] == RECORDS[:1]
        first = run("reproduce", out, *folders.options, *BASELINES)
        assert calls == 3
        before = written(out)
        again = run("reproduce", out, *folders.options, *BASELINES)
        assert calls == 3
        assert written(out) == before
        assert again.stderr == first.stderr

    def test_records_of_another_corpus_are_left_out(
        self, run: Run, folders: Folders, out: Path, tmp_path: Path
    ) -> None:
        run("reproduce", out, *folders.options, *BASELINES)
        before = written(out)
        chats = {split: [quiz(Random(1), rounds=20)] for split in (Split.TRAIN, Split.DEV)}
        other = folders._replace(corpus=write_corpus(tmp_path / "other", chats).folder)
        direct = ("--system", "direct-recent-tfidf", "--candidates", "2")
        result = run("reproduce", out, *other.options, *direct)
        note = f"{out / 'records'}: 2 records there are of other data or settings, and not in the report"
        assert note in result.stderr
        report = (out / "report.md").read_text("utf-8")
        assert "1 runs; " in report
        assert "| Recent+TF-IDF | 15 |" not in report
        assert "Not run yet: Chance (T 15, 2), " in report
        again = run("reproduce", out, *folders.options, *BASELINES)
        assert ": 1 records there are of other" in again.stderr
        (out / "records" / "direct-recent-tfidf-t15-c2-s0.json").unlink()
        assert written(out) == before

    def test_seeds_are_for_what_is_trained(self, run: Run, folders: Folders, out: Path) -> None:
        run("reproduce", out, *folders.options, *BASELINES, "--seeds", "2")
        assert sorted(path.name for path in (out / "records").iterdir()) == RECORDS
        assert " ± " not in (out / "report.md").read_text("utf-8")


class TestCases:
    @pytest.mark.parametrize(("options", "number"), [((), 3), (("--cases", "1"), 1), (("--cases", "0"), 0)])
    def test_so_many(
        self, options: tuple[str, ...], number: int, run: Run, folders: Folders, out: Path
    ) -> None:
        run("reproduce", out, *folders.options, *BASELINES, *options)
        report, page = ((out / name).read_text("utf-8") for name in ("report.md", "report.html"))
        assert report.count("### Sample ") == page.count("<h3>Sample ") == number
        assert report.count("| Recent+TF-IDF | ★ ") == number

    def test_none_is_no_number(self, run: Run, folders: Folders, out: Path) -> None:
        result = run("reproduce", out, *folders.options, *BASELINES, "--cases", "-1", code=2)
        assert "Invalid value for '--cases'" in result.stderr

    def test_help_says_what_they_are(self, run: Run) -> None:
        assert "They quote the logs, so use 0 for a report to publish." in " ".join(
            run("reproduce", "--help").stdout.split()
        )

    def test_of_a_model_while_it_is_there(
        self, run: Run, folders: Folders, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(load_experiment().settings, "ours", TINY)
        command = ("reproduce", out, *folders.options, "--system", "dynamic-rnn", "--context", "5")
        run(*command, "--candidates", "2")
        assert "| Dynamic-RNN | ★ " in (out / "report.md").read_text("utf-8")
        shutil.rmtree(out / "models")
        run(*command, "--candidates", "2")
        assert "Sample" not in (out / "report.md").read_text("utf-8")
        assert not (out / "models").exists()


def test_seeds(run: Run, folders: Folders, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(load_experiment().settings, "ours", TINY)
    one = ("--system", "dynamic-rnn", "--context", "5", "--candidates", "2")
    run("reproduce", out, *folders.options, *one, "--seeds", "2")
    assert sorted(path.stem for path in (out / "records").iterdir()) == [
        f"dynamic-rnn-t5-c2-s{seed}" for seed in (0, 1)
    ]
    assert re.search(r"\d ± \d", (out / "report.md").read_text("utf-8"))


def test_a_system_is_trained_with_the_settings_named(
    run: Run, folders: Folders, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = load_experiment()
    monkeypatch.setitem(experiment.settings, "paper", TINY)
    one = (
        "--system",
        "dynamic-rnn",
        "--context",
        "5",
        "--candidates",
        "2",
        "--models",
        str(tmp_path / "kept"),
    )
    run("reproduce", out, *folders.options, *one, "--settings", "paper")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["dynamic-rnn-t5-c2-s0"]
    record = json.loads((out / "records" / "dynamic-rnn-t5-c2-s0.json").read_text("utf-8"))
    assert record["identity"]["settings"] == TINY
    other = run("reproduce", out, *folders.options, *one, "--settings", "ours", code=1)
    assert "dynamic-rnn-t5-c2-s0.json: is the record of a run with other data or settings" in other.stderr


class TestErrors:
    def test_unknown_settings(self, run: Run, folders: Folders, out: Path) -> None:
        result = run("reproduce", out, *folders.options, "--settings", "theirs", code=2)
        assert "there are no settings 'theirs'; known are paper, ours" in result.stderr

    def test_an_unknown_system(self, run: Run, folders: Folders, out: Path) -> None:
        result = run("reproduce", out, *folders.options, "--system", "bert", code=2)
        assert "Invalid value for '--system'" in result.stderr

    def test_no_such_rows(self, run: Run, folders: Folders, out: Path) -> None:
        result = run("reproduce", out, *folders.options, *BASELINES, "--context", "5", code=2)
        assert "the table has no such rows" in result.stderr
        assert not out.exists()

    def test_no_corpus(self, run: Run, folders: Folders, tmp_path: Path, out: Path) -> None:
        given = folders._replace(corpus=tmp_path / "nowhere")
        assert "nowhere: there is no such folder" in run("reproduce", out, *given.options, code=1).stderr

    def test_without_matplotlib_nothing_is_begun(
        self, run: Run, folders: Folders, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        result = run("reproduce", out, *folders.options, *BASELINES, code=1)
        assert "pip install 'towhom[plots]'" in result.stderr
        assert not out.exists()
