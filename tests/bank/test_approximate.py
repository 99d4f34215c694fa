"""An index for large banks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.cli.conftest import Run, run  # noqa: F401
from tests.conftest import LogWriter, irc_days
from towhom import load
from towhom.bank import Bank, approximate
from towhom.bank.approximate import RECALL
from towhom.bank.search import nearest
from towhom.bank.tables import VECTORS
from towhom.bank.writing import Forgotten, forget
from towhom.errors import BankError, MissingExtraError
from towhom.live.banking import build_bank, index_bank


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some hundreds of responses that were made up, no two the same."""
    folder = tmp_path_factory.mktemp("indexed")
    log = folder / "room.txt"
    log.write_text("\n".join(irc_days(Random(3), days=20, lines=120)) + "\n", "utf-8")
    build_bank(folder / "bank", [log])
    return folder / "bank"


@pytest.fixture
def indexed(plain: Path, tmp_path: Path) -> Path:
    pytest.importorskip("faiss")
    folder = Path(shutil.copytree(plain, tmp_path / "bank"))
    index_bank(Bank(folder), load())
    return folder


def test_it_finds_nearly_all_that_exact_search_finds(indexed: Path) -> None:
    bank = Bank(indexed)
    assert len(bank) > 300
    assert bank.segments[0].probes > 0
    vectors = bank.segments[0].table[VECTORS][:50].astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = [
        len({*nearest(bank, vector, 50)} & {*nearest(bank, vector, 50, exact=True)}) / 50
        for vector in vectors
    ]
    assert np.mean(shares) > RECALL - 0.1  # it was tuned by other vectors
    bank.check()


def test_without_faiss_the_answers_are_exact(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = Bank(indexed)
    vector = load().head.heard(np.ones((1, 256), np.float32))[0]
    monkeypatch.setattr("towhom.bank.search.has_faiss", lambda: False)
    assert nearest(bank, vector, 20) == nearest(bank, vector, 20, exact=True)


def test_a_missing_extra_is_named(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*arguments: object, **options: object) -> object:
        raise MissingExtraError("install it with: pip install 'towhom[bank]'")

    monkeypatch.setattr(approximate, "require", missing)
    with pytest.raises(MissingExtraError, match=r"towhom\[bank\]"):
        index_bank(Bank(plain), load())


def test_forgetting_takes_the_index_with_it(indexed: Path) -> None:
    forget(Bank(indexed), Forgotten(numbers=[0]))
    assert not list(indexed.rglob("*.faiss"))
    assert Bank(indexed).segments[0].probes == 0


def test_an_empty_bank(small_bank: Callable[..., Bank]) -> None:
    pytest.importorskip("faiss")
    with pytest.raises(BankError, match="nothing to index"):
        index_bank(small_bank("[10:00] <ada> all alone here"), load())


def test_the_command(run: Run, write_log: LogWriter, tmp_path: Path) -> None:  # noqa: F811
    pytest.importorskip("faiss")
    build_bank(tmp_path / "b", [write_log(days=2, lines=60)])
    assert "of what exact search finds" in run("bank", "index", tmp_path / "b").output
