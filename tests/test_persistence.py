"""Models on disk: what comes back, and what is said when something is wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from tests.models.systems import neural, weights_of
from towhom import __version__
from towhom.errors import MissingExtraError, ModelFormatError
from towhom.model_folder import CARD, CONFIG, TRAINING, WEIGHTS, WORDS
from towhom.models.neural import NeuralSelector
from towhom.persistence import SavedModel, load_model, save_model
from towhom.runtime.sirnn import SIRNN
from towhom.selection import Rule
from towhom.testing.chats import word_vectors
from towhom.text.vocabulary import ModelVocabulary

VOCABULARY = ModelVocabulary.of(word_vectors(4, known=("tea", "größe", "☕")), ("tea", "größe", "☕"))
DEV = {"samples": 1234, "adr": 70.5, "res": 80.25, "adr_res": 60.0}

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = neural("sirnn", VOCABULARY)
    save_model(tmp_path / "m", model, VOCABULARY, system="sirnn", context=15, training={"dev": DEV})
    return tmp_path / "m"


def edit(path: Path, change: Edit) -> None:
    config = json.loads(path.read_text("utf-8"))
    change(config)
    path.write_text(json.dumps(config), "utf-8")


def vectors_of(model: NeuralSelector) -> NDArray[np.float32]:
    vectors = model.vectors
    assert isinstance(vectors, torch.Tensor)
    return vectors.detach().numpy()


class TestRoundTrip:
    def test_all_that_was_saved(self, folder: Path) -> None:
        loaded = load_model(folder)
        model = neural("sirnn", VOCABULARY)
        assert loaded.context == 15
        assert loaded.training == {"dev": DEV}
        assert loaded.vocabulary.words == VOCABULARY.words
        assert np.array_equal(loaded.vocabulary.matrix, VOCABULARY.matrix)
        assert np.array_equal(vectors_of(loaded.model), VOCABULARY.matrix)
        assert loaded.model.config == model.config
        assert (loaded.model.rule, loaded.model.max_words) == (Rule.JOINT, 20)
        assert not loaded.model.training
        for name, value in model.state_dict().items():
            assert torch.equal(loaded.model.state_dict()[name], value)

    def test_how_it_chooses(self, tmp_path: Path) -> None:
        model = neural("dynamic-rnn", VOCABULARY)
        model.rule, model.max_words = Rule.JOINT_LOG, None
        save_model(tmp_path / "m", model, VOCABULARY, system="dynamic-rnn", context=5, training={})
        loaded = load_model(tmp_path / "m").model
        assert (loaded.rule, loaded.max_words) == (Rule.JOINT_LOG, None)

    def test_files(self, folder: Path) -> None:
        assert {path.name for path in folder.iterdir()} == {CONFIG, WEIGHTS, WORDS, TRAINING, CARD}
        config = json.loads((folder / CONFIG).read_text("utf-8"))
        assert (config["format"], config["version"], config["towhom"]) == ("towhom-model", 1, __version__)
        assert (config["system"], config["settings"]["hidden"]) == ("sirnn", 7)
        assert json.loads((folder / WORDS).read_text("utf-8")) == ["tea", "größe", "☕"]

    def test_card(self, folder: Path) -> None:
        card = (folder / CARD).read_text("utf-8")
        assert card.startswith("# SI-RNN\n")
        assert "from 15 messages of context" in card
        assert "On 1,234 development samples: ADR 70.50, RES 80.25, ADR-RES 60.00." in card

    def test_what_makes_the_system_is_not_repeated(self, tmp_path: Path) -> None:
        model = neural("sirnn-shared", VOCABULARY)
        save_model(tmp_path / "m", model, VOCABULARY, system="sirnn-shared", context=5, training={})
        assert "shared" not in json.loads((tmp_path / "m" / CONFIG).read_text("utf-8"))["settings"]
        assert load_model(tmp_path / "m").model.config == model.config

    def test_saved_again(self, folder: Path) -> None:
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        (folder / "left-over").write_text("of something else")
        model = neural("sirnn", VOCABULARY)
        save_model(folder, model, VOCABULARY, system="sirnn", context=15, training={"dev": DEV})
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    def test_what_is_for_people_is_not_needed(self, folder: Path) -> None:
        (folder / TRAINING).unlink()
        (folder / CARD).unlink()
        (folder / "notes.txt").write_text("ignored")
        assert load_model(folder).training == {}


def saved_model() -> SavedModel:
    model = neural("sirnn", VOCABULARY)
    return SavedModel("sirnn", model.config, weights_of(model), VOCABULARY, 15, model.rule, model.max_words)


class TestWhatItRunsOn:
    def test_without_torch(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """tests/runtime has every system, in an interpreter that never saw it."""
        monkeypatch.setitem(sys.modules, "torch", None)
        saved = load_model(folder)
        assert isinstance(saved.runtime, SIRNN)
        assert saved.runtime.hidden == 7
        with pytest.raises(MissingExtraError, match=r"running a model in torch needs .*'towhom\[train\]'"):
            _ = saved.model

    def test_how_it_chooses(self) -> None:
        saved = replace(saved_model(), rule=Rule.JOINT_LOG, max_words=None)
        assert (saved.runtime.rule, saved.runtime.max_words) == (Rule.JOINT_LOG, None)
        assert (saved.model.rule, saved.model.max_words) == (Rule.JOINT_LOG, None)

    def test_made_once(self) -> None:
        saved = saved_model()
        assert saved.runtime is saved.runtime
        assert saved.model is saved.model


class TestFingerprint:
    def test_is_the_same_when_it_comes_back(self, folder: Path) -> None:
        assert load_model(folder).fingerprint == load_model(folder).fingerprint == saved_model().fingerprint

    @pytest.mark.parametrize(
        "change",
        [
            {"system": "sirnn-log"},
            {"config": neural("sirnn", VOCABULARY, init=0.4).config},
            {"weights": weights_of(neural("sirnn", VOCABULARY, seed=1))},
            {"vocabulary": ModelVocabulary(("tea", "größe", "☂"), VOCABULARY.matrix)},
            {"vocabulary": ModelVocabulary(VOCABULARY.words, VOCABULARY.matrix * 2)},
            {"context": 14},
            {"rule": Rule.SEPARATE},
            {"max_words": None},
        ],
        ids=lambda change: ", ".join(change),
    )
    def test_tells_models_apart(self, change: dict[str, Any]) -> None:
        assert replace(saved_model(), **change).fingerprint != saved_model().fingerprint

    def test_not_how_it_was_trained(self) -> None:
        assert replace(saved_model(), training={"dev": DEV}).fingerprint == saved_model().fingerprint


class TestNoModel:
    def test_nowhere(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFormatError, match="nowhere: there is no such folder"):
            load_model(tmp_path / "nowhere")

    def test_a_file(self, folder: Path) -> None:
        with pytest.raises(ModelFormatError, match="there is no such folder"):
            load_model(folder / CONFIG)

    def test_garbage(self, tmp_path: Path) -> None:
        (tmp_path / "holiday.jpg").write_bytes(b"\xff\xd8\xff")
        with pytest.raises(
            ModelFormatError,
            match=r"not a model: it has no config\.json, no model\.safetensors, no vocab\.json$",
        ):
            load_model(tmp_path)

    @pytest.mark.parametrize("name", [CONFIG, WEIGHTS, WORDS])
    def test_a_part_is_missing(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        with pytest.raises(ModelFormatError, match=f"this is not a model: it has no {name}$"):
            load_model(folder)

    @pytest.mark.parametrize("text", ["[]", "{}", '{"format": "other"}', "null"])
    def test_another_config(self, folder: Path, text: str) -> None:
        (folder / CONFIG).write_text(text)
        with pytest.raises(
            ModelFormatError, match=r"config\.json: this is not the configuration of a towhom model"
        ):
            load_model(folder)

    def test_crosstalk(self, tmp_path: Path) -> None:
        """Whatever else the folder holds."""
        (tmp_path / CONFIG).write_text('{"format": "towhom-crosstalk", "version": 1}')
        with pytest.raises(
            ModelFormatError, match=r"this is a Crosstalk model, which `towhom\.load` reads; expected one of"
        ):
            load_model(tmp_path)

    def test_another_tokenizer(self, folder: Path) -> None:
        edit(folder / CONFIG, lambda config: config.update(tokenizer="old"))
        with pytest.raises(ModelFormatError, match=r"words of the tokenizer old, .*; train the model again"):
            load_model(folder)

    @pytest.mark.parametrize("version", [2, 0, None, "1"])
    def test_another_version(self, folder: Path, version: object) -> None:
        edit(folder / CONFIG, lambda config: config.update(version=version))
        with pytest.raises(
            ModelFormatError, match=rf"has format version {version}, this towhom \(.*\) reads version 1"
        ):
            load_model(folder)


class TestDamaged:
    @pytest.mark.parametrize("name", [CONFIG, WORDS, TRAINING])
    @pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe"])
    def test_text(self, folder: Path, name: str, content: bytes) -> None:
        (folder / name).write_bytes(content)
        with pytest.raises(ModelFormatError, match=rf"{name}: cannot be read \("):
            load_model(folder)

    @pytest.mark.parametrize("length", [0, 7, -1])
    def test_weights(self, folder: Path, length: int) -> None:
        whole = (folder / WEIGHTS).read_bytes()
        (folder / WEIGHTS).write_bytes(whole[:length])
        with pytest.raises(ModelFormatError, match=r"model\.safetensors: the weights cannot be read \("):
            load_model(folder)

    @pytest.mark.parametrize("words", [{"tea": 1}, 3, ["tea", 3, "milk"]])
    def test_words(self, folder: Path, words: object) -> None:
        (folder / WORDS).write_text(json.dumps(words))
        with pytest.raises(ModelFormatError, match=r"vocab\.json: expected a list of words"):
            load_model(folder)

    @pytest.mark.parametrize("key", ["system", "settings", "context", "max_words", "rule"])
    def test_a_key_is_missing(self, folder: Path, key: str) -> None:
        edit(folder / CONFIG, lambda config: config.pop(key))
        with pytest.raises(ModelFormatError, match=rf"config\.json: there is no '{key}' in it"):
            load_model(folder)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"system": "rnn"}, "there is no system 'rnn'"),
            ({"rule": "dice"}, "'dice' is not a valid Rule"),
            ({"context": "long"}, "invalid literal for int"),
            ({"settings": {"size": 3}}, "size is not a setting of sirnn"),
            ({"settings": []}, "'list' object has no attribute 'items'"),
            ({"settings": {"dimensions": 9, "hidden": 7}}, "vectors have 4 dimensions, the model wants 9"),
        ],
    )
    def test_a_value_is_wrong(self, folder: Path, change: dict[str, Any], message: str) -> None:
        edit(folder / CONFIG, lambda config: config.update(change))
        with pytest.raises(ModelFormatError, match=rf"config\.json: {message}"):
            load_model(folder)


class TestPartsThatDoNotFit:
    def test_weights_of_another_size(self, folder: Path) -> None:
        edit(folder / CONFIG, lambda config: config["settings"].update(hidden=9))
        with pytest.raises(
            ModelFormatError,
            match=r"model\.safetensors: the weights do not fit the .*; w_a is \(14, 7\), expected \(18, 9\)",
        ):
            load_model(folder)

    def test_weights_of_another_system(self, folder: Path) -> None:
        edit(folder / CONFIG, lambda config: config.update(system="sirnn-shared"))
        edit(folder / CONFIG, lambda config: config["settings"].pop("shared"))
        with pytest.raises(ModelFormatError, match=r"(?s)do not fit the configuration: .*observer"):
            load_model(folder)

    @pytest.mark.parametrize("name", ["w_ra", "utterance.u", "observer.w"])
    def test_a_weight_is_missing(self, folder: Path, name: str) -> None:
        weights = load_file(folder / WEIGHTS)
        del weights[name]
        save_file(weights, folder / WEIGHTS)
        with pytest.raises(
            ModelFormatError,
            match=rf"model\.safetensors: the weights do not fit the configuration: there is no {name}$",
        ):
            load_model(folder)

    def test_a_weight_is_unknown(self, folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        save_file({**weights, "utterance.b": np.zeros(3, np.float32)}, folder / WEIGHTS)
        with pytest.raises(
            ModelFormatError, match=r"do not fit the configuration: nothing is known of utterance\.b$"
        ):
            load_model(folder)

    def test_a_weight_of_another_type(self, folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        save_file({**weights, "w_a": weights["w_a"].astype(np.float64)}, folder / WEIGHTS)
        with pytest.raises(ModelFormatError, match=r"configuration: w_a has type float64, expected float32$"):
            load_model(folder)

    def test_all_that_is_wrong_is_named(self, folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        weights["w_b"] = weights.pop("w_a")
        weights["w_r"] = weights["w_r"].T.copy()
        save_file(weights, folder / WEIGHTS)
        with pytest.raises(
            ModelFormatError,
            match=r"nothing is known of w_b; there is no w_a; w_r is \(7, 14\), expected \(14, 7\)$",
        ):
            load_model(folder)

    def test_words_and_vectors(self, folder: Path) -> None:
        (folder / WORDS).write_text('["tea", "milk"]')
        with pytest.raises(
            ModelFormatError, match="there are 2 words and 4 vectors; expected one more vector than words"
        ):
            load_model(folder)

    @pytest.mark.parametrize("vectors", [None, np.zeros(4, np.float32), np.zeros((4, 4), np.int8)])
    def test_no_vectors(self, folder: Path, vectors: NDArray[Any] | None) -> None:
        weights = load_file(folder / WEIGHTS)
        del weights["vectors"]
        save_file(weights if vectors is None else {**weights, "vectors": vectors}, folder / WEIGHTS)
        with pytest.raises(
            ModelFormatError, match=r"model\.safetensors: there is no matrix of word vectors in it"
        ):
            load_model(folder)
