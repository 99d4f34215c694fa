"""Banks that cannot be opened, and what is said about them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from towhom import Message, load
from towhom.bank import Bank
from towhom.bank.store import check_link
from towhom.errors import BankError


def change(folder: Path, **values: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")


def test_no_bank(tmp_path: Path) -> None:
    with pytest.raises(BankError, match=r"no such bank.*towhom bank build"):
        Bank(tmp_path / "none")
    with pytest.raises(BankError, match=r"no manifest\.json"):
        Bank(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": "towhom-corpus"}', "utf-8")
    with pytest.raises(BankError, match="not the manifest of a response bank"):
        Bank(tmp_path)


def test_another_version(bank_folder: Path) -> None:
    change(bank_folder, version=9)
    with pytest.raises(BankError, match=r"version 9, this towhom .* reads version 3"):
        Bank(bank_folder)


def test_a_damaged_manifest(bank_folder: Path) -> None:
    change(bank_folder, segments="many")
    with pytest.raises(BankError, match=r"manifest is damaged .*; take it from a copy"):
        Bank(bank_folder)
    (bank_folder / "manifest.json").write_text('{"format"', "utf-8")
    with pytest.raises(BankError, match=r"cannot be read .*; take it from a copy, or build it anew"):
        Bank(bank_folder)


@pytest.mark.parametrize("name", ["response.npy", "vectors.npy", "tokens.offsets.npy", "words.sqlite"])
def test_a_torn_file(bank_folder: Path, name: str) -> None:
    path = bank_folder / "segment-0000" / name
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(BankError, match=rf"{name}: has .* bytes, expected"):
        Bank(bank_folder).segments  # noqa: B018
    path.unlink()
    with pytest.raises(BankError, match=f"{name}: is missing"):
        Bank(bank_folder).segments  # noqa: B018


def test_changed_bytes_are_found_by_checking(bank_folder: Path) -> None:
    path = bank_folder / "segment-0000" / "vectors.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(BankError, match=r"vectors\.npy: its content has changed"):
        Bank(bank_folder).check()


@pytest.mark.parametrize("seed", range(12))
def test_damage_of_any_file_gives_a_sentence_or_an_answer(bank_folder: Path, seed: int) -> None:
    """Bytes are overwritten, which sizes do not show."""
    random = Random(seed)
    paths = sorted((bank_folder / "segment-0000").iterdir())
    path = random.choice(paths)
    content = bytearray(path.read_bytes())
    start = random.randrange(len(content))
    content[start : start + 40] = random.randbytes(len(content[start : start + 40]))
    path.write_bytes(content)
    session = load().session()
    session.observe(Message("kurt", "my dishwasher says E18 and there is water standing in it, any idea?"))
    with suppress(BankError):
        session.respond("pia", Bank(bank_folder), 20, least=0.0)
    with pytest.raises(BankError, match=str(bank_folder)):
        Bank(bank_folder).check()


def test_another_model(bank: Bank) -> None:
    with pytest.raises(BankError, match="another model"):
        bank.require_model("0" * 64)


def test_links() -> None:
    check_link("https://example.org/{channel}/{id}")
    with pytest.raises(BankError, match=r"nothing is known of \{author\}"):
        check_link("https://example.org/{author}")


def test_a_number_that_is_not_there(bank: Bank) -> None:
    with pytest.raises(BankError, match="no number -1"):
        bank[-1]
