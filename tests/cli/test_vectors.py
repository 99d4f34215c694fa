"""`towhom vectors`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run
from towhom.corpus import Corpus, Split
from towhom.testing.chats import Line, write_corpus
from towhom.text.vectors import WordVectors

GLOVE = "tea 1 2 3\nmilk 4 5 6\nelephant 7 8 9\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Tea and milk in training, rum in dev alone."""
    train = [Line("ann", None, "tea milk"), Line("ben", None, "tea"), Line("ann", None, "milk")] * 10
    dev = [Line("cat", None, "rum tea")] * 10
    return write_corpus(tmp_path, {Split.TRAIN: [train], Split.DEV: [dev]})


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text(GLOVE)
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


@pytest.fixture
def _gensim() -> None:
    pytest.importorskip("gensim", exc_type=ImportError)


def test_from_a_file(run: Run, corpus: Corpus, glove: Path, out: Path) -> None:
    result = run("vectors", corpus.folder, out, "--from", glove)
    found = WordVectors.load(out)
    assert set(found.words) == {"tea", "milk"}
    assert found.lookup(["tea", "milk"]).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.source["name"] == "glove.txt"
    assert result.stdout == ""
    counts = dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True))
    share = (counts["tea"] + counts["milk"]) / sum(counts.values())
    words = len(corpus.vocabulary.words)
    assert result.stderr == f"{out}: 2 of {words} words ({share:.1%} of the text), 3 dimensions\n"


def test_two_files_side_by_side(run: Run, corpus: Corpus, glove: Path, out: Path, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("tea 8 9\nrum 6 7\n")
    run("vectors", corpus.folder, out, "--from", glove, "--from", tmp_path / "more.txt")
    found = WordVectors.load(out)
    expected = [[1, 2, 3, 8, 9], [4, 5, 6, 7, 8], [2.5, 3.5, 4.5, 6, 7]]  # the mean where one is missing
    assert found.lookup(["tea", "milk", "rum"]).tolist() == expected


@pytest.mark.usefixtures("_gensim")
class TestTraining:
    def test_on_the_training_documents(self, run: Run, corpus: Corpus, out: Path) -> None:
        run("vectors", corpus.folder, out, "--train", "--dimensions", "6", "--epochs", "2")
        found = WordVectors.load(out)
        assert set(found.words) == {"tea", "milk"}
        assert found.dimensions == 6
        assert found.source.items() >= {"messages": 30, "tokens": 40, "epochs": 2, "seed": 0}.items()

    def test_options(self, run: Run, corpus: Corpus, out: Path) -> None:
        few = ("--min-count", "25", "--seed", "3", "--dimensions", "4")
        result = run("vectors", corpus.folder, out, "--train", *few, code=1)
        assert "no word is there 25 times" in result.stderr
        assert not out.exists()

    def test_beside_a_file(self, run: Run, corpus: Corpus, glove: Path, out: Path, tmp_path: Path) -> None:
        run("vectors", corpus.folder, tmp_path / "alone", "--train", "--dimensions", "6")
        run("vectors", corpus.folder, out, "--from", glove, "--train", "--dimensions", "6")
        both, alone = WordVectors.load(out), WordVectors.load(tmp_path / "alone")
        assert both.dimensions == 3 + 6
        np.testing.assert_array_equal(both.lookup(["tea"])[0, :3], [1, 2, 3])
        np.testing.assert_array_equal(both.lookup(["tea"])[0, 3:], alone.lookup(["tea"])[0])


class TestReplacing:
    def test_only_with_force(self, run: Run, corpus: Corpus, glove: Path, out: Path) -> None:
        command = ("vectors", corpus.folder, out, "--from", glove)
        run(*command)
        glove.write_text(GLOVE.replace("tea 1", "tea 5"))
        result = run(*command, code=1)
        assert result.stderr == f"Error: {out}: already exists; replace it with --force\n"
        assert WordVectors.load(out).lookup(["tea"]).tolist() == [[1, 2, 3]]
        run(*command, "--force")
        assert WordVectors.load(out).lookup(["tea"]).tolist() == [[5, 2, 3]]

    def test_nothing_but_vectors(self, run: Run, corpus: Corpus, glove: Path, out: Path) -> None:
        out.mkdir()
        (out / "letter.txt").write_text("dear")
        result = run("vectors", corpus.folder, out, "--from", glove, "--force", code=1)
        assert "this is not a folder of word vectors" in result.stderr
        assert [path.name for path in out.iterdir()] == ["letter.txt"]


class TestErrors:
    def test_nothing_given(self, run: Run, corpus: Corpus, out: Path) -> None:
        result = run("vectors", corpus.folder, out, code=2)
        assert "where from? Give --from FILE, --train, or both" in result.stderr

    def test_no_such_file(self, run: Run, corpus: Corpus, out: Path, tmp_path: Path) -> None:
        result = run("vectors", corpus.folder, out, "--from", tmp_path / "nowhere", code=1)
        assert result.stderr == f"Error: {tmp_path / 'nowhere'}: there is no such file\n"
        assert not out.exists()

    def test_no_word_in_common(self, run: Run, corpus: Corpus, out: Path, tmp_path: Path) -> None:
        (tmp_path / "animals.txt").write_text("elephant 7 8 9\n")
        result = run("vectors", corpus.folder, out, "--from", tmp_path / "animals.txt", code=1)
        assert "has a vector in this file" in result.stderr

    def test_no_corpus(self, run: Run, glove: Path, out: Path, tmp_path: Path) -> None:
        result = run("vectors", tmp_path / "nowhere", out, "--from", glove, code=1)
        assert "nowhere: there is no such folder" in result.stderr
