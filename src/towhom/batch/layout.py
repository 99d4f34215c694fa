"""The folder of a run: the parts with the results, and the run's own files in `_towhom`."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import asdict, dataclass, field
from typing import Any

from towhom.batch.settings import Settings
from towhom.documents import parse_json
from towhom.errors import TowhomError
from towhom.places import Place

OURS = "_towhom"
"""Folder of the run's own files. Spark, DuckDB, pandas and Arrow ignore names that begin with `_`."""
_MANIFEST, _INDEX, _SEGMENTS, _WORK, _SEAMS = "manifest.json", "read", "segments", "work", "seams"
_NEEDLESS = (_SEGMENTS, _WORK, _SEAMS)
"""Folders that are removed when the run is complete."""


@dataclass(frozen=True)
class Index:
    """The result of reading a bundle of files.

    Args:
        inputs: Name and size of each file.
        segments: For each part, the number of its lines, whether a thread may begin before it, and whether
            its room continues in the next part.
        lines: Number of lines read.
        failed: File that could not be read -> reason.
        skipped: Files that are not logs, with reasons.
        report: Counts of lines of each kind, of malformed lines and so on.
        rooms: Export and name of each room, as the logs call them.
        files: Export and name of each file that occurs in ids.
        several: Whether ids begin with the room; None where that makes no difference.
        shared: Export, name and new name of each room whose name also occurs in an earlier export.
        moved: The same for files.
    """

    inputs: list[tuple[str, int]]
    segments: list[tuple[int, bool, bool]] = field(default_factory=list)
    lines: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    rooms: list[tuple[str, str]] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    several: bool | None = None
    shared: list[tuple[str, str, str]] = field(default_factory=list)
    moved: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def good(self) -> set[str]:
        """The files that could be read."""
        return {file for file, _ in self.inputs if file not in self.failed}

    @property
    def size(self) -> int:
        """Size of the files in bytes."""
        return sum(size for _, size in self.inputs)


@dataclass(frozen=True)
class Layout:
    """The paths of a run's files. A layout can be sent to other processes.

    Args:
        to: The folder.
        ending: Ending of the names of parts.
    """

    to: Place
    ending: str

    def part(self, bundle: str, segment: int) -> Place:
        """The file of a segment's final rows."""
        return self.to / f"part-{bundle}-{segment:05}.{self.ending}"

    def index(self, bundle: str) -> Place:
        """The file of a bundle's index; it exists once the bundle has been read."""
        return self.to / OURS / _INDEX / f"{bundle}.json"

    def segment(self, bundle: str, segment: int) -> Place:
        """The file of a segment's lines."""
        return self.to / OURS / _SEGMENTS / f"{bundle}-{segment:05}"

    def work(self, bundle: str, segment: int) -> Place:
        """The file of a segment's preliminary rows, whose threads may begin before it."""
        return self.to / OURS / _WORK / f"{bundle}-{segment:05}.jsonl"

    def ends(self, bundle: str, segment: int) -> Place:
        """The file that says which threads the last messages of a segment belong to."""
        return self.to / OURS / _WORK / f"{bundle}-{segment:05}.ends"

    def seams(self, bundle: str) -> Place:
        """The file that says which threads continue from one segment to the next."""
        return self.to / OURS / _SEAMS / f"{bundle}.json"

    def written(self) -> set[str]:
        """The names of all existing files."""
        folders = (self.to, *(self.to / OURS / name for name in _NEEDLESS))
        return {file.name.rpartition("/")[2] for folder in folders for file, _ in folder.files()}

    def indexes(self) -> dict[str, Index]:
        """The existing indexes, by bundle."""
        folder = self.to / OURS / _INDEX
        names = [file.name.rpartition("/")[2] for file, _ in folder.files()]
        names = [name for name in names if name.endswith(".json") and not name.startswith(".")]
        found = {}
        for name, content in zip(names, folder.read_all(names), strict=True):
            try:
                found[name.removesuffix(".json")] = index_of(parse_json(content))
            except (ValueError, TypeError) as error:
                raise TowhomError(
                    f"{folder / name}: cannot be read ({error}); --force starts again"
                ) from error
        return found

    def open(self, settings: Settings, *, replace: bool) -> None:
        """Make sure that the folder is empty or has results of the same settings.

        Raises:
            TowhomError: It has results of other settings, or files that are not results.
        """
        wanted = json.loads(json.dumps(settings.manifest()))
        place = self.to / OURS / _MANIFEST
        problem = None
        try:
            found = parse_json(place.read())
            problem = _difference(found, wanted)
        except FileNotFoundError:
            if self.to.files():
                raise TowhomError(
                    f"{self.to}: holds something else; choose an empty folder, or a new one"
                ) from None
        except ValueError as error:
            problem = f"{OURS}/{_MANIFEST} cannot be read ({error})"
        if problem and not replace:
            raise TowhomError(f"{self.to}: {problem}; choose another folder, or --force starts again")
        if problem:
            self.clear()
        place.write(json.dumps(wanted, indent=2).encode() + b"\n")

    def clear(self) -> None:
        """Remove everything that a run wrote; the manifest last."""
        for file, _ in self.to.files():
            if file.name.rpartition("/")[2].startswith("part-"):
                file.remove()
        (self.to / OURS).remove()

    def forget(self, bundle: str, index: Index) -> None:
        """Remove everything that was made from a bundle."""
        for segment in range(len(index.segments)):
            self.part(bundle, segment).remove()
        self.tidy(bundle, index)
        self.index(bundle).remove()  # last, so that a killed run resumes the removal

    def tidy(self, bundle: str, index: Index) -> None:
        """Remove the intermediate files of a bundle whose parts are complete."""
        if len(index.segments) > 1:
            for segment in range(len(index.segments)):
                self.segment(bundle, segment).remove()
                self.work(bundle, segment).remove()
                self.ends(bundle, segment).remove()
            self.seams(bundle).remove()

    def finish(self, bundles: Container[str]) -> None:
        """Remove the files that killed runs left behind, and the parts of all other bundles."""
        for file, _ in self.to.files():
            name = file.name.rpartition("/")[2]
            if name.startswith("part-") and name.split("-")[1] not in bundles:
                file.remove()
        for name in _NEEDLESS:
            (self.to / OURS / name).remove()
        if self.to.local:
            for left_over in self.to.path.glob(".part-*"):
                left_over.unlink(missing_ok=True)


def index_json(index: Index) -> bytes:
    """An index as JSON."""
    return json.dumps(asdict(index), indent=1).encode() + b"\n"


def index_of(value: Any) -> Index:
    """The index that `index_json` has encoded."""
    value["inputs"] = [(str(name), int(size)) for name, size in value["inputs"]]
    value["segments"] = [(int(lines), bool(cut), bool(on)) for lines, cut, on in value["segments"]]
    for key in ("rooms", "files", "shared", "moved"):
        value[key] = [tuple(map(str, each)) for each in value[key]]
    return Index(**value)


def _difference(found: Any, wanted: dict[str, Any]) -> str | None:
    """How the manifest of a folder differs from the wanted one, in words; None if it does not."""
    if not isinstance(found, dict) or found.get("format") != wanted["format"]:
        return f"{OURS}/{_MANIFEST} is none of ours"
    there, here = ({**each, **each.pop("settings", {})} for each in (dict(found), dict(wanted)))
    other = [
        f"{key} {there.get(key)!r} instead of {here[key]!r}" for key in here if there.get(key) != here[key]
    ]
    return f"its parts were made with another {', another '.join(other)}" if other else None
