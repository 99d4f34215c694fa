"""An open corpus: what it gives back, and what it says when something is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import LogWriter
from towhom.chat import Message
from towhom.corpus import Corpus, CorpusSettings, DocumentSettings, Split, build_corpus, store
from towhom.corpus.columns import open_column
from towhom.errors import CorpusError
from towhom.readers import read_conversations
from towhom.wire import to_json

SMALL = CorpusSettings(document=DocumentSettings(min_addressed=0, candidates=(2,)))


@pytest.fixture
def corpus(write_log: LogWriter, tmp_path: Path) -> Corpus:
    return build_corpus(tmp_path / "corpus", [write_log(days=8, lines=120)])


class TestWhatItGivesBack:
    def test_a_conversation_is_as_it_was_read(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log(days=4, lines=50)
        corpus = build_corpus(tmp_path / "corpus", [log])
        read = list(read_conversations(log, days=True))
        assert len(read) == 4
        assert [corpus.conversation(document) for document in range(4)] == read

    def test_times(self, tmp_path: Path) -> None:
        log = tmp_path / "log.jsonl"
        noon = datetime(2024, 5, 31, 12)
        chat = [
            Message("ada", "hi", time=noon),
            Message("bob", "hi", time=noon.replace(tzinfo=UTC)),
            Message("ada", ""),
        ]
        log.write_text("\n".join(map(to_json, chat)))
        corpus = build_corpus(tmp_path / "corpus", [log], settings=SMALL)
        assert [message.time for message in corpus.conversation(0)] == [noon, noon, None]

    def test_columns_fit_together(self, corpus: Corpus) -> None:
        documents, samples, messages = corpus.documents, corpus.samples, corpus.messages
        assert len(documents.names) == len(documents.split) == 8
        for offsets, end in (
            (documents.messages, len(messages.speaker)),
            (documents.samples, len(samples.message)),
            (documents.speakers, len(corpus.speaker_names)),
            (corpus.utterances.offsets, len(corpus.utterances.tokens)),
        ):
            assert (offsets[0], offsets[-1]) == (0, end)
            assert (np.diff(offsets) >= 0).all()
        assert (
            len(messages.addressee)
            == len(messages.time)
            == len(corpus.utterances.text)
            == documents.messages[-1]
        )
        assert corpus.utterances.tokens.max() < len(corpus.vocabulary.words) == len(corpus.vocabulary.counts)
        of_message = np.repeat(np.arange(8), np.diff(documents.messages))
        of_sample = np.repeat(np.arange(8), np.diff(documents.samples))
        np.testing.assert_array_equal(of_message[samples.message], of_sample)
        for size, candidates in samples.candidates.items():
            assert (of_message[candidates] == of_sample[:, None]).all()
            rows = np.arange(len(candidates))
            np.testing.assert_array_equal(candidates[rows, samples.labels[size]], samples.message)

    def test_documents_of_a_split(self, corpus: Corpus) -> None:
        parts = {split: corpus.documents_of(split).tolist() for split in Split}
        assert sorted(chain(*parts.values())) == list(range(8)) == corpus.documents_of(None).tolist()
        assert [len(parts[split]) for split in (Split.TRAIN, Split.DEV, Split.TEST)] == [6, 1, 1]

    @pytest.mark.parametrize("split", [None, *Split])
    @pytest.mark.parametrize("context", [None, 2, 5, 15])
    def test_samples_of_a_split(self, corpus: Corpus, split: Split | None, context: int | None) -> None:
        expected, sample = [], -1
        for document, start in enumerate(corpus.documents.messages[:-1].tolist()):
            chat = corpus.conversation(document)
            for place, message in enumerate(chat):
                before = [earlier.speaker for earlier in chat.messages[:place]]
                if message.addressee not in before or message.addressee == message.speaker:
                    continue
                sample += 1
                assert corpus.samples.message[sample] == start + place
                assert corpus.samples.distance[sample] == before[::-1].index(message.addressee) + 1
                usable = context is None or (place >= context and message.addressee in before[-context:])
                if usable and document in corpus.documents_of(split):
                    expected.append(sample)
        assert sample + 1 == len(corpus.samples.message)
        assert expected
        assert corpus.samples_of(split, context=context).tolist() == expected

    def test_training_leaves_out_an_addressee_who_was_silent(self, tmp_path: Path) -> None:
        log = tmp_path / "train.cand-2"
        samples = ["[10:01]\t<ada>\tbob\tyes\tno\t0", "[10:02]\t<bob>\tada\tyes\tno\t0"]
        log.write_text("\n".join(["[10:00]\t<ada>\t-\thi\t-\t-"] * 3 + samples))
        corpus = build_corpus(tmp_path / "corpus", [log])
        assert corpus.samples.distance.tolist() == [0, 1]
        assert corpus.samples_of(None).tolist() == [0, 1]
        assert corpus.samples_of(None, context=2).tolist() == [1]


class TestLazily:
    @pytest.fixture
    def opened(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The columns that have been opened since."""
        names: list[str] = []

        def opening(path: Path) -> NDArray[Any]:
            names.append(path.stem)
            return open_column(path)

        monkeypatch.setattr(store, "open_column", opening)
        return names

    def test_opening_a_corpus_opens_no_column(self, corpus: Corpus, opened: list[str]) -> None:
        again = Corpus(corpus.folder)
        assert opened == []
        assert len(again.messages.speaker) == len(again.messages.addressee)
        assert opened == ["messages.speaker", "messages.addressee", "messages.time"]

    def test_columns_are_mapped_and_opened_once(self, corpus: Corpus, opened: list[str]) -> None:
        again = Corpus(corpus.folder)
        for _ in range(3):
            again.conversation(0)
            again.samples_of(Split.TRAIN, context=5)
        assert len(opened) == len(set(opened))
        assert isinstance(again.samples.candidates[10], np.memmap)


class TestErrors:
    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(
            CorpusError, match=r"nowhere: there is no such folder; make a corpus with: towhom corpus build"
        ):
            Corpus(tmp_path / "nowhere")

    def test_no_manifest(self, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match=r"this is not a corpus: it has no manifest\.json"):
            Corpus(tmp_path)

    @pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe"])
    def test_broken_manifest(self, corpus: Corpus, content: bytes) -> None:
        (corpus.folder / "manifest.json").write_bytes(content)
        with pytest.raises(CorpusError, match=r"manifest\.json: cannot be read"):
            Corpus(corpus.folder)

    @pytest.mark.parametrize("content", ["[]", "{}", '{"format": "something else", "version": 1}', "null"])
    def test_the_manifest_of_something_else(self, corpus: Corpus, content: str) -> None:
        (corpus.folder / "manifest.json").write_text(content)
        with pytest.raises(CorpusError, match="this is not the manifest of a corpus"):
            Corpus(corpus.folder)

    def test_newer_version(self, corpus: Corpus) -> None:
        manifest = json.loads((corpus.folder / "manifest.json").read_text())
        (corpus.folder / "manifest.json").write_text(json.dumps({**manifest, "version": 99}))
        with pytest.raises(
            CorpusError, match=f"format version 99, this towhom .* reads version {store.VERSION}"
        ):
            Corpus(corpus.folder)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda path: path.unlink(),
            lambda path: path.write_bytes(path.read_bytes()[:-1]),
            lambda path: path.write_bytes(path.read_bytes()[:100]),
            lambda path: path.write_bytes(b""),
            lambda path: path.write_bytes(b"x" * 1000),
        ],
        ids=["missing", "one byte short", "header cut off", "empty", "no column"],
    )
    def test_a_column_that_is_damaged(self, corpus: Corpus, damage: Callable[[Path], object]) -> None:
        damage(corpus.folder / "messages.speaker.npy")
        again = Corpus(corpus.folder)
        with pytest.raises(
            CorpusError, match=r"messages\.speaker\.npy: the column cannot be read .*; build the corpus again"
        ):
            again.conversation(0)

    def test_nothing_is_unpickled(self, corpus: Corpus) -> None:
        np.save(corpus.folder / "messages.speaker.npy", np.array([{}]), allow_pickle=True)
        with pytest.raises(CorpusError, match="cannot be read"):
            Corpus(corpus.folder).conversation(0)
