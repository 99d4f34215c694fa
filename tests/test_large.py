"""The large model, a package of its own: it loads by its name, and says more than the bundled one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import towhom
from towhom import Message
from towhom.cli import main
from towhom.crosstalk.folder import read_crosstalk
from towhom.errors import MissingExtraError
from towhom.live import Model

CHAT = [
    ("anna", "hi, does anyone know why my wifi drops every few minutes?"),
    ("ben", "which card do you have?"),
    ("carla", "how do I mount a usb disk that does not show up?"),
    ("anna", "a broadcom bcm4313"),
    ("dave", "carla: does lsblk list it?"),
    ("ben", "then install bcmwl-kernel-source and reboot"),
    ("carla", "yes, as sdb1"),
    ("dave", "then mkdir /mnt/usb and mount it there"),
]


@pytest.fixture(scope="module")
def model() -> Model:
    pytest.importorskip("towhom_large")
    return towhom.load("large")


def test_it_answers(model: Model) -> None:
    session = model.session()
    found = [session.observe(Message(who, text)) for who, text in CHAT]
    assert [each.addressee for each in found] == [None, "anna", None, "ben", "carla", "anna", "dave", "carla"]
    placed = model.threads(Message(who, text) for who, text in CHAT)
    assert [each.thread for each in placed] == [0, 0, 2, 0, 2, 0, 2, 2]
    best = session.select("anna", ["that helped, it stays connected", "the paella needs more salt"])[0]
    assert (best.addressee, best.candidate) == ("ben", 0)


def test_its_looks_are_those_of_the_bundled_model(model: Model) -> None:
    """What was fitted to their probabilities counts on them."""
    bundled = towhom.load()
    assert model.saved.vocabulary == bundled.saved.vocabulary
    assert model.saved.weights.keys() == bundled.saved.weights.keys()
    for name, array in bundled.saved.weights.items():
        assert np.array_equal(array, model.saved.weights[name]), name
    assert model.fingerprint != bundled.fingerprint


def test_its_card() -> None:
    package = pytest.importorskip("towhom_large")
    training = json.loads((package.MODEL / "training.json").read_text("utf-8"))
    card = (package.MODEL / "README.md").read_text("utf-8")
    assert training["language_model"]["licence"] == "apache-2.0"
    for room in training["rooms"]:
        assert f"- {room['name']}: {room['licence']}\n" in card


def test_by_its_name_on_the_command_line(tmp_path: Path) -> None:
    pytest.importorskip("towhom_large")
    log = tmp_path / "chat.jsonl"
    log.write_text("".join(json.dumps({"speaker": who, "text": text}) + "\n" for who, text in CHAT), "utf-8")
    done = CliRunner().invoke(main, ["who", str(log), "--model", "large", "--json"])
    assert done.exit_code == 0, done.output
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[5]["addressee"] == "anna"


def test_it_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "towhom_large", None)
    with pytest.raises(MissingExtraError, match="pip install packages/large"):
        towhom.load("large")
    log = tmp_path / "chat.jsonl"
    log.write_text('{"speaker": "ada", "text": "hi"}\n', "utf-8")
    done = CliRunner().invoke(main, ["who", str(log), "--model", "large"])
    assert done.exit_code == 1
    assert "pip install packages/large" in done.output


def test_a_folder_of_this_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given as ./large."""
    bundled = Path(towhom.__file__).parent / "bundled"
    (tmp_path / "large").symlink_to(bundled)
    monkeypatch.chdir(tmp_path)
    assert towhom.load("./large").fingerprint == read_crosstalk(bundled).fingerprint
