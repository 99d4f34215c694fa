"""The words of a corpus: names hidden, the rest ordered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from towhom.corpus import Corpus, CorpusSettings, DocumentSettings, Names, Split, build_corpus, vocabulary
from towhom.corpus.document import DocumentColumns, build_document
from towhom.corpus.vocabulary import WordCounter, final_vocabulary
from towhom.readers import Document
from towhom.readers.irc import Irc

ANY = CorpusSettings(document=DocumentSettings(min_addressed=0, candidates=(2,)))


def document(*said: str) -> DocumentColumns:
    """A document of lines like `nick> text`."""
    records = tuple((number, f"[10:00] <{line}".encode()) for number, line in enumerate(said))
    columns = build_document(Document("room", "room.txt", Irc(), records), ANY.document).columns
    assert columns is not None
    return columns


def counter(documents: Sequence[DocumentColumns]) -> WordCounter:
    words = WordCounter()
    for columns in documents:
        words.add(columns)
    return words


def texts(corpus: Corpus) -> list[list[str]]:
    """The words of every utterance."""
    tokens, offsets = corpus.utterances.tokens, corpus.utterances.offsets.tolist()
    words = corpus.vocabulary.words
    return [[words[token] for token in tokens[start:stop].tolist()] for start, stop in pairwise(offsets)]


def write(path: Path, *said: str) -> Path:
    path.write_text("".join(f"[10:00] <{line}\n" for line in said))
    return path


class TestNames:
    # Nobody is called "the" in twenty documents that use it; in one, somebody is.
    elsewhere = (document("ada> the kettle", "bob> and the iron"),) * 20

    def test_a_name_that_is_plainly_a_word_stays(self) -> None:
        words = counter(
            [*self.elsewhere, document("the> hello", "ada> the: hello", "ada> where is the iron")]
        )
        assert "the" not in words.names()

    @pytest.mark.parametrize(("addressed", "stays"), [(4, True), (5, False)])
    def test_unless_people_are_addressed_by_it_too_often(self, addressed: int, stays: bool) -> None:
        words = counter(
            [*self.elsewhere, document("the> hello", *["ada> the: hello the the the"] * addressed)]
        )
        assert ("the" not in words.names()) is stays

    @pytest.mark.parametrize(("documents", "stays"), [(9, False), (10, True)])
    def test_or_it_is_used_in_too_few_documents(self, documents: int, stays: bool) -> None:
        words = counter([*self.elsewhere[:documents], document("the> hello", "ada> the one")])
        assert ("the" not in words.names()) is stays

    @pytest.mark.parametrize(("others", "stays"), [(90, True), (101, False)])
    def test_or_in_too_small_a_share_of_them(self, others: int, stays: bool) -> None:
        rest = [document("ada> hello", "bob> hello")] * others
        words = counter([*self.elsewhere[:10], *rest, document("the> hello", "ada> the one")])
        assert ("the" not in words.names()) is stays

    def test_use_where_somebody_has_the_name_does_not_count(self) -> None:
        words = counter([document("kettle> hello", "ada> the kettle, kettle")] * 50)
        assert words.names() == {"kettle"}

    def test_case_does_not_matter(self) -> None:
        assert counter([document("AdA> hello", "bob> thanks Ada", "bob> and ADA")]).names() == {"ada"}

    def test_names_nobody_says_need_no_hiding(self) -> None:
        assert counter([document("ada> hello", "bob> hello")]).names() == set()


class TestFinalVocabulary:
    def test_by_count_then_by_alphabet(self) -> None:
        words = ["<unknown>", "pear", "ada", "fig", "apple", "plum", "bob"]
        counts = np.array([2, 5, 7, 1, 5, 0, 4])
        final, final_counts, ids = final_vocabulary(words, counts, {"ada", "bob"})
        assert final == ["<unknown>", "<name>", "apple", "pear", "fig", "plum"]
        assert final_counts.tolist() == [2, 11, 5, 5, 1, 0]
        assert ids.tolist() == [0, 3, 1, 4, 2, 5, 1]

    def test_no_words_at_all(self) -> None:
        final, counts, ids = final_vocabulary(["<unknown>"], np.zeros(1, np.int64), set())
        assert (final, counts.tolist(), ids.tolist()) == (["<unknown>", "<name>"], [0, 0], [0])

    def test_a_word_that_looks_like_a_special_one_is_that_one(self) -> None:
        final, counts, ids = final_vocabulary(["<unknown>", "fig", "<name>"], np.array([0, 1, 3]), set())
        assert (final, counts.tolist()) == (["<unknown>", "<name>", "fig"], [0, 3, 1])
        assert ids.tolist() == [0, 2, 1]


class TestCorpus:
    def test_names_are_hidden(self, tmp_path: Path) -> None:
        log = write(tmp_path / "a", "ada> hi", "bob> ada: hi from Bob", "ada> thanks bob, says ADA")
        corpus = build_corpus(tmp_path / "corpus", [log], settings=ANY)
        assert texts(corpus) == [
            ["hi"],
            ["hi", "from", "<name>"],
            ["thanks", "<name>", ",", "says", "<name>"],
        ]
        assert not {"ada", "bob"} & set(corpus.vocabulary.words)
        assert corpus.vocabulary.counts[1] == 3
        assert corpus.conversation(0)[2].text == "thanks bob, says ADA"

    def test_in_every_document_also_where_nobody_has_them(self, tmp_path: Path) -> None:
        logs = [
            write(tmp_path / "a", "ada> hi", "bob> hi"),
            write(tmp_path / "b", "cyd> ada", "dee> is away"),
        ]
        corpus = build_corpus(tmp_path / "corpus", logs, settings=ANY)
        assert texts(corpus)[2:] == [["<name>"], ["is", "away"]]

    def test_or_kept(self, tmp_path: Path) -> None:
        log = write(tmp_path / "a", "ada> hi", "bob> hi ada")
        settings = CorpusSettings(document=ANY.document, names=Names.KEEP)
        corpus = build_corpus(tmp_path / "corpus", [log], settings=settings)
        assert texts(corpus) == [["hi"], ["hi", "ada"]]
        assert list(corpus.vocabulary.words) == ["<unknown>", "<name>", "hi", "ada"]
        assert corpus.vocabulary.counts.tolist() == [0, 0, 2, 1]

    def test_only_training_counts_order_the_words(self, tmp_path: Path) -> None:
        train = write(tmp_path / "a", "ada> fig fig pear", "bob> pear fig apple")
        dev = write(tmp_path / "b", "ada> pear pear pear pear plum", "bob> apple banana")
        corpus = build_corpus(
            tmp_path / "corpus", splits={Split.DEV: [dev], Split.TRAIN: [train]}, settings=ANY
        )
        words = ["<unknown>", "<name>", "fig", "pear", "apple", "banana", "plum"]
        assert list(corpus.vocabulary.words) == words
        assert corpus.vocabulary.counts.tolist() == [0, 0, 3, 2, 1, 0, 0]
        assert texts(corpus)[0] == ["pear"] * 4 + ["plum"]

    def test_training_documents_between_others_are_counted(self, tmp_path: Path) -> None:
        logs = [
            write(tmp_path / name, f"ada> {word}", f"bob> {word}")
            for name, word in zip("abcd", "wxyz", strict=True)
        ]
        splits = {Split.TEST: [logs[0], logs[3]], Split.TRAIN: [logs[1], logs[2]]}
        corpus = build_corpus(tmp_path / "corpus", splits=splits, settings=ANY)
        counts = dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True))
        assert {word: counts[word] for word in "wxyz"} == {"w": 0, "x": 2, "y": 2, "z": 0}

    def test_too_many_words(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vocabulary, "MAX_WORDS", 4)
        logs = [
            write(tmp_path / "a", "ada> fig pear", "bob> plum"),
            write(tmp_path / "b", "ada> fig kiwi", "bob> lime lime"),
        ]
        corpus = build_corpus(tmp_path / "corpus", logs, settings=ANY)
        assert texts(corpus) == [["fig", "pear"], ["plum"], ["fig", "<unknown>"], ["<unknown>"] * 2]
        assert corpus.vocabulary.counts[0] == 3
        assert corpus.manifest["words_overflow"] == 2
