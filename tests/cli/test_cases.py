"""`towhom cases`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.evaluation.test_cases import corpus as corpus
from tests.models.systems import neural
from tests.nn.conftest import one_thread as one_thread
from towhom.corpus import Corpus
from towhom.evaluation.case_pages import cases_html, cases_markdown
from towhom.evaluation.cases import System, find_cases
from towhom.models.recency import DirectRecentTfIdf, RecentTfIdf
from towhom.pages import markdown_text
from towhom.persistence import save_model
from towhom.testing.chats import WORDS, word_vectors
from towhom.text.vocabulary import ModelVocabulary

BASELINES = ("recent-tfidf", "direct-recent-tfidf")


@pytest.fixture
def options(corpus: Corpus) -> tuple[str, ...]:
    return "--data", f"{corpus.folder}:test", "--candidates", "2"


class TestFormats:
    def test_text(self, run: Run, options: tuple[str, ...]) -> None:
        output = run("cases", *BASELINES, *options, "--number", "1").stdout
        assert "sample 0" in output
        assert re.search("ben +→ ann +which kettle", output)
        rows = [line.split() for line in output.partition("next speaks ann")[2].splitlines() if line.strip()]
        assert rows == [
            ["system", "addressee", "response"],
            ["recent-tfidf", "cat", "★", "blue", "kettle"],
            ["direct-recent-tfidf", "★", "ben", "★", "blue", "kettle"],
            ["truth", "ben", "blue", "kettle"],
        ]

    @pytest.mark.parametrize("format", ["markdown", "html"])
    def test_pages(
        self, format: str, run: Run, options: tuple[str, ...], corpus: Corpus, tmp_path: Path
    ) -> None:
        systems = {
            "recent-tfidf": System(RecentTfIdf(corpus)),
            "direct-recent-tfidf": System(DirectRecentTfIdf(corpus)),
        }
        found = find_cases(systems, corpus, corpus.samples_of(None), context=15, candidates=2, telling=3)
        expected = cases_html(found) if format == "html" else cases_markdown(found)
        assert run("cases", *BASELINES, *options, "--format", format).stdout == expected
        run("cases", *BASELINES, *options, "--format", format, "-o", tmp_path / "page")
        assert (tmp_path / "page").read_text("utf-8") == expected

    def test_text_in_a_file_is_text(self, run: Run, options: tuple[str, ...], tmp_path: Path) -> None:
        shown = run("cases", *BASELINES, *options).stdout
        result = run("cases", *BASELINES, *options, "-o", tmp_path / "cases.txt")
        assert result.output == ""
        assert (tmp_path / "cases.txt").read_text("utf-8") == shown


class TestWhich:
    def test_the_most_telling(self, run: Run, options: tuple[str, ...]) -> None:
        output = run("cases", *BASELINES, *options, "--format", "markdown").stdout
        assert re.findall(r"### Sample (\d)", output) == ["0", "4", "1"]

    def test_those_asked_for(self, run: Run, options: tuple[str, ...]) -> None:
        asked = ("--sample", "3", "--sample", "1")
        output = run("cases", *BASELINES, *options, *asked, "--format", "markdown").stdout
        assert re.findall(r"### Sample (\d): (\w+)", output) == [("3", "hal"), ("1", "gus")]
        assert "| truth | – | salt |" in output

    def test_context(self, run: Run, options: tuple[str, ...]) -> None:
        output = run("cases", "chance", *options, "--sample", "0", "--context", "1").stdout
        assert "tea tea" in output
        assert "which kettle" not in output

    def test_a_published_file(self, run: Run, corpus: Corpus) -> None:
        file = corpus.folder.parent / "test.txt"
        output = run("cases", *BASELINES, "--data", file, "--candidates", "2", "--format", "markdown").stdout
        assert re.findall(r"### Sample (\d)", output) == ["0", "4", "1"]

    def test_models_of_one_name_are_told_apart(
        self, run: Run, options: tuple[str, ...], tmp_path: Path
    ) -> None:
        vocabulary = ModelVocabulary.of(word_vectors(4), WORDS)
        folders = [tmp_path / name / "model" for name in ("a", "b")]
        for folder in folders:
            model = neural("sirnn", vocabulary)
            save_model(folder, model, vocabulary, system="sirnn", context=15, training={})
        output = run("cases", *folders, "chance", *options, "--sample", "0", "--format", "markdown").stdout
        names = [line.split(" | ")[0].strip("| ") for line in output.splitlines()[-4:]]
        assert names == [*(markdown_text(str(folder)) for folder in folders), "chance", "truth"]
        alone = run("cases", folders[0], *options, "--sample", "0", "--format", "markdown").stdout
        assert "| model | " in alone


class TestErrors:
    def test_no_telling_case(self, run: Run, corpus: Corpus, tmp_path: Path) -> None:
        """The third document alone: nobody can be right about whom it addresses."""
        lines = (corpus.folder.parent / "test.txt").read_text("utf-8").split("\n\n")[2]
        (tmp_path / "alone").write_text(lines)
        data = ("--data", tmp_path / "alone", "--candidates", "2")
        result = run("cases", *BASELINES, *data, code=1)
        assert result.stderr == (
            "Error: there is no telling case: direct-recent-tfidf is right about none of the samples\n"
        )

    @pytest.mark.parametrize("sample", ["5", "-1"])
    def test_no_such_sample(self, sample: str, run: Run, options: tuple[str, ...]) -> None:
        result = run("cases", "chance", *options, "--sample", sample, code=2)
        assert f"there are 5 samples, from 0 on; no number {sample}" in result.stderr

    def test_no_such_candidates(self, run: Run, corpus: Corpus) -> None:
        result = run("cases", "chance", "--data", f"{corpus.folder}:test", code=1)
        assert "its samples have 2 candidates, not 10" in result.stderr

    def test_no_such_split(self, run: Run, corpus: Corpus) -> None:
        result = run("cases", "chance", "--data", f"{corpus.folder}:dev", "--candidates", "2", code=1)
        assert "there are no samples in dev" in result.stderr

    def test_no_such_model(self, run: Run, options: tuple[str, ...]) -> None:
        result = run("cases", "nowhere", *options, code=1)
        assert "nowhere: there is no such model folder, nor anything of this name" in result.stderr
