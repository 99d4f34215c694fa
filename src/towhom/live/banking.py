"""Builds response banks from logs: of every message that answers another and can be used again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import regex
from numpy.typing import NDArray

from towhom.bank.approximate import write_index
from towhom.bank.filters import LIKELY, Left, is_bot, is_no_help, reason_to_leave, thanks
from towhom.bank.heads import signature
from towhom.bank.slots import without_names
from towhom.bank.store import MANIFEST, Bank, check_link, key_of
from towhom.bank.tables import (
    ASKED,
    FIXED,
    FLAGS,
    LISTS,
    NO_TIME,
    SCALES,
    TEXTS,
    VECTORS,
    Table,
    table_of,
)
from towhom.bank.writing import (
    by_any,
    counted,
    first_of_each,
    next_segment,
    text_keys,
    tidy,
    write_manifest,
    write_segment,
)
from towhom.blas import one_thread
from towhom.chat import Kind, Message
from towhom.corpus import Corpus
from towhom.corpus.store import is_corpus
from towhom.documents import read_json
from towhom.errors import BankError
from towhom.files import atomic_file
from towhom.hearing.utterance import Utterance
from towhom.hearing.words import asks, normalized, words
from towhom.live.channel import CHUNK, Channel, Line, Turn
from towhom.live.following import follow_together
from towhom.live.model import Model, load_live
from towhom.parts import prepare_parts
from towhom.readers import Document, Report, find_logs

_PART = 20_000
"""Lines per part. A part is written when it is done, and not computed again."""
_OTHERS = {
    "sources": "other logs", "rules": "other rules", "model": "another model", "strict": "another --strict",
}  # fmt: skip
_TUNED_BY = 256
"""Number of questions used to tune an index."""
_LONGEST = 1001
"""Characters of a message that are read: one more than responses may have."""
_OPENING = 4
"""The largest number of messages in the opening of a conversation."""
_REMEMBERED = 1000
"""Number of conversations, and of answers, of a room that are remembered for later messages."""
T = TypeVar("T")


@dataclass(frozen=True)
class Rules:
    """What is left out of a bank, besides what `towhom.bank.filters` leaves out.

    Args:
        opt_outs: Names of people whose messages are left out, and answers to them as well.
        bots: Names of programs.
        pattern: A regular expression; a response is left out if it, its question or its opening matches.
        likely: The least probability of the link between a response and its question.
        openings: Whether to keep the opening of the conversation beside the question.
    """

    opt_outs: tuple[str, ...] = ()
    bots: tuple[str, ...] = ()
    pattern: str | None = None
    likely: float = LIKELY
    openings: bool = True


class Progress(NamedTuple):
    """The progress of a run."""

    parts: int
    messages: int
    responses: int


class Built(NamedTuple):
    """The result of a run: numbers of messages and responses, and what was left out."""

    messages: int
    responses: int
    left_out: Counter[str]


def build_bank(
    folder: Path,
    sources: Sequence[str | Path],
    *,
    model: Path | None = None,
    rules: Rules = Rules(),  # noqa: B008
    link: str | None = None,
    format: str | None = None,
    report: Report | None = None,
    workers: int = 1,
    replace_old: bool = False,
    progress: Callable[[Progress], None] = lambda done: None,
) -> Built:
    """Build a bank from logs and corpora. An interrupted run continues where it stopped.

    Its parts lie in `FOLDER.parts` until it is complete.

    Args:
        folder: The folder of the bank.
        sources: Logs, as `towhom.read` takes them, and folders that `towhom corpus build` made.
        model: A model folder; None for the model that comes with towhom.
        rules: What is left out.
        link: The template of links to messages, with `store.LINK_FIELDS` in braces.
        format: The format of the logs; detected if None.
        report: Counts what was read; reading is strict if the report is.
        workers: Number of processes; the bank is the same for any number.
        replace_old: Whether to replace an existing bank, and parts of another run.
        progress: Called after each part.

    Raises:
        BankError: The folder exists already, there is no log, or a rule or the link is invalid.
        LogError: A log cannot be read.
    """
    if folder.exists() and not replace_old:
        raise BankError(f"{folder}: already exists; add to it with `towhom bank add`, or give --force")
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise BankError(f"{folder}: is not a response bank, and will not be replaced by one")
    if link is not None:
        check_link(link)
    loaded, report = load_live(model), Report() if report is None else report
    described = _described(sources, loaded, rules, format, report)
    salt = hashlib.blake2b(json.dumps(described).encode(), digest_size=16).hexdigest()
    parts = folder.with_name(f"{folder.name}.parts")
    settings = {**described, "salt": salt}
    prepare_parts(parts, settings, others=_OTHERS, replace=replace_old, error=BankError)
    found = _run(parts, sources, model, rules, salt, format, report, workers, progress)
    building = parts / "bank"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    manifest = {
        "model": described["model"], "salt": salt, "link": link, "segments": [],
        "forgotten": {"speakers": [], "ids": []}, "sources": described["sources"],
    }  # fmt: skip
    built = _append(building, manifest, found, np.empty(0, np.uint64), loaded)
    if folder.exists():
        shutil.rmtree(folder)
    building.rename(folder)
    shutil.rmtree(parts)
    return built


def add_to_bank(
    folder: Path,
    sources: Sequence[str | Path],
    *,
    model: Path | None = None,
    rules: Rules = Rules(),  # noqa: B008
    format: str | None = None,
    report: Report | None = None,
    workers: int = 1,
    restart: bool = False,
    progress: Callable[[Progress], None] = lambda done: None,
) -> Built:
    """Add the responses of more logs to a bank; see `build_bank`. Responses that it has already are left out.

    Raises:
        BankError: The folder is not a bank, the bank is of another model, or it has these logs already.
        LogError: A log cannot be read.
    """
    bank, loaded = Bank(folder), load_live(model)
    bank.require_model(loaded.fingerprint)
    report = Report() if report is None else report
    described = _described(sources, loaded, rules, format, report)
    known = {each["sha256"] for each in bank.manifest["sources"]}
    again = [each["name"] for each in described["sources"] if each["sha256"] in known]
    if again:
        raise BankError(f"{folder}: was made of {again[0]} already; give logs that are new")
    parts = folder.with_name(f"{folder.name}.parts")
    settings = {**described, "salt": bank.salt}
    prepare_parts(parts, settings, others=_OTHERS, replace=restart, error=BankError)
    found = _run(parts, sources, model, rules, bank.salt, format, report, workers, progress)
    keys = [text_keys(piece) for segment in bank.segments for piece in segment.table.pieces()]
    manifest = dict(bank.manifest)
    manifest["sources"] = [*manifest["sources"], *described["sources"]]
    tidy(folder, manifest)
    built = _append(folder, manifest, found, np.concatenate([np.empty(0, np.uint64), *keys]), loaded)
    shutil.rmtree(parts)
    return built


def index_bank(bank: Bank, model: Model) -> dict[str, float]:
    """Make an index of a bank's vectors, tuned with questions from the bank; see `write_index`."""
    bank.require_model(model.fingerprint)
    rows = np.random.default_rng(0).permutation(len(bank))[:_TUNED_BY].tolist()
    asked = [
        Utterance("", "", tokens=model.lexicon.tokens(words(bank[row].question), lambda word: False))
        for row in sorted(rows)
    ]
    with one_thread():
        head = model.head
        queries = [
            head.heard(model.mind.read(asked[start : start + CHUNK]).state)
            for start in range(0, len(asked), CHUNK)
        ]
        return write_index(bank, np.concatenate([np.empty((0, len(head.heard_b)), np.float32), *queries]))


def _append(
    folder: Path, manifest: dict[str, Any], found: list[Path], known: NDArray[np.uint64], model: Model
) -> Built:
    """Write the responses of some parts as a new segment, without those that the bank has already."""
    forgotten = {name: np.array(keys, np.uint64) for name, keys in manifest["forgotten"].items()}
    keys, left_out, messages = [], Counter[str](), 0
    for path in found:
        counts = read_json(path.with_suffix(".json"))
        messages += counts["messages"]
        left_out.update(counts["left_out"])
        keys.append(text_keys(Table.load(path)))
    fresh = first_of_each(keys, known)
    every = np.sort(np.concatenate([np.empty(0, np.uint64), *keys]))
    kept = 0

    def tables() -> Iterator[Table]:
        nonlocal kept
        for path, own, wanted in zip(found, keys, fresh, strict=True):
            table = counted(Table.load(path), own, every)
            left_out[Left.REPEATED] += int((~wanted).sum())
            gone = by_any(table, forgotten["speakers"])
            if len(forgotten["ids"]):
                ids = [key_of(id, manifest["salt"]) for id in table.texts("id")]
                gone |= np.isin(np.array(ids, np.uint64), forgotten["ids"])
            left_out[Left.OPTED_OUT] += int((gone & wanted).sum())
            rows = np.flatnonzero(wanted & ~gone)
            kept += len(rows)
            yield table.at(rows)

    width = model.head.answers_b.shape[0]
    segment = write_segment(folder / next_segment(manifest), tables(), width)
    if kept or not manifest["segments"]:
        manifest = {**manifest, "segments": [*manifest["segments"], segment]}
    write_manifest(folder, manifest)
    return Built(messages, kept, +left_out)


def _described(
    sources: Sequence[str | Path], model: Model, rules: Rules, format: str | None, report: Report
) -> dict[str, Any]:
    """A description of a run's input: two runs with the same description make the same parts."""
    if rules.pattern is not None:
        _pattern(rules.pattern)
    found: list[dict[str, Any]] = []
    for source in map(Path, sources):
        if is_corpus(source):
            corpus = Corpus(source)
            found.append({"name": source.name, "sha256": corpus.manifest["hash"]})
            continue
        for log in find_logs(source, format=format, report=Report()):
            _, digest = log.source.digest()
            found.append({"name": Path(log.source.name).name, "sha256": digest})
    if not found:
        raise BankError("there is no log to build a bank from")
    return {
        "model": signature(model.fingerprint),
        "rules": json.loads(json.dumps(asdict(rules))),
        "sources": found,
        "strict": report.strict,
    }


# -- parts


class _Task(NamedTuple):
    """Consecutive documents of one log or corpus, which make one part."""

    path: Path
    """The file of the part."""
    documents: tuple[Document, ...]
    corpus: Path | None
    first: int
    last: int


def _run(
    parts: Path,
    sources: Sequence[str | Path],
    model: Path | None,
    rules: Rules,
    salt: str,
    format: str | None,
    report: Report,
    workers: int,
    progress: Callable[[Progress], None],
) -> list[Path]:
    """Compute all parts that are missing; returns the files of all parts, in order."""
    found: list[Path] = []
    done = Progress(0, 0, 0)

    def tasks() -> Iterator[_Task]:
        for task in _tasks(parts, sources, format, report):
            found.append(task.path)
            yield task

    def count(path: Path) -> None:
        nonlocal done
        counts = read_json(path.with_suffix(".json"))
        done = Progress(
            done.parts + 1, done.messages + counts["messages"], done.responses + counts["responses"]
        )
        progress(done)

    for path in _done(tasks(), model, rules, salt, report.strict, workers):
        count(path)
    return found


def _done(
    tasks: Iterable[_Task], model: Path | None, rules: Rules, salt: str, strict: bool, workers: int
) -> Iterator[Path]:
    """Compute parts in one or several processes, in order; few wait at a time, so that memory is bounded."""
    if workers <= 1:
        for task in tasks:
            yield _write_part(task, model, rules, salt, strict)
        return
    # Spawned, not forked, since a fork of a process with threads may hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[Path]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(_write_part, task, model, rules, salt, strict))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _tasks(parts: Path, sources: Sequence[str | Path], format: str | None, report: Report) -> Iterator[_Task]:
    number = 0

    def path() -> Path:
        nonlocal number
        number += 1
        return parts / f"{number:06}.safetensors"

    for source in map(Path, sources):
        if is_corpus(source):
            for first, last in Corpus(source).ranges(_PART):
                yield _Task(path(), (), source, first, last)
            continue
        for log in find_logs(source, format=format, report=report):
            with closing(log.documents(report)) as documents:
                waiting: list[Document] = []
                for document in documents:
                    waiting.append(document)
                    if sum(len(each.records) for each in waiting) >= _PART:
                        yield _Task(path(), tuple(waiting), None, 0, 0)
                        waiting = []
                if waiting:
                    yield _Task(path(), tuple(waiting), None, 0, 0)


class _Row(NamedTuple):
    """A response; without texts, the row says that a message was deleted."""

    texts: dict[str, str]
    lists: dict[str, NDArray[Any]]
    fixed: dict[str, int]
    asked_ids: tuple[str | None, ...]


def _write_part(task: _Task, model: Path | None, rules: Rules, salt: str, strict: bool) -> Path:
    """Write the responses of a part's documents, unless that was done already."""
    counts_path = task.path.with_suffix(".json")
    if task.path.exists() and counts_path.exists():
        return task.path
    left_out, total = Counter[str](), 0
    loaded = _loaded(model)
    found: list[_Row] = []
    with one_thread():
        documents = list(_messages(task, strict))
        names = frozenset(
            normalized(name)
            for _, messages in documents
            for message in messages
            for name in (message.speaker, message.name or "")
        )
        keeps: dict[str | None, _Keep] = {}
        for document, messages in documents:
            total += sum(message.kind is Kind.MESSAGE for message in messages)
            for start in range(0, len(messages), CHUNK):
                by_channel: dict[str | None, list[Message]] = {}
                for message in messages[start : start + CHUNK]:
                    by_channel.setdefault(message.channel, []).append(message)
                for room, lines in by_channel.items():
                    if room not in keeps:
                        keeps[room] = _Keep(loaded, rules, salt, names, left_out)
                    found += keeps[room].rows(document, lines)
        rows = _still_there(found)
        table = _table(rows, loaded)
    table.save(task.path)
    with atomic_file(counts_path, "w") as file:
        json.dump({"messages": total, "responses": len(rows), "left_out": dict(left_out)}, file)
    return task.path


_models: dict[Path | None, Model] = {}


def _loaded(model: Path | None) -> Model:
    """A model, loaded once in each process."""
    if model not in _models:
        _models[model] = load_live(model)
    return _models[model]


def _messages(task: _Task, strict: bool) -> Iterator[tuple[str, list[Message]]]:
    """The documents of a part: the name and the messages of each."""
    if task.corpus is None:
        report = Report(strict=strict)
        for document in task.documents:
            yield document.name, list(document.messages(report))
        return
    corpus = Corpus(task.corpus)
    for place in range(task.first, task.last):
        conversation = corpus.conversation(place)
        yield (
            conversation.name,
            [replace(each, line=line) for line, each in enumerate(conversation.messages)],
        )


def _still_there(rows: Sequence[_Row]) -> list[_Row]:
    """The final responses: without earlier versions of edited ones, and without deleted ones."""
    taken_back = {id for row in rows if not row.texts for id in row.asked_ids}
    last = {row.texts["id"]: row for row in rows if row.texts and row.texts["id"]}
    return [
        row
        for row in rows
        if row.texts
        and (not row.texts["id"] or last[row.texts["id"]] is row)
        and (not row.texts["id"] or row.texts["id"] not in taken_back)
        and taken_back.isdisjoint(row.asked_ids)
    ]


class _Opening(NamedTuple):
    """The opening of a conversation: its first messages, by the person who started it."""

    said: list[Utterance]
    whole: list[bool]
    """Not empty once the opening is complete: somebody else has spoken, or it is long enough."""


class _Keep:
    """Follows a room, and makes rows of the messages that can be used again."""

    def __init__(
        self, model: Model, rules: Rules, salt: str, names: frozenset[str], left_out: Counter[str]
    ) -> None:
        self._channel = Channel(model.mind, model.lexicon)
        self._model, self._salt, self._names, self._left_out = model, salt, names, left_out
        self._likely = rules.likely
        self._opt_outs = {key_of(name, salt) for name in rules.opt_outs}
        self._bots = {key_of(name, salt) for name in rules.bots}
        self._pattern = None if rules.pattern is None else _pattern(rules.pattern)
        self._wants_openings = rules.openings
        self._openings: dict[int, _Opening] = {}
        self._rows: dict[int, _Row] = {}
        """The latest rows, by line; somebody may give thanks for them later."""
        self._document = ""

    def rows(self, document: str, lines: Sequence[Message]) -> list[_Row]:
        """The rows of the next lines of the room."""
        self._document = document
        return [row for row in follow_together([self._channel.follow(lines, self._see)])[0] if row]

    def _see(self, line: Line) -> _Row | None:
        if line.message.kind is Kind.DELETE and line.message.id is not None:
            return _Row({}, {}, {}, (line.message.id,))
        if line.turn is None or line.message.kind not in (Kind.MESSAGE, Kind.EDIT):
            return None
        if line.message.kind is Kind.MESSAGE:
            self._open(line.turn)
            self._thank(line.turn)
        found = self._row(line.message, line.turn)
        if isinstance(found, Left):
            self._left_out[found] += 1
            return None
        _remember(self._rows, line.turn.line, found)
        return found

    def _open(self, turn: Turn) -> None:
        """Remember the opening of a conversation: what its starter says before anybody else speaks."""
        if turn.answers == turn.line:
            _remember(self._openings, turn.thread, _Opening([turn.utterance], []))
            return
        opening = self._openings.get(turn.thread)
        if opening is None or opening.whole:
            return
        if opening.said[0].speaker == turn.utterance.speaker:
            opening.said.append(turn.utterance)
        if opening.said[0].speaker != turn.utterance.speaker or len(opening.said) == _OPENING:
            opening.whole.append(True)

    def _thank(self, turn: Turn) -> None:
        """Flag an answer as helpful if the person who asked gives thanks for it."""
        row = self._rows.get(turn.answers)
        if row is not None and key_of(turn.utterance.speaker, self._salt) == row.fixed["asker_id"]:
            row.fixed["flags"] |= thanks(turn.utterance.text) << FLAGS.index("thanked")

    def _opening(self, turn: Turn, question: Utterance) -> list[Utterance]:
        """The asker's messages from the opening of the conversation, without the question."""
        opening = self._openings.get(turn.thread)
        if opening is None or opening.said[0].speaker != question.speaker or not self._wants_openings:
            return []
        return [each for each in opening.said if each is not question and not each.gone]

    def _row(self, message: Message, turn: Turn) -> _Row | Left:
        said, question = turn.utterance, turn.answered
        if (
            question is None
            or question.speaker == said.speaker
            or turn.likely < self._likely
            or question.gone
        ):
            return Left.NO_ANSWER
        people, salt = self._channel.people, self._salt
        who, asker = (
            {key_of(name, salt) for name in self._names_of(id)} for id in (said.speaker, question.speaker)
        )
        if is_bot(message) or who & self._bots or asker & self._bots:
            return Left.BOT
        if (who | asker) & self._opt_outs:
            return Left.OPTED_OUT
        text = self._slotted(said.text, question.speaker, said.speaker)
        reason = reason_to_leave(said, text)
        if reason is not None:
            return reason
        before = self._opening(turn, question)
        asked, opening = (
            self._slotted(each, said.speaker, question.speaker)
            for each in (question.text, " ".join(each.text for each in before))
        )
        if self._pattern is not None and any(map(self._pattern.search, (text, asked, opening))):
            return Left.MATCHES
        values = (
            said.asks, question.asks or asks(question.text), *said.bearing, said.everybody, said.command,
            False, is_no_help(text),
        )  # fmt: skip
        flags = sum(bool(value) << place for place, value in enumerate(values))
        fixed = {
            "line": turn.line, "thread": turn.thread, "asked": turn.answers,
            "time": NO_TIME if said.time is None else int(said.time),
            "speaker": key_of(people.name_of(said.speaker), salt),
            "speaker_id": key_of(said.speaker, salt),
            "asker": key_of(people.name_of(question.speaker), salt),
            "asker_id": key_of(question.speaker, salt),
            "flags": flags, "times": 1,
        }  # fmt: skip
        texts = {
            "response": text, "question": asked, "opening": opening, "document": self._document,
            "channel": message.channel or "", "id": message.id or "",
        }  # fmt: skip
        whole = [*before, question]
        lists = {
            "tokens": said.tokens, "pieces": said.pieces,
            "asked_tokens": np.concatenate([each.tokens for each in whole]),
            "asked_pieces": np.unique(np.concatenate([each.pieces for each in whole])),
        }  # fmt: skip
        return _Row(texts, lists, fixed, tuple(each.id for each in whole if each.id is not None))

    def _slotted(self, text: str, addressee: str, responder: str) -> str:
        return without_names(
            text[:_LONGEST],
            self._channel.people,
            self._model.lexicon.weight,
            addressee=addressee,
            responder=responder,
            others=self._names,
        )

    def _names_of(self, id: str) -> tuple[str, ...]:
        """All names that somebody has or had, and their identifier."""
        person = self._channel.people.get(id)
        return (id,) if person is None else (id, person.id, *person.names)


def _table(rows: Sequence[_Row], model: Model) -> Table:
    head = model.head
    answers = _vectors(model, head.answers, [row.lists["tokens"] for row in rows])
    asked = _vectors(model, head.heard, [row.lists["asked_tokens"] for row in rows])
    given = [name for name in FIXED if name not in SCALES.values()]
    return table_of(
        {name: [row.texts[name] for row in rows] for name in TEXTS},
        {name: [row.lists[name] for row in rows] for name in LISTS},
        {name: [row.fixed[name] for row in rows] for name in given},
        {VECTORS: head.found_by(answers, asked), ASKED: asked},
    )


def _vectors(
    model: Model,
    project: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    tokens: Sequence[NDArray[np.int32]],
) -> NDArray[np.float32]:
    """(N, D) The vectors of messages, given their tokens, from one side of the head."""
    found = [np.empty((0, len(model.head.answers_b)), np.float32)]
    for start in range(0, len(tokens), CHUNK):
        some = [Utterance("", "", tokens=each) for each in tokens[start : start + CHUNK]]
        found.append(project(model.mind.read(some).state))
    return np.concatenate(found)


def _remember(kept: dict[int, T], line: int, value: T) -> None:
    """Store a value for a line, as long as the line is among the latest ones."""
    kept.pop(line, None)
    kept[line] = value
    if len(kept) > _REMEMBERED:
        del kept[next(iter(kept))]


def _pattern(pattern: str) -> regex.Pattern[str]:
    try:
        return regex.compile(pattern, regex.IGNORECASE)
    except regex.error as error:
        raise BankError(f"{pattern}: is not a regular expression ({error})") from error
