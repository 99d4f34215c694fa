"""Systems by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.systems import NEURAL, neural, selector
from towhom.corpus import Corpus
from towhom.errors import ConfigError
from towhom.models.base import Selector
from towhom.models.configs import SIRNNConfig
from towhom.models.registry import SYSTEMS, entry, system_class, system_config
from towhom.models.sirnn import SIRNN
from towhom.testing.chats import DIMENSIONS
from towhom.text.vocabulary import ModelVocabulary


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_entry_builds(name: str, corpus: Corpus, vocabulary: ModelVocabulary) -> None:
    found = selector(name, corpus, vocabulary)
    assert isinstance(found, Selector)
    assert type(found) is system_class(name)
    assert type(found).name in SYSTEMS
    assert SYSTEMS[type(found).name].target == entry(name).target


def test_titles_are_those_of_the_paper_and_differ() -> None:
    titles = [found.title for found in SYSTEMS.values()]
    assert len(set(titles)) == len(titles)
    assert {"SI-RNN", "Dynamic-RNN", "Static-RNN", "Recent+TF-IDF", "SI-RNN w/ shared IGRUs"} <= set(titles)


def test_unknown_name() -> None:
    with pytest.raises(
        ConfigError, match=r"there is no system 'sinn'; known are chance, recent-tfidf, .*sirnn"
    ):
        entry("sinn")
    with pytest.raises(ConfigError, match="there is no system 'sinn'"):
        system_class("sinn")


def test_settings() -> None:
    assert system_config("sirnn", {}) == SIRNNConfig(dimensions=300, hidden=50, init=0.1, shared=False)
    assert system_config("sirnn-shared", {"hidden": 9}) == SIRNNConfig(hidden=9, shared=True)
    assert system_config("sirnn-separate", {}).joint is False
    assert system_config("static-rnn", {"positions": 3}).positions == 3
    assert system_config("sirnn", {"init": 1}).init == 1  # a whole number is a number


def test_faults_are_reported_at_once() -> None:
    settings: dict[str, Any] = {
        "hiden": 50,
        "hidden": "50",
        "shared": 1,
        "dimensions": 0,
        "init": float("nan"),
    }
    with pytest.raises(ConfigError) as caught:
        system_config("sirnn", settings)
    assert str(caught.value).split("; ") == [
        "hiden is not a setting of sirnn",
        "known are dimensions, hidden, init, shared, joint",
        "hidden must be int, is '50'",
        "shared must be bool, is 1",
        "dimensions must be positive, is 0",
        "init must be positive, is nan",
    ]


def test_what_makes_a_system_is_not_to_be_set() -> None:
    with pytest.raises(ConfigError, match="shared is True in sirnn-shared, not False"):
        system_config("sirnn-shared", {"shared": False})
    assert system_config("sirnn-shared", {"shared": True}).shared


@pytest.mark.parametrize("name", NEURAL)
def test_number_of_weights(name: str, vocabulary: ModelVocabulary) -> None:
    """At the paper's sizes, worked out from its equations."""
    d, h = DIMENSIONS, 50
    heads, conditional = 2 * 2 * h * h, 2 * 3 * h * h
    utterance = 3 * h * (d + h)
    igru, observer = 4 * h * (2 * h + h + h), 3 * h * (2 * h + h)
    sirnn = heads + utterance + 2 * igru + observer
    expected = {
        "static-rnn": heads + 2 * utterance + 16 * h + 3 * h * h,
        "static-hier-rnn": heads + utterance + 16 * h + observer,
        "dynamic-rnn": heads + utterance + 3 * h * 2 * h,
        "sirnn": sirnn + conditional,
        "sirnn-log": sirnn + conditional,
        "sirnn-shared": heads + conditional + utterance + igru,
        "sirnn-separate": sirnn,
    }
    model = neural(name, vocabulary, hidden=50)
    assert sum(parameter.numel() for parameter in model.parameters()) == expected[name]
    assert isinstance(model, SIRNN) == name.startswith("sirnn")
