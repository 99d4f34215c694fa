"""The tasks of a run: each turns files into files, with the same result wherever and whenever it runs."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from towhom.batch.inputs import Bundle, Input
from towhom.batch.layout import Index, Layout, index_json
from towhom.batch.rows import Row, encode, row_of
from towhom.batch.segments import FILE, Gathered, Line, Room, Segment, cut, decoded
from towhom.batch.settings import Command, Settings
from towhom.errors import LogError, ModelFormatError
from towhom.live.model import Model, load_live
from towhom.live.reading import Answered, answers
from towhom.places import Place, is_address
from towhom.readers import Log, Report, find_logs
from towhom.readers.base import Folder, file_source
from towhom.readers.identity import Located, Namer, room_of_file
from towhom.readers.remote import remote_source
from towhom.version import __version__


def read_bundle(bundle: Bundle, settings: Settings, layout: Layout) -> Index:
    """Read a bundle, and cut its lines into segments; a single segment is processed immediately."""
    report = Report(strict=settings.strict)
    reading = _Reading(bundle, settings, report)
    segments: list[tuple[int, bool, bool]] = []
    try:
        for place, each in enumerate(bundle.inputs):
            reading.take(each, place * FILE, (each.export, room_of_file(*each.place)))
        cuts = cut(reading.gathered, settings.part, settings.warm_up, whole=settings.whole)
        one = next(cuts, None)
        following = None if one is None else next(cuts, None)
        for number, segment in enumerate(_chain(one, following, cuts)):
            segments.append((segment.size, segment.cut, segment.runs[-1].goes_on))
            if following is None:
                layout.part(bundle.name, number).write(
                    encode(_rows(segment, settings)[0], settings.command, settings.output)
                )
            else:
                layout.segment(bundle.name, number).write(segment.encoded())
    finally:
        reading.gathered.close()
    done = Index(
        [(each.name, each.size) for each in bundle.inputs],
        segments,
        sum(lines for lines, _, _ in segments),
        reading.failed,
        report.skipped_files,
        {
            "kinds": {kind.value: count for kind, count in sorted(report.kinds.items())},
            "malformed": report.malformed,
            "redecoded": report.redecoded,
            "problems": report.problems,
            "assumptions": report.assumptions,
        },
        sorted(reading.rooms),
        sorted(reading.files),
        bundle.several if reading.counted else None,
        sorted(bundle.rooms),
        sorted(bundle.files),
    )
    layout.index(bundle.name).write(index_json(done))
    return done


def _chain(one: Segment | None, following: Segment | None, rest: Iterator[Segment]) -> Iterator[Segment]:
    if one is not None:
        yield one
    if following is not None:
        yield following
    yield from rest


class _Reading:
    """Reads the lines of a bundle, with their ids, by room."""

    def __init__(self, bundle: Bundle, settings: Settings, report: Report) -> None:
        self._settings, self._report = settings, report
        self._namer = Namer(several=bundle.several)
        self._shared = {(export, room): shown for export, room, shown in bundle.rooms}
        self._moved = {(export, file): shown for export, file, shown in bundle.files}
        self.gathered = Gathered()
        self.failed: dict[str, str] = {}
        self.rooms: set[tuple[str, str]] = set()
        """Export and name of each room, as the logs call them."""
        self.files: set[tuple[str, str]] = set()
        """Export and name of each file that occurs in ids."""

    @property
    def counted(self) -> bool:
        """Whether some ids are message counts within a room."""
        return self._namer.counted

    def take(self, each: Input, number: int, group: Hashable) -> None:
        """Read the lines of a file, which are numbered from `number` on.

        If the file cannot be read to its end, all of its lines are dropped.

        Raises:
            LogError: The file cannot be read, and the settings are strict.
        """
        own, report = Gathered(), Report(strict=self._settings.strict)
        try:
            for log in _logs(each, self._settings, report):
                for located in self._lines(log, each, group, report):
                    own.add(Room(each.export, located.room), Line(located, number).encoded())
                    number += 1
        except (LogError, OSError) as error:
            if self._settings.strict:
                raise
            where = "" if isinstance(error, LogError) else f"{each.name}: "
            self.failed[each.name] = f"{where}{error}"
        else:
            self._report.add(report)
            self.gathered.take(own)
        finally:
            own.close()

    def _lines(self, log: Log, each: Input, group: Hashable, report: Report) -> Iterator[Located]:
        export = each.export

        def room_of(name: str) -> str:
            self.rooms.add((export, name))
            return self._shared.get((export, name), name)

        def file_of(name: str) -> str:
            self.files.add((export, name))
            return self._moved.get((export, name), name)

        return self._namer.lines(log, group, report, room_of, file_of)


def _logs(each: Input, settings: Settings, report: Report) -> list[Log]:
    """The logs of a file, named by their path in the argument; empty for a non-log found in a folder."""
    try:
        logs = find_logs(each.where, format=settings.format, report=report)
    except LogError as error:
        if each.folder is None:
            raise
        remote = is_address(each.where)
        source = remote_source(Place(each.where)) if remote else file_source(Path(each.where))
        _ = source.head  # a file that cannot even be opened is an error, and not skipped
        report.skipped_files.append(str(error))
        return []
    return logs if each.folder is None else [_placed(log, each) for log in logs]


def _placed(log: Log, each: Input) -> Log:
    """A log of a file in a folder, named as `find_logs` would name it if given the folder."""
    if isinstance(log.source, Folder):
        return log
    inside = "" if log.folder is None else log.source.name.removeprefix(log.folder)
    log.source.name = f"{each.folder}/{each.path}{inside}"
    return replace(log, folder=each.folder)


def work_on(bundle: str, number: int, settings: Settings, layout: Layout) -> int:
    """Process a segment; returns the number of its lines.

    The final rows are written, unless threads may begin before the segment: then `join` has to run first.
    """
    segment = Segment.of(layout.segment(bundle, number).read())
    rows, ends = _rows(segment, settings)
    layout.ends(bundle, number).write(ends.to_json(settings.warm_up))
    if segment.cut:
        layout.work(bundle, number).write("".join(_worked(row, ends) for row in rows).encode())
        return segment.size
    layout.part(bundle, number).write(encode(rows, settings.command, settings.output))
    return segment.size


def _worked(row: Row, ends: _Ends) -> str:
    """A preliminary row: whether its thread is still unknown, and the row."""
    need = ends.needs(row["id"])
    return json.dumps([need is not None, row if need is None else {**row, "thread": need}]) + "\n"


def join(bundle: str, segments: list[tuple[int, bool, bool]], layout: Layout, warm_up: int) -> None:
    """Find the thread of each message that is answered across a cut, following rooms in order."""
    seams: dict[str, dict[str, str]] = {}
    known: dict[str, str] = {}
    for number, (_, is_cut, goes_on) in enumerate(segments):
        if not is_cut:
            known = {}
        if not is_cut and not goes_on:
            continue
        told = json.loads(layout.ends(bundle, number).read())
        seams[str(number)] = {answered: known[answered] for answered in told["needs"]}
        for message, thread, begins_before in told["ends"]:
            known[message] = known[thread] if begins_before else thread
        for message in list(known)[:-warm_up]:
            del known[message]
    layout.seams(bundle).write(json.dumps(seams).encode())


def finish(bundle: str, number: int, settings: Settings, layout: Layout) -> int:
    """Write the final rows of a segment, with the threads that begin before it."""
    seams = json.loads(layout.seams(bundle).read())[str(number)]
    rows = []
    for line in layout.work(bundle, number).read().splitlines():
        needs, row = json.loads(line)
        if needs:
            row["thread"] = seams[row["thread"]]
        rows.append(row)
    layout.part(bundle, number).write(encode(rows, settings.command, settings.output))
    return len(rows)


@lru_cache(maxsize=1)
def _model(folder: Path | None, fingerprint: str, version: str) -> Model:
    """The model, loaded once per process.

    Raises:
        ModelFormatError: This machine has another model, or another version of towhom.
    """
    if version != __version__:
        raise ModelFormatError(f"a worker has towhom {__version__}, and the run was started with {version}")
    model = load_live(folder)
    if model.saved.fingerprint != fingerprint:
        where = "the model that comes with towhom" if folder is None else str(folder)
        raise ModelFormatError(f"{where}: a worker has another model there than the run was started with")
    return model


def _rows(segment: Segment, settings: Settings) -> tuple[list[Row], _Ends]:
    """The rows of a segment, and how its threads connect to other segments."""
    model = _model(settings.model, settings.fingerprint, settings.version)
    lines = [(run, decoded(line, run.room)) for run in segment.runs for line in run.lines]
    found = answers(model, (line.located for _, line in lines))
    rows: list[Row] = []
    ends = _Ends()
    left = {id(run): run.before for run in segment.runs}
    for (run, line), answered in zip(lines, found, strict=True):
        if left[id(run)]:
            left[id(run)] -= 1
            ends.heard_before(answered)
            continue
        ends.heard(answered, line.heard, needed=run.goes_on or run.before > 0)
        if settings.command is not Command.WHO or answered.message.kind in settings.kinds:
            rows.append(row_of(answered, line, settings.command))
    return rows, ends


class _Ends:
    """Which threads of a segment begin before it, and which threads its last messages belong to.

    A thread is named by its first message. A thread that begins before the segment is named by the earlier
    message that is answered, because only another segment knows the thread of that message.
    """

    def __init__(self) -> None:
        self._before: set[str] = set()
        self._threads: dict[str, tuple[str, bool]] = {}
        self._heard: list[str] = []

    def heard_before(self, answered: Answered) -> None:
        """Note a message that serves only as warm-up."""
        self._before.add(answered.located.id)

    def heard(self, answered: Answered, counts: bool, *, needed: bool) -> None:
        """Note a message of the segment; `counts` says whether others can answer it."""
        if not needed:
            return
        id, to = answered.located.id, answered.replies_to
        thread = answered.thread, False
        if answered.thread in self._before:
            thread = (to, True) if to in self._before else self._threads.get(to, thread)
        self._threads[id] = thread
        if counts:
            self._heard.append(id)

    def needs(self, id: str) -> str | None:
        """The message before the segment whose thread a message belongs to; None if it begins in it."""
        thread, before = self._threads.get(id, ("", False))
        return thread if before else None

    def to_json(self, warm_up: int) -> bytes:
        """The data that the next segment needs."""
        last = [(id, *self._threads[id]) for id in self._heard[-warm_up:]]
        needs = sorted({thread for thread, before in self._threads.values() if before})
        return json.dumps({"ends": last, "needs": needs}).encode()
