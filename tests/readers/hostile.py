"""Logs that are damaged in every way that comes to mind, and what readers have to do with them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from random import Random
from typing import Any

from tests.readers.exports import Files, zipped

Damage = Callable[[bytes, Random], bytes]

NUMBERS = (
    b"-1", b"0", b"99999999999999999999", b"1e999", b"-1e-999", b"NaN", b"Infinity", b"0" * 5000, b"9" * 5000,
    "٣".encode(), b"1.5", b"0x10", b"18446744073709551616", b"253402300800000",
)  # fmt: skip
PIECES = (
    b"\0", b"\0" * 5000, b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\\ud800", b"\\u0000",
    b"\r", b"\r\r\n", b"\x1a", b"\x1b[2J", "\u202e\u2028\u2066".encode(),
    b'"', b"{", b"]", b",,", b"null", b"<@",
    b"<>", b"[99:99]", b"\x85", b"a" * 70_000,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, -1, 10**30, 1e300, float("nan"), "", "x", "\ud800", "9" * 30, [], [[]], {}, {"text": []},
    ["message"], "m.text", "Reply", {"messages": 1}, "<@U1>", "@", "0001-01-01T00:00:00",
    "9999-12-31T23:59:59+00:00",
)  # fmt: skip


def _place(content: bytes, random: Random) -> int:
    return random.randint(0, len(content))


def cut(content: bytes, random: Random) -> bytes:
    """Without its end, or its beginning."""
    place = _place(content, random)
    return content[:place] if random.random() < 0.8 else content[place:]


def flipped(content: bytes, random: Random) -> bytes:
    """With some other bytes."""
    found = bytearray(content)
    for _ in range(random.choice((1, 5, 30)) if found else 0):
        found[random.randrange(len(found))] = random.randrange(256)
    return bytes(found)


def repeated(content: bytes, random: Random) -> bytes:
    """With a part many times."""
    begin, end = sorted((_place(content, random), _place(content, random)))
    part = content[begin : min(end, begin + 2000)]
    return content[:begin] + part * random.choice((2, 3, 50)) + content[begin:]


def exchanged(content: bytes, random: Random) -> bytes:
    """With lines in another order."""
    lines = content.splitlines(keepends=True)
    random.shuffle(lines)
    return b"".join(lines)


def nested(content: bytes, random: Random) -> bytes:
    """With something very deep, in it or around it."""
    depth = random.choice((50, 990, 20_000))
    opening, closing = random.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"messages":[', b"]}")))
    begin = random.choice((0, _place(content, random)))
    return (
        content[:begin] + opening * depth + content[begin:] + closing * random.choice((depth, depth - 1, 0))
    )


def numbered(content: bytes, random: Random) -> bytes:
    """With numbers that nobody expects."""
    return re.sub(rb"\d+", lambda match: random.choice((match[0], match[0], random.choice(NUMBERS))), content)


def littered(content: bytes, random: Random) -> bytes:
    """With things that belong into no text."""
    for _ in range(random.choice((1, 3, 9))):
        place = _place(content, random)
        content = content[:place] + random.choice(PIECES) + content[place:]
    return content


def half_wide(content: bytes, random: Random) -> bytes:
    """In UTF-16, from somewhere on or up to there, with or without a mark."""
    place = _place(content, random)
    parts = [content[:place], content[place:]]
    wide = random.randrange(2)
    encoding = random.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32"))
    parts[wide] = parts[wide].decode("utf-8", "replace").encode(encoding)[random.randrange(2) :]
    return b"".join(parts)


def packed(content: bytes, random: Random) -> bytes:
    """In an archive, which may be damaged, or in another one."""
    packers: tuple[Callable[[bytes], bytes], ...] = (
        gzip.compress, bz2.compress, lzma.compress, lambda inner: zipped({"log": inner}),
        lambda inner: zipped({"../../log": inner, "/etc/log": inner, "a/" * 500 + "log": inner}),
    )  # fmt: skip
    found = random.choice(packers)(content)
    return random.choice((flipped, cut, repeated, packed))(found, random) if random.random() < 0.8 else found


def _json(content: bytes) -> list[Any]:
    """The value of a file, or those of its lines; none if they have none."""
    for parts in ([content], content.splitlines()):
        with suppress(ValueError, RecursionError):
            return [json.loads(part) for part in parts]
    return []


def retyped(content: bytes, random: Random) -> bytes:
    """JSON, or lines of it, with something else in some places."""
    values = _json(content)
    if not values:
        return flipped(content, random)
    for _ in range(random.choice((1, 2, 8))):
        found = list(places(values))
        if not found:
            break
        holder, key = random.choice(found)
        if random.random() < 0.7:
            holder[key] = deepcopy(random.choice(VALUES))
        else:
            del holder[key]
    return "\n".join(map(json.dumps, values)).encode()


DAMAGES: tuple[Damage, ...] = (
    cut, flipped, repeated, exchanged, nested, numbered, littered, half_wide, packed, retyped,
)  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value with each of its keys."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def damaged(files: Files, random: Random) -> Files:
    """A log of which one file, or the archive that it is in, is damaged in one or two ways."""
    if random.random() < 0.1:
        files = {"log.zip": zipped(files)}
    name = random.choice(list(files))
    content = files[name]
    for damage in random.choices(DAMAGES, k=random.choice((1, 1, 2))):
        content = damage(content, random)
    return files | {name: content}
