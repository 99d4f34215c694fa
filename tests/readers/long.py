"""Long logs of every format, invented for the tests."""

from __future__ import annotations

from collections.abc import Callable

from tests.readers.exports import (
    Files,
    long_discord,
    long_irc,
    long_jsonl,
    long_matrix,
    long_reference,
    long_slack,
    long_telegram,
    long_telegram_account,
    long_whatsapp,
)
from tests.readers.platforms import PLATFORMS

LONG: dict[str, tuple[str, Callable[[int], Files]]] = {
    "jsonl": ("jsonl", long_jsonl),
    "slack": ("slack", long_slack),
    "discord": ("discord", long_discord),
    "telegram": ("telegram", long_telegram),
    "telegram account": ("telegram", long_telegram_account),
    "matrix": ("matrix", long_matrix),
    "reference": ("reference", long_reference),
    "irc": ("irc", long_irc),
    "whatsapp": ("whatsapp", long_whatsapp),
    **PLATFORMS,
}
"""What it is -> its format, and a builder of a log of so many lines."""
