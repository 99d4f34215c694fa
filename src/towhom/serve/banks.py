"""The response bank of a server, as its workers use it: opened once, and again after a change."""

from __future__ import annotations

from pathlib import Path

from towhom.bank import Bank
from towhom.bank.store import MANIFEST
from towhom.loading import load

_opened: dict[str, tuple[int, Bank]] = {}


def opened_bank(folder: str) -> Bank:
    """The current version of a bank.

    Raises:
        BankError: The folder is not a bank, or it is damaged.
    """
    path = Path(folder) / MANIFEST
    changed = path.stat().st_mtime_ns if path.exists() else 0
    if folder not in _opened or _opened[folder][0] != changed:
        _opened[folder] = changed, Bank(folder)
    return _opened[folder][1]


def check_bank(folder: Path, model: Path | None) -> None:
    """Make sure that a bank can be searched, before the server starts.

    Raises:
        BankError: The folder is not a bank, it is damaged, or it was built with another model.
    """
    bank = Bank(folder)
    bank.require_model(load(model).fingerprint)
    bank.segments  # noqa: B018
