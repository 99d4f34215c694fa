"""Crosstalk on a corpus: the paper's task."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.crosstalk.chats import LEXICON, random_weights
from towhom.batching import Batcher
from towhom.corpus import Corpus, CorpusSettings, DocumentSettings, build_corpus
from towhom.crosstalk.mind import Mind
from towhom.evaluation.evaluator import evaluate
from towhom.models import crosstalk as module
from towhom.models.crosstalk import Crosstalk
from towhom.selection import Rule, Scores
from towhom.testing.chats import Line, random_document, write_corpus

PEOPLE = ("ada", "bob", "cyd", "dee", "eve", "fay")
WORDS = ("the", "is", "tea", "milk", "door", "kettle", "open", "thanks", "solder", "reboot", "yes")
CANDIDATES = 3


@pytest.fixture(scope="module")
def selector() -> Crosstalk:
    return Crosstalk(Mind(random_weights(1, scale=0.3)), LEXICON)


def chat(seed: int, lines: int) -> list[tuple[str, str | None, str]]:
    """Who says what to whom; some texts name somebody besides."""
    random, said = Random(seed), list[tuple[str, str | None, str]]()
    for place in range(lines):
        speaker, other, third = random.sample(PEOPLE[: 3 if place < 9 else 6], 3)
        text = " ".join(random.choices(WORDS, k=random.randint(1, 6))) + random.choice(
            ("", "?", f", {third}")
        )
        said.append((speaker, other if random.random() < 0.7 else None, text))
    return said


def corpus_of(folder: Path, *chats: list[tuple[str, str | None, str]]) -> Corpus:
    """Each is a document."""
    folder.mkdir(parents=True)
    log = folder / "room.txt"
    lines = []
    for day, said in enumerate(chats):
        lines.append(f"# 202401{day + 1:02}")
        for place, (speaker, to, text) in enumerate(said):
            front = "" if to is None else f"{to}: "
            lines.append(f"[{10 + place // 60}:{place % 60:02}] <{speaker}> {front}{text}")
    log.write_text("\n".join(lines) + "\n", "utf-8")
    settings = CorpusSettings(document=DocumentSettings(candidates=(CANDIDATES,)))
    return build_corpus(folder / "corpus", [log], settings=settings)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("chats") / "c", *(chat(seed, 70) for seed in range(4)))


def batcher(selector: Crosstalk, corpus: Corpus, context: int = 15) -> Batcher:
    return selector.batcher(corpus, context=context, candidates=CANDIDATES, words=None)


def scores_of(
    selector: Crosstalk,
    corpus: Corpus,
    samples: NDArray[np.int64] | None = None,
    context: int = 15,
    **more: Any,
) -> Scores:
    every = np.arange(len(corpus.samples.message)) if samples is None else samples
    return selector.score_many(batcher(selector, corpus, context).questions(every, **more))


def joint(scores: Scores) -> NDArray[np.float64]:
    assert scores.joint is not None
    return scores.joint


class TestProbabilities:
    @pytest.mark.parametrize("context", [1, 5, 15, 120])
    def test_add_up_to_one(self, selector: Crosstalk, corpus: Corpus, context: int) -> None:
        found = scores_of(selector, corpus, context=context)
        count = len(corpus.samples.message)
        assert count > 50
        assert joint(found).shape[0] == count
        assert_allclose(joint(found).sum(axis=(1, 2)), 1)
        assert_allclose(found.response.sum(axis=1), 1)
        somebody = ~np.isnan(found.addressee).all(axis=1)
        assert somebody.mean() > 0.5
        assert_allclose(np.nansum(found.addressee[somebody], axis=1), 1)
        assert (joint(found) >= 0).all()

    def test_only_those_who_are_there(self, selector: Crosstalk, corpus: Corpus) -> None:
        ask = batcher(selector, corpus, 5)
        questions = ask.questions(np.arange(len(corpus.samples.message)))
        found = selector.score_many(questions)
        assert np.isnan(found.addressee[:, 0]).all()
        assert not joint(found)[~questions.present].any()
        there = questions.present.copy()
        there[:, 0] = False
        assert np.isfinite(found.addressee[there]).all()

    def test_they_depend_on_the_candidate_and_the_addressee(
        self, selector: Crosstalk, corpus: Corpus
    ) -> None:
        found = scores_of(selector, corpus)
        assert np.median(np.ptp(found.response, axis=1)) > 0.01
        assert np.median(np.nanmax(found.addressee, axis=1) - np.nanmin(found.addressee, axis=1)) > 0.01

    def test_nobody_else_has_spoken(self, selector: Crosstalk, tmp_path: Path) -> None:
        """The response is all there is to choose."""
        alone: list[tuple[str, str | None, str]] = [
            ("ada", "ada" if place % 2 else None, text) for place, (_, _, text) in enumerate(chat(1, 40))
        ]
        said = [("bob", None, "the tea"), *alone, *chat(2, 30)]
        corpus = corpus_of(tmp_path / "c", said)
        ask = batcher(selector, corpus, 2)
        every = np.arange(len(corpus.samples.message))
        questions = ask.questions(every)
        found = selector.score_many(questions)
        assert_allclose(found.response.sum(axis=1), 1)
        assert np.isfinite(found.response).all()

    def test_rule(self, selector: Crosstalk, corpus: Corpus) -> None:
        assert selector.rule is Rule.JOINT
        outcomes = evaluate(selector, corpus, None, context=15, candidates=CANDIDATES)
        assert len(outcomes.addressee) == len(corpus.samples.message)


class TestTheSame:
    def test_one_sample_at_a_time(self, selector: Crosstalk, corpus: Corpus) -> None:
        ask = batcher(selector, corpus)
        every = np.arange(len(corpus.samples.message))
        together = selector.score_many(ask.questions(every))
        for number in every[::3].tolist():
            alone = selector.score_many(ask.questions(np.array([number])))
            people = joint(alone).shape[1]
            assert_allclose(joint(together)[number, :people], joint(alone)[0], atol=1e-5)
            assert not joint(together)[number, people:].any()

    def test_in_small_batches_of_any_documents(self, selector: Crosstalk, corpus: Corpus) -> None:
        together = scores_of(selector, corpus)
        random = np.random.default_rng(1)
        for _ in range(5):
            some = np.sort(random.choice(len(corpus.samples.message), 20, replace=False))
            found = joint(scores_of(selector, corpus, some))
            assert_allclose(found, joint(together)[some][:, : found.shape[1]], atol=1e-5)

    def test_however_many_drafts_are_looked_at_at_once(
        self, selector: Crosstalk, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        together = scores_of(selector, corpus)
        monkeypatch.setattr(module, "_ROWS", 7)
        monkeypatch.setattr(module, "_DOCUMENTS", 1)
        assert_allclose(joint(scores_of(selector, corpus)), joint(together), atol=1e-5)

    def test_where_a_candidate_stands(self, selector: Crosstalk, corpus: Corpus) -> None:
        """In the list of them."""
        every = np.arange(len(corpus.samples.message))
        given = np.asarray(corpus.samples.candidates[CANDIDATES])
        order = np.array([2, 0, 1])
        plain, turned = (
            joint(scores_of(selector, corpus, every, candidates=each)) for each in (given, given[:, order])
        )
        assert_allclose(turned, plain[:, :, order], atol=1e-5)


class TestNothingIsSeen:
    """Of the true response, but who speaks."""

    PLACE = 50

    def scores(
        self, selector: Crosstalk, folder: Path, said: list[tuple[str, str | None, str]]
    ) -> NDArray[np.float64]:
        """Of the sample at that place, with three candidates that others say."""
        corpus = corpus_of(folder, said)
        (sample,) = np.flatnonzero(np.asarray(corpus.samples.message) == self.PLACE)
        given = np.array([[20, 60, 45]], np.uint32)
        return joint(scores_of(selector, corpus, np.array([sample]), candidates=given))

    @pytest.fixture
    def said(self) -> list[tuple[str, str | None, str]]:
        said = chat(5, 80)
        speaker, _, _ = said[self.PLACE]
        to = next(who for who, _, _ in reversed(said[: self.PLACE]) if who != speaker)
        said[self.PLACE] = speaker, to, "the tea is open"
        return said

    @pytest.mark.parametrize("text", ["milk", "is the kettle open? yes", "reboot, fay", "!reboot", "thanks"])
    def test_what_it_says(
        self, selector: Crosstalk, said: list[tuple[str, str | None, str]], tmp_path: Path, text: str
    ) -> None:
        plain = self.scores(selector, tmp_path / "a", said)
        speaker, to, _ = said[self.PLACE]
        said[self.PLACE] = speaker, to, text
        assert_allclose(self.scores(selector, tmp_path / "b", said), plain, atol=1e-6)

    def test_whom_it_is_for(
        self, selector: Crosstalk, said: list[tuple[str, str | None, str]], tmp_path: Path
    ) -> None:
        plain = self.scores(selector, tmp_path / "a", said)
        speaker, to, text = said[self.PLACE]
        for other in set(PEOPLE) - {speaker, to}:
            said[self.PLACE] = speaker, other, text
            assert_allclose(self.scores(selector, tmp_path / other, said), plain, atol=1e-6)

    def test_who_says_it(
        self, selector: Crosstalk, said: list[tuple[str, str | None, str]], tmp_path: Path
    ) -> None:
        plain = self.scores(selector, tmp_path / "a", said)
        speaker, to, text = said[self.PLACE]
        other = next(who for who in PEOPLE if who not in (speaker, to))
        said[self.PLACE] = other, to, text
        found = self.scores(selector, tmp_path / "b", said)
        assert found.shape != plain.shape or not np.allclose(found, plain, atol=1e-3)

    def test_nor_what_is_said_later(
        self, selector: Crosstalk, said: list[tuple[str, str | None, str]], tmp_path: Path
    ) -> None:
        plain = self.scores(selector, tmp_path / "a", said)
        later = [*said[: self.PLACE + 1], *chat(6, 29)]
        later[60] = said[60]
        assert len(later) == 80
        assert_allclose(self.scores(selector, tmp_path / "b", later), plain, atol=1e-6)

    @pytest.mark.parametrize("text", ["thanks {}", "is the tea open, {}?", "ask {}", "{} has the milk"])
    def test_whom_a_candidate_was_for(
        self, selector: Crosstalk, said: list[tuple[str, str | None, str]], tmp_path: Path, text: str
    ) -> None:
        """Not even where it names them: the true response is a candidate, too."""
        speaker, to, _ = said[self.PLACE]
        assert to is not None
        found = []
        for number, meant in enumerate((to, next(who for who in PEOPLE if who not in (speaker, to)))):
            said[self.PLACE] = speaker, meant, text.format(to)
            corpus = corpus_of(tmp_path / str(number), said)
            (sample,) = np.flatnonzero(np.asarray(corpus.samples.message) == self.PLACE)
            given = np.array([[20, self.PLACE, 45]], np.uint32)
            found.append(joint(scores_of(selector, corpus, np.array([sample]), candidates=given)))
        assert_allclose(found[0], found[1], atol=1e-6)


def test_candidates_that_nobody_says(selector: Crosstalk, tmp_path: Path) -> None:
    """As in the corpus of the paper, which comes with its candidates."""
    random = Random(3)
    said = [Line("ada", None, "tea"), *random_document(random, lines=40, people=4, candidates=3)]
    corpus = write_corpus(tmp_path, [said], candidates=3)
    assert len(corpus.utterances.text) > len(corpus.messages.speaker)
    found = scores_of(selector, corpus)
    assert_allclose(joint(found).sum(axis=(1, 2)), 1)
    assert np.median(np.ptp(found.response, axis=1)) > 0


def test_questions_of_another_kind(selector: Crosstalk, corpus: Corpus) -> None:
    plain = Batcher(corpus, context=5, candidates=CANDIDATES)
    with pytest.raises(TypeError, match="ask the batcher of this selector"):
        selector.score_many(plain.questions(np.arange(3)))
