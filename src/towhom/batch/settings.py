"""The settings that the parts of a run depend on; parts with different settings cannot be mixed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from towhom.chat import Kind
from towhom.version import __version__

PART = 50_000
"""Lines of a part; docs/scale.md explains the number."""
WARM_UP = 1_000
"""Messages before a piece of a long room that are followed first; docs/scale.md shows the effect."""
FORMAT, VERSION = "towhom-batch", 2


class Command(StrEnum):
    """The command that is run on the logs."""

    THREADS = "threads"
    WHO = "who"
    REPORT = "report"


class Output(StrEnum):
    """The format of rows, which is also the ending of the files' names."""

    PARQUET = "parquet"
    JSON = "jsonl"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that the parts of a run depend on, besides the logs.

    Args:
        command: What is done to the logs.
        output: Format of the rows.
        model: The folder of the model; None for the one that comes with towhom.
        fingerprint: Fingerprint of the model, which must be the same on all workers.
        format: Format of the logs; detected if None.
        kinds: Kinds of lines that count as messages for `who`.
        strict: Whether a malformed line makes a file fail.
        part: Lines of a part.
        warm_up: Messages that are followed before a piece of a long room.
        whole: Whether rooms are never cut.
        version: Version of towhom, which must be the same on all workers.
    """

    command: Command
    output: Output
    model: Path | None
    fingerprint: str
    format: str | None = None
    kinds: tuple[Kind, ...] = (Kind.MESSAGE,)
    strict: bool = False
    part: int = PART
    warm_up: int = WARM_UP
    whole: bool = False
    version: str = __version__

    def manifest(self) -> dict[str, Any]:
        """The settings as stored in the folder of the results, without the path of the model."""
        values = {
            key: value
            for key, value in asdict(self).items()
            if key not in ("model", "fingerprint", "version")
        }
        return {
            "format": FORMAT,
            "version": VERSION,
            "towhom": self.version,
            "model": self.fingerprint,
            "settings": values,
        }
