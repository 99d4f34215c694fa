"""From rooms to a model folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import towhom
from tests.crosstalk.chats import LEXICON, chatter
from tests.training.crosstalk.test_run import SETTINGS, SOURCES, write_data
from towhom.crosstalk.folder import Sizes, compacted, read_crosstalk
from towhom.crosstalk.words import projections
from towhom.model_folder import CARD, CONFIG, TRAINING, WEIGHTS, WORDS
from towhom.training.crosstalk.package import make_model
from towhom.training.crosstalk.run import load_weights

MEASURED = {
    "links", "conversations", "addressees", "addressees_where_nobody_is_named", "calibration",
}  # fmt: skip


def write_dev(folder: Path) -> None:
    """Logs with links that are not learned from."""
    random = Random(5)
    folder.mkdir()
    lines = [
        f"[10:{place // 5:02}] <{each.speaker}> {each.text}" for place, each in enumerate(chatter(6, 150))
    ]
    (folder / "b.txt").write_text("\n".join(lines) + "\n", "utf-8")
    links = [f"{place - random.randint(0, 5)} {place} -" for place in range(50, 150)]
    (folder / "b.links").write_text("\n".join(links) + "\n", "utf-8")


@dataclass(frozen=True)
class Made:
    """A model, and what was said of it."""

    data: Path
    work: Path
    out: Path
    measured: dict[str, Any]


@pytest.fixture(scope="module")
def sources() -> list[Any]:
    return [replace(each, dev="held-out") if each.name == "linked" else each for each in SOURCES]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, sources: list[Any]) -> Made:
    folder = tmp_path_factory.mktemp("package")
    data, work, out = folder / "data", folder / "work", folder / "model"
    data.mkdir()
    write_data(data)
    write_dev(data / "held-out")
    return Made(data, work, out, make_model(sources, data, work, out, SETTINGS, lexicon=LEXICON))


def test_it_loads_and_answers(made: Made) -> None:
    model = towhom.load(made.out)
    found = model.session().observe_all(chatter(8, 60))
    assert len(found) == 60
    assert model.saved.sizes == Sizes(6, 8, 4, says=4, hidden=8, second=6)
    assert len(model.saved.vocabulary) == 20


def test_its_files(made: Made) -> None:
    assert {path.name for path in made.out.iterdir()} == {CARD, CONFIG, TRAINING, WEIGHTS, WORDS}


def test_what_it_says_of_itself(made: Made) -> None:
    training = json.loads((made.out / TRAINING).read_text("utf-8"))
    assert training.keys() >= {"command", "commit", "date", "versions", "settings", "rooms", "seconds", "dev"}
    assert [(room["name"], room["licence"]) for room in training["rooms"]] == [
        ("log", "none stated"), ("topics", "CC0"), ("linked", "CC BY 4.0"),
    ]  # fmt: skip
    assert training["settings"]["without"] == ["left-out"]
    assert training["encoder"] is None
    assert training["dev"] == json.loads(json.dumps(made.measured))


def test_how_good_it_is(made: Made) -> None:
    assert set(made.measured) == {"linked"}
    found = made.measured["linked"]
    assert set(found) == MEASURED
    assert 0 <= found["links"]["f1"] <= 100
    assert 0 <= found["addressees"] <= 100


def test_its_card(made: Made) -> None:
    card = (made.out / CARD).read_text("utf-8")
    assert card.startswith("# Crosstalk\n")
    assert "on 3 rooms:\n\n- log: none stated\n- topics: CC0\n- linked: CC BY 4.0\n" in card
    assert f"On linked's development part: links F1 {made.measured['linked']['links']['f1']:.1f}" in card


def test_what_was_trained_is_what_is_written(made: Made) -> None:
    (run,) = (path for path in made.work.iterdir() if path.name != "heard")
    words, weights = load_weights(run)
    saved = read_crosstalk(made.out)
    assert list(saved.vocabulary) == words
    for name, value in compacted(weights).items():
        assert_array_equal(saved.weights[name], value, err_msg=name)


def test_again(made: Made, sources: list[Any], tmp_path: Path) -> None:
    """Nothing is learned again; the model is the same."""

    def nothing(*step: object) -> None:
        raise AssertionError(f"trained again: {step}")

    make_model(sources, made.data, made.work, tmp_path / "again", SETTINGS, lexicon=LEXICON, progress=nothing)
    assert read_crosstalk(tmp_path / "again").fingerprint == read_crosstalk(made.out).fingerprint


def test_with_the_words_of_another(made: Made, sources: list[Any], tmp_path: Path) -> None:
    """Words are taken as they are, and the model says where they come from."""
    other, out = read_crosstalk(made.out), tmp_path / "looks"
    settings = replace(SETTINGS, looks=replace(SETTINGS.looks, seed=4, hidden=10))
    stages: list[str] = []
    make_model(
        sources, made.data, made.work, out, settings, lexicon=LEXICON, words_of=other,
        progress=lambda stage, *rest: stages.append(stage),
    )  # fmt: skip
    assert set(stages) == {"first look", "second look"}
    found = read_crosstalk(out)
    assert found.vocabulary == other.vocabulary
    for name, value in other.weights.items():
        if name.startswith("words.") and name not in projections(1, 1):  # these are learned further
            assert_allclose(found.weights[name], value, atol=1e-5, err_msg=name)
    assert found.sizes.hidden == 10
    assert found.training["words_of"]["date"] == other.training["date"]


def test_with_other_settings(made: Made, sources: list[Any], tmp_path: Path) -> None:
    """Beside the other, by which it is not disturbed."""
    before = {path.name for path in made.work.iterdir()}
    other = replace(SETTINGS, looks=replace(SETTINGS.looks, seed=3))
    make_model(sources, made.data, made.work, tmp_path / "other", other, lexicon=LEXICON)
    after = {path.name for path in made.work.iterdir()}
    assert before < after
    assert len(after - before) == 1
    one, two = (read_crosstalk(folder).weights["first.out"] for folder in (made.out, tmp_path / "other"))
    assert not np.array_equal(one, two)
