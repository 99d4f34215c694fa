"""`towhom corpus`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, run_apart
from tests.conftest import LogWriter
from towhom.cli import corpus as corpus_command
from towhom.corpus import Corpus, Split
from towhom.corpus.stats import split_statistics


@pytest.fixture
def built(run: Run, write_log: LogWriter, tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    run("corpus", "build", folder, write_log(days=8, lines=60), "--quiet")
    return folder


class TestBuild:
    def test_it_says_what_it_did(self, run: Run, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log(days=4, lines=60, bad=1)
        log.write_text(log.read_text() + "# 20240201\n[10:00] <ada> a day alone\n")
        result = run("corpus", "build", tmp_path / "corpus", log)
        total = Corpus(tmp_path / "corpus").manifest["statistics"]["total"]
        assert result.stdout == ""
        problem, counts, left_out, summary = result.stderr.splitlines()
        assert problem == f"skipped {log}:245: not a line of an IRC log"
        assert counts.endswith("1 malformed lines")
        assert left_out == (
            "1 documents (1 messages) were left out: fewer than 10 addressed messages (--min-addressed), "
            "or fewer messages than a sample has candidates"
        )
        assert summary.startswith(
            f"{tmp_path / 'corpus'}: 4 documents, {total['messages']:,} messages, "
            f"{total['samples']:,} samples, in "
        )

    def test_up_to_date(self, run: Run, write_log: LogWriter, tmp_path: Path) -> None:
        log, folder = write_log(lines=60), tmp_path / "corpus"
        assert "up to date" not in run("corpus", "build", folder, log).stderr
        assert run("corpus", "build", folder, log).stderr == f"{folder} is up to date.\n"
        assert run("corpus", "build", folder, log, "--quiet").output == ""

    def test_a_name_that_looks_like_markup(
        self, run: Run, write_log: LogWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = write_log(lines=60)
        monkeypatch.chdir(tmp_path)
        for folder in ("corpus[red]", "a[/bold]"):
            assert f"{folder}: 3 documents" in run("corpus", "build", folder, log).stderr
            assert f"{folder} is up to date" in run("corpus", "build", folder, log).stderr

    def test_a_corpus_of_another_version_needs_force(
        self, run: Run, built: Path, write_log: LogWriter
    ) -> None:
        manifest = json.loads((built / "manifest.json").read_text())
        (built / "manifest.json").write_text(json.dumps({**manifest, "version": 99}))
        log = write_log(name="newer.txt")
        assert "format version 99" in run("corpus", "build", built, log, code=1).stderr
        run("corpus", "build", built, log, "--force")
        assert Corpus(built).manifest["version"] == manifest["version"]

    def test_other_settings_need_force(self, run: Run, built: Path, write_log: LogWriter) -> None:
        log = write_log(days=8, lines=60)
        before = Corpus(built).manifest["hash"]
        refused = run("corpus", "build", built, log, "--seed", "3", code=1)
        assert "holds a corpus of other logs or settings" in refused.stderr
        assert Corpus(built).manifest["hash"] == before
        run("corpus", "build", built, log, "--seed", "3", "--force")
        assert Corpus(built).manifest["settings"]["seed"] == 3
        assert Corpus(built).manifest["hash"] != before

    def test_options_reach_the_settings(self, run: Run, write_log: LogWriter, tmp_path: Path) -> None:
        run(
            "corpus", "build", tmp_path / "corpus",
            "--dev", write_log(), "--train", write_log("b.txt", seed=1),
            "--candidates", "3", "--candidates", "5", "--min-addressed", "2", "--split-by", "time",
            "--dev-share", "0.2", "--test-share", "0.1", "--names", "keep", "--ignore-case",
            "--follow-renames", "--keep", "action", "--workers", "2", "--format", "irc", "--strict",
        )  # fmt: skip
        corpus = Corpus(tmp_path / "corpus")
        assert corpus.manifest["settings"] == {
            "seed": 0,
            "candidates": [3, 5],
            "min_addressed": 2,
            "ignore_case": True,
            "follow_renames": True,
            "kinds": ["message", "action"],
            "names": "keep",
            "split_by": "time",
            "dev_share": 0.2,
            "test_share": 0.1,
        }
        assert [len(corpus.documents_of(split)) for split in Split] == [3, 3, 0]

    def test_all_that_is_wrong_at_once(self, run: Run, write_log: LogWriter, tmp_path: Path) -> None:
        errors = run(
            "corpus", "build", tmp_path / "corpus", write_log(), "--candidates", "1", "--seed", "-1", code=1
        ).stderr
        assert "candidates must be" in errors
        assert "the seed must not be negative" in errors

    def test_interrupted(
        self, run: Run, write_log: LogWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*_: object, **__: object) -> Corpus:
            raise KeyboardInterrupt

        monkeypatch.setattr(corpus_command, "build_corpus", interrupted)
        result = run("corpus", "build", tmp_path / "corpus", write_log(), code=1)
        assert result.stderr == f"Error: interrupted; nothing was written to {tmp_path / 'corpus'}\n"

    def test_not_from_standard_input(self, run: Run, tmp_path: Path) -> None:
        result = run("corpus", "build", tmp_path / "corpus", "-", code=1)
        assert "cannot be built from standard input" in result.stderr

    def test_not_over_something_else(self, run: Run, write_log: LogWriter, tmp_path: Path) -> None:
        result = run("corpus", "build", tmp_path, write_log(), "--force", code=1)
        assert "this is not a corpus" in result.stderr

    def test_in_a_process_of_its_own(self, write_log: LogWriter, tmp_path: Path) -> None:
        done = run_apart("corpus", "build", tmp_path / "corpus", write_log(lines=60), "--workers", "2")
        assert (done.returncode, done.stdout) == (0, "")
        assert "3 documents" in done.stderr


class TestStats:
    def test_json(self, run: Run, built: Path) -> None:
        assert json.loads(run("corpus", "stats", built, "--json").stdout) == split_statistics(Corpus(built))

    def test_table(self, run: Run, built: Path) -> None:
        total = split_statistics(Corpus(built))["total"]
        rows = [line.split() for line in run("corpus", "stats", built).stdout.splitlines()]
        assert rows[0] == ["train", "dev", "test", "total"]
        assert rows[1] == ["documents", "6", "1", "1", "8"]
        assert rows[2][-1] == f"{total['messages']:,}"
        assert rows[-1][:5] == ["for", "training,", "T", "=", "15"]
        assert rows[-1][-1] == str(total["training_samples"]["15"])

    def test_markdown_beside_the_paper(self, run: Run, built: Path) -> None:
        lines = run("corpus", "stats", built, "--markdown", "--paper").stdout.splitlines()
        assert lines[0] == "|  | train | paper | dev | paper | test | paper | total | paper |"
        assert lines[1] == "|---|" + "---:|" * 8
        assert lines[2] == "| documents | 6 | 6,606 | 1 | 367 | 1 | 382 | 8 | 7,355 |"
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        assert {len(row) for row in cells} == {9}
        addressed = next(row for row in cells if row[0] == "share addressed")
        assert addressed[2::2] == ["0.32", "0.34", "0.34", "–"]

    def test_paper_as_text(self, run: Run, built: Path) -> None:
        assert "665,600" in run("corpus", "stats", built, "--paper").stdout

    def test_no_corpus(self, run: Run, tmp_path: Path) -> None:
        assert "this is not a corpus" in run("corpus", "stats", tmp_path, code=1).stderr


class TestExport:
    def test_files_and_rows(self, run: Run, built: Path, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        out = tmp_path / "out"
        lines = run("corpus", "export", built, out).stdout.splitlines()
        total = split_statistics(Corpus(built))["total"]
        assert lines[:2] == [
            f"{out / 'messages.parquet'}: {total['messages']:,} rows",
            f"{out / 'samples.parquet'}: {total['samples']:,} rows",
        ]
        assert all((out / f"{name}.parquet").stat().st_size for name in ("messages", "samples", "words"))
        assert "already exists" in run("corpus", "export", built, out, code=1).stderr
