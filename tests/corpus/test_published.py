"""Corpora of the published files: their candidates and labels stay as they are."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from towhom.corpus import Split, build_corpus
from towhom.errors import CorpusError


def published(sample: str, *, candidates: int = 2) -> str:
    """A document of the published corpus with one sample, which says so."""
    empty, false = "\t-" * (candidates - 1), "".join(f"\tfalse {sample} {i}" for i in range(candidates - 1))
    return f"[10:00]\t<ada>\t-\task {sample}{empty}\t-\n[10:01]\t<bob>\tada\tsay {sample}{false}\t0\n\n"


class TestPublished:
    def test_candidates_of_all_documents_follow_all_messages(self, tmp_path: Path) -> None:
        log = tmp_path / "train.cand-2"
        log.write_text("# one\n" + published("a") + "# two\n" + published("b"))
        corpus = build_corpus(tmp_path / "corpus", [log])
        assert list(corpus.utterances.text) == ["ask a", "say a", "ask b", "say b", "false a 0", "false b 0"]
        assert corpus.samples.candidates[2].tolist() == [[1, 4], [3, 5]]
        assert corpus.samples.labels[2].tolist() == [0, 0]
        assert corpus.utterances.offsets.tolist() == [0, 2, 4, 6, 8, 11, 14]
        words = corpus.vocabulary.words
        assert [words[token] for token in corpus.utterances.tokens[8:].tolist()] == [
            "false",
            "a",
            "0",
            "false",
            "b",
            "0",
        ]
        assert corpus.manifest["settings"]["candidates"] == [2]
        assert build_corpus(tmp_path / "corpus", [log]).manifest == corpus.manifest

    def test_two_parts_are_one_file(self, tmp_path: Path) -> None:
        parts = [tmp_path / f"train.cand-10.{part}.gz" for part in (1, 2)]
        texts = [published("a", candidates=10), published("b", candidates=10)]
        for path, text in zip(parts, texts, strict=True):
            path.write_bytes(gzip.compress(text.encode(), mtime=0))
        corpus = build_corpus(tmp_path / "corpus", splits={Split.TRAIN: parts})
        whole = tmp_path / "train.cand-10"
        whole.write_text("".join(texts))
        same = build_corpus(tmp_path / "same", splits={Split.TRAIN: [whole]})
        np.testing.assert_array_equal(corpus.samples.candidates[10], same.samples.candidates[10])
        assert list(corpus.utterances.text) == list(same.utterances.text)
        assert len(corpus.manifest["sources"]) == 1

    @pytest.mark.parametrize("part", [0, 1])
    def test_a_change_in_either_part_is_noticed(self, tmp_path: Path, part: int) -> None:
        parts = [tmp_path / f"train.cand-10.{number}" for number in (1, 2)]
        for path in parts:
            path.write_text(published(path.name, candidates=10))
        build_corpus(tmp_path / "corpus", parts)
        parts[part].write_text(published("changed", candidates=10))
        with pytest.raises(CorpusError, match="other logs"):
            build_corpus(tmp_path / "corpus", parts)

    def test_two_numbers_of_candidates_make_two_corpora(self, tmp_path: Path) -> None:
        logs = [tmp_path / "dev.cand-2", tmp_path / "dev.cand-3"]
        logs[0].write_text(published("a"))
        logs[1].write_text(published("b", candidates=3))
        with pytest.raises(
            CorpusError,
            match=r"samples of dev\.cand-3.* have 3 candidates, those before it 2; build a corpus",
        ):
            build_corpus(tmp_path / "corpus", logs)
        assert not (tmp_path / "corpus").exists()

    def test_documents_without_samples_are_context_and_no_more(self, tmp_path: Path) -> None:
        log = tmp_path / "train.cand-2"
        silent = "[10:00]\t<ada>\t-\thello\t-\t-\n\n"
        log.write_text(silent + published("a") + silent + published("b"))
        corpus = build_corpus(tmp_path / "corpus", [log])
        assert np.diff(corpus.documents.samples).tolist() == [0, 1, 0, 1]
        assert len(corpus.samples.candidates[2]) == len(corpus.samples.labels[2]) == 2
