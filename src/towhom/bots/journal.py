"""The files of a gate for a room: a snapshot, and a journal of later events.

A line is appended to the journal for every event before its verdict is returned, so a bot that is killed at
any moment continues where it was. The files contain messages; only their owner may read them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from towhom.documents import parse_json, read_json
from towhom.files import atomic_file

log = logging.getLogger("towhom.gate")

FORMAT, VERSION = "towhom-gate", 1
Record = dict[str, Any]


def file_name(name: str) -> str:
    """A safe name for the files of a bot or a room, whatever characters its own name has."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Kept(NamedTuple):
    """The stored data of a room."""

    state: Record | None
    """The snapshot."""
    records: list[Record]
    """The events since the snapshot."""
    number: int
    """Number of events in all."""


class Journal:
    """The files of one room.

    Args:
        folder: Folder of the gate.
        room: The room's identifier.
    """

    def __init__(self, folder: Path, room: str) -> None:
        name = file_name(room)
        self._snapshot, self._lines = folder / f"{name}.json", folder / f"{name}.jsonl"

    def read(self) -> Kept:
        """Read the files. A damaged snapshot is renamed, and this is logged."""
        state = None
        try:
            state = read_json(self._snapshot)
            if not isinstance(state, dict) or (state["format"], state["version"]) != (FORMAT, VERSION):
                raise ValueError("not the state of a gate, or one of another version")
            number = int(state["number"])
        except FileNotFoundError:
            number = 0
        except (OSError, ValueError, LookupError, TypeError) as error:
            self.put_aside(error)
            state, number = None, 0
        records = [record for record in self._records() if record["number"] > number]
        return Kept(state, records, records[-1]["number"] if records else number)

    def append(self, record: Record) -> None:
        """Append a line, which survives if the process is killed."""
        line = json.dumps(record, ensure_ascii=True).encode() + b"\n"
        self._lines.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._lines, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def save(self, state: Record) -> None:
        """Write a snapshot, and delete the journal, whose events it includes."""
        with atomic_file(self._snapshot, "w", private=True) as file:
            json.dump({"format": FORMAT, "version": VERSION, **state}, file)
        with suppress(FileNotFoundError):
            self._lines.unlink()

    def put_aside(self, error: Exception) -> None:
        """Rename a damaged snapshot, so that the room can start again."""
        aside = self._snapshot.with_suffix(".damaged")
        with suppress(OSError):
            self._snapshot.replace(aside)
        log.error(
            "%s cannot be read (%s); it is %s now, and its room starts again", self._snapshot, error, aside
        )

    def _records(self) -> list[Record]:
        """The lines of the journal, without an incomplete last line."""
        try:
            lines = self._lines.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        if lines.pop():  # incomplete line of a killed process: end it, so that the next begins on its own
            with self._lines.open("ab") as file:
                file.write(b"\n")
        records = []
        for line in lines:
            with suppress(ValueError, LookupError, TypeError):
                record = parse_json(line)
                int(record["number"])
                records.append(record)
        return records
