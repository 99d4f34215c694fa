"""JSON and TOML that nobody can have meant: every file that is read says so in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import towhom
from tests.conftest import LogWriter
from tests.crosstalk.chats import saved_crosstalk
from towhom.cli import main
from towhom.cli.train import _setting
from towhom.corpus import Corpus, build_corpus
from towhom.crosstalk.folder import holds_crosstalk, write_crosstalk
from towhom.documents import parse_json, read_json, read_toml
from towhom.errors import ConfigError, CorpusError, ModelFormatError, TowhomError, TrainingError, VectorsError
from towhom.model_folder import CONFIG, TRAINING, WORDS
from towhom.records import read_record
from towhom.text.vectors import MATRIX, WordVectors

DEPTH = 100_000
DEEP = {
    "lists": "[" * DEPTH,
    "closed lists": "[" * DEPTH + "]" * DEPTH,
    "objects": '{"a":' * DEPTH,
    "in an object": '{"format": "towhom-crosstalk", "version": ' + "[" * DEPTH + "]" * DEPTH + "}",
}


@pytest.fixture(params=DEEP)
def deep(request: pytest.FixtureRequest) -> str:
    return DEEP[request.param]


class TestParsing:
    def test_what_it_says(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text('{"tea": ["ça", 1.5, null]}', "utf-8")
        assert read_json(tmp_path / "file") == parse_json(b'{"tea": ["\xc3\xa7a", 1.5, null]}')
        (tmp_path / "file").write_text('tea = ["ça", 1.5]', "utf-8")
        assert read_toml(tmp_path / "file") == {"tea": ["ça", 1.5]}

    def test_too_deep(self, deep: str) -> None:
        with pytest.raises(ValueError, match="brackets in brackets, too many"):
            parse_json(deep)

    def test_deep_toml(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("a = " + "[" * DEPTH, "utf-8")
        with pytest.raises(ValueError, match="brackets in brackets, too many"):
            read_toml(tmp_path / "file")

    @pytest.mark.parametrize("text", ["", "{", "tea", "1" * 5000])
    def test_no_json(self, text: str) -> None:
        with pytest.raises(ValueError):  # noqa: PT011 - whatever the parser says
            parse_json(text)


class TestModels:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        write_crosstalk(tmp_path / "model", saved_crosstalk(1), card="")
        return tmp_path / "model"

    @pytest.mark.parametrize("name", [CONFIG, WORDS, TRAINING])
    def test_loaded(self, folder: Path, name: str, deep: str) -> None:
        (folder / name).write_text(deep, "utf-8")
        with pytest.raises(ModelFormatError, match=rf"{name}: cannot be read \(brackets in brackets"):
            towhom.load(folder)

    def test_told_from_others(self, folder: Path, deep: str) -> None:
        (folder / CONFIG).write_text(deep, "utf-8")
        assert not holds_crosstalk(folder)

    def test_by_a_command(self, folder: Path, write_log: LogWriter) -> None:
        (folder / CONFIG).write_text(DEEP["lists"], "utf-8")
        found = CliRunner().invoke(main, ["who", str(write_log()), "--model", str(folder)])
        assert (found.exit_code, found.exception.__class__) == (1, SystemExit)
        assert "config.json: cannot be read (brackets in brackets" in found.output


def corpus(path: Path) -> object:
    return Corpus(path.parent)


def vectors(path: Path) -> object:
    (path.parent / MATRIX).touch()
    return WordVectors.load(path.parent)


def recipe(path: Path) -> object:
    from towhom.training.crosstalk.rooms import read_recipe

    return read_recipe(path)


def stored(path: Path) -> object:
    from towhom.training.crosstalk.folders import read_stored

    return read_stored(path)


@pytest.mark.parametrize(
    ("name", "read", "error"),
    [
        ("manifest.json", corpus, CorpusError),
        ("vectors.json", vectors, VectorsError),
        ("record.json", read_record, TowhomError),
        ("words.json", stored, TrainingError),
    ],
)
def test_other_files(
    tmp_path: Path, name: str, read: Callable[[Path], object], error: type[Exception], deep: str
) -> None:
    (tmp_path / name).write_text(deep, "utf-8")
    with pytest.raises(error, match=rf"{name}: .*brackets in brackets"):
        read(tmp_path / name)


def test_recipes(tmp_path: Path) -> None:
    (tmp_path / "rooms.toml").write_text("room = " + "[" * DEPTH, "utf-8")
    with pytest.raises(ConfigError, match=r"rooms\.toml: .*brackets in brackets"):
        recipe(tmp_path / "rooms.toml")


def test_a_folder_in_the_way_of_a_corpus(tmp_path: Path, write_log: LogWriter) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "manifest.json").write_text(DEEP["lists"], "utf-8")
    with pytest.raises(CorpusError, match="corpus"):
        build_corpus(tmp_path / "corpus", [write_log()])


def run(*arguments: Any, **options: Any) -> str:
    found = CliRunner().invoke(main, list(map(str, arguments)), **options)
    assert isinstance(found.exception, SystemExit), found.exception
    return found.output


class TestCommandLine:
    def test_drafts(self, write_log: LogWriter, tmp_path: Path) -> None:
        (tmp_path / "drafts").write_text(DEEP["lists"], "utf-8")
        told = run("select", write_log(), "--as", "ada", "--candidates", tmp_path / "drafts")
        assert "drafts: begins like a JSON list and is none (brackets in brackets" in told

    def test_settings(self) -> None:
        with pytest.raises(click.BadParameter, match="is not NAME=VALUE"):
            _setting(f"hidden={DEEP['lists']}")


@pytest.mark.parametrize("text", ["", "[]", "3", '"tea"', "\\ud800"])
def test_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text, "utf-8")
    with pytest.raises(TowhomError, match=r"r\.json: (the record cannot be read|this is not the record)"):
        read_record(tmp_path / "r.json")


def test_a_record(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"identity": {"seed": 1}}), "utf-8")
    assert read_record(tmp_path / "r.json") == {"identity": {"seed": 1}}
