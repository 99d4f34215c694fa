"""Every system of the paper against a second implementation, and against numbers written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.models.plain import Chat, Message, PlainModel, Result
from tests.models.systems import NEURAL, batcher, neural
from towhom.batching import Questions
from towhom.corpus import Corpus
from towhom.models.recurrent import RecurrentSelector
from towhom.selection import Rule, choose
from towhom.testing.chats import Line, word_vectors, write_corpus
from towhom.text.vocabulary import ModelVocabulary

FIVE = (
    Line("ann", None, "amber birch cedar"),
    Line("ben", "ann", "delta"),
    Line("cat", "zoe", ""),
    Line("ben", "ben", "ember fjord never-heard-of"),
    Line("ann", "cat", "grove amber"),
    Line("ben", "ann", "birch delta", ("ember",), 1),
)
"""Five messages and a response: to nobody, to somebody, to somebody absent, to oneself; one says nothing."""

ROOM = ModelVocabulary.of(word_vectors(5), ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove"))


def chats_of(documents: list[list[Line]], context: int, vocabulary: ModelVocabulary) -> list[Chat]:
    """The samples of some documents, in order."""

    def words(text: str) -> list[int]:
        known = list(vocabulary.words)
        return [known.index(word) + 1 if word in known else 0 for word in text.split()[:20]]

    return [
        Chat(
            [
                Message(s.sender, s.addressee, words(s.text))
                for s in document[max(0, place - context) : place]
            ],
            said.sender,
            [words(text) for text in said.candidates],
        )
        for document in documents
        for place, said in enumerate(document)
        if said.false
    ]


def plain_results(system: str, model: RecurrentSelector, chats: list[Chat]) -> list[Result]:
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    plain = PlainModel(weights, np.asarray(model.vectors, np.float64))
    return [plain.run(system, chat) for chat in chats]


def embeddings(
    model: RecurrentSelector, questions: Questions
) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
    inputs = model.inputs(questions)
    vectors = model.get_buffer("vectors")[inputs.words]
    with torch.no_grad():
        utterances = model.utterance.last_states(
            inputs.tokens, inputs.offsets, (vectors, model.utterance.w), plain=model.plain
        )
        speakers, context = model.encode(inputs, utterances)
    return speakers.numpy(), context.numpy()


def assert_same(
    model: RecurrentSelector, questions: Questions, expected: list[Result], tolerance: float
) -> None:
    speakers, context = embeddings(model, questions)
    scores = model.score_many(questions)
    assert len(questions) == len(expected)
    for row, result in enumerate(expected):
        people = len(result.speakers)
        assert questions.participants[row] == people
        assert_allclose(speakers[row, :people], result.speakers, rtol=0, atol=tolerance)
        assert_allclose(context[row], result.context, rtol=0, atol=tolerance)
        assert_allclose(scores.addressee[row, 1:people], result.addressee[1:], rtol=0, atol=tolerance)
        assert np.isnan(scores.addressee[row, [0, *range(people, scores.addressee.shape[1])]]).all()
        assert_allclose(scores.response[row], result.response, rtol=0, atol=tolerance)
        if result.addressee_given is None or result.response_given is None:
            assert scores.addressee_given is scores.response_given is None
            continue
        assert scores.addressee_given is not None
        assert scores.response_given is not None
        assert_allclose(
            scores.addressee_given[row, :, :people], result.addressee_given, rtol=0, atol=tolerance
        )
        assert_allclose(scores.response_given[row, :people], result.response_given, rtol=0, atol=tolerance)


@pytest.mark.parametrize("context", [5, 10, 15])
@pytest.mark.parametrize("system", NEURAL)
def test_generated_chats(
    system: str,
    context: int,
    corpus: Corpus,
    documents: list[list[Line]],
    vocabulary: ModelVocabulary,
) -> None:
    chats = chats_of(documents, context, vocabulary)
    people = {len(chat.people) for chat in chats}
    assert {1, 2, 3, 5} <= people
    assert {0, 1, context} <= {len(chat.context) for chat in chats}
    model = neural(system, vocabulary)
    expected = plain_results(system, model, chats)
    every = np.arange(len(chats))
    questions = batcher(system, corpus, vocabulary, context=context, candidates=3).questions(every)
    assert_same(model, questions, expected, 1e-5)
    model.plain = True
    assert_same(model, questions, expected, 1e-5)
    assert_same(model.double(), questions, expected, 1e-6)
    model.plain = False
    assert_same(model, questions, expected, 1e-6)


@pytest.mark.parametrize("system", NEURAL)
def test_sixteen_speakers_at_the_size_of_the_paper(system: str, tmp_path: Path) -> None:
    people = [f"guest{number}" for number in range(17)]
    document = [
        Line(person, people[number * 3 % 16], f"amber {person} cedar") for number, person in enumerate(people)
    ]
    document += [Line("guest0", "guest16", "delta ember", ("fjord", "grove"), 2)]
    corpus = write_corpus(tmp_path, [document], candidates=3)
    model = neural(system, ROOM, hidden=50, init=0.2)
    chats = chats_of([document], 16, ROOM)
    assert [len(chat.people) for chat in chats] == [17]
    questions = batcher(system, corpus, ROOM, context=16, candidates=3).questions(np.arange(1))
    expected = plain_results(system, model, chats)
    assert_same(model, questions, expected, 1e-5)
    assert_same(model.double(), questions, expected, 1e-6)


@pytest.mark.parametrize("system", ["static-rnn", "static-hier-rnn"])
def test_far_positions_share_the_last_embedding(
    system: str, corpus: Corpus, documents: list[list[Line]], vocabulary: ModelVocabulary
) -> None:
    model = neural(system, vocabulary, positions=2)
    chats = chats_of(documents, 6, vocabulary)
    questions = batcher(system, corpus, vocabulary, context=6, candidates=3).questions(np.arange(len(chats)))
    assert_same(model, questions, plain_results(system, model, chats), 1e-5)


@pytest.fixture
def five(tmp_path: Path) -> Corpus:
    return write_corpus(tmp_path, [FIVE])


@pytest.mark.parametrize("system", NEURAL)
def test_five_messages(system: str, five: Corpus) -> None:
    (chat,) = chats_of([list(FIVE)], 5, ROOM)
    assert chat.people == ["ben", "ann", "cat"]
    assert [chat.heard_by(message) for message in chat.context] == [None, "ann", None, None, "cat"]
    model = neural(system, ROOM)
    questions = batcher(system, five, ROOM, context=5).questions(np.arange(1))
    assert_same(model, questions, plain_results(system, model, [chat]), 1e-5)


GOLDEN = {
    "static-rnn": ([0.4933419, 0.5068337], [0.4879978, 0.5063184]),
    "static-hier-rnn": ([0.5378423, 0.5101864], [0.4986009, 0.5084076]),
    "dynamic-rnn": ([0.5013611, 0.5], [0.5099065, 0.5083436]),
    "sirnn": ([0.5149123, 0.5024328], [0.4382257, 0.4761705]),
    "sirnn-log": ([0.5149123, 0.5024328], [0.4382257, 0.4761705]),
    "sirnn-shared": ([0.4895831, 0.490084], [0.4754647, 0.4822769]),
    "sirnn-separate": ([0.4884227, 0.5021614], [0.5124612, 0.4967712]),
}


@pytest.mark.parametrize("system", NEURAL)
def test_numbers_written_down(system: str, five: Corpus) -> None:
    """Of ann and cat being addressed, and of the two responses; weights and vectors are those of seed 0."""
    scores = neural(system, ROOM).score_many(batcher(system, five, ROOM, context=5).questions(np.arange(1)))
    addressees, responses = GOLDEN[system]
    assert_allclose(scores.addressee[0, 1:], addressees, rtol=0, atol=2e-6)
    assert_allclose(scores.response[0], responses, rtol=0, atol=2e-6)


def test_numbers_of_the_heads_that_are_given_more(five: Corpus) -> None:
    scores = neural("sirnn", ROOM).score_many(batcher("sirnn", five, ROOM, context=5).questions(np.arange(1)))
    assert scores.addressee_given is not None
    assert scores.response_given is not None
    given_response = [[0.504019, 0.4554635], [0.5180533, 0.4816081]]
    given_addressee = [[0.4367847, 0.4816664], [0.450462, 0.4842043]]
    assert_allclose(scores.addressee_given[0, :, 1:], given_response, rtol=0, atol=2e-6)
    assert_allclose(scores.response_given[0, 1:], given_addressee, rtol=0, atol=2e-6)
    choice = choose(scores, Rule.JOINT)
    assert (choice.addressee.tolist(), choice.response.tolist()) == ([1], [1])


def test_systems_of_the_same_weights_differ_as_their_names_say(five: Corpus) -> None:
    questions = batcher("sirnn", five, ROOM, context=5).questions(np.arange(1))
    full, shared, log, separate = (
        neural(name, ROOM) for name in ("sirnn", "sirnn-shared", "sirnn-log", "sirnn-separate")
    )
    assert [model.rule for model in (full, shared, log, separate)] == [
        Rule.JOINT, Rule.JOINT, Rule.JOINT_LOG, Rule.SEPARATE,
    ]  # fmt: skip
    assert_allclose(full.score_many(questions).addressee, log.score_many(questions).addressee)
    assert set(shared.state_dict()) == set(full.state_dict()) - {"observer.w", "observer.u"}
    assert sum(1 for _ in shared.parameters()) == sum(1 for _ in full.parameters()) - 5
    assert set(separate.state_dict()) == set(full.state_dict()) - {"w_ar", "w_ra"}
