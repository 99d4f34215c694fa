"""A run over many logs: what is left to do is done, in any order, and nothing is done twice."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from towhom.batch.inputs import Bundle, Input, bundles, rooms_of
from towhom.batch.layout import Index, Layout
from towhom.batch.settings import Settings
from towhom.batch.work import finish, join, read_bundle, work_on
from towhom.chat import Kind
from towhom.clusters import Pool
from towhom.errors import LogError, MissingExtraError, ModelFormatError, TowhomError
from towhom.readers import Report
from towhom.readers.identity import export_names, in_export, in_other

_AHEAD = 2
"""Pieces of work that wait for each place: enough that none is idle, few enough to keep little half done."""


@dataclass
class Outcome:
    """How far a run is.

    Args:
        size: Bytes of all files.
        done: Bytes of the files whose parts are there.
        files: Files that were read.
        lines: Lines that there are rows or segments of.
        parts: Parts that are there.
        failed: What could not be done, and why.
        report: What was met in the logs.
        read: What reading gave, by bundle; when all is done.
    """

    size: int
    done: float = 0.0
    files: int = 0
    lines: int = 0
    parts: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    report: Report = field(default_factory=Report)
    read: dict[str, Index] = field(default_factory=dict)


Task = Callable[[], Any]
Then = Callable[[Any], None]


def run_batch(
    inputs: list[Input],
    layout: Layout,
    settings: Settings,
    pool: Pool,
    *,
    replace: bool = False,
    progress: Callable[[Outcome], None] = lambda outcome: None,
) -> Outcome:
    """Make the parts of some logs that are not there yet.

    Args:
        inputs: The logs.
        layout: The folder of the results.
        settings: What they depend on. If they are strict, the first failure ends the run.
        pool: Where the work is done.
        replace: Whether what was made of other logs or with other settings may go.
        progress: Called after each piece of work.

    Raises:
        TowhomError: The folder holds other results, the cluster is gone, or a log cannot be read and the
            settings are strict.
    """
    if pool.processes and any(each.startswith("memory://") for each in _names(inputs, layout)):
        raise TowhomError("memory:// is the memory of one process; a cluster needs files that all can reach")
    layout.open(settings, replace=replace)
    return _Run(inputs, layout, settings, pool, replace, progress).outcome


def _names(inputs: list[Input], layout: Layout) -> list[str]:
    return [layout.to.name, *(each.name for each in inputs)]


class _Run:
    """The state of a run; all of it is done when it is made."""

    def __init__(
        self,
        inputs: list[Input],
        layout: Layout,
        settings: Settings,
        pool: Pool,
        replace: bool,
        progress: Callable[[Outcome], None],
    ) -> None:
        self._layout, self._settings, self._pool, self._progress = layout, settings, pool, progress
        self.outcome = Outcome(sum(each.size for each in inputs), report=Report())
        self._waiting: deque[tuple[str, Task, Then]] = deque()
        self._left: Counter[str] = Counter()
        rooms = rooms_of(inputs)
        self._inputs = {each.name: each for files in rooms for each in files}
        self._several = len(rooms) > 1
        self._written = layout.written()
        self._read = self._kept(rooms, replace=replace)
        self._written = layout.written()  # without what was removed
        for name, index in self._read.items():
            self._plan(name, index)
        covered = {file for index in self._read.values() for file in index.good}
        # Files are put together in the same way whatever is done already, so that parts have the same names.
        left = [files for files in rooms if not covered.issuperset(each.name for each in files)]
        for bundle in bundles(left, several=self._several):
            self._wait_for(bundle)
        self._work()
        while self._settle():
            self._work()
        for index in self._read.values():
            _add(self.outcome.report, index)
        self.outcome.read = self._read
        if not self.outcome.failed:
            layout.finish(self._read)

    def _wait_for(self, bundle: Bundle) -> None:
        """Some files are to be read."""
        task = partial(read_bundle, bundle, self._settings, self._layout)
        self._waiting.append((_shown(bundle), task, partial(self._was_read, bundle.name)))

    def _was_read(self, bundle: str, index: Index) -> None:
        self.outcome.failed.update(index.failed)
        self._read[bundle] = index
        self._plan(bundle, index, new=True)

    def _kept(self, rooms: list[list[Input]], *, replace: bool) -> dict[str, Index]:
        """What has been read already.

        Raises:
            TowhomError: There are parts of logs that are not among the inputs, or have changed.
        """
        sizes = {name: each.size for name, each in self._inputs.items()}
        together = {each.name: files for files in rooms for each in files}
        kept: dict[str, Index] = {}
        covered: set[str] = set()
        # Where files were read twice, since a run was killed, those that were read with more of them count.
        for name, index in sorted(self._layout.indexes().items(), key=lambda pair: -len(pair[1].inputs)):
            other = [file for file, size in index.inputs if file in index.good and sizes.get(file) != size]
            if other and not replace:
                how = "has changed since it was read" if other[0] in sizes else "is not among these logs"
                raise TowhomError(
                    f"{self._layout.to}: there are parts of {other[0]}, which {how}; choose another folder, "
                    "or --force removes them"
                )
            lost = not all(self._can_be_made(name, number) for number in range(len(index.segments)))
            apart = any(each.name not in index.good for file in index.good for each in together.get(file, ()))
            renamed = index.several not in (None, self._several)
            # Where nothing came of files, or what came of them was removed, they are read again; and where
            # a room has more files now.
            if other or lost or apart or renamed or not index.good or covered & index.good:
                self._layout.forget(name, index)
            else:
                kept[name] = index
                covered |= index.good
        return kept

    def _settle(self) -> bool:
        """Whether something has to be read again, now that it is known which rooms and files there are.

        Rooms that are in files of several bundles are read together; rooms and files that an earlier export
        has as well get other names.
        """
        bundles = self._together()
        shared, moved = self._named_twice()
        again = False
        for names in bundles:
            indexes = [self._read[name] for name in names]
            good = {file for index in indexes for file in index.good}
            own = {room for index in indexes for room in index.rooms}
            files = {file for index in indexes for file in index.files}
            wanted = Bundle(
                tuple(each for name, each in self._inputs.items() if name in good),
                self._several,
                tuple(sorted((*room, shared[room]) for room in own if room in shared)),
                tuple(sorted((*file, moved[file]) for file in files if file in moved)),
            )
            is_so = (list(wanted.rooms), list(wanted.files)) == (indexes[0].shared, indexes[0].moved)
            if len(names) == 1 and is_so:
                continue
            for name in names:
                self._forget(name)
            self._wait_for(wanted)
            again = True
        return again

    def _together(self) -> list[list[str]]:
        """Bundles that have rooms in common."""
        of_bundle = {name: name for name in self._read}

        def first(name: str) -> str:
            while of_bundle[name] != name:
                name = of_bundle[name]
            return name

        of_room: dict[tuple[str, str], str] = {}
        for name, index in self._read.items():
            for room in index.rooms:
                other = of_room.setdefault(room, name)
                of_bundle[first(name)] = first(other)
        groups: dict[str, list[str]] = {}
        for name in self._read:
            groups.setdefault(first(name), []).append(name)
        return list(groups.values())

    def _named_twice(self) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
        """Rooms and files that an earlier export has as well, and what they are called."""
        exports = list(dict.fromkeys(each.export for each in self._inputs.values()))
        if len(exports) == 1:
            return {}, {}
        number = {export: place for place, export in enumerate(exports)}
        called = dict(zip(exports, export_names(exports), strict=True))
        rooms: dict[str, int] = {}
        files: dict[str, int] = {}
        everything = list(self._read.values())
        for index in everything:
            for found, earliest in ((index.rooms, rooms), (index.files, files)):
                for export, name in found:
                    earliest[name] = min(earliest.get(name, len(exports)), number[export])
        shared = {
            (export, name): in_export(name, called[export])
            for index in everything
            for export, name in index.rooms
            if rooms[name] < number[export]
        }
        moved = {
            (export, name): in_other(name, number[export])
            for index in everything
            for export, name in index.files
            if files[name] < number[export]
        }
        return shared, moved

    def _forget(self, bundle: str) -> None:
        """What was made of some files is not wanted; they are read again, in another way."""
        index = self._read.pop(bundle)
        outcome, parts = self.outcome, self._left.pop(f"parts of {bundle}", 0)
        outcome.files -= len(index.inputs) - len(index.failed) - len(index.skipped)
        outcome.lines -= index.lines
        outcome.parts -= parts
        outcome.done -= index.size * (parts / len(index.segments) if index.segments else 1)
        self._layout.forget(bundle, index)

    def _can_be_made(self, bundle: str, number: int) -> bool:
        """Whether a part is there, or what it is made from."""
        layout = self._layout
        return self._is_there(layout.part(bundle, number).name) or self._is_there(
            layout.segment(bundle, number).name
        )

    def _plan(self, bundle: str, index: Index, *, new: bool = False) -> None:
        """What is left to do about files that have been read."""
        outcome, layout = self.outcome, self._layout
        outcome.files += len(index.inputs) - len(index.failed) - len(index.skipped)
        outcome.lines += index.lines
        direct = len(index.segments) <= 1
        if not index.segments:
            outcome.done += index.size
        undone = [
            number
            for number in range(len(index.segments))
            if not (new and direct) and not self._is_there(layout.part(bundle, number).name)
        ]
        ready = len(index.segments) - len(undone)
        self._delivered(bundle, index, ready)
        todo = [number for number in undone if not self._is_worked(bundle, number)]
        self._left[bundle] = len(todo)
        for number in reversed(todo):
            task = partial(work_on, bundle, number, self._settings, layout)
            then = partial(self._worked, bundle, index, undone, number)
            self._waiting.appendleft((self._lines_of(index, number), task, then))
        if undone and not todo:
            self._join(bundle, index, undone)

    def _is_there(self, name: str) -> bool:
        return name.rpartition("/")[2] in self._written

    def _is_worked(self, bundle: str, number: int) -> bool:
        """Whether a segment waits only for conversations that begin before it."""
        return self._is_there(self._layout.work(bundle, number).name)

    def _lines_of(self, index: Index, number: int) -> str:
        files = [file for file, _ in index.inputs]
        others = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return f"{files[0]}{others}, part {number + 1} of {len(index.segments)}"

    def _worked(self, bundle: str, index: Index, undone: list[int], number: int, _: object) -> None:
        """A segment has been done."""
        self._left[bundle] -= 1
        if not index.segments[number][1]:
            self._delivered(bundle, index, 1)
        if self._left[bundle] == 0:
            self._join(bundle, index, undone)

    def _join(self, bundle: str, index: Index, undone: list[int]) -> None:
        """All segments have been done: conversations that go on from one to the next are joined."""
        layout, settings = self._layout, self._settings
        cut = [number for number in undone if index.segments[number][1]]
        if not cut:
            return

        def then(_: object) -> None:
            for number in reversed(cut):
                task = partial(finish, bundle, number, settings, layout)
                deliver = partial(self._finished, bundle, index)
                self._waiting.appendleft((self._lines_of(index, number), task, deliver))

        task = partial(join, bundle, index.segments, layout, settings.warm_up)
        self._waiting.appendleft((self._lines_of(index, 0), task, then))

    def _finished(self, bundle: str, index: Index, _: object) -> None:
        self._delivered(bundle, index, 1)

    def _delivered(self, bundle: str, index: Index, parts: int) -> None:
        """Some parts of a bundle are there; when all are, what they were made from can go."""
        if not parts:
            return
        self.outcome.parts += parts
        self.outcome.done += parts * index.size / len(index.segments)
        self._left[f"parts of {bundle}"] += parts
        if self._left[f"parts of {bundle}"] == len(index.segments):
            self._layout.tidy(bundle, index)

    def _work(self) -> None:
        """Do what is waiting, and what comes of it, until nothing is left."""
        running: dict[Future[Any], tuple[str, Then]] = {}
        self._progress(self.outcome)
        try:
            while self._waiting or running:
                while self._waiting and len(running) < _AHEAD * self._pool.places():
                    what, task, then = self._waiting.popleft()
                    running[self._pool.executor.submit(task)] = what, then
                    if not self._pool.processes:
                        break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    self._take(future, *running.pop(future))
                self._progress(self.outcome)
        finally:
            for future in running:
                future.cancel()

    def _take(self, future: Future[Any], what: str, then: Then) -> None:
        """What came of a piece of work."""
        try:
            result = future.result()
        except (CancelledError, ModelFormatError, MissingExtraError):  # not about these files alone
            raise
        except Exception as error:  # whatever it was, the other files are done
            reason = str(error) if isinstance(error, TowhomError) else f"{type(error).__name__}: {error}"
            reason = reason if isinstance(error, LogError) else f"{what}: {reason}"
            if self._settings.strict:
                raise TowhomError(reason) from error
            self.outcome.failed[what] = reason
            return
        then(result)


def _shown(bundle: Bundle) -> str:
    names = [each.name for each in bundle.inputs]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _add(report: Report, index: Index) -> None:
    """Take over what the reading of some files met."""
    told = index.report
    own = Report(malformed=told.get("malformed", 0), redecoded=told.get("redecoded", 0))
    own.kinds.update({Kind(kind): count for kind, count in told.get("kinds", {}).items()})
    own.problems, own.skipped_files = list(told.get("problems", ())), list(index.skipped)
    own.assumptions = list(told.get("assumptions", ()))
    report.add(own)
