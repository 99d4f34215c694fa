"""What a training run is said to depend on, and what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from towhom.training.config import TrainingConfig

CHOICES: dict[str, Any] = {
    "plain": True, "short": 0.5, "unaddressed": 0.5, "false": 9, "drawn": "document", "schedule": "linear",
    "trust": 0.5,
}  # fmt: skip
"""What models from before there was a choice do not name, and another choice."""


@pytest.mark.parametrize("name", CHOICES)
def test_described_by_what_was_chosen(name: str) -> None:
    """The usual choice is not named: the models of older versions are those of the same settings."""
    usual = TrainingConfig().described()
    assert not CHOICES.keys() & usual.keys()
    chosen = TrainingConfig(**{name: CHOICES[name]}).described()
    assert chosen == {**usual, name: CHOICES[name]}


def test_described_completely() -> None:
    """Whoever has the description has the settings."""
    config = TrainingConfig(system="crosstalk", settings={"towers": 2}, batch=64, seed=3, **CHOICES)
    assert TrainingConfig(**json.loads(json.dumps(config.described()))) == config
    assert TrainingConfig(**TrainingConfig().described()) == TrainingConfig()


@pytest.mark.parametrize(
    "right",
    [
        {},
        {"candidates": 10, "false": 9},
        {"candidates": 2, "false": 9, "drawn": "document"},
        {"schedule": "linear"},
    ],
)
def test_nothing_is_wrong(right: dict[str, Any]) -> None:
    assert TrainingConfig(**right).problems() == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"false": 0}, "false must be positive, is 0"),
        ({"false": -1, "drawn": "document"}, "false must be positive, is -1"),
        ({"false": 2}, "of 2 candidates, 2 cannot be false"),
        ({"candidates": 10, "false": 12}, "of 10 candidates, 12 cannot be false"),
        ({"short": 1.1}, "short must be from 0 to 1, is 1.1"),
        ({"short": float("nan")}, "short must be from 0 to 1, is nan"),
        ({"unaddressed": -0.1, "drawn": "document"}, "unaddressed must be from 0 to 1, is -0.1"),
        (
            {"unaddressed": 0.5},
            "messages that name nobody have no listed candidates; only crosstalk draws others",
        ),
        ({"trust": 1.1}, "trust must be from 0 to 1, is 1.1"),
        ({"drawn": "corpus"}, "drawn must be listed or document, is 'corpus'"),
        ({"schedule": "falling"}, "schedule must be constant or linear, is 'falling'"),
    ],
)
def test_what_is_wrong(wrong: dict[str, Any], message: str) -> None:
    assert TrainingConfig(**wrong).problems() == [message]
