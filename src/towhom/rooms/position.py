"""The saved position in rooms, which lets a restart miss no event and get none twice."""

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
    """The data that a connector needs to continue where it was, JSON-compatible.

    Args:
        path: The file, which only its owner may read and one connector may use at a time; None to keep the
            position only in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.value: dict[str, Any] = {}
        self._lock: int | None = None

    def open(self) -> None:
        """Lock the file, and read it if it exists.

        Raises:
            RoomError: The file was not written by `save`, or another process uses it.
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
        """The current content for the file."""
        return json.dumps({"format": FORMAT, "version": VERSION, "position": self.value})

    def save(self, content: str) -> None:
        """Write the content to the file; may run in another thread."""
        if self.path is not None:
            with atomic_file(self.path, "w", private=True) as file:
                file.write(content)

    def close(self) -> None:
        """Unlock the file."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
