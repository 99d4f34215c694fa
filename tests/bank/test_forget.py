"""What is forgotten is gone from the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bank.conftest import REPAIR
from tests.bank.test_build import contents, texts
from towhom.bank import Bank
from towhom.bank.writing import Forgotten, forget
from towhom.errors import BankError
from towhom.live.banking import add_to_bank


def bytes_of(folder: Path) -> bytes:
    return b"".join(contents(folder).values()).lower()


def test_a_speaker(bank_folder: Path) -> None:
    before = len(Bank(bank_folder))
    assert b"multimeter" in bytes_of(bank_folder)
    removed = forget(Bank(bank_folder), Forgotten(speakers=["Oskar"]))
    after = Bank(bank_folder)
    assert len(after) == before - removed < before
    everything = bytes_of(bank_folder)
    # What he said, and what was said to him, in the columns and in the index of words.
    assert not [word for word in (b"multimeter", b"delaminates", b"sewing", b"probes") if word in everything]
    assert b"polypropylene" in everything
    after.check()


def test_who_was_forgotten_does_not_come_back(bank_folder: Path, tmp_path: Path) -> None:
    forget(Bank(bank_folder), Forgotten(speakers=["oskar"]))
    longer = tmp_path / "longer.txt"
    longer.write_text(REPAIR.read_text("utf-8") + "[20:00] <ada> good night\n", "utf-8")
    built = add_to_bank(bank_folder, [longer])
    assert built.left_out["opted out"] > 0
    assert b"multimeter" not in bytes_of(bank_folder)
    assert b"oskar" not in bytes_of(bank_folder)


def test_a_pattern_in_responses_and_questions(bank_folder: Path) -> None:
    assert forget(Bank(bank_folder), Forgotten(pattern=r"\bE\d+\b")) > 1
    assert b"e18" not in bytes_of(bank_folder)
    assert b"sock" not in bytes_of(bank_folder)


def test_a_number(bank_folder: Path) -> None:
    bank = Bank(bank_folder)
    gone, left = texts(bank)[3], texts(bank)
    left.remove(gone)
    assert forget(bank, Forgotten(numbers=[3])) == 1
    assert texts(Bank(bank_folder)) == left


def test_an_identifier(tmp_path: Path) -> None:
    from towhom.live.banking import build_bank

    log = tmp_path / "room.jsonl"
    log.write_text(
        '{"speaker": "ada", "text": "how do I clean the nozzle of the printer?", "id": "q1"}\n'
        '{"speaker": "bob", "text": "heat the nozzle and pull it out cold", "id": "a1", "reply_to": "q1"}\n'
        '{"speaker": "cyd", "text": "use a brass brush on the hot nozzle", "id": "a2", "reply_to": "q1"}\n',
        "utf-8",
    )
    build_bank(tmp_path / "b", [log])
    assert forget(Bank(tmp_path / "b"), Forgotten(ids=["a1"])) == 1
    assert texts(Bank(tmp_path / "b")) == ["use a brass brush on the hot nozzle"]


def test_everything(bank_folder: Path) -> None:
    count = len(Bank(bank_folder))
    assert forget(Bank(bank_folder), Forgotten(pattern=".")) == count
    assert len(Bank(bank_folder)) == 0
    assert b"glue" not in bytes_of(bank_folder)


def test_counting_changes_nothing(bank_folder: Path) -> None:
    before = contents(bank_folder)
    assert forget(Bank(bank_folder), Forgotten(speakers=["oskar"]), dry_run=True) > 0
    assert contents(bank_folder) == before


def test_what_a_killed_run_left_goes_with_the_next(bank_folder: Path) -> None:
    (bank_folder / "segment-0007").mkdir()
    (bank_folder / "segment-0007" / "response.npy").write_bytes(b"left over")
    forget(Bank(bank_folder), Forgotten(numbers=[0]))
    assert not (bank_folder / "segment-0007").exists()
    assert b"left over" not in bytes_of(bank_folder)


def test_bad_questions(bank_folder: Path) -> None:
    before = contents(bank_folder)
    with pytest.raises(BankError, match="not a regular expression"):
        forget(Bank(bank_folder), Forgotten(pattern="("))
    with pytest.raises(BankError, match="would match everything"):
        forget(Bank(bank_folder), Forgotten(pattern=""))
    with pytest.raises(BankError, match="no number 999"):
        forget(Bank(bank_folder), Forgotten(numbers=[999]))
    assert contents(bank_folder) == before
