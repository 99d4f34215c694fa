"""A bank of a chat that was written for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from towhom.bank import Bank
from towhom.live.banking import build_bank

REPAIR = Path(str(files("towhom.samples") / "repair.txt"))

ASKING = """\
# 20240710
[18:00] <pia> hello all
[18:01] <kurt> my dishwasher says E18 and there is water standing in it, any idea?
[18:03] <lena> has anybody opened a phone that is glued shut?
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("banks") / "repair"
    build_bank(folder, [REPAIR], link="https://example.org/{year}-{month}-{day}#{line}")
    return folder


@pytest.fixture
def bank_folder(built: Path, tmp_path: Path) -> Path:
    """A copy, which may be changed."""
    return Path(shutil.copytree(built, tmp_path / "bank"))


@pytest.fixture
def bank(built: Path) -> Bank:
    return Bank(built)


@pytest.fixture
def asking(tmp_path: Path) -> Path:
    path = tmp_path / "asking.txt"
    path.write_text(ASKING, "utf-8")
    return path


@pytest.fixture
def small_bank(tmp_path: Path) -> Callable[..., Bank]:
    """Builds a bank of some lines."""

    def build(*lines: str, name: str = "small", **options: object) -> Bank:
        log = tmp_path / f"{name}.txt"
        log.write_text("\n".join(["# 20240101", *lines]) + "\n", "utf-8")
        build_bank(tmp_path / name, [log], **options)  # type: ignore[arg-type]
        return Bank(tmp_path / name)

    return build
