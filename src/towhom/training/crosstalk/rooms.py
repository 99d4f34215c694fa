"""Rooms to learn from, analysed once and stored on disk as columns.

The labels are stored with each message: human reply links, the message that it quotes, its topic, its
addressee. The people it names are in the columns already; names are hidden during training.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Kind, Message
from towhom.crosstalk.columns import NOBODY, OF_MESSAGES, Columns, Numbers, columns_of
from towhom.crosstalk.words import LIMIT
from towhom.documents import parse_json, read_toml
from towhom.errors import ConfigError, TrainingError
from towhom.evaluation.reply_links import SUFFIX, read_linked_logs
from towhom.hearing.ear import Ear
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.spelling import name_parts
from towhom.hearing.utterance import SPOKEN, Utterance
from towhom.hearing.words import words
from towhom.readers import Report, find_logs
from towhom.readers.base import file_source
from towhom.text.vocabulary import NAME
from towhom.training.crosstalk.folders import ArrayFolder, read_stored, write_arrays
from towhom.wire import message_from

SEGMENT = 2000
"""Number of messages that are analysed as one segment."""
UNKNOWN = -9
"""The addressee is not annotated."""
PARTS = ("train", "dev", "test")
_HELD_OUT = 0.05
"""Share of a channel's days that are test, and of the days before them that are dev."""
_LONGEST_WORD = 30
_SMALL = (8, 120)
"""Minimum and maximum number of messages of a small room."""


@dataclass(frozen=True)
class Source:
    """The source of a room.

    Args:
        name: The room's name.
        path: A log, or a folder of logs.
        licence: The licence of its text; "none stated" if there is none.
        dev: The path of the dev part, if its authors split the data.
        most: Maximum number of messages of the train part, evenly spread over it.
        weight: How often it is drawn, relative to other rooms of its size.
    """

    name: str
    path: str
    licence: str
    dev: str | None = None
    most: int = 1_000_000
    weight: float = field(default=1.0, compare=False)

    @property
    def open(self) -> bool:
        """Whether a licence is stated, so that anybody may train on the text."""
        return self.licence != "none stated"


def read_recipe(path: Path) -> list[Source]:
    """Read a list of sources from a file.

    Raises:
        ConfigError: The file cannot be read as such a list.
    """
    try:
        recipe = read_toml(path)
        return [Source(**room) for room in recipe["room"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: this is not a list of rooms to learn from ({error})") from error


@dataclass(frozen=True)
class Taught:
    """A message and its labels."""

    message: Message
    topic: str | None = None
    addressees: tuple[str, ...] | None = None
    """The addressees; three or more mean the group. None if not annotated."""


@dataclass(frozen=True)
class Segment:
    """Consecutive messages, and the links that people annotated among them."""

    part: str
    messages: Sequence[Taught]
    links: Iterable[tuple[int, int]] = ()
    """Line numbers of an answer and of the message it answers; equal if it starts a thread."""


def segments(source: Source, data: Path) -> Iterator[Segment]:
    """Read the segments of a room.

    Raises:
        TrainingError: The room is empty.
    """
    path = data / source.path
    if path.is_dir() and any(path.glob(f"*{SUFFIX}")):
        for part, folder in (("train", source.path), ("dev", source.dev)):
            for log in read_linked_logs(data / folder) if folder else ():
                links = [(line, parent) for line, parents in log.links.items() for parent in parents]
                yield Segment(part, [Taught(message) for message in log.lines], links)
        return
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if path.is_dir():  # meetings: each is one segment, the last ones are dev
        held_out = max(len(files) // 5, 1)
        for place, file in enumerate(files):
            part = "dev" if place >= len(files) - held_out else "train"
            yield Segment(part, list(_json_lines(file)))
        return
    taught = list(_json_lines(path)) if ".jsonl" in path.name else [Taught(m) for m in _logged(path)]
    if not taught:
        raise TrainingError(f"{path}: there is no message to learn from")
    taught.sort(key=lambda each: each.message.channel or "")
    for _, found in groupby(taught, key=lambda each: each.message.channel):
        channel = list(found)
        yield from _pieces(channel, source.most * len(channel) // len(taught))


def _logged(path: Path) -> Iterator[Message]:
    for log in find_logs(path):
        yield from (message for message in log.messages(Report()) if message.kind is not Kind.DAY)


def _json_lines(path: Path) -> Iterator[Taught]:
    if not path.is_file():
        raise TrainingError(f"{path}: there is no such file")
    for number, line in file_source(path).lines():
        if not line.strip():
            continue
        try:
            record: dict[str, Any] = parse_json(line)
            message = message_from(record, line=number)
        except ValueError as error:
            raise TrainingError(
                f"{path}, line {number + 1}: no message can be read here ({error})"
            ) from error
        to = record.get("addressees")
        yield Taught(message, record.get("thread"), None if to is None else tuple(to))


def _pieces(channel: list[Taught], most: int) -> Iterator[Segment]:
    """Sort a channel by time and cut it into segments; the last days are held out."""
    channel.sort(key=lambda each: each.message.time.timestamp() if each.message.time else 0.0)
    days = sorted({_day(each) for each in channel})
    test = days[-max(int(len(days) * _HELD_OUT), 1)] if len(days) > 2 else date.max
    dev = days[-2 * max(int(len(days) * _HELD_OUT), 1)] if len(days) > 2 else date.max
    by_part: dict[str, list[Taught]] = {part: [] for part in PARTS}
    for each in channel:
        day = _day(each)
        by_part["test" if day >= test else "dev" if day >= dev else "train"].append(each)
    for part, said in by_part.items():
        pieces = [said[start : start + SEGMENT] for start in range(0, len(said), SEGMENT)]
        wanted = max(most // SEGMENT, 1) if part == "train" else len(pieces)
        chosen = np.unique(np.linspace(0, len(pieces) - 1, min(wanted, len(pieces))).round().astype(int))
        yield from (Segment(part, pieces[place]) for place in chosen.tolist())


def _day(taught: Taught) -> date:
    return taught.message.time.date() if taught.message.time else date.min


class HeardRoom(ArrayFolder):
    """An analysed room, read from disk.

    Args:
        folder: The folder that `hear_room` wrote.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.name = folder.name
        about = read_stored(folder / "room.json")
        self.words: list[str] = about["words"]
        """All words that occur, indexed by the numbers in `said`."""
        self.nicks: frozenset[str] = frozenset(about["nicks"])
        """The parts of people's names in the room."""
        self.parts: list[str] = about["parts"]
        """The part (train, dev or test) of each segment."""
        self.source = Source(**about["source"])

    @cached_property
    def said_at(self) -> NDArray[np.int64]:
        """(N + 1,) Where the words of each message begin."""
        return np.concatenate([[0], np.cumsum(self.said_count)])

    @cached_property
    def pieces_at(self) -> NDArray[np.int64]:
        """(N + 1,) Where the pieces of each message begin."""
        return np.concatenate([[0], np.cumsum(self.piece_count)])

    def segments(self, part: str) -> list[tuple[int, int]]:
        """Start and end of each segment of a part."""
        bounds = self.bounds.tolist()
        return [(bounds[place], bounds[place + 1]) for place, each in enumerate(self.parts) if each == part]

    def beginnings(self, part: str, share: float, random: np.random.Generator) -> list[tuple[int, int]]:
        """Start and end of small rooms, cut from a share of the segments, since chats begin short."""
        found = []
        for first, last in self.segments(part):
            bounds = np.cumsum([first, *random.integers(*_SMALL, (last - first) // _SMALL[0])])
            for start, stop in pairwise(bounds[bounds <= last].tolist()):
                if random.random() < share:
                    found.append((start, stop))
        return found

    def columns(self, first: int, last: int, weights: NDArray[np.float32]) -> Columns:
        """The messages from `first` up to `last`, as if none preceded them; `weights` are those of pieces."""
        start, stop = self.pieces_at[[first, last]]
        pieces = np.asarray(self.pieces[start:stop])
        place = np.arange(last - first)
        columns = {name: np.asarray(getattr(self, name)[first:last]) for name in OF_MESSAGES}
        for name in ("own", "called"):
            columns[name] = np.where(columns[name] > place, 0, columns[name])
        return Columns(
            **columns,
            pieces=pieces,
            weights=weights[pieces & np.uint32(len(weights) - 1)],
            offsets=self.pieces_at[first : last + 1] - start,
        )


def reopened(folder: Path, source: Source) -> HeardRoom:
    """Open a room that was analysed before.

    Raises:
        TrainingError: It has another source.
    """
    heard = HeardRoom(folder)
    if heard.source != source:
        raise TrainingError(f"{folder}: this room was heard from another source; choose another folder")
    heard.source = source
    return heard


def hear_room(source: Source, data: Path, out: Path, lexicon: Lexicon) -> HeardRoom:
    """Analyse a room and write it to a folder, unless that was done before.

    Args:
        source: The room's source.
        data: The folder that contains its path.
        out: The folder to write.
        lexicon: Tells names from words; the model to be trained may have another vocabulary.
    """
    if out.exists():
        return reopened(out, source)
    kept = Kept(source)
    for segment in segments(source, data):
        kept.hear(segment, lexicon)
    return kept.write(out)


class Kept:
    """Collects the analysed segments of a room.

    Args:
        source: The room's source.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.words = Numbers()
        self.nicks: set[str] = set()
        self.parts: list[str] = []
        self._columns: list[Columns] = []
        self._said: list[NDArray[np.int32]] = []
        self._reply: list[int] = []
        self._topic: list[int] = []
        self._for: list[int] = []
        self._links: list[tuple[int, int]] = []
        self._count = 0

    def hear(self, segment: Segment, lexicon: Lexicon) -> list[Utterance]:
        """Analyse the next segment; returns its messages."""
        ear, numbers, topics = Ear(lexicon), Numbers(), Numbers()
        utterances: list[Utterance] = []
        by_id: dict[str, int] = {}
        by_line: dict[int | None, int] = {}
        for taught in segment.messages:
            message = taught.message
            if message.kind is Kind.RENAME:
                ear.rename(message.speaker, message.text)
                self.nicks |= name_parts(message.speaker) | name_parts(message.text)
            elif message.kind is Kind.SYSTEM and message.text.strip():
                self.nicks |= name_parts(message.text.split()[0])
            if message.kind not in SPOKEN:
                continue
            answered = by_id.get(message.reply_to or "")
            # Mentions are found in the text; what the message quotes is for the model to predict.
            utterance = ear.hear(replace(message, reply_to=None, addressee=None))
            place = len(utterances)
            self._reply.append(0 if answered is None else place - answered)
            self._topic.append(NOBODY if taught.topic is None else topics[taught.topic])
            meant = (
                None if taught.addressees is None else [ear.people.id_of(who) for who in taught.addressees]
            )
            self._for.append(_truth(meant, numbers))
            self._said.append(self._words_of(utterance, ear))
            self.nicks |= name_parts(message.speaker)
            utterances.append(utterance)
            if message.id is not None:
                by_id[message.id] = place
            by_line[message.line] = place
        self._links += [
            (self._count + by_line[line], self._count + by_line[parent])
            for line, parent in segment.links
            if line in by_line and parent in by_line
        ]
        self._columns.append(columns_of(utterances, numbers))
        self.parts.append(segment.part)
        self._count += len(utterances)
        return utterances

    def write(self, folder: Path, **more: NDArray[Any]) -> HeardRoom:
        """Write the room to a folder.

        Args:
            folder: The folder.
            more: Other arrays to be written with it.
        """
        about = {
            "source": asdict(self.source), "parts": self.parts, "words": list(self.words),
            "nicks": sorted(self.nicks),
        }  # fmt: skip
        write_arrays(folder, {**self._arrays(), **more}, room=json.dumps(about))
        return HeardRoom(folder)

    def _words_of(self, utterance: Utterance, ear: Ear) -> NDArray[np.int32]:
        is_name, common = ear.people.is_name, ear.lexicon.ids
        found = words(utterance.text)[:LIMIT]
        hidden = (NAME if is_name(word) and word not in common else word[:_LONGEST_WORD] for word in found)
        return np.array([self.words[word] for word in hidden], np.int32)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        if not self._said:
            raise TrainingError("there is no message to learn from")
        of_columns = {
            name: np.concatenate([getattr(each, name) for each in self._columns])
            for name in (*OF_MESSAGES, "pieces")
        }
        sizes = [each.size for each in self._columns]
        return {
            **of_columns,
            "piece_count": np.concatenate([np.diff(each.offsets) for each in self._columns]),
            "said": np.concatenate(self._said),
            "said_count": np.array([len(each) for each in self._said]),
            "reply": np.array(self._reply),
            "topic": np.array(self._topic),
            "meant": np.array(self._for),
            "links": np.array(self._links, np.int64).reshape(-1, 2),
            "bounds": np.cumsum([0, *sizes]),
        }


def _truth(addressees: Sequence[str] | None, numbers: Numbers) -> int:
    """The addressee's number; `NOBODY` for the group; `UNKNOWN` if not annotated, or if there are two."""
    if addressees is None or len(addressees) == 2:
        return UNKNOWN
    return numbers[addressees[0]] if len(addressees) == 1 else NOBODY
