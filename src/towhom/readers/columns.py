"""Find out which columns of a table, or keys of JSON objects, are the speaker, the text and so on.

Columns are found by their names or, if the names are not telling, by their content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from towhom.readers.base import Source
from towhom.readers.induction import are_said, is_name, take_turns
from towhom.readers.json_export import head_shape, since_epoch
from towhom.readers.times import parse_time

FIELDS = {
    "speaker": (
        *(
            "speaker",
            "sender",
            "author",
            "from",
            "username",
            "user",
            "nick",
            "nickname",
            "sender name",
            "from name",
        ),
        *(
            "user name",
            "author name",
            "speaker name",
            "display name",
            "real name",
            "participant",
            "member",
            "who",
        ),
        *("name", "person", "agent", "role", "actor", "character", "von", "autor", "auteur", "remitente"),
        *("source name", "global name", "commenter", "spk", "handle"),
        *("absender", "expéditeur", "usuario", "mittente", "отправитель", "автор"),
        *("发送人", "发送者", "发件人", "送信者", "보낸 사람", "created by", "posted by"),
        *("sender id", "author id", "user id", "from id"),
    ),
    "text": (
        *(
            "text",
            "message",
            "body",
            "content",
            "contents",
            "msg",
            "utterance",
            "message text",
            "message body",
        ),
        *("message content", "comment", "transcript", "dialogue", "sentence", "chat", "line", "turn", "said"),
        *("nachricht", "texte", "texto", "mensaje", "mensagem", "messaggio", "сообщение"),
        *("текст", "内容", "消息", "メッセージ", "메시지", "utt", "text content"),
    ),
    "time": (
        *(
            "time",
            "timestamp",
            "datetime",
            "date time",
            "date",
            "sent at",
            "sent",
            "created at",
            "created",
            "ts",
        ),
        *(
            "date sent",
            "time sent",
            "created date",
            "when",
            "posted at",
            "utc",
            "datum",
            "zeit",
            "fecha",
            "unixtime",
            "timestamp ms",
            "timestamp usec",
            "create time",
            "create at",
            "date sent",
            "created utc",
            "message date",
            "message time",
            "sent date",
            "published at",
            "date time utc",
            "дата",
            "время",
            "时间",
            "日時",
        ),
    ),
    "day": ("date", "day", "datum", "fecha"),
    "id": (
        *("id", "message id", "msg id", "uuid", "utterance id", "uid", "guid", "msgid"),
        *("comment id", "post id"),
    ),
    "reply_to": (
        "reply to",
        "in reply to",
        "reply to id",
        "parent id",
        "parent message id",
        "reply to message id",
        "reply to.reply to msg id",
        "root id",
        "message reference.message id",
        "in reply to id",
        "in reply to message id",
        "referenced message id",
        "quoted message id",
        "replied to",
        "replying to",
        "reply id",
        "parent",
        "thread ts",
    ),
    "channel": (
        "channel",
        "room",
        "channel name",
        "conversation",
        "conversation id",
        "group",
        "thread",
        "chat name",
        "group name",
        "room name",
        "room id",
        "channel id",
        "chat id",
        "conv id",
        "dialogue id",
        "dialog id",
        "chat session",
    ),
    "addressee": ("addressee", "recipient", "to"),
    "kind": ("kind",),
    "name": ("display name", "real name"),
}
"""Field -> names of columns for it, the most certain first."""

_WEAK = {"name", "who", "role", "line", "chat", "turn", "agent", "person", "member", "actor"}
"""Names of columns that other tables have too: one of these alone does not indicate a chat."""
_IDENTIFIERS = {"created by", "posted by", "sender id", "author id", "user id", "from id"}
"""Names of columns used for the speaker if there is no better one."""
_CLOCKS = {"time", "clock", "hour", "zeit", "uhrzeit", "hora", "heure", "ora"}
"""Names of columns that have the time of day if another column has the day."""
_CONTAINERS = {
    *("messages", "message", "data", "items", "comments", "posts", "events", "results", "records", "rows"),
    *(
        "entries",
        "conversation",
        "conversations",
        "chats",
        "chat",
        "history",
        "value",
        "values",
        "list",
        "log",
    ),
    *("logs", "transcript", "segments", "utterances", "dialogue", "turns", "thread", "threads", "export"),
    *("response", "payload", "result", "content", "rooms", "channels", "edges", "node", "item", "replies"),
}
"""Keys that describe their content; any other key before a list of messages may be a room's name."""
FEWEST = 3
"""Fewest rows from which columns are found by their values."""
_LONGEST_NAME = 60
_MOST_PATHS, _DEEPEST, _MOST_SAMPLES = 50, 8, 50
_USUAL = 0.6
"""Least share of objects that must have a speaker and a text: the others are something else."""


class Records(NamedTuple):
    """Similar objects in a JSON file.

    Args:
        path: Path of the objects; `*` is any key, and an empty path stands for JSON lines.
        samples: Their keys, each with the first values.
        number: Number of objects in the head of the file.
    """

    path: str
    samples: dict[str, list[Any]]
    number: int


def time_of_row(day: Any, time: Any, *, day_first: bool) -> str | None:
    """The time of a row in ISO 8601, from one or two cells; None if there is none."""
    if isinstance(day, str) and isinstance(time, str):
        both = time_of_cell(f"{day} {time}", day_first=day_first)
        if both is not None:
            return both
    return time_of_cell(time, day_first=day_first) or time_of_cell(day, day_first=day_first)


def time_of_cell(value: Any, *, day_first: bool) -> str | None:
    """The time of a cell in ISO 8601; None if it cannot be parsed, and rows then keep their order."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day).isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _since_1970(value)
    if isinstance(value, str) and value.isdecimal() and value.isascii() and 9 <= len(value) <= 16:
        return _since_1970(int(value))
    time = parse_time(value, day_first=day_first) if isinstance(value, str) else None
    return time.isoformat() if time else None


def _since_1970(value: float) -> str | None:
    """A time in seconds, milliseconds or microseconds since 1970, whichever gives a plausible date."""
    size = abs(value)
    if not size < 1e17:
        return None
    factor = 1_000_000 if size < 1e11 else 1000 if size < 1e14 else 1
    return since_epoch(microseconds=round(value * factor)).isoformat()


def record_paths(source: Source) -> list[Records]:
    """Find groups of similar objects in a JSON file."""
    head = head_shape(source)
    lines = head.objects[""] > 1
    siblings = Counter(path.rpartition(".")[0] for path in head.objects)
    found: dict[str, tuple[dict[str, list[Any]], int]] = {}
    for path, count in head.objects.most_common(_MOST_PATHS):
        parts = path.split(".") if path else []
        if len(parts) > _DEEPEST or lines != (not parts):  # in JSON lines, each is an object
            continue
        # A key that does not describe a list of messages is the name of a room, or the id of a message.
        pattern = ".".join(
            part if part == "item" or part.lower() in _CONTAINERS else "*" for part in parts[:-1]
        )
        last = parts[-1] if parts else ""
        if parts and last != "item":
            if "item" in parts and siblings[".".join(parts[:-1])] < 2:
                continue  # a part of an object in a list
            last = "*" if last.lower() not in _CONTAINERS else last
        pattern = f"{pattern}.{last}" if pattern else last
        before = f"{path}." if path else ""
        samples = {
            key[len(before) :]: values
            for key, values in head.values.items()
            if key.startswith(before) and len(key) > len(before)
        }
        if not samples:
            continue
        old, number = found.get(pattern, ({}, 0))
        for key, values in samples.items():
            old.setdefault(key, []).extend(values[:_MOST_SAMPLES])
        found[pattern] = old, number + count
    return [
        Records(path, samples, number)
        for path, (samples, number) in found.items()
        if "item" in path or number > 1
    ]


def columns_of(samples: dict[str, list[Any]], count: int) -> dict[str, str] | None:
    """Field -> key of the objects in a list, found by the names of their keys and nested keys."""
    said = [key for key, values in samples.items() if any(isinstance(value, str) for value in values)]
    own = [key for key in samples if "." not in key]
    inner = [key for key in samples if "." in key and ".item." not in f"{key}."]
    texts = [key for key in said if key.endswith(".item") and key.count("item") == 1]
    texts += [key for key in said if key.count(".item.") == 1 and key.endswith(".text")]
    columns = columns_named([*own, *inner], weak=True, inner=True, texts=texts) or {}
    if columns.get("text") not in said or "speaker" not in columns:
        return None
    most = min(count, _MOST_SAMPLES)
    if any(len(samples[columns[field]]) < _USUAL * most for field in ("speaker", "text")):
        return None
    strong = {plain_name(columns[field]) for field in ("speaker", "text")}
    return columns if not strong & _WEAK or "time" in columns else None


def columns_by_values(rows: Sequence[Sequence[str]], day_first: bool) -> dict[str, int] | None:
    """Field -> index of a column, found by its values; None if the table is not plainly a chat."""
    if len(rows) < FEWEST:
        return None
    columns: dict[str, int] = {}
    cells = list(zip(*rows, strict=True))
    for place, values in enumerate(cells):
        if "time" not in columns and all(time_of_cell(value, day_first=day_first) for value in values):
            columns["time"] = place
        elif "time" in columns and "day" not in columns:
            day = cells[columns["time"]]
            if all(
                ":" in value and time_of_cell(f"{one} {value}", day_first=day_first)
                for one, value in zip(day, values, strict=True)
            ):
                columns["day"], columns["time"] = columns["time"], place
    free = [place for place in range(len(cells)) if place not in columns.values()]
    words = {place: sum(len(value.split()) for value in cells[place]) for place in free}
    text = max(free, key=lambda place: (words[place], len("".join(cells[place]))), default=None)
    if text is None:
        return None
    if "time" not in columns:  # without a time, too many other tables look alike
        return None
    for place in free:
        names = cells[place]
        if place == text or not all(len(name) <= _LONGEST_NAME and is_name(name) for name in names):
            continue
        if take_turns(names, timed=True, whole=True) and are_said(cells[text], timed=True, whole=True):
            return {"speaker": place, "text": text, **columns}
    return None


def is_first_row(first: Sequence[str], columns: dict[str, int], day_first: bool) -> bool:
    """Whether the first row of a table is a message and not the names of its columns."""
    day = first[columns["day"]] if "day" in columns else None
    return time_of_row(day, first[columns["time"]], day_first=day_first) is not None


def plain_name(name: str) -> str:
    """A name in the form used for comparison: lower case, with single spaces."""
    return " ".join(name.strip().lower().replace("_", " ").replace("-", " ").split())


def columns_named(
    names: Iterable[str], *, weak: bool = False, inner: bool = False, texts: Iterable[str] = ()
) -> dict[str, str] | None:
    """Field -> column, found by the names of the columns; None if there is no speaker or no text.

    Args:
        names: Names of the columns.
        weak: Whether names that other tables have too are enough.
        inner: Whether a path of keys may also match by its last key, if nothing else matches.
        texts: Paths of texts that are split into pieces.
    """
    plain: dict[str, str] = {}
    last: dict[str, str] = {}
    for name in names:
        if name.endswith("_"):  # the type of an object, as Telegram's libraries write it
            continue
        plain.setdefault(plain_name(name), name)
        plain.setdefault(plain_name(name.replace(".", " ")), name)
        last.setdefault(plain_name(name.rpartition(".")[2]), name)
    joined = {name.replace(" ", ""): name for name in plain}
    columns: dict[str, str] = {}
    for field, known in FIELDS.items():
        sure = [name for name in known if name not in _IDENTIFIERS]
        stages = [plain.get(name) or plain.get(joined.get(name.replace(" ", ""), "")) for name in sure]
        if inner and field in ("speaker", "text", "time"):
            stages += [last.get(name) for name in sure]
        if field == "text":
            stages += [text for text in texts if set(map(plain_name, text.split("."))) & set(known)]
        for name in known[len(sure) :]:
            named = plain.get(name) or plain.get(joined.get(name.replace(" ", ""), ""))
            stages += [named, last.get(name) if inner else None]
        column = next((each for each in stages if each and each not in columns.values()), None)
        if column is not None:
            columns[field] = column
    if columns.get("time") and plain_name(columns["time"]) not in _CLOCKS:
        columns.pop("day", None)
    if plain_name(columns.get("reply_to", "")) == "thread ts" and "id" not in columns and "time" in columns:
        columns["id"] = columns["time"]  # the id of a Slack message is its time
    shown = _shown_name(columns.get("speaker", ""), plain, joined)
    columns.pop("name", None)
    if shown is not None and shown not in columns.values():
        columns["name"] = shown
    if "speaker" not in columns or "text" not in columns:
        return None
    both = {plain_name(columns["speaker"]), plain_name(columns["text"])}
    return columns if weak or not both & _WEAK or "time" in columns else None


def _shown_name(speaker: str, plain: Mapping[str, str], joined: Mapping[str, str]) -> str | None:
    """The column with the speaker's display name, besides the one found for the speaker; None if none."""
    around, dot, _ = speaker.rpartition(".")
    for known in FIELDS["name"]:
        name = plain_name(f"{around}{dot}{known}")
        found = plain.get(name) or plain.get(joined.get(name.replace(" ", ""), ""))
        if found is not None:
            return found
    return None
