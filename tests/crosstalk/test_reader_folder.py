"""A reader on disk: packed, written, read back, and whatever may be wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

import towhom
from tests.crosstalk.chats import FIRST_NAMES, chatter, reader_weights, saved_crosstalk
from towhom.chat import Kind, Message
from towhom.crosstalk.folder import SavedCrosstalk, compacted, read_crosstalk, write_crosstalk
from towhom.crosstalk.reader_folder import (
    FILE,
    WEIGHTS,
    SavedReader,
    packed,
    read_reader,
    unpacked,
    write_reader,
)
from towhom.errors import MissingExtraError, ModelFormatError
from towhom.live import Addressee, Model, Observation
from towhom.live import model as models

GROUP, TOKENS = 32, "reader.tokens"
Damage = Callable[[Path], object]
LAYERS = tuple(f"reader.{layer}.{name}" for layer in (0, 1) for name in ("heads", "mix", "inner", "outer"))


def saved_reader(seed: int = 1) -> SavedReader:
    """A small reader with random weights; its tokenizer is none."""
    return SavedReader(packed(reader_weights(seed)), {"model": "none", "words": ["thé", "🫖"]}, FIRST_NAMES)


@pytest.fixture(scope="module")
def saved() -> SavedReader:
    return saved_reader()


@pytest.fixture
def folder(saved: SavedReader, tmp_path: Path) -> Path:
    write_reader(tmp_path, saved)
    return tmp_path


def groups(matrix: NDArray[Any]) -> NDArray[Any]:
    return matrix.reshape(len(matrix), -1, GROUP)


class TestPacked:
    def test_what_is_stored(self) -> None:
        """Layers in 4 bits, the vectors of tokens in 8; what is small stays as it is."""
        weights = reader_weights(1)
        found = packed(weights)
        for name, value in weights.items():
            if name in LAYERS:
                assert found[f"{name}.in4"].dtype == np.uint8
                assert found[f"{name}.in4"].shape == (len(value), value.shape[1] // 2)
                assert found[f"{name}.scale"].dtype == np.float16
            elif name == "reader.tokens":
                assert found[f"{name}.in8"].dtype == np.int8
                assert found[f"{name}.in8"].shape == value.shape
                assert np.abs(found[f"{name}.in8"].astype(int)).max(axis=1).tolist() == [127] * len(value)
            else:
                assert found[name] is value
        assert len(found) == len(weights) + len(LAYERS) + 1
        assert sum(each.nbytes for each in found.values()) < sum(each.nbytes for each in weights.values()) / 4

    def test_comes_back_nearly_the_same(self) -> None:
        """To half a step of its group, or of its row."""
        weights = reader_weights(1)
        found = unpacked(packed(weights))
        assert set(found) == set(weights)
        for name, value in weights.items():
            assert found[name].dtype == np.float32
            assert found[name].shape == value.shape
            if name in LAYERS:
                steps = np.ptp(groups(value), axis=2, keepdims=True) / 15
                assert (np.abs(groups(found[name]) - groups(value)) <= 0.53 * steps).all(), name
                assert not np.array_equal(found[name], value)
            elif name == "reader.tokens":
                row_steps = np.abs(value).max(axis=1, keepdims=True) / 127
                assert (np.abs(found[name] - value) <= 0.501 * row_steps).all()
            else:
                assert_array_equal(found[name], value)

    def test_each_group_for_itself(self) -> None:
        """However large or small it is, and wherever its numbers lie."""
        random = np.random.default_rng(1)
        sizes = np.logspace(-2, 2, 10 * 6).reshape(10, 6, 1)
        value = (random.normal(size=(10, 6, GROUP)) + 40 * random.normal(size=(10, 6, 1))) * sizes
        matrix = value.reshape(10, -1).astype(np.float32)
        found = unpacked(packed({"reader.0.mix": matrix}))["reader.0.mix"]
        steps = np.ptp(groups(matrix), axis=2, keepdims=True) / 15
        assert (np.abs(groups(found) - groups(matrix)) <= 0.53 * steps).all()

    def test_each_number_at_its_place(self) -> None:
        matrix = np.arange(16, dtype=np.float32)[np.random.default_rng(2).permutation(64) % 16][None]
        matrix = np.concatenate([matrix, matrix[:, ::-1] * 2 - 5])
        assert_array_equal(unpacked(packed({"reader.7.inner": matrix}))["reader.7.inner"], matrix)

    def test_what_was_in_four_bits_already(self) -> None:
        """Nothing more is lost, however often it is packed."""
        once = packed(reader_weights(3))
        again = packed(unpacked(once))
        for name in LAYERS:
            for ending in (".in4", ".scale"):
                assert_array_equal(again[name + ending], once[name + ending])
            assert_array_equal(unpacked(again)[name], unpacked(once)[name])
        assert_allclose(unpacked(again)["reader.tokens"], unpacked(once)["reader.tokens"], rtol=1e-6)

    @pytest.mark.parametrize("value", [0.0, 0.5, -3.0])
    def test_all_the_same(self, value: float) -> None:
        weights = {
            name: np.full(shape, value, np.float32)
            for name, shape in {"reader.0.mix": (4, 64), "reader.tokens": (5, 64)}.items()
        }
        for name, found in unpacked(packed(weights)).items():
            assert_allclose(found, weights[name], rtol=1e-6)

    def test_what_has_no_whole_groups(self) -> None:
        weights = {"reader.0.outer": reader_weights(1)["reader.0.outer"][:, :50]}
        assert_array_equal(packed(weights)["reader.0.outer"], weights["reader.0.outer"])


class TestRoundTrip:
    def test_its_files(self, folder: Path) -> None:
        assert (
            {path.name for path in folder.iterdir()}
            == {FILE, WEIGHTS}
            == {"reader.json", "reader.safetensors"}
        )

    def test_what_it_holds(self, folder: Path, saved: SavedReader) -> None:
        found = read_reader(folder)
        assert found is not None
        assert (found.tokenizer, found.names) == (saved.tokenizer, saved.names)
        assert set(found.packed) == set(saved.packed)
        for name, value in saved.packed.items():
            assert_array_equal(found.packed[name], value, err_msg=name)
            assert found.packed[name].dtype == value.dtype
        assert found.fingerprint == saved.fingerprint

    def test_none(self, tmp_path: Path) -> None:
        assert read_reader(tmp_path) is None

    def test_other_sizes(self, tmp_path: Path) -> None:
        """Layers of whatever length are read as they were written."""
        weights = reader_weights(1, layers=3)
        for layer in range(3):
            for name, cut in (("inner", np.s_[:100]), ("outer", np.s_[:, :50])):
                weights[f"reader.{layer}.{name}"] = weights[f"reader.{layer}.{name}"][cut]
        write_reader(tmp_path, SavedReader(packed(weights), {}, FIRST_NAMES))
        found = read_reader(tmp_path)
        assert found is not None
        assert_array_equal(unpacked(found.packed)["reader.2.outer"], weights["reader.2.outer"])


class TestFinely:
    def test_in_eight_bits(self) -> None:
        """The matrices that are named, and no others; each number within half a step of its row."""
        weights = reader_weights(3)
        name = "reader.1.inner"
        found = packed(weights, finely={name, "reader.1.before"})
        assert found[f"{name}.in8"].dtype == np.int8
        assert f"{name}.in4" not in found
        assert "reader.0.inner.in4" in found
        assert_array_equal(found["reader.1.before"], weights["reader.1.before"])
        error = np.abs(unpacked(found)[name] - weights[name])
        assert (error <= 0.51 * np.abs(weights[name]).max(axis=1, keepdims=True) / 127).all()
        assert error.max() < 0.2 * np.abs(unpacked(packed(weights))[name] - weights[name]).max()

    def test_read_again(self, tmp_path: Path, saved: SavedReader) -> None:
        fine = replace(saved, packed=packed(reader_weights(3), finely={"reader.1.outer"}))
        write_reader(tmp_path, fine)
        found = read_reader(tmp_path)
        assert found is not None
        assert_array_equal(found.packed["reader.1.outer.in8"], fine.packed["reader.1.outer.in8"])
        assert found.fingerprint == fine.fingerprint != saved.fingerprint


class TestFingerprint:
    def test_of_the_same(self, saved: SavedReader) -> None:
        assert saved_reader().fingerprint == saved.fingerprint

    @pytest.mark.parametrize(
        "name",
        ["reader.tokens.in8", "reader.1.mix.in4", "reader.0.inner.scale", "reader.parts", "reader.back"],
    )
    def test_of_another(self, saved: SavedReader, name: str) -> None:
        other = saved.packed[name].copy()
        other.flat[-1] += 1
        assert replace(saved, packed={**saved.packed, name: other}).fingerprint != saved.fingerprint

    def test_of_other_words_or_names(self, saved: SavedReader) -> None:
        for other in (replace(saved, tokenizer={}), replace(saved, names=FIRST_NAMES[::-1])):
            assert other.fingerprint != saved.fingerprint

    def test_of_the_model(self, saved: SavedReader) -> None:
        model = saved_crosstalk(1)
        found = [replace(model, reader=reader) for reader in (None, saved, saved_reader(2))]
        assert len({each.fingerprint for each in found}) == 3
        assert found[0].fingerprint == model.fingerprint
        assert found[1].fingerprint == replace(saved_crosstalk(1), reader=saved_reader()).fingerprint


class TestModelFolder:
    def test_with_a_reader(self, saved: SavedReader, tmp_path: Path) -> None:
        model = saved_crosstalk(1, commit="0f1e")
        model = replace(model, weights=compacted(model.weights), reader=saved)
        write_crosstalk(tmp_path / "model", model, card="")
        found = read_crosstalk(tmp_path / "model")
        assert found.reader is not None
        assert found.reader.fingerprint == saved.fingerprint
        assert found.fingerprint == model.fingerprint

    def test_without_one(self, saved: SavedReader, tmp_path: Path) -> None:
        """One that was there is not left behind."""
        model = saved_crosstalk(1)
        write_crosstalk(tmp_path / "model", replace(model, reader=saved), card="")
        write_crosstalk(tmp_path / "model", model, card="")
        assert read_crosstalk(tmp_path / "model").reader is None
        assert not {FILE, WEIGHTS} & {path.name for path in (tmp_path / "model").iterdir()}

    def test_damaged(self, saved: SavedReader, tmp_path: Path) -> None:
        write_crosstalk(tmp_path / "model", replace(saved_crosstalk(1), reader=saved), card="")
        (tmp_path / "model" / WEIGHTS).unlink()
        with pytest.raises(ModelFormatError, match=WEIGHTS):
            read_crosstalk(tmp_path / "model")
        with pytest.raises(ModelFormatError, match=WEIGHTS):
            towhom.load(tmp_path / "model")


def cut(name: str) -> Damage:
    def damage(folder: Path) -> None:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])

    return damage


def write(name: str, text: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_text(text, "utf-8")

    return damage


def change(**changes: Any) -> Damage:
    """Of what the file with the tokens says; None to leave something out."""

    def damage(folder: Path) -> None:
        found = {**json.loads((folder / FILE).read_text("utf-8")), **changes}
        text = json.dumps({name: value for name, value in found.items() if value is not None})
        (folder / FILE).write_text(text, "utf-8")

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


def one_is(value: float) -> Callable[[Any], Any]:
    def make(found: Any) -> Any:
        found = found.copy()
        found.flat[3] = value
        return found

    return make


def last(found: Any) -> Any:
    """All but the last row."""
    return found[:-1]


def first(found: Any) -> Any:
    """All but the first column."""
    return found[:, 1:]


DAMAGE: dict[str, tuple[Damage, str]] = {
    "no tokens": (lambda folder: (folder / FILE).unlink(), FILE),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), WEIGHTS),
    "tokens are cut off": (cut(FILE), FILE),
    "weights are cut off": (cut(WEIGHTS), WEIGHTS),
    "tokens are empty": (write(FILE, ""), FILE),
    "weights are empty": (write(WEIGHTS, ""), WEIGHTS),
    "weights are text": (write(WEIGHTS, "tea " * 100), WEIGHTS),
    "no text": (lambda folder: (folder / FILE).write_bytes(b"\xff\xfe\x00"), FILE),
    "brackets in brackets": (write(FILE, "[" * 100_000), FILE),
    "a list": (write(FILE, "[]"), FILE),
    "nothing": (write(FILE, "null"), FILE),
    "no tokenizer": (change(tokenizer=None), FILE),
    "no names": (change(names=None), FILE),
    "names of nobody": (change(names=[]), FILE),
    "names are a text": (change(names="Anna"), FILE),
    "names are numbers": (change(names=[1, 2]), FILE),
    "a tokenizer that is a list": (change(tokenizer=[1]), FILE),
    "an array too many": (array("tea", lambda found: np.ones(3, np.float32)), "nothing is known of tea"),
    "fewer tokens": (array(f"{TOKENS}.in8", last), r"tokens\.scale is float32 \(280, 1\), expected"),
    "fewer scales of tokens": (array(f"{TOKENS}.scale", last), r"tokens\.scale is float32 \(279, 1\)"),
    "wider tokens": (array(f"{TOKENS}.in8", lambda found: np.c_[found, found]), WEIGHTS),
    "flat tokens": (array(f"{TOKENS}.in8", np.ravel), WEIGHTS),
    "one token": (array(f"{TOKENS}.in8", lambda found: found[0, 0]), WEIGHTS),
    "narrower": (array("reader.1.mix.in4", first), r"1\.mix\.in4 is uint8 \(192, 95\)"),
    "fewer rows": (array("reader.1.inner.in4", last), r"1\.inner\.in4 is uint8 \(191, 96\)"),
    "fewer rows in front": (array("reader.0.heads.in4", last), WEIGHTS),
    "fewer groups": (array("reader.0.mix.scale", first), r"0\.mix\.scale is float16 \(192, 5, 2\)"),
    "no least": (array("reader.0.mix.scale", lambda found: found[..., :1]), r"float16 \(192, 6, 1\)"),
    "a longer norm": (array("reader.norm", lambda found: found.repeat(2)), r"norm is float32 \(384,\)"),
    "a shorter reach": (array("reader.back", last), r"is float32 \(99,\), expected float32 \(100,\)"),
    "of another type": (array("reader.far", lambda found: found.astype(np.float64)), "far is float64"),
    "signed bits": (array("reader.0.mix.in4", lambda found: found.astype(np.int8)), r"in4 is int8"),
    "not a number": (array("reader.answer.w", one_is(np.nan)), r"answer\.w has numbers that are none"),
    "infinite": (array("reader.0.before", one_is(np.inf)), r"before has numbers that are none"),
    "a scale is none": (array("reader.1.outer.scale", one_is(np.nan)), r"scale has numbers that are none"),
    "a token's is": (array(f"{TOKENS}.scale", one_is(-np.inf)), r"scale has numbers that are none"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged(folder: Path, damage: str) -> None:
    make, message = DAMAGE[damage]
    make(folder)
    with pytest.raises(ModelFormatError, match=message) as caught:
        read_reader(folder)
    assert str(folder / "reader.") in str(caught.value)


@pytest.mark.parametrize("name", sorted(saved_reader().packed))
def test_every_array_is_needed(folder: Path, name: str) -> None:
    array(name, None)(folder)
    with pytest.raises(ModelFormatError, match=WEIGHTS):
        read_reader(folder)


def test_without_tokenizers(saved: SavedReader, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(module: str) -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr("towhom.extras.import_module", absent)
    message = r"needs the package tokenizers.*pip install 'towhom\[large\]'"
    with pytest.raises(MissingExtraError, match=message):
        saved.open()
    with pytest.raises(MissingExtraError, match=message):
        Model(replace(saved_crosstalk(1), reader=saved))


@pytest.fixture(scope="module")
def tokenizer() -> dict[str, Any]:
    """Of some words and all first names, made of the letters that are in them."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, show_progress=False, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    made.train_from_iterator([f"{name}: ask {name}, the tea is open\n" for name in FIRST_NAMES] * 5, trainer)
    found: dict[str, Any] = json.loads(made.to_str())
    return found


@pytest.fixture(scope="module")
def large(tokenizer: dict[str, Any]) -> SavedCrosstalk:
    """A model with a reader that knows what it reads."""
    weights = reader_weights(4)
    tokens = np.random.default_rng(4).normal(size=(len(tokenizer["model"]["vocab"]), 192)) * 0.3
    weights["reader.tokens"] = tokens.astype(np.float32)
    reader = SavedReader(packed(weights), tokenizer, FIRST_NAMES)
    return replace(saved_crosstalk(4, scale=0.3), reader=reader)


@pytest.fixture(scope="module")
def model(large: SavedCrosstalk, tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("large")
    write_crosstalk(folder / "model", large, card="")
    return models.load_live(folder / "model")


def sure(people: Sequence[Addressee]) -> list[float]:
    return [each.probability for each in people]


def alike(one: Observation, other: Observation) -> bool:
    """Whether two sessions say the same of a message."""
    return (
        [each.id for each in one.addressees] == [each.id for each in other.addressees]
        and one.placed.replies_to == other.placed.replies_to
        and bool(np.allclose(sure(one.addressees), sure(other.addressees), atol=1e-4))
    )


class TestEndToEnd:
    def test_its_tokens(self, model: Model, large: SavedCrosstalk) -> None:
        reader = model.mind.reader
        assert reader is not None
        assert large.reader is not None
        vocabulary = {number: text for text, number in large.reader.tokenizer["model"]["vocab"].items()}
        session = model.session()
        session.introduce("bob")
        (said,) = [session.observe(Message("ada", "bob: ask Bob, the tea\nis open"))]
        assert said.addressee == "bob"
        line = reader.transcript.line(session.turns[-1].utterance, {})
        assert [vocabulary[token] for token in line.tolist()] == [
            "Anna", ":", "ĠBen", ":", "Ġask", "ĠBen", ",", "Ġthe", "Ġtea", "Ġis", "Ġopen", "Ċ",
        ]  # fmt: skip

    def test_what_it_says(self, model: Model, large: SavedCrosstalk) -> None:
        """Another thing than without its reader; the same message by message as all at once."""
        chat = chatter(5, 150)
        found = model.session().observe_all(chat)
        one_by_one = map(model.session().observe, chat)
        assert all(alike(*pair) for pair in zip(one_by_one, found, strict=True))
        plain = Model(replace(large, weights=compacted(large.weights), reader=None))
        before = plain.session().observe_all(chat)
        assert sum(not alike(*pair) for pair in zip(before, found, strict=True)) > 75
        assert plain.fingerprint != model.fingerprint

    def test_goes_on(self, model: Model) -> None:
        """After names, edits and deletions, from a state in the middle of a page."""
        chat = [replace(message, id=str(place)) for place, message in enumerate(chatter(6, 140))]
        chat[90:90] = [
            Message("ada", "the tea is open", id="80", kind=Kind.EDIT),
            Message("bob", "", id="85", kind=Kind.DELETE),
            Message("cyd", "cyd_away", kind=Kind.RENAME),
        ]
        session = model.session()
        session.observe_all(chat[:110])
        other = model.session(json.loads(json.dumps(session.state())))
        for one, two in zip(session.observe_all(chat[110:]), map(other.observe, chat[110:]), strict=True):
            assert alike(one, two)
        ranked, again = (each.rank_addressees("zoe", "the tea is open") for each in (session, other))
        assert [each.id for each in ranked] == [each.id for each in again]
        assert_allclose(sure(ranked), sure(again), atol=1e-4)

    def test_select(self, model: Model, large: SavedCrosstalk) -> None:
        chat, drafts = chatter(7, 90), ["the tea is open", "bob: thanks", "", "日本語", *["milk ?"] * 20]
        plain = Model(replace(large, weights=compacted(large.weights), reader=None))
        sessions = [each.session() for each in (model, plain)]
        for session in sessions:
            session.observe_all(chat)
        found, before = (session.select("zoe", drafts) for session in sessions)
        assert sum(each.probability for each in found) == pytest.approx(1)
        assert [each.probability for each in found] == sorted(
            (each.probability for each in found), reverse=True
        )
        assert {each.id for each in found if each.candidate == 1} == {"bob"}
        others = {(each.candidate, each.id): each.probability for each in before}
        assert max(abs(others[each.candidate, each.id] - each.probability) for each in found) > 0.01
        again = sessions[0].select("zoe", drafts)
        assert found == again
