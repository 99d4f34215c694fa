"""XMPP: rooms as stored by prosody (Lua tables, or stanzas in them), and XML stanzas of an archive."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any, Self

from towhom.chat import Kind, Message
from towhom.readers.base import MAX_MESSAGE, Folder, Reader, Record, Report, Source
from towhom.readers.json_export import since_epoch
from towhom.readers.links import Recent, said
from towhom.readers.times import parse_time

_TOKEN = re.compile(
    r'"(?P<string>(?:[^"\\]|\\.)*+)"|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<mark>[{}\[\]=;,()])|\s+',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(\d{1,3}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_MAX_DEPTH = 50
_STANZA = re.compile(r"<(?P<kind>message|presence)\b(?P<rest>[^<>]*+)>")
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]++)\s*+=\s*+(?:'([^']*+)'|"([^"]*+)")""")
_ELEMENT = re.compile(
    r"<(?P<name>body|subject|delay|reply|replace|x|result|stanza)\b(?P<rest>[^<>]*+)>(?P<text>[^<]*+)"
)
_DAY_FILE = re.compile(r"(\d\d)(\d\d)(\d\d)\.dat|(\d{4})-(\d\d)-(\d\d)\.\w+")
_LUA = (b"item(", b"return {", b"return{")


class Xmpp(Reader):
    """A room. The nick is the part after the room's address; replies and corrections are used as marked."""

    name = "xmpp"
    title = "XMPP room (prosody's archive .list and .dat files, or messages in XML)"

    def __init__(self, day: date | None = None) -> None:
        self.day = day

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Look for messages of a room: XML stanzas, or Lua tables that represent them."""
        if isinstance(source, Folder):
            return False
        head = source.head_text
        if head.lstrip().startswith(_LUA):
            return b"groupchat" in head or b"<message" in head or b'"message"' in head
        return head.lstrip()[:1] == b"<" and b"<message" in head and (b"<body" in head or b"<subject" in head)

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Read the day from the file name, the only place where old logs have it."""
        found = _DAY_FILE.fullmatch(PurePosixPath(source.name).name)
        if found is None:
            return cls()
        parts = [int(part) for part in found.groups() if part]
        try:
            return cls(date(parts[0] + (2000 if parts[0] < 100 else 0), *parts[1:]))
        except ValueError:
            return cls()

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield stanzas as Lua or XML text.

        Raises:
            LogError: A stanza is megabytes long.
        """
        if isinstance(source, Folder):
            return
        pieces: list[bytes] = []
        start = length = 0
        for number, line in source.lines():
            if not pieces:
                start = number
            pieces.append(line)
            length += len(line) + 1
            if length > MAX_MESSAGE:
                raise source.too_long("message", line=start + 1)
            if _ends(line, in_table=pieces[0].lstrip().startswith(b"item(")):
                yield start, b"\n".join(pieces)
                pieces, length = [], 0
        if any(piece.strip() for piece in pieces):
            yield start, b"\n".join(pieces)

    def key(self, record: Record) -> str | None:
        """The day of the stanza, if it has a time."""
        stanza = next(_stanzas(record[1].decode("utf-8", errors="replace"), self.day), None)
        time = stanza.get("time") if stanza else None
        return str(time.date()) if isinstance(time, datetime) else None

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """Yield a message or other line for each stanza."""
        authors = Recent()
        for number, raw in records:
            text = report.decode(raw)
            stanzas = list(_stanzas(text, self.day))
            if not stanzas and text.strip() and ("item(" in text or "<message" in text):
                report.skip("not a message", file=file, record=number)
            for stanza in stanzas:
                message = _message(stanza, authors, number)
                report.kinds[message.kind] += 1
                yield message


def _ends(line: bytes, *, in_table: bool) -> bool:
    """Whether a stanza ends at this line."""
    bare = line.rstrip()
    if in_table:
        return bare.endswith((b"});", b"})"))
    return not bare or bare.endswith(
        (b"</message>", b"</stanza>", b"</result>", b'</message>\\n";', b'</stanza>\\n";', b"/>", b'";')
    )


def _message(stanza: dict[str, Any], authors: Recent, line: int) -> Message:
    room, _, nick = str(stanza.get("from") or "").partition("/")
    body, reply = stanza.get("body"), stanza.get("reply")
    kind = Kind.MESSAGE if isinstance(body, str) and nick and not stanza.get("replace") else Kind.SYSTEM
    text = body if isinstance(body, str) else str(stanza.get("subject") or stanza.get("kind") or "")
    if kind is Kind.MESSAGE and text.startswith("/me "):
        kind, text = Kind.ACTION, text.removeprefix("/me ")
    own = stanza.get("id")
    message = said(
        nick,
        text,
        kind=kind,
        replied=authors.get(reply),
        time=stanza.get("time"),
        id=own,
        reply_to=reply,
        channel=room.partition("@")[0] or None,
        line=line,
    )
    authors.put(own, nick or None)
    return message


def _stanzas(text: str, day: date | None) -> Iterator[dict[str, Any]]:
    if text.lstrip().startswith("item("):
        stanza = _of_table(text)
        return iter([stanza] if stanza else [])
    return _of_xml(_unescaped(text) if '\\"' in text else text, day)


def _of_table(text: str) -> dict[str, Any] | None:
    """A stanza that prosody wrote as a table; None if it is not one."""
    try:
        table = _table(text)
    except ValueError:
        return None
    if isinstance(table.get("stanza"), dict):  # wrapped with the archive's own fields
        table = {**table["stanza"], **{key: table[key] for key in ("when", "key") if key in table}}
    attributes = table.get("attr")
    if not isinstance(attributes, dict):
        return None
    stanza: dict[str, Any] = {"from": attributes.get("from"), "kind": table.get("name")}
    stanza["id"] = _string(table.get("key")) or _string(attributes.get("id"))
    when = table.get("when")
    if isinstance(when, int | float) and abs(when) < 1e11:
        stanza["time"] = since_epoch(microseconds=int(when * 1_000_000))
    elif isinstance(attributes.get("stamp"), str):
        stanza["time"] = _utc(attributes["stamp"])
    for child in table.values():
        if isinstance(child, dict) and isinstance(child.get("name"), str):
            _child(stanza, child["name"], child.get("attr"), _string(child.get(1)))
    return stanza


def _child(stanza: dict[str, Any], name: str, attributes: Any, text: str | None) -> None:
    """Add the content of a stanza's child to the stanza."""
    attributes = attributes if isinstance(attributes, dict) else {}
    if name in ("body", "subject"):
        stanza.setdefault(name, text or "")
    elif name == "delay" or (name == "x" and "stamp" in attributes):
        stanza.setdefault("time", _utc(str(attributes.get("stamp") or "")))
    elif name in ("reply", "replace"):
        stanza[name] = _string(attributes.get("id"))


def _of_xml(text: str, day: date | None) -> Iterator[dict[str, Any]]:
    """Yield the stanzas in a piece of XML, each reaching up to the next one."""
    starts = list(_STANZA.finditer(text))
    before = 0
    for number, found in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        attributes = _attributes(found["rest"])
        stanza: dict[str, Any] = {
            "from": attributes.get("from"),
            "kind": found["kind"],
            "id": attributes.get("id"),
        }
        for element in _ELEMENT.finditer(text, before, end):
            inner = _attributes(element["rest"])
            if element["name"] == "stanza" and "time" in inner:
                stanza.setdefault("time", _on(day, inner["time"]))
            elif element["name"] == "result":
                stanza["id"] = inner.get("id") or stanza["id"]
            elif element.start() > found.start() or element["name"] in ("delay", "x"):
                _child(stanza, element["name"], inner, html.unescape(element["text"]))
        before = found.end() if number + 1 < len(starts) else end
        before = max(before, text.rfind("</message>", found.start(), end))
        yield stanza


def _attributes(text: str) -> dict[str, str]:
    return {key: html.unescape(one or two) for key, one, two in _ATTRIBUTE.findall(text)}


def _on(day: date | None, clock: str) -> datetime | None:
    return parse_time(f"{day} {clock}") if day else _utc(clock)


def _utc(stamp: str) -> datetime | None:
    """Parse a time as written by XMPP; the older form has no dashes."""
    if re.fullmatch(r"\d{8}T[\d:]{8}", stamp):
        stamp = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:]}+00:00"
    return parse_time(stamp)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _table(text: str) -> dict[Any, Any]:
    """Parse a Lua table into a mapping: fields by name, or by number if they have no name."""
    stack: list[dict[Any, Any]] = []
    counts: list[int] = []
    keys: list[Any] = []
    key: Any = None
    value: Any = None
    in_key = False
    for kind, piece in _tokens(text):
        if kind == "mark" and piece == "{":
            if len(stack) >= _MAX_DEPTH:
                raise ValueError("tables in tables")
            stack.append({})
            counts.append(0)
            keys.append(key)
            key = value = None
        elif kind == "mark" and piece in "};,":
            if not stack:
                continue
            if value is not None:
                counts[-1] += key is None
                stack[-1][counts[-1] if key is None else key] = value
            key = value = None
            if piece == "}":
                counts.pop()
                table, key = stack.pop(), keys.pop()
                if not stack:
                    return table
                value = table
        elif kind == "mark" and piece in "[]":
            in_key = piece == "["
        elif kind == "mark" and piece == "=":
            key, value = value, None
        elif kind != "mark" and (kind != "name" or stack):
            value = piece
    raise ValueError("the table does not end" if in_key or stack else "no table")


def _tokens(text: str) -> Iterator[tuple[str, Any]]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError("no table of Lua")
        place = found.end()
        if found["string"] is not None:
            yield "string", _unescaped(found["string"])
        elif found["number"] is not None:
            number = found["number"]
            yield "number", float(number) if "." in number or len(number) > 15 else int(number)
        elif found.lastgroup:
            yield found.lastgroup, found[found.lastgroup]


def _unescaped(text: str) -> str:
    """A Lua string with its escapes resolved; bytes written as numbers are UTF-8."""
    if "\\" not in text:
        return text

    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code) % 256) if code.isdecimal() else _ESCAPES.get(code, code)

    unescaped = _ESCAPED.sub(plain, text)
    try:
        return unescaped.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return unescaped
