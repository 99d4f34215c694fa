"""Small models to follow channels with: one that knows nothing, and one whose ranker follows plain rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.models.chats import word_vectors
from tests.models.systems import SIZES, neural, weights_of
from tests.nn.conftest import one_thread as one_thread
from towhom.chat import Message
from towhom.live import Addressee, Model, Observation, Session
from towhom.live.addressees import CANDIDATE_FEATURES, AddresseeRanker
from towhom.persistence import SavedModel
from towhom.text.vocabulary import NAME, ModelVocabulary

HIDDEN = 4
WORDS = (NAME, "the", "is", "tea", "milk", "door", "kettle", "open", "thanks", "?")
VOCABULARY = ModelVocabulary.of(word_vectors(known=WORDS), WORDS)

Weights = dict[str, NDArray[np.float32]]

RULES = {
    "called": 40.0,
    "mentioned": 6.0,
    "last message names me": 5.0,
    "my last message names them": 5.0,
    "my last message meant them": 8.0,
    "previous speaker": 1.0,
}
"""What speaks for somebody, in the ranker that follows rules; nobody in particular has 3."""


def rule_ranker() -> Weights:
    """Adds up what speaks for somebody."""
    weights = {name: np.zeros(shape, np.float32) for name, shape in AddresseeRanker.shapes(1, HIDDEN).items()}
    for name, weight in RULES.items():
        weights["candidate.w"][list(CANDIDATE_FEATURES).index(name)] = weight
    weights["nobody.b"][:] = 3.0
    weights["candidate.out"][:] = weights["nobody.out"][:] = 1.0
    return weights


def random_ranker(*, hidden: int = HIDDEN, seed: int = 0) -> Weights:
    """Depends on every feature, in no sensible way."""
    random = np.random.default_rng(seed)
    shapes = AddresseeRanker.shapes(6, hidden)
    return {name: random.normal(size=shape).astype(np.float32) * 0.5 for name, shape in shapes.items()}


def saved_model(
    system: str = "sirnn",
    *,
    context: int = 5,
    hidden: int = HIDDEN,
    vocabulary: ModelVocabulary = VOCABULARY,
    ranker: Weights | None = None,
    live: Mapping[str, Any] | None = None,
    **settings: Any,
) -> SavedModel:
    """A model with random weights; without a ranker, as `towhom train` makes them."""
    network = neural(system, vocabulary, hidden=hidden, **settings)
    return SavedModel(
        system,
        network.config,
        weights_of(network),
        vocabulary,
        context,
        network.rule,
        network.max_words,
        live={**(live or {})},
        live_weights=ranker or {},
    )


@pytest.fixture(scope="session")
def bare() -> Model:
    """Has no ranker."""
    return Model(saved_model())


@pytest.fixture(scope="session")
def ruled() -> Model:
    """Its ranker follows plain rules."""
    return Model(saved_model(ranker=rule_ranker()))


@pytest.fixture(scope="session")
def mixed() -> Model:
    """Its ranker looks at everything."""
    return Model(saved_model(ranker=random_ranker()))


@pytest.fixture(scope="session")
def lettered() -> Model:
    """Sees what words are made of, and who is named; its ranker looks at everything."""
    says = 2 * SIZES["crosstalk"]["content"]
    return Model(saved_model("crosstalk", ranker=random_ranker(hidden=says)))


@pytest.fixture(params=["bare", "ruled", "mixed", "lettered"])
def model(request: pytest.FixtureRequest) -> Model:
    """Each of them."""
    found: Model = request.getfixturevalue(request.param)
    return found


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
