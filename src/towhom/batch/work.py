"""One piece of the work: a function of files to a file, wherever and however often it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from towhom.batch.inputs import Bundle, Input
from towhom.batch.layout import Index, Layout, index_json
from towhom.batch.rows import Row, encode, identity, thread_row, who_row
from towhom.batch.segments import Gathered, Run, Segment, cut, decoded, numbered
from towhom.batch.settings import Command, Settings
from towhom.chat import CHANGES
from towhom.errors import LogError, ModelFormatError
from towhom.live.model import Model, load_live
from towhom.places import Place, is_address
from towhom.readers import Log, Report, find_logs
from towhom.readers.base import Folder, file_source
from towhom.readers.remote import remote_source
from towhom.version import __version__


def read_bundle(bundle: Bundle, settings: Settings, layout: Layout) -> Index:
    """Read some files, and cut their lines into segments; if there is only one, it is done at once."""
    index = Index([(each.name, each.size) for each in bundle.inputs])
    report = Report(strict=settings.strict)
    gathered = Gathered()
    try:
        for each in bundle.inputs:
            _gather(each, settings, gathered, report, index)
        segments = cut(gathered, settings.part, settings.warm_up)
        one = next(segments, None)
        following = None if one is None else next(segments, None)
        for number, segment in enumerate(_chain(one, following, segments)):
            index.segments.append((segment.size, segment.cut, segment.runs[-1].goes_on))
            if following is None:
                layout.part(bundle.name, number).write(
                    encode(_rows(segment, settings)[0], settings.command, settings.output)
                )
            else:
                layout.segment(bundle.name, number).write(segment.encoded())
    finally:
        gathered.close()
    done = Index(
        index.inputs,
        index.segments,
        sum(lines for lines, _, _ in index.segments),
        index.failed,
        report.skipped_files,
        {
            "kinds": {kind.value: count for kind, count in sorted(report.kinds.items())},
            "malformed": report.malformed,
            "redecoded": report.redecoded,
            "problems": report.problems,
        },
    )
    layout.index(bundle.name).write(index_json(done))
    return done


def _chain(one: Segment | None, following: Segment | None, rest: Iterator[Segment]) -> Iterator[Segment]:
    if one is not None:
        yield one
    if following is not None:
        yield following
    yield from rest


def _gather(each: Input, settings: Settings, gathered: Gathered, report: Report, index: Index) -> None:
    """Take the lines of a file; those of a file that cannot be read to its end are dropped.

    Raises:
        LogError: It cannot be read, and the settings are strict.
    """
    names: list[str] = []
    own = Report(strict=settings.strict)
    try:
        for log in _logs(each, settings, own):
            name = _name(each, log)
            names.append(name)
            for room, line in numbered(log.messages(own), name):
                gathered.add(room, line.encoded())
    except (LogError, OSError) as error:
        if settings.strict:
            raise
        gathered.forget(names)
        where = "" if isinstance(error, LogError) else f"{each.name}: "
        index.failed[each.name] = f"{where}{error}"
        return
    report.add(own)


def _name(each: Input, log: Log) -> str:
    """What a log is called: as the file it is, or within the archive that it is in."""
    if isinstance(log.source, Folder) or log.source.name == each.where:
        return each.name
    return f"{each.name}/{log.source.name.partition('/')[2]}"


def _logs(each: Input, settings: Settings, report: Report) -> list[Log]:
    """The logs of a file; none if it is no log and was not named as one."""
    try:
        return find_logs(each.where, format=settings.format, report=report)
    except LogError as error:
        if not each.listed:
            raise
        remote = is_address(each.where)
        source = remote_source(Place(each.where)) if remote else file_source(Path(each.where))
        _ = source.head  # what cannot even be opened is no file that is something else
        report.skipped_files.append(str(error))
        return []


def work_on(bundle: str, number: int, settings: Settings, layout: Layout) -> int:
    """Do a segment; how many lines it is about.

    Rows are written as they are delivered, unless conversations begin before them: then, `join` is to come.
    """
    segment = Segment.of(layout.segment(bundle, number).read())
    rows, ends = _rows(segment, settings)
    if settings.command is Command.THREADS:
        layout.ends(bundle, number).write(json.dumps(ends).encode())
        if segment.cut:
            layout.work(bundle, number).write("".join(json.dumps(row) + "\n" for row in rows).encode())
            return segment.size
    layout.part(bundle, number).write(encode(rows, settings.command, settings.output))
    return segment.size


def join(bundle: str, segments: list[tuple[int, bool, bool]], layout: Layout, warm_up: int) -> None:
    """Find the conversation of each message that is answered across a cut; rooms are followed in order."""
    seams: dict[str, dict[str, str]] = {}
    known: dict[int, str] = {}
    for number, (_, is_cut, goes_on) in enumerate(segments):
        if not is_cut:
            known = {}
        if not is_cut and not goes_on:
            continue
        told = json.loads(layout.ends(bundle, number).read())
        seams[str(number)] = {str(answered): known[answered] for answered in told["needs"]}
        for message, thread in told["ends"]:
            known[message] = known[thread] if isinstance(thread, int) else thread
        for message in list(known)[:-warm_up]:
            del known[message]
    layout.seams(bundle).write(json.dumps(seams).encode())


def finish(bundle: str, number: int, settings: Settings, layout: Layout) -> int:
    """Write the rows of a segment with conversations that begin before it."""
    seams = json.loads(layout.seams(bundle).read())[str(number)]
    rows = []
    for line in layout.work(bundle, number).read().splitlines():
        row = json.loads(line)
        if isinstance(row["thread"], int):
            row["thread"] = seams[str(row["thread"])]
        rows.append(row)
    layout.part(bundle, number).write(encode(rows, settings.command, settings.output))
    return len(rows)


@lru_cache(maxsize=1)
def _model(folder: Path | None, fingerprint: str, version: str) -> Model:
    """The model, once a process.

    Raises:
        ModelFormatError: This machine has another one, or another towhom.
    """
    if version != __version__:
        raise ModelFormatError(f"a worker has towhom {__version__}, and the run was started with {version}")
    model = load_live(folder)
    if model.saved.fingerprint != fingerprint:
        where = "the model that comes with towhom" if folder is None else str(folder)
        raise ModelFormatError(f"{where}: a worker has another model there than the run was started with")
    return model


def _rows(segment: Segment, settings: Settings) -> tuple[list[Row], dict[str, Any]]:
    """Rows of a segment; which conversations its last messages belong to, and which it needs."""
    model = _model(settings.model, settings.fingerprint, settings.version)
    if settings.command is Command.WHO:
        return [row for run in segment.runs for row in _who(run, model, settings)], {}
    rows: list[Row] = []
    ends: list[tuple[int, str | int]] = []
    needs: set[int] = set()
    for run in segment.runs:
        made, threads = _threads(run, model)
        rows += made
        if run.goes_on:
            ends = threads[-settings.warm_up :]
        needs.update(row["thread"] for row in made if isinstance(row["thread"], int))
    return rows, {"ends": ends, "needs": sorted(needs)}


def _who(run: Run, model: Model, settings: Settings) -> Iterator[Row]:
    lines = [decoded(line) for line in run.lines]
    own = {line.number: line for line in lines[run.before :]}
    heard = (line.message for line in lines if line.message.kind in (*settings.kinds, *CHANGES))
    for observation in model.observations(heard):
        number = observation.placed.line
        if number in own and observation.placed.message.kind in settings.kinds:
            yield who_row(own[number], run.room, observation)


def _threads(run: Run, model: Model) -> tuple[list[Row], list[tuple[int, str | int]]]:
    """Rows of a room, and the conversation of each message that can be answered.

    A conversation is called by its first message; one that begins before the run by the number of the
    message before it that is answered, since where that belongs is known to another segment.
    """
    lines = [decoded(line) for line in run.lines]
    before = {line.number for line in lines[: run.before]}
    threads: dict[int, str | int] = {}
    rows: list[Row] = []
    heard: list[int] = []
    for line, placed in zip(lines, model.threads(line.message for line in lines), strict=True):
        if line.number in before:
            continue
        thread: str | int = identity(run.room.file, placed.thread)
        if placed.thread in before:
            answered = placed.replies_to[0]
            thread = answered if answered in before else threads.get(answered, placed.thread)
        row = thread_row(line, run.room, placed)
        row["thread"] = threads[line.number] = thread
        rows.append(row)
        if line.heard:
            heard.append(line.number)
    return rows, [(number, threads[number]) for number in heard]
