"""Find addressees from marked mentions and replies; shared by the readers of platforms that mark them."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import NamedTuple

from towhom.chat import Kind, Message
from towhom.hearing.protocol import choose_addressee

REMEMBERED = 10_000
"""How many messages back a reply still finds the author it answers; bounded, so that memory is too."""

_EMOJI = re.compile(r":[\w+-]{1,100}:")

LONGEST_NAME = 1000
"""Most characters of a name that is remembered: longer ones, named in every message, would fill memory."""


class Recent:
    """A mapping of names that keeps the latest entries and forgets older ones.

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
        """Remember a name for a key, unless either is missing or the name is too long."""
        if key is None or value is None or len(value) > LONGEST_NAME:
            return
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._size:
            self._values.popitem(last=False)

    def get(self, key: Hashable | None) -> str | None:
        """The name last put under the key, or None if it was forgotten or never put."""
        return self._values.get(key)


class Mention(NamedTuple):
    """A person mentioned in a text, and how the text shows the mention."""

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
    """Make a message with its addressee; a mention at its start is removed if that leaves any text.

    A picture or a file without text is a `SYSTEM` line, since nothing was said.

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
    """The person mentioned at the very start of a text, or None, and the rest of the text."""
    start = text.lstrip()
    # Longest first: "@Ada L" is not "@Ada" followed by an L.
    for shown, name in sorted(mentions, key=lambda mention: -len(mention.shown)):
        if shown and start.startswith(shown):
            rest = start[len(shown) :]
            if not rest[:1].isalnum() and rest[:1] != "_":
                return name, _without_separator(rest)
    return None, text


def _without_separator(rest: str) -> str:
    """The text after a mention, without the colon or comma between; smileys and :names: of emoji stay."""
    start = rest.lstrip()
    if start[:1] == ":":
        attached = len(start) == len(rest) and start[1:2].isalnum() and not _EMOJI.match(start)
        return (start[1:] if attached or start[1:2].isspace() or start == ":" else start).strip()
    return start.removeprefix(",").strip()
