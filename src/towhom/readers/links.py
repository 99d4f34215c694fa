"""Who is meant, on platforms that mark mentions and replies: what their readers share."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import NamedTuple

from towhom.chat import Kind, Message
from towhom.hearing.protocol import choose_addressee

REMEMBERED = 10_000
"""How many messages back a reply still finds the author it answers. A bound, so that memory is one too."""

_EMOJI = re.compile(r":[\w+-]{1,100}:")

LONGEST_NAME = 1000
"""Characters of a name that is remembered: a longer one, named in every message, would fill the memory."""


class Recent:
    """A mapping of names that keeps what was put into it last and forgets the rest.

    >>> authors = Recent(2)
    >>> for number, name in enumerate(["ada", "bob", "eve"]):
    ...     authors.put(number, name)
    >>> authors.get(0), authors.get(2)
    (None, 'eve')
    """

    def __init__(self, size: int = REMEMBERED) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, str] = OrderedDict()

    def put(self, key: Hashable | None, value: str | None) -> None:
        """Remember, if there is something to remember."""
        if key is None or value is None or len(value) > LONGEST_NAME:
            return
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._size:
            self._values.popitem(last=False)

    def get(self, key: Hashable | None) -> str | None:
        """What was put last under the key, if it was not long ago."""
        return self._values.get(key)


class Mention(NamedTuple):
    """Somebody named in a text, and how the text shows it."""

    shown: str
    name: str


def said(
    speaker: str,
    text: str,
    *,
    kind: Kind,
    mentions: Sequence[Mention] = (),
    replied: str | None = None,
    time: datetime | None = None,
    id: str | None = None,
    reply_to: str | None = None,
    channel: str | None = None,
    line: int | None = None,
) -> Message:
    """A message with its addressee; a mention at its start is cut from the text, if that leaves one.

    A picture or a file without a word is a `SYSTEM` line: nothing was said.

    >>> said("bob", "@Ada L: done", kind=Kind.MESSAGE, mentions=[Mention("@Ada L", "Ada L")])
    Message('bob', 'done', addressee='Ada L')
    """
    if not text.strip():
        kind = Kind.SYSTEM
    addressee = None
    if kind is not Kind.SYSTEM:
        leading, rest = _leading(text, mentions)
        names = [mention.name for mention in mentions]
        addressee = choose_addressee(speaker, leading=leading, replied=replied, mentioned=names)
        if leading is not None and leading == addressee and rest:
            text = rest
    return Message(speaker, text, addressee, time, id, reply_to, kind, channel, line)


def _leading(text: str, mentions: Sequence[Mention]) -> tuple[str | None, str]:
    """Who is mentioned at the very start, and what comes after it."""
    start = text.lstrip()
    # The longest first: "@Ada L" is not "@Ada" and an L.
    for shown, name in sorted(mentions, key=lambda mention: -len(mention.shown)):
        if shown and start.startswith(shown):
            rest = start[len(shown) :]
            if not rest[:1].isalnum() and rest[:1] != "_":
                return name, _without_separator(rest)
    return None, text


def _without_separator(rest: str) -> str:
    """What comes after a mention, without the colon or comma between; smileys and :names: of emoji stay."""
    start = rest.lstrip()
    if start[:1] == ":":
        attached = len(start) == len(rest) and start[1:2].isalnum() and not _EMOJI.match(start)
        return (start[1:] if attached or start[1:2].isspace() or start == ":" else start).strip()
    return start.removeprefix(",").strip()
