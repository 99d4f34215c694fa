"""A model on disk: written, read back, and whatever may be wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file, save_file

import towhom
from tests.crosstalk.chats import WORDS, chatter, saved_crosstalk
from towhom.crosstalk.folder import (
    SavedCrosstalk,
    Sizes,
    compacted,
    holds_crosstalk,
    lexicon_of,
    read_crosstalk,
    write_crosstalk,
)
from towhom.crosstalk.words import LIMIT
from towhom.errors import ModelFormatError
from towhom.hearing.words import TOKENIZER
from towhom.live import Model
from towhom.model_folder import CARD, CONFIG, TRAINING, WEIGHTS
from towhom.model_folder import WORDS as WORDS_FILE

VECTORS, SCALES = "words.vectors", "words.vectors.scale"
Damage = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_crosstalk(tmp_path / "model", saved_crosstalk(1, commit="0f1e"), card="# A model\n")
    return tmp_path / "model"


class TestRoundTrip:
    def test_its_files(self, folder: Path) -> None:
        assert {path.name for path in folder.iterdir()} == {CONFIG, WEIGHTS, WORDS_FILE, TRAINING, CARD}
        assert (folder / CARD).read_text("utf-8") == "# A model\n"
        config = json.loads((folder / CONFIG).read_text("utf-8"))
        assert (config["format"], config["version"]) == ("towhom-crosstalk", 1)
        assert config["tokenizer"] == TOKENIZER

    def test_what_it_holds(self, folder: Path) -> None:
        saved, found = saved_crosstalk(1, commit="0f1e"), read_crosstalk(folder)
        assert (found.sizes, found.vocabulary) == (saved.sizes, saved.vocabulary)
        assert found.training == {"commit": "0f1e"}
        assert set(found.weights) == set(saved.weights)
        for name, value in compacted(saved.weights).items():
            assert_array_equal(found.weights[name], value, err_msg=name)
            assert found.weights[name].dtype == np.float32

    def test_again(self, folder: Path, tmp_path: Path) -> None:
        """What was read is written as it was: vectors lose nothing more."""
        once = read_crosstalk(folder)
        write_crosstalk(tmp_path / "again", once, card="")
        assert read_crosstalk(tmp_path / "again").fingerprint == once.fingerprint

    def test_it_answers(self, folder: Path) -> None:
        saved = saved_crosstalk(1)
        direct = Model(replace(saved, weights=compacted(saved.weights)))
        chat = chatter(1, 40)
        assert towhom.load(folder).session().observe_all(chat) == direct.session().observe_all(chat)

    def test_one_that_is_there_is_replaced(self, folder: Path) -> None:
        write_crosstalk(folder, saved_crosstalk(2), card="")
        assert read_crosstalk(folder).fingerprint != read_crosstalk_of(1).fingerprint
        assert (folder / CARD).read_text("utf-8") == ""

    def test_words_of_any_script(self, tmp_path: Path) -> None:
        words = ("thé", "ça", "お茶", "🫖", 'a "quoted" word')
        write_crosstalk(tmp_path / "model", saved_crosstalk(words=words), card="")
        assert read_crosstalk(tmp_path / "model").vocabulary == words

    @pytest.mark.parametrize("training", ["", "[1, 2]"])
    def test_without_its_training(self, folder: Path, training: str) -> None:
        """That is for people."""
        if training:
            (folder / TRAINING).write_text(training, "utf-8")
        else:
            (folder / TRAINING).unlink()
            (folder / CARD).unlink()
        assert read_crosstalk(folder).training == {}


def read_crosstalk_of(seed: int) -> SavedCrosstalk:
    """A model as it is when it was read."""
    saved = saved_crosstalk(seed)
    return replace(saved, weights=compacted(saved.weights))


class TestVectors:
    def test_are_of_eight_bits(self, folder: Path) -> None:
        stored, weights = load_file(folder / WEIGHTS), saved_crosstalk(1).weights
        assert stored[VECTORS].dtype == np.int8
        assert stored[VECTORS].shape == weights[VECTORS].shape
        assert stored[SCALES].shape == (len(weights[VECTORS]),)
        assert all(value.dtype == np.float32 for name, value in stored.items() if name != VECTORS)
        assert np.abs(stored[VECTORS]).max(axis=1).tolist() == [127] * len(stored[VECTORS])

    def test_are_nearly_the_same(self) -> None:
        """Each row to half a step of its own scale, however large or small it is."""
        weights = saved_crosstalk(3).weights
        sizes = np.logspace(-6, 6, len(weights[VECTORS])).astype(np.float32)[:, None]
        matrix = weights[VECTORS] * sizes
        found = compacted({**weights, VECTORS: matrix})[VECTORS]
        steps = np.abs(matrix).max(axis=1, keepdims=True) / 127
        assert (np.abs(found - matrix) <= 0.5001 * steps).all()
        assert not np.array_equal(found, matrix)

    def test_of_nothing(self) -> None:
        weights = saved_crosstalk(3).weights
        found = compacted({**weights, VECTORS: np.zeros_like(weights[VECTORS])})[VECTORS]
        assert_array_equal(found, 0)

    def test_nothing_else_changes(self) -> None:
        weights = saved_crosstalk(3).weights
        for name, value in compacted(weights).items():
            if name != VECTORS:
                assert value is weights[name]
        assert_allclose(compacted(weights)[VECTORS], weights[VECTORS], atol=0.02)


class TestSizes:
    def test_shapes(self) -> None:
        saved = saved_crosstalk()
        assert {name: value.shape for name, value in saved.weights.items()} == saved.sizes.shapes(len(WORDS))

    def test_one_vector_more_than_words(self) -> None:
        assert Sizes(dimensions=7).shapes(30)[VECTORS] == (31, 7)

    def test_each_is_one_of_the_weights(self) -> None:
        """A folder that says another size is not read."""
        for each in fields(Sizes):
            larger = replace(Sizes(), **{each.name: getattr(Sizes(), each.name) + 1})
            assert larger.shapes(9) != Sizes().shapes(9)


class TestFingerprint:
    def test_of_the_same(self) -> None:
        assert saved_crosstalk(1).fingerprint == saved_crosstalk(1, commit="other").fingerprint

    @pytest.mark.parametrize("name", ["words.vectors", "first.draft.out", "second.b"])
    def test_of_another(self, name: str) -> None:
        saved = saved_crosstalk(1)
        weights = {**saved.weights, name: saved.weights[name] * np.float32(1.001)}
        assert replace(saved, weights=weights).fingerprint != saved.fingerprint

    def test_of_other_words(self) -> None:
        saved = saved_crosstalk(1)
        swapped = (*saved.vocabulary[:-2], *saved.vocabulary[:-3:-1])
        assert set(swapped) == set(saved.vocabulary)
        assert replace(saved, vocabulary=swapped).fingerprint != saved.fingerprint


class TestLexicon:
    def test_words(self) -> None:
        lexicon = lexicon_of(("tea", "milk"))
        assert lexicon.tokens(["milk", "tea", "sugar"], lambda word: False).tolist() == [2, 1, 0]
        assert lexicon.tokens(["tea"] * 100, lambda word: False).tolist() == [1] * LIMIT

    def test_of_a_folder(self) -> None:
        assert saved_crosstalk().lexicon.fingerprint == lexicon_of(WORDS).fingerprint


def change(name: str, **changes: Any) -> Damage:
    """Of a file with a JSON object."""

    def damage(folder: Path) -> None:
        config = json.loads((folder / name).read_text("utf-8"))
        (folder / name).write_text(json.dumps({**config, **changes}), "utf-8")

    return damage


def write(name: str, text: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(text.encode())

    return damage


def size(name: str, value: object) -> Damage:
    """Another of the sizes."""

    def damage(folder: Path) -> None:
        config = json.loads((folder / CONFIG).read_text("utf-8"))
        if value is None:
            del config["sizes"][name]
        else:
            config["sizes"][name] = value
        (folder / CONFIG).write_text(json.dumps(config), "utf-8")

    return damage


def array(name: str, make: Callable[[Any], Any] | None) -> Damage:
    """Another array, or none."""

    def damage(folder: Path) -> None:
        arrays = load_file(folder / WEIGHTS)
        found = arrays.pop(name, None)
        if make is not None:
            arrays[name] = np.ascontiguousarray(make(found))
        save_file(arrays, folder / WEIGHTS)

    return damage


def cut(name: str) -> Damage:
    def damage(folder: Path) -> None:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])

    return damage


def one_is(value: float) -> Callable[[Any], Any]:
    def make(found: Any) -> Any:
        found = found.copy()
        found.flat[0] = value
        return found

    return make


DAMAGE: dict[str, tuple[Damage, str]] = {
    "no words": (lambda folder: (folder / WORDS_FILE).unlink(), "this is not a model: it has no vocab.json"),
    "no config": (lambda folder: (folder / CONFIG).unlink(), "it has no config.json"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "it has no model.safetensors"),
    "config is no JSON": (cut(CONFIG), r"config\.json: cannot be read"),
    "config is no text": (lambda folder: (folder / CONFIG).write_bytes(b"\xff\xfe\x00"), "cannot be read"),
    "config is a list": (write(CONFIG, "[]"), "this is not the configuration of a Crosstalk model"),
    "another format": (change(CONFIG, format="towhom-model"), "not the configuration of a Crosstalk model"),
    "another version": (change(CONFIG, version=2), r"has format version 2, this towhom .* reads version 1"),
    "another tokenizer": (change(CONFIG, tokenizer="other"), "the tokenizer other, .*train the model again"),
    "no sizes": (change(CONFIG, sizes=None), "the sizes are damaged"),
    "sizes are a list": (change(CONFIG, sizes=[1, 2]), "the sizes are damaged"),
    "a size is missing": (size("tower", None), "the sizes are damaged"),
    "a size is a word": (size("state", "many"), "the sizes are damaged"),
    "a size is another": (size("hidden", 25), r"first\.b is \(24,\), expected \(25,\)"),
    "words are no JSON": (cut(WORDS_FILE), r"vocab\.json: cannot be read"),
    "words are an object": (write(WORDS_FILE, "{}"), "expected a list of words"),
    "a word is a number": (write(WORDS_FILE, '["tea", 5]'), "expected a list of words"),
    "too few words": (write(WORDS_FILE, '["tea"]'), r"words\.vectors is \(15, 6\), expected \(2, 6\)"),
    "weights are cut off": (cut(WEIGHTS), "the weights cannot be read"),
    "weights are empty": (write(WEIGHTS, ""), "the weights cannot be read"),
    "weights are text": (write(WEIGHTS, "tea " * 100), "the weights cannot be read"),
    "an array is missing": (array("first.draft.out", None), r"there is no first\.draft\.out"),
    "an array is too many": (array("tea", lambda found: np.ones(3, np.float32)), "nothing is known of tea"),
    "another shape": (array("second.b", lambda found: found[1:]), r"second\.b is \(23,\), expected \(24,\)"),
    "another type": (array("fit", lambda found: found.astype(np.float64)), "fit has type float64, expected"),
    "not a number": (array("fit", one_is(np.nan)), "fit has numbers that are none"),
    "infinite": (array("second.out", one_is(np.inf)), r"second\.out has numbers that are none"),
    "no scales": (array(SCALES, None), r"words\.vectors has type int8, expected float32"),
    "too few scales": (array(SCALES, lambda found: found[1:]), r"words\.vectors has type int8"),
    "a scale is none": (array(SCALES, one_is(np.nan)), r"words\.vectors has numbers that are none"),
    "scales of another type": (
        array(SCALES, lambda found: found.astype(np.float64)),
        r"words\.vectors has type float64|the weights do not fit",
    ),
    "vectors are missing": (array(VECTORS, None), r"there is no words\.vectors"),
    "training is no JSON": (cut(TRAINING), r"training\.json: cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged(folder: Path, damage: str) -> None:
    make, message = DAMAGE[damage]
    make(folder)
    with pytest.raises(ModelFormatError, match=message) as caught:
        read_crosstalk(folder)
    assert str(folder) in str(caught.value)
    with pytest.raises(ModelFormatError, match=message):
        towhom.load(folder)


@pytest.mark.parametrize("size_of", [each.name for each in fields(Sizes)])
@pytest.mark.parametrize("value", [-1, 0, 10**9, 3.7, True, [6]])
def test_a_size_that_cannot_be(folder: Path, size_of: str, value: object) -> None:
    size(size_of, value)(folder)
    with pytest.raises(ModelFormatError):
        read_crosstalk(folder)


@pytest.mark.parametrize("name", sorted(saved_crosstalk().weights))
def test_every_array_is_needed(folder: Path, name: str) -> None:
    array(name, None)(folder)
    with pytest.raises(ModelFormatError, match=f"there is no {name}"):
        read_crosstalk(folder)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="nowhere: there is no such folder"):
        read_crosstalk(tmp_path / "nowhere")


def test_all_that_is_wrong_is_said_at_once(folder: Path) -> None:
    array("fit", None)(folder)
    array("second.b", lambda found: found[1:])(folder)
    with pytest.raises(ModelFormatError, match=r"second\.b is .*; there is no fit"):
        read_crosstalk(folder)


class TestHolds:
    def test_one_of_ours(self, folder: Path) -> None:
        assert holds_crosstalk(folder)
        assert holds_crosstalk(str(folder))

    @pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"format": "towhom-model"}'])
    def test_another(self, folder: Path, text: str) -> None:
        (folder / CONFIG).write_text(text, "utf-8")
        assert not holds_crosstalk(folder)

    def test_nothing(self, tmp_path: Path) -> None:
        assert not holds_crosstalk(tmp_path)
        assert not holds_crosstalk(tmp_path / "nowhere")
