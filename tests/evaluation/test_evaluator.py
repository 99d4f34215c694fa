"""One pass over the samples of a split, on a chat whose outcomes are known."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.models.systems import neural
from towhom.batching import Batcher, Questions
from towhom.corpus import Corpus, Split
from towhom.errors import CorpusError
from towhom.evaluation import evaluator
from towhom.evaluation.evaluator import evaluate, stretches, summary, together
from towhom.models.base import Selector, mask_addressees
from towhom.models.chance import Chance
from towhom.models.recency import DirectRecentTfIdf, RecentTfIdf
from towhom.selection import Rule, Scores, choose
from towhom.testing.chats import Line, random_document, word_vectors, write_corpus
from towhom.text.vocabulary import ModelVocabulary

CHAT = (
    Line("ann", "cat", "tea", ("coffee",), 1),  # the first: nobody to address, nothing to go by
    Line("ben", "ann", "tea", ("coffee",), 0),
    Line("ann", "zoe", "tea", ("coffee",), 1),  # somebody who never speaks
    Line("cat", None, "milk"),
    Line("dan", None, "milk"),
    Line("ben", "ann", "milk", ("coffee",), 1),  # too long ago for two messages
    Line("ann", "ben", "milk", ("coffee",), 0),
)
"""Samples 0 to 4; with two messages of context, the answers are nobody, ann, nobody, nobody, ben."""


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    other = [Line("eve", None, "water"), Line("fay", "eve", "water", ("wine",))]
    return write_corpus(tmp_path, {Split.TEST: [CHAT], Split.DEV: [other]})


class Constant(Selector):
    """Says the same of everything that is there."""

    name = "constant"

    def __init__(self, response: float = 0.5, rule: Rule = Rule.SEPARATE) -> None:
        self.response = response
        self.rule = rule

    def score_many(self, questions: Questions) -> Scores:
        scores = mask_addressees(np.full(questions.present.shape, 0.5), questions)
        return Scores(scores, np.full(questions.candidates.shape, self.response))


def test_stretches_together_are_the_whole(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "_STRETCH", 2)
    system = DirectRecentTfIdf(corpus)
    parts = [
        evaluate(system, corpus, Split.TEST, context=2, candidates=2, stretch=stretch)
        for stretch in stretches(5)
    ]
    assert [len(part.both) for part in parts] == [2, 2, 1]
    whole = evaluate(system, corpus, Split.TEST, context=2, candidates=2)
    for name, column in vars(together(parts)).items():
        assert column.tolist() == vars(whole)[name].tolist()


class TestRecent:
    def test_outcomes(self, corpus: Corpus) -> None:
        found = evaluate(RecentTfIdf(corpus), corpus, Split.TEST, context=2, candidates=2)
        assert found.addressee.tolist() == [0, 1, 0, 0, 1]
        # Responses: a tie, so the first, which is false; tea; tea; milk; milk.
        assert found.response.tolist() == [0, 1, 1, 1, 1]
        assert found.both.tolist() == [0, 1, 0, 0, 1]
        assert found.rank.tolist() == [2, 1, 1, 1, 1]
        assert found.speakers.tolist() == [1, 2, 2, 3, 3]
        assert found.distance.tolist() == [0, 1, 0, 3, 1]
        assert found.document.tolist() == [0] * 5

    def test_summary(self, corpus: Corpus) -> None:
        found = summary(evaluate(RecentTfIdf(corpus), corpus, Split.TEST, context=2, candidates=2))
        assert found == {
            "samples": 5, "adr": 40.0, "res": 80.0, "adr_res": 40.0,
            "recall_at_1": 80.0, "recall_at_2": 100.0, "recall_at_5": 100.0, "mrr": 0.9,
        }  # fmt: skip

    def test_more_context_more_to_choose_from(self, corpus: Corpus) -> None:
        found = evaluate(RecentTfIdf(corpus), corpus, Split.TEST, context=6, candidates=2)
        assert found.addressee.tolist() == [0, 1, 0, 0, 1]  # dan, not ann
        assert found.speakers.tolist() == [1, 2, 2, 4, 4]

    def test_all_splits(self, corpus: Corpus) -> None:
        found = evaluate(RecentTfIdf(corpus), corpus, None, context=2, candidates=2)
        parts = [
            evaluate(RecentTfIdf(corpus), corpus, split, context=2, candidates=2)
            for split in (Split.DEV, Split.TEST)
        ]
        assert len(found.both) == 6
        assert sorted(found.document.tolist()) == sorted([*parts[0].document, *parts[1].document])
        assert found.both.sum() == sum(part.both.sum() for part in parts)


def test_direct_recent(tmp_path: Path) -> None:
    chat = [
        Line("ann", "ben", "tea"),
        Line("cat", None, "milk"),
        Line("ben", "ann", "water", ("wine",)),  # no word in common with the context
        Line("cat", "ann", "tea", ("wine",), 1),
    ]
    corpus = write_corpus(tmp_path, {Split.TEST: [chat]})
    direct = evaluate(DirectRecentTfIdf(corpus), corpus, Split.TEST, context=3, candidates=2)
    assert direct.addressee.tolist() == [1, 0]
    assert direct.response.tolist() == [1, 1]  # of two that score nothing, the first
    assert direct.rank.tolist() == [2, 1]
    recent = evaluate(RecentTfIdf(corpus), corpus, Split.TEST, context=3, candidates=2)
    assert recent.addressee.tolist() == [0, 0]


def test_chance_is_an_expectation(corpus: Corpus) -> None:
    """One of those who have spoken in the document so far, whoever is in the context."""
    found = evaluate(Chance(), corpus, Split.TEST, context=2, candidates=2)
    assert_allclose(found.addressee, [1, 1 / 2, 1 / 2, 1 / 4, 1 / 4])
    assert_allclose(found.response, 0.5)
    assert_allclose(found.both, found.addressee / 2)
    assert found.rank.tolist() == [2] * 5


class TestTies:
    @pytest.mark.parametrize("rule", Rule)
    @pytest.mark.parametrize("response", [0.0, 0.5])
    def test_go_against_the_system(self, corpus: Corpus, response: float, rule: Rule) -> None:
        found = evaluate(Constant(response, rule), corpus, Split.TEST, context=2, candidates=2)
        assert found.rank.tolist() == [2] * 5

    def test_the_choice_is_the_first(self, corpus: Corpus) -> None:
        found = evaluate(Constant(), corpus, Split.TEST, context=2, candidates=2)
        assert found.response.tolist() == [0, 1, 0, 0, 1]
        assert found.addressee.tolist() == [0, 1, 0, 0, 1]


@pytest.fixture
def chats(tmp_path: Path) -> Corpus:
    random = Random(4)
    documents = [random_document(random, lines=40, people=people, candidates=10) for people in (3, 8)]
    return write_corpus(tmp_path / "chats", {Split.DEV: documents}, candidates=10)


VOCABULARY = ModelVocabulary.of(word_vectors(4), ("amber", "birch", "cedar", "delta", "ember"))


@pytest.mark.parametrize("rule", [None, *Rule])
@pytest.mark.parametrize("system", ["sirnn", "static-rnn"])
def test_against_a_loop(
    system: str, chats: Corpus, rule: Rule | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A neural system, one sample at a time; the evaluator takes them in batches of seven."""
    monkeypatch.setattr(evaluator, "_BATCH", 7)
    model = neural(system, VOCABULARY)
    words = VOCABULARY.ids(list(chats.vocabulary.words))
    done: list[tuple[int, int]] = []
    found = evaluate(
        model,
        chats,
        Split.DEV,
        context=5,
        candidates=10,
        rule=rule,
        words=words,
        progress=lambda *numbers: done.append(numbers),
    )
    batcher = Batcher(chats, context=5, candidates=10, words=words)
    total = len(chats.samples.message)
    assert len(found.both) == total
    assert done == [(min(stop, total), total) for stop in range(7, total + 7, 7)]
    for sample in range(total):
        one = np.array([sample])
        scores = model.score_many(batcher.questions(one))
        answers = batcher.answers(one)
        choice = choose(scores, rule or Rule.JOINT)
        true, response = int(answers.addressee[0]), int(answers.response[0])
        assert found.addressee[sample] == (true > 0 and choice.addressee[0] == true)
        assert found.response[sample] == (choice.response[0] == response)
        assert found.both[sample] == found.addressee[sample] * found.response[sample]
        assert found.rank[sample] > 1 or found.response[sample] == 1
        by_response = scores.response[0]
        if rule is not Rule.SEPARATE and scores.addressee.shape[1] > 1:
            by_response = scores.pairs(rule or Rule.JOINT)[0].max(axis=0)
        assert found.rank[sample] == (by_response >= by_response[response]).sum()
    assert len(set(found.rank.tolist())) > 5


class TestErrors:
    def test_no_such_candidates(self, corpus: Corpus) -> None:
        with pytest.raises(CorpusError, match="corpus: its samples have 2 candidates, not 10"):
            evaluate(Chance(), corpus, Split.TEST, context=2, candidates=10)

    def test_no_samples(self, corpus: Corpus) -> None:
        with pytest.raises(CorpusError, match="corpus: there are no samples in train"):
            evaluate(Chance(), corpus, Split.TRAIN, context=2, candidates=2)

    def test_no_samples_at_all(self, tmp_path: Path) -> None:
        corpus = write_corpus(tmp_path, [[Line("ann", None, "tea")]])
        with pytest.raises(CorpusError, match="there are no samples in it"):
            evaluate(Chance(), corpus, None, context=2, candidates=2)
