"""A run over many logs: does the work that is left, in any order, and none of it twice."""

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
"""Tasks that are submitted per worker: enough that none is idle, few enough that little is half done."""


@dataclass
class Outcome:
    """The progress and the result of a run.

    Args:
        size: Bytes of all files.
        done: Bytes of the files whose parts exist.
        files: Number of files read.
        lines: Number of lines read.
        parts: Number of parts that exist.
        failed: File or part that failed -> reason.
        report: What was found in the logs: kinds of lines, problems and so on.
        read: The indexes, by bundle; set when the run is complete.
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
    """Make those parts of some logs that do not exist yet.

    Args:
        inputs: The logs.
        layout: The folder of the results.
        settings: The settings of the results. If they are strict, the first failure ends the run.
        pool: The workers.
        replace: Whether results of other logs or with other settings may be removed.
        progress: Called as work is completed.

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
    """The state of a run; the constructor does all the work."""

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
        self._written = layout.written()  # without the files just removed
        for name, index in self._read.items():
            self._plan(name, index)
        covered = {file for index in self._read.values() for file in index.good}
        # Bundles are formed in the same way whatever is done already, so that parts have the same names.
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
        """Queue the reading of a bundle."""
        task = partial(read_bundle, bundle, self._settings, self._layout)
        self._waiting.append((_shown(bundle), task, partial(self._was_read, bundle.name)))

    def _was_read(self, bundle: str, index: Index) -> None:
        self.outcome.failed.update(index.failed)
        self._read[bundle] = index
        self._plan(bundle, index, new=True)

    def _kept(self, rooms: list[list[Input]], *, replace: bool) -> dict[str, Index]:
        """The indexes of earlier runs that can be kept; removes the results of the others.

        Raises:
            TowhomError: There are parts of logs that are not among the inputs, or have changed.
        """
        sizes = {name: each.size for name, each in self._inputs.items()}
        together = {each.name: files for files in rooms for each in files}
        kept: dict[str, Index] = {}
        covered: set[str] = set()
        # If a killed run caused files to be read twice, the larger bundle is kept.
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
            # Files are read again if nothing came of them, if their results were removed, or if their room
            # has more files now.
            if other or lost or apart or renamed or not index.good or covered & index.good:
                self._layout.forget(name, index)
            else:
                kept[name] = index
                covered |= index.good
        return kept

    def _settle(self) -> bool:
        """Queue what has to be read again, now that all rooms and files are known; returns whether any has.

        Bundles that share rooms are read together; rooms and files whose names also occur in an earlier
        export get other names.
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
        """The bundles, grouped so that those with rooms in common are together."""
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
        """New names for the rooms and the files whose names also occur in an earlier export."""
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
        """Discard the results of a bundle, whose files are read again in another bundle."""
        index = self._read.pop(bundle)
        outcome, parts = self.outcome, self._left.pop(f"parts of {bundle}", 0)
        outcome.files -= len(index.inputs) - len(index.failed) - len(index.skipped)
        outcome.lines -= index.lines
        outcome.parts -= parts
        outcome.done -= index.size * (parts / len(index.segments) if index.segments else 1)
        self._layout.forget(bundle, index)

    def _can_be_made(self, bundle: str, number: int) -> bool:
        """Whether a part exists, or the segment that it is made from."""
        layout = self._layout
        return self._is_there(layout.part(bundle, number).name) or self._is_there(
            layout.segment(bundle, number).name
        )

    def _plan(self, bundle: str, index: Index, *, new: bool = False) -> None:
        """Queue the work that is left for a bundle that has been read."""
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
        """Whether a segment waits only for threads that begin before it."""
        return self._is_there(self._layout.work(bundle, number).name)

    def _lines_of(self, index: Index, number: int) -> str:
        files = [file for file, _ in index.inputs]
        others = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return f"{files[0]}{others}, part {number + 1} of {len(index.segments)}"

    def _worked(self, bundle: str, index: Index, undone: list[int], number: int, _: object) -> None:
        """Note that a segment has been processed."""
        self._left[bundle] -= 1
        if not index.segments[number][1]:
            self._delivered(bundle, index, 1)
        if self._left[bundle] == 0:
            self._join(bundle, index, undone)

    def _join(self, bundle: str, index: Index, undone: list[int]) -> None:
        """After all segments are processed, queue the joining of threads that continue across them."""
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
        """Count parts of a bundle as delivered; after the last, remove the intermediate files."""
        if not parts:
            return
        self.outcome.parts += parts
        self.outcome.done += parts * index.size / len(index.segments)
        self._left[f"parts of {bundle}"] += parts
        if self._left[f"parts of {bundle}"] == len(index.segments):
            self._layout.tidy(bundle, index)

    def _work(self) -> None:
        """Run the waiting tasks, and the tasks that result from them, until none is left."""
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
        """Handle the result or the error of a task."""
        try:
            result = future.result()
        except (CancelledError, ModelFormatError, MissingExtraError):  # not specific to these files
            raise
        except Exception as error:  # after any other error, continue with the other files
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
    """Add what was found in the files of an index to a report."""
    told = index.report
    own = Report(malformed=told.get("malformed", 0), redecoded=told.get("redecoded", 0))
    own.kinds.update({Kind(kind): count for kind, count in told.get("kinds", {}).items()})
    own.problems, own.skipped_files = list(told.get("problems", ())), list(index.skipped)
    own.assumptions = list(told.get("assumptions", ()))
    report.add(own)
