"""The packaged experiment: the paper's grid, its numbers, and settings that can be trained with."""

from __future__ import annotations

import pytest

from towhom.experiments import Row, load_experiment
from towhom.models.registry import SYSTEMS, entry, system_config
from towhom.training.config import TrainingConfig

TABLE = load_experiment()
RNNS = ("static-rnn", "static-hier-rnn", "dynamic-rnn", "sirnn")
FOOTNOTE = "sirnn-log"
PUBLISHED_AT_15 = {
    "recent-tfidf": (37.13, 55.62, 67.89, 15.44, 55.62, 29.19),
    "direct-recent-tfidf": (45.76, 67.72, 67.89, 19.50, 67.72, 29.40),
    "static-rnn": (49.27, 61.95, 78.14, 23.49, 60.98, 36.58),
    "static-hier-rnn": (53.04, 65.84, 79.08, 26.62, 65.89, 37.85),
    "dynamic-rnn": (54.88, 68.54, 78.64, 27.19, 68.41, 36.93),
    "sirnn": (67.30, 80.47, 80.91, 35.76, 78.53, 40.83),
    "sirnn-shared": (59.47, 74.20, 78.08, 28.45, 73.35, 36.00),
    "sirnn-separate": (63.40, 77.56, 80.38, 32.53, 77.61, 39.73),
}
"""ADR-RES, ADR and RES of the test set with 2 candidates, then with 10, typed off the paper."""


def test_the_grid() -> None:
    grid = [(row.system, row.context, row.candidates) for row in TABLE.rows]
    contexts = {system: (5, 10, 15) if system in RNNS else (15,) for system in SYSTEMS}
    expected = {(system, t, c) for system, some in contexts.items() for t in some for c in (2, 10)}
    assert set(grid) == expected
    assert len(grid) == len(expected)
    assert len({row.name for row in TABLE.rows}) == len(grid)


@pytest.mark.parametrize("row", [row for row in TABLE.rows if row.system != FOOTNOTE], ids=lambda r: r.name)
def test_published_numbers(row: Row) -> None:
    assert row.published.keys() == {"dev_adr_res", "adr_res", "adr", "res"}
    assert all(0 < number < 100 for number in row.published.values())
    assert row.published["adr_res"] <= min(row.published["adr"], row.published["res"])
    assert row.published["dev_adr_res"] == pytest.approx(row.published["adr_res"], abs=1.5)


def test_the_footnote_has_no_published_numbers() -> None:
    rows = [row for row in TABLE.rows if row.system == FOOTNOTE]
    assert len(rows) == 2
    assert not any(row.published for row in rows)


@pytest.mark.parametrize("system", PUBLISHED_AT_15)
def test_numbers_are_the_papers(system: str) -> None:
    rows = {row.candidates: row.published for row in TABLE.rows if (row.system, row.context) == (system, 15)}
    found = [rows[size][metric] for size in (2, 10) for metric in ("adr_res", "adr", "res")]
    assert found == list(PUBLISHED_AT_15[system])


@pytest.mark.parametrize("name", ["paper", "ours"])
def test_settings_can_be_trained_with(name: str) -> None:
    assert set(TABLE.settings) == {"paper", "ours"}
    for row in TABLE.rows:
        if entry(row.system).neural:
            config = TrainingConfig(
                system=row.system, context=row.context, candidates=row.candidates, **TABLE.settings[name]
            )
            assert config.problems() == []
            assert system_config(row.system, {"dimensions": 300, **config.settings}).hidden == 50


def test_our_settings_are_the_defaults() -> None:
    """The size and the first weights are the system's own."""
    assert TrainingConfig(**TABLE.settings["ours"]) == TrainingConfig(settings={"hidden": 50, "init": 0.1})
    assert system_config("sirnn", {}) == system_config("sirnn", TABLE.settings["ours"]["settings"])


def test_the_papers_settings_are_those_it_prints() -> None:
    assert TrainingConfig(**TABLE.settings["paper"]) == TrainingConfig(
        settings={"hidden": 50, "init": 0.01},
        batch=128,
        learning_rate=0.001,
        weight_decay=0.001,
        epochs=30,
        patience=5,
    )
