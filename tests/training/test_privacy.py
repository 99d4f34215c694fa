"""A vocabulary without nicks, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.models.chats import Said, word_vectors, write_corpus
from towhom.chat import Kind, Message
from towhom.corpus import Corpus, Split
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs
from towhom.text.vocabulary import NAME, ModelVocabulary
from towhom.training import privacy
from towhom.training.privacy import without_names

WORDS = ("the", "tea", "milk", NAME, "zoe", "sugar", "spoon", "fridge")


def vocabulary(*words: str) -> ModelVocabulary:
    return ModelVocabulary.of(word_vectors(3, known=words), words)


def corpus_of(folder: Path, *texts: str, dev: tuple[str, ...] = ()) -> Corpus:
    """A document a text."""
    documents = {
        split: [[Said("ann", None, text), Said("ben", "ann", "yes", ("no",))] for text in some]
        for split, some in ((Split.TRAIN, texts), (Split.DEV, dev))
        if some
    }
    return write_corpus(folder, documents)


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Every word is said in three documents, so that their number gives nobody away."""
    return corpus_of(tmp_path_factory.mktemp("everywhere"), *[" ".join(WORDS)] * 3)


@pytest.fixture(autouse=True)
def few_common_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privacy, "_COMMON", 2)


def left_out(corpus: Corpus, *lines: Message, words: tuple[str, ...] = WORDS) -> set[str]:
    log = LinkedLog("log", lines, {})
    return set(words) - set(without_names(vocabulary(*words), corpus, [log]).words)


def said(*texts: str) -> list[Message]:
    return [Message("ann", text, line=line) for line, text in enumerate(texts)]


def test_words_stay(everywhere: Corpus) -> None:
    assert left_out(everywhere) == set()
    assert left_out(everywhere, *said("zoe: the tea", "the milk and the sugar")) == {"zoe"}


class TestDocuments:
    def test_a_word_of_one_or_two_documents_may_be_a_name(self, tmp_path: Path) -> None:
        corpus = corpus_of(
            tmp_path, "sugar spoon fridge milk", "sugar spoon milk", "sugar sugar milk", "milk"
        )
        assert left_out(corpus, words=("the", "tea", "sugar", "spoon", "fridge", "milk")) == {
            "spoon",
            "fridge",
        }

    def test_only_those_of_the_training_count(self, tmp_path: Path) -> None:
        corpus = corpus_of(tmp_path, "sugar spoon", "sugar spoon", "sugar", dev=("spoon", "spoon"))
        assert left_out(corpus, words=("the", "tea", "sugar", "spoon")) == {"spoon"}

    def test_a_word_that_the_corpus_does_not_have(self, everywhere: Corpus) -> None:
        assert left_out(everywhere, words=("the", "tea", "glove")) == {"glove"}


class TestWhoComesAndGoes:
    def test_who_joins(self, everywhere: Corpus) -> None:
        joins = Message("", "Zoe [~z@example.org] has joined #tea by the spoon", kind=Kind.SYSTEM)
        assert left_out(everywhere, joins) == {"zoe"}

    def test_who_changes_their_name(self, everywhere: Corpus) -> None:
        assert left_out(everywhere, Message("Sugar", "spoon", kind=Kind.RENAME)) == {"sugar", "spoon"}

    def test_a_line_that_says_nothing(self, everywhere: Corpus) -> None:
        assert left_out(everywhere, Message("", " ", kind=Kind.SYSTEM)) == set()

    def test_as_a_log_has_them(self, everywhere: Corpus, tmp_path: Path) -> None:
        (tmp_path / "log.txt").write_text(
            "[10:00] <ann> the tea\n"
            "=== zoe [~z@example.org] has joined #room\n"
            "=== sugar is now known as fridge\n"
            "[10:01] <ann> the milk\n"
        )
        (tmp_path / "log.links").write_text("0 0 -\n")
        kept = without_names(vocabulary(*WORDS), everywhere, read_linked_logs(tmp_path))
        assert set(WORDS) - set(kept.words) == {"zoe", "sugar", "fridge"}


class TestInFront:
    @pytest.mark.parametrize("mark", [":", ",", ";"])
    def test_of_a_message(self, mark: str, everywhere: Corpus) -> None:
        assert left_out(everywhere, *said(f"zoe{mark} some more?", "Sugar is sweet")) == {"zoe"}

    def test_a_fifth_of_the_uses_may_be(self, everywhere: Corpus) -> None:
        four = ["more sugar"] * 4
        assert left_out(everywhere, *said("sugar: two spoons please", *four)) == set()
        assert left_out(everywhere, *said("sugar: two spoons please", *four[1:])) == {"sugar"}

    def test_with_nothing_behind_it(self, everywhere: Corpus) -> None:
        assert left_out(everywhere, *said("sugar:", "spoon :")) == set()

    def test_only_in_messages(self, everywhere: Corpus) -> None:
        waves = Message("ann", "sugar: more of it", kind=Kind.ACTION)
        assert left_out(everywhere, waves) == set()


def test_the_commonest_words_are_exempt(everywhere: Corpus, tmp_path: Path) -> None:
    """So is the word that stands for all names, wherever it is."""
    names = [Message("", f"{word} has joined", kind=Kind.SYSTEM) for word in WORDS]
    assert left_out(everywhere, *names) == set(WORDS) - {"the", "tea", NAME}
    nowhere = corpus_of(tmp_path, "birch", "birch")
    assert left_out(nowhere) == set(WORDS) - {"the", "tea", NAME}


def test_vectors_stay_with_their_words(everywhere: Corpus) -> None:
    before = vocabulary(*WORDS)
    joins = Message("", "milk has joined", kind=Kind.SYSTEM)
    after = without_names(before, everywhere, [LinkedLog("log", (joins,), {})])
    assert after.words == ("the", "tea", NAME, "zoe", "sugar", "spoon", "fridge")
    assert_array_equal(after.matrix, np.delete(before.matrix, 1 + WORDS.index("milk"), axis=0))
    assert_array_equal(after.ids(["milk", "spoon"]), [0, 6])
