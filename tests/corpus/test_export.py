"""Parquet files, read back."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LogWriter
from towhom.corpus import Corpus, CorpusSettings, DocumentSettings, Split, build_corpus, export
from towhom.corpus.export import export_parquet
from towhom.errors import CorpusError, MissingExtraError


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    found: list[dict[str, Any]] = parquet.read_table(folder / f"{name}.parquet").to_pylist()
    return found


@pytest.fixture
def corpus(write_log: LogWriter, tmp_path: Path) -> Corpus:
    return build_corpus(tmp_path / "corpus", [write_log(days=5, lines=50)])


def utterance(corpus: Corpus, number: int) -> list[int]:
    start, stop = corpus.utterances.offsets[number : number + 2].tolist()
    tokens: list[int] = corpus.utterances.tokens[start:stop].tolist()
    return tokens


@pytest.mark.parametrize("batch", [1, 7, 100_000])
def test_everything_comes_back(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(export, "_ROWS", batch)
    out = tmp_path / "out"
    written = export_parquet(corpus, out)
    messages, samples, words = (rows(out, name) for name in ("messages", "samples", "words"))
    assert written == {
        out / "messages.parquet": len(messages),
        out / "samples.parquet": len(samples),
        out / "words.parquet": len(words),
    }
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in written)
    split_of = {
        i: split for split in ("train", "dev", "test") for i in corpus.documents_of(Split(split)).tolist()
    }
    expected = [
        {
            "document": chat.name,
            "split": split_of[document],
            "position": position,
            "speaker": message.speaker,
            "addressee": message.addressee,
            "time": message.time,
            "text": message.text,
        }
        for document in range(5)
        for chat in [corpus.conversation(document)]
        for position, message in enumerate(chat)
    ]
    for number, (row, one) in enumerate(zip(messages, expected, strict=True)):
        assert row == {"id": number, **one, "tokens": utterance(corpus, number)}
    for number, row in enumerate(samples):
        message = int(corpus.samples.message[number])
        assert row == {
            "id": number,
            "message": message,
            "split": messages[message]["split"],
            "distance": corpus.samples.distance[number],
            "candidates_2": corpus.samples.candidates[2][number].tolist(),
            "label_2": corpus.samples.labels[2][number],
            "candidates_10": corpus.samples.candidates[10][number].tolist(),
            "label_10": corpus.samples.labels[10][number],
        }
    assert len(samples) == len(corpus.samples.message) > 0
    counted = zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True)
    assert words == [{"id": i, "word": word, "count": count} for i, (word, count) in enumerate(counted)]


def test_what_no_message_says(tmp_path: Path) -> None:
    log = tmp_path / "dev.cand-2"
    log.write_text("[10:00]\t<ada>\t-\thi\t-\t-\n[10:01]\t<bob>\tada\tnever\tyes yes\t1\n")
    out = tmp_path / "out"
    export_parquet(build_corpus(tmp_path / "corpus", [log]), out)
    words = {row["id"]: row["word"] for row in rows(out, "words")}
    (candidate,) = rows(out, "candidates")
    assert (candidate["id"], candidate["text"]) == (2, "never")
    assert [words[token] for token in candidate["tokens"]] == ["never"]
    assert [row["candidates_2"] for row in rows(out, "samples")] == [[2, 1]]


def test_no_samples_and_no_time(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"speaker": "ada", "text": "hi", "time": "1970-01-01T00:00"}\n{"speaker": "bob", "text": "hi"}'
    )
    settings = CorpusSettings(document=DocumentSettings(min_addressed=0, candidates=(2,)))
    export_parquet(build_corpus(tmp_path / "corpus", [log], settings=settings), tmp_path / "out")
    assert rows(tmp_path / "out", "samples") == []
    assert [row["time"] for row in rows(tmp_path / "out", "messages")] == [datetime(1970, 1, 1), None]


def test_no_folder_is_overwritten(corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("precious")
    with pytest.raises(CorpusError, match="out: already exists; choose another folder or remove it"):
        export_parquet(corpus, out)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


def test_a_failure_leaves_nothing(corpus: Corpus, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (corpus.folder / "words.count.npy").unlink()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CorpusError, match="cannot be read"):
        export_parquet(Corpus(corpus.folder), tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


def test_without_pyarrow(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoPyarrow:
        """A machine without it, as the import system sees it."""

        def find_spec(self, name: str, *_: object) -> None:
            if name.split(".")[0] == "pyarrow":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NoPyarrow(), *sys.meta_path])
    with pytest.raises(MissingExtraError, match=r"needs the package pyarrow.*pip install 'towhom\[export\]'"):
        export_parquet(corpus, tmp_path / "out")
    assert not (tmp_path / "out").exists()
