"""How far a room has been read, on disk: what makes a restart miss nothing and hear nothing twice."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from towhom.documents import read_json
from towhom.errors import RoomError
from towhom.files import atomic_file

FORMAT, VERSION = "towhom-position", 1


class Position:
    """What a connector has to know to go on where it was, as JSON can hold it.

    Args:
        path: The file; None keeps it in memory alone. It is the user's alone, and one connector's at a time.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.value: dict[str, Any] = {}
        self._lock: int | None = None

    def open(self) -> None:
        """Read what is there.

        Raises:
            RoomError: It is not what `save` writes, or another process uses it.
        """
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.path.with_name(f"{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise RoomError(f"{self.path}: another process follows these rooms with this state") from error
        if not self.path.exists():
            return
        try:
            content = read_json(self.path)
            if content["format"] != FORMAT or content["version"] != VERSION:
                raise ValueError
            self.value = dict(content["position"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            self.close()
            raise RoomError(
                f"{self.path}: this is not the state of a connector; remove it to start with new messages"
            ) from error

    def content(self) -> str:
        """What is to be written, of this moment."""
        return json.dumps({"format": FORMAT, "version": VERSION, "position": self.value})

    def save(self, content: str) -> None:
        """Write it down; may run in a thread of its own."""
        if self.path is not None:
            with atomic_file(self.path, "w", private=True) as file:
                file.write(content)

    def close(self) -> None:
        """Let others use it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
