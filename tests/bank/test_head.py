"""The projections by which responses are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from towhom import load
from towhom.bank import Bank, heads
from towhom.bank.heads import Head, head_of, own_head, signature
from towhom.bank.tables import SCALES
from towhom.errors import BankError


def test_they_belong_to_the_bundled_model() -> None:
    """If the bundled model is trained anew, so are they: python -m towhom.training.bank_head."""
    model = load()
    assert model.head is not own_head(model.saved.weights)
    assert signature(model.fingerprint) != model.fingerprint
    assert not np.array_equal(model.head.answers_w, own_head(model.saved.weights).answers_w)


def test_another_model_has_its_own() -> None:
    weights = load().saved.weights
    assert np.array_equal(head_of(weights, "another").heard_w, own_head(weights).heard_w)
    assert signature("another") == "another"


def test_vectors_have_length_1() -> None:
    head = load().head
    state = np.random.default_rng(0).normal(size=(5, len(head.answers_w))).astype(np.float32)
    for vectors in (head.answers(state), head.heard(state)):
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)


def mean_rank(head: Head, said: np.ndarray, asked: np.ndarray) -> float:
    scores = head.heard(asked.astype(np.float32)) @ head.answers(said.astype(np.float32)).T
    return float((scores > np.diag(scores)[:, None]).sum(1).mean())


def test_a_signature_changes_with_the_projections(monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprint = load().fingerprint
    before, content = signature(fingerprint), (Path(heads.__file__).parent / "head.safetensors").read_bytes()
    monkeypatch.setattr(heads, "_content", lambda: content + b" ")
    assert signature(fingerprint) not in (before, fingerprint)


def test_training_finds_what_goes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from towhom.training import bank_head

    for name, value in {"_BATCH": 128, "_MINING": 32, "_DRAWN": 200}.items():
        monkeypatch.setattr(bank_head, name, value)

    random = np.random.default_rng(0)
    asked = random.normal(size=(3000, 16)).astype(np.float16)
    said = (asked[:, ::-1] + 0.3 * random.normal(size=asked.shape)).astype(np.float16)
    began = (asked + 0.3 * random.normal(size=asked.shape)).astype(np.float16)
    texts = bank_head.States(said, asked, began, random.random(len(said)) < 0.5)
    start = Head(
        *(0.1 * random.normal(size=shape).astype(np.float32) for shape in ((16, 8), (8,), (16, 8), (8,)))
    )
    first = bank_head.States(texts.said[:2500], texts.asked[:2500], texts.began[:2500], texts.begins[:2500])
    trained = bank_head.train_head(first, start, epochs=6)
    assert mean_rank(trained, said[2500:], asked[2500:]) < 0.7 * mean_rank(start, said[2500:], asked[2500:])


def test_the_command(built: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "head.safetensors"
    command = [sys.executable, "-m", "towhom.training.bank_head", str(built), str(out), "--epochs", "2"]
    subprocess.run(command, check=True, capture_output=True)
    assert {name: each.shape for name, each in load_file(out).items()} == {
        name: each.shape for name, each in load().head._asdict().items()
    }


def test_vectors_are_made_again(bank_folder: Path) -> None:
    """From the texts of the bank alone, they are nearly what building made."""
    from towhom.training.bank_vectors import make_again

    before = Bank(bank_folder)
    make_again(before, load())
    after = Bank(bank_folder)
    after.check()
    assert len(list(bank_folder.glob("segment-*"))) == 1
    for name, scale in SCALES.items():
        old, new = (
            bank.segments[0].table[name] * bank.segments[0].table[scale][:, None] for bank in (before, after)
        )
        cosines = (old * new).sum(1) / np.linalg.norm(old, axis=1) / np.linalg.norm(new, axis=1)
        assert np.median(cosines) > 0.98


def test_vectors_of_another_model(bank_folder: Path) -> None:
    from towhom.training.bank_vectors import make_again

    bank = Bank(bank_folder)
    bank.model = "another"
    with pytest.raises(BankError, match="build it again"):
        make_again(bank, load())
