"""Small models to follow channels with: some that know nothing sensible, and one that follows plain rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

import towhom
from tests.crosstalk.chats import SIZES, WORDS, Weights, saved_crosstalk
from tests.nn.conftest import one_thread as one_thread
from towhom.chat import Message
from towhom.crosstalk.folder import SavedCrosstalk, Sizes
from towhom.crosstalk.signals import PAIRS
from towhom.crosstalk.structure import STRUCTURE
from towhom.crosstalk.words import TOWERS
from towhom.live import Addressee, Model, Observation, Selection, Session
from towhom.text.vocabulary import ModelVocabulary
from towhom.threads import Placed

VOCABULARY = ModelVocabulary(WORDS, np.zeros((len(WORDS) + 1, 0), np.float32))
MODELS = ("ruled", "mixed", "soft")

RULES = {
    "names its speaker": 40.0,
    "is named by it": 10.0,
    "the speaker spoke since, 1": -7.0,
    "the last": 2.0,
    "the speaker's last": 8.0,
}
"""What speaks for a message, in the model that follows rules; for a start, 6."""
START = 6.0


def saved_model(seed: int = 0, *, scale: float = 0.5, words: tuple[str, ...] = WORDS) -> SavedCrosstalk:
    """A small model with random weights."""
    return saved_crosstalk(seed, scale=scale, words=words)


def ruled_model() -> SavedCrosstalk:
    """Adds up what speaks for each message before."""
    sizes = Sizes(**SIZES, says=1, hidden=len(RULES), second=2)
    weights: Weights = {name: np.zeros(shape, np.float32) for name, shape in sizes.shapes(len(WORDS)).items()}
    known = [*PAIRS, *[""] * 2 * TOWERS, *STRUCTURE]
    for unit, (name, weight) in enumerate(RULES.items()):
        column = 0 if weight > 0 else 1
        for look in ("first", "second"):
            weights[f"{look}.second.w"][unit, column] = abs(weight)
            if look == "second" or name in PAIRS:
                weights[f"{look}.cell.w"][known.index(name), unit] = 1.0
    for look in ("first", "second"):
        weights[f"{look}.out"][:] = 1.0, -1.0
        weights[f"{look}.start.b"][0] = START
        weights[f"{look}.start.out"][0] = 1.0
    return SavedCrosstalk(sizes, weights, WORDS)


@pytest.fixture(scope="session")
def ruled() -> Model:
    """Follows plain rules."""
    return Model(ruled_model())


@pytest.fixture(scope="session")
def mixed() -> Model:
    """Looks at everything, in no sensible way, and is sure of itself."""
    return Model(saved_model(1))


@pytest.fixture(scope="session")
def soft() -> Model:
    """Looks at everything, and is never sure."""
    return Model(saved_model(2, scale=0.15))


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Model:
    """Each of them."""
    found: Model = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def bundled() -> Model:
    """The one that comes with towhom."""
    return towhom.load()


def talk(session: Session, *said: str) -> Observation:
    """Observe lines like `ada> hello`; returns what comes of the last."""
    for line in said:
        speaker, _, text = line.partition("> ")
        found = session.observe(Message(speaker, text))
    return found


def by_name(addressees: Iterable[Addressee]) -> dict[str | None, float]:
    """How likely each is; fails if somebody is there twice."""
    every = list(addressees)
    result = {each.name: each.probability for each in every}
    assert len(result) == len(every)
    return result


def through_json(state: Any) -> Any:
    return json.loads(json.dumps(state))


def assert_same_places(ours: Sequence[Placed], theirs: Sequence[Placed]) -> None:
    """But for rounding."""
    assert [(p.message, p.line, p.replies_to, p.thread) for p in ours] == [
        (p.message, p.line, p.replies_to, p.thread) for p in theirs
    ]
    assert [p.probability for p in ours] == pytest.approx([p.probability for p in theirs], abs=1e-4)


def assert_same(ours: Sequence[Observation], theirs: Sequence[Observation]) -> None:
    """But for rounding; who is hardly likely may be left out."""
    assert_same_places([each.placed for each in ours], [each.placed for each in theirs])
    for one, other in zip(ours, theirs, strict=True):
        assert (one.message, one.message.line) == (other.message, other.message.line)
        assert (one.how, one.reason, one.audience) == (other.how, other.reason, other.audience)
        assert (one.addressee, one.addressees[0].id) == (other.addressee, other.addressees[0].id)
        people = [
            {(each.id, each.name): each.probability for each in found.addressees} for found in (one, other)
        ]
        for who in people[0].keys() | people[1].keys():
            assert people[0].get(who, 0.001) == pytest.approx(people[1].get(who, 0.001), abs=1e-4), who


def assert_same_selections(ours: Sequence[Selection], theirs: Sequence[Selection]) -> None:
    """But for rounding, which depends on the processor and on how much goes through the model at once."""
    assert [(each.addressee, each.response, each.candidate, each.id) for each in ours] == [
        (each.addressee, each.response, each.candidate, each.id) for each in theirs
    ]
    assert [each.probability for each in ours] == pytest.approx(
        [each.probability for each in theirs], abs=1e-4
    )
