"""What can be counted, against loops over one message, one candidate and one person at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import log, sqrt
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.models.chats import WORDS, Said, write_corpus
from tests.models.rooms import PEOPLE, room, write_rooms
from tests.models.systems import batcher
from towhom.batching import ELSEWHERE, NOBODY, Batcher, Questions
from towhom.corpus import Corpus, Split
from towhom.models.configs import CrosstalkConfig
from towhom.models.evidence import (
    ADDRESSEE_FEATURES,
    LINK_FEATURES,
    MESSAGE_FEATURES,
    PAIR_FEATURES,
    RESPONSE_FEATURES,
    ROLES,
    Evidence,
    choices,
    count,
    gather,
)
from towhom.text.pieces import PIECE_WEIGHTS, pieces
from towhom.text.vocabulary import ModelVocabulary

CANDIDATES = 3
Weights = NDArray[np.float32]


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    random = Random(11)
    sizes = ((3, 1), (10, 1), (30, 2), (40, 4), (60, len(PEOPLE)))
    documents = [room(random, lines=lines, people=people, candidates=CANDIDATES) for lines, people in sizes]
    return write_rooms(tmp_path_factory.mktemp("rooms"), documents, candidates=CANDIDATES)


@pytest.fixture(scope="module")
def weights() -> Weights:
    return np.random.default_rng(0).uniform(0.05, 1.0, PIECE_WEIGHTS).astype(np.float32)


@pytest.fixture(scope="module", params=[1, 4, 15])
def questions(request: pytest.FixtureRequest, rooms: Corpus, vocabulary: ModelVocabulary) -> Questions:
    ask = batcher("crosstalk", rooms, vocabulary, context=request.param, candidates=CANDIDATES)
    return ask.questions(rooms.samples_of(Split.TEST))


@pytest.fixture(scope="module")
def found(questions: Questions, weights: Weights) -> Evidence:
    return gather(questions, weights, CrosstalkConfig())


class Text:
    """An utterance: its pieces, how many words it has, and who is named."""

    def __init__(self, questions: Questions, utterance: int, names: list[int]) -> None:
        letters = questions.letters
        assert letters is not None
        start, stop = letters.offsets[utterance : utterance + 2]
        self.pieces = set(letters.pieces[start:stop].tolist())
        self.words = int(questions.offsets[utterance + 1] - questions.offsets[utterance])
        self.names = [name for name in names if name != NOBODY]
        """Those who are not among the participants included."""


class Heard(Text):
    """A message of the context."""

    def __init__(self, questions: Questions, row: int, place: int) -> None:
        letters = questions.letters
        assert letters is not None
        super().__init__(questions, int(questions.context[row, place]), letters.mentions[row, place].tolist())
        self.sender = int(questions.sender[row, place])
        self.addressee = int(questions.addressee[row, place])
        self.by_mention = False
        """Whether it is for somebody because they are the first who is named inside it."""
        first = letters.mentions[row, place, 0]
        if self.addressee == NOBODY and first >= 0 and first != self.sender:
            self.addressee, self.by_mention = int(first), True


def heard(questions: Questions, row: int) -> dict[int, Heard]:
    """By place."""
    places = range(questions.context.shape[1])
    return {
        place: Heard(questions, row, place) for place in places if questions.context[row, place] != NOBODY
    }


def drafts(questions: Questions, row: int) -> list[Text]:
    letters = questions.letters
    assert letters is not None
    context = questions.context.shape[1]
    return [
        Text(questions, int(utterance), letters.mentions[row, context + place].tolist())
        for place, utterance in enumerate(questions.candidates[row])
    ]


def weight(some: set[int], weights: Weights) -> list[float]:
    return [float(weights[piece % PIECE_WEIGHTS]) for piece in sorted(some)]


def pair(message: Heard, draft: Text, weights: Weights) -> dict[str, float]:
    common = weight(message.pieces & draft.pieces, weights)
    of_message, of_draft = sum(weight(message.pieces, weights)), sum(weight(draft.pieces, weights))
    return {
        "log of common weight": log(1 + sum(common)),
        "cosine": sum(common) / sqrt((of_message + 0.3) * (of_draft + 0.3)),
        "share of the response": sum(common) / (of_draft + 0.3),
        "rarest common piece": 2 * max(common, default=0.0),
        "same": bool(common) and message.pieces == draft.pieces,
        "common pieces": len(common) / 10,
        "the response names its sender": message.sender in draft.names,
    }


def message_features(place: int, messages: dict[int, Heard]) -> dict[str, float]:
    message = messages[place]
    later = [other for where, other in messages.items() if where > place]
    before = [other for where, other in messages.items() if where < place]
    to_sender = [other for other in later if other.addressee == message.sender]
    return {
        "its sender speaks later": any(other.sender == message.sender for other in later),
        "its sender spoke before": any(other.sender == message.sender for other in before),
        "its sender is addressed later": bool(to_sender),
        "the responder addresses its sender later": any(other.sender == 0 for other in to_sender),
        "asks": pieces("?")[0] in message.pieces,
        "length": message.words / 10,
        "the responder speaks next": bool(later) and later[0].sender == 0,
        "continues the sender's own": bool(before) and before[-1].sender == message.sender,
        "names the responder": 0 in message.names,
        "names somebody": bool(message.names),
    }


def addressee_features(person: int, messages: list[Heard], draft: Text) -> dict[str, float]:
    others = {name for name in draft.names if name > 0}
    return {
        "order": person / 10,
        "messages by": sum(message.sender == person for message in messages if person) / 5,
        "messages to": sum(message.addressee == person for message in messages if person) / 5,
        "named in the response": person in others,
        "another is named in the response": bool(others - {person}),
        "somebody absent is named": ELSEWHERE in draft.names,
    }


def response_features(draft: Text, weights: Weights) -> dict[str, float]:
    return {
        "length": draft.words / 10,
        "weight": sum(weight(draft.pieces, weights)) / 5,
        "names": len(draft.names),
    }


def role(message: Heard, candidate: int | None) -> int:
    """By whom and to whom it is: the responder, the candidate, another; to nobody; or as a mention."""

    def who(person: int) -> int:
        return 1 if person == candidate else 0 if person == 0 else 2

    to = 3 if message.addressee == NOBODY else who(message.addressee) + 4 * message.by_mention
    return who(message.sender) * 7 + to


def assert_features(found: NDArray[np.float32], names: tuple[str, ...], expected: dict[str, float]) -> None:
    assert tuple(expected) == names
    assert_allclose(found, [float(value) for value in expected.values()], rtol=1e-4, atol=1e-6)


class TestAgainstLoops:
    def test_pairs(self, questions: Questions, found: Evidence, weights: Weights) -> None:
        seen = np.zeros(len(PAIR_FEATURES), bool)
        for row in range(len(questions)):
            messages, texts = heard(questions, row), drafts(questions, row)
            for place in range(questions.context.shape[1]):
                for number, draft in enumerate(texts):
                    values = found.pairs[row, place, number]
                    if place in messages:
                        assert_features(values, PAIR_FEATURES, pair(messages[place], draft, weights))
                        seen |= values != 0
                    else:
                        assert not values.any()
        assert seen.all()

    def test_messages(self, questions: Questions, found: Evidence) -> None:
        seen = np.zeros(len(MESSAGE_FEATURES), bool)
        for row in range(len(questions)):
            messages = heard(questions, row)
            for place in range(questions.context.shape[1]):
                values = found.messages[row, place]
                assert found.there[row, place] == (place in messages)
                if place in messages:
                    assert_features(values, MESSAGE_FEATURES, message_features(place, messages))
                    seen |= values != 0
                else:
                    assert not values.any()
        assert seen.all() or questions.context.shape[1] == 1

    def test_by_and_to(self, questions: Questions, found: Evidence) -> None:
        shape = (len(questions), questions.present.shape[1], questions.context.shape[1])
        assert found.by.shape == found.to.shape == shape
        for row, person, place in np.ndindex(shape):
            message = heard(questions, row).get(place)
            sender, addressee = (NOBODY, NOBODY) if message is None else (message.sender, message.addressee)
            assert found.by[row, person, place] == (sender == person > 0)
            assert found.to[row, person, place] == (addressee == person > 0)

    def test_roles(self, questions: Questions, found: Evidence) -> None:
        seen: set[int] = set()
        for row in range(len(questions)):
            for place, message in heard(questions, row).items():
                as_observer, as_sender, as_addressee = found.roles[row, place].tolist()
                assert as_observer == role(message, None)
                if message.sender > 0:
                    assert as_sender == role(message, message.sender)
                    seen.add(as_sender)
                if message.addressee > 0:
                    assert as_addressee == role(message, message.addressee)
                    seen.add(as_addressee)
                seen.add(as_observer)
        # Nobody speaks to themselves, and the responder is not a candidate.
        expected = set(range(ROLES)) - {0, 4, 8, 12}
        assert seen <= expected
        assert seen == expected or questions.context.shape[1] < 15
        assert ((found.roles >= 0) & (found.roles < ROLES)).all()  # where there is no message, too

    def test_addressees(self, questions: Questions, found: Evidence) -> None:
        seen = np.zeros(len(ADDRESSEE_FEATURES), bool)
        for row in range(len(questions)):
            messages = list(heard(questions, row).values())
            for number, draft in enumerate(drafts(questions, row)):
                for person in range(questions.present.shape[1]):
                    values = found.addressees[row, person, number]
                    assert_features(values, ADDRESSEE_FEATURES, addressee_features(person, messages, draft))
                    seen |= values != 0
        # One message alone cannot be for somebody else who speaks.
        assert seen.all() or questions.context.shape[1] == 1

    def test_responses(self, questions: Questions, found: Evidence, weights: Weights) -> None:
        for row in range(len(questions)):
            for number, draft in enumerate(drafts(questions, row)):
                values = found.responses[row, number]
                assert_features(values, RESPONSE_FEATURES, response_features(draft, weights))
        assert found.responses.any(axis=(0, 1)).all()

    def test_common(self, questions: Questions, found: Evidence, weights: Weights) -> None:
        """A message as if it were a response to the other; what it has in common with itself, nobody asks."""
        for row in range(len(questions)):
            messages = heard(questions, row)
            for place, other in permutations(range(found.common.shape[1]), 2):
                values = found.common[row, place, other]
                if place in messages and other in messages:
                    expected = pair(messages[place], messages[other], weights)
                    assert_features(values, LINK_FEATURES, {name: expected[name] for name in LINK_FEATURES})
                else:
                    assert not values.any()
        assert found.common.any(axis=(0, 1, 2)).all()

    def test_links(self, questions: Questions, found: Evidence) -> None:
        for row in range(len(questions)):
            messages = heard(questions, row)
            for place, other in np.ndindex(found.links.shape[1:]):
                may = place < other and {place, other} <= messages.keys()
                expected = may and messages[place].sender != messages[other].sender
                assert found.links[row, place, other] == expected
            for place, own in enumerate(found.own[row].tolist()):
                assert own == (place in messages and messages[place].sender == 0)
        assert found.own.any()
        assert found.links.any() or questions.context.shape[1] == 1


def test_types(found: Evidence) -> None:
    for name in ("pairs", "messages", "by", "to", "addressees", "responses"):
        assert getattr(found, name).dtype == np.float32
    assert all(np.isfinite(array).all() for array in found)


def test_letters_are_needed(questions: Questions, weights: Weights) -> None:
    with pytest.raises(ValueError, match="the questions have no letters; ask the batcher for them"):
        gather(replace(questions, letters=None), weights, CrosstalkConfig())


def test_nothing_is_said(tmp_path: Path, weights: Weights) -> None:
    chat = [Said("ann", None, ""), Said("ben", "ann", "", ("", ""))]
    corpus = write_corpus(tmp_path, [chat], candidates=3)
    questions = Batcher(corpus, context=3, candidates=3, letters=True).questions(np.arange(1))
    found = gather(questions, weights, CrosstalkConfig())
    assert not found.pairs.any()
    assert not found.messages.any()
    assert not found.responses.any()
    assert found.there.tolist() == [[False, False, True]]


def test_no_samples(rooms: Corpus, weights: Weights) -> None:
    none = Batcher(rooms, context=3, candidates=3, letters=True).questions(np.array([], np.int64))
    assert all(len(array) == 0 for array in gather(none, weights, CrosstalkConfig()))


class TestWithout:
    """A part that is left out is as if it were never so; the rest stays."""

    @pytest.fixture
    def left(self, request: pytest.FixtureRequest, questions: Questions, weights: Weights) -> Evidence:
        return gather(questions, weights, CrosstalkConfig(**dict.fromkeys(request.param, False)))

    @pytest.mark.parametrize("left", [("overlap",)], indirect=True)
    def test_overlap(self, left: Evidence, found: Evidence) -> None:
        pairs, responses, common = found.pairs.copy(), found.responses.copy(), np.zeros_like(found.common)
        pairs[..., : PAIR_FEATURES.index("the response names its sender")] = 0
        responses[..., RESPONSE_FEATURES.index("weight")] = 0
        assert_same(left, found._replace(pairs=pairs, responses=responses, common=common))

    @pytest.mark.parametrize("left", [("turns",)], indirect=True)
    def test_turns(self, left: Evidence, found: Evidence) -> None:
        messages = found.messages.copy()
        messages[..., : MESSAGE_FEATURES.index("names the responder")] = 0
        assert_same(left, found._replace(messages=messages))

    @pytest.mark.parametrize("left", [("links",)], indirect=True)
    def test_links(self, left: Evidence, found: Evidence) -> None:
        assert_same(left, found._replace(links=np.zeros_like(found.links)))

    @pytest.mark.parametrize("left", [("names",)], indirect=True)
    def test_names(self, left: Evidence, questions: Questions, found: Evidence, weights: Weights) -> None:
        expected = gather(nobody_named(questions), weights, CrosstalkConfig())
        assert not np.array_equal(expected.roles, found.roles)
        assert_same(left, expected)

    @pytest.mark.parametrize("left", [("overlap", "names", "turns", "links")], indirect=True)
    def test_all(self, left: Evidence) -> None:
        for nothing in (left.pairs, left.messages, left.common, left.links):
            assert not nothing.any()


def nobody_named(questions: Questions) -> Questions:
    letters = questions.letters
    assert letters is not None
    return replace(questions, letters=replace(letters, mentions=np.full_like(letters.mentions, NOBODY)))


def assert_same(ours: Evidence, theirs: Evidence) -> None:
    for name in Evidence._fields:
        one, other = getattr(ours, name), getattr(theirs, name)
        assert_array_equal(one, other, err_msg=name)
        assert one.dtype == other.dtype, name


def test_choices(questions: Questions) -> None:
    """All others; the responder, who stands for nobody, if there are none."""
    found = choices(questions)
    before = questions.present.copy()
    for row, participants in enumerate(questions.participants.tolist()):
        expected = {0} if participants == 1 else set(range(1, participants))
        assert set(np.flatnonzero(found[row]).tolist()) == expected
    assert found[:, 0].any()
    assert not found[:, 0].all()
    assert_array_equal(questions.present, before)


class TestCount:
    def test_by_hand(self, tmp_path: Path) -> None:
        """Eight words: amber four times, /etc/amber once, birch twice, ann once."""
        chat = [Said("ann", None, "amber amber birch"), Said("ben", None, "amber birch amber /etc/amber ann")]
        corpus = write_corpus(tmp_path, [chat])
        words = list(corpus.vocabulary.words)
        ids = np.array([{"amber": 1, "birch": 2}.get(word, 0) for word in words], np.int32)
        by_word, by_piece = count(corpus, ids, 4)
        assert by_word.dtype == by_piece.dtype == np.float32
        assert by_piece.shape == (PIECE_WEIGHTS,)
        # What is unknown, which names are as well, has little weight; what never occurs has most.
        rarity = [0.1 * log(8 / 2) / log(8), log(8 / 4) / log(8), log(8 / 2) / log(8), 1.0]
        assert_allclose(by_word, rarity, rtol=1e-6)
        # As pieces, names not counted: amber five times, etc once, birch twice.
        of = {word: by_piece[pieces(word)[0] % PIECE_WEIGHTS] for word in ("amber", "etc", "birch", "cedar")}
        expected = {"amber": log(8 / 5) / log(8), "etc": 1.0, "birch": log(8 / 2) / log(8), "cedar": 1.0}
        assert of == pytest.approx(expected, rel=1e-6)

    def test_rarer_is_higher(self, rooms: Corpus, vocabulary: ModelVocabulary) -> None:
        words = list(rooms.vocabulary.words)
        ids = vocabulary.ids(words)
        by_word, by_piece = count(rooms, ids, len(vocabulary.matrix))
        for rarity in (by_word, by_piece):
            assert ((rarity >= 0) & (rarity <= 1)).all()
        often = dict(zip(words, rooms.vocabulary.counts.tolist(), strict=True))
        ranked = sorted(vocabulary.words, key=often.__getitem__)
        values = by_word[vocabulary.ids(ranked)]
        assert (np.diff(values) <= 0).all()
        assert values[0] > values[-1]

    def test_only_training_documents_count(
        self, tmp_path: Path, rooms: Corpus, vocabulary: ModelVocabulary
    ) -> None:
        other = write_rooms(
            tmp_path, [[Said("ann", None, " ".join(WORDS)), Said("ben", "ann", "", ("", ""))]]
        )
        counted = [
            count(corpus, vocabulary.ids(list(corpus.vocabulary.words)), len(vocabulary.matrix))
            for corpus in (rooms, other)
        ]
        assert_array_equal(counted[0][0], counted[1][0])
        assert_array_equal(counted[0][1], counted[1][1])

    def test_nothing_to_count(self, tmp_path: Path) -> None:
        corpus = write_corpus(tmp_path, [[Said("ann", None, "")]])
        by_word, by_piece = count(corpus, np.zeros(2, np.int32), 3)
        assert_allclose(by_word, [0.1, 1, 1])
        assert (by_piece == 1).all()
