"""What a training run is said to depend on, and what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from towhom.training.config import TrainingConfig

CHOICES: dict[str, Any] = {"plain": True, "short": 0.5}
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
    config = TrainingConfig(system="static-rnn", settings={"positions": 2}, batch=64, seed=3, **CHOICES)
    assert TrainingConfig(**json.loads(json.dumps(config.described()))) == config
    assert TrainingConfig(**TrainingConfig().described()) == TrainingConfig()


@pytest.mark.parametrize("right", [{}, {"candidates": 10}, {"short": 1.0}, {"batch": 20, "run": 5}])
def test_nothing_is_wrong(right: dict[str, Any]) -> None:
    assert TrainingConfig(**right).problems() == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"candidates": 1}, "candidates must be 2 or more, is 1"),
        ({"short": 1.1}, "short must be from 0 to 1, is 1.1"),
        ({"short": -0.1}, "short must be from 0 to 1, is -0.1"),
        ({"short": float("nan")}, "short must be from 0 to 1, is nan"),
        ({"batch": 20}, "batch (20) must be a multiple of run (16)"),
    ],
)
def test_what_is_wrong(wrong: dict[str, Any], message: str) -> None:
    assert TrainingConfig(**wrong).problems() == [message]
