"""A session gives the answer that the evaluator gives for the same sample."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.live.conftest import saved_model, talk
from tests.models.chats import WORDS, Said, naming, random_document, word_vectors, write_corpus
from tests.models.systems import NEURAL, RECURRENT
from towhom.batching import NOBODY, Batcher
from towhom.chat import Message
from towhom.corpus import Corpus, CorpusSettings, DocumentSettings, build_corpus
from towhom.evaluation.evaluator import evaluate
from towhom.hearing import ear
from towhom.hearing.calls import Calls
from towhom.live import Model, Selection, Session
from towhom.persistence import SavedModel
from towhom.selection import Rule, Scores, choose
from towhom.text.vocabulary import NAME, ModelVocabulary


class Sample(NamedTuple):
    """A sample, and a channel that has come to it."""

    number: int
    session: Session
    responder: str
    candidates: list[str]


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Rooms of one to sixteen people who say anything to anybody; no names inside the texts."""
    random = Random(7)
    first = Said("guest5", "guest2", "north pond", ("marsh", "oasis grove"), 1)
    chats = [
        [first, *random_document(random, lines=lines, people=people, candidates=3)]
        for lines, people in ((6, 1), (30, 3), (60, 16))
    ]
    return write_corpus(tmp_path_factory.mktemp("made-up"), chats, candidates=3)


@pytest.fixture(scope="module")
def of_each_other(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Rooms in which people are spoken of, some of them before they speak themselves."""
    random = Random(8)
    chats = [
        naming(random, random_document(random, lines=lines, people=people, candidates=3))
        for lines, people in ((6, 1), (30, 3), (60, 16))
    ]
    return write_corpus(tmp_path_factory.mktemp("of-each-other"), chats, candidates=3)


@pytest.fixture(scope="module")
def makerspace(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The sample chat, in which people are spoken of before they speak."""
    settings = CorpusSettings(document=DocumentSettings(candidates=(3,)))
    log = Path(str(files("towhom.samples") / "makerspace.txt"))
    return build_corpus(tmp_path_factory.mktemp("sample") / "corpus", [log], settings=settings)


def vocabulary_of(corpus: Corpus, *, without: tuple[str, ...] = ()) -> ModelVocabulary:
    known = [word for word in corpus.vocabulary.words if word not in without]
    return ModelVocabulary.of(word_vectors(known=known[1::2]), known)


def replay(corpus: Corpus, model: Model, *, introduce: bool = False) -> Iterator[Sample]:
    """Every sample, when a channel has come to it."""
    for document in range(len(corpus.documents.split)):
        start = int(corpus.documents.messages[document])
        first, last = corpus.documents.samples[document : document + 2].tolist()
        at = {int(corpus.samples.message[number]) - start: number for number in range(first, last)}
        session = model.session()
        chat = corpus.conversation(document)
        for name in chat.speakers if introduce else ():
            session.introduce(name)
        for place, message in enumerate(chat):
            if place in at:
                candidates = corpus.samples.candidates[3][at[place]].tolist()
                texts = [corpus.utterances.text[candidate] for candidate in candidates]
                yield Sample(at[place], session, message.speaker, texts)
            session.observe(message)


def batcher(corpus: Corpus, saved: SavedModel) -> Batcher:
    return Batcher(
        corpus,
        context=saved.context,
        candidates=3,
        max_words=saved.max_words,
        words=saved.vocabulary.ids(list(corpus.vocabulary.words)),
        letters=saved.runtime.letters,
    )


def participants(corpus: Corpus, number: int, context: int) -> list[str]:
    """Names of the candidate addressees, from the corpus alone: the latest speaker first."""
    message = int(corpus.samples.message[number])
    document = int(np.searchsorted(corpus.documents.messages, message, side="right")) - 1
    start = int(corpus.documents.messages[document])
    chat = corpus.conversation(document)
    before = chat.messages[: message - start][::-1][:context]
    responder = chat[message - start].speaker
    return list(dict.fromkeys(each.speaker for each in before if each.speaker != responder))


def expected_pairs(scores: Scores, rule: Rule, people: int) -> NDArray[np.float64]:
    """(people, C) The shares of the pairs in all that there are; one row if there is nobody."""
    pairs = scores.pairs(rule)[0, 1 : people + 1] if people else scores.response
    if people and rule is Rule.JOINT_LOG:
        pairs = np.exp(pairs)
    shares: NDArray[np.float64] = pairs / pairs.sum()
    return shares


def assert_offline(corpus: Corpus, saved: SavedModel, *, introduce: bool) -> None:
    ask = batcher(corpus, saved)
    every = np.arange(len(corpus.samples.message))
    questions, answers = ask.questions(every), ask.answers(every)
    torch, numpy = saved.model.score_many(questions), saved.runtime.score_many(questions)
    choice = choose(torch, saved.rule)
    outcomes = evaluate(
        saved.model, corpus, None, context=saved.context, candidates=3,
        words=saved.vocabulary.ids(list(corpus.vocabulary.words)),
    )  # fmt: skip
    seen = decided = 0
    for number, session, responder, candidates in replay(corpus, Model(saved), introduce=introduce):
        names = participants(corpus, number, saved.context)
        found = session.select(responder, candidates)
        for scores in (torch, numpy):
            assert_same_pairs(found, row_of(scores, number), saved.rule, names)
        seen += 1
        if found[0].probability - found[1].probability < 1e-5:
            continue  # rounding decides
        decided += 1
        chosen = int(choice.addressee[number])
        assert found[0].addressee == (None if chosen == NOBODY else names[chosen - 1])
        assert found[0].candidate == choice.response[number]
        assert outcomes.addressee[number] == (chosen == answers.addressee[number] != NOBODY)
        assert outcomes.response[number] == (found[0].candidate == answers.response[number])
    assert seen == len(every) > 20
    assert decided > 10


def init(system: str) -> float:
    """How large random weights are: so that addressees and responses differ, but not so large that scores of
    hundreds take the last digits of the probabilities with them."""
    return 1.0 if system in RECURRENT else 0.5


def row_of(scores: Scores, number: int) -> Scores:
    """The scores of one sample."""
    others = scores.addressee_given, scores.response_given, scores.joint
    return Scores(
        scores.addressee[[number]],
        scores.response[[number]],
        *(None if each is None else each[[number]] for each in others),
    )


def assert_same_pairs(found: list[Selection], scores: Scores, rule: Rule, names: list[str]) -> None:
    expected = expected_pairs(scores, rule, len(names))
    rows: list[str | None] = [*names] or [None]
    ours = np.full(expected.shape, np.nan)
    for each in found:
        ours[rows.index(each.addressee), each.candidate] = each.probability
    assert_allclose(ours, expected, rtol=0, atol=1e-6)


@pytest.fixture
def strictly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions know no more than a corpus: one manner of calling, and what the model makes of drafts."""
    monkeypatch.setattr(ear, "listen", lambda *args, **options: Calls())
    monkeypatch.setattr(
        "towhom.live.session.likeness_by_letters",
        lambda context, drafts, ids: np.zeros((len(ids), len(drafts))),
    )


@pytest.mark.parametrize("context", [5, 15])
@pytest.mark.parametrize("system", NEURAL)
@pytest.mark.usefixtures("strictly")
class TestEverySample:
    def test_rooms_of_many_and_of_one(self, made_up: Corpus, system: str, context: int) -> None:
        vocabulary = ModelVocabulary.of(word_vectors(known=WORDS[:-3]), WORDS)
        saved = saved_model(system, context=context, vocabulary=vocabulary, hidden=7, init=init(system))
        assert_offline(made_up, saved, introduce=False)

    def test_rooms_in_which_people_are_named(self, of_each_other: Corpus, system: str, context: int) -> None:
        vocabulary = vocabulary_of(of_each_other)
        assert NAME in vocabulary.words
        saved = saved_model(system, context=context, vocabulary=vocabulary, hidden=7, init=init(system))
        assert_offline(of_each_other, saved, introduce=True)

    def test_names_that_are_known_from_the_start(self, makerspace: Corpus, system: str, context: int) -> None:
        vocabulary = vocabulary_of(makerspace)
        assert NAME in vocabulary.words
        saved = saved_model(system, context=context, vocabulary=vocabulary, hidden=7, init=init(system))
        assert_offline(makerspace, saved, introduce=True)

    def test_a_model_that_knows_no_word_for_names(
        self, makerspace: Corpus, system: str, context: int
    ) -> None:
        vocabulary = vocabulary_of(makerspace, without=(NAME,))
        saved = saved_model(system, context=context, vocabulary=vocabulary, hidden=7, init=init(system))
        # Who sees letters sees those of a name as well, as long as nobody is called so.
        assert_offline(makerspace, saved, introduce=saved.runtime.letters)


def test_a_name_inside_a_text_is_hidden_as_in_a_corpus(makerspace: Corpus) -> None:
    """Of somebody who has spoken; the corpus also knows who will speak later."""
    saved = saved_model(vocabulary=vocabulary_of(makerspace), hidden=7, init=1.0)
    sessions = [Model(saved).session() for _ in range(3)]
    for session, text in zip(sessions, ("ask priya", "ask ezra", "ask somebodyelse"), strict=True):
        talk(session, "ezra> hello", "priya> hello", f"noor> {text}")
    scores = [session.select("ezra", ["thanks", "no"]) for session in sessions]
    assert scores[0] == scores[1]
    assert scores[0] != scores[2]


class TestEncodedOnce:
    @pytest.fixture
    def encoded(self, monkeypatch: pytest.MonkeyPatch) -> tuple[Model, list[int]]:
        """A model, and how many utterances it has encoded, call by call."""
        model = Model(saved_model(context=3))
        calls: list[int] = []
        encode = model.runtime.encode_utterances

        def counted(tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
            calls.append(len(offsets) - 1)
            return encode(tokens, offsets)

        monkeypatch.setattr(model.runtime, "encode_utterances", counted)
        return model, calls

    def test_a_message(self, encoded: tuple[Model, list[int]]) -> None:
        model, calls = encoded
        talk(model.session(), *["ada> tea", "bob> milk", "cyd> ada: the door"] * 30)
        assert sum(calls) == 90

    def test_candidates(self, encoded: tuple[Model, list[int]]) -> None:
        model, calls = encoded
        session = model.session()
        talk(session, *["ada> tea", "bob> milk"] * 5)
        calls.clear()
        session.select("cyd", ["tea", "milk", "ada: the door"])
        assert sum(calls) == 3
        session.rank_addressees("cyd", "tea")
        assert sum(calls) == 4
        session.is_for("ada")
        assert sum(calls) == 4

    def test_after_a_restart_only_the_context(self, encoded: tuple[Model, list[int]], tmp_path: Path) -> None:
        model, calls = encoded
        session = model.session()
        talk(session, *["ada> tea", "bob> milk"] * 10)
        session.save(tmp_path / "state.json")
        restored = model.session()
        restored.restore(tmp_path / "state.json")
        assert sum(calls) == 20 + 3  # the context, once more
        restored.observe(Message("ada", "thanks"))
        assert sum(calls) == 24
